"""Sampling intervals of nearest-neighbour estimates of mutual information, nats.

The interval is for the estimator's expectation at this sample size; `uncertainty.verdict` judges whether that is the
true value.

    subsample         half-subsamples (Politis & Romano 1994), the default
    jackknife         one block of rows, or of groups, left out at a time (Shao & Wu 1989)
    holmes_nemenman   variance in partitions of 2 to 10 parts (Holmes & Nemenman 2019)
    group_bootstrap   dependent rows; of pointwise values a bootstrap of whole groups
    combine           errors of sums of estimates on shared resamples, as a - b and a + b
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.checks import require_int
from infoscope.errors import Conflict, InvalidInput, MissingValues, NoVariation, OutOfRange, WrongLength
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.resampling import (
    FEWEST_UNITS,
    HALVES,
    JACKKNIFE,
    PARTITIONS,
    Resamples,
    group_codes,
    halves,
    leave_one_out,
    partitions,
)
from infoscope.estimators.result import Estimate, root_sum_squares
from infoscope.estimators.serial import serial_dependence
from infoscope.estimators.uncertainty._engine import Sample, Weights, class_counts, codes_of, resampled
from infoscope.estimators.uncertainty.bias import HALVES_WITH_ONE, BiasDiagnostic, diagnose_bias
from infoscope.estimators.uncertainty.verdict import Verdict, verify
from infoscope.estimators.variables import join


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Uncertain(Estimate):
    """An estimate with an interval for its expectation at this sample size, nats; see `Estimate`.

    units      number of rows or groups drawn from
    k          neighbours, 0 where there are none
    judgement  the verdict on the bias; None where not asked for
    estimates  [B], of every subsample
    """

    k: int
    scheme: str
    judgement: Verdict | None
    estimates: NDArray[np.float64]
    resamples: Resamples | None

    def _plus(self, other: float, sign: float) -> Estimate:
        return combine((self, other), (1.0, sign)) if isinstance(other, Uncertain) else super()._plus(other, sign)

    @property
    def verdict(self) -> str:
        """reliable, drifting, unreliable or unverified: see `Verdict`."""
        return self._judged.word

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not reliable; empty if it is."""
        return self._judged.reasons

    @property
    def drift(self) -> BiasDiagnostic | None:
        """How it moves with the sample size; None where not computed."""
        return None if self.judgement is None else self.judgement.drift

    @property
    def _judged(self) -> Verdict:
        if self.judgement is None:
            raise Conflict("drift must be measured for a verdict: call subsample with drift=True.")
        return self.judgement


def subsample(
    x: Any,
    y: Any,
    z: Any = None,
    k: int = 5,
    resamples: int | Resamples = 100,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
    drift: bool = True,
    margins: str = "auto",
) -> Uncertain:
    """I(x; y) or I(x; y | z), nats, with an interval from random half-samples, and a verdict.

    resamples  how many half-samples, or the Resamples that other estimates share (then groups must be None)
    groups     [n], dependent rows, drawn together; exact copies within one are counted once
    drift      whether to judge the bias too, at a cost of a third to three further estimates
    margins    as of `knn.mutual_information`

    The standard error is sqrt(m / (n - m)) times the standard deviation of estimates on m of n rows. ValueError: as
    `knn.mutual_information`; fewer than 8 rows or groups; fewer than 10 resamples; a subsample with one class only.
    """
    sample, groups = _sample(x, y, z, groups, margins)
    generator = generator_or_default(generator)
    plan = shared(resamples, HALVES, sample.n, groups)
    if plan is None:
        plan = halves(sample.n, resamples, generator, groups)
    rows = sample.typical_rows
    again = min(plan.count, HALVES_WITH_ONE) if drift and k > 1 and np.isfinite(rows) else 0
    weights = np.hstack([plan.weights, plan.weights[:, :again]])
    value, values = measured(sample, weights, np.repeat([k, 1], [plan.count, again]))
    estimates, fewer = values[: plan.count], values[plan.count :]
    verdict = None
    if drift:
        moved = diagnose_bias(value, estimates, fewer, k, rows)
        error = max(root_sum_squares(_influence_of(estimates, plan)), sample.second_order_error(plan.units))
        alone = groups is None and plan.units == sample.n
        serial = serial_dependence(*sample.variables[:2]) if alone else None
        verdict = verify(sample, value, error, degrees_of_freedom(plan), k, moved, generator, serial)
    return _of_sample(sample, k, value, estimates, plan, verdict)


def jackknife(
    x: Any,
    y: Any,
    z: Any = None,
    k: int = 5,
    resamples: int | Resamples = 20,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
) -> Uncertain:
    """The same estimate, with the jackknife error of leaving out each of `resamples` random blocks of rows (groups)."""
    sample, groups = _sample(x, y, z, groups)
    plan = shared(resamples, JACKKNIFE, sample.n, groups)
    if plan is None:
        plan = leave_one_out(sample.n, resamples, generator_or_default(generator), groups)
    return _of_sample(sample, k, *measured(sample, plan.weights, np.full(plan.count, k)), plan)


def holmes_nemenman(
    x: Any,
    y: Any,
    z: Any = None,
    k: int = 5,
    parts: Sequence[int] = tuple(range(2, 11)),
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
) -> Uncertain:
    """The same estimate, with the error of Holmes & Nemenman 2019: variance = B / n, fitted over random partitions."""
    sample, groups = _sample(x, y, z, groups)
    plan = partitions(sample.n, parts, generator_or_default(generator), groups)
    return _of_sample(sample, k, *measured(sample, plan.weights, np.full(plan.count, k)), plan)


def group_bootstrap(
    *variables: Any,
    groups: ArrayLike,
    k: int = 5,
    resamples: int | Resamples = 200,
    generator: np.random.Generator | None = None,
) -> Uncertain:
    """Error of an estimate from rows that depend on one another within `groups` [n].

    group_bootstrap(x, y, groups=g) or (x, y, z, groups=g): the nearest-neighbour estimate, by `subsample` of groups.
    group_bootstrap(values, groups=g): the mean of pointwise values [n], by the bootstrap of groups with replacement.

    ValueError: none, or more than three variables; fewer than 8 groups; values that are not finite; see `subsample`.
    """
    if len(variables) in (2, 3):
        return subsample(*variables, k=k, resamples=resamples, groups=groups, generator=generator)
    if len(variables) != 1:
        raise InvalidInput(f"group_bootstrap takes values, or x, y, or x, y, z, got {len(variables)} arrays.")
    values = np.asarray(variables[0], dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise MissingValues(
            f"values must be finite numbers [n], got shape {values.shape} or values that are not finite."
        )
    units, codes = group_codes(len(values), groups)
    if units < FEWEST_UNITS:
        raise OutOfRange(f"groups must be at least {FEWEST_UNITS}, got {units}.")
    count = require_int("resamples", resamples, 10)
    draws = generator_or_default(generator).multinomial(units, np.full(units, 1 / units), count)
    estimates = (draws @ np.bincount(codes, weights=values)) / (draws @ np.bincount(codes))
    return Uncertain(
        float(values.mean()),
        float(estimates.std(ddof=1) * np.sqrt(units / (units - 1))),
        n=len(values),
        method="mean of pointwise values",
        settings="bootstrap of groups",
        units=units,
        degrees=units - 1,
        k=0,
        scheme="bootstrap of groups",
        judgement=None,
        estimates=estimates,
        resamples=None,
    )


def combine(terms: Sequence[Uncertain], coefficients: Sequence[float]) -> Uncertain:
    """sum of coefficient * term, with the error of the sum: differences of models, co-information, chain rules.

    All must be of the same Resamples. The sum has no verdict. ValueError: different resamples or lengths.
    """
    if len(terms) != len(coefficients) or not terms:
        raise WrongLength(f"terms and coefficients must be equally many, got {len(terms)} and {len(coefficients)}.")
    plan = terms[0].resamples
    for term in terms:
        own = term.resamples
        if own is None or plan is None or not (own is plan or np.array_equal(own.weights, plan.weights)):
            raise Conflict("terms must share one Resamples, got different ones; pass the same `resamples` to each.")
    value = float(np.dot(coefficients, [term.value for term in terms]))
    sums = np.tensordot(np.asarray(coefficients, float), np.stack([term.estimates for term in terms]), 1)
    method = " + ".join(dict.fromkeys(term.method for term in terms))
    notes = tuple(dict.fromkeys(note for term in terms for note in term.notes))
    k = max(term.k for term in terms)
    return _uncertain(value, k, method, f"{plan.scheme}, sum of {len(terms)}", notes, sums, plan)


def _sample(
    x: Any, y: Any, z: Any, groups: ArrayLike | None, margins: str = "auto"
) -> tuple[Sample, NDArray[np.int64] | None]:
    """The sample of rows that are no copies within their group, and their groups' codes."""
    sample, codes = Sample.of(x, y, z, margins, groups)
    return sample.without_copies(codes)


def shared(resamples: Any, scheme: str, n: int, groups: ArrayLike | None) -> Resamples | None:
    """The Resamples given; None if it is a number. ValueError if they do not fit."""
    if not isinstance(resamples, Resamples):
        return None
    if groups is not None:
        raise Conflict("groups must be None where resamples are given; they were drawn with their own groups.")
    if resamples.scheme != scheme or resamples.n != n:
        raise Conflict(
            f"resamples must be {scheme} of {n} rows, got {resamples.scheme} of {resamples.n}; see `resampling`."
        )
    return resamples


def measured(sample: Sample, weights: Weights, k: NDArray[np.int64]) -> tuple[float, NDArray[np.float64]]:
    """The estimate on the whole sample with k[0] neighbours, and those of the subsamples [B] with k [B] of them."""
    _require_classes_in_each(sample, weights)
    value, *values = resampled(sample, np.hstack([np.ones((sample.n, 1), np.uint8), weights]), np.r_[k[0], k])
    return float(value), np.array(values)


def _require_classes_in_each(sample: Sample, weights: Weights) -> None:
    """ValueError if x or y has one class only in the sample or a subsample: the estimate there would always be 0."""
    joint = join(*sample.variables)
    kept, _ = knn.without_singletons(joint)
    knn.require_classes(kept, **{name: side.take(kept) for name, side in zip("xy", sample.variables)})
    codes = codes_of(joint)
    # Where neighbours are sought, rows that are alone in their class are left out.
    present = class_counts(codes, joint.categories, weights) > (1 if joint.dim else 0)
    _, first = np.unique(codes, return_index=True)
    for name, side in zip("xy", sample.variables):
        if side.kind == "discrete":
            there = np.zeros((side.categories, weights.shape[1]), bool)
            np.logical_or.at(there, side.codes[first], present)
            lost = int((there.sum(axis=0) < 2).sum())
            if lost:
                raise NoVariation(
                    f"{name} must have at least two classes in every subsample, but the rarest is missing from {lost} "
                    f"of {weights.shape[1]} (or alone there): merge or drop it, or use jackknife."
                )


def _influence_of(estimates: NDArray[np.float64], plan: Resamples) -> NDArray[np.float64]:
    """The influence [B] of the estimate on all rows from the estimates of the subsamples [B], by the plan's scheme."""
    if plan.scheme == PARTITIONS:
        degrees, each = degrees_of_freedom(plan), _by_partition(estimates, plan)
        return np.concatenate([(part - part.mean()) / np.sqrt(number * degrees) for number, part in each])
    deviations = estimates - estimates.mean()
    if plan.scheme == JACKKNIFE:
        return deviations * np.sqrt((plan.count - 1) / plan.count)
    drawn = plan.units // 2
    return deviations * np.sqrt(drawn / (plan.units - drawn) / (plan.count - 1))


def _by_partition(estimates: NDArray[np.float64], plan: Resamples) -> list[tuple[int, NDArray[np.float64]]]:
    """(number of parts, their estimates) of every partition."""
    starts, start = [], 0
    while start < plan.count:
        starts.append(start)
        start += int(plan.parts[start])
    return [(int(plan.parts[s]), part) for s, part in zip(starts, np.split(estimates, starts[1:]))]


def degrees_of_freedom(plan: Resamples) -> int:
    if plan.scheme == PARTITIONS:
        return sum(number - 1 for number, _ in _by_partition(np.zeros(plan.count), plan))
    return min(plan.count, plan.units) - 1


def _of_sample(
    sample: Sample, k: int, value: float, estimates: NDArray, plan: Resamples, judgement: Verdict | None = None
) -> Uncertain:
    """The estimate on the whole sample with the error from its subsamples."""
    method, neighbours, notes = knn.treatment(sample.variables, k)
    found = _uncertain(value, neighbours or 0, method, plan.scheme, notes, estimates, plan, judgement)
    return replace(found, standard_error=max(found.standard_error, sample.second_order_error(plan.units)))


def _uncertain(
    value: float, k: int, method: str, scheme: str, notes: tuple[str, ...], estimates: NDArray, plan: Resamples,
    judgement: Verdict | None = None,
) -> Uncertain:  # fmt: skip
    """The estimate with its standard error."""
    influence = _influence_of(estimates, plan)
    return Uncertain(
        value,
        root_sum_squares(influence),
        n=plan.n,
        method=method,
        notes=notes,
        settings=", ".join([f"k = {k}"] * bool(k) + [f"{scheme} ({plan.count})"]),
        units=plan.units,
        degrees=degrees_of_freedom(plan),
        influence=influence,
        k=k,
        scheme=scheme,
        judgement=judgement,
        estimates=estimates,
        resamples=plan,
    )
