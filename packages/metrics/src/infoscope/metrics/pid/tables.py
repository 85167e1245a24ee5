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
    """I(target; a), I(target; b) and I(target; a, b), nats.

    Parameters
    ----------
    table
        Probabilities p(target, a, b) [T, A, B].

    Raises
    ------
    ValueError
        Not three axes, negative entries, a sum that is not 1 (to 1e-9).

    Examples
    --------
    >>> copies = np.zeros((2, 2, 2))
    >>> copies[0, 0, 0] = copies[1, 1, 1] = 0.5
    >>> print([f"{nats:.2f}" for nats in discrete_information(copies)])
    ['0.69', '0.69', '0.69']
    """
    p = distribution(table)
    about_a = shared(p.sum(axis=2))
    about_b = shared(p.sum(axis=1))
    about_both = shared(p.reshape(len(p), -1))
    return about_a, about_b, about_both


def williams_beer(table: ArrayLike) -> Decomposition:
    """The decomposition with redundancy I_min, the expected least specific information
    (Williams & Beer 2010).

    Parameters and errors are as in discrete_information.

    Examples
    --------
    >>> copies = np.zeros((2, 2, 2))
    >>> copies[0, 0, 0] = copies[1, 1, 1] = 0.5
    >>> print(f"{williams_beer(copies).redundant:.2f}")
    0.69
    """
    p = distribution(table)
    p = p[p.sum(axis=(1, 2)) > 0]
    local_a = pointwise(p.sum(axis=2))
    local_b = pointwise(p.sum(axis=1))
    # specific information of each value of the target [T]
    specific_a = local_a.sum(axis=1)
    specific_b = local_b.sum(axis=1)
    redundancy = np.minimum(specific_a, specific_b).sum()
    return from_redundancy(discrete_information(p), float(redundancy))


def discrete_shared_exclusion(table: ArrayLike) -> Decomposition:
    """The decomposition with redundancy I_sx (Makkeh, Gutknecht & Wibral 2021,
    2002.03356).

    The local redundancy is log p(t, a or b) / (p(t) p(a or b)); terms may be below 0.
    Parameters and errors are as in discrete_information.

    Examples
    --------
    >>> copies = np.zeros((2, 2, 2))
    >>> copies[0, 0, 0] = copies[1, 1, 1] = 0.5
    >>> print(f"{discrete_shared_exclusion(copies).redundant:.2f}")
    0.69
    """
    p = distribution(table)
    p_target = p.sum(axis=(1, 2), keepdims=True)
    with_a = p.sum(axis=2, keepdims=True)
    with_b = p.sum(axis=1, keepdims=True)
    either = with_a + with_b - p
    product = p_target * either.sum(axis=0)
    local = xlogy(p, either) - xlogy(p, product)
    redundancy = float(local.sum())
    return from_redundancy(discrete_information(p), redundancy)


def broja(table: ArrayLike, tolerance: float = 1e-8) -> Decomposition:
    """The decomposition of Bertschinger, Rauh, Olbrich, Jost & Ay 2014.

    Synergy is the joint information above its minimum over all tables with the same
    margins (target, a) and (target, b). A barrier method finds the minimum with a
    certified `gap`; hundreds of cells take a second, thousands minutes.

    Parameters
    ----------
    table
        Probabilities p(target, a, b) [T, A, B].
    tolerance
        Largest gap, nats.

    Raises
    ------
    ValueError
        As in discrete_information; a tolerance below 1e-10, or not reached.

    Examples
    --------
    >>> xor = np.zeros((2, 2, 2))
    >>> xor[[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]] = 0.25
    >>> print(f"{broja(xor).synergistic:.2f}")
    0.69
    """
    if not tolerance >= 1e-10:
        raise OutOfRange(
            "tolerance must be at least 1e-10 nats, the size of rounding errors, got "
            f"{tolerance!r}."
        )
    p = distribution(table)
    informations = discrete_information(p)
    # steps take milliseconds: several threads would wait for one another
    with threads_for(0):
        least, gap = _least_joint_information(p, tolerance)
    if gap > tolerance:
        raise InvalidInput(
            f"tolerance must be at least the {gap:.3g} nats that the solver reaches "
            f"for this table, got {tolerance:g}."
        )
    redundancy = informations[0] + informations[1] - least
    return from_redundancy(informations, redundancy, gap)


def _least_joint_information(p: np.ndarray, tolerance: float) -> tuple[float, float]:
    """The minimum of I_q(target; a, b) over q with the margins (target, a) and (target,
    b) of p, and a bound on its error.

    Newton steps with a log barrier. For any d = gradient + margins, I_q exceeds the
    minimum by at most d.q - min d.
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
    same_pair = pair.T @ pair
    weight = 0.1  # of the barrier
    least_weight = 1e-4 * tolerance / len(q)
    gap = np.inf
    while gap > tolerance and weight > least_weight:
        for _ in range(50):
            q_pair = pair.T @ (pair @ q)
            log_ratio = np.log(q / q_pair / q_target)
            gradient = q * log_ratio - weight
            coupling = (q[:, None] * q / q_pair) * same_pair
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
    least = shared(joint.reshape(len(p), -1))
    return least, gap


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

    def barrier(length: float) -> float:
        x = q * (1 + length * step)
        x_pair = pair.T @ (pair @ x)
        log_ratio = np.log(x / x_pair)
        return float(x @ log_ratio - weight * np.log(x).sum())

    start = barrier(0.0)
    largest_decrease = np.max(-step)  # relative to the entry
    length = min(1.0, 0.95 / max(largest_decrease, 1e-300))
    while length > 1e-8 and barrier(length) > start - 0.1 * length * decrement:
        length /= 2
    return length


def shared(p: np.ndarray) -> float:
    """Mutual information of the two axes of p [T, A], nats."""
    return float(pointwise(p).sum())


def pointwise(p: np.ndarray) -> np.ndarray:
    """p(t, a) log p(t, a) / (p(t) p(a)) for every cell [T, A], nats; 0 where p is 0."""
    p_target = p.sum(axis=1, keepdims=True)
    product = p_target * p.sum(axis=0)
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
            f"table must be at least 0 and sum to 1, got a least entry of {p.min():g} "
            f"and a sum of {total:.12g}."
        )
    return p


def one_hot(codes: np.ndarray) -> np.ndarray:
    """[classes, n], 1 where an element is of a class."""
    classes = np.unique(codes)[:, None]
    return (classes == codes).astype(np.float64)
