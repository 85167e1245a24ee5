"""Distributions on which the constants of the verdict on nearest-neighbour estimates were tuned: not for evaluation."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from infoscope.data.tasks.beyond_normal import student_information
from infoscope.data.tasks.known_truth import CASES, Case, normal_mixture

Generator = np.random.Generator
Pair = tuple[NDArray, NDArray]


def _of_normal(dim: int, correlation: float) -> float:
    return -0.5 * dim * np.log1p(-(correlation**2))


def coupled(dim: int, correlation: float, pairs: int | None = None, then: Callable[[NDArray], NDArray] | None = None):
    """Normal columns [n, dim] of x and y, the first `pairs` of them correlated, and a map of each."""
    pairs = dim if pairs is None else pairs

    def sample(n: int, g: Generator) -> Pair:
        x, y = g.normal(size=(n, dim)), g.normal(size=(n, dim))
        y[:, :pairs] = correlation * x[:, :pairs] + np.sqrt(1 - correlation**2) * y[:, :pairs]
        return (x, y) if then is None else (then(x), then(y))

    return Case("mi", "numbers", sample, lambda: (_of_normal(pairs, correlation), 0.0))


def turned(dim: int, correlation: float, pairs: int) -> Case:
    """The same behind rotations of x and y, so that no column alone carries a pair."""
    g = np.random.default_rng(dim)
    rotations = [np.linalg.qr(g.normal(size=(dim, dim)))[0] for _ in range(2)]
    plain = coupled(dim, correlation, pairs)

    def sample(n: int, g: Generator) -> Pair:
        return tuple(side @ rotation for side, rotation in zip(plain.sample(n, g), rotations))

    return Case("mi", "numbers", sample, plain.truth)


def twisted(speed: float) -> Callable[[NDArray], NDArray]:
    """Turns the first two columns by `speed` times the squared norm."""

    def twist(v: NDArray) -> NDArray:
        angle, moved = speed * (v**2).sum(axis=1), v.copy()
        moved[:, 0] = np.cos(angle) * v[:, 0] - np.sin(angle) * v[:, 1]
        moved[:, 1] = np.sin(angle) * v[:, 0] + np.cos(angle) * v[:, 1]
        return moved

    return twist


def one_of(dim: int, correlation: float = 0.6) -> Case:
    """y depends on one of `dim` independent columns."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, dim))
        return x, correlation * x[:, 0] + np.sqrt(1 - correlation**2) * g.normal(size=n)

    return Case("mi", "numbers", sample, lambda: (_of_normal(1, correlation), 0.0))


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


def curve(function: Callable[[NDArray], NDArray], noise: float) -> Case:
    """x uniform on (-1, 1), y = function(x) + normal noise."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.uniform(-1, 1, n)
        return x, function(x) + noise * g.normal(size=n)

    @functools.cache
    def truth() -> tuple[float, float]:
        values = function((np.arange(4000) + 0.5) / 2000 - 1)
        points = np.linspace(values.min() - 8 * noise, values.max() + 8 * noise, 4001)
        density = normal_mixture(points, values, 1.0, noise)
        inner = density * np.log(np.maximum(density, 1e-300))
        return float(-np.trapezoid(inner, points) - 0.5 * np.log(2 * np.pi * np.e * noise**2)), 0.0

    return Case("mi", "numbers", sample, truth)


def board(squares: int) -> Case:
    """Uniform on the black squares of a board: log 2 at any fineness."""

    def sample(n: int, g: Generator) -> Pair:
        a = g.integers(0, squares, n)
        b = 2 * g.integers(0, squares // 2, n) + a % 2
        return (a + g.random(n)) / squares, (b + g.random(n)) / squares

    return Case("mi", "numbers", sample, lambda: (np.log(2), 0.0))


def parity(squares: int) -> Case:
    """The colour of the square that two uniform columns fall on."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.random((n, 2))
        return x, np.floor(squares * x).sum(axis=1).astype(int) % 2

    return Case("mi", "labels", sample, lambda: (np.log(2), 0.0))


def student(dim: int, dof: float, normal_margins: bool = False) -> Case:
    """Two parts of a multivariate t, which share its scale alone; or its copula with normal margins."""

    def sample(n: int, g: Generator) -> Pair:
        both = g.normal(size=(n, 2 * dim)) / np.sqrt(g.chisquare(dof, size=(n, 1)) / dof)
        if normal_margins:
            both = stats.norm.ppf(np.clip(stats.t.cdf(both, dof), 1e-15, 1 - 1e-15))
        return both[:, :dim], both[:, dim:]

    return Case("mi", "numbers", sample, lambda: (student_information(dim, dim, dof), 0.0))


def rare_classes() -> Case:
    """Three normal classes of 90, 8 and 2 %."""
    shares, centres = np.array([0.9, 0.08, 0.02]), np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])

    def sample(n: int, g: Generator) -> Pair:
        y = g.choice(3, n, p=shares)
        return centres[y] + g.normal(size=(n, 2)), y

    @functools.cache
    def truth() -> tuple[float, float]:
        x, y = sample(400_000, np.random.default_rng(5))
        logs = np.log(shares) - 0.5 * ((x[:, None] - centres) ** 2).sum(axis=2)
        local = logs[np.arange(len(y)), y] - np.logaddexp.reduce(logs, axis=1) - np.log(shares[y])
        return float(local.mean()), float(local.std() / np.sqrt(len(y)))

    return Case("mi", "labels", sample, truth)


LAWS = {
    **{name: CASES[name] for name in (
        "gaussian-1", "gaussian-2", "gaussian-5", "gaussian-12", "independent-1", "independent-12", "mixture-2",
        "mixture-12", "uniform-beside-label", "zero-inflated-poisson", "rounded-gaussian",
    )},
    "lognormal-2": coupled(2, 0.7, then=lambda v: np.exp(1.2 * v)),
    "cauchy-margins": coupled(1, 0.7, then=lambda v: np.tan(np.pi * (stats.norm.cdf(v) - 0.5))),
    "turned-3": turned(3, 0.8, 1),
    "turned-4": turned(4, 0.6, 2),
    "turned-8": turned(8, 0.6, 3),
    **{f"one-of-{dim}": one_of(dim) for dim in (3, 20, 50)},
    **{f"label-of-one-of-{dim}": label_of_one_of(dim) for dim in (3, 20, 100)},
    "sine-3": curve(lambda x: np.sin(3 * np.pi * x), 0.3),
    "sine-20": curve(lambda x: np.sin(20 * np.pi * x), 0.1),
    "square": curve(lambda x: x**2, 0.1),
    "step": curve(lambda x: np.floor(3 * x), 0.05),
    **{f"board-{squares}": board(squares) for squares in (4, 10, 40)},
    **{f"parity-{squares}": parity(squares) for squares in (4, 16)},
    "student-2": student(2, 1.5),
    "student-4": student(4, 4.0),
    **{f"t-copula-{dim}": student(dim, dof, True) for dim, dof in ((1, 1.0), (2, 1.5), (4, 4.0))},
    "twist-slow-2": coupled(2, 0.7, then=twisted(0.3)),
    "twist-fast-2": coupled(2, 0.7, then=twisted(1.5)),
    "twist-slow-4": coupled(4, 0.5, then=twisted(0.3)),
    "rare-classes": rare_classes(),
}  # fmt: skip
