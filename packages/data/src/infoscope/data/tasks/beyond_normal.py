"""The 40 distributions of Czyż, Grabowski, Vogt, Beerenwinkel & Marx 2023, "Beyond
Normal": maps of simple ones.

Names as in the package benchmark-mi; true values from closed forms.
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
    *(f"multinormal-dense-{dim}-{dim}-0.5" for dim in (2, 3, 5, 25, 50)),
    *(f"multinormal-sparse-{dim}-{dim}-2-2.0" for dim in (2, 3, 5, 25)),
    *(
        f"student-identity-{dim}-{dim}-{dof}"
        for dim, dof in ((2, 1), (2, 2), (3, 2), (3, 3), (5, 2), (5, 3))
    ),
)
SPARSE = tuple(f"multinormal-sparse-{dim}-{dim}-2-2.0" for dim in (3, 5, 25))
MAPPED = (
    *(
        f"{name}-1v1-normal-0.75"
        for name in ("normal_cdf", "wiggly", "half_cube", "swissroll_x-normal_cdf")
    ),
    *(
        f"asinh-student-identity-{dim}-{dim}-{dof}"
        for dim, dof in ((1, 1), (2, 1), (3, 2), (5, 2))
    ),
    *(
        f"{name}-{base}"
        for name in ("normal_cdf", "half_cube", "spiral", "spiral-normal_cdf")
        for base in SPARSE
    ),
)
NAMES = (*BASES, *MAPPED)
# (weight, mean) of unit normals, of x and of y
BIMODAL = (((0.3, 0.0), (0.7, 5.0)), ((0.5, -1.0), (0.5, 3.0)))


def case(name: str) -> Case:
    """The distribution of one of NAMES: sample(n, generator) -> (x [n, dim], y [n,
    dim]), and its truth in nats.
    """
    one_of("distribution", name, NAMES)
    base = next(base for base in BASES if name.endswith(base))
    maps = [part for part in name.removesuffix(base).split("-") if part]
    draw, truth = _base(base)

    def sample(n, g):
        x, y = draw(n, g)
        for part in reversed(maps):
            x, y = _mapped(part, x, y)
        return x, y

    return with_truth(sample, truth)


def _base(name: str) -> tuple[Draw, float]:
    """The draws of a distribution without a map, and its mutual information in nats."""
    numbers = [float(text) for text in re.findall(r"(?<=-)[\d.]+(?=-|$)", name)]
    if name.startswith("1v1-additive"):
        return _additive(*numbers)
    if name.startswith("1v1"):
        return _bivariate(*numbers, bimodal="bimodal" in name)
    dim = int(numbers[0])
    if name.startswith("student"):
        dof = numbers[2]
        return functools.partial(_student, dim, dof), student_information(dim, dim, dof)
    if "dense" in name:
        covariance = _dense(dim, numbers[2])
    else:
        covariance = _sparse(dim, int(numbers[2]), numbers[3])
    return functools.partial(_normal, covariance, dim), normal_information(
        covariance, dim
    )


def _additive(width: float) -> tuple[Draw, float]:
    """x uniform on [0, 1], y = x + uniform noise on [-width, width]."""

    def draw(n, g):
        x = g.random((n, 1))
        return x, x + g.uniform(-width, width, size=(n, 1))

    if width <= 0.5:
        return draw, width - np.log(2 * width)
    return draw, 1 / (4 * width)


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
    """The covariance of 2 dim columns, each two of which have the same correlation."""
    covariance = np.eye(2 * dim)
    covariance += correlation * (1 - np.eye(2 * dim))
    return covariance


def _sparse(dim: int, pairs: int, strength: float) -> NDArray:
    """The covariance of x and y, `dim` columns each; the first `pairs` columns are
    correlated one to one.
    """
    covariance = np.eye(2 * dim)
    correlation = strength**2 / (1 + strength**2)
    for pair in range(pairs):
        covariance[pair, dim + pair] = correlation
        covariance[dim + pair, pair] = correlation
    return covariance


def _normal(covariance: NDArray, dim: int, n: int, g: Generator) -> Pair:
    root = np.linalg.cholesky(covariance)
    both = g.normal(size=(n, len(covariance))) @ root.T
    return both[:, :dim], both[:, dim:]


def _student(dim: int, dof: float, n: int, g: Generator) -> Pair:
    normal = g.normal(size=(n, 2 * dim))
    scale = np.sqrt(g.chisquare(dof, size=(n, 1)) / dof)
    both = normal / scale
    return both[:, :dim], both[:, dim:]


def _with_margin(v: NDArray, parts: tuple[tuple[float, float], ...]) -> NDArray:
    """Standard normal values moved to the same quantiles of a mixture of unit normals,
    by bisection.
    """
    level = stats.norm.cdf(v)

    def below(points):
        return (
            sum(weight * stats.norm.cdf(points - mean) for weight, mean in parts)
            < level
        )

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
    if name == "wiggly":
        wiggly_x = (
            x
            + 0.4 * np.sin(x)
            + 0.2 * np.sin(1.7 * x + 1)
            + 0.03 * np.sin(3.3 * x - 2.5)
        )
        wiggly_y = (
            y
            - 0.4 * np.sin(0.4 * y)
            + 0.17 * np.sin(1.3 * y + 3.5)
            + 0.02 * np.sin(4.3 * y - 2.5)
        )
        return wiggly_x, wiggly_y
    if name == "spiral":
        return _spiral(x, 0, 1), _spiral(y, 1, 2)
    if name == "swissroll_x":
        t = 1.5 * np.pi * (1 + 2 * x)
        roll = np.hstack([t * np.cos(t), t * np.sin(t)])
        return roll / 21, y
    column_map = COLUMN_MAPS[name]
    return column_map(x), column_map(y)


def _spiral(v: NDArray, a: int, b: int) -> NDArray:
    """Every row rotated in the plane of the coordinates a and b by its squared norm /
    dim.
    """
    angle = (v**2).sum(axis=1) / v.shape[1]
    cosine = np.cos(angle)
    sine = np.sin(angle)
    turned = v.copy()
    turned[:, a] = cosine * v[:, a] - sine * v[:, b]
    turned[:, b] = sine * v[:, a] + cosine * v[:, b]
    return turned
