"""The table of a search on made-up trials."""

import argparse
import math

import pandas as pd
import pytest

from analysis.common.tables import save
from analysis.partition import tune_domain
from tests.analysis.pictures import drawn
from tests.analysis.runs import RUN

PROFILE = argparse.Namespace(profile="laptop")


def trials(selection="training-domain-validation"):
    """The trial with the best judgement was stopped early, so the best of the others is
    recommended.
    """
    rows = []
    for number, (judged, outcome) in enumerate(
        [(0.8, "complete"), (0.9, "stopped"), (0.85, "complete")]
    ):
        measured = math.nan if outcome == "stopped" else judged - 0.1
        rows.append(RUN | {
            "run_id": str(number), "model": "dann", "selection": selection, "data": "crmnist", "base": "mnist",
            "size": 16, "sample": 100, "steps": 200, "held_out": 5, "seed": 0, "outcome": outcome,
            "start": RUN["start"] + pd.Timedelta(number, "s"),
            "config.adversary.weight": 10.0**number, "config.network.width": 16, "progress/criterion": judged,
            "progress/fraction": 0.3 if outcome == "stopped" else 1.0, "in_domain_accuracy/average": measured,
            "in_domain_accuracy/average_error": 0.01, "out_of_domain_accuracy/average": measured,
            "out_of_domain_accuracy/average_error": 0.02,
        })  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize("selection", tune_domain.RULES)
def test_the_best_finished_trial_is_recommended_and_the_rule_named(
    selection, monkeypatch, tmp_path
):
    frame = trials(selection)
    monkeypatch.setattr(
        "infoscope.tracking.runs", lambda experiment, profile, finished: frame
    )
    (result,) = tune_domain.analyse(frame[frame["outcome"] == "complete"], PROFILE)
    text = result.text
    assert list(text["weight of the adversary"]) == ["100", "1", "10"]
    assert "network.width" not in text
    assert text["steps"].iloc[-1] == "60 (stopped)"
    assert text["held-out domain"].iloc[-1] == "stopped"
    assert "the best has weight of the adversary 100 (" in result.finding
    # 0.05 apart; of held-out items the error is twice as large
    assert ("equal within error: trials 2" in result.finding) == (selection == "oracle")
    assert f"({selection})" in result.caption
    assert ("no fair score" in result.caption) == (selection == "oracle")
    assert selection == "oracle" or drawn(save(result, tmp_path / "table"))
