"""The runs of a table: those of the setting that was started last, with a note on the others; and their code."""

from __future__ import annotations

from collections.abc import Sequence

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


def versions(runs: pd.DataFrame) -> str:
    """The versions of the code that made the runs."""
    return ", ".join(sorted({tags.get("infoscope.code", "unknown") for tags in runs["tags"]}))
