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
    """A distribution: sample(n, generator) -> variables, and truth() -> (nats, standard
    error; 0 where exact).

    y        labels, numbers, counts (unbounded labels) or categories (x is labels, too)
    grouped  the last variable is codes [n] of dependent rows
    """

    y: str
    sample: Draw
    truth: Callable[[], tuple[float, float]]
    grouped: bool = False


def with_truth(
    sample: Draw, truth: Any, y: str = "numbers", grouped: bool = False
) -> Case:
    """A case whose truth is nats, or a function that gives nats, or nats and their
    standard error, computed once.
    """

    @functools.cache
    def computed():
        nats = truth() if callable(truth) else truth
        error = 0.0
        if isinstance(nats, tuple):
            nats, error = nats
        return float(nats), float(error)

    return Case(y, sample, computed, grouped)


def response(draw: Draw, respond: Callable, truth: Any, y: str = "numbers") -> Case:
    """x by draw(n, generator), then y by respond(x, generator); truth and y as of
    `with_truth`.
    """

    def sample(n, g):
        x = draw(n, g)
        return x, respond(x, g)

    return with_truth(sample, truth, y)


def plus_noise(signal: Map, noise: float) -> Callable[[Any, Generator], NDArray]:
    """The response signal(x) + noise * normal."""
    return lambda x, g: signal(x) + noise * g.normal(size=len(x))


def split_columns(draw: Draw, columns: int, truth: Any) -> Case:
    """x of the first columns of draw(n, generator) [n, d], y of the others; truth as of
    `with_truth`.
    """

    def sample(n, g):
        both = draw(n, g)
        return both[:, :columns], both[:, columns:]

    return with_truth(sample, truth)


def normals(*shape: int) -> Draw:
    """Draws of standard normal x, [n] or [n, dim]."""
    return lambda n, g: g.normal(size=(n, *shape))


def coupled(
    dim: int,
    correlation: float,
    pairs: int,
    map_x: Map | None = None,
    map_y: Map | None = None,
) -> Case:
    """Normal x and y [n, dim], the first `pairs` columns correlated one to one, then
    mapped without loss.
    """

    def sample(n, g):
        x = g.normal(size=(n, dim))
        y = g.normal(size=(n, dim))
        noise = np.sqrt(1 - correlation**2) * y[:, :pairs]
        y[:, :pairs] = correlation * x[:, :pairs] + noise
        if map_x is None:
            return x, y
        return map_x(x), map_y(y)

    return with_truth(sample, -0.5 * pairs * np.log1p(-(correlation**2)))


def entropy_of(points: NDArray, density: NDArray) -> float:
    """Entropy of a density on points, nats, by the trapezoidal rule; of a part of it,
    what that part adds.
    """
    return float(-np.trapezoid(special.xlogy(density, density), points))


def normal_mixture(
    points: NDArray, centres: ArrayLike, weights: ArrayLike, spread: ArrayLike
) -> NDArray:
    """The density at points [m] of a mixture of normal components: centres, weights and
    spreads, [k] or one of all.
    """
    parameters = [np.asarray(values, float) for values in (centres, weights, spread)]
    centres, weights, spread = np.broadcast_arrays(*parameters)
    weights = weights / weights.sum() / (spread * np.sqrt(2 * np.pi))
    parts = 1 + points.size * centres.size // 1_000_000
    density = []
    for part in np.array_split(points, parts):
        exponents = (part[:, None] - centres) / spread
        exponents *= exponents
        exponents *= -0.5
        density.append(np.exp(exponents, out=exponents) @ weights)
    return np.concatenate(density)


def through_noise(
    noise: float, values: ArrayLike, weights: ArrayLike, spread: ArrayLike | None = None
) -> float:
    """I(x; v + noise * normal), nats, of a v given x with weighted values: h(y) by its
    density, less h(y|x).

    `spread` of the noise at each value; `noise` is then its geometric mean.
    """
    spread = noise if spread is None else spread
    margin = 9 * np.max(spread)
    points = np.linspace(np.min(values) - margin, np.max(values) + margin, 3001)
    density = normal_mixture(points, values, weights, spread)
    return entropy_of(points, density) - NOISE - math.log(noise)


def mean_of_draws(log_ratios: NDArray) -> tuple[float, float]:
    """Monte Carlo truth: the mean of log density ratios and its standard error, nats."""
    error = log_ratios.std() / math.sqrt(len(log_ratios))
    return float(log_ratios.mean()), float(error)


def middles(low: float, high: float, count: int = 1500) -> NDArray:
    """Middles of `count` equal cells, the nodes of quadratures."""
    return low + (np.arange(count) + 0.5) * (high - low) / count


def draws(seed: int, name: str, n: int) -> Generator:
    """The random stream of a data set: the same case, size and seed give the same data."""
    return np.random.default_rng([seed, n, *name.encode()])
