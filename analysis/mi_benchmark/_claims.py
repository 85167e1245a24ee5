"""Verdicts on the paper's sentences by 95 % intervals over runs."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.claims import (
    Claim,
    decided,
    negative,
    verdict,
    verdict_of_all,
)
from analysis.common.published import in_words
from analysis.mi_benchmark._terms import LARGE_BITS, NOMINAL, NOT_DECODED
from infoscope.estimators.result import Estimate
from infoscope.metrics import replicated

# fields of a cell whose figures are compared within a seed
CELL = ("bound", "true_bits")


def relative_error(
    rows: pd.DataFrame,
    estimate: str = "second_half_mean_bits",
    truth: str = "true_bits",
) -> pd.Series:
    """|estimate / truth - 1|; infinite where the estimate diverged, missing where the
    truth is.
    """
    estimates = rows[estimate]
    truths = rows[truth]
    error = (estimates / truths - 1).abs()
    error = error.mask(estimates.isna(), np.inf)
    return error.mask(truths.isna())


def by_data_set(
    rows: pd.DataFrame, field: str = "domain"
) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each value of a field and each data set, by that value, and the data
    set where there are several.

    A store may hold runs of built-in and of published data under one profile; no figure
    is a mean over both.
    """
    for (value, pool), part in rows.groupby([field, "pool"], sort=False):
        pools = rows.loc[rows[field] == value, "pool"].nunique()
        name = value if pools == 1 else f"{value} ({pool})"
        yield name, part


def paired_difference(
    rows: pd.DataFrame, field: str, first: Any, second: Any, figure: str
) -> Estimate | None:
    """The paired difference of a figure between two values of a field, over common
    seeds; None without any.
    """
    first_mean = mean_by(rows[rows[field] == first], "seed", figure)
    second_mean = mean_by(rows[rows[field] == second], "seed", figure)
    seeds = first_mean.index.intersection(second_mean.index)
    if seeds.empty:
        return None
    differences = first_mean[seeds] - second_mean[seeds]
    return replicated(differences.to_numpy())


def mean_by(rows: pd.DataFrame, fields: str | Sequence[str], figure: str) -> pd.Series:
    """The mean of a figure over the rows with equal fields; NaN if one of them is NaN."""
    groups = rows.groupby(fields)[figure]
    return groups.agg(lambda values: values.mean(skipna=False))


def paired_changes(
    rows: pd.DataFrame,
    field: str,
    first: Any,
    second: Any,
    figure: str,
    by: str = "domain",
) -> dict[str, Estimate]:
    """The paired differences of a figure between two values of a field, of each value
    of `by` and data set that has both.
    """
    changes = {}
    for name, part in by_data_set(rows, by):
        change = paired_difference(part, field, first, second, figure)
        if change is not None:
            changes[name] = change
    return changes


def paired_claim(
    statement: str,
    rows: pd.DataFrame,
    field: str,
    first: Any,
    second: Any,
    figure: str = "mse_bits2",
):
    """A claim that a figure is lower at the first value of a field than at the second,
    by pairs of runs.
    """
    if figure.startswith("decodable") and rows["decodable_bits"].isna().all():
        return Claim(statement, "not tested", NOT_DECODED)
    difference = paired_difference(rows, field, first, second, figure)
    if difference is None:
        return Claim(
            statement,
            "not tested",
            f"{first} and {second} were not both run with the same seed.",
        )
    return negative(statement, difference, f"{first} minus {second}", "bits²")


def too_small(statement: str, bits: float) -> Claim:
    """A claim on a large MI where at most this true MI was run."""
    why = f"at most {bits:g} of {LARGE_BITS:g} bits were run."
    return Claim(statement, "not tested", why)


def scored_against(truth: str, claims: Sequence[Claim]) -> list[Claim]:
    """Claims that are scored against a truth: ours, where it is not the paper's."""
    return [claim._replace(is_ours=truth != NOMINAL) for claim in claims]


def over_runs(values: Sequence[float]) -> Estimate:
    """The mean over runs. Where some are infinite there is none, and the interval is
    from the least to the greatest: all runs must agree.
    """
    values = np.asarray(values, dtype=float)
    if np.isfinite(values).all():
        return replicated(values)
    interval = (math.nan, math.nan)
    if len(values) > 1 and not np.isnan(values).any():
        interval = (values.min(), values.max())
    return Estimate(math.nan, n=len(values), interval=interval)


def limit_claim(
    statement: str,
    values: Sequence[float],
    limit: float,
    what: str,
    form: str = ".3f",
) -> Claim:
    """A claim that a figure, given once per run (seed), is below a limit."""
    values = np.asarray(values, dtype=float)
    if not len(values):
        return Claim(statement, "not tested", f"{what}: no such run.")
    more = _ending(values, f"{limit:{form}}")
    return decided(
        statement, over_runs(values), what, form=form, below=limit, more=more
    )


def _ending(values: np.ndarray, limit: str) -> str:
    """How many of the values are not finite, if any, and the limit, in words."""
    count = (~np.isfinite(values)).sum()
    return (
        f" in {count} of {len(values)} runs; limit {limit}"
        if count
        else f"; limit {limit}"
    )


def factor_claim(
    statement: str,
    logs: Sequence[float],
    what: str,
    base: float = 10,
    above: float = -math.inf,
    below: float = math.inf,
) -> Claim:
    """A claim that a factor, given by its logarithm once per run (seed), is `above` or
    `below` a limit.
    """
    logs = np.asarray(logs, dtype=float)
    mean = over_runs(logs)
    with np.errstate(over="ignore"):  # infinite
        value, low, high = np.float64(base) ** [mean.value, mean.low, mean.high]
    factor = Estimate(value, math.nan, n=mean.n, interval=(low, high))
    limit = above if math.isfinite(above) else below
    return decided(
        statement,
        factor,
        what,
        "times",
        ".3g",
        above=above,
        below=below,
        more=_ending(logs, f"{limit:g}"),
    )


def log_ratios(
    rows: pd.DataFrame,
    field: str,
    first: Any,
    second: Any,
    figure: str,
    cell: Sequence[str] = CELL,
) -> pd.Series:
    """By seed, the median over cells of log10(figure at `first` / figure at `second` of
    a field).

    Diverged figures are infinite; cells with only one value, or two diverged ones, are
    left out. May be empty.
    """
    filled = rows.fillna({figure: np.inf})
    wide = filled.pivot_table(
        index=["seed", *cell], columns=field, values=figure, aggfunc="mean"
    )
    if first not in wide or second not in wide:
        return pd.Series(dtype=float)
    both = wide[[first, second]].dropna()
    both_diverged = np.isinf(both).all(axis=1)
    logs = np.log10(both[~both_diverged])
    log_ratio = logs[first] - logs[second]
    return log_ratio.groupby(level="seed").median()


def ratio_claim(
    statement: str,
    rows: pd.DataFrame,
    field: str,
    first: Any,
    second: Any,
    figure: str,
    cell: Sequence[str] = CELL,
    above: float = -math.inf,
    below: float = math.inf,
) -> Claim:
    """A claim that a figure at `first` is more (`above`) or less (`below`) than so many
    times that at `second`, in the median over cells.
    """
    ratios = log_ratios(rows, field, first, second, figure, cell)
    for value in (first, second):
        if value not in rows[field].to_numpy():
            return Claim(statement, "not tested", f"{value} was not run.")
    if ratios.empty:
        return Claim(
            statement,
            "not tested",
            f"{first} and {second} have no cell in common where one is finite.",
        )
    name = figure.split("_bits")[0].replace("_", " ").replace("mse", "MSE")
    what = f"{name}, {first} over {second}, median over cells"
    return factor_claim(statement, ratios, what, above=above, below=below)


def every_claim(
    statement: str, rows: pd.DataFrame, fields: Sequence[str], figure: str, limit: float
) -> Claim:
    """A claim that a relative figure is below a limit in every cell (combination of
    fields), by intervals over runs.
    """
    if not rows.size:
        return Claim(statement, "not tested", "not run.")
    most_runs = rows.groupby(list(fields))["seed"].nunique().max()
    cells: dict[str, list[str]] = {"confirmed": [], "contradicted": [], "undecided": []}
    for values_of_cell, part in rows.groupby(list(fields), sort=False):
        values = part[figure].to_numpy(float)
        mean = "diverged"
        if np.isfinite(values).all():
            mean = f"{values.mean():.0%}"
        names = map(_named, fields, values_of_cell)
        of_cell = verdict(over_runs(values), below=limit)
        cells[of_cell].append(f"{' '.join(names)} ({mean})")
    total = sum(map(len, cells.values()))
    counts = ", ".join(
        f"{len(members)} {verdict}" for verdict, members in cells.items()
    )
    names = ", ".join(rows["bound"].unique())
    limits = f"{names} within {limit:.0%} (our limit)"
    if most_runs == 1:
        worst = f"the largest error of {total} cells is {rows[figure].max():.0%}"
        return Claim(statement, "not tested", f"{limits}: one run each, {worst}.")
    evidence = f"{limits} by 95 % interval over runs, {total} cells: {counts}"
    contradicted = cells["contradicted"]
    if contradicted:
        more = "; ..." if len(contradicted) > 4 else ""
        evidence += f"; not: {'; '.join(contradicted[:4])}{more}"
    verdicts = [verdict for verdict, members in cells.items() if members]
    overall = verdict_of_all(verdicts)
    return Claim(statement, overall, f"{evidence}.")


def _named(field: str, value: Any) -> str:
    """A value of a field in words."""
    if field == "true_bits":
        return f"{value:g} bits"
    return in_words(field, value)
