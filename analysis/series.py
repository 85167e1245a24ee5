"""Series of your own: information of the past of one about another, by lag (measure),
and which leads which (screen).

TIME=t names the column with the times, SERIES=yes says that rows are in their order;
LAGS=3 sets the past values.
"""

import functools
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.marks import sheet
from analysis.common.own_data import (
    TYPES,
    OwnData,
    announce,
    conclude,
    listed,
    progress,
    read,
    read_options,
    read_table,
    stem_of,
)
from analysis.common.tables import Page, Result, require_writable
from infoscope.checks import require_int
from infoscope.errors import Conflict, InvalidInput
from infoscope.estimators import series
from infoscope.estimators.reading.result import Reading
from infoscope.metrics.report import listed as named
from infoscope.metrics.screening import SeriesScreen, screen_series

MEASURE, SCREEN = "measure", "screen"  # experiments
TRANSFER = "transfer entropy"
Readings = dict[tuple[str, str], Reading]  # by what, and from which series to which
MEANING = (
    "A transfer entropy is what the past of one series adds about the next value of "
    "the other beyond its own past "
    "(Schreiber 2000); information of the past includes what both pasts share. The "
    "history, how many past values, is "
    "part of the question. Intervals are for the true value, calibrated on simulated "
    "processes."
)
REASONS = ("not stationary", "memory", "unusual data")  # codes of notes on grade C
MOST_LAGS = 10  # of the curve
MOST_SHOWN = 10  # pairs, where none leads
MOST_RECORDED = 200  # pairs in a run
ROWS_A_LAG = 20  # moments for each lag of the curve


def measure_series(given: SimpleNamespace) -> None:
    """Measures two series, prints, writes and records."""
    try:
        data = series_data(given)
        require_writable(stem_of(MEASURE, given))
        names = tuple(_name(side) for side in data.variables)
        history = given.lags or None
        readings = both_ways(data, names, history, given.seed)
        checked = series.as_series(data.x, data.y, data.time, data.groups)
        longest = lags_of_curve(int(np.bincount(checked.units).max()))
        generator = np.random.default_rng(given.seed)
        curve = series.lag_curve(
            data.x,
            data.y,
            longest,
            time=data.time,
            groups=data.groups,
            names=names,
            generator=generator,
        )
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    file = Path(given.data).name
    forward, backward = (
        reading for (what, _), reading in readings.items() if what == TRANSFER
    )
    answers = [
        series.direction(forward, backward, names),
        *str(curve).splitlines(),
        *graded(readings),
    ]
    heading = (
        f"{file}: information of the past of {names[0]} about {names[1]}, and the "
        f"reverse, in bits (n = {forward.n:,})"
    )
    page = Page(heading, answers, {"What the numbers mean": [MEANING]})
    results = [table(readings, curve, file, data.digest), curve_table(curve, file)]
    params = {
        "n": forward.n,
        "x": ",".join(data.variables[0]),
        "y": ",".join(data.variables[1]),
        "reader": forward.reader,
    }
    params |= {"history": forward.history, "history_back": backward.history}
    metrics = {}
    for name, reading in readings.items():
        metrics[*name, "bits"] = reading.value
        metrics[*name, "bits_low"] = reading.low
        metrics[*name, "bits_high"] = reading.high
    conclude(
        MEASURE, given, page, results, data, params, metrics, {"grade": forward.grade}
    )


def series_data(given: SimpleNamespace) -> OwnData:
    """The series that the command line names, with their times. Conflict: GIVEN or
    METHODS with them.
    """
    require_int("--seed", given.seed, 0)
    require_alone(given, "given", "methods", "shuffle")
    names = {option: listed(getattr(given, option)) for option in ("x", "y", *TYPES)}
    path = Path(given.data)
    data = read(
        path,
        **names,
        groups=given.groups,
        time=given.time,
        gaps=True,
        options=read_options(given),
    )
    announce(given, data.understood)
    return data


def require_alone(given: SimpleNamespace, *options: str) -> None:
    """Conflict where one of these options is given with series."""
    for option in options:
        if getattr(given, option):
            raise Conflict(
                f"{option.upper()} must be left out of series, got "
                f"{getattr(given, option)!r}."
            )


def lags_of_curve(moments: int) -> int:
    """The longest lag of the curve."""
    return max(1, min(MOST_LAGS, moments // ROWS_A_LAG))


def both_ways(
    data: OwnData, names: tuple[str, str], history: int | None, seed: int
) -> Readings:
    """Transfer entropy and information of each series about the other, in bits; a line
    as it comes.
    """
    sides = {names[0]: data.x, names[1]: data.y}
    functions = {
        TRANSFER: series.transfer_entropy,
        "information of the past": series.information,
    }
    readings = {}
    for what, function in functions.items():
        for cause, effect in (names, names[::-1]):
            generator = np.random.default_rng(seed)
            reading = function(
                sides[cause],
                sides[effect],
                history,
                time=data.time,
                groups=data.groups,
                generator=generator,
            )
            readings[what, f"{cause} to {effect}"] = reading.bits
            print(
                f"{what}, {cause} to {effect}: {reading.bits!r}",
                file=sys.stderr,
                flush=True,
            )
    return readings


def graded(readings: Readings) -> list[str]:
    """Why intervals of grade C are to be doubted."""
    reasons = {}
    for reading in readings.values():
        if reading.grade == "C":
            for note in reading.notes:
                if note.code in REASONS:
                    reasons[note] = None
    return [f"Grade C: {reason}" for reason in reasons]


def table(readings: Readings, curve: series.LagCurve, file: str, digest: str) -> Result:
    """A row for each reading, bits with a 95 % interval; its figure is the lag curve."""
    rows, words = [], []
    for (what, which), reading in readings.items():
        name = f"{what}, {which}"
        row = {
            "what": name,
            "bits": reading.value,
            "low_bits": reading.low,
            "high_bits": reading.high,
        }
        rows.append(
            row
            | {
                "p": reading.p_value,
                "grade": reading.grade,
                "history": reading.history,
                "n": reading.n,
            }
        )
        words.append({
            "what": name,
            "bits": f"{reading.value:.3f}",
            "95 % interval": f"{reading.low:.3f} to {reading.high:.3f}",
            "grade": reading.grade,
            "history": reading.history,
        })  # fmt: skip
    notes = dict.fromkeys(
        note for reading in readings.values() for note in reading.notes
    )
    caption = [
        f"Bits between series of {file}; intervals are for the true value, in the "
        "figure by lag for all lags together.",
        *notes,
        f"SHA-256 of the data: {digest}.",
    ]
    return Result(
        "measure",
        pd.DataFrame(rows),
        pd.DataFrame(words),
        caption,
        functools.partial(draw, curve),
    )


def curve_table(curve: series.LagCurve, file: str) -> Result:
    """The lag curve as a table."""
    words = curve.table.assign(
        **{
            name: curve.table[name].map("{:.3f}".format)
            for name in ("bits", "low", "high")
        }
    )
    caption = [
        f"Bits that one series of {file} shares with the other some steps later; 95 % "
        "for all lags together."
    ]
    return Result("lags", curve.table, words, caption)


def draw(curve: series.LagCurve, *paths: Path) -> None:
    """Draws the lag curve."""
    with sheet(paths, 1, 1, (6, 3.4), 120, legend_at="") as (axes,):
        curve.plot(axes[0])


def screen_own_series(given: SimpleNamespace) -> None:
    """Screens series, prints, writes and records."""
    try:
        require_alone(given, "given", "shuffle")
        types = {name: listed(getattr(given, name)) for name in TYPES}
        data = read_table(
            Path(given.data),
            listed(given.x),
            given.target,
            given.groups,
            options=read_options(given),
            time=given.time,
            **types,
        )
        announce(given, data.understood)
        require_writable(stem_of(SCREEN, given))
        answer = screen_series(
            data.columns, given.target or None, time=data.time, groups=data.groups, history=given.lags or None,
            level=given.level, generator=np.random.default_rng(given.seed), progress=progress(),
        )  # fmt: skip
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    file = Path(given.data).name
    n = int(answer.table["n"].max())
    page = Page(
        f"{file}: which series lead which, in bits (n = {n:,})",
        answer.answers,
        {"What the numbers mean": [MEANING]},
    )
    params = {
        "n": n,
        "level": given.level,
        "x": given.x,
        "target": given.target,
        "compared": len(answer.table),
    }
    metrics = {("leading_pairs",): int(answer.table["leads"].sum())}
    for row in answer.table[answer.table["leads"]].head(MOST_RECORDED).itertuples():
        metrics["bits", row.cause, row.effect] = float(row.bits)
    conclude(
        SCREEN,
        given,
        page,
        [screen_table(answer, file, data.digest)],
        data,
        params,
        metrics,
    )


def screen_table(answer: SeriesScreen, file: str, digest: str) -> Result:
    """The pairs that lead, or the first ones where none does; all of them as a file."""
    leading = int(answer.table["leads"].sum())
    rows = answer.table.head(leading or MOST_SHOWN)
    words = pd.DataFrame({
        "cause": rows["cause"],
        "effect": rows["effect"],
        "bits": rows["bits"].map("{:.3f}".format),
        "95 % interval": rows["low"].map("{:.3f}".format) + " to " + rows["high"].map("{:.3f}".format),
        "q": rows["q"].map("{:.2g}".format),
        "grade": rows["grade"],
        "history": rows["history"],
    })  # fmt: skip
    caption = [
        f"Transfer entropy of one series of {file} to another; intervals are for the "
        "true value. q: false discovery "
        f"rate (Benjamini & Hochberg 1995). {len(rows):,} of {len(answer.table):,} "
        "pairs are shown; the CSV has all.",
        *answer.notes,
        f"SHA-256 of the data: {digest}.",
    ]
    return Result("screen", answer.table, words, caption)


def _name(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"({named(names)})"
