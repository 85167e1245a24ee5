"""The runs of dataset-difficulty, their tables of items, and means over seeds and items."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.common.runs import newest, ordered, profiles
from analysis.common.tables import Claim, verdict
from infoscope import tracking
from infoscope.errors import UnknownName
from infoscope.estimators.result import clustered_error

CELL = ["study", "data", "transformation", "family", "estimator", "seed"]
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
ESTIMATORS = ("held-out", "cross-fitted")
FINE_TUNED = (
    "The vectors of IMDB are of an encoder that was itself fine-tuned on IMDB's classes, perhaps on these very "
    "reviews: their figures describe the vectors, not how hard the reviews are."
)
PHRASES = "Many items of SST-2 are phrases of one sentence, which cross-fitting has on both sides of a fold."
Z95 = 1.96
TAIL = 0.002  # share of the hardest items of a data set that the figures leave out


class Figure(NamedTuple):
    """A mean with its standard error, over how many items and seeds."""

    value: float
    error: float
    n: int
    seeds: int


def newest_of(runs: pd.DataFrame, cell: Sequence[str] = CELL) -> tuple[pd.DataFrame, list[str]]:
    """Of every cell the run that was started last, of the newest version, in order; and a note on the others."""
    kept, left_out = newest(runs, cell)
    columns = [name for name in ("data", "family", "estimator", "transformation") if name in runs]
    return ordered(kept, columns, data=NAMES, estimator=ESTIMATORS, transformation=INPUTS), left_out


def of_study(runs: pd.DataFrame, study: str, **fields: str) -> pd.DataFrame:
    """The runs of a study whose fields have these values, in the order of seeds."""
    chosen = runs["study"] == study
    for name, value in fields.items():
        chosen &= runs[name] == value
    return runs[chosen].sort_values("seed", kind="stable")


def items(run_id: str) -> pd.DataFrame:
    """The table of a run's items."""
    return tracking.table(run_id, "items")


def over_seeds(values: np.ndarray, errors: np.ndarray, n: int) -> Figure:
    """The mean over seeds. Its error has two parts: that of the items, which seeds share, and that of the trainings."""
    values, errors = np.asarray(values, dtype=float), np.asarray(errors, dtype=float)
    of_items = math.sqrt(float((errors**2).mean()))
    of_seeds = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return Figure(float(values.mean()), math.hypot(of_items, float(of_seeds)), int(n), len(values))


def paired(first: pd.DataFrame, second: pd.DataFrame) -> Figure | None:
    """The mean difference of PVI, first less second, of the same items and seeds; None if there are none."""
    values, errors, n = [], [], 0
    for _, one in first.iterrows():
        for _, other in second[second["seed"] == one["seed"]].iterrows():
            both = items(one["run_id"]).merge(items(other["run_id"]), on="id", suffixes=("", "_other"))
            difference = (both["pvi_bits"] - both["pvi_bits_other"]).to_numpy()
            codes = np.unique(both["group"], return_inverse=True)[1]
            values.append(difference.mean())
            errors.append(clustered_error(difference, codes))
            n = len(both)
    return over_seeds(values, errors, n) if values else None


def less_than(statement: str, difference: Figure | None, what: str) -> Claim:
    """A claim that a difference is negative, by its 95 % interval."""
    if difference is None:
        return Claim(statement, "undecided", "not both were run.")
    low, high = (difference.value + sign * Z95 * difference.error for sign in (-1, 1))
    said = f"{what} {difference.value:+.3f} bits, 95 % interval {low:+.3f} to {high:+.3f} ({difference.n:,} items, "
    said += f"{difference.seeds} {'trainings' if difference.seeds > 1 else 'training'})."
    return Claim(statement, verdict(low, high), said)


def shown_family(runs: pd.DataFrame, asked: str | None) -> str:
    """The family asked for, else the one with most usable information. Raises ValueError for one that was not run."""
    whole = of_study(runs, "difficulty", estimator="held-out", transformation="std")
    levels = whole.pivot_table(index="data", columns="family", values="v_information_bits")
    if asked is not None and asked not in levels:
        raise UnknownName(f"family must be one of {', '.join(levels)}, not {asked!r}.")
    return asked or str(levels.idxmax(axis=1).mode()[0])


def shown_items(runs: pd.DataFrame, family: str) -> dict[str, pd.DataFrame]:
    """By data set, the held-out items of the whole input under the first seed."""
    chosen = of_study(runs, "difficulty", estimator="held-out", transformation="std", family=family)
    first = chosen.drop_duplicates("data")
    return {row["data"]: items(row["run_id"]) for _, row in first.iterrows()}


def described(runs: pd.DataFrame) -> str:
    """The profile, data and code behind runs; a set that was only fitted is named with the one that was measured."""

    def told(tag: str) -> str:
        names = sorted({tags.get(tag, "unknown") for tags in runs["tags"]})
        return "; ".join(name for name in names if not any(other.startswith(f"{name}, ") for other in names))

    return f"Profile {profiles(runs)}. Data {told('infoscope.data')}; code {told('infoscope.code')}."


def cautions(runs: pd.DataFrame) -> list[str]:
    """Cautions about the data behind runs."""
    found = [PHRASES] if "sst2" in set(runs["data"]) else []
    return [*found, FINE_TUNED] if runs["data"].str.startswith("imdb-").any() else found


def hardest_shown(bits: pd.Series) -> float:
    """From which PVI on figures show the items of a data set: a few very hard ones would press all others together."""
    return float(bits.quantile(TAIL)) - 0.2
