"""Terms of a sample with their errors, whatever the definition."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.errors import WrongType
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.result import NATS, Estimate, quantile
from infoscope.estimators.uncertainty.subsampling import leave_one_out
from infoscope.estimators.variables import Angle, Continuous, Discrete, Variable, as_variables
from infoscope.metrics.pid.terms import ROUNDING, Decomposition


def as_rows(groups: ArrayLike | None = None, /, **sides: ArrayLike | Variable) -> tuple[list[Variable], Any]:
    """Checked numbers, all with as many rows, and the codes of their groups [n] or None; untyped integers, too."""
    found, codes = as_variables(
        groups, **{name: side if _is_typed(side) else Continuous(side) for name, side in sides.items()}
    )
    for name, side in found.items():
        if side.codes is not None:
            raise WrongType(f"{name} must be numbers, got categories, which have no covariance.")
    return list(found.values()), codes


def _is_typed(side: Any) -> bool:
    """Whether a variable, or a block of a list of them, is wrapped."""
    blocks = side if isinstance(side, list | tuple) else (side,)
    return any(isinstance(block, Variable | Continuous | Discrete | Angle) for block in blocks)


def jackknifed(
    decompose: Callable[[np.ndarray], tuple[Decomposition, NDArray[np.float64]]],
    n: int,
    groups: ArrayLike | None,
    blocks: int,
    generator: np.random.Generator | None,
    method: str,
    settings: str = "",
) -> Decomposition:
    """Estimates of the terms that `decompose` gives for rows [m], by the delete-block jackknife (Quenouille 1956; Shao
    & Wu 1989); bias not proportional to 1 / n stays. Intervals include every plausible branch [B, 4] at kinks.
    """
    plan = leave_one_out(n, blocks, generator_or_default(generator), groups)

    def stacked(rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], float]:
        found, branches = decompose(rows)
        return np.vstack([found[:4], branches]), found.gap

    whole, gap = stacked(np.arange(n))
    without, gaps = zip(*(stacked(np.flatnonzero(kept)) for kept in plan.weights.T))
    mean = np.mean(without, axis=0)
    values = plan.count * whole - (plan.count - 1) * mean
    influence = sqrt((plan.count - 1) / plan.count) * (mean - np.array(without))
    errors, reach = np.sqrt(np.sum(influence**2, axis=0)), quantile(plan.count - 1)
    own = np.flatnonzero(np.abs(whole - whole[0]).max(axis=1) <= gap + ROUNDING)[-1]
    apart = np.sqrt(np.sum((influence[:, :, 0] - influence[:, own, None, 0]) ** 2, axis=0))
    possible = np.abs(values[:, 0] - values[own, 0]) <= reach * apart + gap + ROUNDING
    possible[0] = True
    ends = zip((values - reach * errors)[possible].min(axis=0), (values + reach * errors)[possible].max(axis=0))
    terms = [
        Estimate(
            float(value), float(error), NATS, n, method, (), settings, plan.units, plan.count - 1,
            interval=(float(low), float(high)), influence=of,
        )
        for value, error, (low, high), of in zip(values[0], errors[0], ends, influence[:, 0].T)
    ]  # fmt: skip
    return Decomposition(*terms, plan.count * gap + (plan.count - 1) * float(np.mean(gaps)))
