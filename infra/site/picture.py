"""The figure of README and of the first page: neighbour estimates of normal variables whose information is known, by
columns, with what the verdict says of them. `python -m infra.site.picture` writes docs/trust.png, in a minute or two.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from analysis.common.marks import COLOURS, save
from infoscope.estimators import uncertainty
from infoscope.estimators.units import NATS_PER_BIT

PICTURE = Path(__file__).parents[2] / "docs" / "trust.png"
BITS = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
COLUMNS = (1, 3, 10)
ROWS = 2000


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


if __name__ == "__main__":
    print(f"{draw(PICTURE)} of {len(BITS) * len(COLUMNS)} estimates are called reliable; written to {PICTURE}")
