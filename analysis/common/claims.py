"""Sentences of papers, the measurement that decides each, and intervals in words."""

import math
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from infoscope.estimators.result import Estimate

# not tested: nothing was run that could tell; undecided: the runs do not tell
VERDICTS = ("confirmed", "contradicted", "undecided", "not tested")


class Claim(NamedTuple):
    """A sentence of a paper, whether our figures bear it out, and those figures.

    measured: the quantity that decides, where a single one does, with its interval over
    what `over` names; the sentence holds where it is greater than `above` and less than
    `below`. is_ours: a check of ours, which no paper makes.
    """

    statement: str
    verdict: str  # one of `VERDICTS`
    evidence: str
    measured: Estimate | None = None
    above: float = -math.inf
    below: float = math.inf
    over: str = ""
    is_ours: bool = False

    def __str__(self) -> str:
        return (
            f"Claim: {self.statement.rstrip('.')}: {self.verdict} "
            f"({self.evidence.rstrip('.')})."
        )

    @property
    def row(self) -> tuple[str, str, str]:
        """Statement, verdict and evidence, as tables show a claim."""
        statement = f"{self.statement} (ours)" if self.is_ours else self.statement
        return statement, self.verdict, self.evidence


def decided(
    statement: str,
    measured: Estimate,
    what: str,
    unit: str = "",
    form: str = "+.3f",
    *,
    above: float = -math.inf,
    below: float = math.inf,
    over: str = "runs",
    more: str = "",
) -> Claim:
    """A claim that a quantity lies between two limits, decided by its 95 % interval; a
    finite one without interval tests nothing. more: ends the evidence.
    """
    judged = verdict(measured, above, below)
    value = "diverged or not run"
    if math.isfinite(measured.value):
        value = with_interval(measured, unit, form, over)
        judged = judged if math.isfinite(measured.low) else "not tested"
    return Claim(
        statement,
        judged,
        f"{what}: {value}{more}.",
        replace(measured, unit=unit),
        above,
        below,
        over,
    )


def negative(
    statement: str,
    difference: Estimate,
    what: str,
    unit: str,
    over: str = "runs",
) -> Claim:
    """A claim that a difference is negative, decided by its 95 % interval."""
    return decided(statement, difference, what, unit, below=0.0, over=over)


def verdict(
    measured: Estimate, above: float = -math.inf, below: float = math.inf
) -> str:
    """Whether a quantity lies between two limits, by its interval; undecided if that
    contains a limit or is NaN.
    """
    if math.isnan(measured.low) or math.isnan(measured.high):
        return "undecided"
    if measured.high < above or measured.low > below:
        return "contradicted"
    is_above = math.isinf(above) or measured.low > above
    is_below = math.isinf(below) or measured.high < below
    return "confirmed" if is_above and is_below else "undecided"


def verdict_of_all(verdicts: Collection[str]) -> str:
    """The verdict on a sentence that holds where all of its parts do."""
    for worst in ("contradicted", "undecided", "not tested"):
        if worst in verdicts:
            return worst
    return "confirmed"


def with_interval(
    mean: Estimate, unit: str = "", form: str = "+.3f", over: str = "runs"
) -> str:
    """A mean over runs, or what else, with its unit and 95 % interval, in words."""
    if not math.isfinite(mean.value):
        return "diverged"
    value = f"{mean.value:{form}} {unit}".rstrip()
    if not math.isfinite(mean.low):
        number = "one run" if over == "runs" else f"n = {mean.n}"
        return f"{value} ({number}, no interval)"
    return f"{value} (95 %: {mean.low:{form}} to {mean.high:{form}}, {mean.n:,} {over})"
