"""Decompositions of tables of probabilities p(target, a, b) [T, A, B]; nats."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, null_space
from scipy.special import xlogy

from infoscope.errors import InvalidInput, OutOfRange, WrongShape
from infoscope.estimators.threads import threads_for
from infoscope.metrics.pid.terms import Decomposition, finite, from_redundancy


def discrete_information(table: ArrayLike) -> tuple[float, float, float]:
    """I(target; a), I(target; b) and I(target; a, b), nats, of probabilities p(target,
    a, b) [T, A, B].

    ValueError: not three axes, negative entries, a sum that is not 1 (to 1e-9).
    """
    p = distribution(table)
    about_a = shared(p.sum(axis=2))
    about_b = shared(p.sum(axis=1))
    about_both = shared(p.reshape(len(p), -1))
    return about_a, about_b, about_both


def williams_beer(table: ArrayLike) -> Decomposition:
    """The decomposition whose redundancy is I_min, the expected least specific
    information (Williams & Beer 2010).

    table and errors as in discrete_information.
    """
    p = distribution(table)
    p = p[p.sum(axis=(1, 2)) > 0]
    specific_a = pointwise(p.sum(axis=2)).sum(axis=1)  # [T]
    specific_b = pointwise(p.sum(axis=1)).sum(axis=1)
    redundancy = float(np.minimum(specific_a, specific_b).sum())
    return from_redundancy(discrete_information(p), redundancy)


def discrete_shared_exclusion(table: ArrayLike) -> Decomposition:
    """The decomposition whose redundancy is I_sx (Makkeh, Gutknecht & Wibral 2021,
    2002.03356); terms may be below 0.

    Local value log p(t, a or b) / (p(t) p(a or b)). table and errors as in
    discrete_information.
    """
    p = distribution(table)
    with_a = p.sum(axis=2, keepdims=True)
    with_b = p.sum(axis=1, keepdims=True)
    either = with_a + with_b - p
    product = p.sum(axis=(1, 2), keepdims=True) * either.sum(axis=0)
    local = xlogy(p, either) - xlogy(p, product)
    redundancy = float(local.sum())
    return from_redundancy(discrete_information(p), redundancy)


def broja(table: ArrayLike, tolerance: float = 1e-8) -> Decomposition:
    """The decomposition of Bertschinger, Rauh, Olbrich, Jost & Ay 2014: the least joint
    information with the given margins (target, a) and (target, b).

    Solved by a barrier method with a certified `gap`; hundreds of cells take a second,
    thousands minutes. table and errors as in discrete_information; ValueError also: a
    tolerance (nats) below 1e-10, or not reached.
    """
    if not tolerance >= 1e-10:
        raise OutOfRange(
            f"tolerance must be at least 1e-10 nats, the size of rounding errors, got {tolerance!r}."
        )
    p = distribution(table)
    a, b, t = discrete_information(p)
    # steps take milliseconds: several threads would wait for one another
    with threads_for(0):
        least, gap = _least_joint_information(p, tolerance)
    if gap > tolerance:
        raise InvalidInput(
            f"tolerance must be at least the {gap:.3g} nats that the solver reaches for this table, got {tolerance:g}."
        )
    return from_redundancy((a, b, t), a + b - least, gap)


def _least_joint_information(p: np.ndarray, tolerance: float) -> tuple[float, float]:
    """min I_q(target; a, b) over q with the margins (target, a) and (target, b) of p,
    and a bound on the error.

    Newton steps with a log barrier; for any d = gradient + margins, I_q - min <= d.q -
    min d.
    """
    p_target = p.sum(axis=(1, 2), keepdims=True)
    possible = p_target.ravel() > 0
    p = p[possible]
    p_target = p_target[possible]
    with_a = p.sum(axis=2, keepdims=True)
    with_b = p.sum(axis=1, keepdims=True)
    start = with_a * with_b / p_target
    cells = np.flatnonzero(start)
    target, a, b = np.unravel_index(cells, p.shape)
    q = start.ravel()[cells]
    q_target = p_target.ravel()[target]
    pair = one_hot(a * p.shape[2] + b)
    margin_a = one_hot(target * p.shape[1] + a)
    margin_b = one_hot(target * p.shape[2] + b)
    margins = np.vstack([margin_a, margin_b])
    weight = 0.1  # of the barrier
    gap = np.inf
    while gap > tolerance and weight > 1e-4 * tolerance / len(q):
        for _ in range(50):
            q_pair = pair.T @ (pair @ q)
            gradient = q * np.log(q / q_pair / q_target) - weight
            coupling = (q[:, None] * q / q_pair) * (pair.T @ pair)
            curvature = np.diag(q + weight) - coupling
            step = _newton_step(curvature, gradient, margins * q)
            decrement = -float(step @ gradient)
            if decrement < 1e-3 * weight:
                break
            length = _step_length(q, step, pair, weight, decrement)
            q = q * (1 + step * length)
        reduced = (weight - curvature @ step) / q
        gap = float(reduced @ q - reduced.min())
        weight *= 0.2
    joint = np.zeros(p.size)
    joint[cells] = q
    return shared(joint.reshape(len(p), -1)), gap


def _newton_step(
    curvature: np.ndarray, gradient: np.ndarray, constraints: np.ndarray
) -> np.ndarray:
    """The minimiser of gradient.u + u' curvature u / 2 with constraints @ u = 0."""
    scale = constraints.sum(axis=1, keepdims=True)
    free = null_space(constraints / scale)
    factor = cho_factor(free.T @ curvature @ free)
    solution = cho_solve(factor, free.T @ gradient)
    return -free @ solution


def _step_length(
    q: np.ndarray, step: np.ndarray, pair: np.ndarray, weight: float, decrement: float
) -> float:
    """The step length: inside the polytope, with a sufficient decrease (Armijo's rule)."""

    def barrier(x: np.ndarray) -> float:
        x_pair = pair.T @ (pair @ x)
        return float(x @ np.log(x / x_pair) - weight * np.log(x).sum())

    here = barrier(q)
    length = min(1.0, 0.95 / max(np.max(-step), 1e-300))
    while (
        barrier(q * (1 + length * step)) > here - 0.1 * length * decrement
        and length > 1e-8
    ):
        length /= 2
    return length


def shared(p: np.ndarray) -> float:
    """Mutual information of the two axes of p [T, A], nats."""
    return float(pointwise(p).sum())


def pointwise(p: np.ndarray) -> np.ndarray:
    """p(t, a) log p(t, a) / (p(t) p(a)) for every cell [T, A], nats; 0 where p is 0."""
    product = p.sum(axis=1, keepdims=True) * p.sum(axis=0)
    ratio = np.divide(p, product, out=np.ones_like(p), where=p > 0)
    return p * np.log(ratio)


def distribution(table: ArrayLike) -> np.ndarray:
    """float64 [T, A, B], checked."""
    (p,) = finite(table=table)
    if p.ndim != 3:
        raise WrongShape(f"table must have shape [target, a, b], got {p.shape}.")
    total = p.sum()
    if (p < 0).any() or abs(total - 1) > 1e-9:
        raise OutOfRange(
            f"table must be at least 0 and sum to 1, got a least entry of {p.min():g} and a sum of {total:.12g}."
        )
    return p


def one_hot(codes: np.ndarray) -> np.ndarray:
    """[classes, n], 1 where an element is of a class."""
    classes = np.unique(codes)[:, None]
    return (classes == codes).astype(np.float64)
