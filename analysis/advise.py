"""Which estimator to believe on your own data, and how much there is: a sentence with numbers, or a refusal with its
reason.

DATA is a .npz with arrays x and y, or a .csv or .parquet whose columns X and Y name. Twins of the data are made, like
them and of known mutual information; what estimators say of the data is set beside what they say of twins. It takes
about WITHIN seconds. Written: two tables (estimators, twins), a figure, one page to send to a colleague, and one run in
MLflow.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.marks import BLUE, GREEN, VERMILLION, mark
from analysis.common.marks import save as save_figure
from analysis.common.own_data import (
    OwnData,
    Parser,
    add_arguments,
    as_options,
    described,
    given_data,
    listed,
    record,
    stem_of,
)
from analysis.common.tables import Result, in_a_sentence, printable, readable, require_writable, save, show
from infoscope.errors import WrongType
from infoscope.estimators.arrays import METHODS, Pairs, as_method
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.advice import ANSWERED, LEAST_SECONDS, NOTHING, Advice, advise

EXPERIMENT = "advise"
BAD_INPUT = 2
GREY = "#888888"
MOST_FAMILIES = 10  # of twins in the figure, the most like the data first


def estimators(advice: Advice, data: OwnData, pairs: Pairs, name: str) -> Result:
    """One row a candidate, the best first: what it says of the data, and how far it is off on twins. Bits."""
    table = advice.table
    columns = [
        column
        for column in ("estimate", "standard_error", "low", "high", "bias", "bias_error", "error")
        if column in table
    ]
    figures = table.assign(**{column: table[column] / NATS_PER_BIT for column in columns}).rename(
        columns={column: f"{column}_bits" for column in columns}
    )
    rows = []
    for _, row in figures.iterrows():
        known = math.isfinite(row["estimate_bits"])
        words = {"estimator": row["method"]}
        words["of the data (bits)"] = _plus_minus(row["estimate_bits"], row["standard_error_bits"])
        words["95 % interval"] = _interval(row["low_bits"], row["high_bits"]) if known else ""
        if "error_bits" in figures:
            known = math.isfinite(row["bias_bits"])
            bias = f"{row['bias_bits']:+.3f} ± {row['bias_error_bits']:.3f}"
            words["bias on twins"] = bias if known else "refused"
            words["error on twins"] = f"{row['error_bits']:.3f}" if math.isfinite(row["error_bits"]) else "refused"
            words["worst twins"] = row["worst_twins"]
        rows.append(words)
    refused = [f"{one.name}: {note}" for one in advice.candidates if math.isnan(one.estimate.value)
               for note in one.estimate.notes]  # fmt: skip
    limit = advice.certified.bits.low if math.isfinite(advice.certified.low) else math.nan
    certified = f"at least {limit:.3f} bits" if math.isfinite(limit) else "none: " + " ".join(advice.certified.notes)
    caption = [
        f"Estimators of mutual information on {described(data, pairs, name)} ±: one standard error; interval: 95 %, of "
        "the draw of rows alone.",
        *([f"Bias and error (root mean square): on {figures['twins'][0]} twins at the level that is nearest to the "
           "data, of the family of twins that is worst for the estimator."] if "twins" in figures else []),
        f"Certified lower limit, 95 %, of any law: {certified}.",
        *map(as_options, advice.notes), *map(as_options, refused), f"SHA-256 of the data: {data.digest}.",
    ]  # fmt: skip
    return Result("advise", figures, pd.DataFrame(rows), "\n".join(caption), lambda *paths: draw(advice, *paths))


def twins(advice: Advice) -> Result:
    """One row a family of twins, the nearest first: whether it has a say, and which levels are possible. Bits."""
    table = advice.families.sort_values("distance", kind="stable", ignore_index=True)
    bits = {f"{column}_bits": table[column] / NATS_PER_BIT for column in ("best", "low", "high")}
    figures = table.drop(columns=["best", "low", "high"]).assign(**bits)
    rows = [
        {
            "twins": row["family"],
            "has a say": "yes" if row["counts"] else "no",
            "T² (limit)": f"{row['distance']:.3g} ({row['limit']:.0f})",
            "nearest level (bits)": f"{row['best_bits']:z.3f}",
            "possible": _interval(row["low_bits"], row["high_bits"]) if row["counts"] else "",
            "twins drawn": f"{row['twins']:,}",
            "told apart": f"{100 * row['told_apart']:.0f} % ± {100 * row['told_apart_error']:.0f}"
            if math.isfinite(row["told_apart"]) else "",
            "farthest figure": f"{row['farthest']}, {row['deviations']:.1f} sd",
        }
        for _, row in figures.iterrows()
    ]  # fmt: skip
    caption = (
        "Twins of the data by family. T²: Hotelling's, between the figures "
        f"({', '.join(advice.asked)}) of the data and those of twins at the nearest level; beyond the limit (99 %) the "
        "data are like no twin of the family, and it has no say. Possible: levels at which twins are like the data, "
        "95 %. Told apart: rows of which trees say rightly whether they are the data's or a twin's, half is chance. "
        "Farthest figure: that in which data and nearest twins differ most."
    )
    return Result("twins", figures, pd.DataFrame(rows), caption)


def _plus_minus(value: float, error: float) -> str:
    if math.isnan(value):
        return "no value"
    return f"{value:.3f}" + (f" ± {error:.3f}" if math.isfinite(error) else "")


def _interval(low: float, high: float) -> str:
    return f"{low:z.3f} to {high:z.3f}" if math.isfinite(low) and math.isfinite(high) else "not known"


def sentence(advice: Advice) -> str:
    """The answer in bits, or why there is none."""
    if advice.verdict != ANSWERED:
        return str(advice)
    best, found = advice.table.iloc[0], advice.estimate.bits
    return (
        f"x and y share {found.value:.3f} bits, {found.low:.3f} to {found.high:.3f} at 95 %, as far as twins of these "
        f"{advice.estimate.n:,} rows tell. Of {len(advice.candidates)} estimators use {advice.chosen}: it says "
        f"{best['estimate'] / NATS_PER_BIT:.3f} bits, and is off by {best['error'] / NATS_PER_BIT:.3f} on twins."
    )


def draw(advice: Advice, *paths: Path) -> None:
    """Left: estimates of the data with their intervals, and the answer as a band. Right: what one figure says of twins
    at their levels, for families that have a say, and what it says of the data as a line."""
    from matplotlib.figure import Figure

    shown = [one for one in advice.candidates if math.isfinite(one.estimate.value)]
    figure = Figure(figsize=(11 if advice.tried else 6, 1.8 + 0.45 * max(4, len(shown))), layout="constrained")
    left, *others = figure.subplots(1, 2 if advice.tried else 1, squeeze=False)[0]
    if advice.verdict == ANSWERED:
        left.axvspan(advice.estimate.low / NATS_PER_BIT, advice.estimate.high / NATS_PER_BIT, color=GREEN, alpha=0.25,
                     label="the answer, 95 %")  # fmt: skip
    for place, one in enumerate(shown):
        bits = one.estimate.bits
        ends = [[bits.value - bits.low], [bits.high - bits.value]] if math.isfinite(bits.low) else None
        colour = VERMILLION if one.name == advice.chosen else BLUE
        left.errorbar(bits.value, place, xerr=ends, fmt="o", color=colour, capsize=3)
    left.set_yticks(range(len(shown)), [one.name + " (use)" * (one.name == advice.chosen) for one in shown])
    left.axvline(0, color="black", linewidth=0.8)
    left.set(xlabel="mutual information (bits), 95 % of the draw of rows", ylim=(len(shown) - 0.5, -0.5))
    if advice.verdict == ANSWERED:
        left.legend(loc="lower right")
    for right in others:
        _draw_twins(advice, right)
    save_figure(figure, paths, 120)


def _draw_twins(advice: Advice, right: Any) -> None:
    nearest = sorted(advice.tried, key=lambda one: one.fit.distance)
    for one in ([one for one in nearest if one.counts] or nearest[:2])[:MOST_FAMILIES]:
        right.plot(one.levels / NATS_PER_BIT, one.profiles[:, 0] / NATS_PER_BIT, linestyle="none", ms=4, alpha=0.6,
                   label=one.name + ("" if one.counts else " (unlike the data)"),
                   **mark("twins", one.name)._asdict())  # fmt: skip
    right.axhline(advice.observed[0] / NATS_PER_BIT, color=GREY, linestyle="--", label="the data")
    right.set(xlabel="information of twins (bits)", ylabel=f"{advice.asked[0]} says (bits)")
    right.legend(fontsize=8)


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--methods", default="", metavar="NAMES", help=f"candidates, of {', '.join(METHODS)}")
    parser.add_argument("--within", default="120", metavar="SECONDS", help="about how long it may take (default: 120)")
    parser.add_argument("--seed", type=int, default=0, help="of twins and folds (default: 0)")
    return parser.parse_args(words)


@in_a_sentence()
def main(words: Sequence[str] | None = None) -> int:
    """The exit status: 0, also of a refusal; 2 for bad input."""
    given = _arguments(words)
    try:
        data, pairs = given_data(given)
        require_writable(stem_of("advise", given))
        chosen = [as_method(one) for one in listed(given.methods)] or None
        generator = np.random.default_rng(given.seed)
        advice = advise(data.x, data.y, data.groups, _seconds(given.within), chosen, generator, _say)
    except ValueError as error:
        print(f"error: {as_options(error)}", file=sys.stderr)
        return BAD_INPUT
    path = Path(given.data)
    results = [estimators(advice, data, pairs, path.name)]
    if advice.tried:
        results.append(twins(advice))
    said = sentence(advice)
    for result in results:
        show(result.text)
        print(printable(result.caption))
    print(f"\n{printable(said)}")
    stem = stem_of("advise", given)
    first = save(results[0], stem)
    of_twins = [written for one in results[1:] for written in save(one, stem.with_name(f"{stem.name}-twins"))]
    page = readable([(results[0], first.png), *((one, None) for one in results[1:])], stem, [said])
    paths = [*first, *of_twins, page]
    print("\nsaved:", ", ".join(map(str, paths)))
    more = {"verdict": advice.verdict, "chosen": advice.chosen, "within": given.within, "answer": said}
    record(EXPERIMENT, data, pairs, given, more, _metrics(advice, results[0]), results, paths)
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _metrics(advice: Advice, result: Result) -> dict[str, float]:
    found = {
        f"{row['method']}/{column}": float(row[column])
        for row in result.figures.to_dict("records")
        for column in ("estimate_bits", "bias_bits", "error_bits")
        if column in row
    }
    found |= {
        "seconds": advice.seconds,
        "answered": advice.verdict == ANSWERED,
        "nothing_found": advice.verdict == NOTHING,
    }
    if advice.verdict == ANSWERED:
        bits = advice.estimate.bits
        found |= {"bits": bits.value, "low_bits": bits.low, "high_bits": bits.high}
    return {name: float(value) for name, value in found.items()}


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not LEAST_SECONDS <= found < math.inf:
        raise WrongType(f"WITHIN must be a number of seconds, {LEAST_SECONDS} or more, got {text!r}.")
    return found


if __name__ == "__main__":
    sys.exit(main())
