"""Data sets and predictive families of the sweep dataset-difficulty."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from infoscope import data
from infoscope.checks import one_of
from infoscope.errors import UnknownName
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.families.protocol import Family
from infoscope.estimators.families.scikit import tfidf_logistic
from infoscope.tracking import Cell
from infoscope.tracking.datasets import DataSet
from sweeps import datasets
from sweeps.embedding import HUB, TRANSFORMERS
from sweeps.streams import draws, stream
from sweeps.usable_information._text_families import (
    SequenceClassifiers,
    lexical_logistic,
)

GENERATED = 6000  # pairs, or reviews
ARTEFACT = 0.4  # share of the generated hypotheses with a word that reveals their label


@dataclass(frozen=True, kw_only=True)
class DifficultyCell(Cell):
    """A cell of dataset-difficulty. The settings of a training are None, and recorded
    as such, for quick families.
    """

    none_is_a_value = ("epochs", "batch", "max_length", "null")

    study: str  # difficulty or epochs
    data: str  # one of SOURCES
    transformation: str  # of the texts
    family: str  # one of QUICK, FOR_VECTORS, or an encoder
    estimator: str  # held-out or cross-fitted
    items: int  # to fit; 0: all
    measured: int  # items of the test set; 0: all
    folds: int
    epochs: int | None  # of a training
    batch: int | None  # texts in a step
    max_length: int | None  # tokens of a text
    null: str | None  # one of `_text_families.NULLS`
    artefacts: int  # texts in which influential tokens are sought
    seed: int  # of items, folds, shuffles and initial weights


@dataclass(frozen=True)
class Source:
    """The training and test set of a data set (test None: there is one set, which is
    split).
    """

    train: Callable[[], Any]
    test: Callable[[], Any] | None = None
    pairs: bool = False


def generated_nli() -> data.LabelledTexts:
    """The pairs of the generated grammar, always the same."""
    return data.generated_nli(GENERATED, ARTEFACT, generator=stream(0, "generated nli"))


def generated_reviews() -> data.LabelledTexts:
    """The reviews of the generated grammar, always the same."""
    return data.generated_reviews(
        GENERATED // 2, generator=stream(0, "generated reviews")
    )


TEXTS = {
    "snli": Source(
        lambda: data.nli("snli", "train"), lambda: data.nli("snli", "test"), pairs=True
    ),
    "mnli": Source(
        lambda: data.nli("mnli", "train"), lambda: data.nli("mnli", "dev"), pairs=True
    ),
    "mnli-dev": Source(lambda: data.nli("mnli", "dev"), pairs=True),
    "cola": Source(lambda: data.cola("train"), lambda: data.cola("dev")),
    "sst2": Source(lambda: data.sst2("train"), lambda: data.sst2("test")),
    "imdb": Source(lambda: data.imdb("train"), lambda: data.imdb("test")),
    "generated-nli": Source(generated_nli, pairs=True),
    "generated-reviews": Source(generated_reviews),
}
EMBEDDINGS = {
    f"imdb-{encoder}": Source(lambda e=encoder: data.imdb_embeddings(e))
    for encoder in ("bert", "roberta")
}
SOURCES = TEXTS | EMBEDDINGS
AUTO = {  # by setting: with INFOSCOPE_DATA, and without
    "data": (("snli", "mnli-dev", "cola"), ("generated-nli", "generated-reviews")),
    "embeddings": (("imdb-bert",), ()),
    "curves": (("snli", "cola"), ("generated-nli",)),
}  # fmt: skip

QUICK: Mapping[str, Callable[[], Family]] = {
    "lexical-logistic": lexical_logistic,
    "tfidf-logistic": functools.partial(tfidf_logistic, ngrams=2),
}
# for 768 columns: the best in cross-validation
FOR_VECTORS = {"logistic": functools.partial(Logistic, penalty=100.0)}


def chosen(setting: str, names: Sequence[str]) -> list[str]:
    """The data sets of a setting; "auto": those of INFOSCOPE_DATA or generated ones.
    ValueError: unknown.
    """
    with_data, without_data = AUTO[setting]
    words = {
        "auto": without_data if data.data_root() is None else with_data,
        "none": (),
    }
    unique = {}
    for name in names:
        unique |= dict.fromkeys(words.get(name, (name,)))
    return [one_of(setting, name, ("auto", "none", *SOURCES)) for name in unique]


def known_information(cell: DifficultyCell) -> float | None:
    """The mutual information between the transformed input and the class, nats, if it
    is known.
    """
    if cell.data != "generated-nli":
        return None
    share = {"std": 1.0, "hypothesis": ARTEFACT, "premise": 0.0, "null": 0.0}.get(
        cell.transformation
    )
    return None if share is None else data.hypothesis_information(share)


@functools.lru_cache(maxsize=4)
def loaded(name: str, part: str) -> Any:
    """The labelled texts, or the pool of vectors, of a data set's part ("train",
    "test").
    """
    return getattr(SOURCES[name], part)()


def data_sets(cell: DifficultyCell) -> tuple[DataSet, ...]:
    """The data of a cell, before items are drawn."""
    tested = cell.estimator == "held-out" and SOURCES[cell.data].test is not None
    return tuple(data_set(cell.data, part) for part in ("train", "test")[: 1 + tested])


@functools.cache
def data_set(name: str, part: str) -> DataSet:
    """A part of a data set, before items are drawn."""
    return datasets.items(loaded(name, part).name, lambda: loaded(name, part), part)


def amount(cell: DifficultyCell) -> tuple[int, int, float]:
    """The numbers of items that a cell fits and measures, and the mean number of words
    of a transformed item.
    """
    count, sides = size_of(cell.data, "train")
    fitted = measured = min(cell.items or count, count)
    if cell.estimator == "held-out" and SOURCES[cell.data].test is None:
        measured = fitted // cell.folds
        fitted -= measured
    elif cell.estimator == "held-out":
        count, _ = size_of(cell.data, "test")
        measured = min(cell.measured or count, count)
    words = {"premise": sides[0], "hypothesis": sides[-1], "overlap": 1.0, "null": 1.0}
    return fitted, measured, words.get(cell.transformation, sum(sides))


@functools.cache
def size_of(name: str, part: str) -> tuple[int, list[float]]:
    """The number of items of a part of a data set, and the mean number of words of each
    text (vectors: 0).
    """
    items = loaded(name, part)
    if name in EMBEDDINGS:
        return len(items.labels), [0.0]
    sides = [items.premises, items.hypotheses] if items.of_pairs else [items.texts]
    words = []
    for side in sides:
        words.append(float(np.mean([len(text.split()) for text in side])))
    return len(items), words


def is_encoder(family: str) -> bool:
    """Whether a family consists of fine-tuned transformers."""
    return family in TRANSFORMERS or family.startswith(HUB)


def family_of(cell: DifficultyCell) -> Family:
    """The predictive family of a cell. ValueError for an unknown one, or one that does
    not accept the data.
    """
    name = cell.family
    vectors = cell.data in EMBEDDINGS
    families = FOR_VECTORS if vectors else QUICK
    if name in families:
        return families[name]()
    if vectors or not is_encoder(name):
        valid = [*families] if vectors else [*families, *TRANSFORMERS, f"{HUB}<model>"]
        raise UnknownName(
            f"family must be one of {', '.join(valid)} for {cell.data}, got {name!r}"
        )
    assert cell.epochs is not None and cell.batch is not None
    assert cell.max_length is not None and cell.null is not None
    return SequenceClassifiers(
        name,
        epochs=cell.epochs,
        batch=cell.batch,
        max_length=cell.max_length,
        null=cell.null,
    )


@dataclass(frozen=True, eq=False)
class Task:
    """Items to fit and to measure: texts, pairs of texts or vectors x [n, d]; names of
    their classes y [n]; codes of groups of dependent items [n]; ids in the data set
    [n]. The first `fitted` items are only fitted; 0: all are split into folds.
    """

    x: Any
    y: np.ndarray
    groups: np.ndarray
    ids: np.ndarray
    fitted: int = 0


def task_of(cell: DifficultyCell) -> Task:
    """The items of a cell: at most `items` to fit, drawn by the seed, and `measured` of
    the test set, the same for every seed; 0: all. In cross-fitting, and without a test
    set, the items to fit are also measured.
    """
    train = part_of(loaded(cell.data, "train"), cell.items, cell.seed)
    if cell.estimator != "held-out" or SOURCES[cell.data].test is None:
        return train
    test = part_of(loaded(cell.data, "test"), cell.measured, 0)
    return Task(
        x=[*train.x, *test.x],
        y=np.concatenate([train.y, test.y]),
        groups=np.concatenate([train.groups, test.groups + train.groups.max() + 1]),
        ids=np.concatenate([train.ids, test.ids]),
        fitted=len(train.x),
    )


def part_of(items: Any, count: int, seed: int) -> Task:
    """At most `count` items of labelled texts or of a pool of vectors, in their order;
    0: all.
    """
    places = np.arange(len(items.labels))
    if 0 < count < len(places):
        places = np.sort(draws(seed, "items").choice(places, count, replace=False))
    if isinstance(items, data.LabelledTexts):
        part = items.take(places)
        return Task(
            list(part.texts),
            np.array(part.label_names),
            part.groups,
            np.array(part.ids, dtype=str),
        )
    vectors = items.vectors[places].numpy().astype(np.float64)
    # some reviews occur twice
    groups = pd.factorize(np.array([row.tobytes() for row in vectors], dtype=object))[0]
    return Task(vectors, items.labels[places].numpy(), groups, places.astype(str))
