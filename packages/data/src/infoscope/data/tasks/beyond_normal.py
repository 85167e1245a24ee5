"""The 40 distributions of Czyż, Grabowski, Vogt, Beerenwinkel & Marx 2023, "Beyond Normal": maps of simple ones.

Names as in the package benchmark-mi; true values from closed forms.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from infoscope.checks import one_of
from infoscope.data.information import bisected, student_information
from infoscope.data.tasks.cases import Case, Generator, Pair, with_truth

Map = Callable[[NDArray], NDArray]
BASES = (
    "1v1-normal-0.75",
    "1v1-additive-0.1",
    "1v1-additive-0.75",
    "1v1-bimodal-0.75",
    "student-identity-1-1-1",
    *(f"multinormal-dense-{dim}-{dim}-0.5" for dim in (2, 3, 5, 25, 50)),
    *(f"multinormal-sparse-{dim}-{dim}-2-2.0" for dim in (2, 3, 5, 25)),
    *(f"student-identity-{dim}-{dim}-{dof}" for dim, dof in ((2, 1), (2, 2), (3, 2), (3, 3), (5, 2), (5, 3))),
)
SPARSE = tuple(f"multinormal-sparse-{dim}-{dim}-2-2.0" for dim in (3, 5, 25))
MAPPED = (
    *(f"{name}-1v1-normal-0.75" for name in ("normal_cdf", "wiggly", "half_cube", "swissroll_x-normal_cdf")),
    *(f"asinh-student-identity-{dim}-{dim}-{dof}" for dim, dof in ((1, 1), (2, 1), (3, 2), (5, 2))),
    *(f"{name}-{base}" for name in ("normal_cdf", "half_cube", "spiral", "spiral-normal_cdf") for base in SPARSE),
)
NAMES = (*BASES, *MAPPED)
BIMODAL = (((0.3, 0.0), (0.7, 5.0)), ((0.5, -1.0), (0.5, 3.0)))  # (weight, mean) of unit normals, of x and of y


def case(name: str) -> Case:
    """The distribution of one of NAMES: sample(n, generator) -> (x [n, dim], y [n, dim]), and its truth in nats."""
    one_of("distribution", name, NAMES)
    base = next(base for base in BASES if name.endswith(base))
    maps = [part for part in name.removesuffix(base).split("-") if part]
    draw, truth = _base(base)

    def sample(n: int, g: Generator) -> Pair:
        x, y = draw(n, g)
        for part in reversed(maps):
            x, y = _mapped(part, x, y)
        return x, y

    return with_truth(sample, truth)


def _base(name: str) -> tuple[Callable[[int, Generator], Pair], float]:
    """The draws of a distribution without a map, and its mutual information in nats."""
    numbers = [float(text) for text in re.findall(r"(?<=-)[\d.]+(?=-|$)", name)]
    if name.startswith("1v1-additive"):
        (width,) = numbers
        truth = width - np.log(2 * width) if width <= 0.5 else 1 / (4 * width)
        return functools.partial(_additive, width), truth
    if name.startswith("1v1"):
        (correlation,) = numbers
        truth = -0.5 * np.log1p(-(correlation**2))
        draw = functools.partial(_normal, np.array([[1.0, correlation], [correlation, 1.0]]), 1)
        return (draw, truth) if "bimodal" not in name else (lambda n, g: _bimodal(*draw(n, g)), truth)
    dim = int(numbers[0])
    if name.startswith("student"):
        dof = numbers[2]
        return functools.partial(_student, dim, dof), student_information(dim, dim, dof)
    covariance = np.eye(2 * dim)
    if "dense" in name:
        covariance += numbers[2] * (1 - np.eye(2 * dim))
    else:
        strength = numbers[3] ** 2 / (1 + numbers[3] ** 2)
        for pair in range(int(numbers[2])):
            covariance[pair, dim + pair] = covariance[dim + pair, pair] = strength
    return functools.partial(_normal, covariance, dim), normal_information(covariance, dim)


def normal_information(covariance: NDArray, dim: int) -> float:
    """I of the first `dim` columns of a normal vector and the others, nats."""
    logs = [np.linalg.slogdet(part)[1] for part in (covariance[:dim, :dim], covariance[dim:, dim:], covariance)]
    return 0.5 * float(logs[0] + logs[1] - logs[2])


def _normal(covariance: NDArray, dim: int, n: int, g: Generator) -> Pair:
    both = g.normal(size=(n, len(covariance))) @ np.linalg.cholesky(covariance).T
    return both[:, :dim], both[:, dim:]


def _student(dim: int, dof: float, n: int, g: Generator) -> Pair:
    both = g.normal(size=(n, 2 * dim)) / np.sqrt(g.chisquare(dof, size=(n, 1)) / dof)
    return both[:, :dim], both[:, dim:]


def _additive(width: float, n: int, g: Generator) -> Pair:
    x = g.random((n, 1))
    return x, x + g.uniform(-width, width, size=(n, 1))


def _bimodal(x: NDArray, y: NDArray) -> Pair:
    return tuple(_quantile(stats.norm.cdf(of), parts) for of, parts in zip((x, y), BIMODAL))


def _quantile(level: NDArray, parts: tuple[tuple[float, float], ...]) -> NDArray:
    """The point at which a mixture of unit normals reaches a level, by bisection."""
    ends = np.full(level.shape, -12.0), np.full(level.shape, 17.0)
    below = lambda point: sum(weight * stats.norm.cdf(point - mean) for weight, mean in parts) < level  # noqa: E731
    return sum(bisected(below, *ends, 60)) / 2


def _mapped(name: str, x: NDArray, y: NDArray) -> Pair:
    if name == "wiggly":
        wiggly_x = x + 0.4 * np.sin(x) + 0.2 * np.sin(1.7 * x + 1) + 0.03 * np.sin(3.3 * x - 2.5)
        return wiggly_x, y - 0.4 * np.sin(0.4 * y) + 0.17 * np.sin(1.3 * y + 3.5) + 0.02 * np.sin(4.3 * y - 2.5)
    if name == "spiral":
        return _spiral(x, (0, 1)), _spiral(y, (1, 2))
    if name == "swissroll_x":
        t = 1.5 * np.pi * (1 + 2 * x)
        return np.hstack([t * np.cos(t), t * np.sin(t)]) / 21, y
    of_column: dict[str, Map] = {
        "normal_cdf": stats.norm.cdf,
        "half_cube": lambda v: v * np.sqrt(np.abs(v)),
        "asinh": np.arcsinh,
    }
    return of_column[name](x), of_column[name](y)


def _spiral(v: NDArray, plane: tuple[int, int]) -> NDArray:
    """Every row rotated in the plane of two coordinates by its squared norm / dim."""
    a, b = plane
    angle = (v**2).sum(axis=1) / v.shape[1]
    turned = v.copy()
    turned[:, a] = np.cos(angle) * v[:, a] - np.sin(angle) * v[:, b]
    turned[:, b] = np.sin(angle) * v[:, a] + np.cos(angle) * v[:, b]
    return turned
