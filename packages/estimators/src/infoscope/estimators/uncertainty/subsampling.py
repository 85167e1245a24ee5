"""Sampling intervals of nearest-neighbour estimates, nats, by half-samples (Politis & Romano 1994).

The interval is for the estimator's expectation at this sample size; for the true value call `estimate(x, y)`. Sums and
differences of estimates on the same half-samples have paired errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.checks import require_int
from infoscope.errors import Conflict, NoVariation, TooFew
from infoscope.estimators.alignment import group_codes
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.result import Estimate, root_sum_squares
from infoscope.estimators.uncertainty._engine import Sample, Weights, class_counts, codes_of, resampled
from infoscope.estimators.variables import join

MIN_UNITS = 8  # rows or groups to draw subsamples from, for a usable variance
HALF_SAMPLES, JACKKNIFE = "half-subsamples", "delete-group jackknife"


@dataclass(frozen=True, eq=False)
class Resamples:
    """Subsamples of one data set; estimates on the same Resamples have paired errors.

    weights uint8 [n, B]: 1 where a row is in a subsample
    units   number of rows or groups drawn from
    """

    weights: NDArray[np.uint8]
    scheme: str
    units: int

    @property
    def n(self) -> int:
        return len(self.weights)

    @property
    def count(self) -> int:
        return self.weights.shape[1]


def half_samples(n: int, count: int, generator: np.random.Generator, groups: ArrayLike | None = None) -> Resamples:
    """`count` independent random half-samples of n rows, or of their groups [n], without replacement."""
    units, of_row = _units(n, groups)
    count = require_int("count", count, 10)
    chosen = np.zeros((units, count), np.uint8)
    for column in chosen.T:
        column[generator.permutation(units)[: units // 2]] = 1
    return Resamples(_rows(chosen, of_row), HALF_SAMPLES, units)


def leave_one_out(n: int, blocks: int, generator: np.random.Generator, groups: ArrayLike | None = None) -> Resamples:
    """The sample without each of `blocks` random equal blocks of n rows; with groups [n], of whole groups."""
    units, of_row = _units(n, groups)
    blocks = min(require_int("blocks", blocks, MIN_UNITS), units)
    part = np.empty(units, np.int64)
    part[generator.permutation(units)] = np.arange(units) % blocks
    weights = _rows((part[:, None] != np.arange(blocks)).astype(np.uint8), of_row)
    return Resamples(weights, JACKKNIFE, units)


def _units(n: int, groups: ArrayLike | None) -> tuple[int, NDArray[np.int64] | None]:
    units, codes = (n, None) if groups is None else group_codes(n, groups)
    if units < MIN_UNITS:
        what = "rows" if groups is None else "groups"
        raise TooFew(f"{what} must be at least {MIN_UNITS} to draw subsamples from, got {units}.")
    return units, codes


def _rows(chosen: NDArray[np.uint8], of_row: NDArray[np.int64] | None) -> NDArray[np.uint8]:
    return np.ascontiguousarray(chosen if of_row is None else chosen[of_row])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Uncertain(Estimate):
    """An estimate with an interval for its expectation at this sample size, nats; see `Estimate`.

    units      number of rows or groups drawn from
    estimates  [B], of every half-sample; sums and differences on the same `resamples` have errors of their own
    """

    estimates: NDArray[np.float64]
    resamples: Resamples

    def _plus(self, other: float, sign: float) -> Estimate:
        found = super()._plus(other, sign)
        if not isinstance(other, Uncertain):
            return found
        if not np.array_equal(self.resamples.weights, other.resamples.weights):
            raise Conflict("terms must share one Resamples, got different ones; pass the same `resamples` to each.")
        values = self.estimates + sign * other.estimates
        return uncertain(found.value, found.method, found.notes, found.settings, values, self.resamples)


def subsample(
    x: Any,
    y: Any,
    z: Any = None,
    k: int = 5,
    resamples: int | Resamples = 100,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
    margins: str = "auto",
) -> Uncertain:
    """I(x; y) or I(x; y | z), nats, with a sampling interval from random half-samples.

    resamples  how many half-samples, or the Resamples that other estimates share (then groups must be None)
    groups     [n], dependent rows, drawn together; exact copies within one are counted once
    margins    as of `knn.mutual_information`

    The standard error is sqrt(m / (n - m)) times the standard deviation of estimates on m of n rows. ValueError: as
    `knn.mutual_information`; fewer than 8 rows or groups; fewer than 10 resamples; a subsample with one class only.
    """
    sample, codes = Sample.of(x, y, z, margins, groups)
    sample, codes = sample.without_copies(codes)
    plan = shared(resamples, sample.n, codes)
    if plan is None:
        plan = half_samples(sample.n, resamples, generator_or_default(generator), codes)
    _require_classes_in_each(sample, plan.weights)
    value, *estimates = resampled(sample, np.hstack([np.ones((sample.n, 1), np.uint8), plan.weights]), k)
    method, neighbours, notes = knn.treatment(sample.variables, k)
    settings = ", ".join([f"k = {k}"] * bool(neighbours) + [f"{plan.scheme} ({plan.count})"])
    found = uncertain(float(value), method, notes, settings, np.array(estimates), plan)
    return replace(found, standard_error=max(found.standard_error, sample.second_order_error(plan.units)))


def shared(resamples: Any, n: int, groups: ArrayLike | None) -> Resamples | None:
    """The Resamples given; None if it is a number. ValueError if they do not fit."""
    if not isinstance(resamples, Resamples):
        return None
    if groups is not None:
        raise Conflict("groups must be None where resamples are given; they were drawn with their own groups.")
    if resamples.scheme != HALF_SAMPLES or resamples.n != n:
        raise Conflict(f"resamples must be {HALF_SAMPLES} of {n} rows, got {resamples.scheme} of {resamples.n}.")
    return resamples


def _require_classes_in_each(sample: Sample, weights: Weights) -> None:
    """ValueError if x or y has only one class in the sample or a subsample, where the estimate is always 0."""
    joint = join(*sample.variables)
    kept, _ = knn.without_singletons(joint)
    knn.require_classes(kept, **{name: variable.take(kept) for name, variable in zip("xy", sample.variables)})
    codes = codes_of(joint)
    # rows alone in their class are left out where neighbours are searched
    present = class_counts(codes, joint.categories, weights) > (1 if joint.dim else 0)
    _, first = np.unique(codes, return_index=True)
    for name, variable in zip("xy", sample.variables):
        if variable.kind == "discrete":
            there = np.zeros((variable.categories, weights.shape[1]), bool)
            np.logical_or.at(there, variable.codes[first], present)
            lost = int((there.sum(axis=0) < 2).sum())
            if lost:
                raise NoVariation(
                    f"{name} must have at least two classes in every subsample, but the rarest is missing from {lost} "
                    f"of {weights.shape[1]} (or alone there): merge or drop it."
                )


def uncertain(
    value: float, method: str, notes: tuple[str, ...], settings: str, estimates: NDArray, plan: Resamples
) -> Uncertain:
    """The estimate with the standard error that the half-samples give, and its influence [B]."""
    drawn = plan.units // 2
    scale = np.sqrt(drawn / (plan.units - drawn) / (plan.count - 1))
    influence = (estimates - estimates.mean()) * scale
    return Uncertain(
        value,
        root_sum_squares(influence),
        n=plan.n,
        method=method,
        notes=notes,
        settings=settings,
        units=plan.units,
        degrees=min(plan.count, plan.units) - 1,
        influence=influence,
        estimates=estimates,
        resamples=plan,
    )
