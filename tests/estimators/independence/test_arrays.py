"""independence_test of two variables, given a third: known dependence, several columns,
groups, what is refused.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators import Angle, Continuous, Discrete
from infoscope.estimators.independence import independence_test
from tests.refusals import refused

N = 400
RNG = default_rng(0)
Z = RNG.normal(size=(N, 2))
E, W = RNG.normal(size=(2, N))
X = Z.sum(axis=1) + E
Y = np.tanh(Z.sum(axis=1)) + 0.5 * W


def test_common_causes_are_seen_through():
    assert independence_test(X, Y).p_value < 1e-10
    assert independence_test(X, Y, Z).p_value > 0.05
    assert independence_test(X, Y, Z[:, 0]).p_value < 1e-6
    dependent = independence_test(X, Y + 0.3 * E, Z)
    assert dependent.p_value < 1e-6
    assert dependent.observed.low > 0


def test_what_is_not_decided_has_no_p_value_and_a_note():
    """The mean of x and y is a product of signs of three columns, of which any two are
    independent of it.
    """
    rng = default_rng(0)
    z = rng.normal(size=(800, 4))
    signs = np.sign(z[:, :3].prod(axis=1))
    x, y = 2 * signs + rng.normal(size=(2, 800))
    undecided = independence_test(x, y, z)
    assert np.isnan(undecided.p_value)
    assert np.isfinite(undecided.observed.value)
    (note,) = undecided.notes
    assert note.code == "not decided"
    assert note.argument == "z"
    assert "nan" not in str(undecided)
    dependent = y + 2 * (x - 2 * signs)
    assert independence_test(x, dependent, z).p_value < 1e-6


@pytest.mark.parametrize(
    ("x", "y", "z"),
    [(E, 0.5 * E + W, None), (X, 0.5 * E + W + Z[:, 0], Z)],
    ids=["pair", "given z"],
)
def test_information_of_normal_variables_is_their_own(x, y, z):
    truth = np.log(1.25) / 2
    observed = independence_test(x, y, z).observed
    assert observed.low <= truth <= observed.high
    assert observed.value == approx(truth, abs=0.05)


def test_one_column_of_several_is_enough_and_none_is_not():
    others = default_rng(1).normal(size=(N, 4))
    with_square = np.column_stack([others, E**2])
    assert independence_test(with_square, E + W).p_value < 1e-3
    assert independence_test(others, W).p_value > 0.05
    thirds = pd.cut(E, 3, labels=["low", "middle", "high"])
    table = pd.DataFrame({"third": thirds, "w": W})
    assert independence_test(table, E).p_value < 1e-10


def test_what_groups_share_is_no_dependence_of_their_rows():
    """100 groups, with effects of their own in x and in y."""
    groups = np.repeat(np.arange(100), 4)
    with_groups = 0
    without = 0
    for seed in range(30):
        rng = default_rng(seed)
        levels = rng.normal(size=(2, 100))
        noise = rng.normal(size=(2, N))
        x, y = levels[:, groups] + 0.5 * noise
        grouped = independence_test(x, y, groups=groups)
        of_rows = independence_test(x, y, groups=np.arange(N))
        with_groups += grouped.p_value <= 0.05
        without += of_rows.p_value <= 0.05
    assert with_groups < 4.5 < without


def test_residuals_of_constants_are_independent():
    result = independence_test(E > 0, W, E > 0)
    assert result.p_value == 1.0
    assert result.observed.value == approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("x", "y", "argument", "code"),
    [
        (np.ones(N), W, "x", "constant"),
        (E, W[:-1], "x and y", "length"),
        (E, [f"row {place}" for place in range(N)], "y", "constant"),
        (E[:3], W[:3], "x and y", "few"),
    ],
)
def test_bad_input_is_refused(x, y, argument, code):
    with refused(argument, code):
        independence_test(x, y)


def test_a_constant_condition_changes_nothing():
    constant = np.ones(N)
    alone = independence_test(E, E + W)
    assert independence_test(E, E + W, constant).p_value == alone.p_value
    given_z = independence_test(X, Y, Z)
    with_constant = np.column_stack([Z, constant])
    assert independence_test(X, Y, with_constant).p_value == given_z.p_value


def test_many_columns_need_no_table_of_all_their_products():
    """30 columns of x and of y: 240² products, whose covariance would take 27 GB."""
    x, y = default_rng(1).normal(size=(2, 300, 30))
    groups = np.arange(300) // 2
    assert independence_test(x, y, groups=groups).p_value > 0.001


def test_categories_without_frequent_classes_are_tested_within_groups_and_as_a_condition():
    """40 categories of 300 rows: no class has sqrt(n) rows, so the coarse resolutions
    have no function.
    """
    rng = default_rng(2)
    codes = rng.integers(0, 40, 300)
    site = Discrete(codes)
    level = 2 * rng.normal(size=40)
    x, noise = rng.normal(size=(2, 300))
    y = level[codes] + x + noise
    groups = np.arange(300) // 5
    assert 0 < independence_test(x, site, groups=groups).p_value < 1
    for units in (None, groups):
        assert independence_test(x, y, site, groups=units).p_value < 1e-6


@pytest.mark.parametrize("grouped", [False, True])
def test_order_of_rows_and_names_change_no_p_value(grouped):
    """Given a category of equal classes, whose order is arbitrary; groups have other
    names, too.
    """
    rng = default_rng(0)
    site = np.arange(300) % 30
    z, noise_x, noise_y = rng.normal(size=(3, 300))
    x = noise_x + z
    y = z**2 + noise_x * (site % 2) + noise_y
    groups = None
    other_groups = None
    order = rng.permutation(300)
    if grouped:
        groups = np.arange(300) // 3
        other_groups = rng.permutation(100)[groups][order]
    first = independence_test(x, y, [Continuous(z), Discrete(site)], groups)
    other_site = rng.permutation(30)[site][order]
    condition = [Continuous(z[order]), Discrete(other_site)]
    second = independence_test(x[order], y[order], condition, other_groups)
    assert first.p_value < 0.05
    assert second.p_value == approx(first.p_value, rel=1e-6)
    assert second.observed.value == approx(first.observed.value, rel=1e-6)


def test_an_angle_may_start_anywhere():
    hours, other_hours = default_rng(1).uniform(0, 24, (2, N))
    turn = np.pi / 12
    y = np.cos(turn * hours) + np.cos(turn * other_hours) + W

    def p_value(shift):
        x = Angle((hours + shift) % 24, 24)
        condition = Angle((other_hours + shift) % 24, 24)
        return independence_test([x, Continuous(E)], y, condition).p_value

    assert p_value(7.3) == approx(p_value(0), rel=1e-6)
