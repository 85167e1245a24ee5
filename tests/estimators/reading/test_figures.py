"""Figures of a sample: invariances, closed forms, awkward samples, groups, parts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx

from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.discrete import plug_in
from infoscope.estimators.pairs import as_pairs
from infoscope.estimators.reading.figures import NAMES, figures
from infoscope.estimators.reading.figures_neighbours import neighbours


def figures_of(x, y, groups=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = figures(as_pairs(x, y, groups), default_rng(0))
    assert values.dtype == np.float64
    assert values.shape == (len(NAMES),)
    assert not np.isinf(values).any()
    return dict(zip(NAMES, values))


def values_of(x, y):
    return list(figures_of(x, y).values())


def normal(n, columns=1):
    """x [n, columns], and y [n] with correlation .8 with the first column."""
    x, noise = default_rng(0).normal(size=(2, n, columns))
    return x, 0.8 * x[:, 0] + 0.6 * noise[:, 0]


X, Y = normal(400, 3)
LABEL = Discrete(np.digitize(Y, (-0.5, 1.0)))
MIXED = [Continuous(X), Discrete(X[:, 1] > 0)]


@pytest.mark.parametrize(
    ("x", "y"),
    [(X, Y), (X, LABEL), (MIXED, [Y, LABEL])],
    ids=["numbers", "label", "mixed"],
)
def test_exchange_of_x_and_y_changes_nothing(x, y):
    assert_array_equal(values_of(x, y), values_of(y, x))


def test_units_and_increasing_maps_change_nothing():
    mapped = values_of(np.exp(X) * [1, 1e3, 1e-9], 5 + Y**3)
    assert_allclose(mapped, values_of(X, Y), rtol=1e-5, atol=1e-6)


def test_normal_pair_has_its_closed_form():
    values = figures_of(*normal(6000))  # two parts
    assert values["log_rows"] == approx(np.log(3000))
    for name in (
        "ksg_3",
        "gaussian",
        "canonical_1",
        "heldout_first",
        "component_ksg_1",
        "tree_ksg_more",
        "best_pair",
    ):
        assert abs(values[name] + np.log(0.6)) < 0.08, name


def test_label_of_normal_classes():
    rng = default_rng(0)
    label = rng.integers(0, 2, 2000)
    x = rng.normal(size=(2000, 3)) + 10 * label[:, None]
    values = figures_of(x, Discrete(label))
    for name in (
        "ksg_3",
        "gaussian",
        "label_linear",
        "label_quadratic",
        "label_trees",
        "component_ksg_1",
    ):
        assert abs(values[name] - np.log(2)) < 0.05, name


def test_plug_in_of_categories_by_hand():
    counts = np.array([[30, 10, 20], [5, 40, 15]])
    x, y = (
        np.repeat(place.ravel(), counts.ravel()) for place in np.indices(counts.shape)
    )
    truth = (
        plug_in(counts.sum(axis=1))
        + plug_in(counts.sum(axis=0))
        - plug_in(counts.ravel())
    )
    values = figures_of(Discrete(x), Discrete(y))
    assert abs(values["plug_in"] - truth) < 1e-12
    assert abs(values["ksg_3"] - truth) < 0.05
    of_numbers = figures_of(Continuous(1.0 * x), Continuous(1.0 * y))
    assert abs(of_numbers["plug_in"] - truth) < 1e-12


def test_copies_in_groups_give_the_estimates_without_copies():
    x, y = normal(500, 2)
    rows = np.repeat(np.arange(500), 2)
    once = figures_of(x, y)
    twice = figures_of(x[rows], y[rows], rows)
    assert once["log_rows_per_group"] == 0
    assert twice["log_rows_per_group"] == approx(np.log(2))
    for name in (
        "ksg_10",
        "gaussian",
        "heldout_gaussian",
        "component_ksg_1",
        "ksg_10_permuted",
        "ksg_error",
    ):
        assert abs(once[name] - twice[name]) < 0.1, name


def awkward():
    rng = default_rng(0)
    row = np.arange(30)
    x = rng.normal(size=30)
    y = rng.normal(size=(30, 2))
    rare = Discrete(row == 3)
    identity = Discrete(row)
    half_zero = np.where(row < 15, 0.0, x)
    indicator = (row == 0) * 1.0
    return {
        "equal numbers": (x, x),
        "rare label": (x, rare),
        "equal rare labels": (rare, rare),
        "identities": (identity, identity),
        "half zero": (half_zero, y),
        "indicators": (indicator, indicator),
        "many columns": (rng.normal(size=(30, 512)), x),
        "mixed": ([x, rare], [y, identity]),
        "two rows": (x[:2], y[:2]),
        "five rows": (x[:5], y[:5]),
        "huge and tiny": (x * 1e140, y / 1e140),
        "nearly equal": (x, x + 1e-9 * y[:, 0]),
    }


GROUPS = {
    "none": None,
    "pairs": np.arange(30) // 2,
    "two": np.minimum(np.arange(30), 1),
}


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("name", awkward())
def test_awkward_samples_give_bounded_figures(name, groups):
    x, y = awkward()[name]
    codes = None if name.endswith("rows") else GROUPS[groups]
    values = list(figures_of(x, y, codes).values())
    assert np.nanmax(np.abs(values)) < 100


def normal_column(n, rng):
    return rng.normal(size=(n, 1))


VARIABLES = {
    "numbers": lambda n, rng: (normal_column(n, rng), None),
    "half zero": lambda n, rng: (np.maximum(normal_column(n, rng), 0), None),
    "labels": lambda n, rng: (
        np.empty((n, 0)),
        np.append([0, 1, 1], rng.integers(2, 5, n - 3)),
    ),
    "both": lambda n, rng: (np.round(normal_column(n, rng), 1), rng.integers(0, 3, n)),
}


@pytest.mark.parametrize("x", VARIABLES)
@pytest.mark.parametrize("y", ["numbers", "both"])
@pytest.mark.parametrize("n", [12, 200])
def test_search_in_the_order_of_a_column_finds_what_a_pass_over_all_pairs_finds(
    x, y, n
):
    rng = default_rng(n)
    variables = VARIABLES[x](n, rng), VARIABLES[y](n, rng)
    for ks, near in (((1, 3, 20), 10), ((5,), 0)):
        quick = neighbours(*variables, None, ks, near)
        slow = neighbours(*variables, np.arange(n), ks, near)  # groups of a row each
        assert_array_equal(quick.local, slow.local)
        assert_array_equal(quick.ids, slow.ids)
        for distances, expected in zip(quick.distances, slow.distances):
            assert_array_equal(distances, expected)


def test_kurtosis_is_none_for_normal_scores_and_some_for_a_hidden_dependence():
    """Jointly normal scores have 0; two columns of one length are not jointly normal,
    though each column is normal.
    """
    rng = default_rng(0)
    x, noise = rng.normal(size=(2, 4000, 3))
    values = figures_of(x, 0.6 * x + 0.8 * noise)
    for part in ("joint", "more", "fewer"):
        assert abs(values[f"kurtosis_{part}"]) < 0.05
    length = np.abs(rng.normal(size=4000))
    sign_x, sign_y = rng.choice([-1, 1], size=(2, 4000))
    assert figures_of(length * sign_x, length * sign_y)["kurtosis_joint"] > 0.3
    assert np.isnan(figures_of(x, rng.integers(0, 3, 4000))["kurtosis_joint"])


def test_a_wide_linear_signal_is_approached_with_more_rows():
    """R² = .64 in 60 columns: never above log(1 / .6), and nearer with more training
    rows.
    """
    rng = default_rng(2)
    x = rng.normal(size=(2000, 60))
    noise = rng.normal(size=2000)
    values = figures_of(x, 0.8 * x.sum(axis=1) / np.sqrt(60) + 0.6 * noise)
    quarter, half, whole = (
        values[name] for name in ("ridge_quarter", "ridge_half", "ridge")
    )
    assert 0.25 < quarter <= half <= whole
    assert 0.4 < whole < -np.log(0.6) + 0.03
    assert abs(values["ridge_ksg"] - whole) < 0.06
    assert values["ridge_sparse"] < half


def test_the_columns_that_tell_classes_apart_are_found_among_many():
    rng = default_rng(3)
    label = rng.integers(0, 2, 600)
    x = rng.normal(size=(600, 300))
    x[:, :3] += 2.5 * label[:, None]
    values = figures_of(x, Discrete(label))
    assert values["label_sparse"] > 0.6
    assert values["label_sparse"] > values["label_bayes"] > 0.4
    assert values["label_sparse_quarter"] <= values["label_sparse"] + 0.02


def test_a_circle_is_a_surface_and_a_plane_is_none():
    rng = default_rng(4)
    angle = rng.uniform(0, 2 * np.pi, 1000)
    plane = rng.normal(size=(1000, 2))
    circle = np.stack([np.cos(angle), np.sin(angle), angle**2], axis=1)
    values = figures_of(circle, plane)
    assert values["surface_more"] < -3
    assert values["surface_fewer"] > -0.5


@pytest.mark.parametrize(
    ("strength", "low", "high"), [(0.0, -2.0, 2.3), (0.1, 2.5, 6.0)]
)
def test_statistics_of_tests_are_large_for_weak_dependence(strength, low, high):
    rng = default_rng(5)
    x = rng.integers(0, 3, 4000)
    y = np.where(rng.random(4000) < strength, x, rng.integers(0, 3, 4000))
    values = figures_of(Discrete(x), Discrete(y))
    for name in ("test_table", "test_correlations"):
        assert low < values[name] < high, name
