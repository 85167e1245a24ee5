"""A test of (conditional) independence of two variables, with an information estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
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
from infoscope.estimators.independence.columns import (
    MAX_CATEGORIES_PER_ROW,
    smooth_columns,
)
from infoscope.estimators.independence.functions import (
    CATEGORY,
    MAX_DEGREE,
    NUMBER,
    Groups,
    Smooth,
    Values,
    independent_columns,
    smooth,
)
from infoscope.estimators.reading.sentences import NOT_DECIDED_CODE
from infoscope.estimators.result import Estimate
from infoscope.estimators.serial import warn_of_series
from infoscope.estimators.variables import Variable
from infoscope.notebook import InNotebook
from infoscope.notes import Note

LEVEL = (
    0.05  # a dependence given z with a p-value up to this is tested again, with trees
)
NOT_DECIDED = Note(
    "Not decided: x and y depend on the conditions in a form that is only partly "
    "predicted, which could be all of "
    "their dependence.",
    NOT_DECIDED_CODE,
    "z",
)
# of x or y, also at most a quarter of the rows; with more, columns are tested one by
# one
MAX_FUNCTIONS = 200


@dataclass(frozen=True, repr=False)
class IndependenceTest(InNotebook):
    """Result of a test of independence.

    Parameters
    ----------
    p_value : float
        p-value of independence; nan if the test is not decided.
    observed : Estimate
        Information, nats, of normal variables with the correlations of the residuals of
        x and y, at most the entropy of categories. The interval covers the sampling
        error.
    notes : tuple of Note
        The reason why p_value is nan (code "not decided").
    """

    p_value: float
    observed: Estimate
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        verdict = " ".join(self.notes) or f"p = {self.p_value:.2g};"
        return f"{verdict} {self.observed!r}"

    __repr__ = __str__


@aligns("x", "y", "z")
def independence_test(
    x: Any, y: Any, z: Any = None, groups: ArrayLike | None = None
) -> IndependenceTest:
    """Test whether x and y are independent, or independent given z.

    Without z, sums of squared correlations of smooth functions of the ranks are
    compared with their permutation distribution (`association`). With z, the residuals
    of x and y are compared, after predictions by functions of z, and by trees if trees
    lower the dependence (`beyond`; Shah & Peters 2020). The test is not decided if the
    same fall a second time would leave no dependence. Few rows and rare values have
    exact p-values. Warns RowsInSequence if the rows resemble a series.

    Parameters
    ----------
    x, y, z : array_like [n] or [n, d]
        Typed by column (`estimators.column_types`); whole numbers are ordered. A
        constant z is ignored.
    groups : array_like [n], optional
        Rows with the same label may depend on one another; groups are independent.

    Returns
    -------
    IndependenceTest

    Raises
    ------
    InfoscopeError
        As `as_variables`; a category of nearly every row; fewer than 4 rows; fewer rows
        than functions of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40.0)
    >>> independence_test(x, (x - 20) ** 2).p_value < 0.001
    True
    """
    values = {"x": x, "y": y}
    if z is not None:
        values["z"] = z
    columns = {name: smooth_columns(name, value) for name, value in values.items()}
    conditions = columns.get("z", [])
    if not conditions:
        values.pop("z", None)
    variables, codes = as_variables(groups, **values)
    variable_x, variable_y = variables["x"], variables["y"]
    n = variable_x.n
    if n < MIN_ROWS:
        raise TooFew(f"x and y must have at least {MIN_ROWS} rows, got {n}.")
    for name in ("x", "y"):
        if not columns[name]:
            raise NoVariation(
                f"{name} must have a column of numbers or of repeated categories, got "
                "none."
            )
    if codes is None:
        warn_of_series(variable_x, variable_y)
    smooth_x, smooth_y = joined(columns["x"]), joined(columns["y"])
    functions = smooth_x.scores.shape[1] + smooth_y.scores.shape[1]
    if functions >= n:
        raise TooFew(
            f"x and y must have fewer functions than rows, got {functions:,} of their "
            f"columns, up to {MAX_DEGREE} of "
            f"each, and {n:,} rows: test fewer columns at a time, or rank them with "
            "screen."
        )
    if conditions:
        test = beyond(smooth_x, smooth_y, conditions, LEVEL, codes)
        p, information = test.p, test.information
    else:
        p = p_value_of_columns(columns["x"], columns["y"], codes)
        information = information_of_residuals(
            *residuals([smooth_x, smooth_y], []), groups=codes
        )
    labels = []
    for variable in (variable_x, variable_y):
        if variable.codes is not None and not variable.dim:
            labels.append(variable.codes)
    information = at_most_entropy(information, labels, codes)
    notes = (NOT_DECIDED,) if conditions and math.isnan(p) else ()
    return IndependenceTest(p, information, notes)


def p_value_of(x: Variable, y: Variable, groups: Groups) -> float:
    """The p-value of `independence_test` for checked variables.

    nan for fewer than 4 rows, or for categories that hardly repeat.
    """
    columns_x, columns_y = _functions(x), _functions(y)
    if x.n < MIN_ROWS or not columns_x or not columns_y:
        return math.nan
    return p_value_of_columns(columns_x, columns_y, groups)


def conditional_test(
    x: Variable, y: Variable, given: Sequence[Variable], groups: Groups
) -> Beyond | None:
    """The test of `independence_test` given checked conditions.

    None if there are fewer rows than functions.
    """
    columns_x = _functions(x)
    columns_y = _functions(y)
    conditions = []
    for variable in given:
        conditions += _functions(variable)
    count = sum(column.scores.shape[1] for column in columns_x + columns_y)
    if not columns_x or not columns_y or not conditions or count >= x.n:
        return None
    return beyond(joined(columns_x), joined(columns_y), conditions, LEVEL, groups)


def _functions(variable: Variable) -> list[Smooth]:
    """Functions of the columns of a variable, without categories that hardly repeat."""
    columns = [smooth(column, NUMBER) for column in variable.continuous.T]
    max_categories = MAX_CATEGORIES_PER_ROW * variable.n
    if variable.codes is not None and variable.categories <= max_categories:
        columns.append(smooth(variable.codes, CATEGORY))
    return columns


def p_value_of_columns(
    x: Sequence[Smooth], y: Sequence[Smooth], groups: Groups
) -> float:
    """The p-value of independence of x and y.

    For many columns, Simes' (1986) p-value over all pairs of columns.
    """
    max_functions = min(MAX_FUNCTIONS, x[0].n // 4)
    functions_x = sum(column.width for column in x)
    functions_y = sum(column.width for column in y)
    if max(functions_x, functions_y) <= max_functions:
        x = [joined(x)]
        y = [joined(y)]
    p = independence(x, y, groups).p
    return float(false_discovery_control(p.ravel()).min())


def joined(columns: Sequence[Smooth]) -> Smooth:
    """The functions of several columns as one variable.

    Each resolution has the functions of every column at this resolution.
    """
    if len(columns) == 1:
        return columns[0]
    starts = [0] * len(columns)
    blocks: list[Values] = []
    counts = []
    for ends in zip(*(column.resolutions for column in columns)):
        for column, start, end in zip(columns, starts, ends):
            blocks.append(column.functions[:, start:end])
        counts.append(sum(ends))
        starts = ends
    functions = np.hstack(blocks)
    is_new = independent_columns(functions)
    resolutions = tuple(int(is_new[:count].sum()) for count in counts)
    degrees = np.concatenate([column.score_degrees for column in columns])
    order = np.argsort(degrees, kind="stable")
    scores = np.hstack([column.scores for column in columns])[:, order]
    directions, _ = np.linalg.qr(functions[:, is_new])
    return Smooth(directions, resolutions, scores, degrees[order])
