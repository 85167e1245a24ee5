"""Twelve everyday distributions: images and texts, mixed types, idle columns, heavy tails, ties, groups."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from infoscope.data.tasks import resampled
from infoscope.data.tasks.known_truth import (
    Case,
    discrete_information,
    rounded_gaussian,
    uniform_beside_label,
    zero_inflated_poisson,
)

Generator = np.random.Generator
Pair = tuple[NDArray, NDArray]
Columns = dict[str, NDArray]


def coupled(dim: int, correlation: float, pairs: int | None = None, then: Callable[[NDArray], NDArray] | None = None):
    """Normal columns [n, dim] of x and y, the first `pairs` of them correlated, and a map of each."""
    pairs = dim if pairs is None else pairs

    def sample(n: int, g: Generator) -> Pair:
        x, y = g.normal(size=(n, dim)), g.normal(size=(n, dim))
        y[:, :pairs] = correlation * x[:, :pairs] + np.sqrt(1 - correlation**2) * y[:, :pairs]
        return (x, y) if then is None else (then(x), then(y))

    return Case("mi", "numbers", sample, lambda: (-0.5 * pairs * np.log1p(-(correlation**2)), 0.0))


def monstrous_tails(dim: int = 3, correlation: float = 0.7) -> Case:
    """Correlated normal columns through v -> sign(v) (e^(v²) - 1): not even the mean exists."""
    return coupled(dim, correlation, then=lambda v: np.sign(v) * np.expm1(v**2))


def parity_of_signs(idle: int = 8, wrong: float = 0.1) -> Case:
    """y is whether the first two of 2 + `idle` normal columns have one sign, wrong now and then: no column alone, nor
    any linear score, knows it."""

    def sample(n: int, g: Generator) -> tuple[NDArray, NDArray]:
        x = g.normal(size=(n, 2 + idle))
        return x, ((x[:, 0] * x[:, 1] > 0) ^ (g.random(n) < wrong)).astype(int)

    entropy = -wrong * math.log(wrong) - (1 - wrong) * math.log1p(-wrong)
    return Case("mi", "labels", sample, lambda: (math.log(2) - entropy, 0.0))


def label_of_one_of(dim: int, apart: float = 1.5) -> Case:
    """A fair label moves one of `dim` normal columns."""

    def sample(n: int, g: Generator) -> Pair:
        y, x = g.integers(0, 2, n), g.normal(size=(n, dim))
        x[:, 0] += apart * y
        return x, y

    @functools.cache
    def truth() -> tuple[float, float]:
        points = np.linspace(-9, 9 + apart, 20_001)
        density = (stats.norm.pdf(points) + stats.norm.pdf(points - apart)) / 2
        return float(-np.trapezoid(density * np.log(density), points) - 0.5 * np.log(2 * np.pi * np.e)), 0.0

    return Case("mi", "labels", sample, truth)


def mixed_columns() -> Case:
    """x is a category and a number, y the sum of their effects, and noise."""
    means, slope, noise = np.array([-2.0, 0.0, 1.5]), 0.8, 0.7

    def sample(n: int, g: Generator) -> tuple[Columns, NDArray]:
        kind, size = g.integers(0, len(means), n), g.normal(size=n)
        y = means[kind] + slope * size + noise * g.normal(size=n)
        return {"kind": np.array(["a", "b", "c"])[kind], "size": size}, y

    @functools.cache
    def truth() -> tuple[float, float]:
        spread = math.hypot(slope, noise)
        points = np.linspace(means.min() - 9 * spread, means.max() + 9 * spread, 20_001)
        density = stats.norm.pdf(points[:, None], means, spread).mean(axis=1)
        entropy = -np.trapezoid(density * np.log(density), points)
        return float(entropy - 0.5 * math.log(2 * math.pi * math.e * noise**2)), 0.0

    return Case("mi", "numbers", sample, truth)


def sparse_table(levels: int = 40, kept: float = 0.5) -> Case:
    """Two categories of `levels` values of uneven shares, of which one is a relabelled copy of the other, or drawn
    anew: 1,600 cells, so that most hold a row or none."""
    shares = 1 / np.arange(1, levels + 1)
    shares /= shares.sum()
    moved = np.random.default_rng(40).permutation(levels)

    def sample(n: int, g: Generator) -> tuple[NDArray, NDArray]:
        x = g.choice(levels, n, p=shares)
        y = np.where(g.random(n) < kept, x, g.choice(levels, n, p=shares))
        return x.astype(str), moved[y].astype(str)

    def truth() -> tuple[float, float]:
        joint = (1 - kept) * np.outer(shares, shares) + kept * np.diag(shares)
        return discrete_information(joint), 0.0

    return Case("mi", "categories", sample, truth)


def patients(rows: int = 10, shared: float = 0.6, correlation: float = 0.7) -> Case:
    """Two correlated normal columns, `rows` of each patient, a `shared` part of whose variances is the patient's."""

    def sample(n: int, g: Generator) -> tuple[NDArray, NDArray, NDArray]:
        patient = np.arange(n) // rows
        parts = [(g.normal(size=(patient[-1] + 1, 2))[patient], shared), (g.normal(size=(n, 2)), 1 - shared)]
        root = np.linalg.cholesky([[1, correlation], [correlation, 1]])
        both = sum(math.sqrt(share) * part @ root.T for part, share in parts)
        return both[:, 0], both[:, 1], patient

    return Case("mi", "numbers", sample, lambda: (-0.5 * math.log1p(-(correlation**2)), 0.0), grouped=True)


LAWS: dict[str, Case] = {
    "images-by-label": resampled.law("mnist-0-1-at-0.500"),
    "texts-by-label": resampled.law("imdb-bert-at-0.500"),
    "zero-inflated-poisson": zero_inflated_poisson(),
    "uniform-beside-label": uniform_beside_label(),
    "mixed-columns": mixed_columns(),
    "three-pairs-of-30": coupled(30, 0.7, pairs=3),
    "label-of-one-of-40": label_of_one_of(40),
    "monstrous-tails-3": monstrous_tails(),
    "parity-of-signs": parity_of_signs(),
    "rounded-gaussian": rounded_gaussian(),
    "sparse-table": sparse_table(),
    "patients": patients(),
}
OF_POOLS = {"images-by-label": "mnist-0-1", "texts-by-label": "imdb-bert"}  # read from INFOSCOPE_DATA
