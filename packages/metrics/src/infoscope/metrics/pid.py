"""Partial information decomposition of what two sources a and b tell about a target, nats.

I(target; a, b) is the sum of what a alone knows (unique), what b alone knows, what both know (redundant) and what only
the two together tell (synergistic). Three mutual informations leave one degree of freedom, so a decomposition needs a
definition; `bounds` holds for every one whose terms are not negative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, null_space

ROUNDING = 1e-9  # up to which a lower bound may be above its upper one without a note, nats
CROSSED = "The lower bound is above the upper one"  # how a note on one pair of bounds begins
APART = (
    "the mutual informations were estimated apart, each with an error and a bias of its own, and contradict one "
    "another; nothing is clipped, and the bounds are off by about as much"
)


class Bounds(NamedTuple):
    """Lower and upper bounds of the unique information of a (against b), of the redundant and of the synergistic.

    Estimates may cross; `notes` then says so, and is printed with them.
    """

    unique_low: Any
    unique_high: Any
    redundant_low: Any
    redundant_high: Any
    synergistic_low: Any
    synergistic_high: Any

    @property
    def excess(self) -> np.ndarray:
        """How far the lower bounds are above their upper ones, elementwise, the most of the three terms; below 0 where
        they are in order. Of the bounds of one source it is the same for all three.
        """
        values = [np.asarray(getattr(one, "value", one), dtype=np.float64) for one in self]
        return np.max([low - high for low, high in zip(values[::2], values[1::2])], axis=0)

    @property
    def crossed(self) -> np.ndarray:
        """The bounds that cross: lower ones above their upper ones by more than rounding."""
        return self.excess > ROUNDING

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader: where bounds cross, and by how much."""
        count = int(self.crossed.sum())
        if not count:
            return ()
        where = "" if self.crossed.ndim == 0 else f" in {count} of {self.crossed.size} places"
        return (f"Lower bounds are above their upper ones{where}, by up to {float(self.excess.max()):.3g}: {APART}.",)

    def __str__(self) -> str:
        return "\n".join([repr(self), *self.notes])


# Each bound is the larger (low) or the smaller (high) of two linear terms in a, b and t = I(target; a), I(target; b),
# I(target; a, b): rows of coefficients. Tokui & Sato 2021, Eq. 7.
BRANCHES = Bounds(
    unique_low=((0, 0, 0), (1, -1, 0)),
    unique_high=((1, 0, 0), (0, -1, 1)),
    redundant_low=((0, 0, 0), (1, 1, -1)),
    redundant_high=((1, 0, 0), (0, 1, 0)),
    synergistic_low=((0, 0, 0), (-1, -1, 1)),
    synergistic_high=((-1, 0, 1), (0, -1, 1)),
)


def is_low(name: str) -> bool:
    """Whether a bound is a lower one, and so the larger of its two branches."""
    return name.endswith("_low")


def bounds(i_target_a: ArrayLike, i_target_b: ArrayLike, i_target_ab: ArrayLike) -> Bounds:
    """Six bounds from I(target; a), I(target; b) and I(target; a, b); arrays broadcast, any one unit.

    They hold for every decomposition with terms of at least 0 that sum to the three mutual informations (Tokui & Sato
    2021, Eq. 7). All three intervals have the width min(a, b, t - a, t - b). Estimates may contradict one another
    (t below a): nothing is clipped, an upper bound is then below its lower one, and `notes` of the bounds says so.

    ValueError: a value is not finite.
    """
    terms = finite(i_target_a=i_target_a, i_target_b=i_target_b, i_target_ab=i_target_ab)
    return Bounds(*[bound(name, terms) for name in Bounds._fields])


def bound(name: str, terms: list[np.ndarray]) -> np.ndarray:
    """One bound of (a, b, t), by its name."""
    one, other = [sum(c * term for c, term in zip(row, terms, strict=True)) for row in getattr(BRANCHES, name)]
    return np.maximum(one, other) if is_low(name) else np.minimum(one, other)


def crossing_note(excess: float, error: float, unit: str) -> str:
    """That a lower bound is above its upper one, by how many standard errors, and why; "" where it is not."""
    if not excess > ROUNDING:
        return ""
    known = np.isfinite(error) and error > 0
    by = f"{excess:.3g} ± {error:.2g} {unit}, {excess / error:.1f} standard errors" if known else f"{excess:.3g} {unit}"
    return f"{CROSSED} by {by}: {APART}."


def co_information(i_target_a: ArrayLike, i_target_b: ArrayLike, i_target_ab: ArrayLike) -> np.ndarray:
    """I(target; a) + I(target; b) - I(target; a, b): redundancy minus synergy, positive where redundancy prevails.

    ValueError: a value is not finite.
    """
    a, b, t = finite(i_target_a=i_target_a, i_target_b=i_target_b, i_target_ab=i_target_ab)
    return a + b - t


def finite(**values: ArrayLike) -> list[np.ndarray]:
    """The values as float64 arrays; ValueError naming the first that has a NaN or an infinity."""
    arrays = [np.asarray(value, dtype=np.float64) for value in values.values()]
    for name, array in zip(values, arrays, strict=True):
        if not np.isfinite(array).all():
            raise ValueError(f"{name} has {np.sum(~np.isfinite(array))} values that are not finite; all must be.")
    return arrays


class Decomposition(NamedTuple):
    """Four terms that sum to I(target; a, b), nats. Each is within `gap` of the definition's exact value."""

    unique_a: float
    unique_b: float
    redundant: float
    synergistic: float
    gap: float


def discrete_information(table: ArrayLike) -> tuple[float, float, float]:
    """I(target; a), I(target; b) and I(target; a, b), nats, of probabilities p(target, a, b) [T, A, B].

    ValueError: not three axes, negative entries, a sum that is not 1 (to 1e-9).
    """
    p = distribution(table)
    return shared(p.sum(axis=2)), shared(p.sum(axis=1)), shared(p.reshape(len(p), -1))


def williams_beer(table: ArrayLike) -> Decomposition:
    """The decomposition whose redundancy is I_min, the expected least specific information (Williams & Beer 2010).

    table and errors as of discrete_information.
    """
    p = distribution(table)
    p = p[p.sum(axis=(1, 2)) > 0]
    specific = [of_source.sum(axis=1) for of_source in (pointwise(p.sum(axis=2)), pointwise(p.sum(axis=1)))]
    return _from_redundancy(discrete_information(p), float(np.minimum(*specific).sum()), 0.0)


def broja(table: ArrayLike, tolerance: float = 1e-8) -> Decomposition:
    """The decomposition of Bertschinger, Rauh, Olbrich, Jost & Ay 2014: the sources together know as little as their
    pairs with the target allow.

    I(target; a, b) is minimised over distributions q with the (target, a) and (target, b) margins of p, a convex
    problem solved by a barrier method. `gap` is certified: no q of the polytope is lower by more. table and its errors
    as of discrete_information; hundreds of cells take a second, thousands minutes.

    ValueError: also a tolerance (nats) below 1e-10, and one that the gap does not come below.
    """
    if not tolerance >= 1e-10:
        raise ValueError(f"tolerance must be at least 1e-10 nats, below which rounding decides, got {tolerance!r}.")
    p = distribution(table)
    a, b, t = discrete_information(p)
    least, gap = _least_joint_information(p, tolerance)
    if gap > tolerance:
        raise ValueError(f"tolerance is {tolerance:g} nats; the solver got to {gap:.3g} for this table.")
    return _from_redundancy((a, b, t), a + b - least, gap)


def _from_redundancy(informations: tuple[float, float, float], redundant: float, gap: float) -> Decomposition:
    """The other terms follow from the two identities of the margins and the sum."""
    a, b, t = informations
    return Decomposition(a - redundant, b - redundant, redundant, t - a - b + redundant, gap)


def _least_joint_information(p: np.ndarray, tolerance: float) -> tuple[float, float]:
    """min I_q(target; a, b) over q with the margins (target, a) and (target, b) of p, and a bound on what is left.

    Newton steps on the objective plus -weight sum log q, in relative changes of q. For any d that differs from the
    gradient by a combination of margins, I_q - min <= d.q - min d; Newton's equation gives such a d.
    """
    of_target = p.sum(axis=(1, 2), keepdims=True)
    p, of_target = p[of_target.ravel() > 0], of_target[of_target.ravel() > 0]
    start = p.sum(axis=2, keepdims=True) * p.sum(axis=1, keepdims=True) / of_target
    cells = np.flatnonzero(start)
    target, a, b = np.unravel_index(cells, p.shape)
    q, pair = start.ravel()[cells], one_hot(a * p.shape[2] + b)
    margins = np.vstack([one_hot(target * p.shape[1] + a), one_hot(target * p.shape[2] + b)])
    weight, gap = 0.1, np.inf
    while gap > tolerance and weight > 1e-4 * tolerance / len(q):
        for _ in range(50):
            of_pair = pair.T @ (pair @ q)
            gradient = q * np.log(q / of_pair / of_target.ravel()[target]) - weight
            curvature = np.diag(q + weight) - (q[:, None] * q / of_pair) * (pair.T @ pair)
            step = _newton_step(curvature, gradient, margins * q)
            decrement = -float(step @ gradient)
            if decrement < 1e-3 * weight:
                break
            q = q * (1 + step * _step_length(q, step, pair, weight, decrement))
        reduced = (weight - curvature @ step) / q
        gap = float(reduced @ q - reduced.min())
        weight *= 0.2
    joint = np.zeros(p.size)
    joint[cells] = q
    return shared(joint.reshape(len(p), -1)), gap


def _newton_step(curvature: np.ndarray, gradient: np.ndarray, constraints: np.ndarray) -> np.ndarray:
    """The minimiser of gradient.u + u' curvature u / 2 with constraints @ u = 0."""
    free = null_space(constraints / constraints.sum(axis=1, keepdims=True))
    return -free @ cho_solve(cho_factor(free.T @ curvature @ free), free.T @ gradient)


def _step_length(q: np.ndarray, step: np.ndarray, pair: np.ndarray, weight: float, decrement: float) -> float:
    """How far to go: inside the polytope, and far enough down (Armijo's rule)."""

    def barrier(x: np.ndarray) -> float:
        return float(x @ np.log(x / (pair.T @ (pair @ x))) - weight * np.log(x).sum())

    length, here = min(1.0, 0.95 / max(np.max(-step), 1e-300)), barrier(q)
    while barrier(q * (1 + length * step)) > here - 0.1 * length * decrement and length > 1e-8:
        length /= 2
    return length


def shared(p: np.ndarray) -> float:
    """Mutual information of the two axes of p [T, A], nats."""
    return float(pointwise(p).sum())


def pointwise(p: np.ndarray) -> np.ndarray:
    """p(t, a) log p(t, a) / (p(t) p(a)) for every cell [T, A], nats; 0 where p is 0."""
    product = p.sum(axis=1, keepdims=True) * p.sum(axis=0)
    return p * np.log(np.divide(p, product, out=np.ones_like(p), where=p > 0))


def distribution(table: ArrayLike) -> np.ndarray:
    """float64 [T, A, B], checked."""
    (p,) = finite(table=table)
    if p.ndim != 3:
        raise ValueError(f"table must have shape [target, a, b], got {p.shape}.")
    if (p < 0).any() or abs(p.sum() - 1) > 1e-9:
        raise ValueError(
            f"table must be at least 0 and sum to 1, got a least entry of {p.min():g} and a sum of {p.sum():.12g}."
        )
    return p


def one_hot(codes: np.ndarray) -> np.ndarray:
    """[classes, n], 1 where an element is of a class."""
    return (np.unique(codes)[:, None] == codes).astype(np.float64)
