"""How much information x and y share: the reading and single estimators, each with a 95 % interval.

DATA is a table (.csv, .xlsx, .parquet) whose columns X and Y name, or a .npz with arrays x and y. The interval of the
reading is for the true value, calibrated on simulated data; those of single estimators are for sampling error only.
Written: a table, a figure, one page to send, and one run in MLflow.
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
from analysis.common.own_data import OwnData, conclude, given_data, listed, options, stem_of
from analysis.common.tables import Page, Result, require_writable
from infoscope.command_line import command, option
from infoscope.errors import InvalidInput
from infoscope.estimators.arrays import Method, Pairs, as_method, estimate_pairs, methods
from infoscope.estimators.arrays.registry import read_pairs
from infoscope.estimators.reading.reader import NARROW, NARROW_SHARE
from infoscope.estimators.reading.result import Reading
from infoscope.estimators.reading.sentences import finding
from infoscope.estimators.result import Estimate, undefined
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.report import listed as named
from infoscope.notebook import intervals

EXPERIMENT = "measure"
DEFAULTS = {"numbers": ("ksg", "gcmi"), "labels": ("ksg", "classifier"), "categories": ("chao-shen", "nsb")}


@dataclass(frozen=True)
class Answer:
    """What one method gave, in bits, and how long it took; no value where it could not be used, and why."""

    method: str
    estimate: Estimate
    seconds: float


def measured(pairs: Pairs, chosen: Sequence[Method], seed: int) -> list[Answer]:
    """An answer of every method, each with the same seed; a line as it comes."""
    answers = []
    for method in chosen:
        began = time.monotonic()
        try:
            found = estimate_pairs(method, pairs, np.random.default_rng(seed))
        except ValueError as error:
            found = undefined(str(error), n=pairs.n, method=method.name)
        took = time.monotonic() - began
        print(f"{method.name}: {found.bits!r}, {took:.1f} s", file=sys.stderr, flush=True)
        answers.append(Answer(method.name, found.bits, took))
    return answers


def answers(found: Reading, between: str) -> list[str]:
    """The information in one sentence, and in the second what its grade means for the reader."""
    n = f"n = {found.n:,}" + (f" in {found.units:,} groups" if found.units not in (None, found.n) else "")
    reasons = " ".join(found.notes[-1:])
    quoted = "its upper limit" if found.low == 0 else "the value with it"
    meaning = {
        "A": f"the interval is narrow; quote {quoted}.",
        "B": "the interval is wide; quote it, and measure more rows to narrow it.",
        "C": f"quote the interval, not the best guess. {reasons}",
    }
    return [finding(found, found.p_value, between, n), f"Grade {found.grade}: {meaning[found.grade]}"]


def table(found: Sequence[Answer], data: OwnData, pairs: Pairs, name: str) -> Result:
    """One row a method, the reading first: bits with a 95 % interval; notes and failures below."""
    figures = pd.DataFrame([_figures(answer) for answer in found])
    text = pd.DataFrame([_words(answer) for answer in found])
    notes = []
    for answer in found:
        notes += [f"{answer.method}: {note}" for note in answer.estimate.notes if note not in pairs.notes]
    groups = "" if pairs.groups is None else f" in {pairs.groups.max() + 1:,} groups"
    caption = [
        f"Mutual information of x ({named(data.variables[0])}) and y ({named(data.variables[1])}) of {name}, bits, "
        f"n = {pairs.n:,} rows{groups}; x is {pairs.x.kind}, y is {pairs.y.kind}. The interval of the reading is for "
        "the true value; those of single estimators are for sampling error only, without bias (±: standard error).",
        *pairs.notes,
        *_whole_numbers(data, pairs),
        *notes,
        f"SHA-256 of the data: {data.digest}.",
    ]
    return Result("measure", figures, text, caption, lambda *paths: draw(found, *paths))


def _whole_numbers(data: OwnData, pairs: Pairs) -> list[str]:
    """What to give where a column of whole numbers was taken as categories."""
    sides = zip((data.x, data.y), (pairs.x.kind, pairs.y.kind), data.variables)
    whole = [
        names[0]
        for values, kind, names in sides
        if kind == "discrete" and isinstance(values, pd.Series) and values.dtype.kind in "iu"
    ]
    names = ",".join(whole)
    told = f"{names}: whole numbers, taken as categories; CONTINUOUS={names} takes them as counts or levels."
    return [told] if whole else []


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
    """The reading as `bits`, `bits_low`, `bits_high`, then the other methods as METHOD/bits and so on."""
    values = {}
    for answer in found:
        estimate = answer.estimate
        is_reading = isinstance(estimate, Reading)
        place = () if is_reading else (answer.method,)
        values[*place, "bits"] = estimate.value
        if not is_reading:
            values[*place, "bits_error"] = estimate.standard_error
        values[*place, "bits_low"] = estimate.low
        values[*place, "bits_high"] = estimate.high
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
        intervals(axes[0], [answer.method for answer in usable], [answer.estimate for answer in usable], COLOURS)
        axes[0].set(xlabel="mutual information (bits), 95 % interval")
        for answer in curves:
            answer.estimate.plot_curve(axes[1], color=COLOURS[usable.index(answer) % len(COLOURS)])


def defaults(pairs: Pairs) -> tuple[str, ...]:
    """Quick methods for variables of these types, shown next to the reading."""
    kinds = {pairs.x.kind, pairs.y.kind}
    return DEFAULTS["numbers" if kinds == {"continuous"} else "categories" if kinds == {"discrete"} else "labels"]


def main(given: SimpleNamespace) -> None:
    """Measures, prints, writes and records."""
    if given.list:
        print(methods())
        return
    try:
        data, pairs, series = given_data(given)
        require_writable(stem_of("measure", given))
        chosen = [as_method(name) for name in listed(given.methods) or defaults(pairs)]
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    began = time.monotonic()
    found = read_pairs(pairs, np.random.default_rng(given.seed), series).bits
    first = Answer(found.method, found, time.monotonic() - began)
    print(f"{found.method}: {found!r}", file=sys.stderr, flush=True)
    measures = [first, *measured(pairs, chosen, given.seed)]
    path = Path(given.data)
    result = table(measures, data, pairs, path.name)
    between = " and ".join(f"({named(names)})" if len(names) > 1 else names[0] for names in data.variables)
    half = NARROW / NATS_PER_BIT
    page = Page(
        f"{path.name}: information that {between} share, in bits (n = {pairs.n:,})",
        answers(found, between),
        {"What the numbers mean": [
            f"Grade A: half the interval's width is at most {half:.2g} bits or {100 * NARROW_SHARE:.0f} % of "
            "the estimate; B: it is wider; C: the data differ from everything simulated.",
        ]},
    )  # fmt: skip
    params = {
        "n": pairs.n, "x": ",".join(data.variables[0]), "y": ",".join(data.variables[1]), "x_kind": pairs.x.kind,
        "y_kind": pairs.y.kind,
        **{f"settings/{answer.method}": answer.estimate.settings for answer in measures}, "reader": found.reader,
    }  # fmt: skip
    conclude(EXPERIMENT, given, page, [result], data, params, metrics(measures), {"grade": found.grade})


COMMAND = command("measure", main, [
    *options(),
    option("methods", default="", metavar="NAMES", help="of those that --list names, a bound, MODULE:NAME"),
    option("seed", type=int, default=0, help="of folds, batches and initial weights (default: 0)"),
    option("list", is_flag=True, help="list the methods with what each takes and when to use it, and end"),
], __doc__)  # fmt: skip
