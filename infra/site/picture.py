"""The figures of README, of the first page and of the concepts, by `python -m infra.site.picture`, in a minute or two.

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
GATES = {"copies": lambda a, b: a if a == b else None, "a alone": lambda a, b: a, "a XOR b": lambda a, b: a ^ b,
         "a AND b": lambda a, b: a & b}  # fmt: skip
TERMS = {"unique_a": "unique of a", "redundant": "redundant", "synergistic": "synergistic"}


def draw(path: Path, bits: tuple[float, ...] = BITS, columns: tuple[int, ...] = COLUMNS, rows: int = ROWS) -> None:
    """One data set of each: KSG with the interval of its sampling error, and the reading."""
    import matplotlib.pyplot as plt

    generator = np.random.default_rng(0)
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True, layout="constrained")
    for width, colour in zip(columns, COLOURS):
        for place, truth in enumerate(bits):
            of_each = truth * NATS_PER_BIT / width
            correlation = math.sqrt(-math.expm1(-2 * of_each))
            x = generator.normal(size=(rows, width))
            y = correlation * x + math.sqrt(1 - correlation**2) * generator.normal(size=(rows, width))
            at = truth + 0.04 * (columns.index(width) - 1)
            label = f"{width} column{'s' if width > 1 else ''} each" if not place else None
            for axis, method in zip(axes, ("ksg", None)):
                found = estimate(x, y, method).bits
                ends = [[found.value - found.low], [found.high - found.value]]
                axis.errorbar(at, found.value, ends, fmt="o", color=colour, capsize=3, label=label)
    for axis, title in zip(axes, ("KSG, interval of the sampling error", "reading, interval for the true value")):
        axis.axline((0, 0), slope=1, color="black", linewidth=1, label="truth")
        axis.set(xlabel="mutual information (bits)", xlim=(0, 3.2), ylim=(0, None))
        axis.set_title(f"{title}, n = {rows:,}", fontsize="medium")
    axes[0].set_ylabel("estimate (bits) and its 95 % interval")
    axes[0].legend(frameon=False, fontsize="small")
    save(figure, [path], 120)


def parts(path: Path) -> dict[str, pid.Decomposition]:
    """Draws the parts of the information of two coins about the targets of GATES; returns them, nats, by target."""
    import matplotlib.pyplot as plt

    found = {}
    figure, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
    for place, (name, rule) in enumerate(GATES.items()):
        table = probabilities(rule)
        found[name], bounds = pid.broja(table), pid.bounds(*pid.discrete_information(table))
        for number, ((term, label), colour) in enumerate(zip(TERMS.items(), COLOURS)):
            at = place + 0.25 * (number - 1)
            value = float(getattr(found[name], term)) / NATS_PER_BIT
            axis.bar(at, value, 0.22, color=colour, label=label if not place else None)
            bound = term.removesuffix("_a")
            ends = [float(getattr(bounds, f"{bound}_{end}")) / NATS_PER_BIT for end in ("low", "high")]
            of_all = "bounds of all definitions" if not place and not number else None
            axis.plot([at, at], ends, color="black", marker="_", linewidth=1, label=of_all)
    axis.set(xticks=range(len(GATES)), xticklabels=list(GATES), ylabel="bits", ylim=(0, 1.15))
    axis.legend(frameon=False, fontsize="small", ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.17))
    save(figure, [path], 150)
    return found


def probabilities(rule: Callable[[int, int], int | None]) -> np.ndarray:
    """p(target, a, b) [2, 2, 2] of two fair coins; where the rule gives None the two do not occur together."""
    table = np.zeros((2, 2, 2))
    for a, b in np.ndindex(2, 2):
        if (target := rule(a, b)) is not None:
            table[target, a, b] = 1
    return table / table.sum()


if __name__ == "__main__":
    parts(PARTS)
    draw(PICTURE)
