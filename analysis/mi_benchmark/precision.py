"""Tables 2 and 3 with products of float32 and of bfloat16 numbers: the differences, paired by seed, with 95 %
intervals, beside the standard error over seeds that the float32 figure has.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.figures import drawing
from analysis.common.tables import Analysis, Claim, Result, plus_minus
from analysis.mi_benchmark._benchmark import Benchmark, Evidence
from analysis.mi_benchmark._terms import GROUP
from infoscope.metrics import replicated
from sweeps.mi_benchmark.settings import PRECISIONS

PLACE = ["study", *GROUP, "true_bits", "depth", "bound"]
FIGURES = {"mse_bits2": "MSE (bits²)", "second_half_mean_bits": "mean estimate, 2nd half (bits)"}
NAMES = {"pool": "data", "true_bits": "true MI (bits)", "bound": "estimator"}


def tables(evidence: Evidence) -> Sequence[Result]:
    """The differences, a row for each figure of the two tables."""
    figures = pd.DataFrame(differences(evidence.rows))
    if figures.empty:
        raise ValueError(
            f"precisions must both have been run with a common seed, got {set(evidence.rows['precision'])}."
        )
    text = figures[PLACE].rename(columns=NAMES)
    for name, title in FIGURES.items():
        text[title] = [plus_minus(*pair, "diverged") for pair in zip(figures[name], figures[f"{name}_error"])]
        text["bf16 - float32"] = [
            f"{difference:+.4f} ({low:+.4f} to {high:+.4f})"
            for difference, low, high in figures[
                [f"{name}_{part}" for part in ("difference", "low", "high")]
            ].to_numpy()
        ]
        text = text.rename(columns={"bf16 - float32": f"bf16 - float32, {title.partition(' ')[0].rstrip(',')}"})
    sentences = [
        "Figures with float32 products ± their standard error over seeds, and what bf16 changes: the mean difference "
        "over the same seeds with its 95 % interval.",
        "Both have the same pairs and initial weights; a training amplifies any rounding, so that single runs differ.",
    ]
    return [
        evidence.result(
            "differences", figures, text, sentences, drawing(figures, draw, "bf16 - float32, MSE (bits²)"),
            list(claims(figures)), has_oracle=False,
        )
    ]  # fmt: skip


def differences(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """By place: figures with float32, their standard errors, and the paired differences."""
    for place, part in rows.groupby(PLACE, sort=False):
        found = dict(zip(PLACE, place))
        for name in FIGURES:
            wide = part.pivot(index="seed", columns="precision", values=name).reindex(columns=PRECISIONS)
            both = wide.dropna()
            if both.empty:
                break
            plain, change = replicated(both[PRECISIONS[0]]), replicated(both[PRECISIONS[1]] - both[PRECISIONS[0]])
            of = {"": plain.value, "_error": plain.standard_error, "_difference": change.value, "_low": change.low,
                  "_high": change.high}  # fmt: skip
            found |= {"runs": len(both)} | {f"{name}{part}": value for part, value in of.items()}
        else:
            yield found


def claims(figures: pd.DataFrame) -> Iterator[Claim]:
    """Whether differences are within a standard error, and within chance."""
    for name, title in FIGURES.items():
        change, error = figures[f"{name}_difference"], figures[f"{name}_error"]
        beyond = figures[change.abs() > error]
        clear = (np.sign(figures[f"{name}_low"]) == np.sign(figures[f"{name}_high"])).sum()
        where = "; ".join(" ".join(map(str, row)) for row in beyond[PLACE].to_numpy())
        verdict = "undecided" if error.isna().any() else "does not hold" if len(beyond) else "holds"
        yield Claim(
            f"No difference of the {title} is larger than the standard error of the float32 figure.",
            verdict,
            f"{len(beyond)} of {len(figures)} are{': ' + where if where else ''}; the 95 % intervals of {clear} do not "
            f"contain 0 (by chance {0.05 * len(figures):.0f}); median of |difference| / standard error "
            f"{(change.abs() / error).median():.2f}.",
        )


def draw(axis: Any, rows: pd.DataFrame) -> None:
    """The differences of the MSE in the order of the table."""
    places, change = np.arange(len(rows)), rows["mse_bits2_difference"]
    errors = np.array([change - rows["mse_bits2_low"], rows["mse_bits2_high"] - change])
    axis.errorbar(change, places, xerr=errors, fmt="o", ms=3, label="bf16 - float32, 95 % interval")
    axis.plot(rows["mse_bits2_error"], places, "|", color="grey", label="± a standard error over seeds")
    axis.plot(-rows["mse_bits2_error"], places, "|", color="grey")
    axis.axvline(0, color="black", lw=0.5)
    axis.set(xlabel="MSE with bf16 minus MSE with float32 (bits²)", yticks=[], ylabel="rows of the table")


ANALYSIS = Analysis("precision", Benchmark(tables, order=[*PLACE, "seed"], axes=("precision", "depth"), setting={}))
