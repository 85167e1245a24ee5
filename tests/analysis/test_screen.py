"""The command that screens a person's own table: a page, a table, a figure and one run; or a sentence and nothing."""

import numpy as np
import pandas as pd
import pytest

from analysis import screen
from analysis.common.own_data import read_table
from infoscope.command_line import run_command
from infoscope.estimators import Angle, Discrete
from infoscope.tracking.store.store import Store
from tests.refusals import refused

N = 200


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    rng = np.random.default_rng(0)
    dose = rng.normal(size=N)
    frame = pd.DataFrame({"dose": dose, "hour": rng.uniform(0, 24, N), "age": rng.integers(18, 90, N)})
    frame = frame.assign(size=dose + 0.7 * rng.normal(size=N), sex=rng.choice(["f", "m"], N), home=np.arange(N) // 2)
    frame.loc[3, "dose"] = np.nan
    frame["note"] = [f"patient {place}" for place in range(N)]
    frame.to_csv("own.csv", index=False)
    frame.assign(when=pd.date_range("2020-01-01", periods=N)).to_csv("dates.csv", index=False)
    np.savez("own.npz", x=frame[["hour", "size"]].to_numpy(), y=dose)
    return tmp_path


def test_a_table_a_figure_a_page_and_one_run(here, capsys):
    words = ["--data", "own.csv", "--target", "size", "--groups", "home", "--angles", "hour:24", "--discrete", "note"]
    assert run_command(screen.COMMAND, words) == 0
    printed, progress = capsys.readouterr()
    assert "1 of 4 columns depend on size" in printed and "(n = 200 in 100 groups)" in printed
    assert "note must have categories that repeat" in printed and "SHA-256 of the data:" in printed
    assert "199" in printed  # rows that are known in both
    assert "4 of 4 read" in progress and "columns chosen" in progress and "100%  done" in progress
    for end in (".csv", ".png", ".pdf", ".html", ".tex"):
        (path,) = (here / "runs" / "tables").glob(f"screen-own-????????{end}")
        assert path.stat().st_size > 100, end
    (run,) = Store.open("screen").search("")
    assert run.info.status == "FINISHED" and run.data.params["chosen"] == "dose" and run.data.params["dependent"] == "1"
    (path,) = (here / "runs" / "tables").glob("screen-own-????????.csv")
    figures = pd.read_csv(path, comment="#").set_index("column")
    for of in ("bits", "q"):
        assert run.data.metrics[f"dose/{of}"] == pytest.approx(figures.loc["dose", of])


def test_every_pair_of_chosen_columns(here, capsys):
    assert run_command(screen.COMMAND, ["--data", "own.csv", "--x", "dose,size,s*", "--rows", "150"]) == 0
    printed, _ = capsys.readouterr()
    assert "1 of 3 pairs of columns depend on each other" in printed and "dose and size" in printed
    (run,) = Store.open("screen").search("")
    assert {"dose/size/bits", "dose/size/q"} < set(run.data.metrics)


def test_columns_keep_their_missing_values_and_types(here):
    data = read_table(here / "own.csv", ["h*", "dose"], "size", "home", discrete=["dose"], angles=["hour:24"])
    assert list(data.columns) == ["hour", "dose", "size"] and len(data.groups) == N  # home is named already
    assert isinstance(data.columns["hour"], Angle) and isinstance(data.columns["dose"], Discrete)
    assert data.columns["dose"].values.isna().sum() == 1
    assert list(read_table(here / "own.csv", groups="home").columns) == ["dose", "hour", "age", "size", "sex", "note"]
    assert list(read_table(here / "own.npz", target="y").columns) == ["x 0", "x 1", "y"]
    with refused("X and TARGET"):
        read_table(here / "own.csv", ["home"], groups="home")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "own.csv", "--target", "sise"], "error: TARGET must name columns among dose, hour"),
        (["--data", "own.csv", "--target", "home", "--groups", "home"], "error: X and TARGET must name columns that"),
        (["--data", "own.csv", "--target", "note"], "error: target must name a column of the table that varies: note"),
        (["--data", "own.csv", "--x", "q*"], "error: X must name columns among"),
        (["--data", "own.csv", "--x", "dose"], "error: table must have two columns or more"),
        (["--data", "own.csv", "--discrete", "hour", "--angles", "hour:24"], "must name different columns, got 'hour'"),
        (["--data", "own.csv", "--level", "2"], "error: level must be"),
        (["--data", "own.csv", "--rows", "3"], "error: rows must be"),
        (["--data", "own.csv", "--seed", "-1"], "error: --seed must be a whole"),
        (["--data", "dates.csv", "--strict"], "(DISCRETE= of a command). X= chooses columns."),
        (["--data", "own.csv", "--missing", "refuse"], "error: column 'dose' must have no missing values"),
        ([], "error: DATA must be a file ending in"),
    ],
)
def test_bad_input_writes_nothing(here, capsys, words, message):
    assert run_command(screen.COMMAND, words) == 2
    said = capsys.readouterr().err
    assert message in said and said.splitlines()[-1].startswith("error: ") and said.count("error: ") == 1, said
    assert not (here / "runs").exists()
