"""The figures of README, of the first page and of the concepts, by `python -m infra.site.picture`, in a minute or two.

docs/trust.png   neighbour estimates of normal variables whose information is known, by columns, with the verdicts
docs/parts.png   what two coins tell of four targets, in unique, redundant and synergistic parts
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from analysis.common.marks import COLOURS, save
from infoscope.estimators import uncertainty
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


def draw(path: Path, bits: tuple[float, ...] = BITS, columns: tuple[int, ...] = COLUMNS, rows: int = ROWS) -> int:
    """One data set of each; returns how many estimates are called reliable."""
    import matplotlib.pyplot as plt

    generator, trusted = np.random.default_rng(0), 0
    figure, axis = plt.subplots(figsize=(8, 4.4), layout="constrained")
    for width, colour in zip(columns, COLOURS):
        for place, truth in enumerate(bits):
            of_each = truth * NATS_PER_BIT / width
            correlation = math.sqrt(-math.expm1(-2 * of_each))
            x = generator.normal(size=(rows, width))
            y = correlation * x + math.sqrt(1 - correlation**2) * generator.normal(size=(rows, width))
            found = uncertainty.subsample(x, y, generator=generator)
            reliable = found.verdict == uncertainty.RELIABLE
            trusted += reliable
            error = 1.96 * found.standard_error / NATS_PER_BIT
            label = f"{width} column{'s' if width > 1 else ''} a side" if not place else None
            face = colour if reliable else "white"
            at = truth + 0.02 * (columns.index(width) - 1)
            axis.errorbar(at, found.bits, error, fmt="o", color=colour, mfc=face, capsize=3, label=label)
    axis.axline((0, 0), slope=1, color="black", linewidth=1, label="truth")
    axis.plot([], [], "o", color="grey", label="called reliable")
    axis.plot([], [], "o", color="grey", mfc="white", label="not called reliable")
    axis.set(xlabel="mutual information (bits)", ylabel="estimate (bits) and its 95 % interval", xlim=(0, 3.2))
    axis.set_title(f"Nearest neighbours (KSG), n = {rows:,}: an interval alone does not tell", fontsize="medium")
    axis.legend(frameon=False, fontsize="small")
    save(figure, [path], 150)
    return trusted


def parts(path: Path) -> dict[str, pid.Decomposition]:
    """Draws the parts of what two coins tell of the targets of GATES; returns them, nats, by the target."""
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
    print(f"{draw(PICTURE)} of {len(BITS) * len(COLUMNS)} estimates are called reliable; written to {PICTURE}")
