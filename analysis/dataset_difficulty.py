"""How difficult is a data set, which of its items, and why? V-information and PVI (bits) by data, input and family.

Reads the runs of the sweep dataset-difficulty from MLflow. Published figures are of BERT-base, fine-tuned on the whole
training sets (Ethayarajh et al. 2022); whether ours compare with them is said with every table.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde

from analysis import difficulty_items, difficulty_studies
from analysis.difficulty_runs import (
    NAMES,
    Figure,
    described,
    drawn_in,
    less_than,
    newest,
    of_study,
    over_seeds,
    paired,
    shown_family,
    shown_items,
)
from analysis.report import Analysis, Claim, Result, main, plus_minus, published

GROUP = ["data", "transformation", "family", "estimator"]
PAPERS = {"snli": ("snli", "test"), "mnli": ("multinli", "validation_matched"), "cola": ("cola", "id_dev")}
PAPERS["mnli-dev"] = PAPERS["mnli"]
BERT = "bert-base-cased"
EPOCHS = 2  # of the published fine-tuning, where there are several
INPUTS = {
    "std": "all",
    "shuffled": "shuffled",
    "hypothesis": "hypothesis only",
    "premise": "premise only",
    "raw_overlap": "shared tokens",
    "overlap": "overlap level",
    "length": "length",
    "null": "nothing",
}
HARDER = (("snli", "mnli"), ("snli", "mnli-dev"), ("mnli", "cola"), ("mnli-dev", "cola"))  # the first is the easier


def analyse(runs: pd.DataFrame, arguments: argparse.Namespace) -> Sequence[Result]:
    """All tables and figures of the studies that were run."""
    runs, left_out = newest(runs)
    words = [described(runs), *left_out]
    results = []
    if len(of_study(runs, "difficulty")):
        results.append(information(runs, arguments.family, words))
        family = shown_family(runs, arguments.family)
        results += difficulty_items.results(shown_items(runs, family), family, words)
        results += difficulty_studies.explained(runs, family, words)
    results += difficulty_studies.epochs(of_study(runs, "epochs"), words)
    results += difficulty_studies.mislabelled(of_study(runs, "mislabelled"), words)
    return results


def information(runs: pd.DataFrame, asked: str | None, words: list[str]) -> Result:
    """V-information by data, input and family beside the published; with figure 1 of the paper."""
    measured = of_study(runs, "difficulty")
    figures = pd.DataFrame([row_of(dict(zip(GROUP, group)), of) for group, of in measured.groupby(GROUP, sort=False)])
    order = {name: place for place, name in enumerate(NAMES)}
    figures = figures.sort_values("data", key=lambda names: names.map(order), kind="stable")
    text = pd.DataFrame(
        {
            "data": figures["data"].map(NAMES),
            "input": figures["transformation"].map(INPUTS),
            "family": figures["family"],
            "estimator": figures["estimator"],
            "V-information": pairs(figures, "v_information_bits"),
            "Shannon": figures["shannon_bits"].map(lambda bits: f"{bits:.3f}" if math.isfinite(bits) else "unknown"),
            "H(Y)": pairs(figures, "H_yb"),
            "accuracy": pairs(figures, "accuracy"),
            "calibration error": figures["expected_calibration_error"].map("{:.3f}".format),
            "items": figures["n"].map("{:,}".format),
            "fitted to": figures["training_items"].map("{:,}".format),
            "BERT-base": [plus_minus(*pair, "-") for pair in zip(figures["paper_bits"], figures["paper_bits_error"])],
        }
    )
    caption = [
        "Bits. ± is a standard error over items, robust to those that share a premise; where there are several "
        "trainings it includes their scatter. With one training, what another one would give is not in it. Nothing is "
        "clipped: below 0 a family predicts unseen items worse than the class frequencies do.",
        "Shannon: the mutual information of the input and the class, known of generated data only.",
        comparability(measured),
        *floored(figures),
        *words,
    ]
    family = shown_family(runs, asked)
    draw = functools.partial(difficulty_densities, shown_items(runs, family), family)
    return Result("information", figures, text, "\n".join(caption), draw, list(claims(measured, figures)))


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


def pairs(figures: pd.DataFrame, name: str) -> list[str]:
    """A column with its errors, as text."""
    return [plus_minus(*pair) for pair in zip(figures[name], figures[f"{name}_error"])]


def comparability(runs: pd.DataFrame) -> str:
    """What must be the same for the levels to compare with BERT-base's, and is not."""
    beside = runs[runs["data"].isin(PAPERS) & (runs["estimator"] == "held-out")]
    if beside.empty:
        return "None of these data sets is in the paper: nothing to compare with."
    differs = []
    if set(beside["family"]) != {f"hub:{BERT}"}:
        differs.append(f"the family (BERT-base is {BERT}, pretrained)")
    if (beside["items"] > 0).any() or beside["tags"].map(lambda tags: "20k" in tags.get("infoscope.data", "")).any():
        differs.append("the size of the training set (SNLI's has 549,367 pairs)")
    if "mnli-dev" in set(beside["data"]):
        differs.append("MultiNLI's training set (392,702 pairs): ours is a part of its matched development set")
    epochs = set(beside["epochs"].dropna())
    if epochs - {EPOCHS}:
        differs.append(f"epochs ({', '.join(f'{count:g}' for count in sorted(epochs))} for {EPOCHS})")
    if not differs:
        return "BERT-base: the published setting."
    return f"BERT-base (published) is not comparable in level: {'; '.join(differs)} differ. Orders may be compared."


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


def difficulty_densities(tables: dict[str, pd.DataFrame], family: str, path: Path) -> None:
    """Figure 1: the density of PVI in every data set, dotted means."""

    def draw(axes: np.ndarray) -> None:
        axis = axes[0][0]
        for name, table in tables.items():
            bits = table["pvi_bits"].to_numpy()
            low, high = bits.min() - 0.5, bits.max() + 0.5
            grid = np.linspace(low, high, 400)
            (line,) = axis.plot(grid, gaussian_kde(bits)(grid), label=f"{NAMES[name]} ({len(bits):,})")
            axis.axvline(bits.mean(), linestyle=":", color=line.get_color())
        axis.set(xlabel=f"PVI (bits), {family}", ylabel="density", title="Difficulty of items; dotted: the means")
        axis.legend(fontsize="small")

    drawn_in(1, 1, 6.5, 4.0, draw, path)


ANALYSIS = Analysis(
    "dataset-difficulty",
    analyse,
    {"family": {"default": None, "help": "whose items are shown (default: the one that can use most)"}},
)

if __name__ == "__main__":
    main(ANALYSIS)
