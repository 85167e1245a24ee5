"""The command that advises: a sentence, two tables, a figure, a page, one run; or a sentence and nothing written."""

import numpy as np
import pandas as pd
import pytest

from analysis import advise
from infoscope.tracking.store.store import Store


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    g = np.random.default_rng(0)
    x = g.normal(size=600)
    frame = pd.DataFrame({"a": x, "y": 0.8 * x + 0.6 * g.normal(size=600), "other": g.normal(size=600)})
    frame.to_csv("own.csv", index=False)
    return tmp_path


def test_an_answer_is_said_shown_and_recorded(here, capsys):
    words = ["--data", "own.csv", "--x", "a", "--y", "y", "--methods", "gcmi,ksg", "--within", "10"]
    assert advise.main(words) == 0
    printed, progress = capsys.readouterr()
    assert "estimates of the data" in progress and "twins: latent" in progress
    assert "x and y share 0." in printed and "Of 2 estimators use " in printed and "SHA-256 of the data" in printed
    folder = here / "runs" / "tables"
    (table,) = folder.glob("advise-own-????????.csv")
    for end in (".png", ".pdf", "-twins.csv"):
        assert (folder / f"{table.stem}{end}").stat().st_size > 100
    page = table.with_suffix(".html").read_text()
    assert "<b>x and y share 0." in page and "data:image/png;base64" in page and "Hotelling" in page
    (run,) = Store.open("advise").search("")
    assert run.data.params["verdict"] == "answered" and run.data.params["chosen"] in ("gcmi", "ksg")
    metrics = run.data.metrics
    assert metrics["low_bits"] < -0.5 * np.log2(1 - 0.64) < metrics["high_bits"] and metrics["answered"] == 1
    figures = pd.read_csv(table, comment="#").set_index("method")
    assert metrics["gcmi/error_bits"] == pytest.approx(figures.loc["gcmi", "error_bits"])


def test_nothing_found_is_an_answer_of_its_own(here, capsys):
    words = ["--data", "own.csv", "--x", "a", "--y", "other", "--methods", "gcmi", "--within", "10"]
    assert advise.main(words) == 0
    assert "Nothing found: these 600 rows behave as rows put together at random do." in capsys.readouterr().out
    (run,) = Store.open("advise").search("")
    assert run.data.metrics["nothing_found"] == 1 and "bits" not in run.data.metrics


def test_rows_in_sequence_are_refused_unless_they_were_only_sorted(here, capsys):
    g = np.random.default_rng(0)
    age = np.sort(g.uniform(20, 70, 400))
    frame = pd.DataFrame({"height": age + 5 * g.normal(size=400), "weight": age + 5 * g.normal(size=400)})
    frame.to_csv("by-age.csv", index=False)
    words = ["--data", "by-age.csv", "--x", "height", "--y", "weight", "--methods", "gcmi", "--within", "10"]
    assert advise.main(words) == 0
    printed, warned = capsys.readouterr()
    assert "rows that follow one another are alike in x and in y" in printed and "ARGS=--shuffle" in warned
    assert advise.main([*words, "--shuffle"]) == 0
    printed, warned = capsys.readouterr()
    assert "Hotelling" in printed and "follow one another" not in printed + warned


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--within", "soon"], "error: WITHIN must be a number of seconds, 10 or more, got 'soon'"),
        (["--within", "2"], "error: WITHIN must be a number of seconds, 10 or more, got '2'"),
        (["--methods", "gcmi,nsb"], "error: method must fit the types of x and y: nsb takes categories on both sides"),
        (["--seed", "-1"], "error: --seed must be a whole number of at least 0, got -1"),
        (["--methods", "kgs"], "error: method must be one of ksg"),
        (["--y", "no"], "error: Y must name what x is measured against|error: Y must name columns"),
    ],
)
def test_bad_input_is_one_sentence(here, capsys, words, message):
    assert advise.main(["--data", "own.csv", "--x", "a", *([] if "--y" in words else ["--y", "y"]), *words]) == 2
    said = capsys.readouterr().err
    assert any(said.startswith(one) for one in message.split("|")) and said.count("\n") == 1
    assert not (here / "runs").exists()
