"""Case: a distribution with known mutual information; and integrals that give it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Generator = np.random.Generator
Pair = tuple[NDArray, NDArray]
Map = Callable[[NDArray], NDArray]
Draw = Callable[[int, Generator], Any]
# entropy of a standard normal variable, nats
NOISE = 0.5 * math.log(2 * math.pi * math.e)
DRAWS = 400_000  # of Monte Carlo truths


@dataclass(frozen=True)
class Case:
    """A distribution with known mutual information.

    y        labels, numbers, counts (unbounded labels) or categories (x is labels, too)
    sample   n, generator -> variables
    truth    -> information, nats, and its standard error, 0 where exact
    grouped  whether the last variable is codes [n] of dependent rows
    """

    y: str
    sample: Draw
    truth: Callable[[], tuple[float, float]]
    grouped: bool = False


def with_truth(
    sample: Draw, truth: Any, y: str = "numbers", grouped: bool = False
) -> Case:
    """A case whose truth is computed once.

    `truth` is nats, or a function that returns nats, or nats and their standard error.
    """

    @functools.cache
    def computed():
        nats: Any = truth
        error = 0.0
        if callable(truth):
            nats = truth()
        if isinstance(nats, tuple):
            nats, error = nats
        return float(nats), float(error)

    return Case(y, sample, computed, grouped)


def response(draw: Draw, respond: Callable, truth: Any, y: str = "numbers") -> Case:
    """A case of x from draw(n, generator) and y from respond(x, generator)."""

    def sample(n, g):
        x = draw(n, g)
        return x, respond(x, g)

    return with_truth(sample, truth, y)


def plus_noise(signal: Map, noise: float) -> Callable[[Any, Generator], NDArray]:
    """The response signal(x) + noise * normal."""
    return lambda x, g: signal(x) + noise * g.normal(size=len(x))


def split_columns(draw: Draw, columns: int, truth: Any) -> Case:
    """A case of draws [n, d]: the first columns are x, the others y."""

    def sample(n, g):
        both = draw(n, g)
        return both[:, :columns], both[:, columns:]

    return with_truth(sample, truth)


def normals(*shape: int) -> Draw:
    """Draws of standard normal values [n, *shape]."""
    return lambda n, g: g.normal(size=(n, *shape))


def coupled(
    dim: int,
    correlation: float,
    pairs: int,
    map_x: Map = np.asarray,
    map_y: Map = np.asarray,
) -> Case:
    """Normal x and y [n, dim], correlated in pairs of columns, then mapped without loss."""

    def sample(n, g):
        x = g.normal(size=(n, dim))
        y = g.normal(size=(n, dim))
        noise = np.sqrt(1 - correlation**2) * y[:, :pairs]
        y[:, :pairs] = correlation * x[:, :pairs] + noise
        return map_x(x), map_y(y)

    nats = -0.5 * pairs * np.log1p(-(correlation**2))
    return with_truth(sample, nats)


def entropy_of(points: NDArray, density: NDArray) -> float:
    """Entropy of a density on points, nats, by the trapezoidal rule.

    Of a part of a density this is the contribution of the part.
    """
    terms = special.entr(density)
    return float(np.trapezoid(terms, points))


def normal_mixture(
    points: NDArray, centres: ArrayLike, weights: ArrayLike, spread: ArrayLike
) -> NDArray:
    """Density [m] at points [m] of a mixture of k normal components.

    Centres, weights and spreads are [k], or one number for all components.
    """
    centres, weights, spread = np.broadcast_arrays(centres, weights, spread)
    weights = weights / weights.sum() / (spread * np.sqrt(2 * np.pi))
    parts = 1 + points.size * centres.size // 1_000_000
    density = []
    for part in np.array_split(points, parts):
        exponents = (part[:, None] - centres) / spread
        exponents *= exponents
        exponents *= -0.5
        heights = np.exp(exponents, out=exponents)
        density.append(heights @ weights)
    return np.concatenate(density)


def through_noise(
    noise: float, values: ArrayLike, weights: ArrayLike, spread: ArrayLike | None = None
) -> float:
    """I(x; y), nats, of y = v + noise * normal, where x determines v.

    This is h(y), from its density, less h(y | x). v has weighted values. `spread` is
    the noise at each value; `noise` is then its geometric mean.
    """
    if spread is None:
        spread = noise
    margin = 9 * np.max(spread)
    low = np.min(values) - margin
    high = np.max(values) + margin
    points = np.linspace(low, high, 3001)
    density = normal_mixture(points, values, weights, spread)
    return entropy_of(points, density) - NOISE - math.log(noise)


def mean_of_draws(log_ratios: NDArray) -> tuple[float, float]:
    """Monte Carlo truth: the mean of log density ratios and its standard error, nats."""
    error = log_ratios.std() / math.sqrt(len(log_ratios))
    return float(log_ratios.mean()), float(error)


def middles(low: float, high: float, count: int = 1500) -> NDArray:
    """Middles of `count` equal cells, the nodes of quadratures."""
    places = np.arange(count) + 0.5
    return low + places * (high - low) / count


def draws(seed: int, name: str, n: int) -> Generator:
    """Random stream of a data set, fixed by the seed, the case and the size."""
    return np.random.default_rng([seed, n, *name.encode()])
