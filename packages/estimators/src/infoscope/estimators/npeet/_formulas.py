"""NPEET's quantities (Ver Steeg; MIT licence), formula by formula, in nats: the numbers behind `npeet`'s compat=True.

Its choices are kept, the questionable ones too: every column is a number, noise of a fixed width, non-strict radii
less 1e-15, absolute values, plug-in frequencies.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import digamma

from infoscope.checks import require_int
from infoscope.errors import MissingValues, OutOfRange, WrongLength
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.knn.search import Neighbours, count_within, nearest

NOISE, STRICTNESS = 1e-10, 1e-15


class Measures:
    """NPEET's quantities, nats, for the kinds of x and y: "" for numbers, "dd" for categories, "cd" and "dc" mixed.

    generator: of the noise; where it is None, every entropy and information has the same noise.
    """

    def __init__(self, kinds: str, k: int, base: float, generator: Generator | None, notes: list[str]) -> None:
        self._kinds, self._k, self._base, self._generator, self._notes = kinds, k, base, generator, notes

    def _of(self, kinds: str) -> Measures:
        return Measures(kinds, self._k, self._base, self._generator, self._notes)

    def mi(self, x: Any, y: Any, z: Any = None, alpha: float = 0) -> float:
        if self._kinds == "dd":
            given = () if z is None else (z,)
            apart = plug_in(x, *given) + plug_in(y, *given) - plug_in(x, y, *given)
            return apart - plug_in(z) if given else apart
        if self._kinds:
            return self._mixed(x, y) if self._kinds == "cd" else self._mixed(y, x)
        return information(x, y, z, self._k, alpha, generator_or_default(self._generator))

    def _mixed(self, x: Any, y: Any) -> float:
        """|H(x) - sum p(y) H(x | y)|; a class of at most k samples counts with H(x)."""
        same_rows(x=x, y=y)
        x, labels, generator = rows(x), categories(y), generator_or_default(self._generator)
        of_all = entropy(x, self._k, generator)
        conditional = 0.0
        for label in range(labels.max() + 1):
            members = labels == label
            if members.sum() > self._k:
                conditional += members.mean() * entropy(x[members], self._k, generator)
            else:
                conditional += members.mean() * of_all
                size = "1 sample" if members.sum() == 1 else f"{members.sum()} samples"
                self._notes.append(f"y has a class of {size}, too few for k = {self._k}.")
        return abs(of_all - conditional)

    def entropy(self, x: Any) -> float:
        return plug_in(x) if self._kinds else entropy(x, self._k, generator_or_default(self._generator))

    def centropy(self, x: Any, y: Any) -> float:
        if self._kinds == "dd":
            return plug_in(x, y) - plug_in(y)
        if self._kinds == "dc":
            return self._of("cd").centropy(y, x)
        generator = generator_or_default(self._generator)
        if self._kinds == "cd":  # NPEET hands the base over as k, and has this entropy in bits
            in_bits = entropy(x, int(self._base), generator) / log(2)
            return in_bits * log(self._base) - self.mi(x, y)
        same_rows(x=x, y=y)
        both = np.column_stack([np.asarray(x), np.asarray(y)])
        return entropy(both, self._k, generator) - entropy(y, self._k, generator)

    def tc(self, xs: Any) -> float:
        return total(self.entropy, xs)

    def ctc(self, xs: Any, y: Any) -> float:
        if self._kinds == "cd":
            return self._of("dc").ctc(y, xs)
        return total(lambda part: self.centropy(part, y), xs)

    def corex(self, xs: Any, ys: Any) -> float:
        if self._kinds == "cd":
            return self._of("dc").corex(ys, xs)
        if self._kinds == "dc":
            return self.tc(xs) - self.ctc(xs, ys)
        return total(lambda part: self.mi(part, ys), xs)


def information(x: Any, y: Any, z: Any, k: int, alpha: float, generator: Generator) -> float:
    """KSG 1, or Frenzel-Pompe given z; with the correction of Gao et al. 2015 if alpha > 0."""
    same_rows(x=x, y=y, **({} if z is None else {"z": z}))
    x, y = (noisy(rows(side), generator) for side in (x, y))
    if z is None:
        joint = np.hstack([x, y])
        found = neighbours_of(joint, k)
        radius = found.distances[:, -1]
        extra = non_uniformity(joint, found.ids, alpha) if alpha > 0 else 0.0
        return float(digamma(k) + digamma(len(x)) - mean_digamma(x, radius) - mean_digamma(y, radius) + extra)
    z = rows(z)
    radius = neighbours_of(np.hstack([x, y, z]), k).distances[:, -1]
    xz, yz, only_z = (mean_digamma(np.hstack(block), radius) for block in ([x, z], [y, z], [z]))
    return float(digamma(k) - xz - yz + only_z)


def entropy(x: Any, k: int, generator: Generator) -> float:
    """Kozachenko-Leonenko."""
    x = noisy(rows(x), generator)
    n, dim = x.shape
    radius = neighbours_of(x, k).distances[:, -1]
    return float(digamma(n) - digamma(k) + dim * np.log(2 * radius).mean())


def plug_in(*columns: Any) -> float:
    """Entropy of the joint frequencies of categories."""
    same_rows(**dict(zip("xyz", columns)))
    shares = np.bincount(categories(*columns)) / len(columns[0])
    return float(-(shares * np.log(shares)).sum())


def total(measure: Callable[[Any], float], xs: Any) -> float:
    """sum of measure(column of xs) - measure(xs)."""
    xs = np.asarray(xs)
    return sum(measure(xs[:, [column]]) for column in range(xs.shape[1])) - measure(xs)


def non_uniformity(points: np.ndarray, ids: np.ndarray, alpha: float) -> float:
    """Local non-uniformity correction: mean log volume lost when the box of a neighbourhood turns to its axes.

    points [n, d], ids [n, k] of the neighbours. Only boxes that shrink below alpha count (Gao et al. 2015, eq. 9).
    """
    offsets = points[ids] - points[:, None]
    _, axes = np.linalg.eigh(np.einsum("nki,nkj->nij", offsets, offsets))
    turned = np.log(np.abs(offsets @ axes).max(axis=1)).sum(axis=1)
    upright = np.log(np.abs(offsets).max(axis=1)).sum(axis=1)
    return float(np.where(turned < upright + np.log(alpha), upright - turned, 0.0).mean())


def mean_digamma(points: np.ndarray, radius: np.ndarray) -> float:
    """Mean digamma of how many points, itself included, are up to radius - 1e-15 away."""
    closed = np.nextafter(radius - STRICTNESS, np.inf)
    return float(digamma(1 + count_within(np.ascontiguousarray(points), closed)).mean())


def neighbours_of(points: np.ndarray, k: int) -> Neighbours:
    if require_int("k", k, 1) >= len(points):
        raise OutOfRange(f"k must be below the number of rows, {len(points)}, got {k}.")
    return nearest(np.ascontiguousarray(points), k)


def same_rows(**variables: Any) -> None:
    lengths = {name: len(values) for name, values in variables.items()}
    if len(set(lengths.values())) > 1:
        raise WrongLength(f"{' and '.join(lengths)} must have the same number of rows, got {lengths}.")


def noisy(points: np.ndarray, generator: Generator) -> np.ndarray:
    return points + NOISE * generator.random(points.shape)


def rows(values: Any) -> np.ndarray:
    """float64 [n, d], finite."""
    array = np.asarray(values, dtype=np.float64)
    array = array.reshape(len(array), -1)
    if not np.isfinite(array).all():
        raise MissingValues(f"values must be finite, got {(~np.isfinite(array)).sum()} NaN or infinite values.")
    return array


def categories(*columns: Any) -> np.ndarray:
    """The joint category [n] of the columns."""
    stacked = np.column_stack([np.asarray(column) for column in columns])
    return np.unique(stacked, return_inverse=True, axis=0)[1].reshape(-1)
