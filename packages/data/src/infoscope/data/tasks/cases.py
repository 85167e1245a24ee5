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
Draw = Callable[[int, Generator], tuple[Any, ...]]
NOISE = 0.5 * math.log(2 * math.pi * math.e)  # entropy of a standard normal variable, nats
DRAWS = 400_000  # of Monte Carlo truths


@dataclass(frozen=True)
class Case:
    """A distribution: sample(n, generator) -> variables, and truth() -> (nats, standard error; 0 where exact).

    y        labels, numbers, counts (unbounded labels) or categories (x is labels, too)
    grouped  the last variable is codes [n] of dependent rows
    """

    y: str
    sample: Draw
    truth: Callable[[], tuple[float, float]]
    grouped: bool = False


def with_truth(sample: Draw, truth: float | Callable[[], Any], y: str = "numbers", grouped: bool = False) -> Case:
    """A case whose truth is nats, or a function that gives nats, or nats and their standard error, computed once."""

    @functools.cache
    def computed() -> tuple[float, float]:
        nats = truth() if callable(truth) else truth
        if isinstance(nats, tuple):
            nats, error = nats
            return float(nats), float(error)
        return float(nats), 0.0

    return Case(y, sample, computed, grouped)


def response(
    draw: Callable[[int, Generator], Any],
    respond: Callable[[Any, Generator], NDArray],
    truth: Any,
    y: str = "numbers",
) -> Case:
    """x by draw(n, generator), then y by respond(x, generator); truth and y as of `with_truth`."""

    def sample(n: int, g: Generator) -> Pair:
        x = draw(n, g)
        return x, respond(x, g)

    return with_truth(sample, truth, y)


def split_columns(draw: Callable[[int, Generator], NDArray], columns: int, truth: Any) -> Case:
    """x of the first columns of draw(n, generator) [n, d], y of the others; truth as of `with_truth`."""
    return with_truth(lambda n, g: tuple(np.split(draw(n, g), [columns], axis=1)), truth)


def normals(*shape: int) -> Callable[[int, Generator], NDArray]:
    """Draws of standard normal x, [n] or [n, dim]."""
    return lambda n, g: g.normal(size=(n, *shape))


def entropy_of(points: NDArray, density: NDArray) -> float:
    """Entropy of a density on points, nats, by the trapezoidal rule; of a part of it, what that part adds."""
    return float(-np.trapezoid(special.xlogy(density, density), points))


def normal_mixture(points: NDArray, centres: ArrayLike, weights: ArrayLike, spread: ArrayLike) -> NDArray:
    """The density at points [m] of a mixture of normal components: centres, weights and spreads, [k] or one of all."""
    centres, weights, spread = np.broadcast_arrays(*(np.asarray(a, float) for a in (centres, weights, spread)))
    weights = weights / weights.sum() / (spread * np.sqrt(2 * np.pi))
    density = []
    for part in np.array_split(points, 1 + points.size * centres.size // 1_000_000):
        exponents = (part[:, None] - centres) / spread
        exponents *= exponents
        exponents *= -0.5
        density.append(np.exp(exponents, out=exponents) @ weights)
    return np.concatenate(density)


def through_noise(noise: float, values: ArrayLike, weights: ArrayLike, spread: ArrayLike | None = None) -> float:
    """I(x; v + noise * normal), nats, of a v given x with weighted values: h(y) by its density, less h(y|x).

    `spread` of the noise at each value; `noise` is then its geometric mean.
    """
    spread = noise if spread is None else spread
    margin = 9 * np.max(spread)
    points = np.linspace(np.min(values) - margin, np.max(values) + margin, 3001)
    return entropy_of(points, normal_mixture(points, values, weights, spread)) - NOISE - math.log(noise)


def mean_of_draws(log_ratios: NDArray) -> tuple[float, float]:
    """Monte Carlo truth: the mean of log density ratios and its standard error, nats."""
    return float(log_ratios.mean()), float(log_ratios.std() / math.sqrt(len(log_ratios)))


def middles(low: float, high: float, count: int = 1500) -> NDArray:
    """Middles of `count` equal cells, the nodes of quadratures."""
    return low + (np.arange(count) + 0.5) * (high - low) / count


def draws(seed: int, name: str, n: int) -> Generator:
    """The random stream of a data set: the same case, size and seed give the same data."""
    return np.random.default_rng([seed, n, *name.encode()])
