"""independence_test of two variables, given a third: known dependence, several columns, groups, what is refused."""

import numpy as np
import pandas as pd
import pytest

from infoscope.estimators import Angle, Continuous, Discrete
from infoscope.estimators.independence import independence_test
from tests.refusals import refused

N = 400
RNG = np.random.default_rng(0)
Z = RNG.normal(size=(N, 2))
E, W = RNG.normal(size=(2, N))
X, Y = Z.sum(axis=1) + E, np.tanh(Z.sum(axis=1)) + 0.5 * W


def test_common_causes_are_seen_through():
    assert independence_test(X, Y).p_value < 1e-10
    assert independence_test(X, Y, Z).p_value > 0.05
    dependent = independence_test(X, Y + 0.3 * E, Z)
    assert dependent.p_value < 1e-6 and dependent.observed.low > 0
    assert independence_test(X, Y, Z[:, 0]).p_value < 1e-6


def test_what_is_not_decided_has_no_p_value_and_a_note():
    """The mean of x and y is a product of signs of three columns, of which any two are independent of it."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(800, 4))
    x, y = 2 * np.sign(z[:, 0] * z[:, 1] * z[:, 2]) + rng.normal(size=(2, 800))
    undecided = independence_test(x, y, z)
    assert np.isnan(undecided.p_value) and np.isfinite(undecided.observed.value)
    assert [(note.code, note.argument) for note in undecided.notes] == [("not decided", "z")]
    assert str(undecided).startswith(undecided.notes[0]) and "nan" not in str(undecided)
    assert independence_test(X, Y, Z).notes == ()


def test_information_of_normal_variables_is_their_own():
    found = independence_test(E, 0.5 * E + W).observed
    assert found.low <= np.log(1.25) / 2 <= found.high and found.value == pytest.approx(np.log(1.25) / 2, abs=0.05)
    beyond = independence_test(X, 0.5 * E + W + Z[:, 0], Z).observed
    assert beyond.low <= np.log(1.25) / 2 <= beyond.high


def test_one_column_of_several_is_enough_and_none_is_not():
    rng = np.random.default_rng(1)
    others = rng.normal(size=(N, 4))
    assert independence_test(np.column_stack([others, E**2]), E + W).p_value < 1e-3
    assert independence_test(others, W).p_value > 0.05
    assert independence_test(pd.DataFrame({"site": pd.cut(E, 3, labels=list("abc")), "w": W}), E).p_value < 1e-10


def test_groups_count_once():
    """What groups share is no dependence of their rows: 100 groups, with effects of their own in x and in y."""
    codes = np.repeat(np.arange(100), 4)
    rejected = []
    for seed in range(30):
        draws = np.random.default_rng(seed)
        x, y = (np.repeat(draws.normal(size=100), 4) + 0.5 * draws.normal(size=N) for _ in range(2))
        rejected.append([independence_test(x, y, groups=one).p_value <= 0.05 for one in (codes, np.arange(N))])
    with_groups, without = np.mean(rejected, axis=0)
    assert with_groups < 0.15 < without


def test_residuals_of_constants_are_independent():
    found = independence_test(E > 0, W, E > 0)
    assert found.p_value == 1.0 and found.observed.value == pytest.approx(0.0, abs=1e-6)
    assert "p = 1" in str(found)


@pytest.mark.parametrize(
    ("arguments", "name", "code"),
    [
        ((np.ones(N), W), "x", "constant"),
        ((E, W[:-1]), "x and y", "length"),
        ((E, np.where(W > 1, np.nan, W)), "y", "missing"),
        ((E, [f"row {place}" for place in range(N)]), "y", "constant"),
        ((E[:3], W[:3]), "x and y", "few"),
    ],
)
def test_bad_input_is_refused(arguments, name, code):
    with refused(name, code):
        independence_test(*arguments)


def test_a_constant_condition_changes_nothing():
    alone = independence_test(E, E + W)
    for constant in (np.ones(N), np.column_stack([np.ones(N), np.zeros(N)])):
        assert independence_test(E, E + W, constant).p_value == alone.p_value
    assert independence_test(X, Y, np.column_stack([Z, np.ones(N)])).p_value == independence_test(X, Y, Z).p_value


def test_many_columns_need_no_table_of_all_their_products():
    """30 columns of x and of y: 240² products, whose covariance would take 27 GB."""
    wide, other = np.random.default_rng(1).normal(size=(2, 300, 30))
    assert independence_test(wide, other, groups=np.arange(300) // 2).p_value > 0.001


def test_categories_without_frequent_classes_are_tested_within_groups_and_as_a_condition():
    """40 categories of 300 rows: no class has sqrt(n) rows, so the coarse resolutions have no function."""
    rng, sites = np.random.default_rng(2), 40
    site = rng.integers(0, sites, 300)
    names = np.char.add("site ", site.astype(str))
    x = rng.normal(size=300)
    y = 2 * rng.normal(size=sites)[site] + x + rng.normal(size=300)
    assert 0 < independence_test(x, names, groups=np.arange(300) // 5).p_value < 1
    assert independence_test(x, y, names).p_value < 1e-6
    assert independence_test(x, y, names, groups=np.arange(300) // 5).p_value < 1e-6


@pytest.mark.parametrize("groups", [None, np.arange(300) // 3])
def test_order_of_rows_and_names_change_no_p_value(groups):
    """Given a category of equal classes, so that their order is nobody's; groups have other names, too."""
    rng = np.random.default_rng(0)
    site = np.arange(300) % 30
    z, x = rng.normal(size=(2, 300))
    y = z**2 + x * (site % 2) + rng.normal(size=300)
    order, names, of_groups = rng.permutation(300), rng.permutation(30), rng.permutation(100)
    moved = None if groups is None else of_groups[groups][order]
    first = independence_test(x + z, y, [Continuous(z), Discrete(site)], groups)
    renamed = [Continuous(z[order]), Discrete(names[site][order])]
    second = independence_test((x + z)[order], y[order], renamed, moved)
    assert first.p_value < 0.05 and second.p_value == pytest.approx(first.p_value, rel=1e-6)
    assert second.observed.value == pytest.approx(first.observed.value, rel=1e-6)


def test_an_angle_may_start_anywhere():
    rng = np.random.default_rng(1)
    hour, other = rng.uniform(0, 24, (2, N))
    y = np.cos(hour * np.pi / 12) + np.cos(other * np.pi / 12) + W
    found = [
        independence_test([Angle((hour + shift) % 24, 24), Continuous(E)], y, Angle((other + shift) % 24, 24)).p_value
        for shift in (0, 7.3)
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-6)
