"""Scores of columns for selectors of scikit-learn: known columns, the false discovery
rate, tables of any library.
"""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.random import default_rng
from numpy.testing import assert_array_equal
from sklearn.feature_selection import SelectFdr, SelectKBest

from infoscope.metrics.screening import information_scores
from tests.refusals import refused

N = 200
RNG = default_rng(0)
X = RNG.normal(size=(N, 6))
Y = X[:, 0] + X[:, 1] ** 2 + 0.5 * RNG.normal(size=N)  # of column 1 by its size only
CLASSES = np.array(["low", "high"])[(Y > 1).astype(int)]
NAMES = list("abcdef")


@pytest.mark.parametrize("y", [Y, CLASSES], ids=["numbers", "classes"])
@pytest.mark.parametrize("selector", [SelectFdr, partial(SelectKBest, k=2)])
def test_columns_with_information_are_kept_linear_or_not(y, selector):
    fitted = selector(information_scores).fit(X, y)
    assert fitted.get_support(indices=True).tolist() == [0, 1]


def test_a_constant_column_has_no_strength():
    scores, p_values = information_scores(np.column_stack([X, np.ones(N)]), Y)
    assert scores.shape == p_values.shape == (7,)
    assert scores[6] == 0
    assert p_values[6] > 0.9


def any_kept(selector, x, y):
    return selector.fit(x, y).get_support().any()


def test_independent_columns_are_kept_at_the_false_discovery_rate():
    """With all columns independent the rate of false discoveries is the share of tables
    in which any column is kept.
    """
    rng = default_rng(1)
    selector = SelectFdr(information_scores, alpha=0.1)
    tables_with_columns = 0
    for _ in range(100):
        x = rng.normal(size=(60, 8))
        tables_with_columns += any_kept(selector, x, rng.normal(size=60))
    assert tables_with_columns / 100 < 0.1 + 3 * np.sqrt(0.1 * 0.9 / 100)


def of_numbers(generator):
    return generator.normal(size=(5, 100)), generator.normal(size=5)


def of_rare_categories(generator):
    columns = [generator.permutation(50) < 2 for _ in range(100)]
    return np.array(columns).T, np.where(np.arange(50) < 3, "yes", "no")


@pytest.mark.parametrize("make", [of_numbers, of_rare_categories])
def test_wide_tables_of_few_rows_or_rare_values_have_no_discovery_by_chance(make):
    generator = default_rng(3)
    selector = SelectFdr(information_scores)
    discoveries = [any_kept(selector, *make(generator)) for _ in range(8)]
    assert sum(discoveries) <= 1


@pytest.mark.parametrize(
    ("x", "y", "argument", "code"),
    [
        (np.where(X > 2, np.nan, X), Y, "X", "missing"),
        (X, np.ones(N), "y", "constant"),
        (X, Y[1:], "X and y", "length"),
        (X[:3], Y[:3], "X and y", "length"),
        (pd.DataFrame({"t": pd.date_range("2020", periods=N)}), Y, "X", "type"),
    ],
)
def test_bad_input_is_named(x, y, argument, code):
    with refused(argument, code):
        information_scores(x, y)


def test_rows_of_pandas_are_paired_by_their_index():
    frame = pd.DataFrame(X, columns=NAMES)
    shuffled = pd.Series(Y).sample(frac=1, random_state=0)
    _, p_values = information_scores(frame, shuffled)
    assert_array_equal(p_values, information_scores(X, Y)[1])


def mixed():
    """A table of numbers, texts, categories and booleans; b to d depend on the target."""
    generator = default_rng(2)
    third = np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))
    noise = generator.integers(0, 3, N)
    codes = np.where(generator.random(N) < 0.6, third, noise)
    text = np.array(["x", "y", "z"])[codes]
    return pd.DataFrame(
        {
            "a": X[:, 3],
            "b": X[:, 0],
            "c": text,
            "d": pd.Categorical(text),
            "e": noise == 1,
        }
    )


@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas])
def test_tables_of_any_library(library):
    """The same columns, by their names."""
    p_values = information_scores(library(mixed()), Y)[1]
    assert (p_values < 0.01).tolist() == [False, True, True, True, False]
    assert_array_equal(p_values, information_scores(mixed(), Y)[1])
