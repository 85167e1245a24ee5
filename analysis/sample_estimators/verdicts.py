"""How often a nearest-neighbour estimate that is called reliable is wrong, by law, over the sizes of the sample.

Reads the runs of the sweep verdicts from MLflow. A call is wrong where its 95 % interval for the truth misses it. The
laws chose none of the verdict's constants. Beside it: how many of the estimates whose plain interval holds the truth
are called reliable, and how many calls of drift alone, the verdict of before, would have been wrong.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.common.marks import BLUE, ORANGE, legend, save
from analysis.common.runs import latest, versions
from analysis.common.tables import Analysis, Result, main
from analysis.sample_estimators._runs import share
from analysis.sample_estimators.coverage import inside
from infoscope.metrics.shares import clopper_pearson
from infoscope.tracking import table

ALLOWED = 0.05  # of the reliable calls of a law may miss
ENOUGH = 20  # calls of a law, to say so
BY_DRIFT, LARGEST_SHARE = 1.0, 0.02  # the verdict of before: predicted bias in standard errors, k / n


def read(runs: pd.DataFrame) -> pd.DataFrame:
    """Every data set of the runs, with its law, size and truth."""
    fields = ["law", "collection", "n", "k", "truth"]
    return pd.concat(
        [table(run["run_id"], "sets").assign(**{name: run[name] for name in fields}) for _, run in runs.iterrows()],
        ignore_index=True,
    )


def judged(sets: pd.DataFrame) -> pd.DataFrame:
    """The data sets with what was said of each, and whether that was wrong."""
    truth = sets["truth"]
    by_drift = sets["predicted_bias"].abs() <= BY_DRIFT * sets["standard_error"]
    by_drift &= sets["k"] / sets["n"] <= LARGEST_SHARE
    covered = inside(sets, truth)
    return sets.assign(
        covered=covered,
        reliable=sets["verdict"] == "reliable",
        wrong=(sets["verdict"] == "reliable") & ~inside(sets, truth, "truth_"),
        by_drift=by_drift,
        wrong_by_drift=by_drift & ~covered,
    )


def counted(sets: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Counts of the judged data sets."""
    found = sets.groupby(list(by), sort=False).agg(
        truth=("truth", "first"), sets=("value", "size"), mean=("value", "mean"),
        covered=("covered", "sum"), reliable=("reliable", "sum"), wrong=("wrong", "sum"),
        by_drift=("by_drift", "sum"), wrong_by_drift=("wrong_by_drift", "sum"),
    ).reset_index()  # fmt: skip
    kept = sets[sets["covered"] & sets["reliable"]].groupby(list(by), sort=False).size()
    found["reliable_and_covered"] = [
        int(kept.get(key if len(by) > 1 else key[0], 0)) for key in found[list(by)].itertuples(index=False, name=None)
    ]
    return found


def calls(wrong: int, count: int) -> str:
    """Of so many calls, the share that is wrong with its interval."""
    return f"{wrong} of {count}: {share(wrong / count, count)}" if count else "none"


def analyse(runs: pd.DataFrame, arguments: argparse.Namespace) -> Sequence[Result]:
    """A row per law, over the sizes, and the totals by collection and size."""
    runs, left_out = latest(runs, ("sets", "k"))
    sets = judged(read(runs)).sort_values(["collection", "law", "n"], kind="stable")
    figures = counted(sets, ["collection", "law"])
    totals = counted(sets, ["collection", "n"])
    sizes = ", ".join(f"{n:,}" for n in sorted(set(sets["n"])))
    caption = [
        "Nats. Reliable but wrong: of the data sets called reliable, those whose 95 % interval for the truth misses "
        "it; in brackets the 95 % Clopper-Pearson interval of the share. Covered: the plain 95 % interval, for the "
        "estimator's expectation, holds the truth; how many of those are called reliable. By drift alone: the verdict "
        "of before, which asked only whether the estimate moves with the sample size.",
        f"n = {sizes}, k = {', '.join(map(str, sorted(set(sets['k']))))}; generated data; code {versions(runs)}.",
        *sentences(figures),
        *left_out,
    ]
    draw_laws = functools.partial(draw, figures)
    return [
        Result("laws", figures, as_text(figures, "law"), "\n".join(caption), draw_laws),
        Result("sizes", totals, as_text(totals, "n"), "The same by collection and sample size."),
    ]


def as_text(figures: pd.DataFrame, what: str) -> pd.DataFrame:
    rows = figures.to_dict("records")
    return pd.DataFrame({
        "collection": figures["collection"],
        what: figures[what],
        **({"truth": figures["truth"].map("{:.3f}".format), "mean": figures["mean"].map("{:.3f}".format)}
           if what == "law" else {}),
        "sets": figures["sets"],
        "reliable but wrong": [calls(row["wrong"], row["reliable"]) for row in rows],
        "covered, of them reliable": [f"{row['covered']}, {row['reliable_and_covered']}" for row in rows],
        "wrong by drift alone": [calls(row["wrong_by_drift"], row["by_drift"]) for row in rows],
    })  # fmt: skip


def sentences(figures: pd.DataFrame) -> list[str]:
    """What the calls are worth by collection, and which laws break what is allowed."""
    lines = []
    for collection, rows in figures.groupby("collection", sort=False):
        total = rows.sum(numeric_only=True)
        covered, kept = int(total["covered"]), int(total["reliable_and_covered"])
        lines.append(
            f"{collection}, {len(rows)} laws: wrong are {calls(int(total['wrong']), int(total['reliable']))} calls; of "
            f"{covered} covered estimates {share(kept / max(1, covered), max(1, covered))} are called reliable; by "
            f"drift alone wrong are {calls(int(total['wrong_by_drift']), int(total['by_drift']))}."
        )
    many = figures[figures["reliable"] >= ENOUGH]
    broken = many[many["wrong"] > ALLOWED * many["reliable"]]
    told = ", ".join(f"{row.law} {row.wrong} of {row.reliable}" for row in broken.itertuples()) or "none"
    lines.append(
        f"Laws with {ENOUGH} or more such calls: {len(many)}; those where more than {ALLOWED:.0%} are wrong: {told}."
    )
    return lines


def draw(figures: pd.DataFrame, *paths: Path) -> None:
    """By law the share of data sets called reliable, and of those the share that is wrong, with its interval."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(13.5, 0.22 * len(figures) + 1.5), sharey=True, layout="constrained")
    places = range(len(figures))
    axes[0].barh(places, figures["covered"] / figures["sets"], color="lightgrey", label="interval holds the truth")
    axes[0].barh(places, figures["reliable"] / figures["sets"], height=0.4, color=BLUE, label="called reliable")
    axes[0].set(yticks=places, yticklabels=figures["law"], xlabel="share of data sets", xlim=(0, 1))
    for place, row in enumerate(figures.itertuples()):
        for wrong, count, shift, colour in ((row.wrong, row.reliable, -0.15, BLUE),
                                            (row.wrong_by_drift, row.by_drift, 0.15, ORANGE)):  # fmt: skip
            if count:
                low, high = clopper_pearson(wrong, count)
                axes[1].plot([low, high], [place + shift] * 2, color=colour, linewidth=1)
                axes[1].plot(wrong / count, place + shift, "o", color=colour, markersize=4)
    axes[1].plot([], [], "o-", color=BLUE, label="wrong, of those called reliable")
    axes[1].plot([], [], "o-", color=ORANGE, label="wrong, of those called so by drift alone")
    axes[1].axvline(ALLOWED, color="grey", linestyle=":")
    axes[1].set(xlabel="share of those calls that is wrong", xlim=(0, 1))
    axes[0].set_ylim(len(figures) - 0.5, -0.5)
    legend(figure)
    save(figure, paths, 150)


ANALYSIS = Analysis("verdicts", analyse)

if __name__ == "__main__":
    main(ANALYSIS)
