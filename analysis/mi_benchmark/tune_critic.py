"""Which estimator, critic and training suit these data?"""

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import optuna
import pandas as pd
from scipy import stats

from analysis.common.runs import COMPLETE, FRACTION, SHOWN, best_of, provenance, ranked, scatter, steps_done, trials_of
from analysis.common.tables import Analysis, Claim, Result, plus_minus, plus_minus_column, text_of
from analysis.mi_benchmark._benchmark import figures_at
from analysis.mi_benchmark._captions import cautions
from analysis.mi_benchmark._terms import REASONABLE
from sweeps.mi_benchmark.settings import RECENT, SEARCHED

JUDGED = f"progress/{RECENT}"  # the criterion of the search
SAME = ("version", "domain", "pool", "schedule_bits")
SIGNIFICANT = 2.0  # standard errors of a difference, above which two trials differ
MIN_TRIALS = 8  # for the importance of a setting


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """The best trials with the estimator to use, and the importance of each setting."""
    newest = runs.loc[runs["start"].idxmax()]
    trials = trials_of(ANALYSIS.experiment, arguments.profile, newest, SAME, [JUDGED])
    bits = newest["schedule_bits"][0]
    trials = figures_at(trials, bits).assign(true_bits=bits).reset_index(drop=True)
    notes = [
        f"{provenance(trials)} Up to {newest['steps']:,} steps, {newest['critic']} critic, {newest['sources']} "
        f"sources. Data {newest['pool']}; seed {newest['seed']}.",
        *cautions(trials.fillna({"nonfinite_steps": 0})),
    ]
    return [best_trials(trials, notes), importance(trials, notes)]


def best_trials(trials: pd.DataFrame, notes: list[str]) -> Result:
    """The ten trials with the least error in the second half, scored again on unseen pairs."""
    trials = trials.assign(
        unseen_bias_bits=(trials["true_bits"] - trials["held_out_large_batch_bits"]).abs(),
        unseen_bias_bits_error=trials["held_out_large_batch_bits_error"],
    )
    trials = ranked(trials, "second_half_mse_bits2", ascending=True)
    columns = [
        "second_half_mse_bits2", "second_half_mse_bits2_error", "second_half_mean_bits", "held_out_large_batch_bits",
        "unseen_bias_bits", "unseen_bias_bits_error", "oracle_critic_mse_bits2", "oracle_critic_mse_bits2_error",
    ]  # fmt: skip
    figures = trials[["rank", *SEARCHED, "steps", FRACTION, "outcome", "seed", *columns, JUDGED]]
    top = figures.head(SHOWN)
    columns = {
        "learning_rate": ("learning_rate", "{:.2g}"),
        "steps": steps_done(top),
        "MSE, 2nd half (bits²)": plus_minus_column(top, "second_half_mse_bits2", "stopped or diverged"),
        "oracle critic": "oracle_critic_mse_bits2",
        "|truth - unseen| (bits)": "unseen_bias_bits",
    }
    text = text_of(top.astype({"batch": int, "width": int}), ["rank", *SEARCHED], columns, "-")
    text = text.rename(columns={"bound": "estimator"})
    caption = [
        answer(trials),
        f"{best_of(figures)} at a true MI of {trials['true_bits'].iloc[0]:g} bits. One run of one "
        "seed each: ± is its standard error over steps, and over batches of unseen pairs.",
        f"The least of {len(figures)} noisy errors is biased downwards. The error on unseen pairs (batch 512), by "
        "which no trial was chosen, is not. A larger batch has less noise by itself: see the oracle critic at each "
        "trial's batch.",
        *notes,
    ]
    return Result("best", figures, text, caption, functools.partial(draw, trials), [best_estimator_claim(trials)])


def answer(trials: pd.DataFrame) -> str:
    """The estimator to use, in a sentence, and those that are not significantly worse."""
    complete = _finite(trials)
    if complete.empty:
        return "No trial has a finite error at its end: nothing can be recommended."
    best, rivals = complete.iloc[0], _rivals(complete)
    depth, width, batch = int(best["depth"]), int(best["width"]), int(best["batch"])
    place = f"{best['domain']} ({best['pool']}) at {best['true_bits']:g} bits"
    unseen = plus_minus(best["held_out_large_batch_bits"], best["held_out_large_batch_bits_error"])
    others = "Every other estimator is significantly worse, by the errors within these runs of one seed"
    if rivals:
        others = f"Not significantly worse: {', '.join(rivals)}"
    if not best["unseen_bias_bits"] <= REASONABLE * best["true_bits"]:
        others += f". The estimate is not within {REASONABLE:.0%} of the truth: train longer or with a wider critic"
    return (
        f"For data like {place}, use {best['bound']} with a learning rate of {best['learning_rate']:.2g}, a critic of "
        f"depth {depth} and width {width}, and batches of {batch}. Its estimate on unseen pairs is {unseen} bits. "
        f"{others}."
    )


def _finite(trials: pd.DataFrame) -> pd.DataFrame:
    return trials[(trials["outcome"] == COMPLETE) & np.isfinite(trials["second_half_mse_bits2"].astype(float))]


def _rivals(complete: pd.DataFrame) -> list[str]:
    """The estimators whose best trial is not significantly worse than the best of all."""
    best = complete.iloc[0]
    firsts = complete.drop_duplicates("bound").iloc[1:]
    errors = np.hypot(firsts["second_half_mse_bits2_error"], best["second_half_mse_bits2_error"])
    worse = (firsts["second_half_mse_bits2"] - best["second_half_mse_bits2"]) > SIGNIFICANT * errors
    return list(firsts.loc[~worse, "bound"])


def best_estimator_claim(trials: pd.DataFrame) -> Claim:
    """Which estimators are worse than the best by more than the errors within runs; scatter over seeds is excluded."""
    statement = "One estimator is the most accurate for these data."
    complete = _finite(trials)
    tried = list(dict.fromkeys(complete["bound"]))
    if len(tried) < 2:
        return Claim(statement, "undecided", "fewer than two estimators have a trial with a finite error at its end.")
    best, rivals = complete.iloc[0], _rivals(complete)
    firsts = complete.drop_duplicates("bound")
    errors = "; ".join(
        f"{bound} {error}" for bound, error in zip(firsts["bound"], plus_minus_column(firsts, "second_half_mse_bits2"))
    )
    found = f"{', '.join(rivals)}: not significantly worse than {best['bound']}"
    if not rivals:
        found = f"{best['bound']} is {SIGNIFICANT:g} standard errors below all others"
    within = "errors are those within one run each; the scatter over seeds is unknown"
    return Claim(statement, "undecided", f"least MSE (bits²) of each: {errors}; {found}; {within}.")


def importance(trials: pd.DataFrame, notes: list[str]) -> Result:
    """The importance of each setting for the criterion of the search, over all trials."""
    value = np.log10(trials[JUDGED].fillna(trials["second_half_mse_bits2"]).astype(float))
    known = trials.assign(log_error=value)[np.isfinite(value)]
    varied = [name for name in SEARCHED if known[name].nunique() > 1]
    shares = fanova(known, varied) if len(known) >= MIN_TRIALS and varied else {}
    rows = []
    for name in varied:
        ordered = name != "bound" and len(known) > 2
        rho = stats.spearmanr(known[name].astype(float), known["log_error"]) if ordered else (math.nan, math.nan)
        rows.append((name, len(known), shares.get(name, math.nan), *rho))
    figures = pd.DataFrame(rows, columns=["setting", "trials", "importance", "spearman", "p"])
    figures = figures.sort_values("importance", ascending=False, kind="stable", ignore_index=True)
    pairs = zip(figures["spearman"], figures["p"])
    correlation = ["-" if math.isnan(rho) else f"{rho:+.2f} (p = {p:.2g})" for rho, p in pairs]
    columns = {"importance": ("importance", "{:.0%}", "too few trials"), "Spearman": correlation}
    text = text_of(figures, ["setting", "trials"], columns)
    first = figures.iloc[0] if len(figures) else None
    caption = [
        "No setting was varied."
        if first is None
        else f"{first['setting']} explains most of the error: "
        f"{first['importance']:.0%} of its variance over {first['trials']} trials, which are not independent, so that "
        "there is no standard error.",
        "Importance: the share of the variance of log10(error) over the trials that a setting explains alone (fANOVA, "
        f"Hutter et al. 2014, by Optuna), from {MIN_TRIALS} trials on. Correlation: Spearman's, of setting and error, "
        "negative where more is better. The error is the criterion of the search at the trial's last report; that of "
        "a trial stopped early is of an unfinished critic. The search tries good settings more often. "
        f"{len(trials) - len(known)} of {len(trials)} trials without a finite error are left out.",
        *notes,
    ]
    return Result("importance", figures, text, caption)


def fanova(trials: pd.DataFrame, names: Sequence[str]) -> dict[str, float]:
    """The importance of each setting, by Optuna's fANOVA."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = {}
    for name in names:
        values = trials[name].tolist()
        numeric = name in ("learning_rate", "width", "depth")
        space[name] = (
            optuna.distributions.FloatDistribution(min(values), max(values), log=name != "depth")
            if numeric
            else optuna.distributions.CategoricalDistribution(sorted(set(values)))
        )
    study = optuna.create_study()
    for row in trials.to_dict("records"):
        params = {name: row[name] for name in names}
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=row["log_error"]))
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    return optuna.importance.get_param_importances(study, evaluator=evaluator)


def draw(trials: pd.DataFrame, *paths: Path) -> None:
    """The error of every trial by each setting: of the second half; if stopped early, at the last report."""
    shown = trials["second_half_mse_bits2"].where(trials["outcome"] == COMPLETE, trials[JUDGED])
    settings = {name: name.replace("_", " ") for name in SEARCHED}
    scatter(trials.assign(shown=shown), settings, "shown", "MSE (bits²)", *paths, yscale="log")


ANALYSIS = Analysis("tune-critic", analyse)
