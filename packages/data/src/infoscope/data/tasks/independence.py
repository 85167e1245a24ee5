"""Settings to examine tests of independence: each has a null and an alternative.

Under the null, x and y are independent given z. x = left(a(z) + e), y = right(a(z) +
effect e + w), e and w normal: I(x; y | z) = log(1 + effect^2) / 2, or less for labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoscope.checks import one_of
from infoscope.data.tasks.cases import Generator, Map


@dataclass(frozen=True)
class IndependenceSetting:
    """A null and an alternative of one kind of data.

    columns      number of columns of z
    rows         sample size
    information  of the alternative, nats; nan where unknown
    sample       n, generator, dependent -> (x, y) or (x, y, z); whole numbers are labels
    """

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


def mean_of(z: NDArray) -> NDArray:
    """The columns of z combined into one of variance 1; 0 without columns."""
    return z.sum(axis=1) / math.sqrt(max(1, z.shape[1]))


def sines(z: NDArray) -> NDArray:
    return 1.5 * np.sin(3 * z[:, 0])


def first(z: NDArray) -> NDArray:
    return z[:, 0]


def common_cause(
    columns: int,
    rows: int,
    effect: float,
    *,
    left: Map = identity,
    right: Map = identity,
    condition: Map = mean_of,
    labels: int = 0,
) -> IndependenceSetting:
    """x and y depend on z: normal columns, and labels of three categories.

    condition  the function of the normal columns in x and y; labels shift x and y
    """

    def sample(n, g, dependent):
        z = g.normal(size=(n, columns))
        category = g.integers(0, 3, (n, labels))
        e, w = g.normal(size=(2, n))
        shift = category.sum(axis=1) - labels
        common = condition(z) + shift
        mean = common + dependent * effect * e
        x = left(common + e)
        y = right(mean + w)
        if labels:
            table = {}
            for place, column in enumerate(z.T):
                table[f"z{place}"] = column
            for place, column in enumerate(category.T):
                table[f"label{place}"] = column
            return x, y, table
        if columns:
            return x, y, z
        return x, y

    information = math.log1p(effect**2) / 2
    if left is not identity or right is not identity:
        information = math.nan
    return IndependenceSetting(columns + labels, rows, information, sample)


def circle(rows: int, noise: float) -> IndependenceSetting:
    """Coordinates of points of a circle, or of two independent circles, plus noise."""

    def sample(n, g, dependent):
        angle_x, angle_y = g.uniform(0, 2 * np.pi, (2, n))
        if dependent:
            angle_y = angle_x
        e, w = noise * g.normal(size=(2, n))
        return np.cos(angle_x) + e, np.sin(angle_y) + w

    return IndependenceSetting(0, rows, math.nan, sample)


SETTINGS: dict[str, IndependenceSetting] = {
    "linear-0": common_cause(0, 100, 0.35),
    "circle-0": circle(200, 0.3),
    "number-and-label-0": common_cause(0, 200, 0.45, right=thirds),
    "linear-1-of-100": common_cause(1, 100, 0.5),
    "sine-1": common_cause(1, 200, 0.4, condition=sines),
    "labels-1": common_cause(1, 200, 0.8, left=thirds, right=halves),
    "mixed-condition-2": common_cause(1, 200, 0.4, labels=1),
    "linear-3": common_cause(3, 2000, 0.15),
    "linear-5": common_cause(5, 200, 0.4),
    "one-of-10": common_cause(10, 200, 0.4, condition=first),
    "linear-10": common_cause(10, 300, 0.35),
}


def setting(name: str) -> IndependenceSetting:
    """The setting of a name. ValueError for an unknown one."""
    return SETTINGS[one_of("setting", name, SETTINGS)]
