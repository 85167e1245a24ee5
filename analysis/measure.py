"""How much information x and y share: the reading and single estimators, each with a 95
% interval.

DATA is a table (.csv, .xlsx, .parquet) whose columns X and Y name, or a .npz with
arrays x and y. The interval of the reading is for the true value, calibrated on
simulated data; those of single estimators are for sampling error only. With
GIVEN=age,sex the answer is what x and y share given these conditions, then the reading
without them. With TIME=t, or SERIES=yes for rows in the order of time, the answer is
the information of each past about the other. Written: a table, a figure, one page to
send, and one run in MLflow.
"""

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.marks import COLOURS, sheet
from analysis.common.own_data import (
    OwnData,
    conclude,
    given_data,
    listed,
    options,
    series_options,
    stem_of,
)
from analysis.common.tables import Page, Result, require_writable
from infoscope.command_line import command, option
from infoscope.errors import Conflict, InvalidInput
from infoscope.estimators.arrays import (
    Method,
    Pairs,
    as_method,
    estimate,
    estimate_pairs,
    methods,
)
from infoscope.estimators.arrays.registry import read_pairs
from infoscope.estimators.reading.reader import NARROW, NARROW_SHARE
from infoscope.estimators.reading.result import Reading
from infoscope.estimators.reading.sentences import amount, finding
from infoscope.estimators.result import Estimate, undefined
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.report import listed as named
from infoscope.notebook import intervals

EXPERIMENT = "measure"
WITHOUT = "without conditions"
DEFAULTS = {
    "numbers": ("ksg", "gcmi"),
    "labels": ("ksg", "classifier"),
    "categories": ("chao-shen", "nsb"),
}


@dataclass(frozen=True)
class Answer:
    """Estimate of one method in bits, and seconds; or no value, and the reason."""

    method: str
    estimate: Estimate
    seconds: float


def measured(pairs: Pairs, chosen: Sequence[Method], seed: int) -> list[Answer]:
    """An answer of every method, each with the same seed; a line as it comes."""
    answers = []
    for method in chosen:
        began = time.monotonic()
        try:
            information = estimate_pairs(
                method, pairs, np.random.default_rng(seed)
            ).bits
        except ValueError as error:
            information = undefined(str(error), n=pairs.n, method=method.name).bits
        seconds = time.monotonic() - began
        print(
            f"{method.name}: {information!r}, {seconds:.1f} s",
            file=sys.stderr,
            flush=True,
        )
        answers.append(Answer(method.name, information, seconds))
    return answers


def answers(found: Reading, between: str) -> list[str]:
    """The information in one sentence, and in the second what its grade means for the
    reader.
    """
    return [finding(found, found.p_value, between, size_of(found)), graded(found)]


def answers_given(
    conditional: Reading, plain: Reading, between: str, conditions: Sequence[str]
) -> list[str]:
    """The information given the conditions, what its grade means, and the information
    without conditions.
    """
    names = named(conditions)
    without = f"Without {names} they share {amount(plain)}, grade {plain.grade}."
    if conditional.high < plain.low:
        verb = "accounts" if len(conditions) == 1 else "account"
        without += f" {names} {verb} for part of it."
    if conditional.low > plain.high:
        without += f" They share more given {names}."
    return [*answers(conditional, f"{between} given {names}"), without]


def size_of(found: Reading) -> str:
    """The number of rows and groups, in words."""
    groups = f" in {found.units:,} groups" if found.units not in (None, found.n) else ""
    return f"n = {found.n:,}{groups}"


def graded(found: Reading) -> str:
    """The meaning of a reading's grade, in one sentence."""
    reasons = " ".join(found.notes[-1:])
    quoted = "its upper limit" if found.low == 0 else "the value with it"
    meaning = {
        "A": f"the interval is narrow; quote {quoted}.",
        "B": "the interval is wide; quote it, and measure more rows to narrow it.",
        "C": f"quote the interval, not the best guess. {reasons}",
    }
    return f"Grade {found.grade}: {meaning[found.grade]}"


def table(found: Sequence[Answer], data: OwnData, pairs: Pairs, name: str) -> Result:
    """One row a method, the reading first: bits with a 95 % interval; notes and
    failures below.
    """
    figures = pd.DataFrame([_figures(answer) for answer in found])
    text = pd.DataFrame([_words(answer) for answer in found])
    notes = []
    for answer in found:
        notes += [
            f"{answer.method}: {note}"
            for note in answer.estimate.notes
            if note not in pairs.notes
        ]
    groups = "" if pairs.groups is None else f" in {pairs.groups.max() + 1:,} groups"
    first_row = ""
    if data.conditions:
        first_row = f" The first row is given {named(data.conditions)}."
    caption = [
        f"Mutual information of x ({named(data.variables[0])}) and y "
        f"({named(data.variables[1])}) of {name}, bits, "
        f"n = {pairs.n:,} rows{groups}; x is {pairs.x.kind}, y is "
        f"{pairs.y.kind}.{first_row} The interval of the "
        "reading is for the true value; the interval of a single estimator is for its "
        "sampling error, without bias "
        "(±: standard error).",
        *pairs.notes,
        *_whole_numbers(data, pairs),
        *notes,
        f"SHA-256 of the data: {data.digest}.",
    ]
    return Result("measure", figures, text, caption, lambda *paths: draw(found, *paths))


def _whole_numbers(data: OwnData, pairs: Pairs) -> list[str]:
    """What to give where a column of whole numbers was taken as categories."""
    columns = []
    for values, variable, names in zip(
        (data.x, data.y), (pairs.x, pairs.y), data.variables
    ):
        if (
            variable.kind == "discrete"
            and isinstance(values, pd.Series)
            and values.dtype.kind in "iu"
        ):
            columns.append(names[0])
    if not columns:
        return []
    names = ",".join(columns)
    return [
        f"{names}: whole numbers, taken as categories; CONTINUOUS={names} takes them "
        "as counts or levels."
    ]


def _figures(answer: Answer) -> dict[str, Any]:
    estimate = answer.estimate
    return {
        "method": answer.method,
        "bits": estimate.value,
        "bits_error": estimate.standard_error,
        "low_bits": estimate.low,
        "high_bits": estimate.high,
        "n": estimate.n,
        "seconds": answer.seconds,
    }


def metrics(found: Sequence[Answer]) -> dict[tuple[str, ...], float]:
    """The answer as `bits`, `bits_low`, `bits_high`, then the other methods as
    METHOD/bits and so on.

    Beside a reading given conditions, that without them is `without conditions/bits`.
    """
    values = {}
    for place, answer in enumerate(found):
        estimate = answer.estimate
        is_reading = isinstance(estimate, Reading)
        parts = (WITHOUT,) if is_reading else (answer.method,)
        if place == 0:
            parts = ()
        values[*parts, "bits"] = estimate.value
        if not is_reading:
            values[*parts, "bits_error"] = estimate.standard_error
        values[*parts, "bits_low"] = estimate.low
        values[*parts, "bits_high"] = estimate.high
    return values


def _words(answer: Answer) -> dict[str, str]:
    estimate = answer.estimate
    if math.isnan(estimate.value):
        return {"method": answer.method, "bits": "no value", "95 % interval": ""}
    value = f"{estimate.value:.3f}"
    if math.isfinite(estimate.standard_error) and not isinstance(estimate, Reading):
        value += f" ± {estimate.standard_error:.3f}"
    interval = "not known"
    if math.isfinite(estimate.low) and math.isfinite(estimate.high):
        interval = f"{estimate.low:.3f} to {estimate.high:.3f}"
    return {"method": answer.method, "bits": value, "95 % interval": interval}


def draw(answers: Sequence[Answer], *paths: Path) -> None:
    """Draws estimates with 95 % intervals, and the training curves of critics, if any."""
    usable = [answer for answer in answers if math.isfinite(answer.estimate.value)]
    curves = [answer for answer in usable if hasattr(answer.estimate, "curve")]
    size = (10 if curves else 5, 1.0 + 0.35 * max(3, len(usable)))
    with sheet(paths, 1, 2 if curves else 1, size, 120, legend_at="") as (axes,):
        intervals(
            axes[0],
            [answer.method for answer in usable],
            [answer.estimate for answer in usable],
            COLOURS,
        )
        axes[0].set(xlabel="mutual information (bits), 95 % interval")
        for answer in curves:
            answer.estimate.plot_curve(
                axes[1], color=COLOURS[usable.index(answer) % len(COLOURS)]
            )


def defaults(pairs: Pairs) -> tuple[str, ...]:
    """Quick methods for variables of these types, shown next to the reading."""
    kinds = {pairs.x.kind, pairs.y.kind}
    return DEFAULTS[
        "numbers"
        if kinds == {"continuous"}
        else "categories"
        if kinds == {"discrete"}
        else "labels"
    ]


def read_conditional(data: OwnData, seed: int) -> Answer:
    """The reading given the conditions, in bits."""
    began = time.monotonic()
    generator = np.random.default_rng(seed)
    reading = estimate(
        data.x, data.y, groups=data.groups, generator=generator, given=data.given
    )
    name = f"{reading.method} given {named(data.conditions)}"
    return Answer(name, reading.bits, time.monotonic() - began)


def readings(data: OwnData, pairs: Pairs, series: bool, seed: int) -> list[Answer]:
    """The reading, after that given the conditions if there are any, in bits."""
    began = time.monotonic()
    reading = read_pairs(pairs, np.random.default_rng(seed), series).bits
    both = [Answer(reading.method, reading, time.monotonic() - began)]
    if data.conditions:
        both.insert(0, read_conditional(data, seed))
    for answer in both:
        print(f"{answer.method}: {answer.estimate!r}", file=sys.stderr, flush=True)
    return both


def page_of(name: str, data: OwnData, found: Sequence[Answer]) -> Page:
    """The page to send: the answers, and what the grades mean."""
    first = found[0].estimate
    between = " and ".join(
        f"({named(names)})" if len(names) > 1 else names[0] for names in data.variables
    )
    title = f"information that {between} share"
    sentences = answers(first, between)
    if data.conditions:
        title += f" given {named(data.conditions)}"
        sentences = answers_given(first, found[1].estimate, between, data.conditions)
    half = NARROW / NATS_PER_BIT
    meaning = (
        f"Grade A: half the interval's width is at most {half:.2g} bits or "
        f"{100 * NARROW_SHARE:.0f} % of the estimate; "
        "B: it is wider; C: the data differ from everything simulated."
    )
    heading = f"{name}: {title}, in bits (n = {first.n:,})"
    return Page(heading, sentences, {"What the numbers mean": [meaning]})


def main(given: SimpleNamespace) -> None:
    """Measures, prints, writes and records."""
    if given.list:
        print(methods())
        return
    if given.time or given.series:
        # imports scipy.stats, which takes two seconds
        from analysis.series import measure_series

        measure_series(given)
        return
    if given.lags:
        raise InvalidInput("LAGS must be left out without TIME= or SERIES=yes.")
    try:
        if given.given and given.methods:
            raise Conflict(f"METHODS must be left out with GIVEN, got {given.methods!r}: only the reading takes "
                           "conditions.")  # fmt: skip
        data, pairs, series = given_data(given)
        require_writable(stem_of("measure", given))
        chosen = []
        if not data.conditions:
            chosen = [
                as_method(name) for name in listed(given.methods) or defaults(pairs)
            ]
        reading_answers = readings(data, pairs, series, given.seed)
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    measures = [*reading_answers, *measured(pairs, chosen, given.seed)]
    first = reading_answers[0].estimate
    path = Path(given.data)
    result = table(measures, data, pairs, path.name)
    page = page_of(path.name, data, reading_answers)
    params = {
        "n": pairs.n, "x": ",".join(data.variables[0]), "y": ",".join(data.variables[1]),
        "given": ",".join(data.conditions), "x_kind": pairs.x.kind, "y_kind": pairs.y.kind,
        **{f"settings/{answer.method}": answer.estimate.settings for answer in measures}, "reader": first.reader,
    }  # fmt: skip
    conclude(
        EXPERIMENT,
        given,
        page,
        [result],
        data,
        params,
        metrics(measures),
        {"grade": first.grade},
    )


COMMAND = command("measure", main, [
    *options(),
    option("methods", default="", metavar="NAMES", help="of those that --list names, a bound, MODULE:NAME"),
    *series_options(),
    option("seed", type=int, default=0, help="of folds, batches and initial weights (default: 0)"),
    option("list", is_flag=True, help="list the methods with what each takes and when to use it, and end"),
], __doc__)  # fmt: skip
