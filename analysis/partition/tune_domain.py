"""Which settings suit a model of data with domains? The trials of a search, those that were stopped early included.

Reads the runs of the search tune-domain from MLflow. Every trial is one training of one seed: ± is over items, not over
trainings.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from types import SimpleNamespace

import pandas as pd

from analysis.common.searches import FRACTION, SHOWN, STOPPED, best_of, scatter, steps_done, trials_of
from analysis.common.tables import ERROR, Analysis, Result
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
    trials = trials_of(ANALYSIS.experiment, arguments.profile, newest, SAME)
    told = [name + end for name in SHOWN_ACCURACIES for end in ("", ERROR, *WORST)]
    told = [name for name in told if name in trials or not name.endswith(WORST)]
    wanted = [JUDGED, FRACTION, *told]
    trials = trials.assign(**{name: math.nan for name in wanted if name not in trials})
    trials = trials.assign(stopped=trials["outcome"] == STOPPED)
    ranked = trials.sort_values(["stopped", JUDGED], ascending=[True, False], kind="stable", ignore_index=True)
    ranked = ranked.assign(rank=range(1, len(ranked) + 1))
    searched = [name for name in ranked if name.startswith(CONFIG) and ranked[name].nunique() > 1]
    figures = ranked[["rank", "model", *searched, "steps", FRACTION, "outcome", JUDGED, *told]]
    words = "\n".join(caption(ranked, searched, newest))
    titles = {name: name.removeprefix(CONFIG) for name in searched}
    draw = functools.partial(scatter, figures, titles, JUDGED, "accuracy that judges") if searched else None
    return [Result("best", figures, text(figures, searched), words, draw)]


def text(figures: pd.DataFrame, searched: Sequence[str]) -> pd.DataFrame:
    """The first ten rows, to read."""
    top = figures.head(SHOWN)
    shown = top[["rank", "model"]].copy()
    for name in searched:
        shown[name.removeprefix(CONFIG)] = top[name].astype(float).map("{:.2g}".format)
    shown["steps"] = steps_done(top)
    shown["judged"] = top[JUDGED].map("{:.3f}".format)
    for name, title in SHOWN_ACCURACIES.items():
        shown[title] = [cell_text(row, name, "stopped" if row["outcome"] == STOPPED else NO_NUMBER)
                        for _, row in top.iterrows()]  # fmt: skip
    return shown


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
