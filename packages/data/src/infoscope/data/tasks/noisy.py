"""Distributions of known mutual information in which y is a function of x plus noise: normal, uniform or of another
shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special, stats

from infoscope.data.tasks.cases import (
    NOISE,
    Case,
    Generator,
    entropy_of,
    known,
    middles,
    normal_mixture,
    normals,
    response,
    through_noise,
)  # fmt: skip

X = np.linspace(-8, 8, 1601)  # of a standard normal variable
WEIGHTS = stats.norm.pdf(X) / stats.norm.pdf(X).sum()


# --- a function and noise ------------------------------------------------------------------------------------------
def normal_noise(draw: Callable[[int, Generator], NDArray], signal: Callable[[NDArray], NDArray], noise: float,
                 values: NDArray, weights: NDArray, points: NDArray | None = None) -> Case:  # fmt: skip
    """y = signal(x) + noise * normal; values and weights of the signal, and points for the density of y."""
    truth = lambda: through_noise(noise, values, weights, points)  # noqa: E731
    return response(draw, lambda x, g: signal(x) + noise * g.normal(size=len(x)), truth)


def cubic_wave(noise: float = 0.8) -> Case:
    """y = x³ - 2 x + noise."""
    wave = lambda x: x**3 - 2 * x  # noqa: E731
    x, tails = np.linspace(-6, 6, 6001), (np.linspace(-220, -12, 4000)[:-1], np.linspace(12, 220, 4000)[1:])
    y = np.concatenate([tails[0], np.linspace(-12, 12, 4001), tails[1]])
    return normal_noise(normals(), wave, noise, wave(x), stats.norm.pdf(x), y)


def square_of_one(dim: int = 12, noise: float = 0.5) -> Case:
    """y is the square of one of twelve columns, plus noise."""
    x, y = np.linspace(-6, 6, 2401), np.linspace(-4, 40, 8801)
    return normal_noise(normals(dim), lambda x: x[:, dim // 2] ** 2, noise, x**2, stats.norm.pdf(x), y)


def radius(dim: int = 3, noise: float = 0.3) -> Case:
    """y is the norm of a normal vector, plus noise."""
    r, y = np.linspace(0, 9, 1801), np.linspace(-3, 12, 3001)
    return normal_noise(normals(dim), lambda x: np.linalg.norm(x, axis=1), noise, r, stats.chi.pdf(r, dim), y)


def squared_length(dim: int, noise: float = 1.0) -> Case:
    """y = |x|^2 + noise, x of `dim` normal columns."""
    values = middles(0, 12 * dim)
    return normal_noise(normals(dim), lambda x: (x**2).sum(axis=1), noise, values, stats.chi2.pdf(values, dim))


def largest_of(dim: int, noise: float = 0.1) -> Case:
    """y = the largest of `dim` exponential columns + noise."""
    values = middles(0, 30)
    density = np.exp(-values) * (-np.expm1(-values)) ** (dim - 1)
    return normal_noise(lambda n, g: g.exponential(size=(n, dim)), lambda x: x.max(axis=1), noise, values, density)


def surface(noise: float = 0.005) -> Case:
    """x uniform in the cube, y = x1 x2 + x3 with little noise; P(x1 x2 < p) = p (1 - log p)."""
    values = middles(0, 2, 2000)
    ends = np.clip([values, values - 1], 0, 1)
    below = ends - special.xlogy(ends, ends)
    signal = lambda x: x[:, 0] * x[:, 1] + x[:, 2]  # noqa: E731
    return normal_noise(lambda n, g: g.random((n, 3)), signal, noise, values, below[0] - below[1])


def zero_or_gamma(zeros: float = 0.4) -> Case:
    """x is 0 with probability 0.4 and else gamma of shape 2; y = x + normal / 2."""
    x = middles(0, 30)
    density = stats.gamma.pdf(x, 2)
    weights = np.append((1 - zeros) * density / density.sum(), zeros)
    draw = lambda n, g: (g.random(n) >= zeros) * g.gamma(2, size=n)  # noqa: E731
    return normal_noise(draw, lambda x: x, 0.5, np.append(x, 0), weights)


def reported_ages(slope: float = 0.9) -> Case:
    """Ages in years, which a third of the people round to tens, and a measurement that increases with age."""
    ages = np.arange(18, 91)
    shares = np.zeros(101)
    np.add.at(shares, ages, 0.65 / len(ages))
    np.add.at(shares, (ages + 5) // 10 * 10, 0.35 / len(ages))
    rise = lambda x: slope * (x - 54) / 20  # noqa: E731
    draw = lambda n, g: g.choice(101, n, p=shares).astype(float)  # noqa: E731
    return normal_noise(draw, rise, 1.0, rise(np.arange(101)), shares, np.linspace(-10, 10, 4001))


def product_among(dim: int, noise: float = 0.3) -> Case:
    """y = x1 x2 + noise, of `dim` normal columns: normal given x1 alone, of variance x1^2 + noise^2."""
    z = middles(-8, 8)
    truth = lambda: through_noise(noise, 0.0, stats.norm.pdf(z), spread=np.hypot(z, noise))  # noqa: E731
    return response(normals(dim), lambda x, g: x[:, 0] * x[:, 1] + noise * g.normal(size=len(x)), truth)


def regimes(dim: int = 5, noise: float = 0.5) -> Case:
    """The sign of one column decides on which of two others y depends; two more are irrelevant."""
    y = np.linspace(-14, 14, 5601)
    density = sum(stats.norm.pdf(y, 0, math.hypot(slope, noise)) for slope in (1.5, 0.5)) / 2
    follow = lambda x: np.where(x[:, 0] > 0, 1.5 * x[:, 1], 0.5 * x[:, 2])  # noqa: E731
    nats = entropy_of(y, density) - NOISE - math.log(noise)
    return response(normals(dim), lambda x, g: follow(x) + noise * g.normal(size=len(x)), nats)


def growing_noise() -> Case:
    """x uniform on (0, 3), y = x + (0.1 + x / 2) normal."""
    x = middles(0, 3)
    spread = 0.1 + x / 2
    return response(
        lambda n, g: 3 * g.random(n),
        lambda x, g: x + (0.1 + x / 2) * g.normal(size=len(x)),
        lambda: through_noise(stats.gmean(spread), x, 1.0, spread=spread),
    )


def crossed(noise: float = 0.5) -> Case:
    """y is x or -x, at random, plus noise."""

    def truth() -> float:
        y, x = np.linspace(-10, 10, 4001), np.linspace(-6, 6, 1201)
        given = (stats.norm.pdf(y, x[:, None], noise) + stats.norm.pdf(y, -x[:, None], noise)) / 2
        left = np.array([entropy_of(y, one) for one in given])
        whole = 0.5 * math.log(1 + noise**2) + NOISE
        return whole - float(np.trapezoid(stats.norm.pdf(x) * left, x))

    return response(normals(), lambda x, g: g.choice([-1.0, 1.0], len(x)) * x + noise * g.normal(size=len(x)), truth)


def changing_scale(slope: float = 0.7) -> Case:
    """Only the spread of y depends on x."""

    def truth() -> float:
        logs = np.linspace(-40, 12, 20_801)
        y = np.exp(logs)
        density = normal_mixture(y, 0.0, WEIGHTS, np.exp(slope * X))
        return 2 * float(np.trapezoid(y * special.entr(density), logs)) - NOISE

    return response(normals(), lambda x, g: np.exp(slope * x) * g.normal(size=len(x)), truth)


def product_noise() -> Case:
    """y = x * normal, x normal: y has density K0(|y|) / pi."""

    def truth() -> float:
        inner = lambda y: special.entr(special.k0(y) / np.pi)  # noqa: E731
        half = integrate.quad(inner, 0, 1)[0] + integrate.quad(inner, 1, 300)[0]
        return 2 * half - NOISE + (np.euler_gamma + np.log(2)) / 2

    return response(normals(), lambda x, g: x * g.normal(size=len(x)), truth)


def mixed_columns() -> Case:
    """x is a category and a number, y the sum of their effects plus noise."""
    means, slope, noise = np.array([-2.0, 0.0, 1.5]), 0.8, 0.7

    def sample(n: int, g: Generator) -> tuple[dict[str, NDArray], NDArray]:
        kind, size = g.integers(0, len(means), n), g.normal(size=n)
        y = means[kind] + slope * size + noise * g.normal(size=n)
        return {"kind": np.array(["a", "b", "c"])[kind], "size": size}, y

    spread = math.hypot(slope, noise)
    points = np.linspace(means.min() - 9 * spread, means.max() + 9 * spread, 20_001)
    density = stats.norm.pdf(points[:, None], means, spread).mean(axis=1)
    return known(sample, entropy_of(points, density) - NOISE - math.log(noise))


def waiting_times(pairs: int = 3, idle: int = 3) -> Case:
    """y = x + noise for some columns, all exponential: I is Euler's constant for each; other columns of x are
    irrelevant.
    """
    return response(
        lambda n, g: g.exponential(size=(n, pairs + idle)),
        lambda x, g: x[:, :pairs] + g.exponential(size=(len(x), pairs)),
        pairs * float(np.euler_gamma),
    )


# --- noise of other shapes, and sharp edges ------------------------------------------------------------------------
def with_noise(draw: Callable[[Generator, tuple[int, ...]], NDArray], quantile: Callable, entropy: float,
               columns: int = 1) -> Case:  # fmt: skip
    """y = x + noise by column, x normal; noise: draw(generator, size), its quantile function and entropy (nats)."""

    def truth() -> float:
        noise = quantile((np.arange(4000) + 0.5) / 4000)
        y = np.linspace(noise[0] - 8, noise[-1] + 8, 6001)
        return columns * (entropy_of(y, normal_mixture(y, noise, 1.0, 1.0)) - entropy)

    return response(normals(columns), lambda x, g: x + draw(g, x.shape), truth)


def scaled(noise: stats.rv_continuous, scale: float, columns: int = 1) -> Case:
    """y = x + scale * noise, noise a distribution of scipy."""
    return with_noise(
        lambda g, size: scale * noise.rvs(size=size, random_state=g),
        lambda shares: scale * noise.ppf(shares),
        float(noise.entropy()) + math.log(scale),
        columns,
    )


def two_bands(apart: float = 0.7, width: float = 0.4) -> Case:
    """y is x plus or minus .7, plus uniform noise: two bands with four edges."""

    def quantile(shares: NDArray) -> NDArray:
        upper = shares > 0.5
        return np.where(upper, apart, -apart) + width * (2 * shares - upper - 0.5)

    return with_noise(lambda g, size: quantile(g.random(size)), quantile, math.log(2 * width))


def even_and_wider(least: float = 0.2, slope: float = 0.5) -> Case:
    """y = x + uniform noise, wider for larger |x|."""

    def width(x: NDArray) -> NDArray:
        return least + slope * np.abs(x)

    def truth() -> float:
        x, y = np.linspace(-8, 8, 3201), np.linspace(-11, 11, 8001)
        weights = stats.norm.pdf(x) / stats.norm.pdf(x).sum()
        ends = x - width(x) / 2, x + width(x) / 2
        density = np.array([weights @ (((ends[0] < one) & (one < ends[1])) / width(x)) for one in y])
        return entropy_of(y, density) - float(weights @ np.log(width(x)))

    return response(normals(), lambda x, g: x + width(x) * (g.random(len(x)) - 0.5), truth)
