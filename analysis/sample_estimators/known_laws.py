"""Which estimator is right on known distributions? Error, coverage of the intervals, seconds and memory.

Bias is estimate minus truth, over the data sets for which a method returned a number; refusals are counted.
"""

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.marks import sheet
from analysis.common.runs import newest, ordered, provenance
from analysis.common.tables import Analysis, Result, plus_minus_column, share_text, text_of
from analysis.sample_estimators import leaderboard

GROUP = ["collection", "law", "n", "method"]
PAIRED = "reduction"  # the collection of archived runs on images and texts that are paired by their labels
MIN_COVERAGE = 0.9  # share of 95 % intervals that contain the truth, from which a distribution is called covered
BITS = 1 / math.log(2)
BEST = 3  # methods named per distribution


RECORDED = {  # metrics in nats, and the columns for them in bits
    "true_nats": "truth",
    "true_nats_error": "truth_error",
    "bias_nats": "bias",
    "mse_nats2": "squared_error",
    "mean_absolute_error_nats": "absolute_error",
    "mean_width_nats": "width",
    "covering_intervals": "covered",
}


def pooled(runs: pd.DataFrame) -> pd.DataFrame:
    """A row per distribution, size and method, over the data sets of all blocks. Bits; `covered` of `intervals`."""
    runs = runs.rename(columns=RECORDED)
    columns = ["answered", "intervals", "covered", "bias", "squared_error", "absolute_error", "width", "labels_error"]
    runs = runs.assign(**{name: np.nan for name in columns if name not in runs})
    nats = ["truth", "truth_error", "bias", "absolute_error", "width", "labels_error"]
    runs = runs.assign(squared_error=runs["squared_error"] * BITS**2, **{name: runs[name] * BITS for name in nats})
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
        scatter = math.nan
        if answered > 1:
            scatter = math.sqrt(max(0.0, row["squared_error"] - row["bias"] ** 2) * answered / (answered - 1))
        row["bias_error"] = math.hypot(scatter / math.sqrt(max(1, answered)), row["truth_error"])
        row |= {"seconds": blocks["estimate_seconds"].median(), "memory_mib": blocks["memory_mib"].max()}
        rows.append(row)
    return pd.DataFrame(rows)


def well_covered(laws: pd.DataFrame) -> pd.Series:
    """Whether a method has intervals and at least `MIN_COVERAGE` of them contain the truth."""
    return (laws["intervals"] > 0) & (laws["covered"] >= MIN_COVERAGE * laws["intervals"])


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """The tables of the collections that were run."""
    runs, left_out = newest(runs, ["law", "n", "method", "block"])
    runs = runs.sort_values(["start", "n"], kind="stable")
    figures = pooled(runs)
    sources = provenance(runs)
    laws = figures[figures["collection"] != PAIRED]
    results = []
    if len(laws):
        results += [leaderboard.result(laws, sources, left_out), _laws(laws, sources)]
    paired = figures[figures["collection"] == PAIRED]
    if len(paired):
        results.append(_items(paired, sources))
    return results


def _laws(laws: pd.DataFrame, sources: str) -> Result:
    rows = []
    for (collection, law, n), of in laws.groupby(["collection", "law", "n"], sort=False):
        ranked = of[of["answered"] > 0].sort_values("squared_error", kind="stable")
        row = {
            "collection": collection,
            "distribution": law,
            "truth (bits)": f"{of['truth'].iloc[0]:.3f}",
            "n": f"{n:,}",
        }
        for place in range(BEST):
            row[f"{place + 1}."] = _bias_text(ranked.iloc[place]) if place < len(ranked) else ""
        row["worst"] = _bias_text(ranked.iloc[-1]) if len(ranked) > BEST else ""
        row["cover"] = f"{int(well_covered(of).sum())} of {int((of['intervals'] > 0).sum())}"
        rows.append(row)
    firsts = laws.dropna(subset="squared_error").sort_values("squared_error", kind="stable")
    firsts = firsts.drop_duplicates(["collection", "law", "n"])["method"].value_counts()
    caption = (
        f"{firsts.index[0]} has the least error on {firsts.iloc[0]} of {firsts.sum()} distributions and sizes (95 %: "
        f"{share_text(firsts.iloc[0], firsts.sum())}).\n"
        "The methods with the least RMSE on each distribution, chosen with knowledge of the truth. Bias ± its standard "
        "error over data sets, bits; in brackets the share of intervals that contain the truth. Cover: methods whose "
        f"intervals contain it in at least {MIN_COVERAGE:.0%} of the data sets.\n{sources}"
    )
    draw = functools.partial(draw_biases, laws)
    return Result("laws", laws, pd.DataFrame(rows), caption, draw, title="By distribution")


def _bias_text(row: pd.Series) -> str:
    error = f" ± {row['bias_error']:.3f}" if math.isfinite(row["bias_error"]) else ""
    covered = f" ({100 * row['covered'] / row['intervals']:.0f} %)" if row["intervals"] else ""
    return f"{row['method']} {row['bias']:+.3f}{error}{covered}"


def _items(paired: pd.DataFrame, sources: str) -> Result:
    paired = paired.assign(pool=paired["law"].str.replace(r"-at-[\d.]+$", "", regex=True))
    rows = []
    for (pool, method), levels in paired.groupby(["pool", "method"], sort=False):
        errors = levels["absolute_error"].dropna()
        rows.append(
            {
                "pool": pool,
                "method": method,
                "levels": len(levels),
                "answered": len(errors),
                "n": levels["n"].iloc[0],
                "mae_bits": errors.mean(),
                "mae_bits_error": errors.std(ddof=1) / math.sqrt(max(1, len(errors))),
                "bias_bits": levels["bias"].mean(),
                "floor_bits": levels["labels_error"].mean(),
                "intervals": int(levels["intervals"].sum()),
                "covered": int(levels["covered"].sum()),
                "seconds": levels["seconds"].median(),
            }
        )
    figures = ordered(pd.DataFrame(rows), ["pool", "mae_bits"], pool=paired["pool"])
    columns = {
        "method": "method",
        "n": ("n", "{:,}"),
        "levels": "levels",
        "mean |error| (bits)": plus_minus_column(figures, "mae_bits", "nan"),
        "of the labels": ("floor_bits", "{:.3f}", "not recorded"),
        "bias (bits)": ("bias_bits", "{:+.3f}", "not recorded"),
        "coverage": [share_text(row.covered, row.intervals) for row in figures.itertuples()],
        "seconds": ("seconds", "{:.2f}", "not recorded"),
    }
    text = text_of(figures.rename(columns={"pool": "items"}), ["items"], columns)
    best = figures.dropna(subset="mae_bits").drop_duplicates("pool")
    errors = plus_minus_column(best, "mae_bits")
    least = [f"{row.pool} {row.method} {error} bits" for row, error in zip(best.itertuples(), errors)]
    caption = [
        f"Least mean error by items: {'; '.join(least)}.",
        "Mean absolute error over levels of information, bits, ± its standard error over levels, one data set each. Of "
        "the labels: the error of the plug-in estimate from the true labels of the same rows, which is the least that "
        "can be expected. No setting was chosen by the truth.",
        sources,
    ]
    return Result("items", figures, text, caption, title="Images and texts of known information")


def draw_biases(laws: pd.DataFrame, *paths: Path) -> None:
    """Bias by distribution and method at the largest size, as colours; a dot where the intervals cover."""
    laws = laws[laws["n"] == laws["n"].max()].sort_values(["collection", "law"], kind="stable")
    nearest = laws["bias"].abs().clip(upper=0.5).groupby(laws["method"]).mean().sort_values()
    names = [list(dict.fromkeys(laws["law"])), list(nearest.index)]
    bias = laws.pivot_table(index="law", columns="method", values="bias").reindex(index=names[0], columns=names[1])
    covered = laws[well_covered(laws)]
    places = [[of.index(name) for name in covered[what]] for of, what in zip(names, ("law", "method"))]
    label = f"at least {MIN_COVERAGE:.0%} of 95 % intervals contain the truth"
    size = (0.32 * len(names[1]) + 5, 0.19 * len(names[0]) + 2.5)
    with sheet(paths, size=size, legend_at="outside upper center") as ((axis,),):
        image = axis.imshow(bias, cmap="RdBu_r", vmin=-0.5, vmax=0.5, aspect="auto", interpolation="none")
        axis.set_facecolor("lightgrey")
        axis.scatter(*reversed(places), s=6, color="black", label=label)
        axis.set_xticks(range(len(names[1])), names[1], rotation=90, fontsize="small")
        axis.set_yticks(range(len(names[0])), names[0], fontsize="x-small")
        axis.figure.colorbar(image, label="bias (bits)", extend="both")  # longer words do not fit beside three rows
        axis.set_title(f"n = {laws['n'].iloc[0]:,}; grey: not run, or refused", fontsize="small")


def weighted_mean(values: pd.Series, weights: pd.Series) -> float:
    """The weighted mean of the values that are not missing; NaN without any."""
    known = values.notna() & (weights > 0)
    return float(np.average(values[known], weights=weights[known])) if known.any() else math.nan


ANALYSIS = Analysis("known-laws", analyse)
