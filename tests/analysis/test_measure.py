"""The command on a person's own data: a table, a figure and one run in MLflow, or a sentence and nothing written."""

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import measure
from analysis.common.own_data import read
from infoscope.command_line import run_command
from infoscope.estimators.arrays import as_pairs
from infoscope.tracking.store.store import Store
from infoscope.tracking.store.ui import links
from tests.estimators.samples import normal_pair

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": 0.8 * x[:, 0] + 0.6 * rng.normal(size=200)})
    frame["label"] = np.where(frame["y"] > 0, "high", "low")
    frame.assign(flat=1.5).to_csv("own.csv", index=False)
    return tmp_path


def written(here, suffix=".csv"):
    (path,) = (here / "runs" / "tables").glob(f"measure-own-*{suffix}")
    return path


def test_a_table_a_figure_and_one_run(here, capsys):
    words = ["--data", "own.csv", "--x", "a,b", "--y", "y", "--methods", "ksg,ksg-2,nsb"]
    assert run_command(measure.COMMAND, words) == 0
    printed, progress = capsys.readouterr()
    assert printed.splitlines()[0].startswith(("0.", "1.")) and " bits (95 %: " in printed.splitlines()[0]
    assert printed.splitlines()[1].startswith("Grade ") and "reading: " in progress
    assert "ksg: 0." in progress and "nsb: no value (method must fit the types of x and y" in progress
    assert "n = 200 rows; x is continuous, y is continuous" in printed and "SHA-256 of the data:" in printed
    for suffix in (".csv", ".tex", ".png", ".pdf", ".html"):
        assert written(here, suffix).stat().st_size > 100
    (run,) = Store.open("measure").search("")
    assert run.info.status == "FINISHED" and run.data.params["n"] == "200" and run.data.params["x"] == "a,b"
    assert run.data.params["sha256"] == read(Path("own.csv"), ["a"], ["y"]).digest
    figures = pd.read_csv(written(here), comment="#").set_index("method")
    assert run.data.metrics["ksg/bits"] == pytest.approx(figures.loc["ksg", "bits"])
    assert "nsb/bits" not in run.data.metrics and math.isnan(figures.loc["nsb", "bits"])
    assert "0." in run.data.tags["mlflow.note.content"]
    experiment = Store.open("measure").client.get_experiment_by_name("measure")
    assert experiment.tags["mlflow.note.content"].startswith("Own data: how much information do two")
    assert [name for name, _ in links([experiment], "")] == ["measure"]  # by `make ui`


@pytest.mark.parametrize(
    ("correlation", "sorted_rows", "first", "second"),
    [
        (0.0, False, "No dependence is detected (p = ", "Grade A: the interval is narrow; quote its upper limit."),
        (0.17, False, "They depend (p = ", "Grade A: the interval is narrow; quote its upper limit."),
        (0.8, False, "0.", "Grade A: the interval is narrow; quote the value with it."),
        (0.8, True, "Rows follow one another, so p-values do not hold: ", "Grade C: quote the interval, not"),
    ],
    ids=["none", "weak", "clear", "series"],
)
def test_the_answer_begins_with_what_was_found(here, capsys, correlation, sorted_rows, first, second):
    x, y = normal_pair(900, correlation, seed=2)
    order = np.argsort(x + y) if sorted_rows else np.arange(900)
    pd.DataFrame({"x": x[order], "y": y[order]}).to_csv("pair.csv", index=False)
    assert run_command(measure.COMMAND, ["--data", "pair.csv", "--x", "x", "--y", "y", "--methods", "gcmi"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0].startswith(first) and said.out.splitlines()[1].startswith(second)
    assert first.partition(" (")[0].partition(":")[0] in said.err  # the line of the reading has the same words


def test_nothing_is_measured_that_cannot_be_kept(here, capsys, monkeypatch):
    monkeypatch.setattr("analysis.common.tables.os.access", lambda path, how: False)
    assert run_command(measure.COMMAND, ["--data", "own.csv", "--x", "a,b", "--y", "y", "--methods", "gcmi"]) == 2
    printed, said = capsys.readouterr()
    assert said.splitlines()[-1].startswith("error: tables go to") and said.count("\n") == 2 and not printed


def test_nats_where_they_are_asked_for(here):
    tables = {}
    for unit in ("nats", "bits"):
        words = ["--data", "own.csv", "--x", "a,b", "--y", "y", "--methods", "ksg", "--unit", unit]
        assert run_command(measure.COMMAND, words) == 0
        tables[unit] = pd.read_csv(written(here), comment="#")
    for name in ("{}", "{}_error", "low_{}", "high_{}"):
        nats, bits = (tables[unit][name.format(unit)].to_numpy() for unit in tables)
        assert nats == pytest.approx(np.log(2) * bits)


def test_two_questions_have_tables_of_their_own(here):
    (here / "other").mkdir()
    shutil.copy("own.csv", "other/own.csv")
    asked = [("own.csv", "a"), ("own.csv", "b"), ("other/own.csv", "a"), ("./own.csv", "a")]
    for data, x in asked:
        assert run_command(measure.COMMAND, ["--data", data, "--x", x, "--y", "y", "--methods", "gcmi"]) == 0
    assert len({*(here / "runs" / "tables").glob("measure-own-*.csv")}) == 3  # the last asks what the first asked


def test_a_note_on_a_type_is_printed_once_in_the_words_of_the_command_line(here, capsys):
    pd.read_csv("own.csv").assign(age=18 + np.arange(200) % 60).to_csv("own.csv", index=False)
    words = ["--data", "own.csv", "--x", "age", "--y", "label", "--methods", "ksg,gcmi"]
    assert run_command(measure.COMMAND, words) == 0
    printed = capsys.readouterr().out
    assert printed.count("'age' has repeated values") == 1 and "DISCRETE=" in printed


def test_a_critic_is_drawn_with_its_training(here):
    data = read(Path("own.csv"), ["a"], ["y"])
    pairs = as_pairs(data.x, data.y)
    chosen = [measure.as_method("dv", {"steps": 20, "width": 8, "folds": 2}), measure.as_method("ksg")]
    answers = measure.measured(pairs, chosen, 0)
    result = measure.table(answers, data, pairs, "own.csv")
    assert result.text["95 % interval"].str.contains(" to ").all()
    result.draw(here / "drawn.png")
    assert (here / "drawn.png").stat().st_size > 5000


@pytest.mark.parametrize(("y", "kind"), [("y", "numbers"), ("label", "labels")])
def test_defaults_fit_the_types(here, y, kind):
    data = read(Path("own.csv"), ["a", "b"], [y])
    chosen = measure.defaults(as_pairs(data.x, data.y))
    assert chosen == measure.DEFAULTS[kind] and len(chosen) == 2
    for name in {name for names in measure.DEFAULTS.values() for name in names}:
        assert measure.as_method(name).name == name


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "own.csv", "--y", "no"], "error: Y must name columns among a, b, y, label, flat, got 'no'"),
        (["--data", "own.csv", "--x", "a", "--y", "y", "--methods", "kgs"], "error: method must be one of reading"),
        ([], "error: DATA must be a file ending in .npz, .csv, .tsv, .txt, .dat, .data, .xlsx, .parquet, or one of ex"),
        (["--data", "own.csv", "--x", "a", "--y", "y", "--seed", "-1"], "error: --seed must be a whole number of at"),
        (["--data", "own.csv", "--x", "a", "--y", "y", "--groups", "flat"], "error: GROUPS must name a column of two"),
        (
            ["--data", "own.csv", "--x", "a", "--y", "flat"],
            "error: y must vary, got column 'flat'",
        ),
    ],
)
def test_bad_input_writes_nothing(here, capsys, words, message):
    assert run_command(measure.COMMAND, words) == 2
    assert message in capsys.readouterr().err
    assert not (here / "runs").exists()


def test_the_list_of_methods_needs_no_data():
    command = [sys.executable, "-m", "infoscope", "measure", "--list"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "infonce-anchor" in done.stdout and "when to use" in done.stdout


def test_a_wrong_column_is_answered_before_what_takes_seconds_to_import(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n2,3\n")
    script = """import sys
from infoscope.__main__ import main
code = main(["measure", "--data", "a.csv", "--y", "c"])
print(code, sorted({"torch", "mlflow", "sklearn", "ray", "scipy.stats"} & set(sys.modules)))"""
    command = [sys.executable, "-c", script]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "2 []\n" and "'c'" in done.stderr
