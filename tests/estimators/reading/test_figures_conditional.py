"""Figures of x, y and z: closed forms, and what they do not depend on."""

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx

from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import Discrete
from infoscope.estimators.pairs import as_pairs
from infoscope.estimators.reading import figures as pair_figures
from infoscope.estimators.reading import figures_conditional
from infoscope.estimators.reading.figures_conditional import (
    NAMES,
    Triples,
    as_conditions,
    explained,
    figures,
    left_out,
    table_information,
)

N = 400
RNG = default_rng(0)
Z = RNG.normal(size=(N, 2))
X = np.sin(2 * Z[:, 0]) + RNG.normal(size=N)
Y = np.sin(2 * Z[:, 0]) + 0.5 * RNG.normal(size=N)


def figures_of(x, y, *conditions):
    columns = [as_variable("z", each) for each in conditions]
    values = figures(Triples(as_pairs(x, y), as_conditions(columns)), default_rng(0))
    return dict(zip(NAMES, values))


def test_a_common_cause_is_in_the_regressions_and_not_in_the_residuals():
    values = figures_of(X, Y, Z[:, 0], Z[:, 1])
    assert values["smooth_more"] > 0.4
    assert values["gaussian"] > 0.1
    assert abs(values["residual_smooth"]) < 0.03
    assert values["gain_smooth_more"] < 0.03
    assert values["lower_bound"] < 0.03


def test_dependence_given_z_is_gained_beyond_z():
    values = figures_of(X + Y, Y, Z[:, 0], Z[:, 1])
    truth = np.log(1.25) / 2
    assert values["residual_smooth"] == approx(truth, abs=0.06)
    assert values["gain_smooth_more"] == approx(truth, abs=0.06)


def test_increasing_maps_of_columns_change_nothing():
    plain = figures_of(X, Y, Z[:, 0])
    moved = figures_of(np.exp(X), 3 * Y - 1, Z[:, 0] ** 3)
    assert_allclose(list(plain.values()), list(moved.values()), rtol=1e-6, atol=1e-9)


NEEDED = ("residual", "gain", "smooth", "gaussian")


@pytest.mark.parametrize(
    ("x", "y", "z"),
    [
        (X, Y > 0, Z[:, 0]),
        (X > 0, Y > 0, Discrete(np.floor(Z[:, 0]).astype(int))),
        (
            np.column_stack([X, Y + 3 * RNG.normal(size=N), X * Y, Z[:, 1], Y**2]),
            Y,
            Discrete(Z[:, 0] > 0),
        ),
    ],
    ids=["label", "table", "wide"],
)
def test_samples_of_each_type_have_their_figures(x, y, z):
    values = figures_of(x, y, z)
    for name, value in values.items():
        assert np.isfinite(value) or not name.startswith(NEEDED)
    assert np.isfinite(values["table"]) == (np.asarray(x).dtype == bool)


def ridge_errors(columns, targets, penalty):
    """Residuals of each row from a ridge regression without it."""
    n = len(columns)
    centred = columns - columns.mean(axis=0)
    covariance = centred.T @ centred / n
    scale = np.trace(covariance) / len(covariance)
    matrix = covariance + penalty * scale * np.eye(len(covariance))
    hat = centred @ np.linalg.solve(n * matrix, centred.T) + 1 / n
    residuals = targets - targets.mean()
    return (residuals - hat @ residuals) / (1 - np.diag(hat))[:, None]


def test_residuals_are_of_rows_left_out():
    targets = X[:, None]
    residuals, _ = left_out(Z, targets)
    errors = []
    for penalty in figures_conditional.PENALTIES:
        errors.append(ridge_errors(Z, targets, penalty))
    best = min(errors, key=np.linalg.norm)
    assert_allclose(residuals, best, atol=1e-9)


def test_the_figures_that_a_reader_uses_by_itself_are_in_the_places_of_those_of_pairs():
    used = (
        "lower_bound",
        "log_rows",
        "log_rows_per_group",
        "numbers_more",
        "numbers_fewer",
    )
    assert NAMES[:5] == pair_figures.NAMES[:5] == used


def test_closed_forms():
    a, _, b = RNG.integers(2, size=(3, 4_000))
    for y in (a, a ^ b):
        assert table_information(a, y, b) == approx(np.log(2), abs=0.002)
    columns = RNG.normal(size=(50, 2))
    assert explained(columns, columns / 2) == approx(2 * np.log(2), abs=0.03)


@pytest.mark.parametrize("copied", [False, True], ids=["independent", "z in x"])
def test_many_columns_without_information_given_z_show_hardly_any(copied):
    x = RNG.normal(size=(150, 20))
    z = RNG.normal(size=(150, 6))
    if copied:
        x[:, :3] = z[:, :3] ** 3
    values = figures_of(x, z[:, 0] + RNG.normal(size=150), *z.T)
    assert values["lower_bound"] < 0.08
    assert abs(values["residual_trees"]) < 0.15
