"""Tables of measurements bundled with scikit-learn, with a variable y of known information made from their rows.

x is a table (its distinct rows, each drawn at most once, without constant columns). The rows' first principal component
determines y: a group, one of four of equal size, kept or replaced by a random one (I of that channel); or its normal
score with normal noise (I of two correlated normal variables).
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn import datasets

from infoscope.data.tasks.cases import Case, Generator, Pair, known
from infoscope.data.tasks.resampled import coupled_information
from infoscope.errors import TooFew

TABLES = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast-cancer": datasets.load_breast_cancer,
    "diabetes": datasets.load_diabetes,
    "digits": datasets.load_digits,
}
GROUPS, KEPT = 4, 0.8  # of the label: groups, and the share of rows whose group is kept
NOISE = 0.6  # standard deviation beside that of the score, 1


def label(table: str) -> Case:
    """The group of each row through the channel: I = that of the groups, nats."""

    def sample(n: int, g: Generator) -> Pair:
        x, score = drawn(table, n, g)
        group = np.minimum((special.ndtr(score) * GROUPS).astype(int), GROUPS - 1)
        return x, np.where(g.random(n) < KEPT, group, g.integers(0, GROUPS, n))

    return known(sample, coupled_information(KEPT, GROUPS), "labels")


def number(table: str) -> Case:
    """The score of each row with noise: I = log(1 + 1 / noise²) / 2, nats."""

    def sample(n: int, g: Generator) -> Pair:
        x, score = drawn(table, n, g)
        return x, (score + NOISE * g.normal(size=n))[:, None]

    return known(sample, math.log1p(NOISE**-2) / 2)


CASES = {
    **{f"{table}-and-group": label(table) for table in TABLES},
    **{f"{table}-and-score": number(table) for table in TABLES},
}


def drawn(table: str, n: int, g: Generator) -> Pair:
    """n rows of a table [n, d] and the normal scores of their first principal component [n]."""
    rows, score = _rows(table)
    if n > len(rows):
        raise TooFew(f"n must be at most {len(rows)}, the distinct rows of {table}, got {n}.")
    kept = g.permutation(len(rows))[:n]
    return rows[kept], score[kept]


def most_rows(name: str) -> int:
    """The largest sample of a case."""
    return len(_rows(name.rpartition("-and-")[0])[0])


@functools.cache
def _rows(table: str) -> tuple[NDArray, NDArray]:
    """The distinct rows, sorted by value, and their scores."""
    rows = np.unique(TABLES[table]()["data"].astype(np.float64), axis=0)
    rows = rows[:, (rows != rows[0]).any(axis=0)]
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    first = scaled @ np.linalg.svd(scaled, full_matrices=False)[2][0]
    ranks = first.argsort().argsort()
    return rows, special.ndtri((ranks + 0.5) / len(rows))
