"""The runs of a table: those of the setting that was started last; and their code."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd


def latest(runs: pd.DataFrame, fields: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """The runs of the version and the values of these fields that were started last, and a note on the others."""
    setting = runs[["version", *fields]].astype(object).map(str).agg(" ".join, axis=1)  # also of missing values
    kept = runs[setting == setting[runs["start"].idxmax()]]
    return kept, older(runs, kept)


def newest(runs: pd.DataFrame, cell: Sequence[str], fields: Sequence[str] = ()) -> tuple[pd.DataFrame, list[str]]:
    """Of the latest runs the one of every cell that was started last, and a note on the others."""
    kept = latest(runs, fields)[0].sort_values("start", kind="stable").drop_duplicates(list(cell), keep="last")
    return kept, older(runs, kept)


def older(runs: pd.DataFrame, kept: pd.DataFrame, what: str = "runs") -> list[str]:
    """The note on runs that are not kept; none where all are."""
    left = len(runs) - len(kept)
    return [f"Note: {left} older {what} with other settings are left out."] if left else []


def ordered(frame: pd.DataFrame, by: Sequence[str], **orders: Iterable[Any]) -> pd.DataFrame:
    """The rows sorted by columns, of which those in `orders` go by their place there, with other values last."""

    def place(column: pd.Series) -> pd.Series:
        if column.name not in orders:
            return column
        places = {value: number for number, value in enumerate(dict.fromkeys(orders[column.name]))}
        return column.map(places).fillna(len(places))

    return frame.sort_values(list(by), key=place, kind="stable")


def versions(runs: pd.DataFrame) -> str:
    """The versions of the code that made the runs."""
    return ", ".join(sorted({tags.get("infoscope.code", "unknown") for tags in runs["tags"]}))


def profiles(runs: pd.DataFrame) -> str:
    """The profiles of runs, each once: a cell may belong to several, joined by "; "."""
    return ", ".join(sorted(set("; ".join(runs["profile"]).split("; "))))


def provenance(runs: pd.DataFrame) -> str:
    """The profiles and the code of runs, in a sentence."""
    return f"Profile {profiles(runs)}; code {versions(runs)}."
