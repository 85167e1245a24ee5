"""V-information of a mixture of families, row by row, and its extrapolation in the number of training rows.

The loss from finite training decreases as c / n, at slowest as c / sqrt(n) (linear families; Bartlett & Mendelson
2002): the limit is the estimate plus 1 or 2.4 times its gain over fits to half of the rows. The interval of a `Term` is
the hull of the intervals of the estimate and of the larger extrapolation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from infoscope.estimators.families.protocol import Outcome, fit_each
from infoscope.estimators.families.stacked import Stacked, maximum_likelihood_weights
from infoscope.estimators.result import Estimate, mean_of
from infoscope.metrics.v_information.predictions import FLOOR, Predictions, Split, fit_nulls, measured

GAINS = 1.0 / (np.sqrt(2.0) - 1.0)  # remaining gain over that of the last doubling of rows, for a loss c / sqrt(n)


@dataclass(frozen=True, eq=False)
class Term:
    """V-information, nats, with Estimate's arithmetic: `found` from all training rows, `further` extrapolated."""

    found: Estimate
    further: Estimate

    def __add__(self, other: Term) -> Term:
        return Term(self.found + other.found, self.further + other.further)

    def __rmul__(self, factor: float) -> Term:
        return Term(factor * self.found, factor * self.further)

    @property
    def estimate(self) -> Estimate:
        """`found` with the hull of both intervals."""
        ends = self.found.low, self.further.low, self.found.high, self.further.high
        return replace(self.found, interval=(min(ends), max(ends)))


@dataclass(frozen=True, eq=False)
class Local:
    """Local values [n], nats, from fits to all training rows, and to half of them."""

    found: NDArray[np.float64]
    half: NDArray[np.float64]

    def term(self, groups: NDArray[np.int64], method: str = "") -> Term:
        """The means, with errors robust to groups (codes [n])."""
        further = self.found + GAINS * (self.found - self.half)
        return Term(mean_of(self.found, groups, method=method), mean_of(further, groups, method=method))


def with_ignorance(known: Mapping[frozenset[str], Local], folds: NDArray[np.int64]) -> dict[frozenset[str], Local]:
    """The same sets of blocks, each mixed with its subsets and no input (optional ignorance, Xu et al. 2020, definition
    1).

    Weights maximise the likelihood on the rows of other folds [n], at a cost of about half a nat each (Akaike 1974).
    """

    def mixed(logs: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        stack = np.column_stack([np.zeros(len(folds)), *logs])
        found = np.empty(len(folds))
        for fold in range(int(folds.max()) + 1):
            held = folds == fold
            found[held] = logsumexp(stack[held] + maximum_likelihood_weights(stack[~held]), axis=1)
        return found

    found = {}
    for names, own in known.items():
        parts = [one for some, one in known.items() if some <= names]
        cost = len(parts) / (2 * len(folds))
        found[names] = own  # constant columns: exactly 0
        if own.found.any():
            found[names] = Local(mixed([one.found for one in parts]), mixed([one.half for one in parts]) - cost)
    return found


def predictions(
    family: Stacked,
    x: NDArray[np.float64],
    outcome: Outcome,
    splits: Sequence[Split],
    groups: NDArray[np.int64],
    generator: np.random.Generator,
) -> tuple[Predictions, ...]:
    """Held-out predictions of fits, of fits to half of the training rows, and both for the `first` part."""
    trainings, tests = zip(*splits)
    nulls = fit_nulls(family, outcome, trainings, groups, generator)
    fits = fit_each(family, x, outcome.values, trainings, outcome.classes, groups, generator)
    sets = [fits] if family.first is None else [fits, [member.first for member in fits]]
    return tuple(
        measured(x, outcome, tests, some, nulls, FLOOR)
        for members in sets
        for some in (members, [member.half for member in members])
    )


def thinned(
    splits: Sequence[Split], groups: NDArray[np.int64], most: int, generator: np.random.Generator
) -> list[Split]:
    """The same splits, with training sets of random groups, about `most` rows at most."""
    found = []
    for training, test in splits:
        order = generator.permutation(np.unique(groups[training]))
        kept = order[: max(2, round(len(order) * most / training.sum()))]
        found.append((training & np.isin(groups, kept), test))
    return found
