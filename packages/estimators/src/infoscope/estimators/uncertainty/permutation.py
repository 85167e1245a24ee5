"""Permutation tests of (conditional) mutual information, by nearest-neighbour estimates."""

from __future__ import annotations

import math
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
from infoscope.estimators.uncertainty._local import (
    local_permutations,
    permuted_estimates,
)
from infoscope.estimators.variables import Variable, row_codes
from infoscope.notebook import InNotebook


@dataclass(frozen=True, eq=False)
class PermutationTest(InNotebook):
    """The result of a permutation test of independence.

    Parameters
    ----------
    observed : Estimate
        The estimate with its interval, nats.
    null : ndarray [permutations]
        Estimates under permutation, nats.
    p_value : float
        (1 + number of null values >= the observed one) / (1 + permutations).
    exchanged : str
        What was permuted, in words.
    k_perm : int, optional
        Neighbours in z among which x was exchanged; None if it was exchanged without
        neighbours.
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
        permutations = f"{len(self.null)} permutations of {self.exchanged}"
        return (
            f"{self.observed}; p = {self.p_value:.3g} ± {self.p_error:.2g} "
            f"({permutations})"
        )


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
    """Test I(x; y) = 0, or I(x; y | z) = 0, by permutations.

    x or y is permuted among rows of equal z. If z has numbers, x is exchanged among
    rows of similar z: the local permutation test of Runge 2018 (1709.01447). The test is
    exact for exchangeable rows. With ten columns in z it rejects true independence too
    often (`make table-independence`). Time is n^2 a permutation. Warns RowsInSequence
    without groups, if successive rows are similar in x and in y.

    Parameters
    ----------
    x, y, z : array_like [n] or [n, d]
    k : int, optional
        Neighbours of the estimate; None is a tenth of the rows (without numbers in z,
        of the rows of equal z, at most 50).
    permutations : int
    groups : array_like [n], optional
        Labels of dependent rows. Rows are exchanged within groups if both variables
        vary there, else whole groups are exchanged.
    generator : numpy.random.Generator, optional
    k_perm : int
        With numbers in z, x comes from one of the k_perm nearest rows in z with the
        same categories and group.
    reuse : bool
        Allow an x more than once in a permutation (as published, less power).

    Returns
    -------
    PermutationTest

    Raises
    ------
    InfoscopeError
        As `knn.mutual_information`; permutations < 1; k_perm < 2 or > n; nothing to
        exchange; whole groups of different sizes if the permuted variable is not
        discrete; x or y constant within groups if z has numbers.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> permutation_test(x, x**2).p_value
    0.005
    """
    sample, row_groups = Sample.of(x, y, z, groups=groups)
    generator = generator_or_default(generator)
    require_int("permutations", permutations, 1)
    first, second, *conditions = sample.variables
    is_local = any(condition.dim > 0 for condition in conditions)
    if k is None:
        strata = math.prod(condition.categories for condition in conditions)
        tenth = sample.n // 10 if is_local else min(sample.n // (10 * strata), 50)
        k = max(5, tenth)
    measure = knn.mutual_information
    if conditions:
        measure = knn.conditional_mutual_information
    observed = measure(*sample.variables, k=k, margins="given")
    if z is None and groups is None:
        warn_of_series(first, second)
    if is_local:
        return _local_test(
            sample, observed, k, permutations, row_groups, generator, k_perm, reuse
        )
    if first.kind != "discrete":
        first, second = second, first
    strata = _strata(first, conditions)
    first, second, permute, exchanged = permuted_and_other(
        first, second, strata, row_groups
    )
    if exchanged == "whole groups" and first.kind != "discrete":
        assert row_groups is not None
        sizes = np.bincount(row_groups)
        if sizes.min() != sizes.max():
            raise WrongLength(
                "groups must be of one size where whole groups are exchanged and the "
                "permuted variable has numbers, "
                f"got sizes from {sizes.min()} to {sizes.max()}; bin that variable."
            )
    permuted = np.stack([permute(generator) for _ in range(permutations)])
    null = None
    if first.kind == "discrete":
        permuted = first.strata[permuted]
        if second.kind == "continuous":
            null = relabelled(second, permuted, conditions, k)
    if null is None:
        values = [alone(first, row, second, conditions, k) for row in permuted]
        null = np.array(values)
    p = p_value(observed.value, null)
    return PermutationTest(observed, null, p, exchanged)


def _strata(variable: Variable, conditions: Sequence[Variable]) -> NDArray[np.intp]:
    """Codes [n] of a discrete condition; 0 in all rows without a condition."""
    return conditions[0].strata if conditions else np.zeros(variable.n, np.intp)


def _local_test(
    sample: Sample, observed: Estimate, k: int, permutations: int, groups: NDArray | None,
    generator: np.random.Generator, k_perm: int, reuse: bool,
) -> PermutationTest:  # fmt: skip
    """The test given z with numbers, by local permutations of x."""
    x, y, z = sample.variables
    if require_int("k_perm", k_perm, 2) > sample.n:
        raise OutOfRange(
            f"k_perm must be at most the number of rows, {sample.n}, got {k_perm}."
        )
    codes_x = row_codes(x)
    exchanged = f"rows among the {k_perm} nearest in z"
    if groups is not None:
        exchanged += ", within a group"
        is_constant = constant_within(codes_x, groups)
        if is_constant or constant_within(row_codes(y), groups):
            raise NoVariation(
                "groups must contain different values of x and of y where z has "
                "numbers, got a variable that is "
                "constant within groups."
            )
    rows = local_permutations(z, k_perm, permutations, generator, groups, reuse)
    if (codes_x[rows] == codes_x).all():
        raise NoVariation(
            f"x must vary among the k_perm = {k_perm} nearest rows in z (within "
            "groups), got no such rows."
        )
    null = permuted_estimates(x, y, z, rows, k)
    p = p_value(observed.value, null)
    return PermutationTest(observed, null, p, exchanged, k_perm)


def permuted_and_other(
    first: Variable, second: Variable, strata: NDArray[np.intp], groups: NDArray | None
) -> tuple[Variable, Variable, Callable[[np.random.Generator], NDArray], str]:
    """The variable to permute, the other variable, and the results of `exchange`.

    The first variable is permuted, unless the second alone is constant in each group.
    """
    if groups is not None:
        is_first_constant = constant_within(row_codes(first), groups)
        if not is_first_constant and constant_within(row_codes(second), groups):
            first, second = second, first
    return first, second, *exchange(row_codes(first), strata, groups)


def alone(
    first: Variable,
    row: NDArray,
    second: Variable,
    conditions: Sequence[Variable],
    k: int,
) -> float:
    """The estimate of one permutation, nats.

    row  [n], the codes that replace a discrete variable's codes, or the rows in order
    """
    if first.kind == "discrete":
        first = Variable(first.continuous, row, first.categories)
    else:
        first = first.take(row)
    permuted = Sample((first, second, *conditions))
    return permuted.alone(np.ones(second.n, bool), k)


def relabelled(
    points: Variable, labels: NDArray[np.int64], conditions: Sequence[Variable], k: int
) -> NDArray[np.float64] | None:
    """Estimates [B] of I(points; labels) within strata for permuted labels [B, n].

    None: tied distances, or classes of one row.
    """
    strata = _strata(points, conditions)
    stratum_sizes = np.bincount(strata)
    classes = int(labels.max()) + 1
    # the stratum and class of each row in each permutation [n, B]
    cells = (strata * classes + labels).T
    cell_count = classes * len(stratum_sizes)
    counts = [np.bincount(codes, minlength=cell_count) for codes in cells.T]
    counts = np.stack(counts, axis=1)
    if (counts == 1).any():
        return None
    k_of_cell = np.clip(counts - 1, 0, k)
    longest = list_length(k_of_cell, counts, np.repeat(stratum_sizes, classes))
    _, ids, clean = sorted_lists(points.continuous, longest, strata)
    if not clean.all():
        return None
    dtype = np.uint16 if max(longest, cell_count) < 2**16 else np.int32
    position = np.empty(cells.shape, dtype)
    short_cells = np.ascontiguousarray(cells, dtype)
    kernels.walk_classes(ids, short_cells, k_of_cell.astype(dtype), position)
    position = position.astype(np.int64)
    is_too_short = position == longest
    for i in np.flatnonzero(is_too_short.any(axis=1)):
        distances = kernels.row_distances(points.continuous, i)
        distances[strata != strata[i]] = np.inf
        order = np.argsort(distances)
        order = order[1 : stratum_sizes[strata[i]]]
        for b in np.flatnonzero(is_too_short[i]):
            cell = cells[i, b]
            places = np.flatnonzero(cells[order, b] == cell)
            position[i, b] = places[k_of_cell[cell, b] - 1]
    digamma_k = digamma(np.maximum(k_of_cell, 1))
    digamma_counts = digamma(np.maximum(counts, 1))
    of_cells = (counts * (digamma_k - digamma_counts)).sum(axis=0)
    of_strata = (stratum_sizes * digamma(stratum_sizes)).sum()
    local = -digamma(position + 1).sum(axis=0) + of_cells
    return (local + of_strata) / points.n


def p_value(observed: float, null: np.ndarray) -> float:
    """The p-value of the observed value among the null values, up to rounding.

    (1 + number of null values >= observed) / (1 + number of null values).
    """
    rounding = 1e-12 * max(1.0, abs(observed))
    exceedances = int((null >= observed - rounding).sum())
    return (1 + exceedances) / (1 + len(null))


def exchange(
    target: np.ndarray, strata: np.ndarray, groups: np.ndarray | None
) -> tuple[Callable[[np.random.Generator], np.ndarray], str]:
    """A function that draws rows [n], and the name of what the function exchanges.

    The target's codes [n] in the drawn rows replace the target's codes.
    """
    if groups is None:
        return permutation_within(target, strata), "rows"
    if not constant_within(target, groups):
        strata_in_groups = combined([groups, strata])
        return permutation_within(target, strata_in_groups), "rows within a group"
    _, first_rows = np.unique(groups, return_index=True)
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups))
    strata_of_groups = np.split(strata[order], ends[:-1])
    strata_shares = np.array([shares(values) for values in strata_of_groups])
    share_codes = by_first_appearance(strata_shares)
    permute = permutation_within(target[first_rows], share_codes)

    def permute_groups(generator: np.random.Generator) -> np.ndarray:
        rows_of_groups = first_rows[permute(generator)]
        return rows_of_groups[groups]

    return permute_groups, "whole groups"


def constant_within(values: np.ndarray, groups: np.ndarray) -> bool:
    """Whether codes [n] are the same in all rows of each group [n]."""
    pairs = groups * (int(values.max()) + 1) + values
    return len(np.unique(pairs)) == len(np.unique(groups))


def shares(values: np.ndarray) -> str:
    """A name for the values that occur and their shares."""
    distinct, counts = np.unique(values, return_counts=True)
    return str(np.stack([distinct, counts // np.gcd.reduce(counts)]).tolist())


def permutation_within(
    values: np.ndarray, strata: np.ndarray
) -> Callable[[np.random.Generator], np.ndarray]:
    """A function that draws a permutation of rows within strata [n].

    ValueError: values [n] are constant within strata.
    """
    order = np.argsort(strata, kind="stable")
    is_same_stratum = np.diff(strata[order]) == 0
    is_other_value = np.diff(values[order]) != 0
    if not (is_same_stratum & is_other_value).any():
        raise NoVariation(
            "the permuted variable must vary among rows of equal z (and equal group)."
        )

    def permute(generator: np.random.Generator) -> np.ndarray:
        rows = np.empty(len(values), dtype=np.int64)
        keys = generator.random(len(values))
        rows[order] = np.lexsort((keys, strata))
        return rows

    return permute
