"""Permutation tests of mutual information, also given other variables, by
nearest-neighbour estimates.
"""

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
        return f"{self.observed}; p = {self.p_value:.3g} ± {self.p_error:.2g} ({permutations})"


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
    """Test I(x; y) = 0, or I(x; y | z) = 0, by permuting x or y at equal z, or x at
    near z where z has numbers.

    The test is exact for exchangeable rows. With numbers in z it is the local
    permutation test of Runge 2018 (1709.01447). In ten columns of z it rejects true
    independence too often (`make table-independence`). Time is n^2 a permutation. Warns
    RowsInSequence where successive rows are similar in x and in y and no groups are
    given.

    Parameters
    ----------
    x, y, z : array_like [n] or [n, d]
    k : int, optional
        Neighbours of the estimate; None is a tenth of the rows (without numbers in z,
        of the rows of equal z, at most 50).
    permutations : int
    groups : array_like [n], optional
        Labels of dependent rows. Rows are exchanged within groups if both variables
        vary there, else whole groups.
    generator : numpy.random.Generator, optional
    k_perm : int
        With numbers in z, x comes from one of so many nearest rows in z, of equal
        categories and group.
    reuse : bool
        Use an x more than once in a permutation (as published, less power).

    Returns
    -------
    PermutationTest

    Raises
    ------
    InfoscopeError
        As `knn.mutual_information`; permutations < 1; k_perm < 2 or > n; nothing to
        exchange; whole groups of different sizes where the permuted variable is not
        discrete; groups within which x or y is constant where z has numbers.

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
    is_local = z is not None and sample.variables[2].dim > 0
    if k is None:
        strata = 1 if z is None else sample.variables[2].categories
        k = max(5, sample.n // 10 if is_local else min(sample.n // (10 * strata), 50))
    measure = (
        knn.mutual_information if z is None else knn.conditional_mutual_information
    )
    observed = measure(*sample.variables, k=k, margins="given")
    if z is None and groups is None:
        warn_of_series(*sample.variables)
    if is_local:
        return _local_test(
            sample, observed, k, permutations, row_groups, generator, k_perm, reuse
        )
    first, second, *conditions = sample.variables
    if first.kind != "discrete":
        first, second = second, first
    strata = conditions[0].codes if conditions else np.zeros(sample.n, np.intp)
    first, second, permute, exchanged = permuted_and_other(
        first, second, strata, row_groups
    )
    if exchanged == "whole groups" and first.kind != "discrete":
        sizes = np.bincount(row_groups)
        if sizes.min() != sizes.max():
            raise WrongLength(
                f"groups must be of one size where whole groups are exchanged and the permuted variable has numbers, "
                f"got sizes from {sizes.min()} to {sizes.max()}; bin that variable."
            )
    rows = np.stack([permute(generator) for _ in range(permutations)])
    permuted = first.codes[rows] if first.kind == "discrete" else rows
    null = None
    if first.kind == "discrete" and second.kind == "continuous":
        null = relabelled(second, permuted, conditions, k)
    if null is None:
        null = np.array([alone(first, row, second, conditions, k) for row in permuted])
    return PermutationTest(observed, null, p_value(observed.value, null), exchanged)


def _local_test(
    sample: Sample, observed: Estimate, k: int, permutations: int, groups: NDArray | None,
    generator: np.random.Generator, k_perm: int, reuse: bool,
) -> PermutationTest:  # fmt: skip
    x, y, z = sample.variables
    if require_int("k_perm", k_perm, 2) > sample.n:
        raise OutOfRange(
            f"k_perm must be at most the number of rows, {sample.n}, got {k_perm}."
        )
    codes_x = row_codes(x)
    exchanged = f"rows among the {k_perm} nearest in z"
    if groups is not None:
        exchanged += ", within a group"
        if constant_within(codes_x, groups) or constant_within(row_codes(y), groups):
            raise NoVariation(
                "groups must contain different values of x and of y where z has numbers, got a variable that is "
                "constant within groups."
            )
    rows = local_permutations(z, k_perm, permutations, generator, groups, reuse)
    if (codes_x[rows] == codes_x).all():
        raise NoVariation(
            f"x must vary among the k_perm = {k_perm} nearest rows in z (within groups), got no such rows."
        )
    null = permuted_estimates(x, y, z, rows, k)
    return PermutationTest(
        observed, null, p_value(observed.value, null), exchanged, k_perm
    )


def permuted_and_other(
    first: Variable, second: Variable, strata: NDArray[np.intp], groups: NDArray | None
) -> tuple[Variable, Variable, Callable[[np.random.Generator], NDArray], str]:
    """The variable to permute (x, unless y alone is constant in each group), the other
    one, and `exchange`.
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
    """The estimate with the first variable's codes replaced by `row`, or its rows taken
    in that order.
    """
    if first.kind == "discrete":
        first = Variable(first.continuous, row, first.categories)
    else:
        first = first.take(row)
    return Sample((first, second, *conditions)).alone(np.ones(second.n, bool), k)


def relabelled(
    points: Variable, labels: NDArray[np.int64], conditions: Sequence[Variable], k: int
) -> NDArray[np.float64] | None:
    """Estimates [B] of I(points; labels) within strata for permuted labels [B, n];
    None: ties or classes of one row.
    """
    strata = conditions[0].codes if conditions else np.zeros(points.n, np.intp)
    stratum_sizes = np.bincount(strata)
    classes = int(labels.max()) + 1
    # the stratum and class of each row in each permutation [n, B]
    cells = (strata * classes + labels).T
    cell_count = classes * len(stratum_sizes)
    counts = np.stack(
        [np.bincount(codes, minlength=cell_count) for codes in cells.T], axis=1
    )
    if (counts == 1).any():
        return None
    k_of_cell = np.clip(counts - 1, 0, k)
    longest = list_length(k_of_cell, counts, np.repeat(stratum_sizes, classes))
    _, ids, clean = sorted_lists(points.continuous, longest, strata)
    if not clean.all():
        return None
    dtype = np.uint16 if max(longest, cell_count) < 2**16 else np.int32
    position = np.empty(cells.shape, dtype)
    kernels.walk_classes(
        ids, np.ascontiguousarray(cells, dtype), k_of_cell.astype(dtype), position
    )
    position = position.astype(np.int64)
    # the list was too short
    for i in np.flatnonzero((position == longest).any(axis=1)):
        distances = np.where(
            strata == strata[i], kernels.row_distances(points.continuous, i), np.inf
        )
        order = np.argsort(distances)[1 : stratum_sizes[strata[i]]]
        for b in np.flatnonzero(position[i] == longest):
            cell = cells[i, b]
            places = np.flatnonzero(cells[order, b] == cell)
            position[i, b] = places[k_of_cell[cell, b] - 1]
    local = -digamma(position + 1).sum(axis=0)
    local += (
        counts * (digamma(np.maximum(k_of_cell, 1)) - digamma(np.maximum(counts, 1)))
    ).sum(axis=0)
    return (local + (stratum_sizes * digamma(stratum_sizes)).sum()) / points.n


def p_value(observed: float, null: np.ndarray) -> float:
    """(1 + how many null values are at least the observed one, up to rounding) / (1 +
    their number).
    """
    rounding = 1e-12 * max(1.0, abs(observed))
    exceedances = int((null >= observed - rounding).sum())
    return (1 + exceedances) / (1 + len(null))


def exchange(
    target: np.ndarray, strata: np.ndarray, groups: np.ndarray | None
) -> tuple[Callable[[np.random.Generator], np.ndarray], str]:
    """A function that draws rows [n] whose values replace the target's codes [n], and
    what it exchanges, in words.
    """
    if groups is None:
        return permutation_within(target, strata), "rows"
    if not constant_within(target, groups):
        return permutation_within(
            target, combined([groups, strata])
        ), "rows within a group"
    _, first_rows = np.unique(groups, return_index=True)
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups))
    strata_of_groups = np.split(strata[order], ends[:-1])
    strata_shares = np.array([shares(values) for values in strata_of_groups])
    permute = permutation_within(target[first_rows], by_first_appearance(strata_shares))
    return (lambda generator: first_rows[permute(generator)][groups]), "whole groups"


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
    """A function that draws a permutation of rows within strata [n]. ValueError if it
    would never change values [n].
    """
    order = np.argsort(strata, kind="stable")
    same_stratum = np.diff(strata[order]) == 0
    other_value = np.diff(values[order]) != 0
    if not (same_stratum & other_value).any():
        raise NoVariation(
            "the permuted variable must vary among rows of equal z (and equal group)."
        )

    def permute(generator: np.random.Generator) -> np.ndarray:
        rows = np.empty(len(values), dtype=np.int64)
        rows[order] = np.lexsort((generator.random(len(values)), strata))
        return rows

    return permute
