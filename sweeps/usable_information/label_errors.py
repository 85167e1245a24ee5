"""Which score finds wrong labels, the loss of a held-out prediction or PVI, which knows how frequent labels are?

Labels are flipped: each to any other class (symmetric), or to the next one (pair; left out for two classes, where it is
the same). The scores of `infoscope.metrics.v_information.label_errors` rank the items. They are compared by precision
at the number of flipped labels, average precision and the area under the ROC curve. All scores of a cell use one
family, whose members were fitted to other folds.

A seed draws the items, the flips, folds, initial weights and orders; all families and noises have the same items. With
the first seed the original labels are also used, for the hardest items and the data map, of trainings on all items that
are evaluated after every epoch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from infoscope.data import transformations
from infoscope.errors import OutOfRange
from infoscope.estimators.families import Network
from infoscope.estimators.result import clustered_error
from infoscope.metrics.v_information.label_errors import (
    NOISES,
    data_map,
    flip_labels,
    gather,
    measures,
    scores_of,
)
from infoscope.tracking import Cell, Pack, Profile, Report, Sweep, grid
from sweeps.checks import require_minimum
from sweeps.streams import draws
from sweeps.usable_information._data import IMAGES, SOURCES, Task, chosen, data_set, loaded, part_of
from sweeps.usable_information.settings import HARDEST, NOT_FLIPPED

FAMILIES: Mapping[str, tuple[int, ...]] = {"linear": (), "mlp": (64,)}  # widths of hidden layers
COMPONENTS = 128  # of the vectors of texts
PATIENCE = 6  # epochs for early stopping of held-out members, on a tenth of their items
EXCERPT = 160  # characters of a text in the table of items
MINIMUM = {"items": 0, "folds": 3, "epochs": 2, "trainings": 1, "seed": 0}


@dataclass(frozen=True, kw_only=True)
class LabelCell(Cell):
    data: str  # one of SOURCES and IMAGES
    family: str  # one of FAMILIES
    items: int  # 0: all
    folds: int
    epochs: int  # of a training
    trainings: int  # on all items, for the data map
    noise: str  # one of NOISES, or NOT_FLIPPED
    rate: float  # share of flipped labels
    seed: int  # of items, flips, folds and initial weights


@dataclass(frozen=True)
class LabelProfile(Profile):
    data: tuple[str, ...] = ("auto",)
    families: tuple[str, ...] = tuple(FAMILIES)
    noises: tuple[str, ...] = NOISES
    rates: tuple[float, ...] = (0.05, 0.1, 0.2)
    items: int = 20_000
    folds: int = 10
    epochs: int = 30
    trainings: int = 10
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)


PAPER = LabelProfile()
LAPTOP = replace(PAPER, families=("mlp",), items=3000, folds=5, trainings=1)
PROFILES = {
    "smoke": replace(LAPTOP, rates=(0.1,), items=240, folds=3, epochs=5, seeds=(0,)),
    "laptop": LAPTOP,
    "paper": PAPER,
}


def cells(profile: LabelProfile) -> Iterator[LabelCell]:
    """One cell per data set, family, noise, rate and seed, and one with the original labels."""
    rates, seeds = list(profile.rates), list(profile.seeds)
    for name in chosen("label_errors", profile.data, SOURCES | IMAGES):
        two = len(np.unique(loaded(name, "train").labels)) == 2
        for family in profile.families:
            original = LabelCell(
                data=name,
                family=family,
                items=profile.items,
                folds=profile.folds,
                epochs=profile.epochs,
                trainings=profile.trainings,
                noise=NOT_FLIPPED,
                rate=0.0,
                seed=profile.seeds[0],
            )
            yield original
            for noise in profile.noises:
                if noise == "pair" and two and "symmetric" in profile.noises:
                    continue
                yield from grid(partial(replace, original), noise=noise, rate=rates, seed=seeds)


def check(cell: LabelCell) -> None:
    require_minimum(cell, MINIMUM)
    if cell.noise != NOT_FLIPPED and not 0.0 < cell.rate < 1.0:
        raise OutOfRange(f"rates must be between 0 and 1, got {cell.rate}.")


def cost(cell: LabelCell) -> float:
    """Approximate seconds on one core."""
    n = len(loaded(cell.data, "train").labels)
    fits = cell.folds + trainings_of(cell)
    return 0.3 + 7e-6 * min(cell.items or n, n) * cell.epochs * fits


def trainings_of(cell: LabelCell) -> int:
    """Trainings on all items, which the data map alone needs."""
    return cell.trainings if cell.noise == NOT_FLIPPED else 0


def trial(pack: Pack, report: Report) -> None:
    """Runs the cells of one data set and seed, whose items are encoded once."""
    for done, cell in enumerate(pack.cells):
        with report.member(cell):
            study(cell, report, lambda part, done=done: report.progress((done + part) / len(pack.cells)))
    report.progress(1.0)


def study(cell: LabelCell, report: Report, progress: Callable[[float], None]) -> None:
    """Flips labels, if the cell has noise, and reports the scores of all items and their quality."""
    task, vectors = encoded(cell.data, cell.items, cell.seed)
    progress(0.1)
    labels, flipped = task.y, np.zeros(len(task.y), dtype=bool)
    if cell.noise != NOT_FLIPPED:
        labels, flipped = flip_labels(labels, cell.rate, draws(cell.seed, "flips"), cell.noise)
    family = Network(FAMILIES[cell.family], learning_rate=1e-3, epochs=cell.epochs, patience=PATIENCE)
    evidence = gather(
        family, vectors, labels, folds=cell.folds, groups=task.groups, trainings=trainings_of(cell),
        generator=draws(cell.seed, "fit"), between=progress,
    )  # fmt: skip
    scores = scores_of(evidence)
    predicted = labels[np.unique(evidence.codes, return_index=True)[1]][evidence.logs.argmax(axis=1)]
    right = (predicted == task.y).astype(float)
    bits = -scores["pvi"].to_numpy()
    values = {
        "accuracy": right.mean(),
        "accuracy_error": clustered_error(right, task.groups),
        "v_information_bits": bits.mean(),
        "v_information_bits_error": clustered_error(bits, task.groups),
    }
    table = scores.assign(id=task.ids, label=labels)
    if cell.noise == NOT_FLIPPED:
        table = table.assign(predicted=predicted, pvi_bits=bits, **data_map(evidence))
        kept = np.argsort(bits, kind="stable")[:HARDEST]
        if cell.data in IMAGES:
            pictures = loaded(cell.data, "train").images[task.ids[kept].astype(int)]
            report.arrays(cell, "hardest", {"id": task.ids[kept], "pictures": pictures.numpy()})
        else:
            table["text"] = shown(task, EXCERPT)
    else:
        table["flipped"] = flipped
        for key in scores:
            found = measures(scores[key].to_numpy(), flipped)
            values |= {f"{key}/{name}": value for name, value in found.items()}
    report.table(cell, "items", {name: table[name].to_numpy() for name in table})
    report.metrics(cell, values)
    report.constants(cell, {"n": len(labels), "flipped": int(flipped.sum()), "groups": len(np.unique(task.groups))})


@functools.lru_cache(maxsize=4)
def encoded(name: str, count: int, seed: int) -> tuple[Task, np.ndarray]:
    """At most `count` items (0: all) of a data set, drawn by the seed, and their vectors [n, d].

    Texts: leading components of TF-IDF weights (latent semantic analysis, Deerwester et al. 1990); pairs: those of the
    hypothesis and their products with the premise's.
    """
    task = part_of(loaded(name, "train"), count, seed)
    if isinstance(task.x, np.ndarray):
        return task, components(task.x, seed)
    sides = [list(side) for side in zip(*task.x)] if isinstance(task.x[0], tuple) else [task.x]
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True, token_pattern=r"\b\w+\b")
    weights = words.fit_transform([text for side in sides for text in side])
    first, *second = np.split(components(weights, seed), len(sides))
    return task, np.hstack([second[0], first * second[0]]) if second else first


def components(values: Any, seed: int) -> np.ndarray:
    """The leading components of rows, at most n / 2, randomly rotated so that columns have similar scales."""
    count = min(COMPONENTS, values.shape[0] // 2, values.shape[1])
    reduced = TruncatedSVD(count, random_state=seed).fit_transform(values) if count < values.shape[1] else values
    return reduced @ np.linalg.qr(np.random.default_rng(seed).normal(size=(count, count)))[0]


def shown(task: Task, length: int) -> list[str]:
    """The beginnings of texts, pairs with headers; for vectors the number of the item."""
    if isinstance(task.x, np.ndarray):
        return [f"item {place}" for place in task.ids]
    return [text[:length] for text in transformations.standard(task.x)]


SWEEP = Sweep(
    "label-errors",
    cells,
    trial,
    PROFILES,
    axes=("data", "families", "noises", "rates", "seeds"),
    pack_by=dict.fromkeys(("cpu", "gpu"), ("data", "seed")),
    data=lambda cell: (data_set(cell.data, "train"),),
    choices={"families": tuple(FAMILIES), "noises": NOISES},
    check=check,
    cost=cost,
)
