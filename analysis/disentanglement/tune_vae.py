"""Which weight and learning rate disentangle best? The trials of a search, those that were stopped early included."""

import functools
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.runs import (
    COMPLETE,
    FRACTION,
    SHOWN,
    STOPPED,
    best_of,
    ranked,
    scatter,
    steps_done,
    trials_of,
    versions,
)
from analysis.common.tables import ERROR, Analysis, Result, plus_minus_column, text_of
from analysis.disentanglement._scores import SCORES
from infoscope.estimators.units import NATS_PER_BIT
from sweeps.disentanglement.settings import CRITERION, DATA_FIELDS, WEIGHTS

JUDGED = f"progress/{CRITERION}"  # what the search decided by
SAME = ("version", "model", "criterion", *DATA_FIELDS, "steps", "seed")
MEASURED = ("unibound", "mig", "factor_vae", "beta_vae")
LABELS = {
    "unibound": "UniBound, which needs the labels of the factors",
    "mig": "MIG, which needs the labels of the factors",
    "elbo": "the evidence lower bound (bits per image), which needs no labels and knows nothing of disentanglement",
}


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """The best trials, in their order."""
    newest = runs.loc[runs["start"].idxmax()]
    errors = [score + ERROR for score in MEASURED]
    wanted = [JUDGED, *MEASURED, *errors, "diverged", "train/reconstruction", "weight"]
    trials = trials_of(ANALYSIS.experiment, arguments.profile, newest, SAME, wanted)
    by = newest["criterion"] if newest["criterion"] in MEASURED else JUDGED
    columns = ["rank", "model", "weight", "learning_rate", "steps", FRACTION, "outcome", "diverged", JUDGED, *MEASURED]
    figures = ranked(trials, by, JUDGED)[[*columns, *errors, "train/reconstruction"]]
    figures["train/reconstruction"] /= NATS_PER_BIT
    if newest["criterion"] == "elbo":
        figures[JUDGED] /= NATS_PER_BIT
    searched = [name for name in ("weight", "learning_rate") if figures[name].nunique() > 1] or ["learning_rate"]
    titles = {name: name.replace("_", " ") for name in searched}
    top = figures.head(SHOWN)
    stopped = (top["outcome"] == STOPPED).to_numpy()
    columns = {
        "weight": ("weight", "{:.3g}"),
        "learning_rate": ("learning_rate", "{:.2g}"),
        "steps": steps_done(top),
        "judged": (JUDGED, "{:.3f}"),
        **{SCORES[score]: np.where(stopped, "stopped", plus_minus_column(top, score)) for score in MEASURED},
        "reconstruction (bits)": ("train/reconstruction", "{:.1f}"),
    }
    text = text_of(top, ["rank", "model"], columns)
    draw = functools.partial(scatter, figures, titles, JUDGED, f"{newest['criterion']} at the last judgement")
    return [Result("best", figures, text, caption(figures, newest, trials, by), draw, title="The best trials")]


def caption(figures: pd.DataFrame, newest: pd.Series, trials: pd.DataFrame, by: str) -> list[str]:
    """What was searched and how, and what to use."""
    data = ", ".join(sorted({tags.get("infoscope.data", newest["data"]) for tags in trials["tags"]}))
    lines = [
        f"{best_of(figures)}, by {LABELS[newest['criterion']]}. Judged: the criterion at the last "
        "judgement, while training. The rest: at the end, by other draws; ± is the error of that measurement."
    ]
    ended = figures[(figures["outcome"] == COMPLETE) & figures[by].notna()]
    if len(ended):
        best = ended.iloc[0]
        weight = f"{WEIGHTS[best['model']]} {best['weight']:.3g} and " if best["model"] in WEIGHTS else ""
        lines.insert(
            0,
            f"Use {weight}a learning rate of {best['learning_rate']:.2g} for {best['model']} on these data. It is the "
            "best of many single trainings, and in part lucky: train it again with other seeds (sweep vae-zoo).",
        )
    if (figures["diverged"] == 1).any():
        lines.append(f"{int((figures['diverged'] == 1).sum())} trials diverged.")
    lines.append(
        f"Profile {newest['profile']}: {data}; up to {newest['steps']:,} steps; judged by {newest['judging_draws']:,} "
        f"draws, measured by {newest['draws']:,}; seed {newest['seed']}; code {versions(trials)}."
    )
    return lines


ANALYSIS = Analysis("tune-vae", analyse)
