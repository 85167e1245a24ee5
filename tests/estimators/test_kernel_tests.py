"""Kernel tests of independence: closed forms of categories, direct sums, levels and what they find."""

from itertools import permutations

import numpy as np
import pytest

from infoscope.estimators.kernel_tests import centred, gram, hsic_test, kcit_test
from infoscope.estimators.knn import Continuous, Discrete
from tests.estimators.samples import draws, sample_of
from tests.refusals import refused

WITHIN, WHOLES = "rows within a group", "whole groups"


def test_hsic_of_categories_is_the_squared_distance_of_two_tables():
    """With kernels of equality HSIC is the sum over cells of (p(a, b) - p(a) p(b))^2."""
    x, y = draws(1).integers(0, 3, 90), draws(2).integers(0, 4, 90)
    y[x == 1] = 2
    table = np.zeros((3, 4))
    np.add.at(table, (x, y), 1 / 90)
    expected = ((table - table.sum(axis=1, keepdims=True) * table.sum(axis=0)) ** 2).sum()
    assert hsic_test(x, y, permutations=1).observed == pytest.approx(expected, rel=1e-12)


def test_the_kernel_has_the_median_width_and_multiplies_with_equality():
    x, label = draws(3).normal(size=(40, 2)), draws(4).integers(0, 2, 40)
    side = sample_of([Continuous(x), Discrete(label)], draws(5).normal(size=40)).variables[0]
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    apart = np.sqrt(((scaled[:, None] - scaled) ** 2).sum(axis=-1))
    width = np.median(apart[np.triu_indices(40, 1)])
    expected = np.where(label[:, None] == label, np.exp(-((apart / width) ** 2) / 2), 0)
    np.testing.assert_allclose(gram(side), expected, atol=1e-12)
    h = np.eye(40) - 1 / 40
    np.testing.assert_allclose(centred(expected), h @ expected @ h, atol=1e-12)


@pytest.mark.parametrize("null", ["permutation", "gamma"])
def test_hsic_has_its_level_and_finds_a_circle(null):
    """200 tests without dependence: P(p <= 0.1) is 0.1 and 36 or more have probability 0.0004."""
    found = [hsic_test(draws(s).normal(size=40), draws(s + 900).normal(size=(40, 2)), null, 39, draws(s)).p_value
             for s in range(200)]  # fmt: skip
    assert 6 < np.sum(np.array(found) <= 0.1) < 36 and np.mean(found) == pytest.approx(0.5, abs=0.09)
    angle = draws(8).uniform(0, 2 * np.pi, 150)
    assert hsic_test(np.cos(angle), np.sin(angle), null).p_value <= 0.005  # no correlation at all


def test_the_gamma_law_is_that_of_the_permutations():
    x, y = draws(10).normal(size=300), draws(11).exponential(size=300)
    null = hsic_test(x, y, permutations=999).null
    by_law = hsic_test(x, y, "gamma")
    assert by_law.p_error == 0 and len(by_law.null) == 0
    assert by_law.p_value == pytest.approx((null >= by_law.observed.value).mean(), abs=0.06)


def given(n, seed, effect, dim=1):
    g = draws(seed)
    z = g.normal(size=(n, dim))
    x = z[:, 0] + 0.7 * g.normal(size=n)
    return x, np.tanh(z[:, 0]) + effect * (x - z[:, 0]) + 0.7 * g.normal(size=n), z


def test_kcit_leaves_a_common_cause_and_finds_a_direct_one():
    """60 tests without dependence at n = 120: 14 or more of p <= 0.1 have probability 0.003 at the level."""
    found = np.array([kcit_test(*given(120, s, 0.0)).p_value for s in range(60)])
    assert np.sum(found <= 0.1) < 14
    assert np.mean([kcit_test(*given(150, s, 0.8)).p_value <= 0.05 for s in range(10)]) >= 0.8
    x, y, z = given(150, 70, 0.0)
    assert hsic_test(x, y).p_value == 0.005  # dependent, but for z
    mixed = [Continuous(z), Discrete(draws(71).integers(0, 2, 150))]
    assert 0 < kcit_test(x, Discrete(y > 0), mixed).p_value <= 1


def test_exchanging_whole_groups_is_measuring_what_was_exchanged():
    """Four groups of four sizes: the null holds the statistics of all 24 data sets that are as likely, no other."""
    groups = np.repeat(np.arange(4), [1, 2, 3, 4])
    values, y = draws(80).exponential(size=(4, 2)), draws(81).normal(size=10)
    alike = [hsic_test(values[list(order)][groups], y, permutations=1, groups=groups).observed.value
             for order in permutations(range(4))]  # fmt: skip
    found = hsic_test(values[groups], y, permutations=400, groups=groups)
    assert found.exchanged == "whole groups"
    np.testing.assert_allclose(np.unique(found.null.round(12)), np.unique(np.round(alike, 12)))
    swapped = hsic_test(y, values[groups], permutations=400, groups=groups)
    assert swapped.exchanged == "whole groups" and swapped.observed.value == pytest.approx(found.observed.value)


def grouped(seed, effect, constant):
    """40 groups of 1 to 8 rows; x, and y that follows it, share within groups what is their own."""
    g = draws(seed)
    groups = np.repeat(np.arange(40), g.permutation(np.repeat([1, 3, 5, 8], 10)))
    (u, v), (e, f) = g.normal(size=(2, 40))[:, groups], g.normal(size=(2, len(groups)))
    x = u if constant else u + e
    return x, effect * x + v + f / 2, groups


@pytest.mark.filterwarnings("ignore::infoscope.estimators.serial.RowsInSequence")
@pytest.mark.parametrize(("constant", "exchanged"), [(True, WHOLES), (False, WITHIN)])
def test_hsic_of_groups_has_its_level(constant, exchanged):
    """80 tests without dependence: 11 or more of p <= 0.05 have probability 0.003 at the level, and are far exceeded
    where groups are not named and x is constant in each.
    """
    data = [grouped(s, 0.0, constant) for s in range(80)]
    found = [hsic_test(x, y, permutations=19, generator=draws(s), groups=of) for s, (x, y, of) in enumerate(data)]
    assert {one.exchanged for one in found} == {exchanged}
    assert sum(one.p_value <= 0.05 for one in found) < 11
    if constant:
        assert sum(hsic_test(x, y, "gamma").p_value <= 0.05 for x, y, _ in data) > 40
    x, y, of = grouped(900, 1.0, constant)
    assert hsic_test(x, y, groups=of).p_value <= 0.01


def test_kcit_of_groups_has_its_level():
    """40 tests without dependence: 8 or more of p <= 0.05 have probability 0.0007 at the level."""

    def condition(seed, effect):
        x, y, of = grouped(seed, effect, False)
        z = draws(seed + 500).normal(size=len(x))
        return x + z, y + np.tanh(z), z, of

    data = [condition(s, 0.0) for s in range(40)]
    assert sum(kcit_test(x, y, z, groups=of).p_value <= 0.05 for x, y, z, of in data) < 8
    x, y, z, of = condition(900, 1.0)
    assert kcit_test(x, y, z, groups=of).p_value <= 0.01
    alone = kcit_test(x, y, z, groups=np.arange(len(x)))
    assert alone.p_value == pytest.approx(kcit_test(x, y, z).p_value, rel=1e-9)


@pytest.mark.parametrize(("call", "argument", "code"), [
    (lambda x, y: hsic_test(x, y, "normal"), "null", "name"),
    (lambda x, y: hsic_test(x, y, permutations=0), "permutations", "range"),
    (lambda x, y: hsic_test(x, y, "gamma", groups=np.arange(100) // 5), "null", "invalid"),
    (lambda x, y: hsic_test(x, y, groups=np.arange(50)), "groups", "length"),
    (lambda x, y: kcit_test(x, y, x + y, np.arange(100) // 25), "groups", "range"),
    (lambda x, y: hsic_test(x[:5], y[:5]), "x and y", "range"),
    (lambda x, y: kcit_test(*draws().normal(size=(3, 5001))), "x and y", "range"),
    (lambda x, y: kcit_test(x, y, np.full(100, np.inf)), "z", "missing"),
])  # fmt: skip
def test_bad_input_is_one_sentence(call, argument, code):
    with refused(argument, code):
        call(*draws().normal(size=(2, 100)))
