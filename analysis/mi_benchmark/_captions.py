"""Sentences of captions in the tables of the neural benchmark."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.published import UNLIKE
from analysis.common.runs import profiles, versions
from analysis.common.tables import level_with, plus_minus, ranged
from infoscope.metrics import replicated
from infoscope.metrics.report import listed as named

EMBEDDED = {
    "digits": "the images are scikit-learn's digits (embedded default), not the published data",
    "generated-sentences": "the text is synthetic, sentences and encoder (embedded default), not the published data",
}
# pattern in the name of a pool of texts -> how its items were used before
TEXT_POOLS = {
    "imdb-(bert|roberta)":
        "20 % of the published embeddings are held out of the training; the paper "
        "trains on all of them",
    "generated-sentences|small-|hub:":
        "the encoder of the texts was fine-tuned on the labels of all items, so "
        "'unseen' means unseen by the critic "
        "and by the decoder",
}  # fmt: skip
CURVES_ONLY = (
    "The paper prints curves only, so there are no published figures to compare with."
)
DECODED = (
    "The decodable MI is a lower bound of what a critic can estimate; its ± is the "
    "standard error of the decoding."
)
FEW = 5  # candidates of a domain and true MI that are named
MANY = 9  # domains and true MI beyond which errors are left to the table
PUBLISHED = {
    "steps": {4000}, "width": {256}, "batch": {64}, "learning_rate": {5e-4}, "sources": {10}, "size": {64},
    "pool": {"gaussian", "mnist", "imdb-bert"}, "schedule_bits": {(2.0, 4.0, 6.0, 8.0, 10.0)}, "precision": {"float32"},
}  # fmt: skip


def describe_setting(runs: pd.DataFrame) -> str:
    """Profile, training, data and code of the runs, in two sentences."""

    def values(name: str) -> str:
        texts = [
            f"{value:g}" if isinstance(value, float) else str(value)
            for value in sorted(set(runs[name]))
        ]
        return ", ".join(texts)

    is_rounded = "precision" in runs and (runs["precision"] == "bf16").all()
    products = ", products of bfloat16 numbers" if is_rounded else ""
    return (
        f"Profile {profiles(runs)}: {values('steps')} steps of batch "
        f"{values('batch')} per true MI, "
        f"{values('critic')} critic of width {values('width')}{products}, Adam "
        f"{values('learning_rate')}, "
        f"{values('sources')} sources. Data {values('pool')}; seeds {values('seed')}; "
        f"code {versions(runs)}."
    )


def explain_errors(figures: pd.DataFrame) -> str:
    """The meaning of ±, and the number of runs per figure (column `runs`)."""
    runs = figures["runs"]
    if runs.max() == 1:
        return (
            "One run (seed) per figure: its scatter over seeds is unknown, so there "
            "is no ±."
        )
    alone = "; where it is missing, there is one run" if runs.min() == 1 else ""
    return (
        f"± is one standard error over runs (seeds), {ranged(runs)} per figure{alone}."
    )


def runs_text(counts: Sequence[int]) -> str:
    """Numbers of runs, from the least to the most, in words."""
    if max(counts) == 1:
        return "one run"
    return f"{ranged(counts)} runs"


def least_error(rows: pd.DataFrame, by: str, fields: Sequence[str]) -> str:
    """The values of `fields` with the least MSE for each value of `by` and true MI, as
    a sentence: the finding of a table. Named are all that are not surely worse.
    """
    varying = [name for name in fields if rows[name].nunique() > 1]
    candidate = rows[varying or list(fields)].astype(str).agg(" ".join, axis=1)
    rows = rows.assign(candidate=candidate)
    parts = []
    notes = []
    winners: dict[tuple[str, str], list[str]] = {}
    for (place, bits), part in rows.groupby([by, "true_bits"], sort=False):
        least = not_surely_worse(part)
        if not least:
            continue
        errors = part.loc[part["candidate"] == least[0], "mse_bits2"]
        mean = replicated(errors.to_numpy())
        has_ties = len(least) > 1
        note = f"{len(errors)} runs" if len(errors) > 1 else "lowest in one run"
        notes.append(note + ", no significant difference" * has_ties)
        verb = "" if parts else f" {'have' if has_ties else 'has'} the least MSE"
        error = plus_minus(mean.value, mean.standard_error)
        error = f"from {error}" if has_ties else error
        names = named(least, FEW)
        parts.append(f"{names}{verb} for {place} at {bits:g} bits, {error} bits²")
        winners.setdefault((names, place), []).append(f"{bits:g}")
    if not parts:
        return "No estimate is finite in every run."
    if len(parts) > MANY:
        parts = [
            f"{names} for {place} at {', '.join(bits)}"
            for (names, place), bits in winners.items()
        ]
        note = f" ({notes[0]})" if len(set(notes)) == 1 else ""
        return f"the least MSE has, by true MI in bits: {'; '.join(parts)}{note}."
    if len(set(notes)) > 1:
        parts = [f"{part} ({note})" for part, note in zip(parts, notes)]
        return f"{'; '.join(parts)}."
    return f"{'; '.join(parts)} ({notes[0]})."


def not_surely_worse(rows: pd.DataFrame) -> list[str]:
    """The candidate with the lowest mean MSE, then those whose MSE is not surely a
    larger multiple, by its 95 % interval over the same seeds. With one seed, the lowest
    alone.
    """
    finite_or_diverged = rows.fillna({"mse_bits2": np.inf})
    mse = finite_or_diverged.pivot_table("mse_bits2", "seed", "candidate", sort=False)
    means = mse.mean()
    means = means[np.isfinite(means)].sort_values(kind="stable")
    if means.empty:
        return []
    lowest = means.index[0]
    same_seeds = mse.loc[mse[lowest].notna(), means.index].dropna(axis="columns")
    if len(same_seeds) == 1:
        return [lowest]
    accuracy = -np.log(same_seeds)
    return level_with(accuracy[lowest], accuracy)


def explain_oracle(runs: pd.DataFrame) -> str:
    """The meaning of the column of the oracle critic."""
    batches = listed(set(runs["oracle_critic_batches"]))
    return (
        "The oracle critic is the exact log density ratio at this batch size "
        f"({batches} batches, error over batches): "
        "the error that no training removes. A row with a lower score has an "
        "unfinished critic, whose error "
        "cancels the estimator's. Infinite: some batches have no finite estimate."
    )


def cautions(runs: pd.DataFrame) -> list[str]:
    """Notes on runs that trained a critic: embedded data, a nominal truth, diverged
    steps.
    """
    pools = sorted(set(runs["pool"]))
    lines = [f"Note: {EMBEDDED[pool]}." for pool in pools if pool in EMBEDDED]
    if set(runs["domain"]) - {"gaussian"}:
        lines.append(
            "Note: the true MI of images and text is nominal: the MI of their labels. "
            "Items whose labels cannot be "
            "decoded without error share less. The decodable MI, from posteriors of "
            "unseen items, is a lower bound of "
            "what a critic can estimate."
        )
    for pattern, use in TEXT_POOLS.items():
        if any(re.search(pattern, pool) for pool in pools):
            lines.append(f"Note: {use}.")
    steps = int(runs["nonfinite_steps"].sum())
    if steps:
        affected = int((runs["nonfinite_steps"] > 0).sum())
        lines.append(
            f"Note: {steps} steps of {affected} runs were not finite; their rows read "
            "'diverged'."
        )
    return lines


def setting_differences(
    runs: pd.DataFrame, setting: Mapping[str, set] = PUBLISHED
) -> list[str]:
    """A note on how the runs differ from the paper's; empty if they do not. Shorter
    schedules are comparable.
    """
    differing = []
    for name, published in setting.items():
        comparable = set(published)
        for value in published:
            if isinstance(value, tuple):
                comparable.update(value[:end] for end in range(1, len(value)))
        values = runs[name].dropna() if name in runs else []
        ours = {tuple(value) if isinstance(value, list) else value for value in values}
        others = ours - comparable
        if others:
            differing.append(
                f"{name.replace('_', ' ')} {listed(others)} (paper: "
                f"{listed(published)})"
            )
    if not differing:
        return []
    return [f"Note: {UNLIKE}: {'; '.join(differing)}."]


def listed(values: Iterable[Any]) -> str:
    """Values in ascending order, as text; a schedule as its steps."""
    texts = []
    for value in sorted(values):
        if isinstance(value, tuple):
            texts.append("-".join(f"{bits:g}" for bits in value))
        elif isinstance(value, str):
            texts.append(value)
        else:
            texts.append(f"{value:,g}")
    return ", ".join(texts)
