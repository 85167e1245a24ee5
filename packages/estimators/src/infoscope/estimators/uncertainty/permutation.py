"""Permutation tests of mutual information, also given other variables, by nearest-neighbour estimates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma

from infoscope.checks import require_int
from infoscope.errors import NoVariation, OutOfRange, WrongLength
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.classifier.inputs import by_first_appearance, combined
from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.result import Estimate
from infoscope.estimators.serial import warn_of_series
from infoscope.estimators.uncertainty import _kernels as kernels
from infoscope.estimators.uncertainty._engine import Sample, list_length
from infoscope.estimators.uncertainty._kernels import sorted_lists
from infoscope.estimators.uncertainty._local import local_permutations, permuted_estimates
from infoscope.estimators.variables import Variable, row_codes
from infoscope.notebook import InNotebook


@dataclass(frozen=True, eq=False)
class PermutationTest(InNotebook):
    """The result of a permutation test of independence.

    observed   the estimate with its interval, nats
    null       its values [permutations] under permutation
    p_value    (1 + number of null values >= the observed one) / (1 + permutations)
    exchanged  what was permuted, in words
    k_perm     neighbours in z among which x was exchanged; None: not by neighbours
    """

    observed: Estimate
    null: np.ndarray
    p_value: float
    exchanged: str
    k_perm: int | None = None

    @property
    def p_error(self) -> float:
        """Monte Carlo standard error of the p-value."""
        return float(np.sqrt(self.p_value * (1 - self.p_value) / len(self.null)))

    def __str__(self) -> str:
        drawn = f"{len(self.null)} permutations of {self.exchanged}"
        return f"{self.observed}; p = {self.p_value:.3g} ± {self.p_error:.2g} ({drawn})"


def permutation_test(
    x: Any,
    y: Any,
    z: Any = None,
    k: int | None = None,
    permutations: int = 199,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
    k_perm: int = 5,
    reuse: bool = False,
) -> PermutationTest:
    """Tests I(x; y) = 0, or I(x; y | z) = 0, by permuting x or y at equal z, or x at near z where z has numbers.

    The test is exact for exchangeable rows. With groups [n], rows are exchanged within groups if both variables vary
    there, else whole groups. k None is a tenth of the rows (without numbers in z, of the rows of equal z, at most 50).

    With numbers in z this is the local permutation test of Runge 2018 (1709.01447): x comes from one of the `k_perm`
    nearest in z of equal categories and group, never used twice unless `reuse` (as published, less power). In ten
    columns of z it rejects true independence too often (`make table-independence`). Time is n^2 a permutation.

    Warns RowsInSequence where successive rows are similar in x and in y and no groups are given. ValueError: as
    `knn.mutual_information`; permutations < 1; k_perm < 2 or > n; nothing to exchange; whole groups of different sizes
    where the permuted variable is not discrete; groups within which x or y is constant where z has numbers.
    """
    sample, row_groups = Sample.of(x, y, z, groups=groups)
    generator = generator_or_default(generator)
    require_int("permutations", permutations, 1)
    local = z is not None and sample.variables[2].dim > 0
    if k is None:
        strata = 1 if z is None else sample.variables[2].categories
        k = max(5, sample.n // 10 if local else min(sample.n // (10 * strata), 50))
    measure = knn.mutual_information if z is None else knn.conditional_mutual_information
    observed = measure(*sample.variables, k=k, margins="given")
    if z is None and groups is None:
        warn_of_series(*sample.variables)
    if local:
        return _local_test(sample, observed, k, permutations, row_groups, generator, k_perm, reuse)
    first, second, *given = sample.variables
    if first.kind != "discrete":
        first, second = second, first
    strata = given[0].codes if given else np.zeros(sample.n, np.intp)
    first, second, permute, exchanged = permuted_and_other(first, second, strata, row_groups)
    if exchanged == "whole groups" and first.kind != "discrete":
        sizes = np.bincount(row_groups)
        if sizes.min() != sizes.max():
            raise WrongLength(
                f"groups must be of one size where whole groups are exchanged and the permuted variable has numbers, "
                f"got sizes from {sizes.min()} to {sizes.max()}; bin that variable."
            )
    rows = np.stack([permute(generator) for _ in range(permutations)])
    drawn = first.codes[rows] if first.kind == "discrete" else rows
    null = None
    if first.kind == "discrete" and second.kind == "continuous":
        null = relabelled(second, drawn, given, k)
    if null is None:
        null = np.array([alone(first, row, second, given, k) for row in drawn])
    return PermutationTest(observed, null, p_value(observed.value, null), exchanged)


def _local_test(
    sample: Sample, observed: Estimate, k: int, permutations: int, groups: NDArray | None,
    generator: np.random.Generator, k_perm: int, reuse: bool,
) -> PermutationTest:  # fmt: skip
    x, y, z = sample.variables
    if require_int("k_perm", k_perm, 2) > sample.n:
        raise OutOfRange(f"k_perm must be at most the number of rows, {sample.n}, got {k_perm}.")
    if groups is not None and any(constant_within(row_codes(variable), groups) for variable in (x, y)):
        raise NoVariation(
            "groups must contain different values of x and of y where z has numbers, got a variable that is constant "
            "within groups."
        )
    rows = local_permutations(z, k_perm, permutations, generator, groups, reuse)
    values = row_codes(x)
    if (values[rows] == values).all():
        raise NoVariation(
            f"x must vary among the k_perm = {k_perm} nearest rows in z (within groups), got no such rows."
        )
    null = permuted_estimates(x, y, z, rows, k)
    exchanged = f"rows among the {k_perm} nearest in z" + (", within a group" if groups is not None else "")
    return PermutationTest(observed, null, p_value(observed.value, null), exchanged, k_perm)


def permuted_and_other(
    first: Variable, second: Variable, strata: NDArray[np.intp], groups: NDArray | None
) -> tuple[Variable, Variable, Callable[[np.random.Generator], NDArray], str]:
    """The variable to permute (x, unless y alone is constant in each group), the other one, and `exchange`."""
    if groups is not None:
        first_constant, second_constant = (constant_within(row_codes(variable), groups) for variable in (first, second))
        if second_constant and not first_constant:
            first, second = second, first
    return first, second, *exchange(row_codes(first), strata, groups)


def alone(first: Variable, row: NDArray, second: Variable, given: Sequence[Variable], k: int) -> float:
    """The estimate with the first variable's codes replaced by `row`, or its rows taken in that order."""
    if first.kind == "discrete":
        first = Variable(first.continuous, row, first.categories)
    else:
        first = first.take(row)
    return Sample((first, second, *given)).alone(np.ones(second.n, bool), k)


def relabelled(
    points: Variable, labels: NDArray[np.int64], given: Sequence[Variable], k: int
) -> NDArray[np.float64] | None:
    """Estimates [B] of I(points; labels) within strata for permuted labels [B, n]; None: ties or classes of one row."""
    strata = given[0].codes if given else np.zeros(points.n, np.intp)
    classes = int(labels.max()) + 1
    joint = (strata * classes + labels).T  # the class of each row in each permutation [n, B]
    of_stratum = np.bincount(strata)
    counts = np.stack([np.bincount(codes, minlength=classes * len(of_stratum)) for codes in joint.T], axis=1)
    if (counts == 1).any():
        return None
    wanted = np.clip(counts - 1, 0, k)
    longest = list_length(wanted, counts, np.repeat(of_stratum, classes))
    _, ids, clean = sorted_lists(points.continuous, longest, strata)
    if not clean.all():
        return None
    small = np.uint16 if max(longest, len(counts)) < 2**16 else np.int32
    position = np.empty(joint.shape, small)
    kernels.walk_classes(ids, np.ascontiguousarray(joint, small), wanted.astype(small), position)
    position = position.astype(np.int64)
    for i in np.flatnonzero((position == longest).any(axis=1)):  # the list was too short
        inside = np.where(strata == strata[i], kernels.row_distances(points.continuous, i), np.inf)
        order = np.argsort(inside)[1 : of_stratum[strata[i]]]
        for b in np.flatnonzero(position[i] == longest):
            position[i, b] = np.flatnonzero(joint[order, b] == joint[i, b])[wanted[joint[i, b], b] - 1]
    local = -digamma(position + 1).sum(axis=0)
    local += (counts * (digamma(np.maximum(wanted, 1)) - digamma(np.maximum(counts, 1)))).sum(axis=0)
    return (local + (of_stratum * digamma(of_stratum)).sum()) / points.n


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
    """A name for the values that occur and their shares."""
    distinct, counts = np.unique(values, return_counts=True)
    return str(np.stack([distinct, counts // np.gcd.reduce(counts)]).tolist())


def permutation_within(values: np.ndarray, strata: np.ndarray) -> Callable[[np.random.Generator], np.ndarray]:
    """A function that draws a permutation of rows within strata [n]. ValueError if it would never change values [n]."""
    by_stratum = np.argsort(strata, kind="stable")
    same = np.diff(strata[by_stratum]) == 0
    if not (same & (np.diff(values[by_stratum]) != 0)).any():
        raise NoVariation("the permuted variable must vary among rows of equal z (and equal group).")

    def permute(generator: np.random.Generator) -> np.ndarray:
        drawn = np.empty(len(values), dtype=np.int64)
        drawn[by_stratum] = np.lexsort((generator.random(len(values)), strata))
        return drawn

    return permute
