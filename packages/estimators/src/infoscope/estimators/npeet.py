"""What NPEET returns, to compare with: its formulas, with their errors.

NPEET is by Greg Ver Steeg (MIT licence). The numbers are its own up to its tie-breaking
noise; its correction of thin neighbourhoods (alpha) is missing. `knn` has the estimators
to use: it types columns, standardises them (noise of 1e-10 destroys data of this scale)
and takes Ross 2014 for numbers and categories.

Arguments: x, y, z [n] or [n, d] or lists of lists; k, number of neighbours; base of the
logarithm; generator of the noise (None: a new generator with seed 0). Errors:
WrongLength for different numbers of rows, OutOfRange for k or the base.

Examples
--------
>>> x = np.random.default_rng(0).normal(size=(500, 1))
>>> print(f"{mi(x, x + np.roll(x, 1)):.2f} bits")
0.47 bits
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import digamma

from infoscope.checks import require_int
from infoscope.errors import OutOfRange, WrongLength
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.columns import as_matrix
from infoscope.estimators.knn.search import count_within, nearest

NOISE = 1e-10  # largest value of NPEET's noise


def mi(
    x: Any,
    y: Any,
    z: Any = None,
    k: int = 3,
    base: float = 2,
    *,
    generator: Generator | None = None,
) -> float:
    """I(x; y) by KSG 1, or I(x; y | z) by Frenzel-Pompe."""
    generator = generator_or_default(generator)
    if z is None:
        _require_same_rows(x=x, y=y)
        z = np.empty((len(x), 0))
    else:
        _require_same_rows(x=x, y=y, z=z)
        z = as_matrix("values", z)
    x = _noisy(x, generator)
    y = _noisy(y, generator)
    radius = _radii(np.hstack([x, y, z]), k)
    digamma_xz = _mean_digamma(np.hstack([x, z]), radius)
    digamma_yz = _mean_digamma(np.hstack([y, z]), radius)
    digamma_z = _mean_digamma(z, radius) if z.size else digamma(len(x))
    nats = digamma(k) - digamma_xz - digamma_yz + digamma_z
    return float(nats) / _nats_per_unit(base)


def micd(
    x: Any, y: Any, k: int = 3, base: float = 2, *, generator: Generator | None = None
) -> float:
    """|H(x) - sum p(y) H(x | y)| of numbers x and categories y.

    A class with at most k samples contributes H(x).
    """
    generator = generator_or_default(generator)
    _require_same_rows(x=x, y=y)
    x = as_matrix("values", x)
    label_rows = np.asarray(y).reshape(len(y), -1)
    _, labels = np.unique(label_rows, axis=0, return_inverse=True)
    labels = labels.reshape(-1)
    marginal = entropy(x, k, base, generator=generator)
    conditional = 0.0
    for label in range(labels.max() + 1):
        is_member = labels == label
        entropy_in_class = marginal
        if is_member.sum() > k:
            entropy_in_class = entropy(x[is_member], k, base, generator=generator)
        conditional += is_member.mean() * entropy_in_class
    return abs(marginal - conditional)


def entropy(
    x: Any, k: int = 3, base: float = 2, *, generator: Generator | None = None
) -> float:
    """H(x) by Kozachenko and Leonenko."""
    x = _noisy(x, generator_or_default(generator))
    n, dim = x.shape
    log_widths = np.log(2 * _radii(x, k))
    nats = digamma(n) - digamma(k) + dim * log_widths.mean()
    return float(nats) / _nats_per_unit(base)


def _nats_per_unit(base: float) -> float:
    """Nats in a unit of information with this base of the logarithm."""
    if not 0 < base < np.inf or base == 1:
        raise OutOfRange(f"base must be a positive number other than 1, got {base!r}.")
    return log(base)


def _mean_digamma(points: np.ndarray, radius: np.ndarray) -> float:
    """Mean digamma of the number of points within radius - 1e-15 of each point.

    The point itself is included.
    """
    closed = np.nextafter(radius - 1e-15, np.inf)  # as NPEET
    counts = 1 + count_within(np.ascontiguousarray(points), closed)
    return float(digamma(counts).mean())


def _radii(points: np.ndarray, k: int) -> np.ndarray:
    """The distance of each point to its k-th neighbour [n]."""
    if require_int("k", k, 1) >= len(points):
        raise OutOfRange(f"k must be below the number of rows, {len(points)}, got {k}.")
    return nearest(np.ascontiguousarray(points), k).distances[:, -1]


def _require_same_rows(**variables: Sequence[Any]) -> None:
    lengths = {name: len(values) for name, values in variables.items()}
    if len(set(lengths.values())) > 1:
        raise WrongLength(
            f"{' and '.join(lengths)} must have the same number of rows, got {lengths}."
        )


def _noisy(values: Any, generator: Generator) -> np.ndarray:
    """The values [n, d] with NPEET's noise."""
    points = as_matrix("values", values)
    return points + NOISE * generator.random(points.shape)
