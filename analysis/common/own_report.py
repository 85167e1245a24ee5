"""A report on a user's own data: printed, saved as one CSV, a figure and a page, and
recorded as one run.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from analysis.common.marks import save
from analysis.common.own_data import conclude
from analysis.common.tables import Page, Result, short
from infoscope.estimators.result import BITS
from infoscope.metrics.report import DOUBTS, Report


def conclude_report(
    experiment: str,
    arguments: SimpleNamespace,
    title: str,
    report: Report,
    data: Any,
    params: Mapping[str, object],
    measures: Collection[str] = (),
) -> None:
    """Prints, saves and records a report as `conclude` does; each of its lists has a
    file of its own.

    title     what is shown of the data, and in which unit
    measures  names of the numbers that the run has as metrics; default: all
    """
    heading = f"{Path(arguments.data).name}: {title} (n = {report.n:,})"
    # in the caption
    details = {
        name: content for name, content in report.details.items() if name != DOUBTS
    }
    page = Page(heading, report.answers, details, report.further)
    results = results_of(experiment, report, data.digest)
    conclude(
        experiment, arguments, page, results, data, params, metrics_of(report, measures)
    )


def results_of(experiment: str, report: Report, digest: str) -> list[Result]:
    """The table of a report with its figure, then its lists of items."""

    def draw(*paths: Path) -> None:
        save(report.plot().figure, paths, 150)

    caption = [
        f"{report.caption} {report.size}.",
        *report.doubts,
        f"SHA-256 of the data: {digest}.",
    ]
    results = [Result(experiment, report.table, report.text, caption, draw)]
    for name, items in report.lists.items():
        if len(items):
            results.append(Result(name, items, items.map(short), name))
    return results


def metrics_of(
    report: Report, measures: Collection[str] = ()
) -> dict[tuple[str, ...], float]:
    """Value and interval of each number, by what it is of and its name: (..., "MIG"),
    (..., "MIG_low"); in bits, (..., "richer_bits"), (..., "richer_low_bits"). None of a
    number without a value.
    """
    metrics = {}
    for row in report.record:
        if measures and row.what not in measures:
            continue
        unit = "_bits" if row.shown.unit == BITS else ""
        numbers = {"": row.shown.value, "_low": row.shown.low, "_high": row.shown.high}
        for end, value in numbers.items():
            if np.isfinite(value):
                metrics[*row.of.values(), row.what + end + unit] = value
    return metrics
