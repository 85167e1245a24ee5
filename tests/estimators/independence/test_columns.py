"""Columns of a table get the type that `estimate` gives them, whole numbers an order; what cannot be used is said."""

import numpy as np
import pandas as pd
import pytest

from infoscope.estimators import Angle, Continuous, Discrete, estimate
from infoscope.estimators.independence.columns import as_column, as_columns
from tests.refusals import refused

RNG = np.random.default_rng(0)
N = 60


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (RNG.normal(size=N), "number"),
        (RNG.integers(0, 5, N), "whole number"),
        (RNG.integers(0, 2, N).astype(bool), "category"),
        (pd.Categorical(RNG.choice(["a", "b"], N)), "category"),
        (Angle(RNG.uniform(0, 24, N), 24), "angle"),
        (Continuous(RNG.integers(0, 5, N)), "number"),
        (Discrete(RNG.integers(0, 5, N)), "category"),
    ],
)
def test_types(values, kind):
    found = as_column("a", values)
    assert found.kind == kind and found.known.all() and len(found.values) == N


def test_options_and_wrappers_are_the_same():
    rng = np.random.default_rng(1)
    hour = rng.uniform(0, 24, N)
    columns, left_out = as_columns({"n": np.arange(N) % 7, "m": np.arange(N) % 5, "h": hour}, ["n"], ["m"], {"h": 24})
    assert [column.kind for column in columns.values()] == ["number", "category", "angle"] and not left_out
    np.testing.assert_allclose(columns["h"].values, hour / 24)


@pytest.mark.parametrize(
    "values",
    [
        [1.5, 2.5, np.nan] * 10,
        pd.array([1, 2, None] * 10, "Int64"),
        Discrete([1.0, 2.0, np.nan] * 10),
        Angle([1.0, 2.0, np.nan] * 10, 24),
    ],
)
def test_missing_values_are_not_known(values):
    found = as_column("a", values)
    assert found.known.tolist() == [True, True, False] * 10
    assert len(set(found.values[found.known])) == 2


def test_constants_names_and_free_texts_are_left_out_with_a_note():
    rng = np.random.default_rng(1)
    table = {"one": np.ones(N), "name": [f"patient {place}" for place in range(N)], "x": rng.normal(size=N)}
    columns, left_out = as_columns(table, (), (), {})
    assert list(columns) == ["x"]
    assert list(left_out) == ["one", "name"]


@pytest.mark.parametrize(
    ("column", "argument", "code"),
    [
        (pd.date_range("2020-01-01", periods=N), "a", "type"),
        ([f"2020-01-{1 + place % 28:02}" for place in range(N)], "a", "type"),
        (np.where(np.arange(N) == 3, np.inf, RNG.normal(size=N)), "a", "missing"),
        (RNG.normal(size=(N, 2)), "a", None),
        (1j * RNG.normal(size=N), "a", "type"),
    ],
)
def test_what_cannot_be_used_is_refused(column, argument, code):
    with refused(argument, code):
        as_columns({"a": column, "b": np.random.default_rng(1).normal(size=N)}, (), (), {})


def test_types_name_columns_once():
    table = {"a": RNG.normal(size=N), "b": RNG.normal(size=N)}
    with refused("continuous, discrete and angles", "name"):
        as_columns(table, ["c"], (), {})
    for types in ((["a"], ["a"], {}), ((), ["b"], {"b": 24.0})):
        with refused("continuous, discrete and angles"):
            as_columns(table, *types)


def test_rows_of_a_column_are_what_estimate_takes():
    rng = np.random.default_rng(1)
    table = {"b": Discrete(rng.integers(0, 3, N)), "c": rng.normal(size=N)}
    columns, _ = as_columns(table, (), (), {})
    b, c = (columns[name].typed(np.arange(N)) for name in "bc")
    assert estimate(b, c).value == pytest.approx(estimate(table["b"], table["c"]).value, rel=1e-12)
