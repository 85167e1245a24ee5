"""Series of a person's own: `measure` and `screen` with TIME= or SERIES=, on files of
which the answer is known.
"""

import numpy as np
import pandas as pd
import pytest

from analysis import measure, screen
from tests.analysis.commands import assert_refused, recorded, status_of, written


@pytest.fixture
def here(empty_folder):
    """Rain of a day raises the level of the next one; wind is of its own. Rows are in
    another order than the days.
    """
    generator = np.random.default_rng(0)
    rain, wind, noise = generator.normal(size=(3, 300))
    level = np.concatenate([[0.0], rain[:-1]]) + 0.7 * noise
    days = pd.date_range("2024-01-01", periods=300).astype(str)
    table = pd.DataFrame({"day": days, "rain": rain, "level": level, "wind": wind})
    table.to_csv("sorted.csv", index=False)
    table.sample(frac=1, random_state=0).to_csv("days.csv", index=False)
    return empty_folder


@pytest.mark.parametrize(
    "words",
    [
        "--data days.csv --time day",
        "--data sorted.csv --series yes",
    ],
    ids=["time", "rows"],
)
def test_measure_answers_both_ways(here, words, capsys):
    assert status_of(measure.COMMAND, f"{words} --x rain --y level --lags 1") == 0
    both, forth, back, *_ = capsys.readouterr().out.splitlines()
    assert both.startswith("The past of rain adds ")
    assert "the past of level adds no detected information" in both
    assert forth.startswith("rain carries most information about level one step later")
    assert back.startswith("At each lag level carries at most")
    stem = words.split()[1].removesuffix(".csv")
    table = written(f"measure-{stem}", ".tex", ".html").set_index("what")
    forward = table.loc["transfer entropy, rain to level"]
    assert 0 < forward["low_bits"] < 0.5 * np.log2(1 + 1 / 0.49) < forward["high_bits"]
    assert forward["history"] == "1 past value"
    run = recorded("measure")
    assert run.data.params["n"] == "299"
    assert run.data.metrics["transfer entropy/rain to level/bits"] == pytest.approx(
        forward["bits"]
    )


def test_missing_values_are_gaps(here, capsys):
    table = pd.read_csv("sorted.csv")
    table.loc[::5, "level"] = np.nan
    table.to_csv("gaps.csv", index=False)
    words = "--data gaps.csv --x rain --y level --series yes --lags 1"
    assert status_of(measure.COMMAND, words) == 0
    # of four rows between gaps three have a past
    assert recorded("measure").data.params["n"] == "180"


def test_a_screen_finds_what_leads(here, capsys):
    assert status_of(screen.COMMAND, "--data days.csv --time day --lags 1") == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("1 of 6 pairs lead")
    assert "rain adds" in first
    assert "about level" in first
    table = written("screen-days", ".tex", ".html")
    assert table.loc[0, ["cause", "effect"]].tolist() == ["rain", "level"]
    assert list(table["leads"]) == [True] + [False] * 5
    assert recorded("screen").data.metrics["leading_pairs"] == 1


@pytest.mark.parametrize(
    "command, words, argument",
    [
        (measure, "--x rain --y level --time hour", "TIME"),
        (
            measure,
            "--x rain --y level --time day --given wind",
            "GIVEN",
        ),
        (
            measure,
            "--x rain --y level --series yes --methods ksg",
            "METHODS",
        ),
        (screen, "--series yes --given wind --x rain,level", "GIVEN"),
        (screen, "--time day --x rain", "columns"),
        (measure, "--x rain --y level --lags 2", "LAGS"),
        (
            measure,
            "--x rain --y level --time day --shuffle",
            "SHUFFLE",
        ),
    ],
)
def test_what_series_cannot_take_is_refused(here, command, words, argument, capsys):
    assert_refused(command.COMMAND, f"--data days.csv {words}", argument, capsys)
