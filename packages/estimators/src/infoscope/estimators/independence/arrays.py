"""A test of independence of two variables, also given a third, with an estimate of their information."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

from infoscope.errors import NoVariation, TooFew
from infoscope.estimators.alignment import aligns
from infoscope.estimators.column_types import as_variables
from infoscope.estimators.independence.association import MIN_ROWS, independence
from infoscope.estimators.independence.beyond import (
    Beyond,
    at_most_entropy,
    beyond,
    information_of_residuals,
    residuals,
)
from infoscope.estimators.independence.columns import MAX_CATEGORIES_PER_ROW, smooth_columns
from infoscope.estimators.independence.functions import (
    CATEGORY,
    MAX_DEGREE,
    NUMBER,
    Smooth,
    independent_columns,
    smooth,
)
from infoscope.estimators.reading.sentences import NOT_DECIDED_CODE
from infoscope.estimators.result import Estimate
from infoscope.estimators.serial import warn_of_series
from infoscope.estimators.variables import Variable
from infoscope.notebook import InNotebook
from infoscope.notes import Note

LEVEL = 0.05  # of a dependence given z, at which it is tested with trees as well
NOT_DECIDED = Note(
    "Not decided: x and y depend on the conditions in a form that is only partly predicted, which could be all of "
    "their dependence.",
    NOT_DECIDED_CODE,
    "z",
)
MAX_FUNCTIONS = 200  # of x or y, also at most a quarter of the rows; of more, columns are tested one by one


@dataclass(frozen=True, repr=False)
class IndependenceTest(InNotebook):
    """p_value of independence; observed: the information of normal variables with the correlations of the residuals of
    x and y, nats, at most the entropy of categories, with an interval for the sampling error.

    notes: why p_value is nan, with the code "not decided"
    """

    p_value: float
    observed: Estimate
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        verdict = " ".join(self.notes) or f"p = {self.p_value:.2g};"
        return f"{verdict} {self.observed!r}"

    __repr__ = __str__


@aligns("x", "y", "z")
def independence_test(x: Any, y: Any, z: Any = None, groups: ArrayLike | None = None) -> IndependenceTest:
    """Tests whether x and y are independent, or independent given z.

    x, y, z  [n] or [n, d], typed by column (`estimators.column_types`; whole numbers are ordered here); a constant z is
             ignored
    groups   [n] of rows that depend on one another; groups are independent

    Without z, sums of squared correlations of smooth functions of the ranks are compared with their permutation
    distribution (`association`). With z, the residuals of x and y are compared: what functions of z do not predict,
    nor trees where these lower the dependence (`beyond`; Shah & Peters 2020). If it would vanish when lowered once more
    by as much, the test is not decided: p_value is nan, and a note says why. Few rows and rare values have exact
    p-values. Warns RowsInSequence where rows look like a series. InfoscopeError: as `as_variables`, a category of
    nearly every row, fewer than 4 rows, fewer rows than functions of the columns.
    """
    variables = {"x": x, "y": y} | ({} if z is None else {"z": z})
    columns = {name: smooth_columns(name, value) for name, value in variables.items()}
    given = columns.get("z", [])
    variables, codes = as_variables(
        groups, **{name: value for name, value in variables.items() if name != "z" or given}
    )
    if variables["x"].n < MIN_ROWS:
        raise TooFew(f"x and y must have at least {MIN_ROWS} rows, got {variables['x'].n}.")
    if none := [name for name in ("x", "y") if not columns[name]]:
        raise NoVariation(f"{none[0]} must have a column of numbers or of repeated categories, got none.")
    if codes is None:
        warn_of_series(variables["x"], variables["y"])
    first, second = joined(columns["x"]), joined(columns["y"])
    functions = first.scores.shape[1] + second.scores.shape[1]
    if functions >= first.n:
        raise TooFew(
            f"x and y must have fewer functions than rows, got {functions:,} of their columns, up to {MAX_DEGREE} of "
            f"each, and {first.n:,} rows: test fewer columns at a time, or rank them with screen."
        )
    labels = [variable.codes for variable in (variables["x"], variables["y"]) if variable.kind == "discrete"]
    if given:
        found = beyond(first, second, given, LEVEL, codes)
        notes = (NOT_DECIDED,) if math.isnan(found.p) else ()
        return IndependenceTest(found.p, at_most_entropy(found.information, labels, codes), notes)
    p = p_value_of_columns(columns["x"], columns["y"], codes)
    information = information_of_residuals(*residuals([first, second], []), codes)
    return IndependenceTest(p, at_most_entropy(information, labels, codes))


def p_value_of(x: Variable, y: Variable, groups: NDArray[np.int64] | None) -> float:
    """The p-value of `independence_test` for checked variables; nan for fewer than 4 rows, or names of rows."""
    columns = [_functions(variable) for variable in (x, y)]
    if x.n < MIN_ROWS or not all(columns):
        return math.nan
    return p_value_of_columns(*columns, groups)


def conditional_test(
    x: Variable, y: Variable, given: Sequence[Variable], groups: NDArray[np.int64] | None
) -> Beyond | None:
    """The test of `independence_test` given checked conditions; None for fewer rows than functions."""
    sides = [_functions(variable) for variable in (x, y)]
    conditions = []
    for variable in given:
        conditions.extend(_functions(variable))
    if not (all(sides) and conditions):
        return None
    count = sum(column.scores.shape[1] for columns in sides for column in columns)
    if count >= x.n:
        return None
    first, second = map(joined, sides)
    return beyond(first, second, conditions, LEVEL, groups)


def _functions(variable: Variable) -> list[Smooth]:
    columns = [smooth(column, NUMBER) for column in variable.continuous.T]
    if variable.codes is not None and variable.categories <= MAX_CATEGORIES_PER_ROW * variable.n:
        columns.append(smooth(variable.codes, CATEGORY))
    return columns


def p_value_of_columns(x: Sequence[Smooth], y: Sequence[Smooth], groups: NDArray[np.int64] | None) -> float:
    """The p-value of x and y together; of many columns, that of Simes (1986) over all pairs of columns."""
    most = min(MAX_FUNCTIONS, x[0].n // 4)
    widths = [sum(column.functions.shape[1] for column in columns) for columns in (x, y)]
    if max(widths) <= most:
        x, y = [joined(x)], [joined(y)]
    p = independence(x, y, groups).p
    return float(false_discovery_control(p.ravel()).min())


def joined(columns: Sequence[Smooth]) -> Smooth:
    """The functions of several columns as one variable: at each resolution those of every column."""
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
    degrees = np.concatenate([column.score_degrees for column in columns])
    smoothest = np.argsort(degrees, kind="stable")
    scores = np.hstack([column.scores for column in columns])[:, smoothest]
    counts = tuple(int(kept[:count].sum()) for count in resolutions)
    return Smooth(np.linalg.qr(functions[:, kept])[0], counts, scores, degrees[smoothest])
