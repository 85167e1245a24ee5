"""What the analyses of disentanglement share: evaluations, halves, variance components,
names.
"""

import math

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from analysis.disentanglement._scores import components, crossed, named


def test_components_by_hand():
    """Means 1 and 3, each from values a unit either side: between 2 * 2 = 4, within 2,
    so training (4 - 2) / 2 = 1.
    """
    variance = components(np.array([[0.0, 2.0], [2.0, 4.0]]))
    assert variance.training == approx(1)
    assert variance.evaluation == approx(2)
    assert variance.share == approx(1 / 3)
    assert variance.low < variance.share < variance.high
    assert variance.verdict == "undecided"


def test_components_know_what_varies():
    """Intervals at 95 %: 40 data sets, of which fewer than 32 cover with a probability
    below 1e-5.
    """
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(40):
        variance = components(rng.normal(0, 1, (6, 1)) + rng.normal(0, 0.5, (6, 6)))
        covered += variance.low <= 0.8 <= variance.high
    assert covered >= 32
    training = components(rng.normal(0, 1, (6, 1)) + rng.normal(0, 0.01, (6, 6)))
    evaluation = components(rng.normal(0, 1, (30, 6)))
    assert training.verdict == "confirmed"
    assert evaluation.verdict == "contradicted"


def test_components_need_two_of_each():
    for values in (
        np.ones((1, 6)),
        np.ones((6, 1)),
        np.array([[1.0, math.nan], [1, 2]]),
    ):
        assert components(values).verdict == "undecided"
        assert math.isnan(components(values).share)


def test_models_of_several_weights_are_told_apart():
    runs = pd.DataFrame(
        {"model": ["beta-vae", "beta-vae", "ae"], "weight": [2.0, 4.0, None]}
    )
    assert [*named(runs)] == ["beta-vae (beta 2)", "beta-vae (beta 4)", "ae"]
    assert [*named(runs[1:])] == ["beta-vae", "ae"]


@pytest.mark.parametrize(
    "excess, text", [(0.1, " (cross by 0.100 ± 0.020)"), (-0.1, ""), (math.nan, "")]
)
def test_bounds_that_cross_are_named(excess, text):
    assert crossed(excess, 0.02) == text
