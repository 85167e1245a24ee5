"""Generated data whose mutual information is known: in closed form, by quadrature, or by Monte Carlo with its error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from infoscope.checks import one_of

CLASSES, DOMAINS = 10, 3
SPREADS = {2: 1.5, 12: 0.5, 24: 0.4}  # of the class centres, by dimension: 0.7 to 1.4 nats, far from 0 and from log 10
DRAWS, AT_ONCE = 400_000, 20_000  # of Monte Carlo truths
AT_ONCE_CELLS = 1_000_000  # of quadratures
GRID = 0.5  # of the rounded Gaussian, in standard deviations
Generator = np.random.Generator


@dataclass(frozen=True)
class Case:
    """A known truth: sample(n, generator) -> variables, and truth() -> (nats, standard error; 0 where exact).

    measure  mi of (x, y); cmi: I(x; y | z); co-information: I(a; t) + I(b; t) - I(a, b; t)
    y        labels, numbers, counts (unbounded labels) or categories (x is labels, too)
    grouped  the last variable is codes [n] of dependent rows
    """

    measure: str
    y: str
    sample: Callable[[int, Generator], tuple[Any, ...]]
    truth: Callable[[], tuple[float, float]]
    grouped: bool = False


def gaussian(dim: int, nats: float) -> Case:
    """x [n, dim] standard normal, y [n] correlated with its first column."""
    correlation = np.sqrt(1 - np.exp(-2 * nats))

    def sample(n: int, g: Generator) -> tuple[NDArray, NDArray]:
        x = g.normal(size=(n, dim))
        return x, correlation * x[:, 0] + np.exp(-nats) * g.normal(size=n)

    return Case("mi", "numbers", sample, lambda: (nats, 0.0))


def gaussian_given(dim: int) -> Case:
    """x = z + u, y = sum of z + first of u + noise: given z [n, dim], two normals of correlation sqrt(1/2)."""

    def sample(n: int, g: Generator) -> tuple[NDArray, ...]:
        z, u = g.normal(size=(n, dim)), g.normal(size=(n, dim))
        return z + u, z.sum(axis=1) + u[:, 0] + g.normal(size=n), z

    return Case("cmi", "numbers", sample, lambda: (0.5 * np.log(2), 0.0))


@functools.cache
def centres(dim: int, domains: int = 1) -> NDArray:
    """The centre of every class in every domain [domains, CLASSES, dim]; the domains shift and mix them."""
    g = np.random.default_rng([dim, domains])
    return (g.normal(size=(1, CLASSES, dim)) + g.normal(size=(domains, CLASSES, dim)) * (domains > 1)) * SPREADS[dim]


def mixture(dim: int, domains: int = 1) -> Case:
    """Ten normal classes, I(x; y); with domains that move the classes, I(x; y | d)."""

    def sample(n: int, g: Generator) -> tuple[NDArray, ...]:
        y, d = g.integers(0, CLASSES, n), g.integers(0, domains, n)
        x = centres(dim, domains)[d, y] + g.normal(size=(n, dim))
        return (x, y) if domains == 1 else (x, y, d)

    return Case("mi" if domains == 1 else "cmi", "labels", sample, lambda: mixture_truth(dim, domains))


@functools.cache
def mixture_truth(dim: int, domains: int) -> tuple[float, float]:
    """Mean of log p(x | y, d) / p(x | d) over draws, and its standard error."""
    g, values = np.random.default_rng(1), []
    for _ in range(DRAWS // AT_ONCE):
        y, d = g.integers(0, CLASSES, AT_ONCE), g.integers(0, domains, AT_ONCE)
        x = centres(dim, domains)[d, y] + g.normal(size=(AT_ONCE, dim))
        logs = np.empty((AT_ONCE, CLASSES))
        for domain in range(domains):
            of = centres(dim, domains)[domain]
            logs[d == domain] = x[d == domain] @ of.T - 0.5 * (of**2).sum(axis=1)
        values.append(logs[np.arange(AT_ONCE), y] - np.logaddexp.reduce(logs, axis=1) + np.log(CLASSES))
    values = np.concatenate(values)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def rounded_gaussian(nats: float = 0.5) -> Case:
    """Two correlated normals, rounded to a grid: ties everywhere."""
    correlation, noise = np.sqrt(1 - np.exp(-2 * nats)), np.exp(-nats)

    def sample(n: int, g: Generator) -> tuple[NDArray, NDArray]:
        x = g.normal(size=n)
        y = correlation * x + noise * g.normal(size=n)
        return np.round(x / GRID) * GRID, np.round(y / GRID) * GRID

    @functools.cache
    def truth() -> tuple[float, float]:
        middles = np.arange(-16, 17) * GRID
        nodes, weights = np.polynomial.legendre.leggauss(20)
        x = middles[:, None] + nodes * GRID / 2
        density = stats.norm.pdf(x) * weights * GRID / 2
        edges = np.append(middles - GRID / 2, middles[-1] + GRID / 2)
        cells = np.diff(stats.norm.cdf((edges - correlation * x[..., None]) / noise), axis=-1)
        return discrete_information((density[..., None] * cells).sum(axis=1)), 0.0

    return Case("mi", "numbers", sample, truth)


def discrete_information(joint: NDArray) -> float:
    """I of a joint distribution [a, b], nats."""
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    there = joint > 0
    return float((joint[there] * np.log(joint[there] / product[there])).sum())


def normal_mixture(points: NDArray, centres: ArrayLike, weights: ArrayLike, spread: ArrayLike) -> NDArray:
    """The density at points [m] of a mixture of normal components: centres, weights and spreads, [k] or one of all."""
    centres, weights, spread = np.broadcast_arrays(*(np.asarray(a, float) for a in (centres, weights, spread)))
    weights = weights / weights.sum() / (spread * np.sqrt(2 * np.pi))
    density = []
    for part in np.array_split(points, 1 + points.size * centres.size // AT_ONCE_CELLS):
        exponents = (part[:, None] - centres) / spread
        exponents *= exponents
        exponents *= -0.5
        density.append(np.exp(exponents, out=exponents) @ weights)
    return np.concatenate(density)


def numbered_cells(levels: int = 6) -> Case:
    """Two independent categories, given as numbers: nearly every row has k others at distance 0."""

    def sample(n: int, g: Generator) -> tuple[NDArray, NDArray]:
        x, y = g.integers(0, levels, (2, n)) + 0.5
        return x, y

    return Case("mi", "numbers", sample, lambda: (0.0, 0.0))


def uniform_beside_label(classes: int = 5) -> Case:
    """x uniform on [y, y + 2] for a label y: log m - (m - 1) / m log 2 (Gao et al. 2017)."""

    def sample(n: int, g: Generator) -> tuple[NDArray, NDArray]:
        y = g.integers(0, classes, n)
        return y + 2 * g.random(n), y

    return Case("mi", "labels", sample, lambda: (np.log(classes) - (classes - 1) / classes * np.log(2), 0.0))


def zero_inflated_poisson(zeros: float = 0.15) -> Case:
    """x exponential, y zero with probability `zeros`, else Poisson of mean x (Gao et al. 2017; by quadrature)."""

    def sample(n: int, g: Generator) -> tuple[NDArray, NDArray]:
        x = g.exponential(size=n)
        return x, np.where(g.random(n) < zeros, 0, g.poisson(x))

    @functools.cache
    def truth() -> tuple[float, float]:
        x, weights = np.polynomial.legendre.leggauss(400)
        x, weights = 20 * (x + 1), 20 * weights
        given = (1 - zeros) * stats.poisson.pmf(np.arange(80), x[:, None])
        given[:, 0] += zeros
        joint = (weights * np.exp(-x))[:, None] * given
        of_y = joint.sum(axis=0)
        return float((joint * np.log(np.maximum(given, 1e-300) / np.maximum(of_y, 1e-300))).sum()), 0.0

    return Case("mi", "counts", sample, truth)


def gate(operation: Callable[[NDArray, NDArray], NDArray]) -> Case:
    """Two fair bits and a gate: co-information from the truth table."""

    def sample(n: int, g: Generator) -> tuple[NDArray, NDArray, NDArray]:
        a, b = g.integers(0, 2, n), g.integers(0, 2, n)
        return a, b, operation(a, b)

    def truth() -> tuple[float, float]:
        joint = np.zeros((2, 2, 2))
        for a in range(2):
            for b in range(2):
                joint[a, b, int(operation(np.array(a), np.array(b)))] += 0.25
        both = discrete_information(joint.reshape(4, 2))
        return discrete_information(joint.sum(1)) + discrete_information(joint.sum(0)) - both, 0.0

    return Case("co-information", "labels", sample, truth)


def copied() -> Case:
    """The same fair bit three times: all of it is redundant."""

    def sample(n: int, g: Generator) -> tuple[NDArray, NDArray, NDArray]:
        bit = g.integers(0, 2, n)
        return bit, bit.copy(), bit.copy()

    return Case("co-information", "labels", sample, lambda: (np.log(2), 0.0))


CASES = {
    **{f"gaussian-{dim}": gaussian(dim, 1.0) for dim in (1, 2, 5, 12, 24)},
    **{f"independent-{dim}": gaussian(dim, 0.0) for dim in (1, 12)},
    **{f"mixture-{dim}": mixture(dim) for dim in SPREADS},
    **{f"gaussian-given-{dim}": gaussian_given(dim) for dim in (1, 3)},
    **{f"mixture-given-{dim}": mixture(dim, DOMAINS) for dim in (2, 12)},
    "rounded-gaussian": rounded_gaussian(),
    "numbered-cells": numbered_cells(),
    "uniform-beside-label": uniform_beside_label(),
    "zero-inflated-poisson": zero_inflated_poisson(),
    "xor": gate(np.bitwise_xor),
    "and": gate(np.bitwise_and),
    "copy": copied(),
}


def case(name: str) -> Case:
    """ValueError for an unknown one."""
    return CASES[one_of("case", name, CASES)]


def draws(seed: int, name: str, n: int) -> Generator:
    """The random stream of a data set: estimators and methods that share a case, size and seed see the same data."""
    return np.random.default_rng([seed, n, *name.encode()])
