"""The exam of estimators of mutual information: bias, error, coverage, width, seconds and memory on known laws.

Bias is estimate minus truth, over the data sets that a method answered with a number; what it refused is counted.
"""

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.marks import lines, panel_by_panel, sheet
from analysis.common.runs import newest, ordered, provenance
from analysis.common.tables import Analysis, Result, plus_minus_column, published, share_text, text_of

GROUP = ["collection", "law", "n", "method"]
PAIRED = ("resampled", "reduction")  # collections of items paired by their labels
WANTED = 0.9  # the least coverage of an interval that is called 95 %
BITS = 1 / math.log(2)
BEST = 3  # methods that the table by law names


def pooled(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per law, size and method, over the data sets of all blocks. Nats; coverage: share of `intervals`."""
    columns = ["answered", "intervals", "covered", "bias", "squared_error", "absolute_error", "width", "labels_error"]
    runs = runs.assign(**{name: np.nan for name in columns if name not in runs})
    rows = []
    for group, blocks in runs.groupby(GROUP, sort=False):
        answered, intervals = blocks["answered"].sum(), blocks["intervals"].sum()
        row = dict(zip(GROUP, group)) | {"truth": blocks["truth"].iloc[0], "truth_error": blocks["truth_error"].iloc[0]}
        row |= {"asked": int(blocks["sets"].sum()), "answered": int(answered), "intervals": int(intervals)}
        for name in ("bias", "squared_error", "absolute_error"):
            row[name] = weighted_mean(blocks[name], blocks["answered"])
        row["width"] = weighted_mean(blocks["width"], blocks["intervals"])
        row["covered"] = int(blocks["covered"].sum())
        row["labels_error"] = weighted_mean(blocks["labels_error"], blocks["sets"])
        spread = (
            math.sqrt(max(0.0, row["squared_error"] - row["bias"] ** 2) * answered / (answered - 1))
            if answered > 1
            else math.nan
        )
        row["bias_error"] = bias_error(spread, max(1, answered), row["truth_error"])
        row |= {"seconds": blocks["estimate_seconds"].median(), "memory_mib": blocks["memory_mib"].max()}
        rows.append(row)
    return pd.DataFrame(rows)


def by_method(figures: pd.DataFrame) -> pd.DataFrame:
    """One row per collection, method and size: over the laws that it answered, each alike."""
    rows = []
    for group, laws in figures.groupby(["collection", "method", "n"], sort=False):
        known = laws[laws["answered"] > 0]
        intervals = int(laws["intervals"].sum())
        row = dict(zip(("collection", "method", "n"), group)) | {"laws": len(laws), "asked": int(laws["asked"].sum())}
        row |= {"answered": int(laws["answered"].sum()), "intervals": intervals, "covered": int(laws["covered"].sum())}
        row["rmse"] = math.sqrt(known["squared_error"].mean()) if len(known) else math.nan
        row["median_bias"] = known["bias"].abs().median()
        worst = known.loc[known["bias"].abs().idxmax()] if len(known) else {"law": "", "bias": math.nan}
        row |= {"worst": worst["law"], "worst_bias": worst["bias"]}
        row["well_covered"] = int((laws["covered"] >= WANTED * laws["intervals"])[laws["intervals"] > 0].sum())
        row |= {
            "width": laws["width"].mean(),
            "seconds": laws["seconds"].median(),
            "memory_mib": laws["memory_mib"].max(),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """The tables of those collections that were asked about."""
    runs, left_out = newest(runs, ["law", "n", "method", "block"])
    runs = runs.sort_values(["start", "n"], kind="stable")
    figures = pooled(runs)
    words = provenance(runs)
    laws = figures[~figures["collection"].isin((*PAIRED, "cost"))]
    results = []
    if len(laws):
        results += [_methods(laws, words, left_out), _laws(laws, words)]
    if len(paired := figures[figures["collection"].isin(PAIRED)]):
        results.append(_items(paired, words))
    if len(cost := figures[figures["collection"] == "cost"]):
        results.append(_cost(cost, words))
    return results


def _methods(laws: pd.DataFrame, words: str, left_out: list[str]) -> Result:
    figures = by_method(laws)
    figures = ordered(figures, ["collection", "n", "rmse"], collection=laws["collection"])
    rows = list(figures.itertuples())
    columns = {
        "n": ("n", "{:,}"),
        "method": "method",
        "laws": "laws",
        "answered": [f"{row.answered} of {row.asked}" for row in rows],
        "RMSE (nats)": ("rmse", "{:.3f}"),
        "median |bias|": ("median_bias", "{:.3f}"),
        "largest bias": [f"{row.worst_bias:+.3f} {row.worst}" for row in rows],
        "coverage": [share_text(row.covered, row.intervals) for row in rows],
        "laws covered": [f"{row.well_covered} of {row.laws}" if row.intervals else "no interval" for row in rows],
        "width": ("width", "{:.3f}", "no interval"),
        "seconds": ("seconds", "{:.2f}"),
        "MiB": ("memory_mib", "{:.0f}", "not told"),
    }
    text = text_of(figures, ["collection"], columns)
    caption = [
        "Nats, over the data sets that a method answered; RMSE is the root of the mean over laws, each alike. "
        "Coverage: share of the 95 % intervals that hold the truth, and the 95 % Clopper-Pearson interval of that "
        f"share (data sets of one law are no independent laws); laws covered: those with at least {WANTED:.0%}. "
        "Seconds: median, one thread; MiB: the most that an estimate added. A method that takes "
        "labels alone is asked about fewer laws.",
        words,
        *left_out,
    ]
    return Result("methods", figures, text, caption, functools.partial(draw_biases, laws))


def _laws(laws: pd.DataFrame, words: str) -> Result:
    rows = []
    for (collection, law, n), of in laws.groupby(["collection", "law", "n"], sort=False):
        ranked = of[of["answered"] > 0].sort_values("squared_error", kind="stable")
        hit = of[(of["intervals"] > 0) & (of["covered"] >= WANTED * of["intervals"])]
        row = {"collection": collection, "law": law, "truth (nats)": f"{of['truth'].iloc[0]:.3f}", "n": f"{n:,}"}
        for place in range(BEST):
            row[f"{place + 1}."] = _told(ranked.iloc[place]) if place < len(ranked) else ""
        row["worst"] = _told(ranked.iloc[-1]) if len(ranked) > BEST else ""
        row["cover"] = f"{len(hit)} of {int((of['intervals'] > 0).sum())}"
        rows.append(row)
    caption = (
        "The methods of the least RMSE on each law, found with the truth at hand: nobody can choose so. Bias ± its "
        "standard error over data sets, nats, and in brackets the share of intervals that hold the truth. Cover: "
        f"methods whose intervals hold it in at least {WANTED:.0%} of the data sets.\n{words}"
    )
    return Result("laws", laws, pd.DataFrame(rows), caption)


def _told(row: pd.Series) -> str:
    error = f" ± {row['bias_error']:.3f}" if math.isfinite(row["bias_error"]) else ""
    held = f" ({100 * row['covered'] / row['intervals']:.0f} %)" if row["intervals"] else ""
    return f"{row['method']} {row['bias']:+.3f}{error}{held}"


def _items(paired: pd.DataFrame, words: str) -> Result:
    paired = paired.assign(pool=paired["law"].str.replace(r"-at-[\d.]+$", "", regex=True))
    rows = []
    for (pool, method), levels in paired.groupby(["pool", "method"], sort=False):
        errors = levels["absolute_error"].dropna() * BITS
        rows.append({
            "pool": pool, "method": method, "levels": len(levels), "answered": len(errors), "n": levels["n"].iloc[0],
            "mae_bits": errors.mean(), "mae_bits_error": errors.std(ddof=1) / math.sqrt(max(1, len(errors))),
            "bias_bits": levels["bias"].mean() * BITS, "floor_bits": levels["labels_error"].mean() * BITS,
            "intervals": int(levels["intervals"].sum()), "covered": int(levels["covered"].sum()),
            "seconds": levels["seconds"].median(), "source": "",
        })  # fmt: skip
    figures = ordered(pd.DataFrame(rows), ["pool", "mae_bits"], pool=paired["pool"])
    if "mnist-0-1" in set(figures["pool"]):
        theirs = published("resampled_mnist").rename(columns={"mean_absolute_error_bits": "mae_bits"})
        figures = pd.concat([figures, theirs.assign(pool="mnist-0-1", levels=200, answered=200, n=5000)])
    rows = list(figures.itertuples())
    columns = {
        "method": [f"{row.method}, published" if row.source else row.method for row in rows],
        "n": ("n", "{:,}"),
        "levels": "levels",
        "mean |error| (bits)": plus_minus_column(figures, "mae_bits", "nan"),
        "of the labels": ("floor_bits", "{:.3f}", "not told"),
        "bias (bits)": ("bias_bits", "{:+.3f}", "not told"),
        "coverage": [share_text(row.covered, row.intervals if row.intervals > 0 else 0) for row in rows],
        "seconds": ("seconds", "{:.2f}", "not told"),
    }
    text = text_of(figures.rename(columns={"pool": "items"}), ["items"], columns)
    caption = [
        "Mean absolute error over levels of information, bits, ± its standard error over levels, one data set each; of "
        "the labels: that of one who is told the labels of the same rows and counts them, below which none can be "
        "expected. Nothing was chosen by the truth. Published: Gowri, Lun, Klein & Yin 2024, recomputed from their raw "
        "files, 200 levels of the digits 0 and 1.",
        words,
    ]
    return Result("items", figures, text, caption, functools.partial(draw_levels, paired))


def _cost(cost: pd.DataFrame, words: str) -> Result:
    cost = cost.assign(columns=cost["law"].str.extract(r"(\d+)$")[0].astype(int)).sort_values("columns", kind="stable")
    memory = text_of(cost, (), {"MiB": ("memory_mib", "{:.0f}", "not told")})
    widths, text = sorted(set(cost["columns"])), []
    for method, rows in cost.join(memory).groupby("method", sort=False):
        rows = rows.set_index("columns")
        row = {"method": method}
        for width in widths:
            said = rows.loc[width] if width in rows.index else None
            asked = said is not None and said["answered"] > 0
            row[f"d = {width}"] = f"{said['seconds']:.2f} s, {said['MiB']} MiB" if asked else "refused"
            row[f"bias, d = {width}"] = f"{said['bias']:+.3f}" if asked else ""
        text.append(row)
    caption = (
        "Seconds on one thread and the most memory that an estimate added, d normal columns on each side of which two "
        f"are correlated, n = {cost['n'].iloc[0]:,}; bias of that one estimate, nats (truth "
        f"{cost['truth'].iloc[0]:.3f}).\n{words}"
    )
    return Result("cost", cost, pd.DataFrame(text), caption)


def draw_biases(laws: pd.DataFrame, *paths: Path) -> None:
    """Bias by law and method at the greatest size, as colours; a dot where the intervals cover."""
    laws = laws[laws["n"] == laws["n"].max()].sort_values(["collection", "law"], kind="stable")
    nearest = laws["bias"].abs().clip(upper=0.5).groupby(laws["method"]).mean().sort_values()
    names = [list(dict.fromkeys(laws["law"])), list(nearest.index)]
    bias = laws.pivot_table(index="law", columns="method", values="bias").reindex(index=names[0], columns=names[1])
    covered = laws[(laws["intervals"] > 0) & (laws["covered"] >= WANTED * laws["intervals"])]
    places = [[of.index(name) for name in covered[what]] for of, what in zip(names, ("law", "method"))]
    label = f"at least {WANTED:.0%} of 95 % intervals hold the truth"
    size = (0.32 * len(names[1]) + 5, 0.19 * len(names[0]) + 2.5)
    with sheet(paths, size=size, legend_at="outside upper center") as ((axis,),):
        image = axis.imshow(bias, cmap="RdBu_r", vmin=-0.5, vmax=0.5, aspect="auto", interpolation="none")
        axis.set_facecolor("lightgrey")
        axis.scatter(*reversed(places), s=6, color="black", label=label)
        axis.set_xticks(range(len(names[1])), names[1], rotation=90, fontsize="small")
        axis.set_yticks(range(len(names[0])), names[0], fontsize="x-small")
        axis.figure.colorbar(image, label="bias (nats)", extend="both")  # longer words do not fit beside three rows
        axis.set_title(f"n = {laws['n'].iloc[0]:,}; grey: not asked, or refused", fontsize="small")


def draw_levels(paired: pd.DataFrame, *paths: Path) -> None:
    """Estimate against truth, a panel for each pool."""
    for axis, pool in panel_by_panel(paths, dict.fromkeys(paired["pool"]), (4.2, 4), (2, 0)):
        of = paired[paired["pool"] == pool].sort_values("truth")
        for method, rows, mark in lines(of, "contestant", "method"):
            axis.plot(rows["truth"] * BITS, (rows["truth"] + rows["bias"]) * BITS, label=method, markersize=3, **mark)
        most = of["truth"].max() * BITS
        axis.plot([0, most], [0, most], color="black", linewidth=0.8, label="truth")
        axis.set(title=pool, xlabel="truth (bits)", ylabel="estimate (bits)", ylim=(-0.2 * most, 1.3 * most))


def weighted_mean(values: pd.Series | None, weights: pd.Series) -> float:
    """The mean of what is known, by weights; nan where nothing is."""
    if values is None:
        return math.nan
    known = values.notna() & (weights > 0)
    return float(np.average(values[known], weights=weights[known])) if known.any() else math.nan


def bias_error(spread: float, sets: float, truth_error: float) -> float:
    """Standard error of a bias: over data sets, and that of a truth by Monte Carlo."""
    return math.hypot(spread / math.sqrt(sets), truth_error)


ANALYSIS = Analysis("known-laws", analyse)
