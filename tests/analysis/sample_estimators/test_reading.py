"""Tables of readings and of simulated data sets, on made-up runs."""

import hashlib
import json
import math

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from analysis.sample_estimators import reading, simulations
from infoscope.estimators.reading import figures, figures_conditional, simulated


def made_up(sets=60):
    generator = np.random.default_rng(0)
    truth = np.where(np.arange(sets) % 4, generator.uniform(0.2, 2, sets), 0.0)
    value = truth + 0.02
    half = np.where(np.arange(sets) % 3, 0.05, 0.6)
    return pd.DataFrame({
        "number": np.arange(sets), "n": 1000, "type": np.where(np.arange(sets) % 2, "numbers", "labels"),
        "families": "normal", "family": np.where(np.arange(sets) < 20, "normal", "rings"), "columns_x": 2,
        "columns_y": np.where(np.arange(sets) % 5, 1, 30), "tied": False, "idle": 0, "truth": truth, "value": value,
        "low": np.maximum(value - half, 0), "high": value + half, "grade": np.where(half > 0.5, "B", "A"),
        "covered": np.arange(sets) != 1, "baseline": truth, "ksg": np.where(np.arange(sets) % 2, truth - 0.3, np.nan),
        "gcmi": truth - 0.1, "truth_error": 0.0,
    }).assign(columns=lambda table: table["columns_x"] + table["columns_y"], ties="tied")  # fmt: skip


def test_a_row_counts_distributions_and_the_last_is_of_all():
    figures = reading.summarised(made_up(), ["family"]).set_index("family")
    assert list(figures.index) == ["normal", "rings", "all"]
    assert list(figures["sets"]) == [20, 40, 60]
    assert list(figures["covered"]) == [19, 40, 59]
    assert figures.loc["all", "grade_a"] == 40
    assert list(figures["wrong_a"]) == [1, 0, 1]
    assert figures.loc["all", "rmse"] == approx(0.02)
    assert figures.loc["all", "rmse_ksg"] == approx(0.3)
    assert figures.loc["all", "rmse_gcmi"] == approx(0.1)
    assert figures.loc["all", "width_a"] == approx(0.1, abs=0.03)


def test_a_reader_is_judged_by_shares_of_data_sets():
    """Of 60 data sets one, of the family normal and of grade B, misses the truth."""
    figures = reading.judged(made_up()).set_index("measure")
    assert list(figures.loc["interval contains the truth", ["hits", "of"]]) == [59, 60]
    assert list(
        figures.loc["interval contains the truth, worst family: rings", ["hits", "of"]]
    ) == [40, 40]
    text = reading.judged_text(figures.reset_index()).set_index("measure")
    # 98.3 % is above 98 %
    assert text.loc["interval contains the truth", "met"] == "no"
    assert text.loc["wrong, of grade A", "target"] == "at most 5 %"


def test_a_reader_of_triples_is_judged_by_columns_of_z_and_beside_ksg(tmp_path):
    sets = made_up().assign(columns_z=np.arange(60) % 12 + 1)
    figures = reading.judged_given(sets).set_index("measure")
    assert list(
        figures.loc["interval contains the truth, columns of z: 1", ["hits", "of"]]
    ) == [5, 5]
    # labels have no ksg
    assert list(figures.loc["types with a lower RMSE than ksg", ["hits", "of"]]) == [
        1,
        2,
    ]
    results = reading.of_collection(sets, "code", [])
    assert [result.name for result in results] == [
        "given-judged",
        "given-families",
        "given-cells",
    ]
    reading.draw(sets, reading.GIVEN_EDGES, tmp_path / "given.png")
    assert (tmp_path / "given.png").stat().st_size > 10_000


@pytest.mark.parametrize("transfers, name", [(False, "series"), (True, "transfers")])
def test_a_reader_of_series_is_judged_by_their_memory(transfers, name, tmp_path):
    sets = made_up().assign(
        type="series of numbers", memory=np.where(np.arange(60) % 2, 0.3, 0.92)
    )
    if transfers:
        sets = sets.assign(columns_z=1)
    figures = reading.judged_series(sets).set_index("measure")
    below = "interval contains the truth, lag-one correlation below 0.5"
    assert list(figures.loc[below, ["hits", "of"]]) == [29, 30]
    slow = "called dependent, nothing shared, lag-one correlation above 0.9"
    assert list(figures.loc[slow, ["hits", "of"]]) == [0, 15]
    results = reading.of_series(sets, "code", [])
    assert [result.name for result in results] == [
        f"{name}-{part}" for part in ("judged", "families", "cells")
    ]
    reading.draw(sets, reading.SERIES_EDGES, tmp_path / "series.png")
    assert (tmp_path / "series.png").stat().st_size > 10_000


def test_an_answer_is_usable_where_its_interval_is_no_wider_than_the_estimate():
    sets = pd.DataFrame({
        "value": [0.1, 0.1, 1.0, 3.0, 0.1], "low": 0.0, "high": [0.28, 0.30, 0.9, 2.0, 0.1], "grade": list("BBAAC"),
    })  # fmt: skip
    assert list(reading.is_usable(sets)) == [True, False, True, False, False]


def test_the_exam_takes_data_sets_that_all_methods_measured(monkeypatch):
    runs = pd.DataFrame([
        {"run_id": method, "collection": "edges", "law": "step", "n": 500, "block": 0, "method": method,
         "true_nats": 0.5}
        for method in ("reading", "ksg", "gcmi", "lnc")
    ])  # fmt: skip
    sets = {
        "reading": pd.DataFrame(
            {"value": [0.5, 0.9], "low": [0.45, 0.8], "high": [0.55, 1.0]}
        ),
        **{
            name: pd.DataFrame({"value": [0.3, 0.4], "low": np.nan, "high": np.nan})
            for name in ("ksg", "gcmi", "lnc")
        },
    }
    monkeypatch.setattr(reading, "runs_of", lambda _: runs)
    monkeypatch.setattr(reading, "newest", lambda runs, _: (runs, []))
    monkeypatch.setattr(reading, "table", lambda run_id, _: sets[run_id])
    exam = reading.exam()
    assert list(exam["covered"]) == [True, False]
    assert list(exam["grade"]) == ["A", "A"]
    assert list(exam["ksg"] * math.log(2)) == approx([0.3, 0.4])
    assert len(exam) == 2


@pytest.mark.parametrize(
    "names", [figures.NAMES, figures_conditional.NAMES], ids=["pairs", "triples"]
)
def test_simulated_data_sets_are_kept_in_one_file_and_described(tmp_path, names):
    """The description has each file with its digest, and a field for each column of it."""
    values = pd.DataFrame(0.5, index=range(6), columns=list(names))
    sets = pd.concat([made_up(6).drop(columns=["ksg", "gcmi"]), values], axis=1)
    if names is figures_conditional.NAMES:
        sets = sets.assign(columns_z=3)
    path = simulations.keep(sets, tmp_path / "kept")
    stored = simulated.load([path])
    assert len(stored) == 6
    assert list(stored.facts["truth"]) == list(sets["truth"])
    assert (stored.figures == 0.5).all()
    described = json.loads((path.parent / "croissant.json").read_text(encoding="utf-8"))
    (file,) = described["distribution"]
    (records,) = described["recordSet"]
    assert file["contentUrl"] == path.name
    assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    columns = [field["source"]["extract"]["column"] for field in records["field"]]
    assert columns == list(pd.read_parquet(path).columns)
    for field in records["field"]:
        assert field["description"]
