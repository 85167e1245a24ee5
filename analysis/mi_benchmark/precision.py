"""Tables 2 and 3 with products of bfloat16 numbers: do the figures change?"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.tables import Analysis, Claim, Result, plus_minus
from analysis.mi_benchmark._benchmark import Benchmark, Evidence
from analysis.mi_benchmark._terms import GROUP
from infoscope.metrics import replicated
from sweeps.mi_benchmark.settings import PRECISIONS

PLACE = ["study", *GROUP, "true_bits", "depth", "bound"]
FIGURES = {"mse_bits2": ("MSE (bits²)", "MSE"), "second_half_mean_bits": ("mean estimate, 2nd half (bits)", "mean")}
NAMES = {"pool": "data", "true_bits": "true MI (bits)", "bound": "estimator"}


def tables(evidence: Evidence) -> Sequence[Result]:
    """The differences, a row for each figure of the two tables."""
    figures = pd.DataFrame([differences(place, part) for place, part in evidence.rows.groupby(PLACE, sort=False)])
    if not figures["runs"].any():
        known = ", ".join(sorted(set(evidence.rows["precision"])))
        raise ValueError(f"precision must be both float32 and bf16 at a common seed, got {known}.")
    text = figures[[*PLACE, "runs"]].rename(columns=NAMES)
    for name, (title, short) in FIGURES.items():
        text[title] = [plus_minus(*pair, "diverged") for pair in zip(figures[name], figures[f"{name}_error"])]
        parts = figures[[f"{name}_{part}" for part in ("difference", "low", "high")]].to_numpy()
        text[f"bf16 - float32, {short}"] = [change_text(*part) for part in parts]
    text["diverged (float32, bf16)"] = [
        ", ".join(map(str, pair)) for pair in zip(*(figures[f"{of}_diverged"] for of in PRECISIONS))
    ]
    change, error = (figures[f"mse_bits2_{part}"] for part in ("difference", "error"))
    ratio = (change.abs() / error).dropna()
    sentences = [
        f"Products of bfloat16 change the MSE by {ratio.median():.2f} standard errors (median of {len(ratio)} figures; "
        f"{int((ratio > 1).sum())} by more than one; {figures['runs'].min()} to {figures['runs'].max()} paired runs).",
        "Figures with float32 products ± their standard error over seeds, and what bf16 changes: the mean difference "
        "over the seeds at which neither diverged, with its 95 % interval.",
        "Both have the same pairs and initial weights; a training amplifies any rounding, so that single runs differ.",
    ]
    return [
        evidence.result(
            "differences", figures, text, sentences, None, list(claims(figures.dropna())), has_oracle=False,
            title="bfloat16 minus float32",
        )
    ]  # fmt: skip


def change_text(difference: float, low: float, high: float) -> str:
    """A difference with its interval, if there is one."""
    if math.isnan(difference):
        return "-"
    return f"{difference:+.4f} ({'one run' if math.isnan(low) else f'{low:+.4f} to {high:+.4f}'})"


def differences(place: Sequence[Any], rows: pd.DataFrame) -> dict[str, Any]:
    """Of a place: figures with float32, their standard errors, the paired differences, and how many runs diverged."""
    diverged = rows[list(FIGURES)].isna().any(axis=1)
    found = dict(zip(PLACE, place))
    found |= {f"{of}_diverged": int(diverged[rows["precision"] == of].sum()) for of in PRECISIONS}
    finite = [rows[~diverged & (rows["precision"] == of)].set_index("seed") for of in PRECISIONS]
    seeds = finite[0].index.intersection(finite[1].index)
    for name in FIGURES:
        values: tuple[float, ...] = (math.nan,) * 5
        if len(seeds):
            first, second = (of.loc[seeds, name].to_numpy() for of in finite)
            plain, change = replicated(first), replicated(second - first)
            values = (plain.value, plain.standard_error, change.value, change.low, change.high)
        found |= {f"{name}{part}": value for part, value in zip(("", "_error", "_difference", "_low", "_high"), values)}
    return found | {"runs": len(seeds)}


def claims(figures: pd.DataFrame) -> Iterator[Claim]:
    """Whether differences are within a standard error, and within chance."""
    for name, (title, _) in FIGURES.items():
        change, error = figures[f"{name}_difference"], figures[f"{name}_error"]
        beyond = figures[change.abs() > error]
        clear = (np.sign(figures[f"{name}_low"]) == np.sign(figures[f"{name}_high"])).sum()
        where = "; ".join(" ".join(map(str, row)) for row in beyond[PLACE].to_numpy())
        verdict = "undecided" if error.isna().any() else "contradicted" if len(beyond) else "confirmed"
        yield Claim(
            f"Every difference of the {title} is at most the standard error of the float32 figure.",
            verdict,
            f"{len(beyond)} of {len(figures)} are larger{': ' + where if where else ''}; the 95 % intervals of {clear} "
            f"do not contain 0 (by chance {0.05 * len(figures):.0f}); median of |difference| / standard error "
            f"{(change.abs() / error).median():.2f}.",
        )


ANALYSIS = Analysis("precision", Benchmark(tables, order=[*PLACE, "seed"], axes=("precision", "depth"), setting={}))
