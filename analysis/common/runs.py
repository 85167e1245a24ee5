"""The runs of a table, from the setting that was started last, and the versions of
their code.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd


def latest(runs: pd.DataFrame, fields: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """The runs of the version and the values of these fields that were started last,
    and a note on the others.
    """
    values = runs[["version", *fields]].astype(object)
    values = values.map(str)  # also of missing values
    settings = values.agg(" ".join, axis=1)
    latest_run = runs["start"].idxmax()
    selected = runs[settings == settings[latest_run]]
    return selected, older(runs, selected)


def newest(
    runs: pd.DataFrame, cell: Sequence[str], fields: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Of the latest runs the one of every cell that was started last, and a note on the
    others.
    """
    selected, _ = latest(runs, fields)
    selected = selected.sort_values("start", kind="stable")
    selected = selected.drop_duplicates(list(cell), keep="last")
    return selected, older(runs, selected)


def older(runs: pd.DataFrame, selected: pd.DataFrame, what: str = "runs") -> list[str]:
    """The note on the runs that are not selected; none where all are."""
    count = len(runs) - len(selected)
    if not count:
        return []
    return [f"Note: {count} older {what} with other settings are left out."]


def ordered(
    frame: pd.DataFrame, by: Sequence[str], **orders: Iterable[Any]
) -> pd.DataFrame:
    """The rows sorted by columns; those in `orders` are sorted by their place there,
    with other values last.
    """

    def places(column: pd.Series) -> pd.Series:
        if column.name not in orders:
            return column
        values = pd.Index(list(orders[column.name]))
        values = values.drop_duplicates()
        numbers = values.get_indexer(column)
        numbers[numbers < 0] = len(values)
        return pd.Series(numbers, column.index)

    return frame.sort_values(list(by), key=places, kind="stable")


def versions(runs: pd.DataFrame) -> str:
    """The versions of the code that made the runs."""
    names = [tags.get("infoscope.code", "unknown") for tags in runs["tags"]]
    return ", ".join(sorted(set(names)))


def profiles(runs: pd.DataFrame) -> str:
    """The profiles of runs, each once: a cell may belong to several, joined by "; "."""
    names = "; ".join(runs["profile"]).split("; ")
    return ", ".join(sorted(set(names)))


def provenance(runs: pd.DataFrame) -> str:
    """The profiles and the code of runs, in a sentence."""
    return f"Profile {profiles(runs)}; code {versions(runs)}."
