"""Terms of a sample with their errors, whatever the definition."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.resampling import leave_one_out
from infoscope.estimators.result import NATS, Estimate, root_sum_squares
from infoscope.estimators.variables import Continuous, Variable, as_variable, same_length
from infoscope.metrics.pid.terms import Decomposition


def as_rows(**sides: ArrayLike | Variable) -> list[Variable]:
    """Checked numbers, all with as many rows."""
    found = {
        name: side if isinstance(side, Variable) else as_variable(name, Continuous(side))
        for name, side in sides.items()
    }
    same_length(**found)
    for name, side in found.items():
        if side.codes is not None:
            raise ValueError(f"{name} must be numbers, got categories, which have no covariance.")
    return list(found.values())


def jackknifed(
    decompose: Callable[[np.ndarray], Decomposition],
    n: int,
    groups: ArrayLike | None,
    blocks: int,
    generator: np.random.Generator | None,
    method: str,
    settings: str = "",
    notes: tuple[str, ...] = (),
) -> Decomposition:
    """Estimates of the terms that `decompose` gives for rows [m]: of all n, less the bias by the delete-block jackknife
    (Quenouille 1956), with its error (Shao & Wu 1989). A bias that is not in proportion to 1 / n stays.
    """
    plan = leave_one_out(n, blocks, generator_or_default(generator), groups)
    whole = decompose(np.arange(n))
    without = np.array([decompose(np.flatnonzero(kept)) for kept in plan.weights.T])
    mean = without.mean(axis=0)
    values = plan.count * np.array(whole) - (plan.count - 1) * mean
    influence = sqrt((plan.count - 1) / plan.count) * (mean - without)
    terms = [
        Estimate(
            float(value), root_sum_squares(of), NATS, n, method, notes, settings, plan.units, plan.count - 1,
            influence=of,
        )
        for value, of in zip(values[:4], influence.T)
    ]  # fmt: skip
    return Decomposition(*terms, plan.count * whole.gap + (plan.count - 1) * float(mean[4]))
