"""The command that screens a person's own table: a page, a table, a figure and one run;
or a sentence and nothing.
"""

import numpy as np
import pandas as pd
import pytest

from analysis import screen
from analysis.common.own_data import read_table
from infoscope.estimators import Angle, Discrete
from tests.analysis.commands import assert_refused, recorded, status_of, written
from tests.refusals import refused

N = 100


@pytest.fixture
def here(empty_folder):
    rng = np.random.default_rng(0)
    dose = rng.normal(size=N)
    frame = pd.DataFrame(
        {"dose": dose, "hour": rng.uniform(0, 24, N), "age": rng.integers(18, 90, N)}
    )
    frame = frame.assign(
        size=dose + 0.7 * rng.normal(size=N),
        sex=rng.choice(["f", "m"], N),
        home=np.arange(N) // 2,
    )
    frame.loc[3, "dose"] = np.nan
    frame["note"] = [f"patient {place}" for place in range(N)]
    frame.to_csv("own.csv", index=False)
    np.savez("own.npz", x=frame[["hour", "size"]].to_numpy(), y=dose)
    return empty_folder


def test_a_table_a_figure_a_page_and_one_run(here, capsys):
    words = (
        "--data own.csv --target size --groups home --angles hour:24 --discrete note"
    )
    assert status_of(screen.COMMAND, words) == 0
    printed = capsys.readouterr().out
    assert "1 of 4 columns depend on size" in printed
    assert "(n = 100 in 50 groups)" in printed
    assert "99" in printed  # rows that are known in both
    figures = written("screen-own", ".png", ".pdf", ".html", ".tex").set_index("column")
    run = recorded("screen")
    assert run.data.tags["columns_to_keep"] == "dose"
    assert run.data.metrics["dependent_columns"] == 1
    assert run.info.run_name == "own.csv: 5 columns -> size"
    for of in ("bits", "q"):
        assert run.data.metrics[f"{of}/dose"] == pytest.approx(figures.loc["dose", of])


def test_every_pair_of_chosen_columns(here, capsys):
    assert status_of(screen.COMMAND, "--data own.csv --x dose,size,s* --rows 60") == 0
    printed, _ = capsys.readouterr()
    assert "1 of 3 pairs of columns depend on each other" in printed
    assert "dose and size" in printed
    assert {"bits/dose/size", "q/dose/size", "dependent_pairs"} < set(
        recorded("screen").data.metrics
    )


def test_columns_keep_their_missing_values_and_types(here):
    data = read_table(
        here / "own.csv",
        ["h*", "dose"],
        "size",
        "home",
        discrete=["dose"],
        angles=["hour:24"],
    )
    assert list(data.columns) == ["hour", "dose", "size"]  # home is named already
    assert len(data.groups) == N
    assert isinstance(data.columns["hour"], Angle)
    assert isinstance(data.columns["dose"], Discrete)
    assert data.columns["dose"].values.isna().sum() == 1
    assert list(read_table(here / "own.csv", groups="home").columns) == [
        "dose",
        "hour",
        "age",
        "size",
        "sex",
        "note",
    ]
    assert list(read_table(here / "own.npz", target="y").columns) == ["x 0", "x 1", "y"]
    with refused("X and TARGET"):
        read_table(here / "own.csv", ["home"], groups="home")


@pytest.mark.parametrize(
    "words, argument",
    [
        ("--target sise", "TARGET"),
        ("--target size --given size", "GIVEN"),
        ("--x dose", "table"),
        (
            "--discrete hour --angles hour:24",
            "ANGLES, CONTINUOUS and DISCRETE",
        ),
        ("--missing refuse", "column 'dose'"),
    ],
)
def test_bad_input_writes_nothing(here, capsys, words, argument):
    assert_refused(
        screen.COMMAND, f"--data own.csv {words}", f"error: {argument} must", capsys
    )
