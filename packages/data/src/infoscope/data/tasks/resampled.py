"""Labelled items paired so that their information is that of a chosen coupling of labels.

Labels (a, b) are drawn, then items x of class a and y of class b: X - A - B - Y, so I(X; Y) = I(A; B). The benchmark of
Gowri, Lun, Klein & Yin 2024 is the digits 0 and 1 of MNIST at 200 levels from 0 to 1 bit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from infoscope import data
from infoscope.checks import one_of, require_int
from infoscope.data.information import table_information
from infoscope.data.tasks.cases import Case, Generator, Pair, known
from infoscope.errors import InvalidInput, TooFew

_BITS = 1 / math.log(2)
POOLS: dict[str, Callable] = {
    "mnist-0-1": lambda: data.mnist().restrict((0, 1)),
    "mnist": lambda: data.mnist(),
    "cifar10": lambda: data.cifar10(),
    "imdb-bert": lambda: data.imdb_embeddings(),
}
CLASSES = {"mnist-0-1": 2, "mnist": 10, "cifar10": 10, "imdb-bert": 2}
_MARGIN = 5.5  # standard deviations of the number of items of a class in a sample


def level_names(pool: str, count: int) -> tuple[str, ...]:
    """Names of `count` distributions of a pool, from 0 bits up. ValueError: an unknown pool, or fewer than 2 levels."""
    one_of("pool", pool, POOLS)
    require_int("count", count, 2)
    return tuple(
        f"{pool}-at-{bits:.3f}" for bits in np.linspace(0, math.floor(100 * math.log2(CLASSES[pool])) / 100, count)
    )


NAMES = level_names("mnist-0-1", 200)


def case(name: str) -> Case:
    """The distribution "<pool>-at-<bits>": sample(n, generator) -> (x [n, d], y [n, e]) float64, truth in nats.

    ValueError: not such a name, or too many bits. FileNotFoundError on sampling without the data.
    """
    pool, _, bits = name.rpartition("-at-")
    try:
        nats = float(bits) / _BITS
    except ValueError:
        nats = math.nan
    if pool not in POOLS or not 0 <= nats < math.log(CLASSES[pool]) + 1e-9:
        pools = ", ".join(POOLS)
        raise InvalidInput(
            f"distribution must be <pool>-at-<bits>, pool one of {pools}, bits of its labels, got {name!r}."
        )
    count = CLASSES[pool]
    kept = kept_share(nats, count)

    def sample(n: int, g: Generator) -> Pair:
        a, b = coupled_labels(n, count, kept, g)
        return items(pool, a, b, g)

    return known(sample, nats)


def floor(name: str, n: int, generator: Generator) -> float:
    """Plug-in information of the labels in n draws, nats: the estimate with perfect knowledge of the labels."""
    pool, _, bits = name.rpartition("-at-")
    count = CLASSES[pool]
    a, b = coupled_labels(n, count, kept_share(float(bits) / _BITS, count), generator)
    joint = np.bincount(a * count + b, minlength=count**2).reshape(count, count)
    return table_information(joint / n)


def coupled_information(kept: float, count: int) -> float:
    """I(A; B), nats, of `count` equal classes when B is A with probability `kept` and else uniform over all."""
    same, other = (kept + (1 - kept) / count), (1 - kept) / count
    return math.log(count) + same * math.log(same) + ((count - 1) * other * math.log(other) if other else 0.0)


def kept_share(nats: float, count: int) -> float:
    """The share of kept labels at which `count` equal classes have information `nats`."""
    if nats <= 0:
        return 0.0
    if nats >= math.log(count):
        return 1.0
    return brentq(lambda kept: coupled_information(kept, count) - nats, 0.0, 1.0, xtol=1e-15, rtol=1e-14)


def coupled_labels(n: int, count: int, kept: float, g: Generator) -> Pair:
    """Labels a and b, int [n]."""
    a = g.integers(0, count, n)
    return a, np.where(g.random(n) < kept, a, g.integers(0, count, n))


def most_rows(pool: str) -> int:
    """The largest sample of a pool, in hundreds. FileNotFoundError where the data are not there."""
    _, of_class = _sorted(pool)
    fewest = min(stop - start for start, stop in of_class)
    wanted = ((math.sqrt(_MARGIN**2 + 4 * fewest) - _MARGIN) / 2) ** 2  # plus the margin this is `fewest`
    return int(wanted * len(of_class) / 2) // 100 * 100


def items(pool: str, a: NDArray, b: NDArray, g: Generator) -> Pair:
    """An item of class a[i] and one of class b[i] for every row, without repeats or constant columns.

    n must stay well below the size of the pool. ValueError where a class has too few items.
    """
    values, of_class = _sorted(pool)
    rows = np.empty(2 * len(a), np.intp)
    for label, (start, stop) in enumerate(of_class):
        wanted = np.flatnonzero(np.concatenate([a, b]) == label)
        if len(wanted) > stop - start:
            has = f"{stop - start:,} items of class {label}"
            raise TooFew(
                f"n must be at most the number of items of {pool} ({has}), got {len(wanted):,}: each item is used once."
            )
        rows[wanted] = start + g.permutation(stop - start)[: len(wanted)]
    x, y = values[rows[: len(a)]], values[rows[len(a) :]]
    return tuple(of[:, (of != of[0]).any(axis=0)].astype(np.float64) for of in (x, y))


@functools.cache
def _sorted(pool: str) -> tuple[NDArray, list[tuple[int, int]]]:
    """The items as rows [m, d], sorted by class, and where each class starts and stops."""
    read = POOLS[pool]()
    labels = read.labels.numpy()
    values = (read.images if hasattr(read, "images") else read.vectors).numpy()
    order = np.argsort(labels, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(labels[order] - labels.min()))])
    edges = np.unique(edges)  # classes that the pool lacks are empty
    return values.reshape(len(values), -1)[order], list(zip(edges[:-1], edges[1:]))
