"""Table 2: bias, variance and MSE (bits) by critic depth and domain, beside the paper's figures and the oracle critic's.

Reads the runs of the sweep critic-capacity from MLflow. Errors are standard errors over seeds; correlations of depth and accuracy have
Student t intervals over seeds, because the depths of one seed share their data.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.report import ERROR, Result, main, plus_minus, published, summarise
from infoscope.metrics import correlation

FIGURES = ("bias_bits", "variance_bits2", "mse_bits2", "settled_mse_bits2")
FLOOR = ("floor_mse_bits2", "floor_mse_bits2_error")
SYNTHETIC = {
    "digits": "images: scikit-learn's digits (embedded default, not the published data)",
    "generated-sentences": "text: synthetic sentences and encoder (embedded default, not the published data)",
}
UNDECODABLE = ("imdb-bert", "imdb-roberta")


def analyse(runs: pd.DataFrame, arguments: argparse.Namespace) -> Sequence[Result]:
    """The published table for one estimator and true MI, and the MSE of all estimators at that MI."""
    at = f"at {arguments.bits:g} bits/"
    if at + "mse_bits2" not in runs:
        known = sorted({bits for schedule in runs["schedule_bits"] for bits in schedule})
        raise ValueError(f"no runs at {arguments.bits:g} bits; these runs have {', '.join(f'{bits:g}' for bits in known)} bits")
    runs = runs.rename(columns=lambda name: name.removeprefix(at)).sort_values(["domain", "pool", "depth", "seed"], kind="stable")
    runs = runs.loc[:, ~runs.columns.duplicated(keep="last")]
    chosen = runs[runs["bound"] == arguments.bound]
    if chosen.empty:
        raise ValueError(f"no runs of estimator {arguments.bound!r}; these runs have {', '.join(sorted(set(runs['bound'])))}")
    return [by_depth(chosen, arguments), by_estimator(runs, arguments)]


def by_depth(runs: pd.DataFrame, arguments: argparse.Namespace) -> Result:
    """Table 2 with standard errors, the settled half, the floor and the published figures."""
    figures = summarise(runs, ["domain", "pool", "depth"], FIGURES)
    floors = runs.groupby(["domain", "pool", "depth"], as_index=False)[list(FLOOR)].first()
    figures = figures.merge(floors, on=["domain", "pool", "depth"])
    like_published = arguments.bound == "smile-inf" and arguments.bits == 2
    theirs = published("table2").rename(columns=lambda name: name if name in ("domain", "depth") else f"published_{name}")
    figures = figures.merge(theirs if like_published else theirs.iloc[:0], on=["domain", "depth"], how="left")

    text = pd.DataFrame({"domain": figures["domain"], "data": figures["pool"], "depth": figures["depth"], "runs": figures["runs"]})
    titles = {"bias_bits": "bias (bits)", "variance_bits2": "variance (bits²)", "mse_bits2": "MSE (bits²)", "settled_mse_bits2": "MSE, 2nd half"}
    for column, title in titles.items():
        text[title] = [plus_minus(*pair) for pair in zip(figures[column], figures[column + ERROR])]
    text["oracle critic"] = [plus_minus(*pair) for pair in zip(figures[FLOOR[0]], figures[FLOOR[1]])]
    if like_published:
        for column in FIGURES[:3]:
            text[f"paper: {titles[column].split(' ')[0]}"] = figures[f"published_{column}"].map("{:.3f}".format)
    return Result(figures, text, caption(runs, arguments, figures), functools.partial(draw_depths, figures))


def caption(runs: pd.DataFrame, arguments: argparse.Namespace, figures: pd.DataFrame) -> str:
    """What the table shows, and what must be known to trust it."""
    return "\n".join([
        f"Error of {arguments.bound} by critic depth at a true MI of {arguments.bits:g} bits; bias = truth - mean. ± is one standard error over "
        "runs (seeds)" + ("" if runs["seed"].nunique() > 1 else "; there is one run per row, so it cannot be given") + ".",
        setting(runs),
        "All steps count, the start from scratch included, as in the paper; the second half is the settled critic. The oracle critic is the "
        "exact log density ratio at this batch size (2,000 batches, error over batches): the part that no training removes. Where a row scores "
        "below it, an unfinished critic's error and the estimator's own cancel."
        + (" The paper's figures are one run each, without errors." if "published_mse_bits2" in figures and figures["published_mse_bits2"].notna().any() else ""),
        *correlations(runs),
        *warnings(runs),
    ])


def setting(runs: pd.DataFrame) -> str:
    """Profile, data, steps and training of the runs, in one sentence."""
    def values(name: str) -> str:
        return ", ".join(str(value) for value in sorted(set(runs[name])))

    versions = sorted({tags.get("infoscope.code", "unknown") for tags in runs["tags"]})
    return (
        f"Profile {values('profile')}: {values('steps')} steps of batch {values('batch')} per true MI, joint critic of width {values('width')}, Adam "
        f"{values('learning_rate')}, {values('sources')} sources; data {values('pool')}; seeds {values('seed')}; code {', '.join(versions)}."
    )


def correlations(runs: pd.DataFrame) -> list[str]:
    """Pearson correlation of depth and accuracy (-MSE), by domain, over seeds."""
    lines = []
    for (domain, pool), members in runs.groupby(["domain", "pool"], sort=False):
        wide = members.pivot(index="seed", columns="depth", values="mse_bits2").dropna()
        if wide.shape[1] < 3 or wide.empty:
            lines.append(f"Correlation of depth and accuracy (-MSE), {domain} ({pool}): needs three depths with finite MSE.")
            continue
        r = correlation(wide.columns.to_numpy(), -wide.to_numpy())
        interval = f"95 % interval {r.low:+.2f} to {r.high:+.2f}" if r.runs > 1 else "no interval from one run"
        lines.append(f"Correlation of depth and accuracy (-MSE), {domain} ({pool}): {r.mean:+.2f} ({interval}, {r.runs} runs of {wide.shape[1]} depths).")
    theirs = published("table2").groupby("domain")[["depth", "mse_bits2"]].apply(lambda d: np.corrcoef(d["depth"], -d["mse_bits2"])[0, 1])
    told = ", ".join(f"{domain} {r:+.2f}" for domain, r in theirs.items())
    return [*lines, f"The same from the paper's table (one run of 5 depths, no interval): {told}."]


def warnings(runs: pd.DataFrame) -> list[str]:
    """What a reader must not overlook: embedded data, a nominal truth, diverged steps."""
    pools = set(runs["pool"])
    lines = [f"Note: {note}." for pool, note in SYNTHETIC.items() if pool in pools]
    if pools & set(UNDECODABLE):
        lines.append("Note: for text the true MI is nominal; the labels are not error-free decodable (BERT about 0.89, RoBERTa 0.83 bits per source).")
    if steps := int(runs["nonfinite_steps"].sum()):
        lines.append(f"Note: {steps} steps of {int((runs['nonfinite_steps'] > 0).sum())} runs were not finite; their rows say diverged.")
    return lines


def by_estimator(runs: pd.DataFrame, arguments: argparse.Namespace) -> Result:
    """The MSE of every estimator by depth, with the oracle critic's."""
    figures = summarise(runs, ["domain", "pool", "bound", "depth"], ["mse_bits2"])
    floors = runs.groupby(["domain", "pool", "bound"], as_index=False, sort=False)[list(FLOOR)].first()
    text = floors[["domain", "pool", "bound"]].rename(columns={"pool": "data", "bound": "estimator"})
    for depth, members in figures.groupby("depth"):
        cells = members.set_index(["domain", "pool", "bound"])[["mse_bits2", "mse_bits2_error"]]
        rows = cells.reindex(pd.MultiIndex.from_frame(floors[["domain", "pool", "bound"]]))
        text[f"depth {depth}"] = ["not run" if np.isnan(runs_) else plus_minus(*row) for runs_, row in zip(
            members.set_index(["domain", "pool", "bound"])["runs"].reindex(rows.index).to_numpy(float), rows.to_numpy())]
    text["oracle critic"] = [plus_minus(*pair) for pair in zip(floors[FLOOR[0]], floors[FLOOR[1]])]
    lines = [f"MSE (bits²) of every estimator by critic depth at {arguments.bits:g} bits. ± is one standard error over runs (seeds).", setting(runs), *warnings(runs)]
    figures = figures.merge(floors, on=["domain", "pool", "bound"])
    return Result(figures, text, "\n".join(lines), functools.partial(draw_estimators, figures))


def draw_depths(figures: pd.DataFrame, path: Path) -> None:
    """MSE by depth, one panel per domain: ours, settled, published, floor."""
    groups = list(figures.groupby(["domain", "pool"], sort=False))
    figure, axes = _panels(len(groups))
    for axis, ((domain, pool), rows) in zip(axes, groups):
        axis.errorbar(rows["depth"], rows["mse_bits2"], rows["mse_bits2_error"], marker="o", capsize=3, label="all steps")
        axis.errorbar(rows["depth"], rows["settled_mse_bits2"], rows["settled_mse_bits2_error"], marker="s", capsize=3, label="second half")
        if rows["published_mse_bits2"].notna().any():
            axis.plot(rows["depth"], rows["published_mse_bits2"], "k--", marker="x", label="paper (one run)")
        axis.axhline(rows[FLOOR[0]].iloc[0], color="grey", linestyle=":", label="oracle critic")
        axis.set(title=f"{domain} ({pool})", xlabel="critic depth", xticks=rows["depth"])
    _finish(figure, axes, path)


def draw_estimators(figures: pd.DataFrame, path: Path) -> None:
    """MSE by depth, one line per estimator and one panel per domain, on a logarithmic axis."""
    groups = list(figures.groupby(["domain", "pool"], sort=False))
    figure, axes = _panels(len(groups))
    for axis, ((domain, pool), rows) in zip(axes, groups):
        for bound, line in rows.groupby("bound", sort=False):
            axis.errorbar(line["depth"], line["mse_bits2"], line["mse_bits2_error"], marker="o", markersize=4, capsize=3, label=bound)
        axis.set(title=f"{domain} ({pool})", xlabel="critic depth", xticks=sorted(set(rows["depth"])), yscale="log")
    _finish(figure, axes, path)


def _panels(count: int) -> tuple:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, count, figsize=(4.2 * count, 3.6), squeeze=False, layout="constrained")
    return figure, axes[0]


def _finish(figure, axes, path: Path) -> None:
    axes[0].set_ylabel("MSE (bits²)")
    axes[-1].legend(fontsize="small")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main("critic-capacity", analyse, {
        "bound": dict(default="smile-inf", help="the estimator of the first table (default: smile-inf, the published one)"),
        "bits": dict(default=2.0, type=float, help="the true MI, in bits (default: 2)"),
    })
