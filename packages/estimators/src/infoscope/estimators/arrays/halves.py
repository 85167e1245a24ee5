"""Half-samples of an estimate by nearest neighbours: its sampling error, and its movement with the sample size.

40 are drawn without replacement. Bias that does not move with the number of rows is not detected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators import uncertainty
from infoscope.estimators.arrays.protocol import Pairs
from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.resampling import halves
from infoscope.estimators.result import Estimate, quantile
from infoscope.estimators.uncertainty.bias import EXPONENT
from infoscope.estimators.variables import factorise, join

Measure = Callable[[Pairs], Estimate]
_HALVES = 40
_ROWS = 1_000  # that are halved at most
_FASTEST = 1.0  # power of k / n as which a bias shrinks: 2 / columns, as the square of a radius, or less (`bias`)
_MOVES = 2.0  # standard errors of a bias, from which a note says so
_TOO_SMALL = (
    "Too few rows, groups, or rows of a class, to be halved: the error leaves out that neighbours would be others, and "
    "may be a quarter too small."
)


@dataclass(frozen=True)
class Halved:
    """Results on half-samples.

    wider    inflation factor of the standard error, at least 1
    bias     predicted from the movement from half to all rows, nats
    wide     bias predicted from k = 1, nats, where k neighbours are not near; else 0
    degrees  of freedom of the error
    """

    wider: float = 1.0
    bias: float = 0.0
    wide: float = 0.0
    degrees: float = np.inf
    notes: tuple[str, ...] = ()

    def __call__(self, found: Estimate) -> Estimate:
        """The estimate with its sampling error, and an interval that includes the bias."""
        if self == Halved():
            return found
        error, degrees = self.wider * found.standard_error, min(found.degrees, self.degrees)
        margin, notes = quantile(degrees) * error, found.notes + self.notes
        if abs(self.bias) > _MOVES * error:
            notes += (
                f"The estimate moves with the number of rows: a bias of {self.bias:+.3f} nats is predicted from halves "
                "of them, which the interval holds; it may be more.",
            )
        low = found.value - margin - max(0.0, self.bias, self.wide)
        high = np.inf if np.isinf(found.high) else found.value + margin - min(0.0, self.bias, self.wide)
        return replace(
            found, standard_error=error, interval=(low, high), degrees=degrees, notes=notes,
            influence=None if found.influence is None else self.wider * found.influence,
        )  # fmt: skip


def half_samples(
    found: Estimate,
    pairs: Pairs,
    generator: np.random.Generator,
    k: int,
    margins: str = "auto",
    measure: Measure | None = None,
    columns: float = np.inf,
) -> Halved:
    """Half-samples (at most 1,000 rows, whole groups) of a kNN estimate or other measure; categories alone: none."""
    if not (pairs.x.dim or pairs.y.dim):
        return Halved()
    some = _some(pairs, _ROWS, generator)
    try:
        if measure is None:
            drawn = uncertainty.subsample(
                some.x, some.y, None, k, _HALVES, some.groups, generator, drift=False, margins=margins
            )
            whole, estimates, error = drawn.value, drawn.estimates, drawn.standard_error
        else:
            whole = found.value if some is pairs else measure(some).value
            estimates, error = _one_by_one(some, measure, generator)
    except ValueError:  # too few rows, groups, or rows of a class, to be halved
        return Halved(notes=(_TOO_SMALL,))
    of_rows = found.standard_error * sqrt(pairs.n / some.n)  # of so many rows, by the spread of their values
    if not of_rows > 0:
        return Halved()
    exponent = max(EXPONENT, min(_FASTEST, 2 / min(columns, pairs.x.dim + pairs.y.dim)))
    bias = float(estimates.mean() - whole) / (2.0**exponent - 1) * (some.n / pairs.n) ** exponent
    degrees = min(len(estimates), int(some.units.max()) + 1) - 1
    wide, notes = _wide(some, k, whole, margins, exponent) if measure is None else (0.0, ())
    return Halved(max(1.0, error / of_rows), bias, wide, degrees, notes)


def _wide(pairs: Pairs, k: int, whole: float, margins: str, exponent: float) -> tuple[float, tuple[str, ...]]:
    """The bias that one neighbour predicts, and a note, where k are many of the rows among which they are sought."""
    codes = join(pairs.x, pairs.y).codes
    rows = pairs.n if codes is None else float(np.median(np.bincount(codes)[codes]))
    if k <= knn.WIDE_SHARE * rows:
        return 0.0, ()
    one = knn.mutual_information(pairs.x, pairs.y, 1, margins=margins, groups=pairs.groups).value
    return (whole - one) / (1 - k**-exponent), (
        f"k = {k} neighbours are more than a tenth of the {rows:.0f} rows that are alike in their categories: these "
        f"are not near. One neighbour gives {one:.3f} nats, and the interval holds the bias that this predicts.",
    )


def _one_by_one(pairs: Pairs, measure: Measure, generator: np.random.Generator) -> tuple[NDArray[np.float64], float]:
    """The estimates of half-samples [B], and the error that they give; see `uncertainty.subsample`."""
    plan = halves(pairs.n, _HALVES, generator, pairs.groups)
    estimates = np.array([measure(rows_of(pairs, np.flatnonzero(half))).value for half in plan.weights.T])
    drawn = plan.units // 2
    return estimates, float(estimates.std(ddof=1)) * sqrt(drawn / (plan.units - drawn))


def _some(pairs: Pairs, most: int, generator: np.random.Generator) -> Pairs:
    """So many rows at most, whole groups as far as they fit."""
    if pairs.n <= most:
        return pairs
    order = generator.permutation(int(pairs.units.max()) + 1)[pairs.units]
    return rows_of(pairs, np.sort(np.argsort(order, kind="stable")[:most]))


def rows_of(pairs: Pairs, rows: NDArray[np.intp]) -> Pairs:
    """Some of the rows (indices)."""
    groups = None if pairs.groups is None else factorise(pairs.groups[rows])[0]
    return Pairs(pairs.x.take(rows), pairs.y.take(rows), groups)
