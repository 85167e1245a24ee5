"""Decomposition of jointly normal variables in closed form, for any dimensions; nats.

The union information is -1/2 log det P for the largest P with P <= P_a and P <= P_b, the covariances of a whitened
target given a and given b. In the basis where P_a is the identity and P_b diagonal, P is the lesser by entry
(Hadamard).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.checks import one_of
from infoscope.errors import Conflict, NoVariation, OutOfRange, WrongShape
from infoscope.metrics.pid.sampling import as_rows, jackknifed
from infoscope.metrics.pid.terms import Decomposition, finite

EPS = float(np.finfo(np.float64).eps)


def gaussian(covariance: ArrayLike, a: ArrayLike, b: ArrayLike, target: ArrayLike) -> Decomposition:
    """The decomposition ~_G of Venkatesh, Bennett, Gale, Ramirez, Heller, Durand, Olsen & Mihalas 2023, nats.

    covariance [d, d] may be singular; a, b, target: its rows. Equals Bertschinger et al. 2014 for normal variables
    (2510.04417): with l the eigenvalues of cov(target | b) relative to cov(target | a), unique_a = 1/2 sum max(0, log
    l), unique_b = 1/2 sum max(0, -log l); for one target number the redundancy is the minimum (Barrett 2015).

    ValueError: not symmetric or not positive semidefinite, rows that are not there or overlap, a target that a and b
    determine.
    """
    return _with_branches(covariance, a, b, target)[0]


def _with_branches(
    covariance: ArrayLike, a: ArrayLike, b: ArrayLike, target: ArrayLike
) -> tuple[Decomposition, NDArray[np.float64]]:
    """The decomposition, and its terms with the first k directions of the target given to a, the others to b [., 4]."""
    correlation, (a, b, target) = _checked(covariance, a=a, b=b, target=target)
    basis = _whitening(correlation[np.ix_(target, target)])
    left, told, gap = [], [], 0.0
    for words, source in (("a", a), ("b", b), ("a and b", np.concatenate([a, b]))):
        whitening = _whitening(correlation[np.ix_(source, source)])
        shared = basis.T @ correlation[np.ix_(target, source)] @ whitening
        left.append(np.eye(len(shared)) - shared @ shared.T)
        values, vectors = np.linalg.eigh(left[-1])
        least = values.min(initial=1.0)
        # What is left is v' correlation v with v the basis and minus the coefficients of the source.
        rounding = len(correlation) * EPS * (_norm(basis) + _norm(whitening @ shared.T)) ** 2
        if least <= rounding:
            raise NoVariation(
                f"target must not be determined by {words}, got a share of {least:.2g} of its variance beyond it, "
                f"where rounding is {rounding:.1g}: its information is infinite."
            )
        gap += float(len(shared) * rounding / least)
        told.append(-0.5 * float(np.log(values).sum()))
        if words == "a":
            by_a = vectors / np.sqrt(values)
    logs = 0.5 * np.log(np.linalg.eigvalsh(by_a.T @ left[1] @ by_a))[::-1]
    of_a = np.concatenate([[0.0], np.cumsum(logs)])
    of_b = of_a - of_a[-1]
    branches = np.stack([of_a, of_b, told[0] - of_a, told[2] - told[0] - of_b], axis=1)
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
    blocks, generator as of `uncertainty.leave_one_out`).

    a, b, target  numbers [n] or [n, d]
    margins       "given", or "rank" (normal copula only)

    At kinks unique terms are too high by a part of their error; intervals include both branches (docs/pid.md).
    ValueError: as `gaussian`; rows that do not fit; values that are not finite; unknown margins.
    """
    one_of("margins", margins, ("given", "rank"))
    sides, groups = as_rows(groups, a=a, b=b, target=target)
    if margins == "rank":
        sides = [side.rank_normal() for side in sides]
    rows = np.hstack([side.continuous for side in sides])
    ends = np.cumsum([side.dim for side in sides])
    places = np.split(np.arange(ends[-1]), ends[:-1])
    return jackknifed(
        lambda kept: _with_branches(np.cov(rows[kept], rowvar=False), *places), len(rows), groups, blocks, generator,
        "Gaussian PID, rank-normal margins" if margins == "rank" else "Gaussian PID",
    )  # fmt: skip


def _checked(covariance: ArrayLike, **rows: ArrayLike) -> tuple[NDArray[np.float64], list[NDArray[np.int64]]]:
    """The correlations of what varies [d, d], 0 for what does not, and the places of each name in it."""
    (sigma,) = finite(covariance=covariance)
    if sigma.ndim != 2 or sigma.shape[0] != sigma.shape[1]:
        raise WrongShape(f"covariance must be square, got shape {sigma.shape}.")
    scale = np.sqrt(np.abs(np.diag(sigma)))
    correlation = np.divide(sigma, np.outer(scale, scale), out=np.zeros_like(sigma), where=np.outer(scale, scale) > 0)
    if np.abs(correlation - correlation.T).max(initial=0.0) > np.sqrt(EPS):
        raise Conflict("covariance must be symmetric, got entries that differ from those across the diagonal.")
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
    """w [d, rank] with w' block w = 1, without the directions that do not vary."""
    values, vectors = np.linalg.eigh(block)
    kept = values > 10 * len(block) * EPS * max(values.max(initial=0.0), EPS)
    return vectors[:, kept] / np.sqrt(values[kept])


def _norm(matrix: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(matrix))
