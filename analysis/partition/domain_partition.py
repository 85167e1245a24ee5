"""Accuracy of models trained on several domains: on classes in training domains and in
a new one, and on domains.

Where their latent blocks keep class and domain is the table partition: `make
table-partition`.
"""

import functools
import math
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.claims import Claim, negative
from analysis.common.marks import BLUE, VERMILLION, panel_by_panel
from analysis.common.published import ERROR, published, published_figures
from analysis.common.runs import data_sets, latest, ordered, profiles, versions
from analysis.common.tables import (
    Analysis,
    Result,
    plus_minus,
    plus_minus_column,
    ranged,
    summarise,
    with_error,
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
OUTSIDE = "out_of_domain_accuracy/average"
# of one study
SAME = ("data", "base", "size", "sample", "steps", "selection", "setting")
# what the published accuracies were made with, where a sweep can match it
PUBLISHED_WITH = {
    "rotated-mnist": {
        "base": "mnist",
        "size": 28,
        "sample": 0,
        "steps": 5001,
        "selection": "training-domain-validation",
    },
    "rotated-mnist-diva": {
        "base": "mnist",
        "size": 28,
        "sample": 0,
        "setting": "published",
    },
    "camelyon17": {"size": 96, "sample": 0, "setting": "published"},
}
UNLIKE = {  # what always differs
    "rotated-mnist": ("the network", "a search of settings for each model"),
    "rotated-mnist-diva": (
        "the digits set aside",
        "one set of 1,000 digits a seed instead of their ten",
    ),
    "camelyon17": ("first weights or augmentation", "the slides set aside"),
}


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """Accuracies by model and held-out domain, and how far each model is from plain
    risk minimisation.
    """
    runs, left_out = latest(runs, SAME)
    runs = ordered(runs, ["model", "held_out", "seed"], model=MODELS)
    runs = runs.assign(held_out_name=runs["held_out"].map(domain_names(runs)))
    figures = compared(runs)
    text = figures[["model", "held_out_name", "runs"]].rename(
        columns={"held_out_name": "held out", "runs": "seeds"}
    )
    for column, title in ACCURACIES.items():
        missing = MISSING.get(column, NO_NUMBER)
        text[title] = [cell_text(row, column, missing) for _, row in figures.iterrows()]
    text[f"held-out domain, minus {BASELINE}"] = plus_minus_column(
        figures, "over_baseline", "-"
    )
    notes = reference_notes(runs)
    accuracies = _published_accuracies(figures, " ".join(notes))
    text["published"] = _papers_text(figures, accuracies)
    caption = [finding(figures), *described(runs)]
    diverged = int((runs["diverged"] > 0).sum())
    if diverged:
        caption.append(
            f"Note: {diverged} trainings diverged; their figures are of the best "
            "weights before."
        )
    caption += notes
    caption += left_out
    return [
        Result(
            "accuracy",
            figures,
            text,
            caption,
            functools.partial(draw, runs),
            over_baseline(runs),
            against=accuracies,
        )
    ]


def domain_names(runs: pd.DataFrame) -> dict[int, str]:
    """The name of each held-out domain, from one of its runs; its number where no run
    has its tables, as all that were loaded from a file.
    """
    names = {}
    for run in runs.drop_duplicates("held_out").itertuples():
        try:
            accuracies = table(run.run_id, "accuracies")
        except LookupError:
            names[run.held_out] = f"domain {run.held_out}"
            continue
        is_outside = accuracies["part"] == "out_of_domain"
        name = str(accuracies.loc[is_outside, "domain"].iloc[0])
        names[run.held_out] = domain_in_words(name)
    return names


def domain_in_words(domain: str) -> str:
    """A domain in words: "75", digits turned by 75 degrees, is 75°, and "75 orange" 75°
    in orange.
    """
    return re.sub(r"^(\d+)", r"\1°", domain).replace("° ", "° in ")


def compared(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard error over seeds of every accuracy, and the paired difference
    from plain risk minimisation.
    """
    columns = []
    for name in ACCURACIES:
        columns += [
            column
            for column in (name, *(name + end for end in WORST))
            if column in runs
        ]
    figures = summarise(runs, ["data", "model", "held_out", "held_out_name"], columns)
    differences = []
    for row in figures.itertuples():
        in_domain = runs[runs["held_out"] == row.held_out]
        mean = replicated(gains(in_domain, row.model))
        ends = {"over_baseline_low": mean.low, "over_baseline_high": mean.high}
        differences.append(with_error("over_baseline", mean) | ends)
    return figures.join(pd.DataFrame(differences))


def finding(figures: pd.DataFrame) -> str:
    """The largest gain over plain risk minimisation in a held-out domain, with its 95 %
    interval over seeds.
    """
    compared = figures[figures["over_baseline"].notna()]
    if compared.empty:
        return (
            "Accuracies are shown alone: there is no run of plain risk minimisation "
            "to compare with."
        )
    best = compared.loc[compared["over_baseline"].idxmax()]
    low = best["over_baseline_low"]
    high = best["over_baseline_high"]
    gain = f"{best['over_baseline']:+.3f}"
    if math.isfinite(low):
        gain += f" (95 %: {low:+.3f} to {high:+.3f}, {best['runs']} seeds)"
    place = f"of {best['model']}, held out {best['held_out_name']}"
    if low > 0:
        return (
            f"{best['model']} is more accurate in a held-out domain than plain risk "
            "minimisation: the largest gain is "
            f"{gain}, {place}."
        )
    return (
        "No model is surely more accurate in a held-out domain than plain risk "
        "minimisation: the largest gain is "
        f"{gain}, {place}."
    )


def cell_text(row: pd.Series, column: str, missing: str) -> str:
    """An accuracy with its standard error; of the worst of several, its interval and
    items too.
    """
    text = plus_minus(
        row.get(column, math.nan), row.get(column + ERROR, math.nan), missing
    )
    low, high, items = (row.get(column + end, math.nan) for end in WORST)
    if not math.isfinite(low):
        return text
    return f"{text} [{low:.3f}, {high:.3f}] n {items:.0f}"


def gains(runs: pd.DataFrame, model: str) -> np.ndarray:
    """Accuracy on held-out domains minus plain risk minimisation's, by seed; one NaN
    without any.
    """
    by_seed = runs.pivot_table(
        "out_of_domain_accuracy/average", ["seed", "held_out"], "model"
    )
    if model != BASELINE and BASELINE in by_seed:
        difference = (by_seed[model] - by_seed[BASELINE]).dropna()
        if len(difference):
            return difference.groupby("seed").mean().to_numpy()
    return np.array([math.nan])


def over_baseline(runs: pd.DataFrame) -> list[Claim]:
    """Whether each model beats plain risk minimisation in new domains, which no
    algorithm does by much (DomainBed).
    """
    claims = []
    for model in runs["model"].unique():
        if model != BASELINE:
            statement = f"{model} gets more right in a new domain than {BASELINE}."
            difference = replicated(-gains(runs, model))
            claim = Claim(statement, "not tested", "no seed was run of both.")
            if math.isfinite(difference.value):
                claim = negative(
                    statement,
                    difference,
                    f"{BASELINE} minus {model}",
                    "of accuracy",
                    over="seeds",
                )
            claims.append(claim._replace(is_ours=True))
    return claims


def _published_accuracies(figures: pd.DataFrame, unlike: str) -> pd.DataFrame:
    """The published accuracies of our models, in shares of 1, with ours where it was
    run. unlike: in what our setting differs.
    """
    rows = []
    accuracies = published("domain_accuracies")
    for paper in accuracies[accuracies["model"].isin(MODELS)].to_dict("records"):
        held_out = domain_in_words(str(paper["held_out"]))
        place = _place(paper["data"], paper["model"], held_out)
        row = {
            "place": f"{place} ({paper['source']})",
            "quantity": "accuracy in a new domain",
            "unit": "share",
            "published": paper["accuracy_percent"] / 100,
            "published_error": paper["error_percent"] / 100,
        }
        is_same = (
            (figures["data"] == paper["data"])
            & (figures["model"] == paper["model"])
            & (figures["held_out_name"] == held_out)
        )
        for ours in figures[is_same].to_dict("records"):
            row["ours"] = ours[OUTSIDE]
            row["ours_error"] = ours[OUTSIDE + ERROR]
            row["runs"] = ours["runs"]
            row["unlike"] = unlike
        rows.append(row)
    return published_figures("accuracy in a new domain", rows)


def _place(data: str, model: str, held_out: str) -> str:
    """Data, model and held-out domain of an accuracy, in words."""
    return f"{data}, {model}, held out {held_out}"


def _papers_text(figures: pd.DataFrame, accuracies: pd.DataFrame) -> list[str]:
    """The published accuracies of each row, in words."""
    places = accuracies["place"]
    texts = plus_minus_column(accuracies, "published")
    cells = []
    for row in figures.itertuples():
        place = _place(row.data, row.model, row.held_out_name)
        same = [
            text for text, other in zip(texts, places) if other.startswith(f"{place} (")
        ]
        cells.append("; ".join(same) or "-")
    return cells


def described(runs: pd.DataFrame) -> list[str]:
    """What the columns of the table are, and data, training and code of the runs."""
    first = runs.iloc[0]
    data = data_sets(runs)
    within = runs["out_of_domain_accuracy/average_error"].mean()
    groups = ranged(runs["in_domain_accuracy/groups"])
    inside = ranged(runs["in_domain_accuracy/items"])
    outside = ranged(runs["out_of_domain_accuracy/items"])
    return [
        "Accuracy, mean ± standard error over seeds (each draws data, split, first "
        "weights and order of training); "
        "the difference from plain risk minimisation (erm) is paired within seeds. "
        "Mean over domains, each counting "
        "the same. Batches of irm have as many items of each domain, batches of erm "
        "are drawn from all. Domain: "
        "accuracy on the domain (never read: the model has no such output; for dann "
        "it is the adversary's).",
        "The worst of several is a minimum and so biased downwards; n: its items, "
        "mean over trainings. In brackets: "
        "each training has a 95 % interval for whichever is truly the worst, the "
        "least ends of intervals that hold "
        "together for all domains, or for every class in every domain (Bonferroni; "
        "Clopper-Pearson, of items in groups "
        "by Korn & Graubard 1998); shown are the means of its ends over trainings. "
        f"{NO_NUMBER.capitalize()}: a run did not record it, or a logit was not "
        "finite.",
        f"Data {data}; profile {profiles(runs)}; {first['steps']:,} steps, settings "
        f"{first['setting']}, step selected by {first['selection']}; "
        f"{groups} base items and {inside} new items inside, {outside} "
        f"outside, where one training's standard error over items is {within:.3f}; "
        f"code {versions(runs)}.",
    ]


def reference_notes(runs: pd.DataFrame) -> list[str]:
    """Differences of these runs from the published ones, or a note that there are none."""
    first = runs.iloc[0]
    data = first["data"]
    accuracies = published("domain_accuracies")
    sources = ", ".join(
        sorted(set(accuracies.loc[accuracies["data"] == data, "source"]))
    )
    if not sources:
        return [f"There are no published accuracies on {data} to compare with."]
    differing = []
    for name, value in PUBLISHED_WITH[data].items():
        if first[name] != value:
            differing.append(f"{name} ({first[name]}, published {value})")
    differing += UNLIKE[data]
    return [f"Published: {sources}; not comparable: differs in {', '.join(differing)}."]


def draw(runs: pd.DataFrame, *paths: Path) -> None:
    """Accuracy inside against outside of the training domains: every training, by
    model.
    """
    models = list(runs["model"].unique())
    colours = {"in_domain_accuracy/average": BLUE, OUTSIDE: VERMILLION}
    domains = runs["held_out_name"].unique()
    ylabel = "accuracy, 95 % interval over items"
    for axis, domain in panel_by_panel(
        paths, domains, (4, 3.4), ylabel=ylabel, ncols=2, dpi=130, sharey=True
    ):
        in_domain = runs[runs["held_out_name"] == domain]
        for place, (_, rows) in enumerate(in_domain.groupby("model", sort=False)):
            offsets = place + 0.12 * (np.arange(len(rows)) - (len(rows) - 1) / 2)
            for column, colour in colours.items():
                reach = 1.96 * rows[column + "_error"]
                name = ACCURACIES[column] if place == 0 else None
                axis.errorbar(
                    offsets,
                    rows[column],
                    reach,
                    fmt="o",
                    color=colour,
                    capsize=2,
                    markersize=3.5,
                    label=name,
                )
        axis.set_xticks(range(len(models)), labels=models, rotation=25, ha="right")
        axis.set_title(f"held out: {domain}")
        axis.grid(axis="y", alpha=0.3)


ANALYSIS = Analysis("domain-partition", analyse)
