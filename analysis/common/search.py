"""The table of a search: its trials in their order, those that were stopped early
included.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.common.marks import BLUE, NAMES, ORANGE, in_order, panel_by_panel
from analysis.common.published import ERROR
from analysis.common.tables import (
    Cells,
    Result,
    plus_minus,
    plus_minus_column,
    text_of,
)
from infoscope import tracking
from infoscope.metrics.report import listed

FRACTION = "progress/fraction"  # when a search decided last
COMPLETE = "complete"  # outcome of a trial
STOPPED = "stopped"
SHOWN = 10
Z95 = 1.96


def trials_of(
    experiment: str, profile: str, newest: pd.Series, same: Sequence[str]
) -> pd.DataFrame:
    """The trials of a run's search, those stopped early included. same: fields equal in
    all of them.
    """
    trials = tracking.runs(experiment, profile, finished=False)
    settings = trials[list(same)].astype(object).map(str)
    newest_setting = [str(newest[name]) for name in same]
    is_same = (settings == newest_setting).all(axis="columns")
    has_ended = trials["outcome"].isin([COMPLETE, STOPPED])
    selected = trials[is_same & has_ended]
    return selected.reset_index(drop=True)


def ranked(trials: pd.DataFrame, *by: str, ascending: bool = False) -> pd.DataFrame:
    """The trials with their `rank` by these columns, those that were stopped early
    after the others.
    """
    is_stopped = trials["outcome"] == STOPPED
    trials = trials.assign(stopped=is_stopped)
    orders = [True] + [ascending] * len(by)
    trials = trials.sort_values(["stopped", *by], ascending=orders, kind="stable")
    ranks = range(1, len(trials) + 1)
    return trials.assign(rank=ranks)


def score_of_best(trials: pd.DataFrame, by: str, error: str, name: str) -> str:
    """The figure of the best trial of the ranked ones with its error, and which trials
    are equal to it within their errors (95 %), in words. error: a column, if there is
    one.
    """
    complete = trials[trials["outcome"] == COMPLETE]
    errors = complete.get(error, pd.Series(0.0, complete.index))
    reach = Z95 * np.hypot(errors, errors.iloc[0])
    values = complete[by]
    is_equal = (values - values.iloc[0]).abs() <= reach
    words = f"{name} {plus_minus(values.iloc[0], errors.iloc[0] or math.nan)}"
    others = complete.loc[is_equal, "rank"].iloc[1:]
    if others.empty:
        return words
    return f"{words}; equal within error: trials {listed(map(str, others))}"


def best_trials(
    trials: pd.DataFrame,
    settings: Mapping[str, str],
    judged: str,
    criterion: str,
    measured: Mapping[str, str],
    finding: str,
    notes: Sequence[str],
    yscale: str = "linear",
) -> Result:
    """The table of the best trials, and a figure of all by each setting.

    trials    ranked; `NAME_error` has the standard error of a measured column
    settings  columns that were searched -> titles
    judged    the column that the search decided by; criterion: its name, with its unit
    measured  columns of the end of a trial -> titles
    finding   what to use, in a sentence
    """
    columns = ["rank", *settings, "steps", FRACTION, "outcome", judged]
    for name in measured:
        columns += [name, name + ERROR]
    figures = trials.reindex(columns=list(dict.fromkeys(columns)))
    top = figures.head(SHOWN)
    cells: dict[str, Cells] = {
        title: top[name].map(_setting_text) for name, title in settings.items()
    }
    cells["steps"] = _steps_done(top)
    cells["judged"] = (judged, "{:.3f}")
    is_stopped = top["outcome"] == STOPPED
    for name, title in measured.items():
        values = pd.Series(plus_minus_column(top, name), top.index)
        cells[title] = values.mask(is_stopped, STOPPED)
    complete = (trials["outcome"] == COMPLETE).sum()
    stopped = (trials["outcome"] == STOPPED).sum()
    explanation = (
        f"The best {len(top)} of {len(trials)} trials ({complete} to their end, "
        f"{stopped} "
        "stopped early), each of one training. The best of many noisy trials is "
        "partly lucky: repeat it with other "
        "seeds."
    )
    draw = None
    if settings:
        draw = functools.partial(_scatter, trials, settings, judged, criterion, yscale)
    text = text_of(top, ["rank"], cells)
    return Result(
        "best",
        figures,
        text,
        [finding, explanation, *notes],
        draw,
        title="The best trials",
    )


def _setting_text(value: object) -> str:
    """A value of a setting, numbers with three digits."""
    return value if isinstance(value, str) else f"{value:.3g}"


def _steps_done(trials: pd.DataFrame) -> pd.Series:
    """The steps that every trial has done."""
    steps = trials[FRACTION].fillna(1.0) * trials["steps"]
    text = steps.round().astype(int).astype(str)
    return text.mask(trials["outcome"] == STOPPED, text + " (stopped)")


def _scatter(
    trials: pd.DataFrame,
    settings: Mapping[str, str],
    judged: str,
    criterion: str,
    yscale: str,
    *paths: Path,
) -> None:
    """The search criterion by each setting: complete (filled) or stopped early (open).
    Numbers but the depth are on logarithmic axes.
    """
    ended = trials["outcome"] == COMPLETE
    layout = {"dpi": 120, "sharey": True, "ncols": 2}
    for axis, (column, title) in panel_by_panel(
        paths, settings.items(), (3, 2.8), (0, 0.4), ylabel=criterion, **layout
    ):
        names = in_order(column, trials[column]) if column in NAMES else []
        places = (
            trials[column].map(names.index) if names else trials[column].astype(float)
        )
        axis.plot(
            places[ended],
            trials.loc[ended, judged],
            "o",
            color=BLUE,
            fillstyle="full",
            label="to the end",
        )
        axis.plot(
            places[~ended],
            trials.loc[~ended, judged],
            "o",
            color=ORANGE,
            fillstyle="none",
            label="stopped early",
        )
        is_linear = names or column == "depth"
        axis.set(xlabel=title, yscale=yscale, xscale="linear" if is_linear else "log")
        axis.tick_params(axis="x", labelsize="x-small")
        if names:
            axis.set_xticks(range(len(names)), labels=names, rotation=60)
        elif places.nunique() <= SHOWN and (places % 1 == 0).all():
            ticks = sorted(set(places))
            axis.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
