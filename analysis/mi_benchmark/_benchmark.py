"""What the tables of the neural benchmark share: runs by true MI, both truths, their setting in words, and verdicts."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.figures import draw_unseen, grid_panels, panels
from analysis.common.tables import Claim, Result, difference_claim, plus_minus, published, summarise, verdict
from infoscope.metrics import Replicated, replicated

EMBEDDED = {
    "digits": "the images are scikit-learn's digits (embedded default), not the published data",
    "generated-sentences": "the text is synthetic, sentences and encoder (embedded default), not the published data",
}
# what the items of a pool of texts went through: a pattern in its name, and a note
TEXT_POOLS = (
    (
        re.compile("imdb-(bert|roberta)"),
        "20 % of the published embeddings are held out of the training; the paper trains on all of them",
    ),
    (
        re.compile("generated-sentences|small-|hub:"),
        "the encoder of the texts was fine-tuned on the labels of all items, so 'unseen' means unseen by the critic "
        "and by the decoder",
    ),
)
CURVES_ONLY = "The paper prints curves only, no figures that could stand beside ours."
DECODED = "The decodable MI is a lower bound of what a critic can find; its ± is the standard error of decoding."
POSTERIOR = "posterior"  # the bound of the runs that decode the labels
GROUP = ["domain", "pool"]
KIND = (*GROUP, "encoder", "statistics", "study")  # cells that differ in these need not have each other's fields
# what a cell is besides its place in a table
SETTING = (
    "version", "schedule_bits", "steps", "critic", "depth", "width", "batch", "learning_rate", "sources", "size",
    "rows", "backgrounds", "channels", "encoder_size", "network_depth", "network_width", "network_steps", "decoder",
    "decoder_steps",
)  # fmt: skip
FLOOR = ["floor_mean_bits", "floor_mse_bits2", "floor_mse_bits2_error"]


def one_setting(runs: pd.DataFrame, axes: Sequence[str] = ()) -> tuple[pd.DataFrame, list[str]]:
    """The runs of the setting that was started last, kind of cell by kind of cell, and a note on those left out.

    Runs of one profile differ in their setting when the profile, or the version of the sweep's science, has changed.
    `axes`: fields in which the runs of a table are meant to differ.
    """
    if runs.empty:
        return runs, []
    of, kinds = values_of(runs, [name for name in SETTING if name not in axes]), values_of(runs, KIND)
    latest = runs["start"].groupby(kinds).transform("idxmax")
    keep = of == of.loc[latest].to_numpy()
    left_out = int((~keep).sum())
    return runs[keep], [f"Note: {left_out} older runs with other settings are left out."] if left_out else []


def values_of(runs: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """The values of those fields that the runs have, as one text per run."""
    fields = runs[[name for name in names if name in runs]]
    values = fields.astype(object).where(fields.notna(), None)
    return pd.Series(map(repr, values.itertuples(index=False, name=None)), runs.index)


def over_seeds(figures: pd.DataFrame) -> str:
    """What ± is, and how many runs stand behind each of the figures (their column `runs`)."""
    least, most = figures["runs"].min(), figures["runs"].max()
    if most == 1:
        return "One run (seed) per figure: its scatter is unknown, and no standard error can be given."
    if least == most:
        return f"± is one standard error over runs (seeds), {most} per figure."
    alone = "; where it is missing, there is one run" if least == 1 else ""
    return f"± is one standard error over runs (seeds), {least} to {most} per figure{alone}."


def oracle(runs: pd.DataFrame) -> str:
    """What the column of the oracle critic is."""
    batches = ", ".join(f"{count:,.0f}" for count in sorted(set(runs["floor_batches"])))
    return (
        f"The oracle critic is the exact log density ratio at this batch size ({batches} batches, error over batches): "
        "what no training removes. Where a row scores below it, an unfinished critic's error and the estimator's own "
        "cancel; infinite: some batches have no finite estimate."
    )


def oracle_text(figures: pd.DataFrame) -> list[str]:
    """The oracle critic's MSE and its error, to read."""
    pairs = zip(figures["floor_mse_bits2"], figures["floor_mse_bits2_error"])
    return [plus_minus(*pair, missing="infinite") for pair in pairs]


def trained_and_decoded(runs: pd.DataFrame, axes: Sequence[str] = ()) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """The runs that trained a critic and those that decoded the labels, both of the setting that was started last, and
    a note on those left out. `axes` as in `one_setting`. Raises ValueError when no run trained a critic.
    """
    decoding = runs["bound"] == POSTERIOR
    if decoding.all():
        raise ValueError(f"bound is {POSTERIOR!r} in all {len(runs)} runs; some must have trained a critic")
    trained, left_out = one_setting(runs[~decoding], axes)
    return trained, one_setting(runs[decoding], axes)[0], left_out


def by_truth(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per run and true MI of its schedule: `true_bits`, and the figures at that truth as columns."""
    levels = sorted({value for schedule in runs["schedule_bits"] for value in schedule})
    others = [name for name in runs if name.startswith("at ")]
    parts = []
    for bits in levels:
        chosen = at(runs[[bits in schedule for schedule in runs["schedule_bits"]]], bits)
        parts.append(chosen.drop(columns=others, errors="ignore").copy().assign(true_bits=bits))
    return pd.concat(parts, ignore_index=True)


def with_decodable(rows: pd.DataFrame, decoded: pd.DataFrame, on: Sequence[str] = ()) -> pd.DataFrame:
    """Rows by true MI with the decodable MI of their data (`decodable_bits`, its error) and the error against it.

    `on`: fields, besides domain, pool and true MI, by which the labels were decoded. Gaussian pairs have no labels:
    their truth is exact. Elsewhere it is missing where no labels were decoded.
    """
    keys = [*GROUP, "true_bits", *on]
    known = ["decodable_bits", "decodable_bits_error"]
    if decoded.empty:
        rows = rows.assign(decodable_bits=np.nan, decodable_bits_error=np.nan)
    else:
        found = by_truth(decoded).sort_values("start").drop_duplicates(keys, keep="last")[[*keys, *known]]
        rows = rows.drop(columns=known, errors="ignore").merge(found, on=keys, how="left")
    exact = rows["domain"] == "gaussian"
    rows.loc[exact, "decodable_bits"] = rows.loc[exact, "true_bits"]
    rows.loc[exact, "decodable_bits_error"] = 0.0
    off = rows["decodable_bits"] - rows["mean_bits"]
    return rows.assign(decodable_mse_bits2=rows["variance_bits2"] + off**2)


def paired(rows: pd.DataFrame, field: str, first: Any, second: Any, figure: str) -> Replicated | None:
    """The difference of a figure between two values of a field, over the seeds that were run at both, those included
    where it diverged; None where there is no such seed.
    """
    sides = [
        rows[rows[field] == value].groupby("seed")[figure].agg(lambda figures: figures.mean(skipna=False))
        for value in (first, second)
    ]
    both = pd.concat(sides, axis=1, join="inner", keys=["first", "second"])
    return None if both.empty else replicated((both["first"] - both["second"]).to_numpy())


def paired_claim(statement: str, rows: pd.DataFrame, field: str, first: Any, second: Any, figure: str = "mse_bits2"):
    """A claim that a figure is lower at the first value of a field than at the second, by pairs of runs."""
    if figure.startswith("decodable") and rows["decodable_bits"].isna().all():
        return Claim(statement, "undecided", "no labels were decoded.")
    difference = paired(rows, field, first, second, figure)
    if difference is None:
        return Claim(statement, "undecided", f"{first} and {second} were not both run with the same seed.")
    unit = "bits²" if figure.endswith("bits2") else "bits"
    return difference_claim(statement, difference, f"{first} minus {second}", unit)


def unseen(rows: pd.DataFrame, by: Sequence[str], words: Sequence[str], grid: tuple[str, str] | None = None) -> Result:
    """What the trained critics say of pairs of items they have never seen, and the gap to their training batches.

    Drawn by true MI if that is among `by`: a panel for every domain, or for the values of the two fields of `grid`.
    """
    columns = {
        "settled_mean_bits": "training batches, 2nd half",
        "held_out_same_batch_bits": "unseen, same batch size",
        "held_out_bits": "unseen, batch 512",
        "gap_bits": "gap",
    }
    figures = summarise(rows, by, columns)
    text = figures[[*by, "runs"]].rename(columns={"pool": "data", "true_bits": "true MI (bits)", "bound": "estimator"})
    for column, title in columns.items():
        text[title] = [plus_minus(*pair) for pair in zip(figures[column], figures[column + "_error"])]
    caption = [
        "Estimates (bits) on training batches and, by the trained critic, on fresh pairs of items held out of the "
        "training; gap = last tenth of the training batches minus unseen pairs at the same batch size: what the critic "
        "owes to having seen the items.",
        over_seeds(figures),
        *words,
    ]
    arranged = functools.partial(grid_panels, figures, *grid) if grid else functools.partial(panels, figures)
    draw = functools.partial(arranged, draw_unseen, "estimate (bits)") if "true_bits" in by else None
    return Result("unseen", figures, text, "\n".join(caption), draw)


def at(runs: pd.DataFrame, bits: float) -> pd.DataFrame:
    """The runs with the figures of one true MI as columns (`mse_bits2`, ...). Raises ValueError when there are none."""
    prefix = f"at {bits:g} bits/"
    figures = [name for name in runs if name.startswith(prefix)]
    if not figures:
        known = sorted({value for schedule in runs["schedule_bits"] for value in schedule})
        raise ValueError(f"no runs at {bits:g} bits; these runs have {', '.join(f'{value:g}' for value in known)} bits")
    plain = runs.drop(columns=[name.removeprefix(prefix) for name in figures if name.removeprefix(prefix) in runs])
    return plain.rename(columns=lambda name: name.removeprefix(prefix))


def setting(runs: pd.DataFrame) -> str:
    """Profile, training, data and code of the runs, in two sentences."""

    def values(name: str) -> str:
        return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in sorted(set(runs[name])))

    versions = ", ".join(sorted({tags.get("infoscope.code", "unknown") for tags in runs["tags"]}))
    return (
        f"Profile {values('profile')}: {values('steps')} steps of batch {values('batch')} per true MI, "
        f"{values('critic')} critic of width {values('width')}, Adam {values('learning_rate')}, "
        f"{values('sources')} sources. Data {values('pool')}; seeds {values('seed')}; code {versions}."
    )


def notes(runs: pd.DataFrame) -> list[str]:
    """What a reader of runs that trained a critic must not overlook: embedded data, a nominal truth, diverged steps."""
    pools = sorted(set(runs["pool"]))
    lines = [f"Note: {EMBEDDED[pool]}." for pool in pools if pool in EMBEDDED]
    if set(runs["domain"]) - {"gaussian"}:
        lines.append(
            "Note: the true MI of images and text is nominal, that of their labels; items whose labels cannot be told "
            "without error share less. The decodable MI, which posteriors of unseen items find, is a lower bound of "
            "what a critic can find."
        )
    for where, what in TEXT_POOLS:
        if any(where.search(pool) for pool in pools):
            lines.append(f"Note: {what}.")
    if steps := int(runs["nonfinite_steps"].sum()):
        affected = int((runs["nonfinite_steps"] > 0).sum())
        lines.append(f"Note: {steps} steps of {affected} runs were not finite; their rows say diverged.")
    return lines


PUBLISHED = {
    "steps": {4000}, "width": {256}, "batch": {64}, "learning_rate": {5e-4}, "sources": {10}, "size": {64},
    "pool": {"gaussian", "mnist", "imdb-bert"}, "schedule_bits": {(2.0, 4.0, 6.0, 8.0, 10.0)},
}  # fmt: skip
OFF_BY_DEFINITION = "js"  # reports NWJ's formula at the log density ratio, which is 1/e nat (0.53 bits) low even there
REASONABLE = 0.25  # the relative error up to which an estimate is called reliable here; the paper gives no number


def unlike_published(runs: pd.DataFrame, setting: Mapping[str, set] = PUBLISHED) -> list[str]:
    """The note that the runs are not comparable with the paper's and in what they differ; nothing where they are. A
    schedule may be the beginning of a published one: what comes later changes nothing before it.
    """
    differing = []
    for name, theirs in setting.items():
        found = runs[name].dropna() if name in runs else []
        ours = {tuple(value) if isinstance(value, list) else value for value in found}
        valid = theirs | {whole[:end] for whole in theirs if isinstance(whole, tuple) for end in range(1, len(whole))}
        if ours - valid:
            differing.append(f"{name.replace('_', ' ')} {listed(ours - valid)} (paper: {listed(theirs)})")
    return [f"Note: not comparable with the paper: {'; '.join(differing)}."] if differing else []


def published_errors(name: str) -> pd.DataFrame:
    """A published table of errors with the bias as mean - truth, ours; the paper's is truth - mean."""
    theirs = published(name)
    return theirs.assign(bias_bits=-theirs["bias_bits"])


def listed(values: Iterable[Any]) -> str:
    """Values in ascending order, in words; a schedule as its steps."""

    def said(value: Any) -> str:
        if isinstance(value, tuple):
            return "-".join(f"{bits:g}" for bits in value)
        return value if isinstance(value, str) else f"{value:,g}"

    return ", ".join(map(said, sorted(values)))


def relative_error(rows: pd.DataFrame, estimate: str = "settled_mean_bits", truth: str = "true_bits") -> pd.Series:
    """|estimate / truth - 1|; infinite where the estimate diverged, missing where the truth is."""
    error = (rows[estimate] / rows[truth] - 1).abs()
    return error.mask(rows[estimate].isna(), np.inf).mask(rows[truth].isna())


def verdict_below(values: Sequence[float], limit: float) -> str:
    """Whether the mean of a figure over runs is below a limit: it holds where the 95 % interval is, does not where it
    is above, and is undecided otherwise. Figures may be infinite (diverged): then all runs must agree.
    """
    values = np.asarray(values, dtype=float)
    if len(values) < 2 or np.isnan(values).any():
        return "undecided"
    if np.isfinite(values).all():
        over = replicated(values)
        low, high = over.low, over.high
    else:
        low, high = values.min(), values.max()
    return verdict(low, high, limit)


def limit_claim(statement: str, values: Sequence[float], limit: float, what: str, shown: str = "{:.3f}") -> Claim:
    """A claim that a figure, given once per run (seed), is below a limit."""
    values = np.asarray(values, dtype=float)
    if not len(values) or np.isnan(values).any():
        return Claim(statement, "undecided", f"{what}: not run, or not finite on both sides, in some run.")
    if np.isfinite(values).all():
        over = replicated(values)
        interval = "one run, no interval"
        if over.runs > 1:
            interval = f"95 % interval {shown.format(over.low)} to {shown.format(over.high)}, {over.runs} runs"
        told = f"{shown.format(over.mean)} ({interval})"
    else:
        told = f"not finite in {int((~np.isfinite(values)).sum())} of {len(values)} runs"
    return Claim(statement, verdict_below(values, limit), f"{what}: {told}; limit {shown.format(limit)}.")


def log_ratios(
    rows: pd.DataFrame, field: str, first: Any, second: Any, figure: str, over: Sequence[str] = ("bound", "true_bits")
) -> pd.Series:
    """By seed, the median over cells of log10(figure at `first` / figure at `second` of a field).

    A figure that diverged counts as infinite. Cells that were run at only one of the two, or diverged at both, are left
    out; no cells give an empty series.
    """
    filled = rows.assign(**{figure: rows[figure].fillna(np.inf)})
    of = filled.pivot_table(index=["seed", *over], columns=field, values=figure, aggfunc="mean")
    if first not in of or second not in of:
        return pd.Series(dtype=float)
    both = of[[first, second]].dropna()
    both = both[~np.isinf(both).all(axis=1)]
    return (np.log10(both[first]) - np.log10(both[second])).groupby(level="seed").median()


def ratio_claim(
    statement: str,
    rows: pd.DataFrame,
    field: str,
    first: Any,
    second: Any,
    figure: str,
    over: Sequence[str] = ("bound", "true_bits"),
    at_most: float = 1.0,
) -> Claim:
    """A claim that a figure at the first value of a field is below `at_most` times that at the second, in the median
    over the cells of a seed.
    """
    ratios = log_ratios(rows, field, first, second, figure, over)
    if ratios.empty:
        return Claim(statement, "undecided", f"there is nothing to compare {first} and {second} in.")
    what = f"log10 of {figure.split('_bits')[0].replace('_', ' ')}, {first} over {second}, median over cells"
    return limit_claim(statement, ratios, math.log10(at_most), what, "{:+.3f}")


def every_claim(statement: str, rows: pd.DataFrame, cells: Sequence[str], figure: str, limit: float) -> Claim:
    """A claim that a relative figure is below a limit in every cell: it holds where all cells' 95 % intervals over
    runs are, and does not where one is above.
    """
    verdicts: dict[str, list[str]] = {"holds": [], "does not hold": [], "undecided": []}
    for cell, part in rows.groupby(list(cells), sort=False):
        values = part[figure].to_numpy(float)
        mean = f"{values.mean():.0%}" if np.isfinite(values).all() else "diverged"
        name = " ".join(_named(field, value) for field, value in zip(cells, cell))
        verdicts[verdict_below(values, limit)].append(f"{name} ({mean})")
    if not rows.size:
        return Claim(statement, "undecided", "not run.")
    overall = "does not hold" if verdicts["does not hold"] else "undecided" if verdicts["undecided"] else "holds"
    counts = ", ".join(f"{len(members)} {name}" for name, members in verdicts.items())
    worst = "; ".join(verdicts["does not hold"][:4]) + ("; ..." if len(verdicts["does not hold"]) > 4 else "")
    told = f"within {limit:.0%} by 95 % interval over runs, {sum(map(len, verdicts.values()))} cells: {counts}"
    return Claim(statement, overall, f"{told}{'; not: ' if worst else ''}{worst}.")


def _named(field: str, value: Any) -> str:
    """A value of a field, in words."""
    if isinstance(value, str):
        return value
    return f"{value:g} bits" if field == "true_bits" else f"{field} {value:g}"


def figures_text(figures: pd.DataFrame, by: Sequence[str], titles: Mapping[str, str]) -> pd.DataFrame:
    """The table to read: the fields of a row, its runs, and figures with their standard errors under their titles."""
    names = {"pool": "data", "true_bits": "true MI (bits)", "bound": "estimator"}
    text = figures[[*by, "runs"]].rename(columns=names)
    for column, title in titles.items():
        decoding = "decodable" in column or column == "accuracy"
        missing = "not decoded" if decoding else "infinite" if "floor" in column else "diverged"
        errors = figures[column + "_error"] if column + "_error" in figures else [math.nan] * len(figures)
        text[title] = [plus_minus(*pair, missing) for pair in zip(figures[column], errors)]
    return text


def with_constants(figures: pd.DataFrame, rows: pd.DataFrame, by: Sequence[str], extra: Sequence[str] = ()):
    """The figures with the oracle critic's, the decodable MI where there is one, and other columns that do not vary
    over seeds.
    """
    known = [name for name in (*FLOOR, "decodable_bits", "decodable_bits_error", *extra) if name in rows]
    figures = figures.drop(columns=known, errors="ignore")
    return figures.merge(rows.groupby(list(by), as_index=False, sort=False)[known].first(), on=list(by), how="left")
