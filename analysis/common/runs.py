"""The runs of a table: those of the setting that was started last, or the trials of one search; and their code."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.common.marks import BLUE, NAMES, ORANGE, in_order, panel_by_panel
from infoscope import tracking


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


FRACTION = "progress/fraction"  # when a search decided last
COMPLETE, STOPPED = "complete", "stopped"  # outcomes of a trial
SHOWN = 10


def trials_of(
    experiment: str, profile: str, newest: pd.Series, same: Sequence[str], wanted: Sequence[str] = ()
) -> pd.DataFrame:
    """The trials of a run's search, those stopped early included. same: fields equal in all of them; wanted: columns
    that are NaN where no trial has them.
    """
    trials = tracking.runs(experiment, profile, finished=False)
    alike = (trials[[*same]].astype(object).map(str) == [str(newest[name]) for name in same]).all(axis="columns")
    trials = trials[alike & trials["outcome"].isin([COMPLETE, STOPPED])].reset_index(drop=True)
    return trials.assign(**{name: math.nan for name in (FRACTION, *wanted) if name not in trials})


def ranked(trials: pd.DataFrame, *by: str, ascending: bool = False) -> pd.DataFrame:
    """The trials with their `rank` by these columns, those that were stopped early after the others."""
    trials = trials.assign(stopped=trials["outcome"] == STOPPED)
    trials = trials.sort_values(["stopped", *by], ascending=[True, *[ascending] * len(by)], kind="stable")
    return trials.assign(rank=range(1, len(trials) + 1))


def steps_done(trials: pd.DataFrame) -> list[str]:
    """The steps that every trial has done."""
    done = (trials[FRACTION].fillna(1.0) * trials["steps"]).round().astype(int)
    return [f"{count} (stopped)" if how == STOPPED else str(count) for count, how in zip(done, trials["outcome"])]


def best_of(trials: pd.DataFrame) -> str:
    """How many trials are shown, and how the others ended, in words."""
    ends = trials["outcome"].value_counts()
    return (
        f"The best {min(SHOWN, len(trials))} of {len(trials)} trials ({ends.get(COMPLETE, 0)} to their end, "
        f"{ends.get(STOPPED, 0)} stopped early)"
    )


def scatter(
    trials: pd.DataFrame, settings: Mapping[str, str], judged: str, title: str, *paths: Path, yscale: str = "linear"
) -> None:
    """The search criterion by each setting (column -> name): complete (filled) or stopped early (open). Numbers but
    the depth are on logarithmic axes.
    """
    ended = trials["outcome"] == COMPLETE
    each = max(3, 4 / len(settings)), 3.4
    for axis, (column, name) in panel_by_panel(paths, settings.items(), each, ylabel=title, dpi=120, sharey=True):
        names = in_order(column, trials[column]) if column in NAMES else []
        places = trials[column].map(names.index) if names else trials[column].astype(float)
        for rows, colour, fill in ((ended, BLUE, "full"), (~ended, ORANGE, "none")):
            label = "to the end" if fill == "full" else "stopped early"
            axis.plot(places[rows], trials.loc[rows, judged], "o", color=colour, fillstyle=fill, label=label)
        axis.set(xlabel=name, yscale=yscale, xscale="linear" if names or column == "depth" else "log")
        axis.tick_params(axis="x", labelsize="x-small")
        if names:
            axis.set_xticks(range(len(names)), labels=names, rotation=60)
        elif all(place.is_integer() for place in places):
            axis.set_xticks(values := sorted(set(places)), labels=[f"{value:g}" for value in values])


def provenance(runs: pd.DataFrame) -> str:
    """The profiles and the code of runs, in a sentence."""
    return f"Profile {profiles(runs)}; code {versions(runs)}."
