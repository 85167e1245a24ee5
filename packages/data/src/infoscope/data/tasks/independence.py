"""Settings to examine tests of independence: a null (x and y independent given z) and an alternative each.

x = left(a(z) + e), y = right(b(z) + effect e + w), e and w normal: I(x; y | z) = log(1 + effect^2) / 2; labels: less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoscope.checks import one_of
from infoscope.data.tasks.cases import Generator

Map = Callable[[NDArray], NDArray]


@dataclass(frozen=True)
class IndependenceSetting:
    """A null and an alternative: sample(n, generator, dependent) -> (x, y) or (x, y, z); whole numbers are labels.

    `columns` is the number of z's, `rows` the sample size, `information` (nats) the alternative's; nan: unknown.
    """

    shape: str
    types: str
    columns: int
    rows: int
    information: float
    sample: Callable[[int, Generator, bool], tuple[Any, ...]]


def identity(values: NDArray) -> NDArray:
    return values


def halves(values: NDArray) -> NDArray:
    return (values > 0).astype(np.int64)


def thirds(values: NDArray) -> NDArray:
    return np.digitize(values, [-0.7, 0.7])


def cube(values: NDArray) -> NDArray:
    return values**3 / 3


def mean_of(z: NDArray) -> NDArray:
    """The columns of z combined into one of variance 1; 0 without columns."""
    return z.sum(axis=1) / math.sqrt(max(1, z.shape[1]))


def given(
    columns: int, rows: int, effect: float, *, left: Map = identity, right: Map = identity, a: Map = mean_of,
    b: Map = mean_of, labels: int = 0,
) -> IndependenceSetting:  # fmt: skip
    """`columns` normal columns of z, and `labels` more of three categories that shift x and y."""

    def sample(n: int, g: Generator, dependent: bool) -> tuple[Any, ...]:
        z, category = g.normal(size=(n, columns)), g.integers(0, 3, (n, labels))
        e, w = g.normal(size=(2, n))
        shift = category.sum(axis=1) - labels
        x, y = left(a(z) + shift + e), right(b(z) + shift + dependent * effect * e + w)
        if labels:
            return x, y, {f"{kind}{j}": of[:, j] for kind, of in (("z", z), ("label", category))
                          for j in range(of.shape[1])}  # fmt: skip
        return (x, y, z) if columns else (x, y)

    lossy = {left, right} & {halves, thirds}
    types = "labels" if len(lossy) and left is not identity else "number and label" if lossy else "numbers"
    linear = {left, right, a, b} <= {identity, mean_of} | lossy
    return IndependenceSetting(
        "linear" if linear else "post-nonlinear", types + (", mixed z" if labels else ""), columns + labels, rows,
        math.nan if lossy else math.log1p(effect**2) / 2, sample,
    )  # fmt: skip


def circle(rows: int, noise: float) -> IndependenceSetting:
    """Points of a circle plus noise, uncorrelated. Independent: coordinates of two circles."""

    def sample(n: int, g: Generator, dependent: bool) -> tuple[NDArray, NDArray]:
        one, other = g.uniform(0, 2 * np.pi, (2, n))
        e, w = noise * g.normal(size=(2, n))
        return np.cos(one) + e, np.sin(one if dependent else other) + w

    return IndependenceSetting("circle", "numbers", 0, rows, math.nan, sample)


def sines(z: NDArray) -> NDArray:
    return 1.5 * np.sin(3 * z[:, 0])


def squares(z: NDArray) -> NDArray:
    return (z**2).mean(axis=1)


def first(z: NDArray) -> NDArray:
    return z[:, 0]


SETTINGS: dict[str, IndependenceSetting] = {
    "linear-0": given(0, 100, 0.35),
    "circle-0": circle(200, 0.3),
    "labels-0": given(0, 200, 0.5, left=thirds, right=halves),
    "number-and-label-0": given(0, 200, 0.45, right=thirds),
    "heavy-tails-0": given(0, 500, 0.25, left=np.sinh, right=cube),
    "linear-1-of-100": given(1, 100, 0.5),
    "linear-1": given(1, 500, 0.25),
    "post-nonlinear-1-of-200": given(1, 200, 0.4, left=np.tanh, right=cube),
    "post-nonlinear-1": given(1, 1000, 0.2, left=np.tanh, right=cube),
    "sine-1": given(1, 200, 0.4, a=sines, b=sines),
    "number-and-label-1": given(1, 200, 0.6, right=halves),
    "labels-1": given(1, 200, 0.8, left=thirds, right=halves),
    "mixed-condition-2": given(1, 200, 0.4, labels=1),
    "post-nonlinear-2": given(2, 500, 0.3, left=np.sinh, right=np.arctan, b=squares),
    "linear-3": given(3, 2000, 0.15),
    "post-nonlinear-3": given(3, 200, 0.4, left=cube, right=np.tanh),
    "labels-and-mixed-condition-4": given(2, 500, 0.6, right=thirds, labels=2),
    "linear-5": given(5, 200, 0.4),
    "one-of-10": given(10, 200, 0.4, a=first, b=first),
    "linear-10": given(10, 300, 0.35),
}


def setting(name: str) -> IndependenceSetting:
    """The setting of a name. ValueError for an unknown one."""
    return SETTINGS[one_of("setting", name, SETTINGS)]
