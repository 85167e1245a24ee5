"""A test of independence of two variables, given a third, and how much they share beyond it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.errors import NoVariation, TooFew
from infoscope.estimators.independence.association import Smooth, independence, independent_columns
from infoscope.estimators.independence.beyond import beyond, information_of_residuals, residuals
from infoscope.estimators.independence.columns import as_column
from infoscope.estimators.result import Estimate
from infoscope.estimators.serial import warn_of_series
from infoscope.estimators.variables import aligns, as_variables, single_columns
from infoscope.notebook import InNotebook

FEWEST = 4  # rows, of which the variance over permutations is known
LEVEL = 0.05  # of a dependence beyond z, at which trees are asked, too


@dataclass(frozen=True, repr=False)
class IndependenceTest(InNotebook):
    """p_value of independence, and `observed`: the information of what is left of x and y, as of normal variables with
    its correlations, with an interval for the error of sampling rows (nats).
    """

    p_value: float
    observed: Estimate

    def __str__(self) -> str:
        return f"p = {self.p_value:.2g}; {self.observed!r}"

    __repr__ = __str__


@aligns("x", "y", "z")
def independence_test(x: Any, y: Any, z: Any = None, groups: ArrayLike | None = None) -> IndependenceTest:
    """Tests whether x and y are independent, or independent given z.

    x, y, z  [n] or [n, d], typed by column (`estimators.variables`; whole numbers have an order here); a z that does
             not vary says nothing
    groups   [n] of rows that depend on one another; groups are independent

    Without z sums of squared correlations of smooth functions of ranks are compared with their law over permutations
    (`association`). With z what is left of both beyond functions of it, and trees where a dependence is left
    (`beyond`; Shah & Peters 2020). RowsInSequence is warned of where rows look like a series. InfoscopeError: as
    `as_variables`, a category of nearly every row, fewer than 4 rows.
    """
    conditions = [] if z is None else smooth_columns("z", z)
    variables, codes = as_variables(groups, x=x, y=y, **({"z": z} if conditions else {}))
    if variables["x"].n < FEWEST:
        raise TooFew(f"x and y must have at least {FEWEST} rows, got {variables['x'].n}.")
    if codes is None:
        warn_of_series(variables["x"], variables["y"])
    sides = {name: smooth_columns(name, value) for name, value in (("x", x), ("y", y))}
    for name, columns in sides.items():
        if not columns:
            raise NoVariation(f"{name} must have a column of values that repeat or of numbers, got none.")
    first, second = map(joined, sides.values())
    if conditions:
        found = beyond(first, second, conditions, LEVEL, codes)
        return IndependenceTest(found.p, found.information)
    p = float(independence([first], [second], codes).p[0, 0])
    return IndependenceTest(p, information_of_residuals(*residuals([first, second], []), codes))


def smooth_columns(name: str, value: Any) -> list[Smooth]:
    """Functions of every column that varies; of a category of nearly every row there are none."""
    found = []
    for one in single_columns(name, value):
        with contextlib.suppress(NoVariation):
            column = as_column(name, one)
            found.append(column.smooth(column.known))
    return found


def joined(columns: Sequence[Smooth]) -> Smooth:
    """The functions of several columns as those of one variable: at each resolution those of every column at it."""
    if len(columns) == 1:
        return columns[0]
    order: list[NDArray[np.float64]] = []
    resolutions, before = [], [0] * len(columns)
    for place in range(len(columns[0].resolutions)):
        for number, column in enumerate(columns):
            order.append(column.functions[:, before[number] : column.resolutions[place]])
            before[number] = column.resolutions[place]
        resolutions.append(sum(part.shape[1] for part in order))
    functions = np.hstack(order)
    kept = independent_columns(functions)
    degrees = np.concatenate([column.degrees for column in columns])
    smoothest = np.argsort(degrees, kind="stable")
    scores = np.hstack([column.scores for column in columns])[:, smoothest]
    counts = tuple(int(kept[:count].sum()) for count in resolutions)
    return Smooth(np.linalg.qr(functions[:, kept])[0], counts, scores, degrees[smoothest])
