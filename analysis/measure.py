"""How much x and y of your own data share: the reading in one line, single estimators in a table, plot, page and run.

DATA is a .npz with arrays x and y, or a .csv or .parquet whose columns X and Y name. The interval of the reading is for
the true information, calibrated on simulated data; those of single estimators are for the error of sampling rows alone.
"""

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pandas as pd

from analysis.common.marks import COLOURS, sheet
from analysis.common.own_data import (
    OwnData,
    as_options,
    described,
    given_data,
    grades,
    listed,
    options,
    record,
    stem_of,
)
from analysis.common.tables import Result, present, require_writable
from infoscope.command_line import command, option
from infoscope.errors import InvalidInput
from infoscope.estimators.arrays import METHODS, Method, Pairs, as_method, estimate_pairs, methods
from infoscope.estimators.reading.result import METHOD, Reading, read
from infoscope.estimators.result import BITS, NATS, Estimate, undefined
from infoscope.notebook import intervals

EXPERIMENT = "measure"
BAD_INPUT = 2
DEFAULTS = {"numbers": ("ksg", "gcmi"), "labels": ("ksg", "classifier"), "categories": ("chao-shen", "nsb")}


@dataclass(frozen=True)
class Answer:
    """What one method gave, in nats, and how long it took; no value where it could not be used, and why."""

    method: str
    limit: str
    estimate: Estimate
    seconds: float


def measured(pairs: Pairs, chosen: Sequence[Method], seed: int, unit: str = BITS) -> list[Answer]:
    """An answer of every method, each with the same seed; a line in the unit as it comes."""
    answers = []
    for method in chosen:
        began = time.monotonic()
        try:
            found = estimate_pairs(method, pairs, np.random.default_rng(seed))
        except ValueError as error:
            found = undefined(str(error), n=pairs.n, method=method.name)
        took = time.monotonic() - began
        print(f"{method.name}: {found.as_unit(unit)!r}, {took:.1f} s", file=sys.stderr, flush=True)
        answers.append(Answer(method.name, getattr(method, "limit", ""), found, took))
    return answers


def table(answers: Sequence[Answer], data: OwnData, pairs: Pairs, name: str, unit: str = BITS) -> Result:
    """One row a method, the reading first: bits, or nats, with a 95 % interval; notes and failures below."""
    figures = pd.DataFrame([_figures(answer, unit) for answer in answers])
    text = pd.DataFrame([_words(answer, unit) for answer in answers])
    told = [f"{answer.method}: {as_options(note)}" for answer in answers for note in answer.estimate.notes
            if as_options(note) not in pairs.notes]  # fmt: skip
    caption = [
        f"Mutual information of {described(data, pairs, name)} Intervals: 95 %; of the reading, for the true value "
        f"({grades(unit)}); of the others, for the error of sampling rows alone (±: its standard error), without their "
        "bias.",
        *pairs.notes,
        *told,
        f"SHA-256 of the data: {data.digest}.",
    ]
    return Result("measure", figures, text, caption, lambda *paths: draw(answers, *paths, unit=unit))


def _figures(answer: Answer, unit: str) -> dict[str, Any]:
    found, shown = answer.estimate, answer.estimate.as_unit(unit)
    return {
        "method": answer.method, unit: shown.value, f"{unit}_error": shown.standard_error, f"low_{unit}": shown.low,
        f"high_{unit}": shown.high, "n": found.n, "seconds": answer.seconds,
    }  # fmt: skip


def _words(answer: Answer, unit: str) -> dict[str, str]:
    found, row = answer.estimate, {"method": answer.method}
    if math.isnan(found.value):
        return row | {unit: "no value", "95 % interval": "", "n": "", "in the limit": answer.limit, "seconds": ""}
    shown = found.as_unit(unit)
    known = math.isfinite(shown.standard_error) and not isinstance(found, Reading)
    value = f"{shown.value:.3f}" + f" ± {shown.standard_error:.3f}" * known
    if math.isinf(shown.high) and not known:  # a limit from below is no estimate
        value = ""
    interval = f"{shown.low:.3f} to {shown.high:.3f}" if math.isfinite(shown.high) else f"at least {shown.low:.3f}"
    return row | {
        unit: value,
        "95 % interval": interval if math.isfinite(shown.low) else "not known",
        "n": f"{found.n:,}" if found.n else "",
        "in the limit": answer.limit,
        "seconds": f"{answer.seconds:.1f}",
    }


def draw(answers: Sequence[Answer], *paths: Path, unit: str = BITS) -> None:
    """Estimates with their intervals, a limit as an arrow; beside them the training curves of critics, if any."""
    usable = [answer for answer in answers if math.isfinite(answer.estimate.value)]
    curves = [answer for answer in usable if hasattr(answer.estimate, "curve")]
    size = (6.5 if not curves else 11, 1.4 + 0.45 * max(3, len(usable)))
    with sheet(paths, 1, 2 if curves else 1, size, 120, legend_at="") as (axes,):
        intervals(axes[0], [answer.method for answer in usable], [answer.estimate.as_unit(unit) for answer in usable],
                  COLOURS)  # fmt: skip
        axes[0].set(xlabel=f"mutual information ({unit}), 95 % interval; > : at least")
        for answer in curves:
            answer.estimate.plot_curve(axes[1], unit, COLOURS[usable.index(answer) % len(COLOURS)])


def defaults(pairs: Pairs) -> tuple[str, ...]:
    """Quick methods for pairs of these types, shown beside the reading."""
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
        raise InvalidInput(as_options(error)) from error
    began = time.monotonic()
    found = read(pairs, np.random.default_rng(given.seed), series)
    first = Answer(found.method, METHODS[METHOD].limit, found, time.monotonic() - began)
    sentence = repr(found.as_unit(given.unit))
    print(sentence, flush=True)
    answers = [first, *measured(pairs, chosen, given.seed, given.unit)]
    path = Path(given.data)
    result = table(answers, data, pairs, path.name, given.unit)
    stem = stem_of("measure", given)
    paths = present([result], lambda _: stem, stem, [sentence])
    params = {
        "n": pairs.n, "x": ",".join(data.columns[0]), "y": ",".join(data.columns[1]), "x_kind": pairs.x.kind,
        "y_kind": pairs.y.kind,
        **{f"settings/{answer.method}": answer.estimate.settings for answer in answers},
        "reading": sentence, "grade": found.grade, "reader": found.reader,
    }  # fmt: skip
    metrics = {
        f"{row['method']}/{name}": float(row[name])
        for row in result.figures.to_dict("records")
        for name in (given.unit, f"{given.unit}_error", f"low_{given.unit}", f"high_{given.unit}", "seconds")
    }
    record(EXPERIMENT, given, data.digest, params, metrics, [result], paths)


COMMAND = command("measure", main, [
    *options(),
    option("methods", default="", metavar="NAMES", help="of those that --list names, smile-CLIP, MODULE:NAME"),
    option("seed", type=int, default=0, help="of folds, batches and initial weights (default: 0)"),
    option("unit", type=click.Choice((BITS, NATS)), default=BITS, help="of the table and its figure (default: bits)"),
    option("list", is_flag=True, help="list the methods with types, cost and source, and end"),
], __doc__)  # fmt: skip
