"""Labelled items, paired by coupled labels of known information (Gowri et al. 2024).

Labels (a, b) are drawn, then items x of class a and y of class b: X - A - B - Y. An
item determines its label, so I(X; Y) = I(A; B).
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
    """Items of a pool, x [n, d] and y [n, e] float64, with this information.

    A sample raises FileNotFoundError without the data.
    """
    nats = bits * math.log(2)
    copied = copied_share(nats)

    def sample(n, g):
        a, b = coupled_labels(n, copied, g)
        return items(pool, a, b, g)

    return with_truth(sample, nats)


def coupled_information(copied: float) -> float:
    """I(A; B), nats, of labels of two equal classes; `copied` is the share of copies."""
    other = (1 - copied) / 2
    same = copied + other
    return math.log(2) - float(special.entr([same, other]).sum())


def copied_share(nats: float) -> float:
    """The share of copied labels at which two equal classes have information `nats`."""

    def excess(copied):
        return coupled_information(copied) - nats

    tolerance = np.float64(1e-14)
    root, _ = brentq(excess, 0, 1, xtol=1e-15, rtol=tolerance, full_output=True)
    return root


def coupled_labels(n: int, copied: float, g: Generator) -> Pair:
    """Labels a and b, int [n], each 0 or 1."""
    a = g.integers(0, 2, n)
    is_copied = g.random(n) < copied
    independent = g.integers(0, 2, n)
    return a, np.where(is_copied, a, independent)


def most_rows(pool: str) -> int:
    """The largest sample of a pool, a multiple of 100; FileNotFoundError without data."""
    _, edges = _sorted(pool)
    fewest = np.diff(edges).min()
    # expected + _MARGIN * sqrt(expected) = fewest
    root = (math.sqrt(_MARGIN**2 + 4 * fewest) - _MARGIN) / 2
    expected = root**2
    classes = len(edges) - 1
    return int(expected * classes / 2) // 100 * 100


def items(pool: str, a: NDArray, b: NDArray, g: Generator) -> Pair:
    """An item of class a[i] and one of class b[i] for every row i, each used once.

    Constant columns are left out. TooFew if a class has too few items.
    """
    values, edges = _sorted(pool)
    labels = np.concatenate([a, b])
    rows = np.empty(len(labels), np.intp)
    for label, start in enumerate(edges[:-1]):
        count = edges[label + 1] - start
        wanted = np.flatnonzero(labels == label)
        if len(wanted) > count:
            raise TooFew(
                f"n must be at most the number of items of {pool} ({count:,} items of "
                f"class {label}), "
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
def _sorted(pool: str) -> tuple[NDArray, NDArray]:
    """The items as rows [m, d], sorted by class, and the edges [k + 1] of the classes."""
    items = POOLS[pool]()
    labels = items.labels.numpy()
    values = items.images if hasattr(items, "images") else items.vectors
    rows = values.flatten(1).numpy()
    order = np.argsort(labels, kind="stable")
    _, counts = np.unique(labels, return_counts=True)
    edges = np.append(0, np.cumsum(counts))
    return rows[order], edges
