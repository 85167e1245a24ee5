"""Which settings suit a model of data with domains? The trials of a search, those that were stopped early included."""

import functools
from collections.abc import Sequence
from types import SimpleNamespace

import pandas as pd

from analysis.common.runs import FRACTION, SHOWN, STOPPED, best_of, ranked, scatter, steps_done, trials_of
from analysis.common.tables import ERROR, Analysis, Result, text_of
from analysis.partition.domain_partition import ACCURACIES, MISSING, NO_NUMBER, WORST, cell_text
from sweeps.partition.settings import CONFIG, CRITERION

JUDGED = f"progress/{CRITERION}"  # what the search decided by
SAME = ("version", "model", "selection", "data", "base", "size", "sample", "steps", "held_out", "seed")
SHOWN_ACCURACIES = {name: title for name, title in ACCURACIES.items() if name not in MISSING}
RULES = {
    "training-domain-validation": "the accuracy on unseen items of the training domains",
    "oracle": "the accuracy in the held-out domain itself, which is no fair score of generalisation",
}


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """The best trials, in their order."""
    newest = runs.loc[runs["start"].idxmax()]
    accuracies = [name + end for name in SHOWN_ACCURACIES for end in ("", ERROR)]
    trials = trials_of(ANALYSIS.experiment, arguments.profile, newest, SAME, [JUDGED, *accuracies])
    trials = ranked(trials, JUDGED)
    searched = [name for name in trials if name.startswith(CONFIG) and trials[name].nunique() > 1]
    columns = [name + end for name in SHOWN_ACCURACIES for end in ("", ERROR, *WORST) if name + end in trials]
    figures = trials[["rank", "model", *searched, "steps", FRACTION, "outcome", JUDGED, *columns]]
    titles = {name: name.removeprefix(CONFIG) for name in searched}
    top = figures.head(SHOWN)
    missing = ["stopped" if how == STOPPED else NO_NUMBER for how in top["outcome"]]
    columns = {title: (name, "{:.2g}") for name, title in titles.items()}
    columns |= {"steps": steps_done(top), "judged": (JUDGED, "{:.3f}")}
    for name, title in SHOWN_ACCURACIES.items():
        columns[title] = [cell_text(row, name, absent) for absent, (_, row) in zip(missing, top.iterrows())]
    text = text_of(top, ["rank", "model"], columns)
    draw = functools.partial(scatter, figures, titles, JUDGED, "accuracy that judges") if searched else None
    return [Result("best", figures, text, caption(trials, searched, newest), draw)]


def caption(ranked: pd.DataFrame, searched: Sequence[str], newest: pd.Series) -> list[str]:
    """What was searched and how, and what to use."""
    data = ", ".join(sorted({tags["infoscope.data"] for tags in ranked["tags"]}))
    best = ranked.iloc[0]
    settings = ", ".join(f"{name.removeprefix(CONFIG)} {best[name]:.2g}" for name in searched)
    return [
        f"{best_of(ranked)}, judged by {RULES[newest['selection']]} ({newest['selection']}). "
        "Accuracies are means over domains; ± is over items of one training.",
        "The worst of several is a minimum and so biased downwards; n: its items; in brackets the 95 % interval for "
        "whichever is truly the worst, of all domains or of every class in every domain (`make table-domain-partition` "
        f"says how). {NO_NUMBER.capitalize()}: a run did not record it.",
        f"Best for {newest['model']}: {settings}.",
        f"The most of {len(ranked)} noisy accuracies is too good: the best trial owes its rank partly to luck. The "
        "accuracy on new items is of others than those it was judged by.",
        f"Profile {newest['profile']}: {newest['steps']:,} steps. Data {data}; seed {newest['seed']}.",
    ]


ANALYSIS = Analysis("tune-domain", analyse)
