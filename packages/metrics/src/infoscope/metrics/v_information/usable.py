"""Usable information of a mixture of families, row by row, and its extrapolation in the number of training rows.

The loss of finite training is c / n, or c / sqrt(n) at slowest (linear families; Bartlett & Mendelson 2002): the
estimate plus once or 2.4 times its gain over members of half the rows. The interval of a `Term` is the hull of the
estimate's and of the farther end's.
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

GAINS = 1.0 / (np.sqrt(2.0) - 1.0)  # of the last doubling of rows, still to come where sqrt(2) less is missing then


@dataclass(frozen=True, eq=False)
class Term:
    """Usable information, nats, with Estimate's arithmetic: `found` by all training rows, `further` extrapolated."""

    found: Estimate
    further: Estimate

    def __add__(self, other: Term) -> Term:
        return Term(self.found + other.found, self.further + other.further)

    def __rmul__(self, factor: float) -> Term:
        return Term(factor * self.found, factor * self.further)

    @property
    def estimate(self) -> Estimate:
        """The value of `found`; its interval reaches from the least to the largest end of both."""
        ends = self.found.low, self.further.low, self.found.high, self.further.high
        return replace(self.found, interval=(min(ends), max(ends)))


@dataclass(frozen=True, eq=False)
class Local:
    """Local values [n], nats: of members of all training rows, and of those of half of them."""

    found: NDArray[np.float64]
    half: NDArray[np.float64]

    def term(self, groups: NDArray[np.int64], method: str = "") -> Term:
        """Their means, with errors between groups (codes [n])."""
        further = self.found + GAINS * (self.found - self.half)
        return Term(mean_of(self.found, groups, method=method), mean_of(further, groups, method=method))


def with_ignorance(known: Mapping[frozenset[str], Local], folds: NDArray[np.int64]) -> dict[frozenset[str], Local]:
    """The same sets of blocks, each mixed with its subsets and no input (optional ignorance, Xu et al. 2020, definition
    1).

    Weights of a fold [n] are the likeliest on other rows, and cost about half a nat each (Akaike 1974).
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
        found[names] = own  # of constant columns: nothing, exactly
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
    """Held-out predictions of members, of members with half of the training rows, and both of the `first` part."""
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
    """The same splits, with random groups of at most about `most` rows to be fitted to."""
    found = []
    for training, test in splits:
        order = generator.permutation(np.unique(groups[training]))
        kept = order[: max(2, round(len(order) * most / training.sum()))]
        found.append((training & np.isin(groups, kept), test))
    return found
