"""Which weights find the structure behind variables?

After Xu et al. 2020, section 6, with other sizes and networks: there are no published
figures to compare with.
"""

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from analysis.common.claims import Claim, negative
from analysis.common.marks import lines, panel_by_panel
from analysis.common.runs import newest, ordered
from analysis.common.tables import Analysis, Result, level_with, plus_minus_column
from analysis.usable_information._runs import Z95, described
from infoscope import tracking
from infoscope.metrics import replicated
from infoscope.metrics.report import listed
from sweeps.usable_information.settings import SIMULATED

OURS = "v-information"
NAMES = {"v-information": "V-information", "knn": "nearest neighbours (typed)", "as-numbers": "KSG, labels as numbers",
         "partitioning": "partitioning (plug-in)", "kernel-density": "kernel densities"}  # fmt: skip
CELL = ["study", "case", "n", "method", "block"]
STUDIES = {  # its score, what it is, and whether less is better
    "trees": ("wrong", "share of wrong edges, directions not counted", True),
    "genes": ("auc", "area under the ROC curve, edges of the network", False),
    "frames": ("wrong", "share of wrong edges, directions not counted", True),
}
DIRECTED = {"wrong_directed": "directed", "wrong_rooted": "directed, first frame known"}
FAMILIES = {
    "trees": "Families of the V-information: lines with a fitted variance (hub); all tables (discrete stars), "
    "in-sample and so the plug-in mutual information, as partitioning is.",
    "genes": "Family of the V-information: cubic polynomials with a fitted variance.",
    "frames": "Family of the V-information: quadratic polynomials with a variance of 1/2; a frame is its 10 principal "
    "components.",
}


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """One table and figure for each study that was run."""
    runs, left_out = newest(runs, CELL, ("sets",))
    results = []
    for study, members in runs.groupby("study", sort=False):
        words = [FAMILIES[study], described(members), *left_out]
        results.append(result(study, members, words))
    return results


def result(study: str, runs: pd.DataFrame, words: Sequence[str]) -> Result:
    """The scores of every method by case and size."""
    score, what, _ = STUDIES[study]
    directed = [name for name in DIRECTED if name in runs and runs[name].notna().any()]
    figures = pooled(runs, [score, *directed])
    figures = ordered(figures, ["case", "n", "method"], method=NAMES)
    methods = figures["method"].map(NAMES)
    text = figures[["case", "n"]].assign(method=methods, sets=figures["sets"])
    text[what] = plus_minus_column(figures, score)
    for name in directed:
        text[DIRECTED[name]] = plus_minus_column(figures, name)
    caption = [
        finding(study, runs, figures, text),
        f"{what[0].upper()}{what[1:]}, by method, case and sample size.",
        *cautions(study, figures, score),
        *words,
    ]
    return Result(
        study,
        figures,
        text,
        caption,
        functools.partial(draw, figures, study),
        claims(study, runs),
    )


def finding(
    study: str, runs: pd.DataFrame, figures: pd.DataFrame, text: pd.DataFrame
) -> str:
    """The best methods of every case with most rows, by paired differences over data
    sets, and those behind them.
    """
    score, what, is_error = STUDIES[study]
    most = figures["n"].max()
    largest = figures["n"] == most
    parts = []
    for case, rows in figures[largest].groupby("case", sort=False):
        rows = rows.sort_values(score, ascending=is_error)
        of_case = runs[(runs["n"] == most) & (runs["case"] == case)]
        values = pd.DataFrame(of_sets(of_case, score)) * (-1 if is_error else 1)
        best = level_with(values[rows["method"].iloc[0]], values)
        names = rows["method"].map(NAMES)
        scores = text.loc[rows.index, what]
        cells = names + " " + scores
        is_best = rows["method"].isin(best)
        words = f"{case}: {listed(cells[is_best])}"
        if len(best) > 1:
            words += " (equal within error)"
        if not is_best.all():
            words += f", ahead of {listed(cells[~is_best])}"
        elif scores.nunique() == 1:
            words = f"{case}: {listed(names)}, all {scores.iloc[0]}"
        parts.append(words)
    return f"With {most:,} rows these methods do best, by {what}: {'; '.join(parts)}."


def cautions(study: str, figures: pd.DataFrame, score: str) -> list[str]:
    """What a reader must know of a study."""
    lines = []
    if study == "frames":
        lines.append(
            "Digits move straight and bounce, the same forwards and backwards: no "
            "weight can find the "
            "direction, unless the first frame is known."
        )
    if study == "trees":
        lines.append(
            "Weights that are symmetric, of lines and of tables but for chance too, "
            "cannot find directions: "
            "their root is chosen by the order of the variables or by noise."
        )
    if study == "genes":
        lines.append(
            "Every ordered pair counts, though only V-information can differ between "
            "its two directions."
        )
        cases = set(figures["case"])
        tables = sorted(cases - {SIMULATED})
        if tables:
            lines.append(
                f"Data sets of {', '.join(tables)} are samples of the rows of one "
                "table: ± does not include "
                "the differences to another table."
            )
        if SIMULATED in cases:
            lines.append("Networks are simulated, another one for every data set.")
    is_faultless = (figures[score] == 0.0) & (figures[f"{score}_error"] == 0.0)
    if is_faultless.any():
        sets = figures.loc[is_faultless, "sets"].min()
        share = 1.0 - 0.05 ** (1.0 / sets)  # the exact binomial bound
        lines.append(
            f"0.000 ± 0.000: no wrong edge in any of {sets} data sets; up to "
            f"{100 * share:.0f} % of "
            "such sets may have one (one-sided 95 %)."
        )
    return lines


def pooled(runs: pd.DataFrame, scores: Sequence[str]) -> pd.DataFrame:
    """One row per case, size and method: means over the data sets of all blocks, with
    standard errors.
    """
    rows = []
    for (case, n, method), blocks in runs.groupby(["case", "n", "method"], sort=False):
        sets = blocks["sets"].to_numpy(float)
        total = float(blocks["sets"].sum())
        row = {"case": case, "n": n, "method": method, "sets": int(total)}
        for score in scores:
            mean = float((sets * blocks[score]).sum() / total)
            within = (sets - 1) * blocks[f"{score}_variance"]
            between = sets * (blocks[score] - mean) ** 2
            variance = (within + between).sum() / (total - 1)
            row[score] = mean
            row[f"{score}_error"] = math.sqrt(variance / total)
        rows.append(row)
    return pd.DataFrame(rows)


def claims(study: str, runs: pd.DataFrame) -> list[Claim]:
    """Whether V-information does better than each other method on the same data sets,
    all sizes together.
    """
    score, _, is_loss = STUDIES[study]
    what = (
        "its wrong edges less the other's"
        if is_loss
        else "the other's area less its own"
    )
    claims = []
    for case, members in runs.groupby("case", sort=False):
        scores = of_sets(members, score)
        for method, name in NAMES.items():
            if method == OURS or not {OURS, method} <= set(scores):
                continue
            ours, theirs = scores[OURS].align(scores[method], join="inner")
            if ours.empty:
                continue
            loss = (ours - theirs).to_numpy()
            if not is_loss:
                loss = -loss
            statement = f"{case}: V-information finds the structure better than {name}."
            if loss.any():
                claim = negative(
                    statement, replicated(loss), what, "", over="data sets"
                )
            else:
                reason = f"both score the same on each of {len(loss)} data sets."
                claim = Claim(statement, "not tested", reason)
            claims.append(claim)
    return claims


def of_sets(runs: pd.DataFrame, score: str) -> dict[str, pd.Series]:
    """By method, the score of every data set, by size, block and number."""
    scores = {}
    for method, members in runs.groupby("method"):
        parts = {}
        for run in members.itertuples():
            parts[run.n, run.block] = tracking.table(run.run_id, "sets")[score]
        scores[method] = pd.concat(parts)
    return scores


def draw(figures: pd.DataFrame, study: str, *paths: Path) -> None:
    """The score by sample size, a panel for each case and a line for each method."""
    score, what, _ = STUDIES[study]
    width = 4.4 if figures["case"].nunique() > 1 else 5.6
    ylabel = what.partition(",")[0] + ", 95 % interval"
    groups = figures.groupby("case", sort=False)
    for axis, (name, rows) in panel_by_panel(
        paths, groups, (width, 4.0), ylabel=ylabel
    ):
        for number, (method, line, mark) in enumerate(lines(rows, "method")):
            place = line["n"] * 1.015**number  # side by side
            reach = Z95 * line[f"{score}_error"]
            axis.errorbar(
                place,
                line[score],
                reach,
                markersize=4,
                capsize=2,
                label=NAMES[method],
                **mark,
            )
        sizes = sorted(set(rows["n"]))
        axis.set(title=Path(name).name, xlabel="sample size", xscale="log")
        axis.set_xticks(sizes, [f"{n:,}" for n in sizes])
        if score == "wrong":
            axis.set_ylim(bottom=-0.02, top=max(0.2, axis.get_ylim()[1]))


ANALYSIS = Analysis(
    "structure-learning", analyse, claims_from="Xu et al. 2020, section 6"
)
