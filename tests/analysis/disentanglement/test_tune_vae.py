"""The best trials of a made-up search over weights and learning rates."""

import math

import pandas as pd
import pytest

from analysis.common.tables import save
from analysis.disentanglement.tune_vae import ANALYSIS
from tests.analysis.pictures import drawn, numbers
from tests.analysis.runs import RUN, analysed


@pytest.fixture
def analyse(monkeypatch):
    """A function: how many trials, of which so many stopped, by which criterion -> the
    result.
    """

    def run(number=14, stopped=4, criterion="unibound", **cell):
        rows = []
        for trial in range(number):
            row = dict(
                model="beta-tcvae", weight=1.0 + trial, learning_rate=1e-3 * (1 + trial), steps=100, seed=0,
                criterion=criterion, data="sprites-grid", resolution=32, every_orientation=1, every_position=1,
                judging_draws=100, draws=400, diverged=0.0,
            )  # fmt: skip
            row |= {
                "progress/criterion": 0.02 * trial,
                "progress/fraction": 1.0,
                "train/reconstruction": 30.0,
            }
            row |= {
                name: 0.5 - abs(trial - 6) / 20
                for name in ("unibound", "mig", "factor_vae", "beta_vae")
            }
            row |= {
                f"{name}_error": 0.01
                for name in ("unibound", "mig", "factor_vae", "beta_vae")
            } | cell
            if trial >= number - stopped:
                row |= {
                    "outcome": "stopped",
                    "progress/fraction": 0.3,
                    "unibound": math.nan,
                    "diverged": math.nan,
                }
            rows.append(RUN | row)
        trials = pd.DataFrame(rows)
        ended = trials[trials["outcome"] == "complete"]
        monkeypatch.setattr(
            "infoscope.tracking.runs", lambda name, profile, finished: trials
        )
        return analysed(ANALYSIS, ended)[0]

    return run


def test_trials_are_ranked_by_what_was_measured_and_not_by_the_judgement(
    analyse, tmp_path
):
    result = analyse()
    assert len(result.figures) == 14
    assert len(result.text) == 10
    assert result.figures["weight"].iloc[0] == 7
    assert {10, 4} <= set(numbers(result.caption))
    assert "needs the labels" in result.caption
    assert "Use weight 7" in result.finding
    assert "(UniBound 0.500 ± 0.010)" in result.finding
    assert "rate of 0.007" in result.caption
    assert drawn(save(result, tmp_path / "best"))


def test_without_labels_the_judgement_decides(analyse):
    result = analyse(stopped=0, criterion="elbo")
    assert result.figures["weight"].iloc[0] == 14
    assert "needs no labels" in result.caption
