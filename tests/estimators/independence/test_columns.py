"""Columns of a table get the type that `estimate` gives them, whole numbers an order;
unusable ones are refused.
"""

import numpy as np
import pandas as pd
import pytest

from infoscope.estimators import Angle, Continuous, Discrete
from infoscope.estimators.independence.columns import as_column, as_columns
from tests.refusals import refused

RNG = np.random.default_rng(0)
N = 60
NORMAL = RNG.normal(size=N)
CODES = RNG.integers(0, 5, N)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (NORMAL, "number"),
        (CODES, "whole number"),
        (CODES > 2, "category"),
        (pd.Categorical(CODES), "category"),
        (Angle(RNG.uniform(0, 24, N), 24), "angle"),
        (Continuous(CODES), "number"),
        (Discrete(CODES), "category"),
    ],
)
def test_types(values, kind):
    column = as_column("a", values)
    assert column.kind == kind
    assert column.known.all()
    assert len(column.values) == N


def test_options_and_wrappers_are_the_same():
    hour = RNG.uniform(0, 24, N)
    columns, left_out = as_columns(
        {"n": CODES, "m": CODES, "h": hour}, ["n"], ["m"], {"h": 24}
    )
    assert [column.kind for column in columns.values()] == [
        "number",
        "category",
        "angle",
    ]
    assert not left_out
    np.testing.assert_allclose(columns["h"].values, hour / 24)


@pytest.mark.parametrize(
    "declared", [lambda values: values, Discrete, lambda values: Angle(values, 24)]
)
def test_missing_values_are_not_known(declared):
    column = as_column("a", declared([1.5, 2.5, np.nan] * 10))
    assert column.known.tolist() == [True, True, False] * 10
    assert len(set(column.values[column.known])) == 2


def test_constants_names_and_free_texts_are_left_out_with_a_note():
    names = [f"patient {place}" for place in range(N)]
    columns, left_out = as_columns(
        {"constant": np.ones(N), "name": names, "x": NORMAL}, (), (), {}
    )
    assert list(columns) == ["x"]
    assert list(left_out) == ["constant", "name"]


@pytest.mark.parametrize(
    ("column", "code"),
    [
        (pd.date_range("2020-01-01", periods=N), "type"),
        ([f"2020-01-{1 + place % 28:02}" for place in range(N)], "type"),
        (np.where(CODES == 3, np.inf, NORMAL), "missing"),
        (RNG.normal(size=(N, 2)), None),
        (1j * NORMAL, "type"),
    ],
)
def test_what_cannot_be_used_is_refused(column, code):
    with refused("a", code):
        as_columns({"a": column, "b": NORMAL}, (), (), {})


@pytest.mark.parametrize(
    "types", [(["c"], (), {}), (["a"], ["a"], {}), ((), ["b"], {"b": 24.0})]
)
def test_types_name_columns_once(types):
    with refused("continuous, discrete and angles"):
        as_columns({"a": NORMAL, "b": CODES}, *types)
