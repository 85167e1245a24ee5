"""Decomposition of jointly normal variables in closed form, for any dimensions; nats.

The union information is -1/2 log det P for the largest P with P <= P_a and P <= P_b, the covariances of a whitened
target given a and given b. In the basis where P_a is the identity and P_b diagonal, P is the minimum by entry
(Hadamard).
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

EPS = float(np.finfo(np.float64).eps)


def gaussian(covariance: ArrayLike, a: ArrayLike, b: ArrayLike, target: ArrayLike) -> Decomposition:
    """The decomposition ~_G of Venkatesh, Bennett, Gale, Ramirez, Heller, Durand, Olsen & Mihalas 2023, nats.

    covariance [d, d] may be singular; a, b, target: indices of its rows. Equals Bertschinger et al. 2014 for normal
    variables (2510.04417): with l the eigenvalues of cov(target | b) relative to cov(target | a), unique_a = 1/2 sum
    max(0, log l), unique_b = 1/2 sum max(0, -log l); for one target number the redundancy is the minimum (Barrett
    2015).

    ValueError: not symmetric or not positive semidefinite, rows that do not exist or overlap, a target that a and b
    determine.
    """
    return _with_branches(covariance, a, b, target)[0]


def _with_branches(
    covariance: ArrayLike, a: ArrayLike, b: ArrayLike, target: ArrayLike
) -> tuple[Decomposition, NDArray[np.float64]]:
    """The decomposition, and its terms with the first k directions of the target given to a, the others to b [., 4]."""
    correlation, (a, b, target) = _checked(covariance, a=a, b=b, target=target)
    basis = _whitening(correlation[np.ix_(target, target)])
    left, informations, gap = [], [], 0.0
    for name, source in (("a", a), ("b", b), ("a and b", np.concatenate([a, b]))):
        whitening = _whitening(correlation[np.ix_(source, source)])
        shared = basis.T @ correlation[np.ix_(target, source)] @ whitening
        left.append(np.eye(len(shared)) - shared @ shared.T)
        values, vectors = np.linalg.eigh(left[-1])
        least = values.min(initial=1.0)
        # The residual covariance is v' correlation v, v the basis and minus the coefficients of the source.
        rounding = len(correlation) * EPS * (_norm(basis) + _norm(whitening @ shared.T)) ** 2
        if least <= rounding:
            raise NoVariation(
                f"target must not be determined by {name}, got a share of {least:.2g} of unexplained variance, "
                f"where rounding is {rounding:.1g}: the information is infinite."
            )
        gap += float(len(shared) * rounding / least)
        informations.append(-0.5 * float(np.log(values).sum()))
        if name == "a":
            by_a = vectors / np.sqrt(values)
    logs = 0.5 * np.log(np.linalg.eigvalsh(by_a.T @ left[1] @ by_a))[::-1]
    of_a = np.concatenate([[0.0], np.cumsum(logs)])
    of_b = of_a - of_a[-1]
    branches = np.stack([of_a, of_b, informations[0] - of_a, informations[2] - informations[0] - of_b], axis=1)
    return Decomposition(*map(float, branches[np.sum(logs > 0)]), gap), branches


def gaussian_from_arrays(
    a: ArrayLike,
    b: ArrayLike,
    target: ArrayLike,
    margins: str = "given",
    groups: ArrayLike | None = None,
    blocks: int = 100,
    generator: np.random.Generator | None = None,
) -> Decomposition:
    """`gaussian` of the covariance of rows, Estimates in nats: bias and error by the delete-block jackknife (groups,
    blocks, generator as in `uncertainty.leave_one_out`).

    a, b, target  numbers [n] or [n, d]
    margins       "given", or "rank" (normal copula only)

    At kinks unique terms are too high by a part of their error; intervals include both branches (docs/pid.md).
    ValueError: as `gaussian`; different lengths; values that are not finite; unknown margins.
    """
    one_of("margins", margins, ("given", "rank"))
    variables, groups = as_numbers(groups, a=a, b=b, target=target)
    if margins == "rank":
        variables = [one.rank_normal() for one in variables]
    rows = np.hstack([one.continuous for one in variables])
    ends = np.cumsum([one.dim for one in variables])
    places = np.split(np.arange(ends[-1]), ends[:-1])
    plan = leave_one_out(len(rows), blocks, generator_or_default(generator), groups)
    method = "Gaussian PID, rank-normal margins" if margins == "rank" else "Gaussian PID"
    return _jackknifed(rows, places, plan, method)


def _checked(covariance: ArrayLike, **rows: ArrayLike) -> tuple[NDArray[np.float64], list[NDArray[np.int64]]]:
    """Correlations [d, d], 0 for constant variables, and the indices of each name."""
    (sigma,) = finite(covariance=covariance)
    if sigma.ndim != 2 or sigma.shape[0] != sigma.shape[1]:
        raise WrongShape(f"covariance must be square, got shape {sigma.shape}.")
    scale = np.sqrt(np.abs(np.diag(sigma)))
    correlation = np.divide(sigma, np.outer(scale, scale), out=np.zeros_like(sigma), where=np.outer(scale, scale) > 0)
    if np.abs(correlation - correlation.T).max(initial=0.0) > np.sqrt(EPS):
        raise Conflict("covariance must be symmetric, got different entries across the diagonal.")
    least = np.linalg.eigvalsh(correlation).min(initial=0.0)
    if least < -np.sqrt(EPS) or (np.diag(sigma) < 0).any() or sigma[scale == 0].any():
        raise OutOfRange(
            f"covariance must be positive semidefinite, got a correlation with an eigenvalue of {least:g}."
        )
    places = [np.atleast_1d(np.asarray(of)) for of in rows.values()]
    every = np.concatenate(places).tolist()
    if len(set(every)) < len(every) or not set(every) <= set(range(len(sigma))):
        raise Conflict(f"{', '.join(rows)} must be different rows of 0 to {len(sigma) - 1}, got {every}.")
    return correlation, places


def _whitening(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """w [d, rank] with w' block w = 1, without directions of no variance."""
    values, vectors = np.linalg.eigh(block)
    kept = values > 10 * len(block) * EPS * max(values.max(initial=0.0), EPS)
    return vectors[:, kept] / np.sqrt(values[kept])


def _norm(matrix: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(matrix))


def as_numbers(groups: ArrayLike | None = None, /, **given: ArrayLike | Variable) -> tuple[list[Variable], Any]:
    """Checked variables of numbers (also untyped integers) of one length, and the codes of groups [n] or None."""
    found, codes = as_variables(
        groups, **{name: one if _is_typed(one) else Continuous(one) for name, one in given.items()}
    )
    for name, one in found.items():
        if one.codes is not None:
            raise WrongType(f"{name} must be numbers, got categories, which have no covariance.")
    return list(found.values()), codes


def _is_typed(one: Any) -> bool:
    """Whether a variable, or a block of a list of them, is wrapped."""
    blocks = one if isinstance(one, list | tuple) else (one,)
    return any(isinstance(block, Variable | Continuous | Discrete | Angle) for block in blocks)


def _jackknifed(
    rows: NDArray[np.float64],
    places: Sequence[NDArray[np.int64]],
    plan: Resamples,
    method: str,
) -> Decomposition:
    """Estimates of the terms of rows [n, d], of which `places` are the columns of a, b and the target, by the
    delete-block jackknife (Quenouille 1956; Shao & Wu 1989), which removes bias proportional to 1 / n. Intervals
    include every plausible branch at kinks.
    """

    def branches_of(chosen: NDArray[np.bool_]) -> tuple[NDArray[np.float64], float]:
        terms, branches = _with_branches(np.cov(rows[chosen], rowvar=False), *places)
        return np.vstack([terms[:4], branches]), terms.gap

    whole, gap = branches_of(np.ones(len(rows), bool))  # [1 + B, 4]
    without, gaps = zip(*map(branches_of, plan.weights.T > 0))
    mean = np.mean(without, axis=0)
    values = plan.count * whole - (plan.count - 1) * mean
    influence = sqrt((plan.count - 1) / plan.count) * (mean - np.array(without))
    errors = np.sqrt(np.sum(influence**2, axis=0))
    reach = quantile(plan.count - 1)
    own = np.flatnonzero(np.abs(whole - whole[0]).max(axis=1) <= gap + ROUNDING)[-1]
    apart = influence[:, :, 0] - influence[:, own, None, 0]
    limit = reach * np.sqrt(np.sum(apart**2, axis=0)) + gap + ROUNDING
    plausible = np.abs(values[:, 0] - values[own, 0]) <= limit
    plausible[0] = True
    lows = (values - reach * errors)[plausible].min(axis=0)
    highs = (values + reach * errors)[plausible].max(axis=0)
    terms = []
    for place in range(4):
        interval = float(lows[place]), float(highs[place])
        terms.append(
            Estimate(
                float(values[0, place]), float(errors[0, place]), NATS, len(rows), method, units=plan.units,
                degrees=plan.count - 1, interval=interval, influence=influence[:, 0, place],
            )
        )  # fmt: skip
    return Decomposition(*terms, plan.count * gap + (plan.count - 1) * float(np.mean(gaps)))
