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
from infoscope.estimators.result import NATS, Estimate, quantile
from infoscope.estimators.uncertainty.subsampling import Resamples, leave_one_out
from infoscope.estimators.variables import Variable
from infoscope.metrics.pid.terms import ROUNDING, Decomposition, finite

Values = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)


def gaussian(
    covariance: ArrayLike, a: ArrayLike, b: ArrayLike, target: ArrayLike
) -> Decomposition:
    """The decomposition ~_G of Venkatesh, Bennett, Gale, Ramirez, Heller, Durand, Olsen
    & Mihalas 2023, nats.

    covariance [d, d] may be singular; a, b, target: indices of its rows. Equals
    Bertschinger et al. 2014 for normal variables (2510.04417): with l the eigenvalues
    of cov(target | b) relative to cov(target | a), unique_a = 1/2 sum max(0, log l),
    unique_b = 1/2 sum max(0, -log l); for one target number the redundancy is the
    minimum (Barrett 2015).

    ValueError: not symmetric or not positive semidefinite, rows that do not exist or
    overlap, a target that a and b determine.
    """
    return _with_branches(covariance, a, b, target)[0]


def _with_branches(
    covariance: ArrayLike, a: ArrayLike, b: ArrayLike, target: ArrayLike
) -> tuple[Decomposition, Values]:
    """The decomposition, and its terms with the first k directions of the target given
    to a, the others to b [., 4].
    """
    correlation, (a, b, target) = _checked(covariance, a=a, b=b, target=target)
    basis = _whitening(correlation[np.ix_(target, target)])
    residuals = []  # covariances of the whitened target given a, b, and both
    whitened = []
    informations = []
    gap = 0.0
    for name, source in (("a", a), ("b", b), ("a and b", np.concatenate([a, b]))):
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
                f"target must not be determined by {name}, got a share of {least:.2g} of unexplained variance, "
                f"where rounding is {rounding:.1g}: the information is infinite."
            )
        gap += float(len(shared) * rounding / least)
        informations.append(-0.5 * float(np.log(values).sum()))
        residuals.append(residual)
        whitened.append(vectors / np.sqrt(values))
    i_a, _, i_both = informations
    whitened_by_a = whitened[0]
    relative = np.linalg.eigvalsh(whitened_by_a.T @ residuals[1] @ whitened_by_a)
    logs = 0.5 * np.log(relative)[::-1]
    unique_a = np.append(0.0, np.cumsum(logs))
    unique_b = unique_a - unique_a[-1]
    branches = np.stack(
        [unique_a, unique_b, i_a - unique_a, i_both - i_a - unique_b], axis=1
    )
    terms = branches[np.sum(logs > 0)]
    return Decomposition(*map(float, terms), gap), branches


def gaussian_from_arrays(
    a: ArrayLike,
    b: ArrayLike,
    target: ArrayLike,
    margins: str = "given",
    groups: ArrayLike | None = None,
    blocks: int = 100,
    generator: np.random.Generator | None = None,
) -> Decomposition:
    """`gaussian` of the covariance of rows, Estimates in nats: bias and error by the
    delete-block jackknife (groups, blocks, generator as in
    `uncertainty.leave_one_out`).

    a, b, target  numbers [n] or [n, d]
    margins       "given", or "rank" (normal copula only)

    At kinks unique terms are too high by a part of their error; intervals include both
    branches (docs/pid.md). ValueError: as `gaussian`; different lengths; values that
    are not finite; unknown margins.
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
            f"covariance must be positive semidefinite, got a correlation with an eigenvalue of {least:g}."
        )
    places = [np.atleast_1d(np.asarray(indices)) for indices in rows.values()]
    indices = np.concatenate(places).tolist()
    if len(set(indices)) < len(indices) or not set(indices) <= set(range(len(sigma))):
        raise Conflict(
            f"{', '.join(rows)} must be different rows of 0 to {len(sigma) - 1}, got {indices}."
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
    """Estimates of the terms of rows [n, d], of which `places` are the columns of a, b
    and the target, by the delete-block jackknife (Quenouille 1956; Shao & Wu 1989),
    which removes bias proportional to 1 / n. Intervals include every plausible branch
    at kinks.
    """

    def branches_of(chosen: NDArray[np.bool_]) -> tuple[Values, float]:
        covariance = np.cov(rows[chosen], rowvar=False)
        terms, branches = _with_branches(covariance, *places)
        return np.vstack([terms[:4], branches]), terms.gap

    count = plan.count
    degrees = count - 1
    # [1 + B, 4]: the decomposition, then every branch
    of_all_rows, gap = branches_of(np.ones(len(rows), bool))
    without = []  # of each block
    gaps = []
    for others in plan.weights.T > 0:
        branches, gap_without = branches_of(others)
        without.append(branches)
        gaps.append(gap_without)
    mean = np.mean(without, axis=0)
    values = count * of_all_rows - degrees * mean
    influence = sqrt(degrees / count) * (mean - np.array(without))
    errors = np.sqrt(np.sum(influence**2, axis=0))
    margin = quantile(degrees)
    distance = np.abs(of_all_rows - of_all_rows[0]).max(axis=1)
    active = np.flatnonzero(distance <= gap + ROUNDING)[-1]
    difference = influence[:, :, 0] - influence[:, active, None, 0]
    error_of_difference = np.sqrt(np.sum(difference**2, axis=0))
    limit = margin * error_of_difference + gap + ROUNDING
    plausible = np.abs(values[:, 0] - values[active, 0]) <= limit
    plausible[0] = True
    lows = (values - margin * errors)[plausible].min(axis=0)
    highs = (values + margin * errors)[plausible].max(axis=0)
    terms = []
    for place in range(4):
        term = Estimate(
            float(values[0, place]),
            float(errors[0, place]),
            NATS,
            len(rows),
            method,
            units=plan.units,
            degrees=degrees,
            interval=(float(lows[place]), float(highs[place])),
            influence=influence[:, 0, place],
        )
        terms.append(term)
    return Decomposition(*terms, count * gap + degrees * float(np.mean(gaps)))
