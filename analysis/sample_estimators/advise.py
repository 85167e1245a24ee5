"""The exam of the advice: verdicts, coverage, and the choice of an estimator beside the best one in hindsight.

Reads the runs of the sweep advise from MLflow. One table by collection of laws, with what people would have who always
take the same estimator and believe its interval, and one by law. Reliable but wrong: of the answers that are given, the
share whose interval misses the truth.
"""

from __future__ import annotations

import argparse
import functools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.common.marks import BLUE, VERMILLION, save
from analysis.common.runs import latest, versions
from analysis.common.tables import Analysis, Result, main
from analysis.sample_estimators._runs import in_order_of, share, weighted_mean
from infoscope.metrics.advice import ANSWERED
from infoscope.tracking import table

COUNTS = ("sets", "answered", "nothing", "refused", "covered", "hopeless")
MEANS = ("width", "squared_error", "squared_error_of_chosen")  # over the data sets that were answered
OF, INTERVALS, COVERED = "squared_error_of_", "intervals_of_", "covered_by_"  # of a candidate


def pooled(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per law and size, over the data sets of all blocks; nats."""
    candidates = [name.removeprefix(INTERVALS) for name in runs if name.startswith(INTERVALS)]
    rows = []
    for (collection, law, n), blocks in runs.groupby(["collection", "law", "n"], sort=False):
        row = {"collection": collection, "law": law, "n": int(n), "truth": blocks["truth"].iloc[0]}
        row |= {name: int(blocks[name].sum()) for name in COUNTS}
        for name in (*MEANS, *(OF + one for one in candidates)):
            row[name] = weighted_mean(blocks.get(name), blocks["answered"])
        errors = {one: row[OF + one] for one in candidates if math.isfinite(row[OF + one])}
        row["oracle"] = min(errors, key=errors.get) if errors else ""
        row["squared_error_of_oracle"] = min(errors.values(), default=math.nan)
        row["seconds"] = blocks["advice_seconds"].median()
        for one in candidates:
            for what in (INTERVALS, COVERED):
                row[what + one] = int(blocks.get(what + one, pd.Series(0)).sum())
        rows.append(row)
    return pd.DataFrame(rows)


def by_collection(laws: pd.DataFrame) -> pd.DataFrame:
    """One row per collection and size, and one for every estimator that is always taken."""
    rows = []
    for (collection, n), of in laws.groupby(["collection", "n"], sort=False):
        some = of[of["answered"] > 0]
        row = {"collection": collection, "n": n, "who": "advise", "laws": len(of)}
        row |= {name: int(of[name].sum()) for name in COUNTS}
        row |= {"width": some["width"].median(), "seconds": of["seconds"].median()}
        for name in ("squared_error", "squared_error_of_chosen", "squared_error_of_oracle"):
            row[name.replace("squared_error", "rmse")] = math.sqrt(some[name].mean()) if len(some) else math.nan
        rows.append(row)
        for one in (name.removeprefix(INTERVALS) for name in of if name.startswith(INTERVALS)):
            asked = of[of[INTERVALS + one] > 0]
            if len(asked):
                rows.append({
                    "collection": collection, "n": n, "who": f"always {one}", "laws": len(asked),
                    "sets": int(asked["sets"].sum()), "answered": int(asked[INTERVALS + one].sum()),
                    "covered": int(asked[COVERED + one].sum()),
                    "rmse": math.sqrt(asked[OF + one].mean()) if asked[OF + one].notna().any() else math.nan,
                })  # fmt: skip
    return pd.DataFrame(rows)


def analyse(runs: pd.DataFrame, arguments: argparse.Namespace) -> Sequence[Result]:
    runs, left_out = latest(runs, ("within", "sets"))
    runs = runs.sort_values(["start", "n"], kind="stable")
    laws = pooled(runs)
    made = f"Profile {', '.join(sorted(set(runs['profile'])))}; code {versions(runs)}."
    return [_verdicts(laws, runs, made, left_out), _laws(laws, made)]


def _verdicts(laws: pd.DataFrame, runs: pd.DataFrame, made: str, left_out: list[str]) -> Result:
    figures = by_collection(laws)
    text = pd.DataFrame([
        {
            "collection": row.collection,
            "n": f"{row.n:,}",
            "who": row.who,
            "laws": row.laws,
            "answered": f"{row.answered} of {row.sets}",
            "nothing found": _count(row.nothing),
            "refused": _count(row.refused),
            "of these hopeless": _of(row.hopeless, row.nothing + row.refused),
            "reliable but wrong": share(1 - row.covered / row.answered, row.answered) if row.answered else "no answer",
            "width": _number(row.width),
            "RMSE": _number(row.rmse),
            "of the chosen": _number(row.rmse_of_chosen),
            "of the oracle": _number(row.rmse_of_oracle),
            "seconds": f"{row.seconds:.0f}" if math.isfinite(row.seconds) else "",
        }
        for row in figures.itertuples()
    ])  # fmt: skip
    caption = [
        "Nats. Reliable but wrong: share of the answers whose 95 % interval misses the truth, with the 95 % "
        "Clopper-Pearson interval of that share (data sets of one law are no independent laws). Hopeless: data sets "
        "without an answer on which no candidate was within .1 nats or 25 % of the truth. RMSE: of the answer, of the "
        "estimator that was chosen, and of the candidate that is best on each law in hindsight, over data sets that "
        "were answered, root of the mean over laws; width: of the interval, median over laws. Always: one who takes "
        "that estimator whatever the data and believes its interval; its RMSE is over data sets that were answered. No "
        "error is given of an RMSE: the laws were chosen, not drawn.",
        made,
        *left_out,
    ]
    return Result("verdicts", figures, text, "\n".join(caption), functools.partial(draw, runs))


def _count(value: float) -> str:
    return f"{int(value)}" if math.isfinite(value) else ""


def _of(count: float, whole: float) -> str:
    return f"{int(count)} of {int(whole)}" if math.isfinite(whole) else ""


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else ""


def _laws(laws: pd.DataFrame, made: str) -> Result:
    laws = laws.sort_values(["collection", "n"], key=in_order_of(laws["collection"]), kind="stable")
    text = pd.DataFrame([
        {
            "collection": row.collection,
            "law": row.law,
            "n": f"{row.n:,}",
            "truth (nats)": f"{row.truth:.3f}",
            "answered": f"{row.answered} of {row.sets}",
            "nothing found": row.nothing,
            "refused": row.refused,
            "hold the truth": f"{row.covered} of {row.answered}" if row.answered else "",
            "width": _number(row.width),
            "RMSE": _number(math.sqrt(row.squared_error)),
            "of the chosen": _number(math.sqrt(row.squared_error_of_chosen)),
            "best in hindsight": f"{row.oracle} {math.sqrt(row.squared_error_of_oracle):.3f}" if row.oracle else "",
        }
        for row in laws.itertuples()
    ])  # fmt: skip
    caption = f"Every law, nats: verdicts, intervals, and root mean squared errors over the answered data sets.\n{made}"
    return Result("laws", laws, text, caption)


def draw(runs: pd.DataFrame, *paths: Path) -> None:
    """Every answer less the truth with its interval, by law; red where it misses, a word where there is none."""
    import matplotlib.pyplot as plt

    sets = pd.concat([
        table(run.run_id, "sets").assign(law=run.law, truth=run.truth) for run in runs.itertuples()
    ])  # fmt: skip
    names = list(dict.fromkeys(sets["law"]))
    figure, axis = plt.subplots(figsize=(9, 0.2 * len(names) + 2), layout="constrained")
    for place, name in enumerate(names):
        of = sets[sets["law"] == name]
        for shift, row in zip(np.linspace(-0.3, 0.3, len(of)), of.itertuples()):
            if row.verdict != ANSWERED:
                axis.plot(0, place + shift, "x" if row.verdict == "refused" else "+", color="grey", markersize=4)
                continue
            held = row.low <= row.truth <= row.high
            axis.plot([row.low - row.truth, row.high - row.truth], [place + shift] * 2,
                      color=BLUE if held else VERMILLION, linewidth=1.5)  # fmt: skip
    axis.axvline(0, color="black", linewidth=0.8)
    axis.set_yticks(range(len(names)), names, fontsize="x-small")
    axis.set(xlabel="95 % interval less the truth (nats); red: misses it; x: refused, +: nothing found",
             ylim=(len(names) - 0.5, -0.5))  # fmt: skip
    save(figure, paths, 150)


ANALYSIS = Analysis("advise", analyse)

if __name__ == "__main__":
    main(ANALYSIS)
