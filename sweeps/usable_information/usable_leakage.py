"""Which predictors can still use information that a representation should hide? (Xu et
al. 2020, section 6.4, fairness)

Shannon's mutual information does not depend on the observer, but V-information does:
information that is hidden from one family of predictors may be usable by another. There
are two studies:

    blocks  the latent blocks of models logged by the sweep domain-partition, which must run first: the information
            about class and domain that every family can use in each block
    hiding  features of digits trained to hide their parity from one family of networks: the information that every
            family can use about the parity, and about the pair that a digit is in (0-1 to 8-9), which is nearly
            independent of it and not hidden
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from infoscope import data
from infoscope.checks import one_of
from infoscope.errors import OutOfRange
from infoscope.estimators.families.local import NearestNeighbours
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.families.networks import Network
from infoscope.estimators.families.protocol import Family
from infoscope.metrics.v_information.leakage import hide, usable_leakage
from infoscope.models.domain import extract_blocks
from infoscope.tracking import (
    Cell,
    Pack,
    Profile,
    Report,
    Sweep,
    arrays,
    grid,
    load_model,
    runs,
)
from infoscope.tracking.datasets import DataSet
from sweeps import datasets
from sweeps.checks import require_minimum
from sweeps.partition import domain_partition
from sweeps.partition.settings import ITEMS, MODELS
from sweeps.streams import draws, stream
from sweeps.usable_information.settings import NOTHING

NETWORKS = {
    "linear": Network(()),
    "softplus-50": Network((50,), "softplus"),
    "relu-50": Network((50,), "relu"),
    "relu-50x50": Network((50, 50), "relu"),
}
FAMILIES: Mapping[str, Family] = {
    "logistic": Logistic(),
    **{name: NETWORKS[name] for name in ("softplus-50", "relu-50", "relu-50x50")},
    "knn": NearestNeighbours(),
}
ALL_BLOCKS = "all blocks"
REPRESENTATIONS = ("mean", "draw")
SIDE = 14  # width and height of resized MNIST images, pixels
MINIMUM = {
    "items": 60,
    "folds": 3,
    "steps": 1,
    "adversary_steps": 1,
    "size": 1,
    "seed": 0,
}


@dataclass(frozen=True, kw_only=True)
class LeakageCell(Cell):
    study: str  # blocks or hiding
    data: str  # the name of the data of a training, or digits or mnist
    families: tuple[str, ...]  # some of FAMILIES
    items: int  # at most
    folds: int


@dataclass(frozen=True, kw_only=True)
class BlocksCell(LeakageCell):
    study: str = "blocks"
    source: str  # key of a training in domain-partition
    model: str
    held_out: int  # domain
    seed: int  # of the training
    representation: str  # one of REPRESENTATIONS


@dataclass(frozen=True, kw_only=True)
class HidingCell(LeakageCell):
    study: str = "hiding"
    against: str  # one of NETWORKS, or NOTHING
    size: int  # features
    strength: float  # weight of hiding
    adversary_steps: int  # of the network for each step
    steps: int
    seed: int


@dataclass(frozen=True)
class LeakageProfile(Profile):
    studies: tuple[str, ...] = ("blocks", "hiding")
    source: str = "paper"  # label of runs of domain-partition
    representations: tuple[str, ...] = REPRESENTATIONS
    readers: tuple[str, ...] = tuple(FAMILIES)  # of blocks
    images: str = "auto"
    against: tuple[str, ...] = (NOTHING, *NETWORKS)
    families: tuple[str, ...] = tuple(FAMILIES)  # of features that hide something
    items: int = 10_000
    folds: int = 5
    size: int = 10
    strength: float = 1.0
    adversary_steps: int = 20
    steps: int = 5000
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)


PAPER = LeakageProfile()
LAPTOP = replace(
    PAPER,
    source="laptop",
    representations=("mean",),
    readers=("logistic", "relu-50", "knn"),
    items=3000,
    folds=3,
    steps=1000,
    seeds=(0, 1, 2),
)
SMOKE = replace(
    LAPTOP,
    source="smoke",
    readers=("logistic", "knn"),
    against=(NOTHING, "linear"),
    families=("logistic", "relu-50"),
    items=300,
    steps=40,
    seeds=(0,),
)
PROFILES = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}


def cells(profile: LeakageProfile) -> Iterator[LeakageCell]:
    """One cell per logged model and representation, and one per hidden family and seed.
    source: label, "+" = space.
    """
    studies = {"blocks": block_cells, "hiding": hiding_cells}
    for study in profile.studies:
        yield from studies[one_of("study", study, studies)](profile)


def block_cells(profile: LeakageProfile) -> Iterator[BlocksCell]:
    """Cells for the models of the newest version that did not diverge. Without any: a
    note on standard error, or ValueError if there is no other study.
    """
    try:
        trainings = logged(profile.source.replace("+", " "))
    except LookupError as error:
        if tuple(profile.studies) == ("blocks",):
            raise ValueError(
                f"the blocks come from the sweep domain-partition, but {error.args[0]}"
            ) from None
        print(f"note: there are no latent blocks: {error.args[0]}", file=sys.stderr)
        return
    for _, run in trainings.iterrows():
        yield from grid(
            BlocksCell,
            source=run["key"],
            data=run["tags"]["infoscope.data"],
            model=run["model"],
            held_out=run["held_out"],
            seed=run["seed"],
            representation=list(profile.representations),
            families=profile.readers,
            items=profile.items,
            folds=profile.folds,
        )


def logged(label: str | None) -> pd.DataFrame:
    """The finished trainings with a label (None: any) of models that there are, of the
    newest version, not diverged. LookupError if none.
    """
    trainings = runs(domain_partition.SWEEP.name, label)
    newest = (
        trainings["version"] == trainings.loc[trainings["start"].idxmax(), "version"]
    )
    return trainings[
        newest & (trainings["diverged"] == 0) & trainings["model"].isin(MODELS)
    ]


def hiding_cells(profile: LeakageProfile) -> Iterator[HidingCell]:
    """Cells for every family to hide from, and for hiding nothing."""
    images = datasets.image_data(profile.images)
    for against in profile.against:
        yield from grid(
            HidingCell,
            data=images,
            against=against,
            families=profile.families,
            items=profile.items,
            folds=profile.folds,
            size=profile.size,
            strength=0.0 if against == NOTHING else profile.strength,
            adversary_steps=profile.adversary_steps,
            steps=profile.steps,
            seed=list(profile.seeds),
        )


def check(cell: LeakageCell) -> None:
    for name in cell.families:
        one_of("family", name, FAMILIES)
    require_minimum(cell, MINIMUM)
    if cell.study == "blocks":
        assert isinstance(cell, BlocksCell)
        one_of("representation", cell.representation, REPRESENTATIONS)
    else:
        assert isinstance(cell, HidingCell)
        one_of("images", cell.data, ("digits", "mnist"))
        one_of("network to hide from", cell.against, (NOTHING, *NETWORKS))
        if not cell.strength >= 0.0:
            raise OutOfRange(f"strength must be at least 0, got {cell.strength}.")


def trial(pack: Pack[Any], report: Report) -> None:
    """Measures the information that every family can use in the representation of a
    cell.
    """
    (cell,) = pack.cells
    families = {name: FAMILIES[name] for name in cell.families}
    if cell.study == "blocks":
        leakage = measure_blocks(cell, families, pack.device)
    else:
        leakage = measure_hidden(cell, families, report)
    report.table(cell, "leakage", {name: leakage[name].to_numpy() for name in leakage})
    for row in leakage.itertuples():
        name = f"{row.label}/{row.block}/{row.family}"
        report.metrics(
            cell,
            {
                f"{name}_bits": row.value_bits,
                f"{name}_bits_error": row.standard_error_bits,
            },
        )
    ceilings = leakage.groupby("label")["ceiling_bits"].first()
    report.metrics(
        cell, {f"{label}/ceiling_bits": bits for label, bits in ceilings.items()}
    )
    report.metrics(cell, {"n": leakage["n"].max()})


def measure_blocks(
    cell: BlocksCell, families: Mapping[str, Family], device: str
) -> pd.DataFrame:
    """The usable information in every block and in all together, about class and domain
    of unseen items of the training domains.
    """
    run, items = source_of(cell.source)
    inside = items["split"] == list(items["split_names"]).index(
        domain_partition.PARTS[0]
    )
    rows = np.flatnonzero(inside & some_groups(items["groups"], inside, cell.items))
    model = load_model(run, domain_partition.MODEL).to(device)
    x = torch.from_numpy(items["x"][rows]).float() / 255.0
    noise = stream(cell.seed, "blocks") if cell.representation == "draw" else None
    blocks = {}
    for name, z in extract_blocks(model, x, generator=noise).items():
        blocks[name] = z.numpy().astype(np.float64)
    if len(blocks) > 1:
        blocks[ALL_BLOCKS] = np.concatenate(list(blocks.values()), axis=1)
    labels = {"class": items["y"][rows], "domain": items["d"][rows]}
    groups = items["groups"][rows]
    return usable_leakage(
        blocks, labels, families, cell.folds, groups, generator=np.random.default_rng(0)
    )


@functools.lru_cache(maxsize=1)
def source_of(key: str) -> tuple[str, dict[str, np.ndarray]]:
    """The id of the run of a training by its key, and its logged items."""
    every = logged(None)
    run = every.loc[every["key"] == key, "run_id"].iloc[0]
    return run, arrays(run, ITEMS)


def data_sets(cell: LeakageCell) -> tuple[DataSet, ...]:
    """The logged items of a training, or all digits, from which some are drawn."""
    if cell.study == "blocks":
        assert isinstance(cell, BlocksCell)
        source = "logged by a training of domain-partition"
        return (
            DataSet(cell.data, source, lambda: source_of(cell.source)[1], "evaluation"),
        )
    return (datasets.items(cell.data, getattr(data, cell.data), synthetic=False),)


def some_groups(groups: np.ndarray, inside: np.ndarray, count: int) -> np.ndarray:
    """A mask [n] of random whole groups with about `count` of the items inside."""
    shuffled = np.random.default_rng(0).permutation(np.unique(groups[inside]))
    share = min(1.0, count / inside.sum())
    return np.isin(groups, shuffled[: max(1, round(share * len(shuffled)))])


def measure_hidden(
    cell: HidingCell, families: Mapping[str, Family], report: Report
) -> pd.DataFrame:
    """The usable information in features that are trained on one half of the digits,
    measured on the other half.
    """
    x, digit = pixels(cell.data, cell.items, cell.seed)
    parity = digit % 2
    fitted = draws(cell.seed, "halves").permutation(len(x)) < len(x) // 2
    hidden = hide(
        x[fitted],
        parity[fitted],
        NETWORKS.get(cell.against, NETWORKS["linear"]),
        cell.size,
        cell.strength,
        cell.steps,
        adversary_steps=cell.adversary_steps,
        generator=stream(cell.seed, f"hiding from {cell.against}"),
    )
    costs = {
        "reconstruction_mse": hidden.reconstruction,
        "adversary_log_loss_nats": hidden.adversary_log_loss,
    }
    report.metrics(cell, costs)
    report.progress(0.3)
    features = {"features": hidden.encode(x[~fitted])}
    labels = {"hidden": parity[~fitted], "kept": digit[~fitted] // 2}
    return usable_leakage(
        features,
        labels,
        families,
        cell.folds,
        generator=np.random.default_rng(cell.seed),
    )


def pixels(name: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """At most `count` digits, drawn by the seed: pixels [n, d] in [0, 1] and digits
    [n].
    """
    pool = data.digits() if name == "digits" else data.mnist()
    images = pool.images if name == "digits" else pool.resized(SIDE, SIDE)
    rows = draws(seed, "digits").permutation(len(images))[:count]
    return images[rows].reshape(len(rows), -1).numpy() / 255.0, pool.labels[
        rows
    ].numpy()


def cost(cell: LeakageCell) -> float:
    """Approximate seconds on one core: networks by items and folds, for two labels."""
    networks = sum(name in NETWORKS for name in cell.families)
    blocks = 5 if cell.study == "blocks" else 1
    hiding = (
        0.0
        if cell.study == "blocks"
        else cell.steps * (1.5e-3 + 6e-4 * cell.adversary_steps)
    )
    return blocks * (networks + 0.3) * cell.folds * cell.items * 4e-4 + hiding


SWEEP = Sweep(
    "usable-leakage",
    cells,
    trial,
    PROFILES,
    axes=("studies", "source", "representations", "against", "seeds"),
    data=data_sets,
    choices={
        "studies": ("blocks", "hiding"),
        "representations": REPRESENTATIONS,
        "readers": tuple(FAMILIES),
        "families": tuple(FAMILIES),
        "against": (NOTHING, *NETWORKS),
        "images": ("auto", "digits", "mnist"),
    },
    check=check,
    cost=cost,
    version=3,  # another fit of logistic families of ten classes
)
