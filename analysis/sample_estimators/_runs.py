"""What the analyses of estimators from samples share: the order of cases, and shares of data sets with their error."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from infoscope.metrics.shares import clopper_pearson


def in_order_of(column: pd.Series) -> Callable[[pd.Series], pd.Series]:
    """A sort key that keeps the cases in the order in which they were declared."""
    place = {name: number for number, name in enumerate(dict.fromkeys(column))}
    return lambda values: values.map(place) if values.name == column.name else values


def share(value: float, count: int) -> str:
    """A share of `count` data sets with its Clopper-Pearson interval, in per cent."""
    low, high = clopper_pearson(round(value * count), count)
    return f"{100 * value:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def weighted_mean(values: pd.Series | None, weights: pd.Series) -> float:
    """The mean of what is known, by weights; nan where nothing is."""
    if values is None:
        return math.nan
    known = values.notna() & (weights > 0)
    return float(np.average(values[known], weights=weights[known])) if known.any() else math.nan


def bias_error(spread: float, sets: float, truth_error: float) -> float:
    """Standard error of a bias: over data sets, and that of a truth by Monte Carlo."""
    return math.hypot(spread / math.sqrt(sets), truth_error)
