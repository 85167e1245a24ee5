"""The figures of the tutorials, drawn from what their own code computes: `python -m infra.site.tutorials`, a minute.

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


def draw_estimate(figure: Any, names: dict[str, Any]) -> None:
    x = names["x"]
    shown = {"first column of x": x[:, 0], "length of x": np.hypot(*x.T)}
    for ax, (label, values) in zip(figure.subplots(1, 2), shown.items()):
        ax.scatter(values, names["y"], s=4, color=BLUE, linewidths=0)
        ax.set(xlabel=label, ylabel="y")


def draw_trust(figure: Any, names: dict[str, Any]) -> None:
    ax = figure.subplots()
    found = [estimate(names["x"], names["y"], "ksg"), names["found"]]
    intervals(ax, ["KSG", "reading"], found, [ORANGE, BLUE])
    ax.axvline(names["truth"], color="black", linewidth=1, label="true value")
    ax.legend(frameon=False)


def draw_compare(figure: Any, names: dict[str, Any]) -> None:
    blocks = ("components", "random", "all blocks")
    for ax, kind, colour in zip(figure.subplots(1, 2), ("reading", "linear"), (BLUE, GREEN)):
        found = [getattr(names["found"].row(block, "digit"), kind).bits for block in blocks]
        intervals(ax, blocks, found, [colour])
        ax.set(xlabel=f"{kind} (bits)", xlim=(0, 1.8))


def draw_block(figure: Any, names: dict[str, Any]) -> None:
    names["report"].plot(figure.subplots())


def draw_difficulty(figure: Any, names: dict[str, Any]) -> None:
    ax, items = figure.subplots(), names["items"]
    bins = np.linspace(items["pvi_bits"].min(), items["pvi_bits"].max(), 40)
    for right, colour, label in ((True, BLUE, "right"), (False, VERMILLION, "wrong")):
        ax.hist(items.loc[items["correct"] == right, "pvi_bits"], bins, color=colour, alpha=0.7, label=label)
    ax.set(xlabel="PVI (bits)", ylabel="items")
    ax.legend(frameon=False, title="prediction")


def draw_own_estimator(figure: Any, names: dict[str, Any]) -> None:
    ax, bins = figure.subplots(), [2, 4, 8, 16, 32, 64, 128]
    x, y = names["x"][:, None], names["y"][:, None]
    ax.plot(bins, [names["binned"](x, y, count) / NATS_PER_BIT for count in bins], "o-", color=BLUE, label="binned")
    ax.axhline(-0.5 * np.log2(1 - 0.8**2), color="black", linewidth=1, label="true value")
    ax.set(xlabel="bins", ylabel="estimate (bits)", xscale="log", xticks=bins, xticklabels=bins)
    ax.legend(frameon=False)


def draw_sweep(figure: Any, names: dict[str, Any]) -> None:
    from infoscope.tracking import Pack, Report

    class Kept(Report):
        def metrics(self, cell: Any, values: Any, step: int = 0) -> None:
            errors.setdefault(cell.rows, []).append(values["error"])

    errors: dict[int, list[float]] = {}
    sweep, ax = names["SWEEP"], figure.subplots()
    sweep.run_here(Pack(tuple(sweep.cells(sweep.profile("laptop")[1]))), Kept())
    rows, found = list(errors), np.array(list(errors.values()))
    ax.errorbar(rows, found.mean(1), found.std(1, ddof=1) / found.shape[1] ** 0.5, fmt="o", color=BLUE, capsize=3)
    ax.axhline(0, color="black", linewidth=1)
    ax.set(xlabel="rows", ylabel="error (nats)", xscale="log", xticks=rows, xticklabels=rows)


FIGURES = {  # by page, with their height in inches
    "estimate": (draw_estimate, 2.6), "trust": (draw_trust, 1.6), "compare": (draw_compare, 1.7),
    "block": (draw_block, 3.0), "difficulty": (draw_difficulty, 2.6), "own-estimator": (draw_own_estimator, 2.6),
    "sweep": (draw_sweep, 2.6),
}  # fmt: skip


def draw(name: str, folder: Path = FOLDER) -> Path:
    """Runs the code of a tutorial and draws its figure; the file."""
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {}
    for code in re.findall(r"```python exec.*?\n(.*?)```", (FOLDER / f"{name}.md").read_text(), re.DOTALL):
        run_code(code, name, names)
    drawn, height = FIGURES[name]
    figure = plt.figure(figsize=(7, height), layout="constrained")
    drawn(figure, names)
    save(figure, [path := folder / f"{name}.png"], 110)
    return path


if __name__ == "__main__":
    for tutorial in FIGURES:
        print(draw(tutorial))
