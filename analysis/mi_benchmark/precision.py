"""Tables 2 and 3 with products of bfloat16 numbers: do the figures change?"""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.common.published import LEVEL
from analysis.common.tables import Analysis, Result, plus_minus_column, ranged
from analysis.mi_benchmark._benchmark import Benchmark, Evidence
from analysis.mi_benchmark._terms import FIELD_TITLES, GROUP
from infoscope.estimators.result import undefined
from infoscope.metrics import replicated
from sweeps.mi_benchmark.settings import PRECISIONS

PLACE = ["study", *GROUP, "true_bits", "depth", "bound"]
FIGURES = {
    "mse_bits2": ("MSE (bits²)", "MSE"),
    "second_half_mean_bits": ("mean estimate, 2nd half (bits)", "mean"),
}


def tables(evidence: Evidence) -> Sequence[Result]:
    """The differences, a row for each figure of the two tables."""
    groups = evidence.rows.groupby(PLACE, sort=False)
    figures = pd.DataFrame([differences(place, part) for place, part in groups])
    if not figures["runs"].any():
        precisions = ", ".join(sorted(set(evidence.rows["precision"])))
        raise ValueError(
            "precision must be both float32 and bf16 at a common seed, got "
            f"{precisions}."
        )
    text = figures[[*PLACE, "runs"]].rename(columns=FIELD_TITLES)
    for name, (title, short) in FIGURES.items():
        text[title] = plus_minus_column(figures, name, "diverged")
        columns = [f"{name}_difference", f"{name}_low", f"{name}_high"]
        text[f"bf16 - float32, {short}"] = [
            change_text(*change) for change in figures[columns].to_numpy()
        ]
    counts = figures[[f"{precision}_diverged" for precision in PRECISIONS]].astype(str)
    text["diverged (float32, bf16)"] = counts.agg(", ".join, axis=1)
    ratio = figures["mse_bits2_difference"].abs() / figures["mse_bits2_error"]
    ratio = ratio.dropna()
    is_sure = (figures["mse_bits2_low"] > 0) | (figures["mse_bits2_high"] < 0)
    sentences = [
        f"Products of bfloat16 change {is_sure.sum()} of {len(ratio)} MSEs "
        f"significantly (95 % intervals of {ranged(figures['runs'])} paired runs; "
        f"{LEVEL * len(ratio):.0f} by chance alone); the median change is "
        f"{ratio.median():.2f} standard errors.",
        "Figures with float32 products ± their standard error over seeds, and what "
        "bf16 changes: the mean difference "
        "over the seeds at which neither diverged, with its 95 % interval.",
        "Both have the same pairs and initial weights; a training amplifies any "
        "rounding, so that single runs differ.",
    ]
    title = "bfloat16 minus float32"
    return [
        evidence.result(
            "differences",
            figures,
            text,
            sentences,
            None,
            has_oracle=False,
            title=title,
        ),
    ]


def change_text(difference: float, low: float, high: float) -> str:
    """A difference with its interval, if there is one."""
    if math.isnan(difference):
        return "-"
    interval = "one run" if math.isnan(low) else f"{low:+.4f} to {high:+.4f}"
    return f"{difference:+.4f} ({interval})"


def differences(place: Sequence[Any], rows: pd.DataFrame) -> dict[str, Any]:
    """Of a place: figures with float32, their standard errors, the paired differences,
    and how many runs diverged.
    """
    has_diverged = rows[list(FIGURES)].isna().any(axis=1)
    row = dict(zip(PLACE, place))
    finite = []
    for precision in PRECISIONS:
        is_precision = rows["precision"] == precision
        row[f"{precision}_diverged"] = int(has_diverged[is_precision].sum())
        finite.append(rows[~has_diverged & is_precision].set_index("seed"))
    float32, bf16 = finite
    seeds = float32.index.intersection(bf16.index)
    for name in FIGURES:
        mean = undefined("no common seed")
        change = mean
        if len(seeds):
            values = float32.loc[seeds, name].to_numpy()
            mean = replicated(values)
            change = replicated(bf16.loc[seeds, name].to_numpy() - values)
        row[name] = mean.value
        row[f"{name}_error"] = mean.standard_error
        row[f"{name}_difference"] = change.value
        row[f"{name}_low"] = change.low
        row[f"{name}_high"] = change.high
    row["runs"] = len(seeds)
    return row


ANALYSIS = Analysis(
    "precision",
    Benchmark(tables, order=[*PLACE, "seed"], axes=("precision", "depth"), setting={}),
)
