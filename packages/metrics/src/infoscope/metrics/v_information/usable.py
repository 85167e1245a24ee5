"""V-information of a mixture of families, row by row, and its extrapolation in the
number of training rows.

The loss from finite training decreases as c / n, at slowest as c / sqrt(n) (linear
families; Bartlett & Mendelson 2002): the limit is the estimate plus 1 or 2.4 times its
gain over fits to half of the rows. The interval of an `Extrapolated` is the hull of the
intervals of the estimate and of the larger extrapolation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from infoscope.estimators.families.protocol import Outcome, fit_each
from infoscope.estimators.families.stacked import Stacked, maximum_likelihood_weights
from infoscope.estimators.result import Estimate, mean_of
from infoscope.metrics.v_information.predictions import (
    FLOOR,
    Predictions,
    Split,
    fit_nulls,
    measured,
)

Values = NDArray[np.float64]
Codes = NDArray[np.int64]

# remaining gain over that of the last doubling of rows, for a loss c / sqrt(n)
GAINS = 1.0 / (np.sqrt(2.0) - 1.0)


@dataclass(frozen=True, eq=False)
class Extrapolated:
    """V-information, nats, with Estimate's arithmetic: `measured` from all training
    rows, `further` extrapolated.
    """

    measured: Estimate
    further: Estimate

    def __add__(self, other: Extrapolated) -> Extrapolated:
        return Extrapolated(
            self.measured + other.measured, self.further + other.further
        )

    def __rmul__(self, factor: float) -> Extrapolated:
        return Extrapolated(self.measured * factor, self.further * factor)

    @property
    def estimate(self) -> Estimate:
        """`measured` with the hull of both intervals."""
        low = min(self.measured.low, self.further.low)
        high = max(self.measured.high, self.further.high)
        return replace(self.measured, interval=(low, high))


@dataclass(frozen=True, eq=False)
class Local:
    """Local values [n], nats, from fits to all training rows, and to half of them."""

    full: Values
    half: Values

    def mean(self, groups: Codes, method: str = "") -> Extrapolated:
        """The means, with errors robust to groups (codes [n])."""
        further = self.full + GAINS * (self.full - self.half)
        measured = mean_of(self.full, groups, method=method)
        extrapolated = mean_of(further, groups, method=method)
        return Extrapolated(measured, extrapolated)


def with_ignorance(
    local: Mapping[frozenset[str], Local], folds: Codes
) -> dict[frozenset[str], Local]:
    """The same sets of blocks, each mixed with its subsets and no input (optional
    ignorance, Xu et al. 2020, definition 1).

    Weights maximise the likelihood on the rows of other folds [n], at a cost of about
    half a nat each (Akaike 1974).
    """
    mixtures = {}
    for names, values in local.items():
        mixtures[names] = values  # constant columns: exactly 0
        if not values.full.any():
            continue
        subsets = []
        for subset, values_of_subset in local.items():
            if subset <= names:
                subsets.append(values_of_subset)
        cost = len(subsets) / (2 * len(folds))
        full = _mixed([subset.full for subset in subsets], folds)
        half = _mixed([subset.half for subset in subsets], folds)
        mixtures[names] = Local(full, half - cost)
    return mixtures


def _mixed(log_ratios: list[Values], folds: Codes) -> Values:
    """Local values [n] of the mixture of predictions with these local values [n], and
    of the one without input.
    """
    stack = np.column_stack([np.zeros(len(folds)), *log_ratios])
    mixed = np.empty(len(folds))
    for fold in range(int(folds.max()) + 1):
        held_out = folds == fold
        log_weights = maximum_likelihood_weights(stack[~held_out])
        log_terms = stack[held_out] + log_weights
        mixed[held_out] = logsumexp(log_terms, axis=1)
    return mixed


def predictions(
    family: Stacked,
    x: Values,
    outcome: Outcome,
    splits: Sequence[Split],
    groups: Codes,
    generator: np.random.Generator,
) -> tuple[Predictions, ...]:
    """Held-out predictions of fits, of fits to half of the training rows, and both for
    the `first` part.
    """
    trainings, tests = zip(*splits)
    nulls = fit_nulls(family, outcome, trainings, groups, generator)
    fits = fit_each(
        family, x, outcome.values, trainings, outcome.classes, groups, generator
    )
    sets: list[Any] = [fits]  # of WeightedMixture
    if family.first is not None:
        sets.append([fit.first for fit in sets[0]])
    held_out = []
    for full in sets:
        half = [fit.half for fit in full]
        held_out.append(measured(x, outcome, tests, full, nulls, FLOOR))
        held_out.append(measured(x, outcome, tests, half, nulls, FLOOR))
    return tuple(held_out)


def thinned(
    splits: Sequence[Split], groups: Codes, most: int, generator: np.random.Generator
) -> list[Split]:
    """The same splits, with training sets of random groups, about `most` rows at most."""
    thinner = []
    for training, test in splits:
        order = generator.permutation(np.unique(groups[training]))
        count = max(2, round(len(order) * most / training.sum()))
        chosen = np.isin(groups, order[:count])
        thinner.append((training & chosen, test))
    return thinner
