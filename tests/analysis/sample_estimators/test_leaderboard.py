"""The leaderboard: medians over distributions, errors beside the baseline's on the same
data, who is ranked.
"""

import math

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from analysis.common.tables import save
from analysis.sample_estimators import leaderboard
from tests.analysis.pictures import drawn

# by method and distribution
ERRORS = {
    "ksg": (0.1, 0.2, 0.4, 0.8),
    "half": (0.05, 0.1, 0.2, 0.4),
    "mine:new": (0.3,),
}


@pytest.fixture
def figures():
    rows = [
        {
            "collection": "everyday", "law": f"law {place}", "n": 500, "method": method, "truth": 1.0,
            "answered": 4, "asked": 4, "squared_error": error**2, "width": 0.5, "seconds": 1.0 + place,
            "intervals": 0 if method == "half" else 4, "covered": 0 if method == "half" else place,
        }
        for method, errors in ERRORS.items()
        for place, error in enumerate(errors)
    ]  # fmt: skip
    refused = dict(
        rows[0], method="half", law="law 5", answered=0, squared_error=math.nan
    )
    return pd.DataFrame([*rows, refused])


def test_a_method_is_described_by_its_distributions_alike(figures):
    ranked = leaderboard.ranking(figures).set_index("method")
    assert list(ranked.index) == ["half", "ksg", "mine:new"]  # ratios .5, 1 and 3
    ksg = ranked.loc["ksg"]
    assert ksg["rmse"] == approx(np.median(ERRORS["ksg"]))
    assert ksg["distributions"] == 4
    assert ksg["coverage"] == approx(np.mean([0, 0.25, 0.5, 0.75]))
    assert ksg["coverage_error"] == approx(np.std([0, 0.25, 0.5, 0.75], ddof=1) / 2)
    assert ranked.loc["half", "ratio"] == approx(0.5)
    assert ksg["ratio"] == approx(1)
    # of the one distribution that it answered
    assert ranked.loc["mine:new", "ratio"] == approx(3)
    assert ranked["by"].to_dict() == {
        "ksg": "ours",
        "half": "ours",
        "mine:new": "yours",
    }


def test_who_answered_few_is_named_below(figures, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = leaderboard.result(figures, "provenance", ["left out"])
    assert list(result.text["method"]) == ["half", "ksg"]
    assert "mine:new (1)" in result.caption
    assert "provenance" in result.caption
    assert "left out" in result.caption
    assert list(result.text["answered"]) == ["4 of 5", "4 of 5"]
    assert list(result.text["coverage"])[0] == "no interval"
    assert drawn(save(result, tmp_path / "table"))
