"""Six bounds of the terms of a decomposition, and the terms of a concrete one; nats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from infoscope.errors import MissingValues
from infoscope.estimators.result import BITS, NATS, Estimate
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.report import row
from infoscope.notebook import as_html, axes, intervals
from infoscope.notes import Note

TERMS = ("unique", "redundant", "synergistic")
ROUNDING = 1e-9  # nats by which a lower bound may exceed its upper one without a note
APART = (
    "the mutual informations were estimated separately, each with its own error and "
    "bias, and are inconsistent; bounds "
    "are not clipped, and their errors are about as large"
)


class Bounds(NamedTuple):
    """Lower and upper bounds of the unique information of a (against b), of the
    redundant and the synergistic one.
    """

    unique_low: Any
    unique_high: Any
    redundant_low: Any
    redundant_high: Any
    synergistic_low: Any
    synergistic_high: Any

    @property
    def excess(self) -> np.ndarray:
        """Largest excess of a lower over its upper bound, elementwise; below 0 where
        none crosses.
        """
        values = []
        for bound in self:
            value = getattr(bound, "value", bound)
            values.append(np.asarray(value, dtype=np.float64))
        lows = values[::2]
        highs = values[1::2]
        return np.max([low - high for low, high in zip(lows, highs)], axis=0)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on lower bounds above their upper bounds, with the size of the
        crossing.
        """
        excess = self.excess
        crossed = int((excess > ROUNDING).sum())
        if not crossed:
            return ()
        where = f" in {crossed} of {excess.size} places" if excess.ndim else ""
        return (
            f"Lower bounds are above their upper ones{where}, by up to "
            f"{float(excess.max()):.3g}: {APART}.",
        )

    def __str__(self) -> str:
        return "\n".join([repr(self), *self.notes])


# Each bound is the larger (low) or the smaller (high) of two linear terms in a, b and t
# = I(target; a), I(target; b), I(target; a, b): rows of coefficients. Tokui & Sato
# 2021, Eq. 7.
BRANCHES = Bounds(
    unique_low=((0, 0, 0), (1, -1, 0)),
    unique_high=((1, 0, 0), (0, -1, 1)),
    redundant_low=((0, 0, 0), (1, 1, -1)),
    redundant_high=((1, 0, 0), (0, 1, 0)),
    synergistic_low=((0, 0, 0), (-1, -1, 1)),
    synergistic_high=((-1, 0, 1), (0, -1, 1)),
)


def is_low(name: str) -> bool:
    """Whether a bound is a lower bound, the larger of its two branches."""
    return name.endswith("_low")


def bounds(
    i_target_a: ArrayLike, i_target_b: ArrayLike, i_target_ab: ArrayLike
) -> Bounds:
    """Six bounds from I(target; a), I(target; b) and I(target; a, b); arrays broadcast,
    all in one unit.

    They hold for every nonnegative decomposition (Tokui & Sato 2021, Eq. 7).
    Inconsistent estimates are not clipped, but noted. ValueError: a value is not
    finite.
    """
    terms = finite(
        i_target_a=i_target_a, i_target_b=i_target_b, i_target_ab=i_target_ab
    )
    return Bounds(*[bound(name, terms) for name in Bounds._fields])


def bound(name: str, terms: list[np.ndarray]) -> np.ndarray:
    """One bound of (a, b, t), by its name."""
    a, b, t = terms
    first, second = [
        sum([p * a, q * b, r * t], 0.0) for p, q, r in getattr(BRANCHES, name)
    ]
    return np.maximum(first, second) if is_low(name) else np.minimum(first, second)


def crossing_note(excess: float, error: float, unit: str) -> str:
    """A note that a lower bound exceeds its upper one, by how many standard errors, and
    why; "" if it does not.

    Of nats, the note is in bits.
    """
    if not excess > ROUNDING:
        return ""
    if unit == NATS:
        unit = BITS
        excess = excess / NATS_PER_BIT
        error = error / NATS_PER_BIT
    by = f"{excess:.3g} {unit}"
    if np.isfinite(error) and error > 0:
        by = f"{excess:.3g} ± {error:.2g} {unit}, {excess / error:.1f} standard errors"
    return Note(
        f"The lower bound is above the upper one by {by}: {APART}.", "crossed bounds"
    )


def finite(**values: ArrayLike) -> list[np.ndarray]:
    """The values as float64 arrays; ValueError naming the first that has a NaN or an
    infinity.
    """
    arrays = []
    for name, value in values.items():
        array = np.asarray(value, dtype=np.float64)
        bad = np.sum(~np.isfinite(array))
        if bad:
            raise MissingValues(
                f"{name} must be finite, got {bad} values that are not."
            )
        arrays.append(array)
    return arrays


class Decomposition(NamedTuple):  # a tuple cannot inherit InNotebook
    """Four terms that sum to I(target; a, b), nats: numbers or Estimates, within `gap`
    of the definition's value.
    """

    unique_a: float
    unique_b: float
    redundant: float
    synergistic: float
    gap: float

    @property
    def informations(self) -> tuple[float, float, float]:
        """I(target; a), I(target; b) and I(target; a, b), as `bounds` takes them."""
        a = self.unique_a + self.redundant
        b = self.unique_b + self.redundant
        both = a + self.unique_b + self.synergistic
        return a, b, both

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the terms, and which terms are below 0."""
        notes = []
        for name, value in zip(self._fields[:4], self):
            notes += as_estimate(value).notes
            if value < -max(ROUNDING, self.gap):
                bits = float(value) / NATS_PER_BIT
                sentence = (
                    f"{name} is {bits:.3g} bits, below 0 and therefore outside the "
                    "six bounds."
                )
                notes.append(Note(sentence, "below 0", name))
        return tuple(dict.fromkeys(notes))

    @property
    def table(self) -> pd.DataFrame:
        """A row for each term, in bits: its value, standard error, ends of the 95 %
        interval, unit, n and method.
        """
        table = pd.DataFrame([row(estimate) for estimate in self._bits])
        table.insert(0, "term", self._fields[:4])
        return table.drop(columns="notes")

    @property
    def _bits(self) -> list[Estimate]:
        """The four terms as Estimates in bits."""
        return [as_estimate(term).bits for term in self[:4]]

    def _repr_html_(self) -> str:
        return as_html([self._total(), *self.notes], self.table)

    def __str__(self) -> str:
        terms = [f"  {name}: {bits!r}" for name, bits in zip(self._fields, self._bits)]
        return "\n".join([self._total(), *terms, *self.notes])

    def _total(self) -> str:
        total = float(sum(self[:4])) / NATS_PER_BIT
        return f"I(target; a, b) = {total:z.3f} bits, the sum of four terms"

    def plot(self, ax: Any = None) -> Any:
        """Draws the four terms, bits, with 95 % intervals where known; returns the
        axes.
        """
        ax = axes(ax, (6.4, 2.4))
        intervals(ax, self._fields[:4], self._bits)
        return ax


def as_estimate(value: float) -> Estimate:
    """An Estimate unchanged; a number (nats) as an Estimate without error."""
    if isinstance(value, Estimate):
        return value
    return Estimate(float(value), 0.0)


def from_redundancy(
    informations: tuple[float, float, float], redundant: float, gap: float = 0.0
) -> Decomposition:
    """The decomposition with this redundancy: the other terms follow from the three
    mutual informations.
    """
    a, b, t = informations
    synergistic = t - a - b + redundant
    return Decomposition(a - redundant, b - redundant, redundant, synergistic, gap)


def either_specific(
    a: NDArray[np.float64], b: NDArray[np.float64], values: NDArray[np.int64]
) -> Iterator[NDArray[np.bool_]]:
    """The branches of I_min: local values [n] of b for the k target values where b is
    lower by most, else of a.
    """
    ahead = np.bincount(values, weights=a - b)
    place = np.argsort(np.argsort(-ahead))[values]
    return (place < k for k in range(len(ahead) + 1))
