"""Bias of a nearest-neighbour estimate on simulated data sets like the user's, whose information is known.

Rows are drawn from a distribution fitted to the sample (`laws`) and take the user's own values in the order of the
draws. Their bias is relevant if the estimate on them equals that on the data.
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
    """Results on `count` simulated data sets, nats; `law` is the fitted distribution in words, `level` the mean
    estimate.
    """

    truth: float
    truth_error: float
    level: float
    bias: float
    bias_error: float
    count: int
    law: str


def twins(variables: Sequence[Variable], k: int, generator: np.random.Generator) -> Twins:
    """The bias of the kNN estimate on data like the variables (as measured). ValueError if no distribution can be
    fitted.
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
    bias_error = float(np.std(biases, ddof=1) / np.sqrt(_TWINS))
    truth_error = float(local.std() / np.sqrt(draws))
    return Twins(
        float(local.mean()), truth_error, float(np.mean(levels)), float(np.mean(biases)), bias_error, _TWINS, law.name
    )


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
