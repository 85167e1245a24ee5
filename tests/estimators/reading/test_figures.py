"""Figures of a sample: invariances, closed forms, awkward samples, groups, parts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.discrete import plug_in
from infoscope.estimators.pairs import as_pairs
from infoscope.estimators.reading.figures import NAMES, figures
from infoscope.estimators.reading.figures_neighbours import neighbours


def figures_of(x, y, groups=None, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = figures(as_pairs(x, y, groups), default_rng(seed))
    assert values.dtype == np.float64 and values.shape == (len(NAMES),) and not np.isinf(values).any()
    return dict(zip(NAMES, values))


def normal(n, columns=1):
    """x [n, columns], and y [n] with correlation .8 with the first column."""
    x, noise = default_rng(0).normal(size=(2, n, columns))
    return x, 0.8 * x[:, 0] + 0.6 * noise[:, 0]


def pairs_of_types():
    x, y = normal(400, 3)
    label = np.digitize(y, (-0.5, 1.0))
    mixed = [Continuous(x), Discrete(np.digitize(x[:, 1], (0.0,)))]
    return (x, y), (x, Discrete(label)), (mixed, Discrete(label)), (mixed, [y, Discrete(label)])


@pytest.mark.parametrize("pair", pairs_of_types())
def test_exchange_of_x_and_y_changes_nothing(pair):
    assert np.array_equal(list(figures_of(*pair).values()), list(figures_of(*pair[::-1]).values()), equal_nan=True)


def test_units_and_increasing_maps_change_nothing():
    x, y = normal(400, 3)
    plain, mapped = figures_of(x, y), figures_of(np.exp(x) * [1, 1e3, 1e-9], 5 + y**3)
    np.testing.assert_allclose(list(mapped.values()), list(plain.values()), rtol=1e-5, atol=1e-6)


def test_normal_pair_has_its_closed_form():
    found = figures_of(*normal(6000))  # two parts
    assert found["log_rows"] == approx(np.log(3000))
    for name in ("ksg_3", "gaussian", "canonical_1", "heldout_first", "component_ksg_1", "tree_ksg_more", "best_pair"):
        assert abs(found[name] + np.log(0.6)) < 0.08, name


def test_label_of_normal_classes():
    rng = default_rng(0)
    label = rng.integers(0, 2, 2000)
    found = figures_of(rng.normal(size=(2000, 3)) + 10 * label[:, None], Discrete(label))
    for name in ("ksg_3", "gaussian", "label_linear", "label_quadratic", "label_trees", "component_ksg_1"):
        assert abs(found[name] - np.log(2)) < 0.05, name


def test_plug_in_of_categories_by_hand():
    counts = np.array([[30, 10, 20], [5, 40, 15]])
    x, y = (np.repeat(place.ravel(), counts.ravel()) for place in np.indices(counts.shape))
    found = figures_of(Discrete(x), Discrete(y))
    hand = plug_in(counts.sum(axis=1)) + plug_in(counts.sum(axis=0)) - plug_in(counts.ravel())
    assert abs(found["plug_in"] - hand) < 1e-12 and abs(found["ksg_3"] - hand) < 0.05
    assert abs(figures_of(Continuous(1.0 * x), Continuous(1.0 * y))["plug_in"] - hand) < 1e-12


def test_copies_in_groups_give_the_estimates_without_copies():
    x, y = normal(500, 2)
    once, twice = figures_of(x, y), figures_of(np.repeat(x, 2, 0), np.repeat(y, 2), np.repeat(np.arange(500), 2))
    assert twice["log_rows_per_group"] == approx(np.log(2)) and once["log_rows_per_group"] == 0
    for name in ("ksg_10", "gaussian", "heldout_gaussian", "component_ksg_1", "ksg_10_permuted", "ksg_error"):
        assert abs(once[name] - twice[name]) < 0.1, name


def awkward():
    rng = default_rng(0)
    n, x, y, many = 30, rng.normal(size=30), rng.normal(size=(30, 2)), rng.normal(size=(30, 512))
    rare, half, own = Discrete(np.arange(n) == 3), np.where(np.arange(n) < 15, 0.0, x), Discrete(np.arange(n))
    tied = (np.arange(n) == 0) * 1.0
    yield from ((x, x), (x, rare), (rare, rare), (own, own), (half, y), (tied, tied), (many, x), ([x, rare], [y, own]))
    yield from ((x[:2], y[:2]), (x[:5], y[:5]), (x * 1e140, y / 1e140), (x, x + 1e-9 * y[:, 0]))


@pytest.mark.parametrize("groups", [None, "pairs", "two"])
def test_awkward_samples_give_bounded_figures(groups):
    for x, y in awkward():
        n = as_pairs(x, y).n
        codes = {"pairs": np.arange(n) // 2, "two": np.minimum(np.arange(n), 1)}.get(groups)
        found = figures_of(x, y, codes if n > 5 else None)
        assert np.nanmax(np.abs(list(found.values()))) < 100


SIDES = {
    "numbers": lambda n, draws: (draws.normal(size=(n, 1)), None),
    "tied": lambda n, draws: (np.round(draws.normal(size=(n, 1)), 1), None),
    "half zero": lambda n, draws: (np.maximum(draws.normal(size=(n, 1)), 0), None),
    "labels": lambda n, draws: (np.empty((n, 0)), np.append([0, 1, 1], draws.integers(2, 5, n - 3))),
    "both": lambda n, draws: (np.round(draws.normal(size=(n, 1)), 1), draws.integers(0, 3, n)),
}


@pytest.mark.parametrize("x", SIDES)
@pytest.mark.parametrize("y", ["numbers", "both"])
@pytest.mark.parametrize("n", [12, 200])
def test_search_in_the_order_of_a_column_finds_what_a_pass_over_all_pairs_finds(x, y, n):
    draws = default_rng(n)
    variables = SIDES[x](n, draws), SIDES[y](n, draws)
    for ks, near in (((1, 3, 20), 10), ((5,), 0)):
        quick = neighbours(*variables, None, ks, near)
        slow = neighbours(*variables, np.arange(n), ks, near)  # groups of a row each
        for a, b in zip((quick.local, quick.ids, *quick.distances), (slow.local, slow.ids, *slow.distances)):
            np.testing.assert_array_equal(a, b)


def test_kurtosis_is_none_for_normal_scores_and_some_for_a_hidden_dependence():
    """Jointly normal scores have 0; two columns of one length are not jointly normal, though each column is normal."""
    generator = default_rng(0)
    x, y = generator.normal(size=(2, 4000, 3))
    found = figures_of(x, 0.6 * x + 0.8 * y)
    assert all(abs(found[f"kurtosis_{which}"]) < 0.05 for which in ("joint", "more", "fewer"))
    size = np.abs(generator.normal(size=4000))
    signs = generator.choice([-1, 1], size=(2, 4000))
    assert figures_of(size * signs[0], size * signs[1])["kurtosis_joint"] > 0.3
    assert np.isnan(figures_of(x, generator.integers(0, 3, 4000))["kurtosis_joint"])


def test_a_wide_linear_signal_is_approached_with_more_rows():
    """R² = .64 in 60 columns: never above log(1 / .6), and nearer with more training rows."""
    draws = default_rng(2)
    x, noise = draws.normal(size=(2000, 60)), draws.normal(size=2000)
    found = figures_of(x, 0.8 * x.sum(axis=1) / np.sqrt(60) + 0.6 * noise)
    curve = [found[name] for name in ("ridge_quarter", "ridge_half", "ridge", "ridge_ksg")]
    assert curve[:3] == sorted(curve[:3]) and curve[0] > 0.25
    assert 0.4 < curve[2] < -np.log(0.6) + 0.03 and abs(curve[3] - curve[2]) < 0.06
    assert found["ridge_sparse"] < found["ridge_half"]


def test_the_columns_that_tell_classes_apart_are_found_among_many():
    draws = default_rng(3)
    label = draws.integers(0, 2, 600)
    x = draws.normal(size=(600, 300))
    x[:, :3] += 2.5 * label[:, None]
    found = figures_of(x, Discrete(label))
    assert found["label_sparse"] > 0.6 and found["label_sparse"] > found["label_bayes"] > 0.4
    assert found["label_sparse_quarter"] <= found["label_sparse"] + 0.02


def test_a_circle_is_a_surface_and_a_plane_is_none():
    draws = default_rng(4)
    angle, plane = draws.uniform(0, 2 * np.pi, 1000), draws.normal(size=(1000, 2))
    found = figures_of(np.stack([np.cos(angle), np.sin(angle), angle**2], axis=1), plane)
    assert found["surface_more"] < -3 < -0.5 < found["surface_fewer"]


@pytest.mark.parametrize(("strength", "low", "high"), [(0.0, -2.0, 2.3), (0.1, 2.5, 6.0)])
def test_statistics_of_tests_are_large_for_weak_dependence(strength, low, high):
    draws = default_rng(5)
    x = draws.integers(0, 3, 4000)
    y = np.where(draws.random(4000) < strength, x, draws.integers(0, 3, 4000))
    found = figures_of(Discrete(x), Discrete(y))
    for name in ("test_table", "test_correlations"):
        assert low < found[name] < high, name
