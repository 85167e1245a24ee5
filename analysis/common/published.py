"""Published figures and ours, one row a figure, in one form for all analyses."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

LEVEL = 0.05  # of the tests whether ours differs from a published figure
UNLIKE = "not comparable with the paper"  # in the note on runs in another setting
ERROR = "_error"  # suffix of the column that holds a column's standard error
PAPERS = "published_"  # prefix of the column that holds the paper's figure of a column
COLUMNS = [
    "source",
    "place",
    "quantity",
    "unit",
    "published",
    "published_error",
    "ours",
    "ours_error",
    "runs",
    "unlike",
]
PLACES = ("domain", "pool", "critic", "depth", "size", "bound")
NAMES = {"mse_bits2": "MSE", "mean_bits": "mean"}


def published(name: str) -> pd.DataFrame:
    """A published table, as committed with its source under analysis/published."""
    folder = Path(__file__).parents[1] / "published"
    return pd.read_csv(folder / f"{name}.csv", comment="#")


def published_figures(source: str, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Published figures of one source, a row each, with ours where there is one.

    Parameters
    ----------
    source
        where the figures were published, in words
    rows
        for each figure: `place` (of what) and `quantity`, in words, `unit`, `published`
        and perhaps `published_error`, `ours`, `ours_error`, `runs`; `unlike` says in
        what our setting differs and is empty where the two can be compared

    Returns
    -------
    pandas.DataFrame
        the columns COLUMNS; NaN where a number is missing
    """
    figures = pd.DataFrame(rows, columns=COLUMNS).assign(source=source)
    figures["unlike"] = figures["unlike"].astype(object).fillna("")
    numeric = ["published", "published_error", "ours", "ours_error", "runs"]
    return figures.astype(dict.fromkeys(numeric, float))


def published_table(
    name: str, columns: Sequence[str], keys: Sequence[str], ours: pd.DataFrame
) -> pd.DataFrame:
    """Columns of a published table of the benchmark, a row for each figure.

    ours: rows with the fields `keys`, the columns, `NAME_error` and `runs`. A bias is
    mean - truth here and truth - mean in the paper.
    """
    theirs = published(name)
    shared = [key for key in keys if key in theirs]
    rows = []
    for column in columns:
        sign = -1 if column == "bias_bits" else 1
        measured = ours[[*shared, column, column + ERROR, "runs"]]
        both = theirs[[*shared, column]].merge(
            measured, on=shared, how="left", suffixes=("_published", "")
        )
        for _, row in both.iterrows():
            rows.append(
                {
                    "place": place_of(row),
                    "quantity": spoken(column),
                    "unit": "bits²" if column.endswith("2") else "bits",
                    "published": sign * row[column + "_published"],
                    "ours": row[column],
                    "ours_error": row[column + ERROR],
                    "runs": row["runs"],
                }
            )
    return published_figures(name.replace("table", "table "), rows)


def place_of(row: pd.Series) -> str:
    """The fields that place a figure in its table, in words."""
    words = [in_words(name, row[name]) for name in PLACES if name in row]
    place = " ".join(dict.fromkeys(words))
    if "true_bits" in row:
        place += f" at {row['true_bits']:g} bits"
    return place


def in_words(field: str, value: Any) -> str:
    """A value of a field in words: a text as it is, a number after the field's name."""
    return value if isinstance(value, str) else f"{field} {value:g}"


def spoken(column: str) -> str:
    """The name of a column in words."""
    name = column.replace("_bits2", "").replace("_bits", "")
    return NAMES.get(column, name)


def standard_errors(figures: pd.DataFrame) -> pd.Series:
    """By how many of its standard errors ours differs from the published figure.

    A published figure without an error is taken to scatter like one of our runs. NaN
    where neither has an error.
    """
    one_run = figures["ours_error"] * np.sqrt(figures["runs"])
    theirs = figures["published_error"].fillna(one_run)
    error = np.hypot(figures["ours_error"], theirs)
    return (figures["ours"] - figures["published"]) / error.where(error > 0)


def beyond_chance(figures: pd.DataFrame) -> pd.Series:
    """Whether ours differs from the published figure beyond sampling error (95 %,
    Student's t).
    """
    degrees = np.maximum(figures["runs"] - 1, 1)
    return standard_errors(figures).abs() > stdtrit(degrees, 1 - LEVEL / 2)


def deviation(figures: pd.DataFrame) -> pd.Series:
    """The difference of ours from the published figure, as a part of it."""
    return (figures["ours"] / figures["published"] - 1).abs()
