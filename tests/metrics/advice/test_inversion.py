"""The inversion on laws of figures that are known: what is possible holds the truth as often as it says."""

import numpy as np
import pytest

from infoscope.metrics.advice.inversion import around, fitted, levels_of

CORRELATED = np.linalg.cholesky([[1.0, 0.8, 0.1], [0.8, 1.0, 0.2], [0.1, 0.2, 1.0]])


def figures(levels, g, spread=0.05):
    """Three correlated figures that bend with the level, each in its own way."""
    levels = np.asarray(levels)
    means = np.stack([0.9 * levels, np.sqrt(levels + 0.1), 0.3 * levels**2], axis=-1)
    return means + spread * g.normal(size=(len(levels), 3)) @ CORRELATED.T


def fit(truth, g, off=0.0):
    levels = np.repeat(np.linspace(0.2, 1.0, 6), 8)
    return fitted(levels, figures(levels, g), figures([truth], g)[0] + off)


def test_possible_levels_hold_the_truth():
    """At least 93 % are aimed at: 400 fits with fewer than 358 would be a false alarm in a thousand."""
    g = np.random.default_rng(0)
    held = 0
    for truth in np.tile([0.4, 0.6, 0.8], 134)[:400]:
        possible = fit(truth, g).possible()
        held += possible[0] - 1e-3 <= truth <= possible[-1] + 1e-3
    assert held >= 358


def test_figures_of_no_level_are_like_none():
    g = np.random.default_rng(1)
    like = [fit(0.6, g).like for _ in range(200)]
    unlike = [fit(0.6, g, off=np.array([0.0, 0.3, 0.0])) for _ in range(20)]
    assert np.mean(like) > 0.95  # 99 % are aimed at: a false alarm in 10,000
    assert not any(one.like for one in unlike)
    assert {one.worst[0] for one in unlike} <= {0, 1} and unlike[0].worst[1] > 2


def test_a_family_that_is_nearer_leaves_less_to_the_others():
    one = fit(0.6, np.random.default_rng(2))
    assert len(one.possible(one.distance - one.rise - 1.0)) == 0
    assert len(one.possible(one.distance - 0.5 * one.rise)) < len(one.possible())


def test_a_wider_spread_leaves_more_levels():
    levels = np.repeat(np.linspace(0.2, 1.0, 6), 8)
    g = np.random.default_rng(3)
    drawn, observed = figures(levels, g), figures([0.6], g)[0]
    one, two = (np.ptp(fitted(levels, drawn, observed, wider).possible()) for wider in (1.0, 2.0))
    assert two > 1.5 * one


def test_one_level_is_one_level():
    g = np.random.default_rng(4)
    found = fitted(np.zeros(12), figures(np.zeros(12), g), figures([0.0], g)[0])
    assert found.best == 0.0 and found.like and found.possible().tolist() == [0.0]


def test_levels_lie_between_the_least_and_the_reach():
    assert levels_of(0.0, 10.0, 7, 3.0)[[0, -1]] == pytest.approx([0.0, 3.0])
    assert levels_of(0.4, 0.4, 7, 3.0).tolist() == [0.4]
    finer = around(fit(0.6, np.random.default_rng(5)), 0.5, 0.7, 5)
    assert 0.5 <= finer.min() <= finer.max() <= 0.7 and len(finer) == 5
