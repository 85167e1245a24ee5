"""How difficult is a data set, which of its items, and why? V-information and PVI (bits) by data, input and family.

Reads the runs of the sweep dataset-difficulty from MLflow. Published figures are of BERT-base, fine-tuned on the whole
training sets (Ethayarajh et al. 2022); whether ours compare with them is said with every table.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde

from analysis.common.marks import mark, sheet
from analysis.common.tables import Analysis, Claim, Result, published, told
from analysis.usable_information import _items, _studies
from analysis.usable_information._runs import (
    INPUTS,
    NAMES,
    TAIL,
    Figure,
    cautions,
    described,
    hardest_shown,
    less_than,
    newest_of,
    of_study,
    over_seeds,
    paired,
    shown_family,
    shown_items,
)
from infoscope.command_line import option

GROUP = ["data", "transformation", "family", "estimator"]
PAPERS = {"snli": ("snli", "test"), "mnli": ("multinli", "validation_matched"), "cola": ("cola", "id_dev")}
PAPERS["mnli-dev"] = PAPERS["mnli"]
BERT = "bert-base-cased"
EPOCHS = 2  # of the published fine-tuning, where there are several
HARDER = (("snli", "mnli"), ("snli", "mnli-dev"), ("mnli", "cola"), ("mnli-dev", "cola"))  # the first is the easier


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """All tables and figures of the studies that were run."""
    runs, left_out = newest_of(runs)
    results = []
    measured = of_study(runs, "difficulty")
    if len(measured):
        results.append(information(measured, arguments.family, [*cautions(measured), described(measured), *left_out]))
        family = shown_family(measured, arguments.family)
        shown = of_study(measured, "difficulty", family=family, transformation="std", estimator="held-out")
        results += _items.results(shown_items(measured, family), family, [described(shown), *left_out])
        results += _studies.explained(measured, left_out)
    results += _studies.epochs(of_study(runs, "epochs"), left_out)
    return results


def information(measured: pd.DataFrame, asked: str | None, words: list[str]) -> Result:
    """V-information by data, input and family beside the published; with figure 1 of the paper."""
    figures = pd.DataFrame([row_of(dict(zip(GROUP, group)), of) for group, of in measured.groupby(GROUP, sort=False)])
    text = pd.DataFrame(
        {
            "data": figures["data"].map(NAMES),
            "family": figures["family"],
            "estimator": figures["estimator"],
            "input": figures["transformation"].map(INPUTS),
            "V-information": told(figures, "v_information_bits"),
            "Shannon": figures["shannon_bits"].map(lambda bits: f"{bits:.3f}" if math.isfinite(bits) else "unknown"),
            "H(Y)": told(figures, "H_yb"),
            "accuracy": told(figures, "accuracy"),
            "calibration error": figures["expected_calibration_error"].map("{:.3f}".format),
            "items": figures["n"].map("{:,}".format),
            "fitted to": figures["training_items"].map("{:,}".format),
            "BERT-base": told(figures, "paper_bits", "-"),
        }
    )
    caption = [
        "Bits. ± is a standard error over items, robust to those that share a premise; where there are several "
        "trainings it includes their scatter. With one training, what another one would give is not in it. Nothing is "
        "clipped: below 0 a family predicts unseen items worse than the class frequencies do.",
        "What a family can use is what its fit to so many items has found, a lower bound but for chance. Where less "
        "input gives more, the fit has not learnt to ignore the rest: that tells of the family, not of the data. A "
        "small-* transformer starts from random weights.",
        "calibration error: mean |share right - top probability| over 15 bins; about sqrt(15 / items) of it is noise. "
        "Shannon: the mutual information of the input and the class, known of generated data only.",
        comparability(measured),
        *floored(figures),
        *words,
    ]
    family = shown_family(measured, asked)
    draw = functools.partial(difficulty_densities, shown_items(measured, family), family)
    return Result("information", figures, text, caption, draw, list(claims(measured, figures)))


def row_of(group: dict, runs: pd.DataFrame) -> dict:
    """The figures of one data set, input, family and estimator, over seeds, and the published one."""
    row = group | {"runs": len(runs), "n": int(runs["n"].iloc[0]), "groups": int(runs["groups"].iloc[0]),
                   "training_items": int(runs["training_items"].iloc[0])}  # fmt: skip
    for name in ("v_information_bits", "H_yb", "H_yxb", "accuracy"):
        figure = over_seeds(runs[name], runs[f"{name}_error"], row["n"])
        row |= {name: figure.value, f"{name}_error": figure.error}
    row |= {name: float(runs[name].mean()) for name in ("expected_calibration_error", "best_temperature", "floored")}
    paper = papers_figure(group["data"], group["transformation"]) if group["estimator"] == "held-out" else None
    value, error = (math.nan, math.nan) if paper is None else paper
    row["shannon_bits"] = float(runs["shannon_bits"].iloc[0]) if "shannon_bits" in runs else math.nan
    return row | {"paper_bits": value, "paper_bits_error": error}


def papers_figure(data: str, transformation: str) -> tuple[float, float] | None:
    """BERT-base's V-information (bits) and its error, after two epochs where several are published."""
    rows = published("vinfo")
    dataset, split = PAPERS.get(data, (None, None))
    rows = rows[(rows["dataset"] == dataset) & (rows["split"] == split) & (rows["model"] == BERT)]
    rows = rows[(rows["condition"] == transformation) & (rows["epochs"].isna() | (rows["epochs"] == EPOCHS))]
    if rows.empty:
        return None
    row = rows.sort_values("epochs").iloc[0]  # those without a number come last
    return float(row["v_information_bits"]), float(row["v_information_bits_error"])


def comparability(runs: pd.DataFrame) -> str:
    """What must be the same for the levels to compare with BERT-base's, and is not."""
    beside = runs[runs["data"].isin(PAPERS) & (runs["estimator"] == "held-out")]
    if beside.empty:
        return "None of these data sets is in the paper: nothing to compare with."
    differs = []
    if set(beside["family"]) != {f"hub:{BERT}"}:
        differs.append(f"other families ({BERT} is pretrained)")
    if (beside["items"] > 0).any() or beside["tags"].map(lambda tags: "20k" in tags.get("infoscope.data", "")).any():
        differs.append("fewer training items (SNLI has 549,367 pairs)")
    if "mnli-dev" in set(beside["data"]):
        differs.append("of MultiNLI a part of its matched development set in place of its 392,702 training pairs")
    epochs = set(beside["epochs"].dropna())
    if epochs - {EPOCHS}:
        differs.append(f"epochs ({', '.join(f'{count:g}' for count in sorted(epochs))} for {EPOCHS})")
    if not differs:
        return "BERT-base: the published setting."
    return (
        f"BERT-base (published, whole training sets) is there for the order of data sets and inputs, not to compare "
        f"levels. What differs here: {'; '.join(differs)}."
    )


def floored(figures: pd.DataFrame) -> list[str]:
    """How many items needed the floor of probabilities."""
    share = figures["floored"] / figures["n"]
    row = figures.loc[share.idxmax()]
    if not row["floored"]:
        return []
    return [
        f"Floored at a probability of 1e-6: at most {share.max():.1%} of the items of a row "
        f"({NAMES[row['data']]}, {INPUTS[row['transformation']]}, {row['family']})."
    ]


def claims(runs: pd.DataFrame, figures: pd.DataFrame) -> Iterator[Claim]:
    """The order of data sets and of inputs, for every family that has both."""
    held_out = runs[runs["estimator"] == "held-out"]
    whole = figures[(figures["estimator"] == "held-out") & (figures["transformation"] == "std")]
    for (easier, harder), family in itertools.product(HARDER, dict.fromkeys(whole["family"])):
        own = whole[whole["family"] == family].set_index("data")
        if {easier, harder} <= set(own.index):
            first, second = own.loc[harder], own.loc[easier]
            error = math.hypot(first["v_information_bits_error"], second["v_information_bits_error"])
            difference = Figure(
                first["v_information_bits"] - second["v_information_bits"], error, int(first["n"] + second["n"]),
                int(min(first["runs"], second["runs"])),
            )  # fmt: skip
            yield less_than(
                f"{NAMES[harder]} has less information that {family} can use than {NAMES[easier]} (figure 1).",
                difference, "difference",
            )  # fmt: skip
    for (data, family), own in held_out.groupby(["data", "family"], sort=False):
        for less, more in (("hypothesis", "shuffled"), ("shuffled", "std"), ("premise", "hypothesis")):
            inputs = {name: own[own["transformation"] == name] for name in (less, more)}
            if all(map(len, inputs.values())):
                yield less_than(
                    f"{NAMES[data]}, {family}: {INPUTS[less]} carries less usable information than {INPUTS[more]}.",
                    paired(inputs[less], inputs[more]), "paired difference",
                )  # fmt: skip


def difficulty_densities(tables: dict[str, pd.DataFrame], family: str, *paths: Path) -> None:
    """Figure 1: the density of PVI in every data set (Scott's rule), dotted means."""
    with sheet(paths, size=(6.5, 4.0)) as ((axis,),):
        for name, table in tables.items():
            bits, colour = table["pvi_bits"].to_numpy(), mark("data", name).color
            grid = np.linspace(hardest_shown(table["pvi_bits"]), bits.max() + 0.5, 400)
            axis.plot(grid, gaussian_kde(bits)(grid), color=colour, label=f"{NAMES[name]} ({len(bits):,})")
            axis.axvline(bits.mean(), linestyle=":", color=colour)
        axis.set(xlabel=f"PVI (bits), {family}; but for the hardest {100 * TAIL:g} %", ylabel="density",
                 title="Difficulty of items; dotted: the means")  # fmt: skip


ANALYSIS = Analysis(
    "dataset-difficulty",
    analyse,
    [option("family", help="whose items are shown (default: the one that can use most)")],
)
