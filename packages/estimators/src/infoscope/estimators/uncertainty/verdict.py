"""Whether a nearest-neighbour estimate can be taken for the true value: reliable only where all of these hold, in turn:

    successive rows are not alike in x and y, or groups are named (`serial`)
    rows of named groups are not one another's nearest neighbours far more often than by chance
    the predicted bias is at most _MOVES standard errors, and neighbourhoods are small (`bias`)
    it is _FOUND standard errors above 0
    the columns are few enough
    on simulated data sets (`twins`) the estimate is as here, and its bias at most _EXPECTED standard errors

Categories alone: _ROWS_PER_CELL expected rows a cell. The interval includes predicted bias and what simulations leave
unexplained. Not detected: information in patterns finer than the rows resolve. Constants were chosen on
`infoscope.data.tasks.verdict_laws`; the sweep `verdicts` measures them on other distributions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from infoscope.estimators.result import quantile
from infoscope.estimators.serial import SerialDependence
from infoscope.estimators.uncertainty._engine import Sample, codes_of
from infoscope.estimators.uncertainty.bias import BiasDiagnostic
from infoscope.estimators.uncertainty.twins import Twins, twins
from infoscope.estimators.variables import join

RELIABLE, DRIFTING, UNRELIABLE, UNVERIFIED = "reliable", "drifting", "unreliable", "unverified"
_MOVES, _LARGE = 2.0, 4.0  # predicted biases, in standard errors
_LARGEST_SHARE = 0.02  # k / rows of a class: beyond it halves do not follow a power law, and predictions are too small
_FOUND = 3.5  # standard errors above 0
_EXPECTED = 2.0  # bias on twins, in standard errors
_UNLIKE = 1.5  # the estimate and that on twins, in standard errors
_COLUMNS = 20
_ROWS_PER_CELL = 5.0


@dataclass(frozen=True)
class Verdict:
    """The verdict on an estimate.

    word       reliable; unreliable: a bias of many standard errors is expected; drifting: it moves with the sample
               size; unverified: no evidence against it, and none for it
    low, high  95 % interval for the true value, nats, expected bias included; NaN unless reliable
    drift      movement with the sample size
    twins      the estimate on simulated data sets; None if not computed
    """

    word: str
    reasons: tuple[str, ...]
    low: float
    high: float
    drift: BiasDiagnostic
    twins: Twins | None


def verify(
    sample: Sample,
    value: float,
    error: float,
    degrees: int,
    k: int,
    drift: BiasDiagnostic,
    generator: Generator,
    serial: SerialDependence | None = None,
) -> Verdict:
    """The verdict on the estimate of a sample, with its standard error, its drift, and how its rows depend."""
    if serial is not None:
        return Verdict(UNRELIABLE, (str(serial),), np.nan, np.nan, drift, None)
    if sample.together:
        return Verdict(UNRELIABLE, (sample.together,), np.nan, np.nan, drift, None)
    word, reason = _at_once(sample, value, error, k, drift)
    if word != RELIABLE:
        return Verdict(word, (reason,), np.nan, np.nan, drift, None)
    if join(*sample.variables).kind == "discrete":
        return Verdict(word, (), *_interval(value, error, drift.bias, degrees), drift, None)
    try:
        found = twins(sample.variables, k, generator)
    except ValueError as without:
        reason = f"there is no telling from data like these whose information is known: {without}"
        return Verdict(UNVERIFIED, (reason,), np.nan, np.nan, drift, None)
    word, reason = _by_twins(value, error, found)
    if word != RELIABLE:
        return Verdict(word, (reason,), np.nan, np.nan, drift, found)
    spread = np.sqrt(error**2 + found.bias_error**2 + found.truth_error**2 + (value - found.level) ** 2)
    return Verdict(word, (), *_interval(value, float(spread), found.bias, degrees), drift, found)


def _at_once(sample: Sample, value: float, error: float, k: int, drift: BiasDiagnostic) -> tuple[str, str]:
    """The word and the reason from what has been computed already."""
    joint = join(*sample.variables)
    if joint.kind == "discrete":
        fewest = _fewest_expected(sample)
        if fewest < _ROWS_PER_CELL:
            cells = " x ".join(str(variable.categories) for variable in sample.variables)
            return UNVERIFIED, (
                f"{cells} combinations of categories are too many for {sample.n} rows, or one of them too rare: it is "
                f"expected in {fewest:.2g} rows where nothing is shared, {_ROWS_PER_CELL:.0f} would do"
            )
    if not abs(drift.bias) <= _MOVES * error:
        word = DRIFTING if abs(drift.bias) <= _LARGE * error else UNRELIABLE
        return word, (
            f"it still moves with the sample size: a bias of {drift.bias:+.3f} nats is predicted, at a standard error "
            f"of {error:.3f}"
        )
    if joint.kind == "discrete":
        return RELIABLE, ""
    if drift.share > _LARGEST_SHARE:
        share = f"{drift.share:.1%} of the rows of a class; {_LARGEST_SHARE:.0%} at most can be judged"
        return UNVERIFIED, f"k = {k} neighbours are {share}"
    if not value >= _FOUND * error:
        return UNVERIFIED, (
            f"{value:.3f} ± {error:.3f} nats are hardly told from 0, and neighbours that see nothing cannot say that "
            "there is nothing: it may lie in few of many columns, or in patterns finer than the rows resolve"
        )
    if joint.dim > _COLUMNS:
        return UNVERIFIED, f"neighbours in {joint.dim} continuous columns are not to be trusted, {_COLUMNS} at most"
    return RELIABLE, ""


def _fewest_expected(sample: Sample) -> float:
    """Rows in which the rarest combination of categories is expected if x and y share nothing (given z)."""
    x, y, *z = (codes_of(variable) for variable in sample.variables)
    given = z[0] if z else np.zeros(sample.n, np.int64)
    tables = [np.zeros((given.max() + 1, side.max() + 1)) for side in (x, y)]
    for table, side in zip(tables, (x, y)):
        np.add.at(table, (given, side), 1)
    rarest = [table.min(axis=1) for table in tables]
    return float((rarest[0] * rarest[1] / tables[0].sum(axis=1)).min())


def _by_twins(value: float, error: float, found: Twins) -> tuple[str, str]:
    if not abs(value - found.level) <= _UNLIKE * error:
        return UNVERIFIED, (
            f"no data of known information were found on which neighbours give as much as here: {found.level:.3f} on "
            f"the nearest, {value:.3f} ± {error:.3f} here"
        )
    if not abs(found.bias) <= _EXPECTED * error:
        return UNRELIABLE, (
            f"on data like these whose information is known, {found.truth:.3f} nats, it is off by {found.bias:+.3f} ± "
            f"{found.bias_error:.3f}"
        )
    return RELIABLE, ""


def _interval(value: float, error: float, bias: float, degrees: int) -> tuple[float, float]:
    """Around the estimate and the estimate without its expected bias."""
    margin = quantile(degrees) * error
    return value - max(0.0, bias) - margin, value - min(0.0, bias) + margin
