"""The bias of a nearest-neighbour estimate on data like the user's whose information is known.

A law is fitted to the sample (`laws`); rows are drawn from it, and every continuous column is replaced
by the user's own values in the order of the draws, so that its margins are the user's and its information is that of
the law. The estimate on such twins minus their truth is the bias to expect, if the twins are like the data: that
shows in whether the estimate on them is the estimate on the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from infoscope.errors import InvalidInput, TooFew
from infoscope.estimators import laws
from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.uncertainty._engine import Sample
from infoscope.estimators.variables import Variable, join

_TWINS = 3
_DRAWS = 20_000  # of the truth
_ROWS_PER_COLUMN = 10  # of a joint category: fewer say too little about a covariance
_TIED = 0.05  # share of repeated values of a column, beyond which a draw without ties is nothing like it


@dataclass(frozen=True)
class Twins:
    """The results on `count` twins, nats.

    truth, truth_error  mutual information of their law, and its Monte Carlo error
    level, level_error  mean estimate on them, and its standard error
    bias, bias_error    mean estimate minus the information of the same draws, and its standard error
    law                 what was fitted, in words
    """

    truth: float
    truth_error: float
    level: float
    level_error: float
    bias: float
    bias_error: float
    count: int
    law: str


def twins(variables: Sequence[Variable], k: int, generator: np.random.Generator) -> Twins:
    """The bias of the estimate of I(x; y), or I(x; y | z), with k neighbours on data like the variables.

    The variables are as they are measured: nothing is scaled any more. ValueError if no law can be fitted: too few
    rows for their columns, or continuous columns of repeated values.
    """
    _require_rows(variables)
    law = laws.fit(variables, generator)
    n = variables[0].n
    draws = max(_DRAWS, _TWINS * n)
    scores, codes = law.draw(draws, generator)
    local = laws.log_ratio(law, scores, codes)
    levels, biases = [], []
    for number in range(_TWINS):
        rows = slice(number * n, (number + 1) * n)
        estimate = _estimate(_as_data(variables, law.columns, scores[rows], codes[rows]), k)
        levels.append(estimate)
        biases.append(estimate - local[rows].mean())
    error = 1 / np.sqrt(_TWINS)
    return Twins(
        float(local.mean()), float(local.std() / np.sqrt(draws)), float(np.mean(levels)),
        float(np.std(levels, ddof=1) * error), float(np.mean(biases)), float(np.std(biases, ddof=1) * error), _TWINS,
        law.name,
    )  # fmt: skip


def _require_rows(variables: Sequence[Variable]) -> None:
    joint = join(*variables)
    typical = Sample(tuple(variables)).typical_rows
    if typical < _ROWS_PER_COLUMN * joint.dim:
        raise TooFew(
            f"rows of a category must be {_ROWS_PER_COLUMN} times as many as columns, got {typical:.0f}, {joint.dim}."
        )
    for column in joint.continuous.T:
        repeated = 1 - len(np.unique(column)) / len(column)
        if repeated > _TIED:
            raise InvalidInput(
                f"a continuous column must not repeat its values, got one that does in {repeated:.0%} of the rows."
            )


def _as_data(
    variables: Sequence[Variable], columns: NDArray, scores: NDArray[np.float64], codes: NDArray[np.intp]
) -> list[Variable]:
    """The draws with the user's own values in their order."""
    found = []
    for number, variable in enumerate(variables):
        ranks = scores[:, columns == number].argsort(axis=0).argsort(axis=0)
        values = np.take_along_axis(np.sort(variable.continuous, axis=0), ranks, axis=0)
        own = None if variable.codes is None else codes[:, number]
        found.append(replace(variable, continuous=values, codes=own))
    return found


def _estimate(variables: Sequence[Variable], k: int) -> float:
    measure = knn.mutual_information if len(variables) == 2 else knn.conditional_mutual_information
    return float(measure(*variables, k=k, standardise=False))
