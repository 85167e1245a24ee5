"""Labelled items paired so that they share the information of a chosen coupling of
labels (Gowri et al. 2024).

Labels (a, b) are drawn, then items x of class a and y of class b: X - A - B - Y, so
I(X; Y) = I(A; B).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.optimize import brentq

from infoscope import data
from infoscope.data.tasks.cases import Case, Generator, Pair, with_truth
from infoscope.errors import TooFew

POOLS: dict[str, Callable] = {
    "mnist-0-1": lambda: data.mnist().restrict((0, 1)),
    "imdb-bert": lambda: data.imdb_embeddings(),
}
_MARGIN = 5.5  # standard deviations of the number of items of a class in a sample


def case(pool: str, bits: float) -> Case:
    """Items of a pool with this information: sample(n, generator) -> (x [n, d], y [n,
    e]) float64.

    FileNotFoundError on sampling without the data.
    """
    nats = bits * math.log(2)
    copied = copied_share(nats)

    def sample(n, g):
        a, b = coupled_labels(n, copied, g)
        return items(pool, a, b, g)

    return with_truth(sample, nats)


def coupled_information(copied: float) -> float:
    """I(A; B), nats, of two equal classes when B is A with probability `copied` and
    else either.
    """
    other = (1 - copied) / 2
    same = copied + other
    return math.log(2) - float(special.entr([same, other]).sum())


def copied_share(nats: float) -> float:
    """The share of copied labels at which two equal classes have information `nats`."""
    return brentq(
        lambda copied: coupled_information(copied) - nats,
        0.0,
        1.0,
        xtol=1e-15,
        rtol=1e-14,
    )


def coupled_labels(n: int, copied: float, g: Generator) -> Pair:
    """Labels a and b, int [n], each 0 or 1."""
    a = g.integers(0, 2, n)
    same = g.random(n) < copied
    return a, np.where(same, a, g.integers(0, 2, n))


def most_rows(pool: str) -> int:
    """The largest sample of a pool, in hundreds. FileNotFoundError where the data are
    not there.
    """
    _, of_class = _sorted(pool)
    fewest = min(stop - start for start, stop in of_class)
    # plus the margin this is `fewest`
    wanted = ((math.sqrt(_MARGIN**2 + 4 * fewest) - _MARGIN) / 2) ** 2
    return int(wanted * len(of_class) / 2) // 100 * 100


def items(pool: str, a: NDArray, b: NDArray, g: Generator) -> Pair:
    """An item of class a[i] and one of class b[i] for every row, without repeats or
    constant columns.

    n must stay well below the size of the pool. ValueError where a class has too few
    items.
    """
    values, of_class = _sorted(pool)
    labels = np.concatenate([a, b])
    rows = np.empty(len(labels), np.intp)
    for label, (start, stop) in enumerate(of_class):
        count = stop - start
        wanted = np.flatnonzero(labels == label)
        if len(wanted) > count:
            raise TooFew(
                f"n must be at most the number of items of {pool} ({count:,} items of class {label}), "
                f"got {len(wanted):,}: each item is used once."
            )
        rows[wanted] = start + g.permutation(count)[: len(wanted)]
    rows_x, rows_y = np.split(rows, 2)
    return _varying(values[rows_x]), _varying(values[rows_y])


def _varying(values: NDArray) -> NDArray[np.float64]:
    """The columns that are not constant."""
    varies = (values != values[0]).any(axis=0)
    return values[:, varies].astype(np.float64)


@functools.cache
def _sorted(pool: str) -> tuple[NDArray, list[tuple[int, int]]]:
    """The items as rows [m, d], sorted by class, and where each class starts and stops."""
    items = POOLS[pool]()
    labels = items.labels.numpy()
    values = (items.images if hasattr(items, "images") else items.vectors).numpy()
    order = np.argsort(labels, kind="stable")
    _, counts = np.unique(labels, return_counts=True)
    edges = np.concatenate([[0], np.cumsum(counts)])
    return values.reshape(len(values), -1)[order], list(zip(edges[:-1], edges[1:]))
