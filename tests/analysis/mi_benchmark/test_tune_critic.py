"""The best trials of a made-up search: ranks, early stops, and what is recommended."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis.common.tables import save
from analysis.mi_benchmark.tune_critic import ANALYSIS, comparison
from tests.analysis.pictures import drawn, numbers
from tests.analysis.runs import analysed

BOUNDS = ("dv", "js", "smile-5")
MSE = "second_half_mse_bits2 at 2 bits"


@pytest.fixture
def analyse(made_up, monkeypatch):
    """A function: trials -> results, with the record holding the trials that were
    stopped early too.
    """

    def run(number=24, stopped=8, error=0.004, margin=0.1, diverged=False):
        rng = np.random.default_rng(5)
        rates = 10 ** rng.uniform(-4, -2, number)
        cells = [
            dict(
                domain="images",
                bound=BOUNDS[i % 3],
                learning_rate=rates[i],
                depth=1 + i % 4,
                batch=32 + 32 * (i % 2),
            )
            for i in range(number)
        ]
        trials = made_up(cells)
        # what matters is the learning rate (best at 1e-3), and a little the estimator
        of_rate = 0.4 * np.abs(np.log10(rates) + 3)
        error_of = 0.1 + of_rate + margin * trials["bound"].map(BOUNDS.index)
        trials[MSE] = math.nan if diverged else error_of
        trials[MSE.replace(" at", "_error at")] = error
        trials["progress/recent_mse_bits2"] = math.nan if diverged else error_of * 1.1
        late = trials.index >= number - stopped
        trials["progress/fraction"] = np.where(late, 0.3, 1.0)
        trials.loc[late, "outcome"] = "stopped"
        trials.loc[late, [name for name in trials if name.endswith(" at 2 bits")]] = (
            math.nan
        )
        ended = trials[~late]
        monkeypatch.setattr(
            "infoscope.tracking.runs",
            lambda experiment, profile, finished=True: ended if finished else trials,
        )
        return analysed(ANALYSIS, ended), trials

    return run


def test_the_best_ten_in_order_with_the_estimator_to_use(analyse, tmp_path):
    (best,), trials = analyse()
    assert len(best.text) == 10
    assert len(best.figures) == 24
    errors = best.figures["second_half_mse_bits2"].dropna()
    assert errors.is_monotonic_increasing
    assert len(errors) == 16
    first = trials.loc[trials[MSE].idxmin()]
    assert f"use {first['bound']} with" in best.caption
    assert {16, 8} <= set(numbers(best.caption))  # to their end, stopped early
    assert drawn(save(best, tmp_path / "best"))


def test_the_best_is_scored_again_on_unseen_pairs(analyse):
    (best,), trials = analyse()
    row = best.figures.iloc[0]
    first = trials.loc[trials[MSE].idxmin()]
    assert row["unseen_bias_bits"] == pytest.approx(
        abs(2 - first["held_out_large_batch_bits at 2 bits"])
    )
    assert (
        best.text["|truth - unseen| (bits)"].iloc[0]
        == f"{row['unseen_bias_bits']:.3f} ± 0.020"
    )


def test_estimators_are_compared_by_their_error_on_unseen_pairs():
    trials = pd.DataFrame({"bound": ["dv", "js"], "unseen_bias_bits": [1.0, 1.3]})
    text = comparison(trials.assign(unseen_bias_bits_error=0.1))
    assert text.endswith("is +0.300 bits (95 %: +0.023 to +0.577) for js")
