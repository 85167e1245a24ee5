"""The figures of the tutorials: `python -m infra.site.tutorials`, a minute.

Each function draws a figure from the names that the code of its page has defined.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from analysis.common.marks import BLUE, GREEN, ORANGE, VERMILLION, save
from infoscope.estimators import estimate
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.notebook import intervals
from infra.site.documents import run_code

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
DOTS: dict[str, Any] = {"s": 4, "color": BLUE, "linewidths": 0}
LINE: dict[str, Any] = {"color": "black", "linewidth": 1}


Names = dict[str, Any]


def draw_estimate(figure: Any, names: Names) -> None:
    """y against a column of x, and against the length of x."""
    first, second = names["x"].T
    length = np.hypot(first, second)
    left, right = figure.subplots(1, 2)
    left.scatter(first, names["y"], **DOTS)
    right.scatter(length, names["y"], **DOTS)
    left.set(xlabel="first column of x", ylabel="y")
    right.set(xlabel="length of x", ylabel="y")


def draw_trust(figure: Any, names: Names) -> None:
    """Intervals of KSG and of the reading, and the true value."""
    ax = figure.subplots()
    ksg = estimate(names["x"], names["y"], "ksg")
    reading = names["found"]
    intervals(ax, ["KSG", "reading"], [ksg, reading], [ORANGE, BLUE])
    ax.axvline(names["truth"], label="true value", **LINE)
    ax.legend(frameon=False)


def draw_compare(figure: Any, names: Names) -> None:
    """Intervals of the reading and of linear predictors for each block."""
    blocks = ("components", "random", "all blocks")
    readings = []
    linear = []
    for block in blocks:
        row = names["found"].row(block, "digit")
        readings.append(row.reading.bits)
        linear.append(row.linear.bits)
    left, right = figure.subplots(1, 2)
    intervals(left, blocks, readings, [BLUE])
    intervals(right, blocks, linear, [GREEN])
    left.set(xlabel="reading (bits)", xlim=(0, 1.8))
    right.set(xlabel="linear (bits)", xlim=(0, 1.8))


def draw_block(figure: Any, names: Names) -> None:
    """The plot of a report."""
    names["report"].plot(figure.subplots())


def draw_difficulty(figure: Any, names: Names) -> None:
    """Distributions of PVI of items that are predicted right and wrong."""
    ax = figure.subplots()
    items = names["items"]
    pvi = items["pvi_bits"]
    is_right = items["correct"].astype(bool)
    right = pvi[is_right]
    wrong = pvi[~is_right]
    bins = np.linspace(pvi.min(), pvi.max(), 40)
    ax.hist(right, bins, color=BLUE, alpha=0.7, label="right")
    ax.hist(wrong, bins, color=VERMILLION, alpha=0.7, label="wrong")
    ax.set(xlabel="PVI (bits)", ylabel="items")
    ax.legend(frameon=False, title="prediction")


def draw_own_estimator(figure: Any, names: Names) -> None:
    """The binned estimate by the number of bins, and the true value."""
    ax = figure.subplots()
    x = names["x"][:, None]
    y = names["y"][:, None]
    bins = [2, 4, 8, 16, 32, 64, 128]
    bits = [names["binned"](x, y, count) / NATS_PER_BIT for count in bins]
    truth = -0.5 * np.log2(1 - 0.8**2)
    ax.plot(bins, bits, "o-", color=BLUE, label="binned")
    ax.axhline(truth, label="true value", **LINE)
    ax.set(xlabel="bins", ylabel="estimate (bits)")
    _log_axis(ax, bins)
    ax.legend(frameon=False)


def draw_sweep(figure: Any, names: Names) -> None:
    """Mean errors of the sweep's estimates by the number of rows."""
    from infoscope.tracking import Pack, Report

    errors_by_rows: dict[int, list[float]] = {}

    class ErrorReport(Report):
        """Collects the errors of the cells."""

        def metrics(self, cell: Any, values: Any, step: int = 0) -> None:
            errors_by_rows.setdefault(cell.rows, []).append(values["error"])

    sweep = names["SWEEP"]
    _, settings = sweep.profile("laptop")
    cells = tuple(sweep.cells(settings))
    sweep.run_here(Pack(cells), ErrorReport())
    rows = list(errors_by_rows)
    errors = np.array(list(errors_by_rows.values()))
    means = errors.mean(1)
    standard_errors = errors.std(1, ddof=1) / errors.shape[1] ** 0.5
    ax = figure.subplots()
    ax.errorbar(rows, means, standard_errors, fmt="o", color=BLUE, capsize=3)
    ax.axhline(0, **LINE)
    ax.set(xlabel="rows", ylabel="error (nats)")
    _log_axis(ax, rows)


def _log_axis(ax: Any, values: list[int]) -> None:
    """Makes the x axis logarithmic, with a tick at each value."""
    ax.set(xscale="log", xticks=values, xticklabels=values)


FIGURES = {  # by page, with their height in inches
    "estimate": (draw_estimate, 2.6),
    "trust": (draw_trust, 1.6),
    "compare": (draw_compare, 1.7),
    "block": (draw_block, 3.0),
    "difficulty": (draw_difficulty, 2.6),
    "own-estimator": (draw_own_estimator, 2.6),
    "sweep": (draw_sweep, 2.6),
}


def draw(name: str, folder: Path = FOLDER) -> Path:
    """The file of a tutorial's figure, drawn after its code was run."""
    import matplotlib.pyplot as plt

    names: Names = {}
    page = (FOLDER / f"{name}.md").read_text()
    for code in re.findall(r"```python exec.*?\n(.*?)```", page, re.DOTALL):
        run_code(code, name, names)
    draw_figure, height = FIGURES[name]
    figure = plt.figure(figsize=(7, height), layout="constrained")
    draw_figure(figure, names)
    path = folder / f"{name}.png"
    save(figure, [path], 110)
    return path


if __name__ == "__main__":
    for tutorial in FIGURES:
        print(draw(tutorial))
