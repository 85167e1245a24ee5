"""Which weight and learning rate disentangle best? The trials of a search, those that
were stopped early included.
"""

from collections.abc import Sequence
from types import SimpleNamespace

import pandas as pd

from analysis.common.published import ERROR
from analysis.common.runs import data_sets, versions
from analysis.common.search import (
    COMPLETE,
    best_trials,
    ranked,
    score_of_best,
    trials_of,
)
from analysis.common.tables import Analysis, Result
from analysis.disentanglement._scores import SCORES
from infoscope.estimators.units import NATS_PER_BIT
from sweeps.disentanglement.settings import CRITERION, DATA_FIELDS, WEIGHTS

JUDGED = f"progress/{CRITERION}"  # what the search decided by
SAME = ("version", "model", "criterion", *DATA_FIELDS, "steps", "seed")
MEASURED = ("unibound", "mig", "factor_vae", "beta_vae")
CRITERIA = {"unibound": "UniBound", "mig": "MIG", "elbo": "bound (bits an image)"}
LABELS = {
    "unibound": "UniBound, which needs the labels of the factors",
    "mig": "MIG, which needs the labels of the factors",
    "elbo": "the evidence lower bound (bits per image), which needs no labels and knows nothing of disentanglement",
}


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """The best trials, in their order."""
    newest = runs.loc[runs["start"].idxmax()]
    criterion = newest["criterion"]
    trials = trials_of(ANALYSIS.experiment, arguments.profile, newest, SAME)
    if criterion == "elbo":
        trials[JUDGED] /= NATS_PER_BIT
    by = criterion if criterion in MEASURED else JUDGED
    trials = ranked(trials, by, JUDGED)
    settings = {"weight": "weight", "learning_rate": "learning rate"}
    searched = [
        name for name in settings if name in trials and trials[name].nunique() > 1
    ] or ["learning_rate"]
    settings = {name: settings[name] for name in searched}
    measured = {name: SCORES[name] for name in MEASURED}
    data = data_sets(trials, newest["data"])
    notes = [
        f"Trials are judged during training by {LABELS[criterion]}. Scores are "
        "measured at the end by other draws; ± "
        "is the error of this measurement.",
        f"Profile {newest['profile']}: {data}; up to {newest['steps']:,} steps; "
        f"judged by {newest['judging_draws']:,} "
        f"draws, measured by {newest['draws']:,}; seed {newest['seed']}; code "
        f"{versions(trials)}.",
    ]
    title = f"{CRITERIA[criterion]} when last judged"
    finding = advice(trials, by, CRITERIA[criterion])
    return [best_trials(trials, settings, JUDGED, title, measured, finding, notes)]


def advice(trials: pd.DataFrame, by: str, name: str) -> str:
    """The weight and the learning rate to use, in a sentence; name: of the score."""
    complete = trials[(trials["outcome"] == COMPLETE) & trials[by].notna()]
    if complete.empty:
        return "No trial has a finite score at its end: nothing can be recommended."
    best = complete.iloc[0]
    weight = ""
    if best["model"] in WEIGHTS:
        weight = f"weight {best['weight']:.3g} and "
    return (
        f"Use {weight}a learning rate of {best['learning_rate']:.3g} for "
        f"{best['model']} on these data: the best of {len(trials)} trials, each of one "
        f"training ({score_of_best(trials, by, by + ERROR, name)}), so that another "
        "seed may choose others."
    )


ANALYSIS = Analysis("tune-vae", analyse)
