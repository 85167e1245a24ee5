"""The runs of dataset-difficulty, their tables of items, and means over seeds and
items.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.common.claims import Claim, negative
from analysis.common.runs import profiles
from infoscope import tracking
from infoscope.errors import UnknownName
from infoscope.estimators.result import Estimate, clustered_error

NAMES = {"snli": "SNLI", "mnli": "MultiNLI", "mnli-dev": "MultiNLI (matched dev only)", "cola": "CoLA", "sst2": "SST-2",
         "imdb": "IMDB", "imdb-bert": "IMDB (BERT vectors)", "imdb-roberta": "IMDB (RoBERTa vectors)",
         "generated-nli": "generated pairs", "generated-reviews": "generated reviews"}  # fmt: skip
INPUTS = {
    "std": "all",
    "shuffled": "shuffled",
    "hypothesis": "hypothesis only",
    "premise": "premise only",
    "raw_overlap": "shared tokens",
    "overlap": "overlap level",
    "length": "length",
    "null": "nothing",
}
VECTORS = "imdb-"  # the beginning of the names of data that are vectors
FINE_TUNED = (
    "The vectors of IMDB are of an encoder that was itself fine-tuned on IMDB's "
    "classes, perhaps on these very "
    "reviews: their figures describe the vectors, not how hard the reviews are."
)
PHRASES = (
    "Many items of SST-2 are phrases of one sentence, which cross-fitting has on both "
    "sides of a fold."
)
Z95 = 1.96
TAIL = 0.002  # share of the hardest items of a data set that the figures leave out


class Figure(NamedTuple):
    """A mean with its standard error, over how many items and seeds."""

    value: float
    error: float
    n: int
    seeds: int


def of_study(runs: pd.DataFrame, study: str, **fields: str) -> pd.DataFrame:
    """The runs of a study whose fields have these values, in the order of seeds."""
    chosen = runs["study"] == study
    for name, value in fields.items():
        chosen &= runs[name] == value
    return runs[chosen].sort_values("seed", kind="stable")


def items(run_id: str) -> pd.DataFrame:
    """The table of a run's items."""
    return tracking.table(run_id, "items")


def over_seeds(values: Sequence[float], errors: Sequence[float], n: int) -> Figure:
    """The mean over seeds. Its error has two parts: that of the items, which seeds
    share, and that of the trainings.
    """
    values = np.asarray(values, dtype=float)
    errors = np.asarray(errors, dtype=float)
    error_of_items = math.sqrt(float((errors**2).mean()))
    error_of_seeds = 0.0
    if len(values) > 1:
        error_of_seeds = float(values.std(ddof=1) / math.sqrt(len(values)))
    error = math.hypot(error_of_items, error_of_seeds)
    return Figure(float(values.mean()), error, int(n), len(values))


def error_of_mean(values: pd.Series, groups: pd.Series) -> float:
    """The standard error of the mean of values [n], robust to items that share a group."""
    _, codes = np.unique(groups, return_inverse=True)
    return clustered_error(values.to_numpy(), codes)


def paired(first: pd.DataFrame, second: pd.DataFrame) -> Figure | None:
    """The mean difference of PVI, first less second, of the same items and seeds; None
    if there are none.
    """
    pairs = first[["run_id", "seed"]].merge(
        second[["run_id", "seed"]], on="seed", suffixes=("", "_other")
    )
    values = []
    errors = []
    for pair in pairs.itertuples():
        both = items(pair.run_id).merge(
            items(pair.run_id_other), on="id", suffixes=("", "_other")
        )
        difference = both["pvi_bits"] - both["pvi_bits_other"]
        values.append(difference.to_numpy().mean())
        errors.append(error_of_mean(difference, both["group"]))
    return over_seeds(values, errors, len(both)) if values else None


def less_than(statement: str, difference: Figure | None, what: str) -> Claim:
    """A claim that a difference is negative, by its 95 % interval."""
    if difference is None:
        return Claim(statement, "not tested", "not both were run.")
    trainings = "trainings" if difference.seeds > 1 else "training"
    return negative(
        statement,
        Estimate(difference.value, difference.error, n=difference.n),
        what,
        "bits",
        over=f"items, {difference.seeds} {trainings}",
    )


def shown_family(runs: pd.DataFrame, family: str | None) -> str:
    """The family asked for, else the one with most usable information; runs: of whole
    inputs, held out. UnknownName: one that was not run; LookupError: there is none.
    """
    if runs.empty:
        raise LookupError("no run of whole inputs has held-out items.")
    levels = runs.pivot_table(
        index="data", columns="family", values="v_information_bits"
    )
    if family is None:
        return str(levels.idxmax(axis=1).mode()[0])
    if family not in levels:
        raise UnknownName(f"family must be one of {', '.join(levels)}, not {family!r}.")
    return family


def described(runs: pd.DataFrame) -> str:
    """The profile, data and code behind runs; a set that was only fitted is named with
    the one that was measured.
    """

    def values(tag: str) -> str:
        names = sorted({tags.get(tag, "unknown") for tags in runs["tags"]})
        shown = []
        for name in names:
            is_part = any(other.startswith(f"{name}, ") for other in names)
            if not is_part:
                shown.append(name)
        return "; ".join(shown)

    return (
        f"Profile {profiles(runs)}. Data {values('infoscope.data')}; code "
        f"{values('infoscope.code')}."
    )


def cautions(runs: pd.DataFrame) -> list[str]:
    """Cautions about the data behind runs."""
    lines = []
    if (runs["data"] == "sst2").any():
        lines.append(PHRASES)
    if runs["data"].str.startswith(VECTORS).any():
        lines.append(FINE_TUNED)
    return lines


def hardest_shown(bits: pd.Series) -> float:
    """From which PVI on figures show the items of a data set: a few very hard ones
    would press all others together.
    """
    return float(bits.quantile(TAIL)) - 0.2
