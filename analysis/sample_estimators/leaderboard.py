"""Leaderboard of estimators of mutual information on known distributions: one row per
method, and a figure.

Each pair of a distribution and a number of rows counts once. Methods that answered
fewer than a quarter of them (those for labels only, and those that take minutes) are
listed below the table; their figures are in the CSV file.
"""

import functools
import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.common.marks import BLUE, VERMILLION, sheet
from analysis.common.tables import Result, text_of
from infoscope.estimators.result import LEVEL
from sweeps.sample_estimators.settings import FORMULAS, PACKAGES, RECORDED_PACKAGES

# every error is also given as a multiple of its error on the same data
BASELINE = "ksg"
MIN_SHARE = 0.25  # of the distributions that a method must have answered to be ranked


def ranking(figures: pd.DataFrame) -> pd.DataFrame:
    """One row per method, the smallest error relative to the baseline's first.
    `figures`: one row per distribution, number of rows and method, as
    `known_laws.pooled` returns them (bits); errors are root mean squares over data
    sets.
    """
    figures = figures.assign(
        rmse=figures["squared_error"] ** 0.5,
        coverage=figures["covered"] / figures["intervals"],
    )
    keys = ["collection", "law", "n"]
    baseline = figures[figures["method"] == BASELINE].set_index(keys)["rmse"]
    figures["ratio"] = (
        figures["rmse"] / figures.join(baseline.rename("baseline"), on=keys)["baseline"]
    )
    rows = []
    for name, of_method in figures.groupby("method", sort=False):
        answered = of_method[of_method["answered"] > 0]
        coverage = answered["coverage"].dropna()
        rows.append({
            "method": name,
            "by": author(name),
            "distributions": len(answered),
            "rmse": answered["rmse"].median(),
            "rmse_10": answered["rmse"].quantile(0.1), "rmse_90": answered["rmse"].quantile(0.9),
            "ratio": answered["ratio"].median(),
            "coverage": coverage.mean(), "coverage_error": coverage.sem(),
            "width": answered["width"].median(), "seconds": answered["seconds"].median(),
        })  # fmt: skip
    return pd.DataFrame(rows).sort_values("ratio", kind="stable", ignore_index=True)


def author(method: str) -> str:
    """ours, yours (MODULE:NAME), or public: a package or a formula."""
    if method.startswith(PACKAGES) or method in (*FORMULAS, *RECORDED_PACKAGES):
        return "public"
    return "yours" if ":" in method else "ours"


def result(figures: pd.DataFrame, sources: str, left_out: Sequence[str]) -> Result:
    """The table and its figure; `sources`: profile and code of the runs, `left_out`:
    notes on runs without a row.
    """
    asked = len(figures[["collection", "law", "n"]].drop_duplicates())
    ranked = ranking(figures)
    few = ranked["distributions"] < MIN_SHARE * asked
    others = [f"{row.method} ({row.distributions})" for row in ranked[few].itertuples()]
    ranked = ranked[~few]
    columns = {
        "answered": [f"{count} of {asked}" for count in ranked["distributions"]],
        "error (bits)": ("rmse", "{:.3f}"),
        "10 to 90 %": [
            f"{row.rmse_10:.3f} to {row.rmse_90:.3f}" for row in ranked.itertuples()
        ],
        f"error / {BASELINE}'s": ("ratio", "{:.2f}", "-"),
        "coverage": [
            _coverage(row.coverage, row.coverage_error) for row in ranked.itertuples()
        ],
        "width (bits)": ("width", "{:.3f}", "-"),
        "seconds": ("seconds", "{:.2f}"),
    }
    first = ranked.iloc[0]
    covering = (
        ranked.loc[ranked["coverage"].idxmax()]
        if ranked["coverage"].notna().any()
        else first
    )
    caption = [
        f"{first['method']} has the least error, {first['ratio']:.2f} of {BASELINE}'s "
        "(median), and "
        f"{covering['method']} the highest coverage, "
        f"{_coverage(covering['coverage'], covering['coverage_error'])}.",
        "Error: root mean square over the data sets of a distribution; the median "
        "over distributions and the range of "
        f"the middle 80 %. Error / {BASELINE}'s, which orders the rows: median over "
        "the distributions that both "
        "answered; methods answer different ones, so other columns are not of the "
        "same data. Coverage: share of "
        "95 % intervals that contain the true value, mean over distributions ± its "
        "standard error. Width: median of "
        "the intervals. Seconds: median, one thread. By: ours, yours (MODULE:NAME), "
        "or a public package or "
        "formula on the same samples.",
        sources,
        *left_out,
    ]
    if others:
        caption.append(
            f"Not ranked, with the distributions they answered: {', '.join(others)}."
        )
    return Result(
        "leaderboard",
        ranked,
        text_of(ranked, ["method", "by"], columns),
        caption,
        functools.partial(draw, ranked),
    )


def _coverage(share: float, error: float) -> str:
    """A share with its standard error, which one distribution alone does not give."""
    if math.isnan(share):
        return "no interval"
    return f"{share:.0%}" if math.isnan(error) else f"{share:.0%} ± {error:.0%}"


def draw(ranked: pd.DataFrame, *paths: Path) -> None:
    """Error (median, middle 80 % of distributions) and coverage of each method, in the
    order of the table.
    """
    ranked = ranked.iloc[::-1]
    with sheet(
        paths, 1, 2, (8.5, 0.28 * len(ranked) + 1.4), sharey=True, legend_at=""
    ) as ((errors, coverage),):
        places = range(len(ranked))
        errors.hlines(
            places, ranked["rmse_10"], ranked["rmse_90"], color=BLUE, linewidth=1.5
        )
        errors.plot(ranked["rmse"], places, "o", color=BLUE)
        errors.set(
            xscale="log",
            xlabel="error (bits): median and middle 80 %\nof distributions",
        )
        errors.set_yticks(places, ranked["method"])
        coverage.errorbar(
            ranked["coverage"],
            places,
            xerr=ranked["coverage_error"],
            fmt="o",
            color=VERMILLION,
            capsize=2,
        )
        coverage.axvline(LEVEL, color="black", linewidth=0.8)
        coverage.set(
            xlim=(0, 1),
            xlabel=(
                "share of 95 % intervals that contain the true value\n(line: 0.95; no "
                "point: no interval)"
            ),
        )
