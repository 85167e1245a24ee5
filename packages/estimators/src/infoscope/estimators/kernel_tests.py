"""Kernel tests of independence.

    hsic_test   x and y: the Hilbert-Schmidt independence criterion (Gretton et al. 2007)
    kcit_test   x and y given z: the kernel conditional independence test (Zhang et al. 2011, 1202.3775)

Standardised numbers have a Gaussian kernel of median width, categories the identity kernel, mixed variables the
product. Memory is about 40 n^2 bytes; at most 5,000 rows are taken.
"""

from __future__ import annotations

from operator import methodcaller
from typing import Any

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import gammaincc

from infoscope.checks import one_of, require_int
from infoscope.errors import InvalidInput, OutOfRange
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.result import Estimate
from infoscope.estimators.serial import warn_of_series
from infoscope.estimators.uncertainty._engine import Sample
from infoscope.estimators.uncertainty.permutation import PermutationTest, p_value, sides
from infoscope.estimators.variables import Variable, prepared

MOST_ROWS, FEWEST_ROWS = 5000, 6
RIDGE = 0.1  # of the regression on z; the 1e-3 of Zhang et al. goes with wider kernels and errs more with these


def hsic_test(
    x: Any, y: Any, null: str = "permutation", permutations: int = 199, generator: np.random.Generator | None = None,
    groups: ArrayLike | None = None,
) -> PermutationTest:  # fmt: skip
    """Tests whether x and y are independent, by their biased HSIC, tr(K H L H) / n^2 (eq. 4).

    null    permutation, exact where rows are exchangeable; or gamma, the large-sample approximation (eq. 9)
    groups  [n], dependent rows: exchanged within groups if both variables vary there, else whole groups

    Without groups RowsInSequence is warned of where successive rows are alike in x and in y. ValueError: as
    `knn.mutual_information`; another null, or gamma with groups; permutations < 1; rows under 6 or over 5,000.
    """
    (sample, codes), generator = _checked(x, y, groups=groups), generator_or_default(generator)
    require_int("permutations", permutations, 1)
    one_of("null", null, ("permutation", "gamma"))
    if groups is None:
        warn_of_series(*sample.variables)
    elif null == "gamma":
        raise InvalidInput("null must be permutation with groups, got 'gamma', which is the law of independent rows.")
    n, (other, moved), exchanged = sample.n, sample.variables, "rows"
    permute = methodcaller("permutation", n)
    if groups is not None:
        moved, other, permute, exchanged = sides(moved, other, np.zeros(n, np.intp), codes)
    first, second = gram(other), gram(moved)
    if exchanged == "whole groups":  # a scale of all rows would change with what is exchanged
        one_each = moved.take(np.unique(codes, return_index=True)[1])
        second = gram(prepared(one_each, "scaled"))[np.ix_(codes, codes)]
    of_x, of_y = centred(first), centred(second)
    value = np.vdot(of_x, of_y) / n**2
    observed = Estimate(float(value), unit="HSIC", n=n, method="Gaussian kernels, median widths")
    if null == "permutation":
        rows = np.stack([permute(generator) for _ in range(permutations)])
        drawn = permuted_products(of_x, of_y, rows) / n**2
        return PermutationTest(observed, drawn, p_value(observed.value, drawn), exchanged)
    square = (of_x * of_y) ** 2
    variance = 2 * (n - 4) * (n - 5) / (n * (n - 1) * (n - 2) * (n - 3)) * (square.sum() - square.trace()) / n / (n - 1)
    near_x, near_y = ((kernel.sum() - n) / n / (n - 1) for kernel in (first, second))
    mean = (1 + near_x * near_y - near_x - near_y) / n
    return _by_gamma(observed, mean, variance)


def kcit_test(x: Any, y: Any, z: Any, groups: ArrayLike | None = None) -> PermutationTest:
    """Tests whether x and y are independent given z: kernel ridge regression on z, then HSIC of the residuals.

    The statistic is tr(K_xz|z K_y|z) / n (eq. 12), its null distribution a gamma (proposition 5), with groups [n] that
    of sums over whole groups. From about five columns of z on, independence is rejected far too often (`make
    table-independence`). Time grows with n^3.

    ValueError: as `knn.conditional_mutual_information`; fewer than 6 groups; fewer than 6 or more than 5,000 rows.
    """
    sample, codes = _checked(x, y, z, groups)
    first, second, given = map(gram, sample.variables)
    n = len(given)
    ridge = cho_factor(centred(given) + RIDGE * np.eye(n))
    of_x, of_y = (_left_by(ridge, centred(kernel)) for kernel in (first * given, second))
    observed = Estimate(float(np.vdot(of_x, of_y) / n), unit="KCIT", n=n, method="Gaussian kernels, median widths")
    product = of_x * of_y
    if groups is not None:
        count = int(codes.max()) + 1
        if count < FEWEST_ROWS:
            raise OutOfRange(f"groups must be at least {FEWEST_ROWS}, got {count}.")
        members = np.eye(count)[codes]
        product = members.T @ product @ members
    return _by_gamma(observed, product.trace() / n, 2 * np.vdot(product, product) / n**2)


def _left_by(ridge: tuple, kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """R K R of the residuals' matrix R = ridge (K_z + ridge)^-1 (eq. 11)."""
    left = RIDGE * cho_solve(ridge, kernel)
    return RIDGE * cho_solve(ridge, left.T)


def _checked(x: Any, y: Any, z: Any = None, groups: ArrayLike | None = None) -> tuple[Sample, NDArray | None]:
    sample, codes = Sample.of(x, y, z, groups=groups)
    if not FEWEST_ROWS <= sample.n <= MOST_ROWS:
        raise OutOfRange(
            f"x and y must have {FEWEST_ROWS} to {MOST_ROWS:,} rows for a kernel test, got {sample.n:,}; draw some of "
            "them, or use uncertainty.permutation_test."
        )
    return sample, codes


def _by_gamma(observed: Estimate, mean: float, variance: float) -> PermutationTest:
    """The test whose statistic has a gamma distribution of this mean and variance under independence."""
    found = gammaincc(mean**2 / variance, observed.value * mean / variance)
    return PermutationTest(observed, np.empty(0), float(found), "nothing: gamma law")


def gram(variable: Variable) -> NDArray[np.float64]:
    """The kernel of every two rows [n, n]: 1 on the diagonal."""
    if not variable.dim:
        return np.equal.outer(variable.codes, variable.codes).astype(np.float64)
    points = variable.continuous - variable.continuous.mean(axis=0)
    squares = (points**2).sum(axis=1)
    apart = np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0.0)
    np.fill_diagonal(apart, 0.0)
    between = apart[np.tril_indices(len(points), -1)]
    kernel = np.exp(-apart / (2 * np.median(np.sqrt(between[between > 0])) ** 2))
    return kernel if variable.codes is None else kernel * np.equal.outer(variable.codes, variable.codes)


def centred(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """H K H."""
    of_rows = kernel.mean(axis=0)
    return kernel - of_rows - of_rows[:, None] + of_rows.mean()


@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def permuted_products(first, second, rows):
    """sum of first[i, j] second[rows[b, i], rows[b, j]] [B] of symmetric matrices [n, n]."""
    sums = np.zeros(len(rows))
    for b in range(len(rows)):
        row = rows[b]
        for i in range(len(row)):
            mine, other = first[i], second[row[i]]
            sums[b] += mine[i] * other[row[i]]
            below = 0.0
            for j in range(i):
                below += mine[j] * other[row[j]]
            sums[b] += 2 * below
    return sums
