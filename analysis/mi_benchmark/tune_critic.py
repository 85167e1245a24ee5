"""Which estimator, critic and training suit these data?"""

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.runs import provenance
from analysis.common.search import COMPLETE, Z95, best_trials, ranked, trials_of
from analysis.common.tables import Analysis, Result, plus_minus
from analysis.mi_benchmark._benchmark import figures_at
from analysis.mi_benchmark._captions import cautions
from analysis.mi_benchmark._terms import REASONABLE
from infoscope.metrics.report import listed
from sweeps.mi_benchmark.settings import RECENT, SEARCHED

JUDGED = f"progress/{RECENT}"  # the criterion of the search
SAME = ("version", "domain", "pool", "schedule_bits")
TITLES = {name: name.replace("_", " ") for name in SEARCHED} | {"bound": "estimator"}
MEASURED = {
    "second_half_mse_bits2": "MSE, 2nd half (bits²)",
    "oracle_critic_mse_bits2": "oracle critic",
    "unseen_bias_bits": "|truth - unseen| (bits)",
}


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """The trials with the least error in the second half, scored again on unseen pairs,
    and the estimator to use.
    """
    newest = runs.loc[runs["start"].idxmax()]
    bits = newest["schedule_bits"][0]
    trials = figures_at(
        trials_of(ANALYSIS.experiment, arguments.profile, newest, SAME), bits
    )
    trials = trials.assign(
        true_bits=bits,
        unseen_bias_bits=(bits - trials["held_out_large_batch_bits"]).abs(),
        unseen_bias_bits_error=trials["held_out_large_batch_bits_error"],
    )
    trials = ranked(trials, "second_half_mse_bits2", ascending=True)
    notes = [
        f"At a true MI of {bits:g} bits. One run of one seed each: ± is its standard "
        "error over steps, and over "
        "batches of unseen pairs. The error on unseen pairs (batch 512) is held out "
        "of the choice of trials. A larger "
        "batch has less noise by itself: see the oracle critic at each trial's batch.",
        f"{provenance(trials)} Up to {newest['steps']:,} steps, {newest['critic']} "
        f"critic, {newest['sources']} "
        f"sources. Data {newest['pool']}; seed {newest['seed']}.",
        *cautions(trials.fillna({"nonfinite_steps": 0})),
    ]
    return [
        best_trials(
            trials,
            TITLES,
            JUDGED,
            "MSE when last judged (bits²)",
            MEASURED,
            answer(trials),
            notes,
            yscale="log",
        )
    ]


def answer(trials: pd.DataFrame) -> str:
    """The estimator to use, in a sentence, and how the others compare."""
    is_finite = np.isfinite(trials["second_half_mse_bits2"].astype(float))
    complete = trials[(trials["outcome"] == COMPLETE) & is_finite]
    if complete.empty:
        return "No trial has a finite error at its end: nothing can be recommended."
    best = complete.iloc[0]
    depth, width, batch = int(best["depth"]), int(best["width"]), int(best["batch"])
    place = f"{best['domain']} ({best['pool']}) at {best['true_bits']:g} bits"
    unseen = plus_minus(
        best["held_out_large_batch_bits"], best["held_out_large_batch_bits_error"]
    )
    others = comparison(complete)
    unjudged = set(trials["bound"]) - set(complete["bound"])
    if unjudged:
        others += f"; {len(unjudged)} estimators were stopped early, not judged"
    if not best["unseen_bias_bits"] <= REASONABLE * best["true_bits"]:
        others += f". The estimate is not within {REASONABLE:.0%} of the truth: train longer or with a wider critic"
    return (
        f"For data like {place}, use {best['bound']} with a learning rate of "
        f"{best['learning_rate']:.3g}, a critic of "
        f"depth {depth} and width {width}, and batches of {batch}. Its estimate on "
        f"unseen pairs is {unseen} bits (one run). {others}."
    )


def comparison(complete: pd.DataFrame) -> str:
    """How the error on unseen pairs of each other estimator's best trial compares with
    the best of all, in words, with 95 % intervals over batches.
    """
    best, *others = complete.drop_duplicates("bound").to_dict("records")
    parts = []
    for other in others:
        change = other["unseen_bias_bits"] - best["unseen_bias_bits"]
        margin = Z95 * np.hypot(
            other["unseen_bias_bits_error"], best["unseen_bias_bits_error"]
        )
        parts.append(
            f"{change:+.3f} bits (95 %: {change - margin:+.3f} to "
            f"{change + margin:+.3f}) for {other['bound']}"
        )
    if not parts:
        return "No other estimator was trained to the end"
    return f"Against it, the error on unseen pairs is {listed(parts)}"


ANALYSIS = Analysis("tune-critic", analyse)
