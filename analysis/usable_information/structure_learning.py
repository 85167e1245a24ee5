"""Which weights find the structure behind variables?

After Xu et al. 2020, section 6, but for sizes and networks, so that no published figure stands beside.
"""

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from analysis.common.marks import lines, panel_by_panel
from analysis.common.runs import newest, ordered
from analysis.common.tables import Analysis, Claim, Result, difference_claim, plus_minus_column
from analysis.usable_information._runs import Z95, described
from infoscope import tracking
from infoscope.metrics import replicated
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
    return [
        result(study, of, [FAMILIES[study], described(of), *left_out])
        for study, of in runs.groupby("study", sort=False)
    ]


def result(study: str, runs: pd.DataFrame, words: Sequence[str]) -> Result:
    """The scores of every method by case and size."""
    score, what, _ = STUDIES[study]
    figures = pooled(runs, [score, *(name for name in DIRECTED if name in runs and runs[name].notna().any())])
    figures = ordered(figures, ["case", "n", "method"], method=NAMES)
    text = figures[["case", "n"]].assign(method=figures["method"].map(NAMES), sets=figures["sets"])
    for name, title in ({score: what} | DIRECTED).items():
        if name in figures:
            text[title] = plus_minus_column(figures, name)
    most = figures["n"].max()
    largest = figures[figures["n"] == most]
    scored = zip(largest["case"], largest["method"].map(NAMES), plus_minus_column(largest, score))
    caption = [
        f"With {most:,} rows, {what}: {'; '.join(f'{case}, {method} {value}' for case, method, value in scored)}.",
        f"{what[0].upper()}{what[1:]}, by method, case and sample size.",
        *cautions(study, figures, score),
        *words,
    ]
    return Result(study, figures, text, caption, functools.partial(draw, figures, study), claims(study, runs))


def cautions(study: str, figures: pd.DataFrame, score: str) -> list[str]:
    """What a reader must know of a study."""
    found = []
    if study == "frames":
        found.append("Digits move straight and bounce, the same forwards and backwards: no weight can find the "
                     "direction, unless the first frame is known.")  # fmt: skip
    if study == "trees":
        found.append("Weights that are symmetric, of lines and of tables but for chance too, cannot find directions: "
                     "their root is chosen by the order of the variables or by noise.")  # fmt: skip
    if study == "genes":
        found.append("Every ordered pair counts, though only V-information can differ between its two directions.")
        own = sorted(set(figures["case"]) - {SIMULATED})
        if own:
            found.append(f"Data sets of {', '.join(own)} are samples of the rows of one table: ± does not include "
                         "the differences to another table.")  # fmt: skip
        if SIMULATED in set(figures["case"]):
            found.append("Networks are simulated, another one for every data set.")
    never = figures.loc[(figures[score] == 0.0) & (figures[f"{score}_error"] == 0.0), "sets"]
    if len(never):
        most = 1.0 - 0.05 ** (1.0 / never.min())  # the exact binomial bound
        found.append(f"0.000 ± 0.000: no wrong edge in any of {never.min()} data sets; up to {100 * most:.0f} % of "
                     "such sets may have one (one-sided 95 %).")  # fmt: skip
    return found


def pooled(runs: pd.DataFrame, scores: Sequence[str]) -> pd.DataFrame:
    """One row per case, size and method: means over the data sets of all blocks, with standard errors."""
    rows = []
    for group, blocks in runs.groupby(["case", "n", "method"], sort=False):
        sets, total = blocks["sets"].to_numpy(float), float(blocks["sets"].sum())
        row = dict(zip(("case", "n", "method"), group)) | {"sets": int(total)}
        for score in scores:
            mean = float((sets * blocks[score]).sum() / total)
            squares = ((sets - 1) * blocks[f"{score}_variance"] + sets * (blocks[score] - mean) ** 2).sum()
            row |= {score: mean, f"{score}_error": math.sqrt(squares / (total - 1) / total)}
        rows.append(row)
    return pd.DataFrame(rows)


def claims(study: str, runs: pd.DataFrame) -> list[Claim]:
    """Whether V-information does better than each other method on the same data sets, all sizes together."""
    score, _, less = STUDIES[study]
    found = []
    for case, own in runs.groupby("case", sort=False):
        ours = of_sets(own[own["method"] == OURS], score)
        for method in NAMES:
            others = of_sets(own[own["method"] == method], score)
            shared = ours.index.intersection(others.index)
            if method == OURS or not len(shared):
                continue
            difference = (ours.loc[shared] - others.loc[shared]).to_numpy() * (1 if less else -1)
            statement = f"{case}: V-information finds the structure better than {NAMES[method]}."
            if not difference.any():
                found.append(Claim(statement, "undecided", f"the same on all {len(shared)} data sets."))
                continue
            what = "its wrong edges less the other's" if less else "the other's area less its own"
            found.append(difference_claim(statement, replicated(difference), what, "on average"))
    return found


def of_sets(runs: pd.DataFrame, score: str) -> pd.Series:
    """The score of every data set, by size, block and number."""
    parts = [tracking.table(run["run_id"], "sets")[score].rename(None) for _, run in runs.iterrows()]
    keys = [(run["n"], run["block"]) for _, run in runs.iterrows()]
    return pd.concat(parts, keys=keys) if parts else pd.Series(dtype=float)


def draw(figures: pd.DataFrame, study: str, *paths: Path) -> None:
    """The score by sample size, a panel for each case and a line for each method."""
    score, what, _ = STUDIES[study]
    width = 4.4 if figures["case"].nunique() > 1 else 5.6
    how = {"ylabel": what.partition(",")[0] + ", 95 % interval", "legend_at": "outside lower center", "ncols": 3}
    for axis, (name, rows) in panel_by_panel(paths, figures.groupby("case", sort=False), (width, 4.0), **how):
        for number, (method, line, mark) in enumerate(lines(rows, "method")):
            place = line["n"] * 1.015**number  # side by side
            axis.errorbar(place, line[score], Z95 * line[f"{score}_error"], markersize=4, capsize=2,
                          label=NAMES[method], **mark)  # fmt: skip
        sizes = sorted(set(rows["n"]))
        axis.set(title=Path(name).name, xlabel="sample size", xscale="log")
        axis.set_xticks(sizes, [f"{n:,}" for n in sizes])
        if score == "wrong":
            axis.set_ylim(bottom=-0.02, top=max(0.2, axis.get_ylim()[1]))


ANALYSIS = Analysis("structure-learning", analyse)
