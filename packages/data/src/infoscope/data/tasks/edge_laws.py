"""Held-out distributions with a sharp edge, and smooth ones. Closed forms and quadratures."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from infoscope.data.tasks.known_truth import Case, normal_mixture
from infoscope.data.tasks.late_laws import Generator, Pair, entropy_of

_X = np.linspace(-8, 8, 3201)  # of a standard normal variable
_WEIGHTS = stats.norm.pdf(_X) / stats.norm.pdf(_X).sum()


def with_noise(draw: Callable[[Generator, tuple[int, ...]], np.ndarray], quantile: Callable, entropy: float,
               columns: int = 1) -> Case:  # fmt: skip
    """y = x + noise, x normal, in every column; noise by draw(generator, size), its quantile function and entropy
    (nats).
    """

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, columns))
        return x, x + draw(g, (n, columns))

    @functools.cache
    def truth() -> tuple[float, float]:
        noise = quantile((np.arange(4000) + 0.5) / 4000)
        y = np.linspace(noise[0] - 8, noise[-1] + 8, 6001)
        density = normal_mixture(y, noise, 1.0, 1.0)
        return columns * (entropy_of(y, density) - entropy), 0.0

    return Case("mi", "numbers", sample, truth)


def scaled(law: stats.rv_continuous, scale: float, columns: int = 1) -> Case:
    """y = x + noise of a distribution of scipy's, times a scale."""
    return with_noise(
        lambda g, size: scale * law.rvs(size=size, random_state=g),
        lambda shares: scale * law.ppf(shares),
        float(law.entropy()) + math.log(scale),
        columns,
    )


def two_bands(apart: float = 0.7, width: float = 0.4) -> Case:
    """y is x up or down by .7, and even noise that does not fill the gap: two bands with four edges."""

    def quantile(shares: np.ndarray) -> np.ndarray:
        upper = shares > 0.5
        return np.where(upper, apart, -apart) + width * (2 * shares - upper - 0.5)

    return with_noise(lambda g, size: quantile(g.random(size)), quantile, math.log(2 * width))


def even_and_wider(least: float = 0.2, slope: float = 0.5) -> Case:
    """y = x + even noise, the wider the farther x is from 0."""

    def width(x: np.ndarray) -> np.ndarray:
        return least + slope * np.abs(x)

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=n)
        return x, x + width(x) * (g.random(n) - 0.5)

    @functools.cache
    def truth() -> tuple[float, float]:
        y = np.linspace(-11, 11, 8001)
        ends = _X - width(_X) / 2, _X + width(_X) / 2
        density = np.array([_WEIGHTS @ (((ends[0] < one) & (one < ends[1])) / width(_X)) for one in y])
        return entropy_of(y, density) - float(_WEIGHTS @ np.log(width(_X))), 0.0

    return Case("mi", "numbers", sample, truth)


def below() -> Case:
    """x is even on [0, 1], y even on [0, x]: I = Euler's constant, for h(y) = -psi(2) and h(y|x) = E ln x = -1."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.random(n)
        return x, x * g.random(n)

    return Case("mi", "numbers", sample, lambda: (float(np.euler_gamma), 0.0))


def disc() -> Case:
    """A point of a disc, even: I = ln pi - 1, for a coordinate is a semicircle's with h = ln pi - 1/2. Uncorrelated."""

    def sample(n: int, g: Generator) -> Pair:
        radius, angle = np.sqrt(g.random(n)), 2 * math.pi * g.random(n)
        return radius * np.cos(angle), radius * np.sin(angle)

    return Case("mi", "numbers", sample, lambda: (math.log(math.pi) - 1, 0.0))


def in_order() -> Case:
    """The lesser and the greater of two even numbers: I = 1 - ln 2, for either has h = 1/2 - ln 2, both -ln 2."""

    def sample(n: int, g: Generator) -> Pair:
        x, y = np.sort(g.random((2, n)), axis=0)
        return x, y

    return Case("mi", "numbers", sample, lambda: (1 - math.log(2), 0.0))


EDGED: dict[str, Case] = {
    "even-noise-0.8": scaled(stats.uniform, 0.8),
    "even-noise-0.2": scaled(stats.uniform, 0.2),
    "even-noise-of-2-columns": scaled(stats.uniform, 1.0, 2),
    "exponential-noise": scaled(stats.expon, 0.5),
    "arcsine-noise": scaled(stats.arcsine, 0.9),
    "two-bands": two_bands(),
    "even-and-wider": even_and_wider(),
    "below": below(),
    "disc": disc(),
    "in-order": in_order(),
}
SMOOTH: dict[str, Case] = {
    "gamma-noise": scaled(stats.gamma(3.0), 0.35),
    "logistic-noise": scaled(stats.logistic, 0.4),
    "bounded-noise": scaled(stats.beta(4.0, 4.0), 2.0),
    "skewed-noise-of-2-columns": scaled(stats.gumbel_r, 0.7, 2),
}
LAWS: dict[str, Case] = EDGED | SMOOTH
