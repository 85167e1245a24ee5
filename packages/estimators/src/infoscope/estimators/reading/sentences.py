"""The answer in words, one sentence each: no, weak or clear dependence, or a series."""

from __future__ import annotations

import math

from infoscope.estimators.reading.reader import is_narrow
from infoscope.estimators.result import Estimate, decimals

LEVEL = 0.05  # of the test of independence
SERIES_CODE = "series"  # of the note of a reading whose rows follow one another
SERIES_HEADLINE = "Rows follow one another, so p-values do not hold"
# of the note of a test given conditions that is not decided
NOT_DECIDED_CODE = "not decided"
NOT_DECIDED_HEADLINE = "Not decided whether they depend"


def headline(answer: Estimate, p_value: float) -> str:
    """The first words of the answer; "" for clear dependence.

    They are for rows in a series, no dependence, weak dependence, or not decided.
    Dependence is clear if the interval lies above 0. Otherwise the test of independence
    decides whether there is any, and the interval how much at most.
    """
    if in_series(answer):
        return SERIES_HEADLINE
    if answer.low > 0:
        return ""
    if has_note(answer, NOT_DECIDED_CODE):
        return NOT_DECIDED_HEADLINE
    p = p_in_words(p_value)
    if not p_value <= LEVEL:
        return f"No dependence is detected ({p})" if p else "No dependence is detected"
    nats = answer.nats
    weakly = ", but weakly" if is_narrow(nats.value, nats.low, nats.high) else ""
    return f"They depend ({p}){weakly}"


def finding(
    answer: Estimate, p_value: float, names: str = "x and y", size: str = ""
) -> str:
    """The answer in one sentence, in the unit of the estimate.

    names  of the two variables
    size   the number of rows, in words; empty: left out
    """
    start = headline(answer, p_value)
    rows = f" ({size})" if size else ""
    if in_series(answer):
        return (
            f"{start}: the reading of {names}, {amount(answer)}, is calibrated on "
            f"rows without order{rows}."
        )
    if start:
        return (
            f"{start}: {names} share {at_most(answer)} (95 "
            f"%{', ' if size else ''}{size})."
        )
    unseen = ""
    if p_value > LEVEL:
        unseen = (
            "; the test of independence, of smooth functions, does not show it "
            f"({p_in_words(p_value)})"
        )
    return f"{amount(answer)} are shared by {names}{rows}{unseen}."


def in_series(answer: Estimate) -> bool:
    """Whether the rows were taken as a series; it has no test of independence."""
    return has_note(answer, SERIES_CODE)


def has_note(answer: Estimate, code: str) -> bool:
    """Whether the answer has a note with this code."""
    return any(getattr(note, "code", "") == code for note in answer.notes)


def p_in_words(p: float) -> str:
    """A p-value: p = 0.4, p = 1.2e-06; "" if there is none."""
    if math.isnan(p):
        return ""
    return f"p = {p:.2g}" if p >= 1e-15 else "p below 1e-15"


def amount(estimate: Estimate, ceiling: Estimate | None = None) -> str:
    """Information with its 95 % interval: 1.83 of 2.00 bits (95 %: 1.80 to 1.91)."""
    places = places_of(estimate, 1)
    most = "" if ceiling is None else f" of {ceiling.value:.{places}f}"
    low = estimate.low
    interval = ""
    if math.isfinite(low):
        interval = f" (95 %: {low:z.{places}f} to {estimate.high:z.{places}f})"
    return f"{estimate.value:z.{places}f}{most} {estimate.unit}{interval}"


def places_of(estimate: Estimate, digits: int) -> int:
    """Decimals that show half of the interval to so many digits, at least 2.

    A lower limit above 0 is not shown as 0.00.
    """
    places = 2
    half = (estimate.high - estimate.low) / 2
    if half > 0:
        places = max(places, decimals(half, digits))
    if estimate.low > 0:
        places = max(places, decimals(estimate.low, 1))
    return places


def at_most(estimate: Estimate) -> str:
    """The upper end of an interval, in words: at most 0.04 bits."""
    return f"at most {max(0.01, estimate.high):.2f} {estimate.unit}"
