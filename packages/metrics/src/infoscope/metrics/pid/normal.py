"""Decomposition of jointly normal variables in closed form, for any dimensions; nats.

The union information is -1/2 log det P for the largest P with P <= P_a and P <= P_b,
the covariances of a whitened target given a and given b. In the basis where P_a is the
identity and P_b diagonal, P is the minimum by entry (Hadamard).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.checks import one_of
from infoscope.errors import Conflict, NoVariation, OutOfRange, WrongShape, WrongType
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.column_types import as_variables
from infoscope.estimators.columns import Angle, Continuous, Discrete
from infoscope.estimators.result import NATS, Estimate, quantile, root_sum_squares
from infoscope.estimators.uncertainty.subsampling import Resamples, leave_one_out
from infoscope.estimators.variables import Variable
from infoscope.metrics.pid.terms import ROUNDING, Decomposition, finite

Values = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)


def gaussian(
    covariance: ArrayLike, a: ArrayLike, b: ArrayLike, target: ArrayLike
) -> Decomposition:
    """The decomposition ~_G of jointly normal variables (Venkatesh et al. 2023), nats.

    With l the eigenvalues of cov(target | b) relative to cov(target | a), unique_a is
    1/2 sum max(0, log l), unique_b is 1/2 sum max(0, -log l). For normal variables this
    equals Bertschinger et al. 2014 (2510.04417); for one target number the redundancy
    is the minimum of both informations (Barrett 2015).

    Parameters
    ----------
    covariance
        [d, d]; it may be singular.
    a, b, target
        Indices of its rows.

    Raises
    ------
    ValueError
        Not symmetric or not positive semidefinite, rows that do not exist or overlap, a
        target that a and b determine.

    Examples
    --------
    >>> covariance = np.eye(3) + 0.5 * (1 - np.eye(3))
    >>> print(f"{gaussian(covariance, 0, 1, 2).redundant:.2f}")
    0.14
    """
    return _with_branches(covariance, a, b, target)[0]


def _with_branches(
    covariance: ArrayLike, a: ArrayLike, b: ArrayLike, target: ArrayLike
) -> tuple[Decomposition, Values]:
    """The decomposition, and its terms with the first k directions of the target
    assigned to a and the others to b [1 + directions, 4].
    """
    correlation, (a, b, target) = _checked(covariance, a=a, b=b, target=target)
    basis = _whitening(correlation[np.ix_(target, target)])
    sources = {"a": a, "b": b, "a and b": np.concatenate([a, b])}
    residuals = []  # covariances of the whitened target given a, b, and both
    whitened = []
    informations = []
    gap = 0.0
    for name, source in sources.items():
        whitening = _whitening(correlation[np.ix_(source, source)])
        shared = basis.T @ correlation[np.ix_(target, source)] @ whitening
        residual = np.eye(len(shared)) - shared @ shared.T
        values, vectors = np.linalg.eigh(residual)
        least = values.min(initial=1.0)
        # The residual covariance is v' correlation v, v the basis and minus the
        # coefficients of the source.
        norm = np.linalg.norm(basis) + np.linalg.norm(whitening @ shared.T)
        rounding = float(len(correlation) * EPS * norm**2)
        if least <= rounding:
            raise NoVariation(
                f"target must not be determined by {name}, got a share of {least:.2g} "
                "of unexplained variance, "
                f"where rounding is {rounding:.1g}: the information is infinite."
            )
        gap += float(len(shared) * rounding / least)
        informations.append(-0.5 * float(np.log(values).sum()))
        residuals.append(residual)
        whitened.append(vectors / np.sqrt(values))
    i_a, _, i_both = informations
    whitened_by_a = whitened[0]
    relative = whitened_by_a.T @ residuals[1] @ whitened_by_a
    logs = 0.5 * np.log(np.linalg.eigvalsh(relative))[::-1]
    unique_a = np.append(0.0, np.cumsum(logs))
    unique_b = unique_a - unique_a[-1]
    redundant = i_a - unique_a
    synergistic = i_both - i_a - unique_b
    branches = np.stack([unique_a, unique_b, redundant, synergistic], axis=1)
    terms = branches[np.sum(logs > 0)]
    return Decomposition(*terms.tolist(), gap=gap), branches


def gaussian_from_arrays(
    a: ArrayLike,
    b: ArrayLike,
    target: ArrayLike,
    margins: str = "given",
    groups: ArrayLike | None = None,
    blocks: int = 100,
    generator: np.random.Generator | None = None,
) -> Decomposition:
    """The decomposition of rows of normal variables, with errors; nats.

    `gaussian` of the covariance of rows; the delete-block jackknife gives errors and
    removes bias. At kinks unique terms are too high by a part of their error; intervals
    include both branches (docs/pid.md).

    Parameters
    ----------
    a, b, target
        Numbers [n] or [n, d].
    margins
        "given", or "rank" (only the copula has to be normal).
    groups, blocks, generator
        As in `uncertainty.leave_one_out`.

    Returns
    -------
    Decomposition
        Of Estimates.

    Raises
    ------
    ValueError
        As `gaussian`; different lengths, values that are not finite, unknown margins.

    Examples
    --------
    >>> a, b, noise = np.random.default_rng(0).normal(size=(3, 500))
    >>> terms = gaussian_from_arrays(a, b, a + b + noise, blocks=20)
    >>> print(f"{terms.synergistic.bits:.2f}")
    0.43
    """
    one_of("margins", margins, ("given", "rank"))
    variables, groups = as_numbers(groups, a=a, b=b, target=target)
    if margins == "rank":
        variables = [variable.rank_normal() for variable in variables]
    rows = np.hstack([variable.continuous for variable in variables])
    ends = np.cumsum([variable.dim for variable in variables])
    places = np.split(np.arange(ends[-1]), ends[:-1])
    plan = leave_one_out(len(rows), blocks, generator_or_default(generator), groups)
    method = "Gaussian PID"
    if margins == "rank":
        method += ", rank-normal margins"
    return _jackknifed(rows, places, plan, method)


def _checked(
    covariance: ArrayLike, **rows: ArrayLike
) -> tuple[Values, list[NDArray[np.int64]]]:
    """Correlations [d, d], 0 for constant variables, and the indices of each name."""
    (sigma,) = finite(covariance=covariance)
    if sigma.ndim != 2 or sigma.shape[0] != sigma.shape[1]:
        raise WrongShape(f"covariance must be square, got shape {sigma.shape}.")
    variances = np.diag(sigma)
    scale = np.sqrt(np.abs(variances))
    scales = np.outer(scale, scale)
    correlation = np.divide(sigma, scales, out=np.zeros_like(sigma), where=scales > 0)
    asymmetry = np.abs(correlation - correlation.T)
    if asymmetry.max(initial=0.0) > np.sqrt(EPS):
        raise Conflict(
            "covariance must be symmetric, got different entries across the diagonal."
        )
    least = np.linalg.eigvalsh(correlation).min(initial=0.0)
    if least < -np.sqrt(EPS) or (variances < 0).any() or sigma[scale == 0].any():
        raise OutOfRange(
            "covariance must be positive semidefinite, got a correlation with an "
            f"eigenvalue of {least:g}."
        )
    places = [np.atleast_1d(np.asarray(indices)) for indices in rows.values()]
    indices = np.concatenate(places).tolist()
    distinct = set(indices)
    if len(distinct) < len(indices) or not distinct <= set(range(len(sigma))):
        raise Conflict(
            f"{', '.join(rows)} must be different rows of 0 to {len(sigma) - 1}, got "
            f"{indices}."
        )
    return correlation, places


def _whitening(block: Values) -> Values:
    """w [d, rank] with w' block w = 1, without directions of no variance."""
    values, vectors = np.linalg.eigh(block)
    largest = max(values.max(initial=0.0), EPS)
    varying = values > 10 * len(block) * EPS * largest
    return vectors[:, varying] / np.sqrt(values[varying])


def as_numbers(
    groups: ArrayLike | None = None, /, **blocks: ArrayLike | Variable
) -> tuple[list[Variable], Any]:
    """Checked variables of numbers (also untyped integers) of one length, and the codes
    of groups [n] or None.
    """
    wrapped = {}
    for name, values in blocks.items():
        wrapped[name] = values if _is_typed(values) else Continuous(values)
    variables, codes = as_variables(groups, **wrapped)
    for name, variable in variables.items():
        if variable.codes is not None:
            raise WrongType(
                f"{name} must be numbers, got categories, which have no covariance."
            )
    return list(variables.values()), codes


def _is_typed(values: Any) -> bool:
    """Whether a variable, or a block of a list of them, is wrapped."""
    blocks = values if isinstance(values, list | tuple) else (values,)
    return any(
        isinstance(block, Variable | Continuous | Discrete | Angle) for block in blocks
    )


def _jackknifed(
    rows: Values,
    places: Sequence[NDArray[np.int64]],
    plan: Resamples,
    method: str,
) -> Decomposition:
    """Estimates of the terms of rows [n, d], by the delete-block jackknife.

    The jackknife removes bias proportional to 1 / n (Quenouille 1956; Shao & Wu 1989).
    Intervals include every plausible branch at kinks. places: the columns of a, b and
    the target.
    """

    def branches_of(rows: Values) -> tuple[Values, float]:
        covariance = np.cov(rows, rowvar=False)
        terms, branches = _with_branches(covariance, *places)
        return np.vstack([terms[:4], branches]), terms.gap

    count = plan.count
    degrees = count - 1
    # [1 + B, 4]: the decomposition, then every branch
    of_all_rows, gap = branches_of(rows)
    without = []  # of each block
    gaps = []
    for weights in plan.weights.T:
        branches, gap_without = branches_of(rows[weights > 0])
        without.append(branches)
        gaps.append(gap_without)
    mean = np.mean(without, axis=0)
    values = count * of_all_rows - degrees * mean
    influence = sqrt(degrees / count) * (mean - np.array(without))
    errors = root_sum_squares(influence)
    rounding = gap + ROUNDING
    distance = np.abs(of_all_rows - of_all_rows[0]).max(axis=1)
    active = np.flatnonzero(distance <= rounding)[-1]
    # a branch is plausible if its unique_a may equal the active one
    unique_a = values[:, 0]
    influence_a = influence[:, :, 0]
    errors_a = root_sum_squares(influence_a - influence_a[:, [active]])
    half_width = quantile(degrees)
    limit = half_width * errors_a + rounding
    plausible = np.abs(unique_a - unique_a[active]) <= limit
    plausible[0] = True
    margins = half_width * errors
    lows = (values - margins)[plausible].min(axis=0)
    highs = (values + margins)[plausible].max(axis=0)
    terms = []
    for place in range(4):
        interval = float(lows[place]), float(highs[place])
        term = Estimate(
            float(values[0, place]),
            float(errors[0, place]),
            NATS,
            len(rows),
            method,
            units=plan.units,
            degrees=degrees,
            interval=interval,
            influence=influence[:, 0, place],
        )
        terms.append(term)
    total_gap = count * gap + degrees * float(np.mean(gaps))
    return Decomposition(*terms, gap=total_gap)
