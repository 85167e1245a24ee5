"""The tables of the exam of the advice, on made-up runs."""

import argparse
import math

import pandas as pd
import pytest

from analysis.common.tables import save
from analysis.sample_estimators import advise
from analysis.sample_estimators.advise import analyse, by_collection, pooled
from tests.analysis.pictures import drawn

NOBODY = argparse.Namespace()


def run(law="a", collection="late", sets=4, answered=4, covered=3, block=0, **figures):
    return {
        "run_id": law + str(block), "collection": collection, "law": law, "n": 1000, "block": block, "sets": sets,
        "within": 60.0, "truth": 1.0, "answered": answered, "nothing": 0, "refused": sets - answered,
        "covered": covered, "hopeless": 0, "advice_seconds": 20.0, "width": 0.2, "squared_error": 0.04,
        "squared_error_of_chosen": 0.09, "squared_error_of_ksg": 0.25, "squared_error_of_gcmi": 0.01,
        "intervals_of_ksg": sets, "covered_by_ksg": 1, "intervals_of_gcmi": sets, "covered_by_gcmi": sets,
        "version": "1", "profile": "made-up", "tags": {}, "start": pd.Timestamp("2026-01-01"),
    } | figures  # fmt: skip


def test_blocks_are_pooled_and_the_oracle_is_the_best_candidate():
    (row,) = pooled(pd.DataFrame([run(), run(block=1, squared_error=0.08)])).to_dict("records")
    assert (row["sets"], row["answered"], row["covered"]) == (8, 8, 6)
    assert row["squared_error"] == pytest.approx(0.06)
    assert row["oracle"] == "gcmi" and row["squared_error_of_oracle"] == pytest.approx(0.01)


def test_who_always_takes_one_estimator_stands_beside():
    laws = pooled(pd.DataFrame([run(), run("b", answered=0, covered=0, width=math.nan)]))
    rows = by_collection(laws).set_index("who")
    assert rows.loc["advise", "answered"] == 4 and rows.loc["advise", "refused"] == 4
    assert rows.loc["advise", "rmse_of_chosen"] == pytest.approx(0.3)
    assert rows.loc["always ksg", "covered"] == 2 and rows.loc["always ksg", "answered"] == 8
    assert rows.loc["always gcmi", "rmse"] == pytest.approx(0.1)


def test_shares_have_intervals_and_no_answer_is_said(monkeypatch, tmp_path):
    sets = pd.DataFrame({"verdict": ["answered", "refused"], "low": [0.8, math.nan], "high": [1.1, math.nan]})
    monkeypatch.setattr(advise, "table", lambda run_id, name: sets)
    verdicts, laws = analyse(pd.DataFrame([run(), run("b", answered=0, covered=0)]), NOBODY)
    text = verdicts.text.set_index("who")
    assert text.loc["advise", "reliable but wrong"] == "25 % (1 to 81)"
    assert text.loc["advise", "of these hopeless"] == "0 of 4"
    assert laws.text["best in hindsight"].tolist() == ["gcmi 0.100", ""]
    assert drawn(save(verdicts, tmp_path / "verdicts"))
