"""What the tables of the neural benchmark share: the runs at one true MI, their setting in words, and their panels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.report import plus_minus

EMBEDDED = {
    "digits": "the images are scikit-learn's digits (embedded default), not the published data",
    "generated-sentences": "the text is synthetic, sentences and encoder (embedded default), not the published data",
}
BITS_PER_SOURCE = {"imdb-bert": 0.89, "imdb-roberta": 0.83}  # what posteriors decode of one nominal bit
# what a cell is besides its place in a table
SETTING = ("version", "schedule_bits", "steps", "critic", "width", "batch", "learning_rate", "sources", "size")


def one_setting(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The runs of the setting that was started last, domain by domain, and a note on those left out.

    Runs of one profile differ in their setting when the profile, or the version of the sweep's science, has changed.
    """
    fields = [name for name in SETTING if name in runs]
    of = runs[fields].astype(object).apply(lambda row: repr([*row]), axis=1)
    latest = runs.groupby(["domain", "pool"])["start"].transform("idxmax")
    keep = of == of.loc[latest].to_numpy()
    left_out = int((~keep).sum())
    return runs[keep], [f"Note: {left_out} older runs with other settings are left out."] if left_out else []


def oracle(runs: pd.DataFrame) -> str:
    """What the column of the oracle critic is."""
    batches = ", ".join(f"{count:,.0f}" for count in sorted(set(runs["floor_batches"])))
    return (
        f"The oracle critic is the exact log density ratio at this batch size ({batches} batches, error over batches): "
        "what no training removes. Where a row scores below it, an unfinished critic's error and the estimator's own "
        "cancel; infinite: some batches have no finite estimate."
    )


def oracle_text(figures: pd.DataFrame) -> list[str]:
    """The oracle critic's MSE and its error, to read."""
    pairs = zip(figures["floor_mse_bits2"], figures["floor_mse_bits2_error"])
    return [plus_minus(*pair, missing="infinite") for pair in pairs]


def at(runs: pd.DataFrame, bits: float) -> pd.DataFrame:
    """The runs with the figures of one true MI as columns (`mse_bits2`, ...). Raises ValueError when there are none."""
    prefix = f"at {bits:g} bits/"
    if prefix + "mse_bits2" not in runs:
        known = sorted({value for schedule in runs["schedule_bits"] for value in schedule})
        raise ValueError(f"no runs at {bits:g} bits; these runs have {', '.join(f'{value:g}' for value in known)} bits")
    figures = [name for name in runs if name.startswith(prefix)]
    plain = runs.drop(columns=[name.removeprefix(prefix) for name in figures if name.removeprefix(prefix) in runs])
    return plain.rename(columns=lambda name: name.removeprefix(prefix))


def setting(runs: pd.DataFrame) -> str:
    """Profile, training, data and code of the runs, in two sentences."""

    def values(name: str) -> str:
        return ", ".join(str(value) for value in sorted(set(runs[name])))

    versions = ", ".join(sorted({tags.get("infoscope.code", "unknown") for tags in runs["tags"]}))
    return (
        f"Profile {values('profile')}: {values('steps')} steps of batch {values('batch')} per true MI, "
        f"{values('critic')} critic of width {values('width')}, Adam {values('learning_rate')}, "
        f"{values('sources')} sources. Data {values('pool')}; seeds {values('seed')}; code {versions}."
    )


def notes(runs: pd.DataFrame) -> list[str]:
    """What a reader must not overlook: embedded data, a nominal truth, diverged steps."""
    pools = sorted(set(runs["pool"]))
    lines = [f"Note: {EMBEDDED[pool]}." for pool in pools if pool in EMBEDDED]
    lines += [
        f"Note: the true MI of {pool} is nominal; its labels are not decodable without error, and posteriors find "
        f"about {BITS_PER_SOURCE[pool]} bits per source."
        for pool in pools
        if pool in BITS_PER_SOURCE
    ]
    if steps := int(runs["nonfinite_steps"].sum()):
        affected = int((runs["nonfinite_steps"] > 0).sum())
        lines.append(f"Note: {steps} steps of {affected} runs were not finite; their rows say diverged.")
    return lines


def panels(figures: pd.DataFrame, draw: Any, ylabel: str, path: Path) -> None:
    """One panel per domain and pool: `draw(axis, rows)` draws it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    groups = list(figures.groupby(["domain", "pool"], sort=False))
    figure, axes = plt.subplots(1, len(groups), figsize=(4.2 * len(groups), 3.6), squeeze=False, layout="constrained")
    for axis, ((domain, pool), rows) in zip(axes[0], groups):
        draw(axis, rows)
        axis.set(title=f"{domain} ({pool})" if domain != pool else domain)
        if not any(np.isfinite(np.asarray(line.get_ydata(), float)).any() for line in axis.lines):
            axis.set_yscale("linear")
            axis.text(0.5, 0.5, "diverged", transform=axis.transAxes, ha="center")
        if axis.get_yscale() == "linear":
            axis.set_ylim(bottom=0)
    axes[0][0].set_ylabel(ylabel)
    axes[0][-1].legend(fontsize="small")
    figure.savefig(path, dpi=150)
    plt.close(figure)
