"""The runs of a table, from the setting that was started last, and the versions of
their code.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

Selection = tuple[pd.DataFrame, list[str]]  # runs, and notes on those left out


def latest(runs: pd.DataFrame, fields: Sequence[str]) -> Selection:
    """The runs with the setting of the run that was started last, and a note.

    fields  with the version they are the setting
    """
    values = runs[["version", *fields]]
    values = values.astype(object)
    texts = values.map(str)  # also of missing values
    settings = texts.agg(" ".join, axis=1)
    latest_run = runs["start"].idxmax()
    is_latest = settings == settings[latest_run]
    selected = runs.loc[is_latest]
    return selected, older(runs, selected)


def newest(
    runs: pd.DataFrame, cell: Sequence[str], fields: Sequence[str] = ()
) -> Selection:
    """Of the latest runs the one of every cell that was started last, and a note."""
    selected, _ = latest(runs, fields)
    selected = selected.sort_values("start", kind="stable")
    selected = selected.drop_duplicates(list(cell), keep="last")
    return selected, older(runs, selected)


def older(runs: pd.DataFrame, selected: pd.DataFrame, what: str = "runs") -> list[str]:
    """The note on the runs that are left out; none if all are selected."""
    count = len(runs) - len(selected)
    if not count:
        return []
    return [f"Note: {count} older {what} with other settings are left out."]


def ordered(
    frame: pd.DataFrame, by: Sequence[str], **orders: Iterable[Any]
) -> pd.DataFrame:
    """The rows sorted by columns.

    A column in `orders` is sorted by the place of its values there, other values last.
    """

    def places(column: pd.Series) -> pd.Series:
        """Sort keys of a column."""
        name = str(column.name)
        if name not in orders:
            return column
        values = pd.Index(list(orders[name]))
        values = values.drop_duplicates()
        numbers = values.get_indexer(column)
        numbers[numbers < 0] = len(values)
        return pd.Series(numbers, column.index)

    return frame.sort_values(list(by), key=places, kind="stable")


def versions(runs: pd.DataFrame) -> str:
    """The versions of the code that made the runs."""
    return tagged(runs, "infoscope.code")


def data_sets(runs: pd.DataFrame, unknown: str = "unknown") -> str:
    """The data sets that the runs read."""
    return tagged(runs, "infoscope.data", unknown)


def tagged(runs: pd.DataFrame, tag: str, unknown: str = "unknown") -> str:
    """The values of a tag of the runs, in words."""
    return ", ".join(sorted({tags.get(tag, unknown) for tags in runs["tags"]}))


def profiles(runs: pd.DataFrame) -> str:
    """The profiles of runs, each once: a cell may belong to several, joined by "; "."""
    joined = "; ".join(runs["profile"])
    names = set(joined.split("; "))
    return ", ".join(sorted(names))


def provenance(runs: pd.DataFrame) -> str:
    """The profiles and the code of runs, in a sentence."""
    return f"Profile {profiles(runs)}; code {versions(runs)}."
