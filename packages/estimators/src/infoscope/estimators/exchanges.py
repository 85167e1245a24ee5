"""Tests by permutation: their result, what may be exchanged, and the p-value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from infoscope.errors import NoVariation
from infoscope.estimators.classifier.inputs import by_first_appearance, combined
from infoscope.estimators.result import Estimate


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """The result of a test for any information.

    observed   the estimate with its interval, nats; or a kernel statistic, without unit or error
    null       its values [permutations] under permutation; empty where a distribution is used
    p_value    (1 + number of null values >= the observed one) / (1 + permutations), or of that distribution
    exchanged  what was permuted, in words; or the distribution
    k_perm     neighbours in z among which x was exchanged; None elsewhere
    """

    observed: Estimate
    null: np.ndarray
    p_value: float
    exchanged: str
    k_perm: int | None = None

    @property
    def p_error(self) -> float:
        """Monte Carlo standard error of the p-value: what other permutations would change; 0 where there are none."""
        return float(np.sqrt(self.p_value * (1 - self.p_value) / len(self.null))) if len(self.null) else 0.0

    def __str__(self) -> str:
        drawn = f"{len(self.null)} permutations of {self.exchanged}" if len(self.null) else self.exchanged
        return f"{self.observed}; p = {self.p_value:.3g} ± {self.p_error:.2g} ({drawn})"


def p_value(observed: float, null: np.ndarray) -> float:
    """(1 + how many null values are at least the observed one, up to rounding) / (1 + their number)."""
    return (1 + int((null >= observed - 1e-12 * max(1.0, abs(observed))).sum())) / (1 + len(null))


def exchange(
    target: np.ndarray, strata: np.ndarray, groups: np.ndarray | None
) -> tuple[Callable[[np.random.Generator], np.ndarray], str]:
    """A function that draws rows [n] whose values replace a target's (codes [n]), and what it exchanges, in words."""
    if groups is None:
        return permutation_within(target, strata), "rows"
    if not constant_within(target, groups):
        return permutation_within(target, combined([groups, strata])), "rows within a group"
    _, first = np.unique(groups, return_index=True)
    by_group = np.split(strata[np.argsort(groups, kind="stable")], np.cumsum(np.bincount(groups))[:-1])
    held = np.array([shares(values) for values in by_group])
    of_groups = permutation_within(target[first], by_first_appearance(held))
    return (lambda generator: first[of_groups(generator)][groups]), "whole groups"


def constant_within(values: np.ndarray, groups: np.ndarray) -> bool:
    """Whether codes [n] are the same in all rows of each group [n]."""
    return len(np.unique(groups * (int(values.max()) + 1) + values)) == len(np.unique(groups))


def shares(values: np.ndarray) -> str:
    """A name for the values that occur and the shares they have."""
    distinct, counts = np.unique(values, return_counts=True)
    return str(np.stack([distinct, counts // np.gcd.reduce(counts)]).tolist())


def permutation_within(values: np.ndarray, strata: np.ndarray) -> Callable[[np.random.Generator], np.ndarray]:
    """A function that draws a permutation of rows within strata [n]. ValueError if it would never change values [n]."""
    by_stratum = np.argsort(strata, kind="stable")
    same = np.diff(strata[by_stratum]) == 0
    if not (same & (np.diff(values[by_stratum]) != 0)).any():
        raise NoVariation(
            "the permuted side must vary among rows of equal condition (and, where it varies within groups, of the "
            "same group); no exchange would change anything."
        )

    def permute(generator: np.random.Generator) -> np.ndarray:
        drawn = np.empty(len(values), dtype=np.int64)
        drawn[by_stratum] = np.lexsort((generator.random(len(values)), strata))
        return drawn

    return permute
