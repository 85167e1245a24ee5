"""Accuracy of models trained on several domains: on classes in training domains and in a new one, and on domains.

Where their latent blocks keep class and domain is the table partition: `make table-partition`.
"""

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.marks import BLUE, VERMILLION, panel_by_panel
from analysis.common.runs import latest, ordered, profiles, versions
from analysis.common.tables import (
    ERROR,
    Analysis,
    Claim,
    Result,
    difference_claim,
    plus_minus,
    published,
    ranged,
    summarise,
)
from infoscope.metrics import replicated
from infoscope.tracking import table
from sweeps.partition.settings import MODELS

ACCURACIES = {
    "in_domain_accuracy/average": "new items, training domains",
    "in_domain_accuracy/worst": "worst training domain",
    "in_domain_accuracy/worst_slice": "worst class in a training domain",
    "out_of_domain_accuracy/average": "held-out domain",
    "out_of_domain_accuracy/worst_slice": "worst class in the held-out domain",
    "in_domain_accuracy/domain_average": "domain, training domains",
}
NO_NUMBER = "no number"
MISSING = {"in_domain_accuracy/domain_average": "never read"}
WORST = ("_low", "_high", "_items")  # interval and items of the worst of several
BASELINE = "erm"
SAME = ("data", "base", "size", "sample", "steps", "selection", "setting")  # of one study
# what the published accuracies were made with, where a sweep can match it
PUBLISHED_WITH = {
    "rotated-mnist": {"base": "mnist", "size": 28, "sample": 0, "selection": "training-domain-validation"},
    "rotated-mnist-diva": {"base": "mnist", "size": 28, "sample": 0, "setting": "published"},
    "camelyon17": {"size": 96, "sample": 0, "setting": "published"},
}
UNLIKE = {  # what always differs
    "rotated-mnist": ("the network", "a search of settings for each model"),
    "rotated-mnist-diva": ("the digits set aside", "one set of 1,000 digits a seed instead of their ten"),
    "camelyon17": ("first weights or augmentation", "the slides set aside"),
}


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """Accuracies by model and held-out domain, and how far each model is from plain risk minimisation."""
    runs, left_out = latest(runs, SAME)
    runs = ordered(runs, ["model", "held_out", "seed"], model=MODELS)
    diverged = runs["diverged"] > 0
    words = [f"Note: {int(diverged.sum())} trainings diverged; their figures are of the best weights before."] if (
        diverged.any()
    ) else []  # fmt: skip
    runs = runs.assign(held_out_name=runs["held_out"].map(domain_names(runs)))
    figures = compared(runs)
    text = figures[["model", "held_out_name", "runs"]].rename(columns={"held_out_name": "held out", "runs": "seeds"})
    for column, title in ACCURACIES.items():
        text[title] = [cell_text(row, column, MISSING.get(column, NO_NUMBER)) for _, row in figures.iterrows()]
    over = zip(figures["over_baseline"], figures["over_baseline_error"])
    text[f"held-out domain, minus {BASELINE}"] = [plus_minus(*pair, "-") for pair in over]
    text["published"] = beside(figures)
    caption = [finding(figures), *described(runs), *words, *reference_notes(runs), *left_out]
    return [Result("accuracy", figures, text, caption, functools.partial(draw, runs), against(runs))]


def domain_names(runs: pd.DataFrame) -> dict[int, str]:
    """The name of each held-out domain, from one of its runs."""
    names = {}
    for row in runs.drop_duplicates("held_out").itertuples():
        told = table(row.run_id, "accuracies")
        names[row.held_out] = str(told.loc[told["part"] == "out_of_domain", "domain"].iloc[0])
    return names


def compared(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard error over seeds of every accuracy, and the paired difference from plain risk minimisation."""
    columns = [name for one in ACCURACIES for name in (one, *(one + end for end in WORST)) if name in runs]
    figures = summarise(runs, ["data", "model", "held_out", "held_out_name"], columns)
    over = [replicated(gains(runs[runs["held_out"] == row.held_out], row.model)) for row in figures.itertuples()]
    return figures.assign(
        over_baseline=[one.value for one in over],
        over_baseline_error=[one.standard_error for one in over],
        over_baseline_low=[one.low for one in over],
        over_baseline_high=[one.high for one in over],
    )


def finding(figures: pd.DataFrame) -> str:
    """The largest gain over plain risk minimisation in a held-out domain, with its 95 % interval over seeds."""
    compared = figures[figures["over_baseline"].notna()]
    if compared.empty:
        return "Accuracies are shown alone: there is no run of plain risk minimisation to compare with."
    best = compared.loc[compared["over_baseline"].idxmax()]
    sure = "" if math.isnan(best["over_baseline_low"]) else (
        f" (95 %: {best['over_baseline_low']:+.3f} to {best['over_baseline_high']:+.3f}, {best['runs']} seeds)"
    )  # fmt: skip
    return (
        f"The largest gain in accuracy over plain risk minimisation in a held-out domain is "
        f"{best['over_baseline']:+.3f}{sure}, of {best['model']}, held out {best['held_out_name']}."
    )


def cell_text(row: pd.Series, column: str, missing: str = NO_NUMBER) -> str:
    """An accuracy with its standard error; of the worst of several, its interval and items too."""
    text = plus_minus(row.get(column, math.nan), row.get(column + ERROR, math.nan), missing)
    low, high, items = (row.get(column + end, math.nan) for end in WORST)
    return f"{text} [{low:.3f}, {high:.3f}] n {items:.0f}" if math.isfinite(low) else text


def gains(runs: pd.DataFrame, model: str) -> np.ndarray:
    """Accuracy on held-out domains less that of plain risk minimisation, by seed; one NaN without any."""
    by_seed = runs.pivot_table("out_of_domain_accuracy/average", ["seed", "held_out"], "model")
    if model == BASELINE or BASELINE not in by_seed:
        return np.array([math.nan])
    difference = (by_seed[model] - by_seed[BASELINE]).dropna().groupby("seed").mean()
    return difference.to_numpy() if len(difference) else np.array([math.nan])


def against(runs: pd.DataFrame) -> list[Claim]:
    """Whether each model beats plain risk minimisation in new domains, which no algorithm does by much (DomainBed)."""
    claims = []
    for model in runs["model"].unique():
        if model != BASELINE:
            statement = f"{model} gets more right in a new domain than {BASELINE}."
            difference = replicated(-gains(runs, model))
            claims.append(difference_claim(statement, difference, f"{BASELINE} minus {model}", "of accuracy"))
    return claims


def beside(figures: pd.DataFrame) -> list[str]:
    """The published accuracy of each row in shares of 1, where there is one for its data, model and domain."""
    known = published("domain_accuracies")
    cells = []
    for row in figures.itertuples():
        there = known[(known["data"] == row.data) & (known["model"] == row.model)
                      & (known["held_out"].astype(str) == row.held_out_name)]  # fmt: skip
        cells.append("; ".join(plus_minus(one.accuracy_percent / 100, one.error_percent / 100) for one in
                               there.itertuples()) or "-")  # fmt: skip
    return cells


def described(runs: pd.DataFrame) -> list[str]:
    first = runs.iloc[0]
    data = ", ".join(sorted({tags["infoscope.data"] for tags in runs["tags"]}))
    within = runs["out_of_domain_accuracy/average_error"].mean()
    return [
        "Accuracy, mean ± standard error over seeds (each draws data, split, first weights and order of training); the "
        "difference from plain risk minimisation (erm) is paired within seeds. Mean over domains, each counting the "
        "same. Batches of irm have as many items of each domain, those of erm are drawn from all. Domain: accuracy on "
        "the domain (never read: the model has no such output; for dann it is the adversary's).",
        "The worst of several is a minimum and so biased downwards; n: its items, mean over trainings. In brackets: "
        "each training has a 95 % interval for whichever is truly the worst, the least ends of intervals that hold "
        "together for all domains, or for every class in every domain (Bonferroni; Clopper-Pearson, of items in groups "
        "by Korn & Graubard 1998); shown are the means of its ends over trainings. "
        f"{NO_NUMBER.capitalize()}: a run did not record it, or a logit was not finite.",
        f"Data {data}; profile {profiles(runs)}; {first['steps']:,} steps, settings "
        f"{first['setting']}, step selected by {first['selection']}; "
        f"{ranged(runs['in_domain_accuracy/groups'])} base items and "
        f"{ranged(runs['in_domain_accuracy/items'])} new items inside, {ranged(runs['out_of_domain_accuracy/items'])} "
        f"outside, where one training's standard error over items is {within:.3f}; code {versions(runs)}.",
    ]


def reference_notes(runs: pd.DataFrame) -> list[str]:
    """In what these runs differ from those of the published figures; or that there are none."""
    data = runs["data"].iloc[0]
    known = published("domain_accuracies")
    sources = ", ".join(sorted(set(known.loc[known["data"] == data, "source"])))
    if not sources:
        return [f"There are no published accuracies on {data} to compare with."]
    first = runs.iloc[0]
    apart = [f"{name} ({first[name]}, published {value})" for name, value in PUBLISHED_WITH[data].items()
             if first[name] != value]  # fmt: skip
    return [f"Published: {sources}; not comparable: differs in {', '.join([*apart, *UNLIKE[data]])}."]


def draw(runs: pd.DataFrame, *paths: Path) -> None:
    """Accuracy inside against outside of the training domains: every training, by model."""
    models = list(dict.fromkeys(runs["model"]))
    columns = {
        "in_domain_accuracy/average": ("new items, training domains", BLUE),
        "out_of_domain_accuracy/average": ("held-out domain", VERMILLION),
    }
    groups, how = dict.fromkeys(runs["held_out_name"]), {"legend_at": "outside lower center", "ncols": 2, "dpi": 130}
    ylabel = "accuracy, 95 % interval over items"
    for axis, domain in panel_by_panel(paths, groups, (4.6, 3.8), (1.5, 0), ylabel=ylabel, **how):
        for place, (_, rows) in enumerate(runs[runs["held_out_name"] == domain].groupby("model", sort=False)):
            offsets = place + 0.12 * (np.arange(len(rows)) - (len(rows) - 1) / 2)
            for column, (label, colour) in columns.items():
                axis.errorbar(offsets, rows[column], 1.96 * rows[column + "_error"], fmt="o", color=colour, capsize=2,
                              markersize=3.5, label=label if place == 0 else None)  # fmt: skip
        axis.set_xticks(range(len(models)), labels=models, rotation=25, ha="right")
        axis.set_title(f"held out: {domain}")
        axis.grid(axis="y", alpha=0.3)


ANALYSIS = Analysis("domain-partition", analyse)
