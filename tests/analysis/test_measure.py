"""The command on a person's own data: a table, a figure and one run in MLflow, or a
sentence and nothing written.
"""

import math
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from pytest import approx

from analysis import measure
from analysis.common.own_data import read
from infoscope.estimators import estimate
from infoscope.estimators.arrays import as_pairs
from infoscope.estimators.reading.result import Reading
from tests.analysis.commands import assert_refused, recorded, status_of, written
from tests.estimators.samples import normal_pair

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def here(empty_folder):
    rng = default_rng(0)
    x = rng.normal(size=(200, 2))
    frame = pd.DataFrame(
        {"a": x[:, 0], "b": x[:, 1], "y": 0.8 * x[:, 0] + 0.6 * rng.normal(size=200)}
    )
    frame["label"] = np.where(frame["y"] > 0, "high", "low")
    frame["age"] = 0.7 * frame["y"] + 0.3 * x[:, 1] + rng.normal(size=200)
    frame.assign(flat=1.5).to_csv("own.csv", index=False)
    return empty_folder


def test_a_table_a_figure_and_one_run(here, capsys):
    words = "--data own.csv --x a,b --y y --methods ksg,ksg-2,nsb"
    assert status_of(measure.COMMAND, words) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert " bits (95 %: " in first
    assert second.startswith("Grade ")
    figures = written("measure-own", ".tex", ".png", ".pdf", ".html").set_index(
        "method"
    )
    run = recorded("measure")
    metrics = run.data.metrics
    assert run.data.params["n"] == "200"
    assert run.data.params["x"] == "a,b"
    assert run.info.run_name == "own.csv: a, b -> y"
    (data_input,) = run.inputs.dataset_inputs
    digest = read(Path("own.csv"), ["a"], ["y"]).digest
    assert data_input.dataset.name == "own.csv"
    assert data_input.dataset.digest == digest[:16]
    assert metrics["bits_low"] <= metrics["bits"] <= metrics["bits_high"]
    assert run.data.tags["grade"] in "ABC"
    assert metrics["ksg/bits"] == approx(figures.loc["ksg", "bits"])
    assert "nsb/bits" not in metrics
    assert math.isnan(figures.loc["nsb", "bits"])


@pytest.mark.parametrize(
    "correlation, sorted_rows, first, second",
    [
        (0.0, False, "No dependence is detected", "Grade A"),
        (0.8, False, "0.", "Grade A"),
        (0.8, True, "Rows follow one another", "Grade C"),
    ],
    ids=["none", "clear", "series"],
)
def test_the_answer_begins_with_what_was_found(
    here, capsys, correlation, sorted_rows, first, second
):
    x, y = normal_pair(900, correlation, seed=2)
    order = np.argsort(x + y) if sorted_rows else np.arange(900)
    pd.DataFrame({"x": x[order], "y": y[order]}).to_csv("pair.csv", index=False)
    assert (
        status_of(
            measure.COMMAND,
            "--data pair.csv --x x --y y --methods gcmi",
        )
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(first)
    assert lines[1].startswith(second)


def test_given_conditions_both_readings_are_printed_and_recorded(here, capsys):
    words = "--data own.csv --x a --y y --given age,label"
    assert status_of(measure.COMMAND, words) == 0
    first, second, third, *_ = capsys.readouterr().out.splitlines()
    assert "bits" in first
    assert "a and y given age and label" in first
    assert "n = 200" in first
    assert second.startswith("Grade ")
    assert third.startswith("Without age and label they share ")
    figures = written("measure-own").set_index("method")
    assert list(figures.index) == ["reading given age and label", "reading"]
    run = recorded("measure")
    assert run.data.params["given"] == "age,label"
    conditional = figures.loc["reading given age and label"]
    assert run.data.metrics["bits"] == approx(conditional["bits"])
    assert run.data.metrics["without conditions/bits"] == approx(
        figures.loc["reading", "bits"]
    )
    data = read(Path("own.csv"), ["a"], ["y"], given=["age", "label"])
    expected = estimate(data.x, data.y, given=data.given, generator=default_rng(0)).bits
    assert conditional["low_bits"] == approx(expected.low)
    assert conditional["high_bits"] == approx(expected.high)


READING = Reading(
    0.2, 0.03, "bits", 300, interval=(0.15, 0.26), p_value=1e-6, grade="A"
)


@pytest.mark.parametrize(
    "interval, sentence",
    [
        ((0.4, 0.6), " age accounts for part of it."),
        ((0.01, 0.1), " They share more given age."),
        ((0.1, 0.2), ""),
    ],
    ids=["explained", "revealed", "alike"],
)
def test_what_the_conditions_explain(interval, sentence):
    plain = replace(READING, interval=interval, value=sum(interval) / 2)
    lines = measure.answers_given(READING, plain, "dose and pain", ["age"])
    assert (
        lines[0]
        == "0.20 bits (95 %: 0.15 to 0.26) are shared by dose and pain given age (n = 300)."
    )
    assert lines[2].endswith(f"grade A.{sentence}")


def test_nothing_is_measured_that_cannot_be_kept(here, capsys, monkeypatch):
    monkeypatch.setattr("analysis.common.tables.os.access", lambda path, how: False)
    words = "--data own.csv --x a,b --y y --methods gcmi"
    assert_refused(measure.COMMAND, words, "error: tables go to", capsys)


def test_two_questions_have_tables_of_their_own(here):
    (here / "other").mkdir()
    shutil.copy("own.csv", "other/own.csv")
    asked = [
        ("own.csv", "a"),
        ("own.csv", "b"),
        ("other/own.csv", "a"),
        ("./own.csv", "a"),
    ]
    for data, x in asked:
        assert (
            status_of(
                measure.COMMAND,
                f"--data {data} --x {x} --y y --methods gcmi",
            )
            == 0
        )
    # the last asks what the first asked
    assert len({*(here / "runs" / "tables").glob("measure-own-*.csv")}) == 3


def test_a_critic_is_drawn_with_its_training(here):
    data = read(Path("own.csv"), ["a"], ["y"])
    pairs = as_pairs(data.x, data.y)
    chosen = [
        measure.as_method("dv", {"steps": 20, "width": 8, "folds": 2}),
        measure.as_method("ksg"),
    ]
    answers = measure.measured(pairs, chosen, 0)
    result = measure.table(answers, data, pairs, "own.csv")
    assert result.text["95 % interval"].str.contains(" to ").all()
    result.draw(here / "drawn.png")
    assert (here / "drawn.png").stat().st_size > 5000


@pytest.mark.parametrize(
    "words, argument",
    [
        ("--y no", "Y"),
        ("--x a --y y --methods kgs", "method"),
        ("--x a --y y --seed -1", "--seed"),
        ("--x a --y flat", "y"),
        ("--x a --y y --given age,age", "GIVEN"),
        ("--x a --y y --given age --methods ksg", "METHODS"),
    ],
)
def test_bad_input_writes_nothing(here, capsys, words, argument):
    assert_refused(
        measure.COMMAND,
        f"--data own.csv {words}",
        f"error: {argument} must",
        capsys,
    )


def test_a_wrong_column_is_answered_before_what_takes_seconds_to_import(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n2,3\n")
    script = """import sys
from infoscope.__main__ import main
code = main(["measure", "--data", "a.csv", "--y", "c"])
print(code, sorted({"torch", "mlflow", "sklearn", "ray", "scipy.stats"} & set(sys.modules)))"""
    command = [sys.executable, "-c", script]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "2 []\n"
    assert "'c'" in done.stderr
