"""Sampling intervals of nearest-neighbour estimates, nats, by half-samples.

Source: Politis & Romano 1994.

The interval is for the estimator's expectation at this sample size; for the true value
call `estimate(x, y)`. Sums and differences of estimates on the same half-samples have
paired errors.
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
from infoscope.estimators.uncertainty._engine import (
    Sample,
    Weights,
    class_counts,
    codes_of,
    resampled,
)
from infoscope.estimators.variables import join

MIN_UNITS = 8  # rows or groups to draw subsamples from, for a usable variance
HALF_SAMPLES, JACKKNIFE = "half-subsamples", "delete-group jackknife"


@dataclass(frozen=True, eq=False)
class Resamples:
    """Subsamples of one data set; estimates on the same Resamples have paired errors.

    weights  uint8 [n, B], 1 where a row is in a subsample
    scheme   half-samples or jackknife
    units    number of rows or groups drawn from
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


def half_samples(
    n: int, count: int, generator: np.random.Generator, groups: ArrayLike | None = None
) -> Resamples:
    """`count` independent random half-samples of n rows, without replacement.

    With groups [n], half-samples of the groups.
    """
    units, codes = _units(n, groups)
    count = require_int("count", count, 10)
    weights = np.zeros((units, count), np.uint8)
    for half_sample in weights.T:
        half_sample[generator.permutation(units)[: units // 2]] = 1
    return Resamples(_of_rows(weights, codes), HALF_SAMPLES, units)


def leave_one_out(
    n: int, blocks: int, generator: np.random.Generator, groups: ArrayLike | None = None
) -> Resamples:
    """The sample without each of `blocks` random blocks of n rows, of equal size.

    With groups [n], blocks of whole groups.
    """
    units, codes = _units(n, groups)
    blocks = min(require_int("blocks", blocks, MIN_UNITS), units)
    block_of_unit = np.empty(units, np.int64)
    block_of_unit[generator.permutation(units)] = np.arange(units) % blocks
    weights = (block_of_unit[:, None] != np.arange(blocks)).astype(np.uint8)
    return Resamples(_of_rows(weights, codes), JACKKNIFE, units)


def _units(n: int, groups: ArrayLike | None) -> tuple[int, NDArray[np.int64] | None]:
    """The number of rows or groups, and the groups' codes [n]. TooFew."""
    units, codes = (n, None) if groups is None else group_codes(n, groups)
    if units < MIN_UNITS:
        name = "rows" if groups is None else "groups"
        raise TooFew(
            f"{name} must be at least {MIN_UNITS} to draw subsamples from, got {units}."
        )
    return units, codes


def _of_rows(
    weights: NDArray[np.uint8], codes: NDArray[np.int64] | None
) -> NDArray[np.uint8]:
    """Weights [n, B] of rows, from weights of rows or groups."""
    return np.ascontiguousarray(weights if codes is None else weights[codes])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Uncertain(Estimate):
    """An estimate with an interval for its expectation at this sample size, nats.

    See `Estimate`.

    units      number of rows or groups drawn from
    estimates  [B], of every half-sample; sums and differences on the same `resamples` have errors of their own
    """

    estimates: NDArray[np.float64]
    resamples: Resamples

    def _plus(self, other: float, sign: float) -> Estimate:
        total = super()._plus(other, sign)
        if not isinstance(other, Uncertain):
            return total
        if not np.array_equal(self.resamples.weights, other.resamples.weights):
            raise Conflict(
                "terms must share one Resamples, got different ones; pass the same "
                "`resamples` to each."
            )
        values = self.estimates + sign * other.estimates
        return uncertain(
            total.value,
            total.method,
            total.notes,
            total.settings,
            values,
            self.resamples,
        )


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

    The standard error is sqrt(m / (n - m)) times the standard deviation of estimates on
    m of n rows.

    Parameters
    ----------
    x, y, z : array_like [n] or [n, d]
    k : int
        Neighbours.
    resamples : int or Resamples
        How many half-samples, or the Resamples that other estimates share (then groups
        must be None).
    groups : array_like [n], optional
        Labels of dependent rows, which are drawn together; exact copies within a group
        are included once.
    generator : numpy.random.Generator, optional
    margins : str
        As in `knn.mutual_information`.

    Returns
    -------
    Uncertain

    Raises
    ------
    InfoscopeError
        As `knn.mutual_information`; fewer than 8 rows or groups; fewer than 10
        resamples; a subsample with one class.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> subsample(x[:, 0], x.sum(axis=1)).units
    200
    """
    sample, codes = Sample.of(x, y, z, margins, groups)
    sample, codes = sample.without_copies(codes)
    plan = shared(resamples, sample.n, codes)
    if plan is None:
        assert not isinstance(resamples, Resamples)
        plan = half_samples(sample.n, resamples, generator_or_default(generator), codes)
    _require_classes_in_each(sample, plan.weights)
    all_rows = np.ones((sample.n, 1), np.uint8)
    value, *estimates = resampled(sample, np.hstack([all_rows, plan.weights]), k)
    method, uses_neighbours, notes = knn.treatment(sample.variables, k)
    settings = f"{plan.scheme} ({plan.count})"
    if uses_neighbours:
        settings = f"k = {k}, {settings}"
    estimate = uncertain(
        float(value), method, notes, settings, np.array(estimates), plan
    )
    error = max(estimate.standard_error, sample.second_order_error(plan.units))
    return replace(estimate, standard_error=error)


def shared(resamples: Any, n: int, groups: ArrayLike | None) -> Resamples | None:
    """The Resamples given; None if it is a number. ValueError if they do not fit."""
    if not isinstance(resamples, Resamples):
        return None
    if groups is not None:
        raise Conflict(
            "groups must be None where resamples are given; they were drawn with "
            "their own groups."
        )
    if resamples.scheme != HALF_SAMPLES or resamples.n != n:
        raise Conflict(
            f"resamples must be {HALF_SAMPLES} of {n} rows, got {resamples.scheme} of "
            f"{resamples.n}."
        )
    return resamples


def _require_classes_in_each(sample: Sample, weights: Weights) -> None:
    """ValueError if x or y has one class in the sample, or in a subsample.

    The estimate is always 0 there.
    """
    x, y, *_ = sample.variables
    joint = join(*sample.variables)
    rows, _ = knn.without_singletons(joint)
    knn.require_classes(rows, x=x.take(rows), y=y.take(rows))
    codes = codes_of(joint)
    # rows alone in their class are left out where neighbours are searched
    min_rows = 2 if joint.dim else 1
    is_present = class_counts(codes, joint.categories, weights) >= min_rows
    _, first_rows = np.unique(codes, return_index=True)
    subsamples = weights.shape[1]
    for name, variable in (("x", x), ("y", y)):
        if variable.kind == "discrete":
            assert variable.codes is not None
            has_class = np.zeros((variable.categories, subsamples), bool)
            np.logical_or.at(has_class, variable.codes[first_rows], is_present)
            constant = int((has_class.sum(axis=0) < 2).sum())
            if constant:
                raise NoVariation(
                    f"{name} must have at least two classes in every subsample, but "
                    "the rarest is missing from "
                    f"{constant} of {subsamples} (or alone there): merge or drop it."
                )


def uncertain(
    value: float,
    method: str,
    notes: tuple[str, ...],
    settings: str,
    estimates: NDArray,
    plan: Resamples,
) -> Uncertain:
    """The estimate with the standard error from half-samples, and its influence [B]."""
    half = plan.units // 2
    scale = np.sqrt(half / (plan.units - half) / (plan.count - 1))
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
