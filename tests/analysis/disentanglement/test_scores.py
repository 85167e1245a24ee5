"""What the analyses of disentanglement share: evaluations, halves, variance components, names."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis.disentanglement._scores import better_half, components, evaluations, latest, named


def test_evaluations_are_in_their_order_and_of_one_score():
    runs = pd.DataFrame(
        {f"evaluation {e}/mig": [e, 10.0 * e] for e in (10, 2, 0)} | {"evaluation 0/mig_discretised": 9}
    )
    np.testing.assert_array_equal(evaluations(runs, "mig"), [[0, 2, 10], [0, 20, 100]])


def test_the_better_half_is_rounded_up_and_without_what_diverged():
    values = np.array([[0.1, 0.2], [np.nan, np.nan], [0.5, 0.6]])
    np.testing.assert_array_equal(better_half(values), [[0.5, 0.6], [0.1, 0.2]])


def test_components_by_hand():
    """Means 1 and 3, each from values a unit either side: between 2 * 2 = 4, within 2, so training (4 - 2) / 2 = 1."""
    found = components(np.array([[0.0, 2.0], [2.0, 4.0]]))
    assert (found.training, found.evaluation, found.share) == pytest.approx((1, 2, 1 / 3))
    assert found.low < found.share < found.high and found.verdict == "undecided"


def test_components_know_what_varies():
    """Intervals at 95 %: 40 data sets, of which fewer than 32 cover with a probability below 1e-5."""
    rng, covered = np.random.default_rng(0), 0
    for _ in range(40):
        found = components(rng.normal(0, 1, (6, 1)) + rng.normal(0, 0.5, (6, 6)))
        covered += found.low <= 0.8 <= found.high
    assert covered >= 32
    training = components(rng.normal(0, 1, (6, 1)) + rng.normal(0, 0.01, (6, 6)))
    evaluation = components(rng.normal(0, 1, (30, 6)))
    assert (training.verdict, evaluation.verdict) == ("holds", "does not hold")


def test_components_need_two_of_each():
    for values in (np.ones((1, 6)), np.ones((6, 1)), np.array([[1.0, math.nan], [1, 2]])):
        assert components(values).verdict == "undecided" and math.isnan(components(values).share)


def test_models_of_several_weights_are_told_apart():
    runs = pd.DataFrame({"model": ["beta-vae", "beta-vae", "ae"], "weight": [2.0, 4.0, None]})
    assert [*named(runs)] == ["beta-vae (beta 2)", "beta-vae (beta 4)", "ae"]
    assert [*named(runs[1:])] == ["beta-vae", "ae"]


def test_older_settings_are_left_out_and_said():
    runs = pd.DataFrame({"version": "1", "draws": [5, 9], "start": pd.to_datetime(["2026-01-01", "2026-02-01"])})
    kept, (note,) = latest(runs, ("draws",))
    assert [*kept["draws"]] == [9] and " 1 older" in note
