"""Which estimator is right on known distributions? Error, coverage of the intervals,
seconds and memory.

Bias is estimate minus truth, over the data sets for which a method returned a number;
refusals are counted.
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
from analysis.common.tables import (
    Analysis,
    Result,
    plus_minus_column,
    share_text,
    text_of,
)
from analysis.sample_estimators import leaderboard

GROUP = ["collection", "law", "n", "method"]
# the collection of archived runs on images and texts that are paired by their labels
PAIRED = "reduction"
# share of 95 % intervals that contain the truth, from which a distribution is called
# covered
MIN_COVERAGE = 0.9
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
    """A row per distribution, size and method, over the data sets of all blocks. Bits;
    `covered` of `intervals`.
    """
    runs = runs.rename(columns=RECORDED)
    for name in (
        "answered",
        "intervals",
        "covered",
        "bias",
        "squared_error",
        "absolute_error",
        "width",
        "labels_error",
    ):
        if name not in runs:
            runs[name] = np.nan
    runs["squared_error"] *= BITS**2
    for name in (
        "truth",
        "truth_error",
        "bias",
        "absolute_error",
        "width",
        "labels_error",
    ):
        runs[name] *= BITS
    rows = []
    for group, blocks in runs.groupby(GROUP, sort=False):
        first = blocks.iloc[0]
        answered = blocks["answered"].sum()
        squared_error = weighted_mean(blocks["squared_error"], blocks["answered"])
        bias = weighted_mean(blocks["bias"], blocks["answered"])
        scatter = math.nan
        if answered > 1:
            variance = max(0.0, squared_error - bias**2)
            scatter = math.sqrt(variance * answered / (answered - 1))
        row = dict(zip(GROUP, group)) | {
            "truth": first["truth"],
            "truth_error": first["truth_error"],
            "asked": int(blocks["sets"].sum()),
            "answered": int(answered),
            "intervals": int(blocks["intervals"].sum()),
            "bias": bias,
            "squared_error": squared_error,
            "absolute_error": weighted_mean(
                blocks["absolute_error"], blocks["answered"]
            ),
            "width": weighted_mean(blocks["width"], blocks["intervals"]),
            "covered": int(blocks["covered"].sum()),
            "labels_error": weighted_mean(blocks["labels_error"], blocks["sets"]),
            "bias_error": math.hypot(
                scatter / math.sqrt(max(1, answered)), first["truth_error"]
            ),
            "seconds": blocks["estimate_seconds"].median(),
            "memory_mib": blocks["memory_mib"].max(),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def well_covered(laws: pd.DataFrame) -> pd.Series:
    """Whether a method has intervals and at least `MIN_COVERAGE` of them contain the
    truth.
    """
    return (laws["intervals"] > 0) & (
        laws["covered"] >= MIN_COVERAGE * laws["intervals"]
    )


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
    """The most accurate methods on each distribution and number of rows."""
    rows = []
    for (collection, law, n), methods in laws.groupby(
        ["collection", "law", "n"], sort=False
    ):
        ranked = methods[methods["answered"] > 0].sort_values(
            "squared_error", kind="stable"
        )
        texts = [_bias_text(method) for _, method in ranked.iterrows()]
        row = {
            "collection": collection,
            "distribution": law,
            "truth (bits)": f"{methods['truth'].iloc[0]:.3f}",
            "n": f"{n:,}",
        }
        for place in range(BEST):
            row[f"{place + 1}."] = texts[place] if place < len(texts) else ""
        row["worst"] = texts[-1] if len(texts) > BEST else ""
        row["cover"] = (
            f"{well_covered(methods).sum()} of {(methods['intervals'] > 0).sum()}"
        )
        rows.append(row)
    firsts = laws.dropna(subset="squared_error").sort_values(
        "squared_error", kind="stable"
    )
    wins = firsts.drop_duplicates(["collection", "law", "n"])["method"].value_counts()
    best = wins.index[0]
    caption = [
        f"{best} has the least error on {wins[best]} of {wins.sum()} distributions "
        "and sizes (95 %: "
        f"{share_text(wins[best], wins.sum())}).",
        "The methods with the least RMSE on each distribution, chosen with knowledge "
        "of the truth. Bias ± its standard "
        "error over data sets, bits; in brackets the share of intervals that contain "
        "the truth. Cover: methods whose "
        f"intervals contain it in at least {MIN_COVERAGE:.0%} of the data sets.",
        sources,
    ]
    draw = functools.partial(draw_biases, laws)
    return Result(
        "laws", laws, pd.DataFrame(rows), caption, draw, title="By distribution"
    )


def _bias_text(row: pd.Series) -> str:
    """A method with its bias, standard error, and the share of its intervals that
    contain the truth.
    """
    text = f"{row['method']} {row['bias']:+.3f}"
    if math.isfinite(row["bias_error"]):
        text += f" ± {row['bias_error']:.3f}"
    if row["intervals"]:
        text += f" ({100 * row['covered'] / row['intervals']:.0f} %)"
    return text


def _items(paired: pd.DataFrame, sources: str) -> Result:
    paired = paired.assign(
        pool=paired["law"].str.replace(r"-at-[\d.]+$", "", regex=True)
    )
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
                "mae_bits_error": errors.sem(),
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
        "coverage": [
            share_text(row.covered, row.intervals) for row in figures.itertuples()
        ],
        "seconds": ("seconds", "{:.2f}", "not recorded"),
    }
    text = text_of(figures.rename(columns={"pool": "items"}), ["items"], columns)
    best = figures.dropna(subset="mae_bits").drop_duplicates("pool")
    errors = plus_minus_column(best, "mae_bits")
    least = [
        f"{row.pool} {row.method} {error} bits"
        for row, error in zip(best.itertuples(), errors)
    ]
    caption = [
        f"Least mean error by items: {'; '.join(least)}.",
        "Mean absolute error over levels of information, bits, ± its standard error "
        "over levels, one data set each. Of "
        "the labels: the error of the plug-in estimate from the true labels of the "
        "same rows, which is the least that "
        "can be expected. No setting was chosen by the truth.",
        sources,
    ]
    return Result(
        "items", figures, text, caption, title="Images and texts of known information"
    )


def draw_biases(laws: pd.DataFrame, *paths: Path) -> None:
    """Bias by distribution and method at the largest size, as colours; a dot where the
    intervals cover.
    """
    laws = laws[laws["n"] == laws["n"].max()].sort_values(
        ["collection", "law"], kind="stable"
    )
    distance = laws["bias"].abs().clip(upper=0.5)
    methods = distance.groupby(laws["method"]).mean().sort_values().index
    names = pd.Index(laws["law"].unique())
    bias = laws.pivot_table(index="law", columns="method", values="bias").reindex(
        index=names, columns=methods
    )
    covered = laws[well_covered(laws)]
    columns = methods.get_indexer(covered["method"])
    rows = names.get_indexer(covered["law"])
    label = f"at least {MIN_COVERAGE:.0%} of 95 % intervals contain the truth"
    size = (0.32 * len(methods) + 5, 0.19 * len(names) + 2.5)
    with sheet(paths, size=size, legend_at="outside upper center") as ((axis,),):
        image = axis.imshow(
            bias,
            cmap="RdBu_r",
            vmin=-0.5,
            vmax=0.5,
            aspect="auto",
            interpolation="none",
        )
        axis.set_facecolor("lightgrey")
        axis.scatter(columns, rows, s=6, color="black", label=label)
        axis.set_xticks(range(len(methods)), methods, rotation=90, fontsize="small")
        axis.set_yticks(range(len(names)), names, fontsize="x-small")
        # longer words do not fit beside three rows
        axis.figure.colorbar(image, label="bias (bits)", extend="both")
        axis.set_title(
            f"n = {laws['n'].iloc[0]:,}; grey: not run, or refused", fontsize="small"
        )


def weighted_mean(values: pd.Series, weights: pd.Series) -> float:
    """The weighted mean of the values that are not missing; NaN without any."""
    is_valid = values.notna() & (weights > 0)
    if not is_valid.any():
        return math.nan
    return float(np.average(values[is_valid], weights=weights[is_valid]))


ANALYSIS = Analysis("known-laws", analyse)
