"""The 40 distributions of "Beyond Normal" (Czyż et al. 2023): maps of simple ones.

Czyż, Grabowski, Vogt, Beerenwinkel & Marx; names as in their package benchmark-mi. True
values are closed forms.
"""

from __future__ import annotations

import functools
import re

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from infoscope.checks import one_of
from infoscope.data.information import bisected, normal_information, student_information
from infoscope.data.tasks.cases import Case, Draw, Generator, Map, Pair, with_truth

BASES = (
    "1v1-normal-0.75",
    "1v1-additive-0.1",
    "1v1-additive-0.75",
    "1v1-bimodal-0.75",
    "student-identity-1-1-1",
    "multinormal-dense-2-2-0.5",
    "multinormal-dense-3-3-0.5",
    "multinormal-dense-5-5-0.5",
    "multinormal-dense-25-25-0.5",
    "multinormal-dense-50-50-0.5",
    "multinormal-sparse-2-2-2-2.0",
    "multinormal-sparse-3-3-2-2.0",
    "multinormal-sparse-5-5-2-2.0",
    "multinormal-sparse-25-25-2-2.0",
    "student-identity-2-2-1",
    "student-identity-2-2-2",
    "student-identity-3-3-2",
    "student-identity-3-3-3",
    "student-identity-5-5-2",
    "student-identity-5-5-3",
)
MAPPED = (
    "normal_cdf-1v1-normal-0.75",
    "wiggly-1v1-normal-0.75",
    "half_cube-1v1-normal-0.75",
    "swissroll_x-normal_cdf-1v1-normal-0.75",
    "asinh-student-identity-1-1-1",
    "asinh-student-identity-2-2-1",
    "asinh-student-identity-3-3-2",
    "asinh-student-identity-5-5-2",
    "normal_cdf-multinormal-sparse-3-3-2-2.0",
    "normal_cdf-multinormal-sparse-5-5-2-2.0",
    "normal_cdf-multinormal-sparse-25-25-2-2.0",
    "half_cube-multinormal-sparse-3-3-2-2.0",
    "half_cube-multinormal-sparse-5-5-2-2.0",
    "half_cube-multinormal-sparse-25-25-2-2.0",
    "spiral-multinormal-sparse-3-3-2-2.0",
    "spiral-multinormal-sparse-5-5-2-2.0",
    "spiral-multinormal-sparse-25-25-2-2.0",
    "spiral-normal_cdf-multinormal-sparse-3-3-2-2.0",
    "spiral-normal_cdf-multinormal-sparse-5-5-2-2.0",
    "spiral-normal_cdf-multinormal-sparse-25-25-2-2.0",
)
NAMES = (*BASES, *MAPPED)
# (weight, mean) of unit normals, of x and of y
BIMODAL = (((0.3, 0.0), (0.7, 5.0)), ((0.5, -1.0), (0.5, 3.0)))


def case(name: str) -> Case:
    """The distribution of one of NAMES, with samples x [n, dim] and y [n, dim]."""
    one_of("distribution", name, NAMES)
    base = next(base for base in BASES if name.endswith(base))
    # the map named last comes first; the name ends in "-" before the base
    *maps, _ = name.removesuffix(base).split("-")
    maps.reverse()
    draw, nats = _base(base)

    def sample(n, g):
        x, y = draw(n, g)
        for part in maps:
            x, y = _mapped(part, x, y)
        return x, y

    return with_truth(sample, nats)


def _base(name: str) -> tuple[Draw, float]:
    """The draws of a distribution without a map, and its mutual information in nats."""
    words = re.findall(r"(?<=-)[\d.]+(?=-|$)", name)
    numbers = [float(word) for word in words]
    if name.startswith("1v1-additive"):
        return _additive(*numbers)
    if name.startswith("1v1"):
        return _bivariate(*numbers, bimodal="bimodal" in name)
    dim = int(numbers[0])
    if name.startswith("student"):
        dof = numbers[2]
        draw = functools.partial(_student, dim, dof)
        return draw, student_information(dim, dim, dof)
    if "dense" in name:
        covariance = _dense(dim, numbers[2])
    else:
        covariance = _sparse(dim, int(numbers[2]), numbers[3])
    draw = functools.partial(_normal, covariance, dim)
    return draw, normal_information(covariance, dim)


def _additive(width: float) -> tuple[Draw, float]:
    """x uniform on [0, 1], y = x + uniform noise on [-width, width]."""

    def draw(n, g):
        x = g.random((n, 1))
        noise = g.uniform(-width, width, size=(n, 1))
        return x, x + noise

    nats = 1 / (4 * width)
    if width <= 0.5:
        nats = width - np.log(2 * width)
    return draw, nats


def _bivariate(correlation: float, bimodal: bool) -> tuple[Draw, float]:
    """Two correlated normal variables, or the same ranks with bimodal margins."""
    covariance = np.array([[1.0, correlation], [correlation, 1.0]])

    def draw(n, g):
        x, y = _normal(covariance, 1, n, g)
        if bimodal:
            return _with_margin(x, BIMODAL[0]), _with_margin(y, BIMODAL[1])
        return x, y

    return draw, -0.5 * np.log1p(-(correlation**2))


def _dense(dim: int, correlation: float) -> NDArray:
    """The covariance of 2 dim columns, with one correlation of any two of them."""
    identity = np.eye(2 * dim)
    return identity + correlation * (1 - identity)


def _sparse(dim: int, pairs: int, strength: float) -> NDArray:
    """The covariance of x and y, `dim` columns each, correlated in some pairs."""
    covariance = np.eye(2 * dim)
    correlation = strength**2 / (1 + strength**2)
    x = np.arange(pairs)
    y = dim + x
    covariance[x, y] = correlation
    covariance[y, x] = correlation
    return covariance


def _normal(covariance: NDArray, dim: int, n: int, g: Generator) -> Pair:
    """Normal x, of the first `dim` columns of the covariance, and y."""
    root = np.linalg.cholesky(covariance)
    both = g.normal(size=(n, len(covariance))) @ root.T
    return both[:, :dim], both[:, dim:]


def _student(dim: int, dof: float, n: int, g: Generator) -> Pair:
    """Uncorrelated Student t columns x and y with one common scale."""
    normal = g.normal(size=(n, 2 * dim))
    squares = g.chisquare(dof, size=(n, 1))
    both = normal / np.sqrt(squares / dof)
    return both[:, :dim], both[:, dim:]


def _with_margin(v: NDArray, parts: tuple[tuple[float, float], ...]) -> NDArray:
    """Quantiles of a mixture of unit normals at the levels of standard normal values."""
    level = stats.norm.cdf(v)

    def below(points):
        level_of_points = 0.0
        for weight, mean in parts:
            level_of_points += weight * stats.norm.cdf(points - mean)
        return level_of_points < level

    least = np.full(level.shape, -12.0)
    greatest = np.full(level.shape, 17.0)
    low, high = bisected(below, least, greatest, 60)
    return (low + high) / 2


COLUMN_MAPS: dict[str, Map] = {
    "normal_cdf": stats.norm.cdf,
    "half_cube": lambda v: v * np.sqrt(np.abs(v)),
    "asinh": np.arcsinh,
}


def _mapped(name: str, x: NDArray, y: NDArray) -> Pair:
    """x and y after the map of a name."""
    match name:
        case "wiggly":
            return _wiggly_x(x), _wiggly_y(y)
        case "spiral":
            return _spiral(x, 0, 1), _spiral(y, 1, 2)
        case "swissroll_x":
            t = 1.5 * np.pi * (1 + 2 * x)
            roll = np.hstack([t * np.cos(t), t * np.sin(t)])
            return roll / 21, y
    column_map = COLUMN_MAPS[name]
    return column_map(x), column_map(y)


def _wiggly_x(x: NDArray) -> NDArray:
    """An increasing map of x."""
    wave = x + 0.4 * np.sin(x)
    wave += 0.2 * np.sin(1.7 * x + 1)
    return wave + 0.03 * np.sin(3.3 * x - 2.5)


def _wiggly_y(y: NDArray) -> NDArray:
    """An increasing map of y."""
    wave = y - 0.4 * np.sin(0.4 * y)
    wave += 0.17 * np.sin(1.3 * y + 3.5)
    return wave + 0.02 * np.sin(4.3 * y - 2.5)


def _spiral(v: NDArray, a: int, b: int) -> NDArray:
    """Rows rotated in the plane of coordinates a and b by their squared norm / dim."""
    angle = (v**2).sum(axis=1) / v.shape[1]
    cosine = np.cos(angle)
    sine = np.sin(angle)
    turned = v.copy()
    turned[:, a] = cosine * v[:, a] - sine * v[:, b]
    turned[:, b] = sine * v[:, a] + cosine * v[:, b]
    return turned
