"""The figures of README, of the first page and of the concepts, by `python -m
infra.site.picture`, in a minute or two.

docs/trust.png   KSG and the reading of normal variables whose information is known, by columns, with their intervals
docs/parts.png   the information of two coins about four targets, in unique, redundant and synergistic parts
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from analysis.common.marks import COLOURS, save
from infoscope.estimators import estimate
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics import pid

PICTURE = Path(__file__).parents[2] / "docs" / "trust.png"
PARTS = PICTURE.with_name("parts.png")
BITS = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
COLUMNS = (1, 3, 10)
ROWS = 2000
GATES = {  # target -> its value for two coins; None: they do not occur together
    "copies": lambda a, b: a if a == b else None,
    "a alone": lambda a, b: a,
    "a XOR b": lambda a, b: a ^ b,
    "a AND b": lambda a, b: a & b,
}
TERMS = {
    "unique_a": "unique of a",
    "redundant": "redundant",
    "synergistic": "synergistic",
}


def draw(
    path: Path,
    bits: tuple[float, ...] = BITS,
    columns: tuple[int, ...] = COLUMNS,
    rows: int = ROWS,
) -> None:
    """A data set for each number of columns and each information: KSG with its sampling
    interval, and the reading.
    """
    import matplotlib.pyplot as plt

    generator = np.random.default_rng(0)
    figure, axes = plt.subplots(
        1, 2, figsize=(9.5, 4.2), sharey=True, layout="constrained"
    )
    for width, colour in zip(columns, COLOURS):
        label = f"{width} column{'s' if width > 1 else ''} each"
        shift = 0.04 * (columns.index(width) - 1)
        for truth in bits:
            nats_of_column = truth * NATS_PER_BIT / width
            correlation = math.sqrt(-math.expm1(-2 * nats_of_column))
            x = generator.normal(size=(rows, width))
            noise = generator.normal(size=(rows, width))
            y = correlation * x + math.sqrt(1 - correlation**2) * noise
            for axis, method in zip(axes, ("ksg", None)):
                reading = estimate(x, y, method).bits
                ends = [[reading.value - reading.low], [reading.high - reading.value]]
                axis.errorbar(
                    truth + shift,
                    reading.value,
                    ends,
                    fmt="o",
                    color=colour,
                    capsize=3,
                    label=label,
                )
            label = None  # once in the legend
    for axis, title in zip(
        axes,
        ("KSG, interval of the sampling error", "reading, interval for the true value"),
    ):
        axis.axline((0, 0), slope=1, color="black", linewidth=1, label="truth")
        axis.set(xlabel="mutual information (bits)", xlim=(0, 3.2), ylim=(0, None))
        axis.set_title(f"{title}, n = {rows:,}", fontsize="medium")
    axes[0].set_ylabel("estimate (bits) and its 95 % interval")
    axes[0].legend(frameon=False, fontsize="small")
    save(figure, [path], 120)


def parts(path: Path) -> dict[str, pid.Decomposition]:
    """Draws the parts of the information of two coins about the targets of GATES;
    returns them, nats, by target.
    """
    import matplotlib.pyplot as plt

    decompositions = {}
    figure, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
    bounds_label = "bounds of all definitions"
    for place, (name, rule) in enumerate(GATES.items()):
        table = probabilities(rule)
        decomposition = pid.broja(table)
        bounds = pid.bounds(*pid.discrete_information(table))
        decompositions[name] = decomposition
        for number, (term, colour) in enumerate(zip(TERMS, COLOURS)):
            at = place + 0.25 * (number - 1)
            value = float(getattr(decomposition, term)) / NATS_PER_BIT
            label = TERMS[term] if place == 0 else None
            axis.bar(at, value, 0.22, color=colour, label=label)
            bound = term.removesuffix("_a")
            low = float(getattr(bounds, f"{bound}_low")) / NATS_PER_BIT
            high = float(getattr(bounds, f"{bound}_high")) / NATS_PER_BIT
            axis.plot(
                [at, at],
                [low, high],
                color="black",
                marker="_",
                linewidth=1,
                label=bounds_label,
            )
            bounds_label = None  # once in the legend
    axis.set(
        xticks=range(len(GATES)), xticklabels=list(GATES), ylabel="bits", ylim=(0, 1.15)
    )
    axis.legend(
        frameon=False,
        fontsize="small",
        ncols=4,
        loc="upper center",
        bbox_to_anchor=(0.5, 1.17),
    )
    save(figure, [path], 150)
    return decompositions


def probabilities(rule: Callable[[int, int], int | None]) -> np.ndarray:
    """p(target, a, b) [2, 2, 2] of two fair coins; where the rule gives None the two do
    not occur together.
    """
    table = np.zeros((2, 2, 2))
    for a, b in np.ndindex(2, 2):
        target = rule(a, b)
        if target is not None:
            table[target, a, b] = 1
    return table / table.sum()


if __name__ == "__main__":
    parts(PARTS)
    draw(PICTURE)
