"""The figures of the tutorials, drawn from what their own code computes: `python -m infra.site.tutorials`, a minute."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from analysis.common.marks import BLUE, GREEN, ORANGE, VERMILLION, save
from infoscope.estimators import estimate
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.notebook import intervals

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
DOTS = 110  # per inch


def draw_estimate(names: dict[str, Any], axes: Any) -> None:
    """y against one column of x, and against the length of x."""
    x, y = names["x"], names["y"]
    for ax, shown, label in ((axes[0], x[:, 0], "first column of x"), (axes[1], np.hypot(*x.T), "length of x")):
        ax.scatter(shown, y, s=4, color=BLUE, linewidths=0)
        ax.set(xlabel=label, ylabel="y")


def draw_trust(names: dict[str, Any], axes: Any) -> None:
    """KSG and the reading with their intervals, and the true value."""
    found = [estimate(names["x"], names["y"], "ksg"), names["found"]]
    intervals(axes[0], ["KSG", "reading"], found, [ORANGE, BLUE])
    axes[0].axvline(names["truth"], color="black", linewidth=1, label="true value")
    axes[0].legend(frameon=False)


def draw_compare(names: dict[str, Any], axes: Any) -> None:
    """Bits about the digit in each representation, by the reading and as logistic regression can use them."""
    blocks = ("components", "random", "all blocks")
    rows = [names["found"].row(block, "digit") for block in blocks]
    for ax, kind, colour in ((axes[0], "reading", BLUE), (axes[1], "linear", GREEN)):
        intervals(ax, blocks, [getattr(row, kind).bits for row in rows], [colour] * len(rows))
        ax.set(xlabel=f"{kind} (bits)", xlim=(0, 1.8))


def draw_block(names: dict[str, Any], axes: Any) -> None:
    """What blocks hold of class and domain."""
    names["report"].plot(axes[0])


def draw_difficulty(names: dict[str, Any], axes: Any) -> None:
    """PVI of right and wrong predictions."""
    items = names["items"]
    bins = np.linspace(items["pvi_bits"].min(), items["pvi_bits"].max(), 40)
    for right, colour, label in ((True, BLUE, "right"), (False, VERMILLION, "wrong")):
        axes[0].hist(items.loc[items["correct"] == right, "pvi_bits"], bins, color=colour, alpha=0.7, label=label)
    axes[0].set(xlabel="PVI (bits)", ylabel="items")
    axes[0].legend(frameon=False, title="prediction")


def draw_own_estimator(names: dict[str, Any], axes: Any) -> None:
    """The binned estimate by the number of bins, and the true value."""
    bins = 2 ** np.arange(1, 8)
    found = [names["binned"](names["x"][:, None], names["y"][:, None], count) / NATS_PER_BIT for count in bins]
    axes[0].plot(bins, found, "o-", color=BLUE, label="binned")
    axes[0].axhline(-0.5 * np.log2(1 - 0.8**2), color="black", linewidth=1, label="true value")
    axes[0].set(xlabel="bins", ylabel="estimate (bits)", xscale="log", xticks=bins, xticklabels=bins)
    axes[0].minorticks_off()
    axes[0].legend(frameon=False)


def draw_sweep(names: dict[str, Any], axes: Any) -> None:
    """Mean error over the seeds of the profile `laptop`, by rows."""
    from infoscope.tracking import Pack, Report

    class Kept(Report):
        def metrics(self, cell: Any, values: Any, step: int = 0) -> None:
            errors.setdefault(cell["rows"], []).append(values["error"])

    errors: dict[int, list[float]] = {}
    sweep = names["SWEEP"]
    sweep.run_here(Pack(tuple(sweep.cells(sweep.profile("laptop")[1]))), Kept())
    means = [np.mean(found) for found in errors.values()]
    spread = [np.std(found, ddof=1) / len(found) ** 0.5 for found in errors.values()]
    axes[0].errorbar(list(errors), means, spread, fmt="o", color=BLUE, capsize=3)
    axes[0].axhline(0, color="black", linewidth=1)
    axes[0].set(xlabel="rows", ylabel="error (nats)", xscale="log", xticks=list(errors), xticklabels=list(errors))
    axes[0].minorticks_off()


FIGURES: dict[str, tuple[Callable[[dict[str, Any], Any], None], int, tuple[float, float]]] = {  # panels, inches
    "estimate": (draw_estimate, 2, (7, 2.6)), "trust": (draw_trust, 1, (6, 1.6)),
    "compare": (draw_compare, 2, (8, 1.8)), "block": (draw_block, 1, (6, 3)),
    "difficulty": (draw_difficulty, 1, (6, 2.6)), "own-estimator": (draw_own_estimator, 1, (6, 2.6)),
    "sweep": (draw_sweep, 1, (6, 2.6)),
}  # fmt: skip


def draw(name: str, folder: Path = FOLDER) -> Path:
    """Runs the code of a tutorial and draws its figure; the file."""
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {}
    for code in re.findall(r"```python exec.*?\n(.*?)```", (FOLDER / f"{name}.md").read_text(), re.DOTALL):
        exec(compile(code, name, "exec"), names)
    drawn, panels, inches = FIGURES[name]
    figure, axes = plt.subplots(1, panels, figsize=inches, squeeze=False, layout="constrained")
    drawn(names, axes[0])
    path = folder / f"{name}.png"
    save(figure, [path], DOTS)
    return path


if __name__ == "__main__":
    for tutorial in FIGURES:
        print(draw(tutorial))
