"""Which runs a table is made of."""

import math

import pandas as pd

from analysis.common.runs import latest, newest
from tests.analysis.pictures import numbers

START = pd.to_datetime(["2026-01-01", "2026-02-01", "2026-02-02", "2026-02-03"])
RUNS = pd.DataFrame(
    {
        "version": "1",
        "draws": [5, 9, 9, 9],
        "weight": math.nan,
        "seed": [0, 0, 0, 1],
        "start": START,
    }
)


def test_older_settings_are_left_out_and_said():
    # missing values are one value
    selected, (note,) = latest(RUNS, ("draws", "weight"))
    assert [*selected.index] == [1, 2, 3]
    assert numbers(note) == [1]
    again = RUNS.assign(version=["2", "1", "1", "1"])
    assert [*latest(again, ())[0].index] == [1, 2, 3]
    assert latest(RUNS, ())[1] == []


def test_of_every_cell_the_newest_run_is_shown():
    selected, (note,) = newest(RUNS, ["seed"], ["draws"])
    assert [*selected.index] == [2, 3]
    assert numbers(note) == [2]
