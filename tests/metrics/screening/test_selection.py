"""Selection of columns in pipelines of scikit-learn: its conventions, known columns, the false discovery rate."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.feature_selection import SelectFdr, SelectKBest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from infoscope.metrics.screening import InformationSelector, information_scores
from tests.refusals import refused

N = 200
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 6))
Y = X[:, 0] + X[:, 1] ** 2 + 0.5 * RNG.normal(size=N)  # of column 1 by its size only
CLASSES = np.array(["low", "high"])[(Y > 1).astype(int)]
NAMES = list("abcdef")


@parametrize_with_checks([InformationSelector(drop_redundant=True)])
def test_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("y", [Y, CLASSES], ids=["numbers", "classes"])
def test_columns_with_information_are_kept_linear_or_not(y):
    found = InformationSelector().fit(X, y)
    assert found.get_support(indices=True).tolist() == [0, 1]
    assert found.n_features_in_ == 6 and (found.q_values_ >= found.p_values_).all()
    np.testing.assert_array_equal(found.transform(X), X[:, :2])


def test_independent_columns_are_kept_at_the_false_discovery_rate():
    """With all columns independent the rate of false discoveries is the share of tables in which any column is kept."""
    rng = np.random.default_rng(1)
    kept = [
        InformationSelector(level=0.1).fit(rng.normal(size=(60, 8)), rng.normal(size=60)).support_.any()
        for _ in range(100)
    ]
    assert np.mean(kept) < 0.1 + 3 * np.sqrt(0.1 * 0.9 / 100)


def of_numbers(generator):
    return generator.normal(size=(5, 100)), generator.normal(size=5)


def of_rare_categories(generator):
    table = np.array([generator.permutation(50) < 2 for _ in range(100)]).T
    return table, np.where(np.arange(50) < 3, "yes", "no")


@pytest.mark.parametrize("make", [of_numbers, of_rare_categories])
def test_wide_tables_of_few_rows_or_rare_values_have_no_discovery_by_chance(make):
    generator = np.random.default_rng(3)
    found = [InformationSelector().fit(*make(generator)).support_.any() for _ in range(8)]
    assert np.mean(found) <= 1 / 8


def test_redundant_columns_are_dropped():
    rng = np.random.default_rng(1)
    copies = np.column_stack([X, X[:, 0] + 0.5 * rng.normal(size=N)])
    assert InformationSelector().fit(copies, Y).get_support(indices=True).tolist() == [0, 1, 6]
    assert InformationSelector(drop_redundant=True).fit(copies, Y).get_support(indices=True).tolist() == [0, 1]


def test_scores_of_columns_for_other_selectors():
    scores, p_values = information_scores(np.column_stack([X, np.ones(N)]), Y)
    assert scores.shape == p_values.shape == (7,) and scores[6] == 0 and p_values[6] > 0.9
    assert SelectKBest(information_scores, k=2).fit(X, Y).get_support(indices=True).tolist() == [0, 1]
    assert SelectFdr(information_scores).fit(X, CLASSES).get_support(indices=True).tolist() == [0, 1]


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
    frame, y = pd.DataFrame(X, columns=NAMES), pd.Series(Y)
    shuffled = y.sample(frac=1, random_state=0)
    found = InformationSelector().fit(frame, shuffled)
    np.testing.assert_array_equal(found.q_values_, InformationSelector().fit(X, Y).q_values_)


def mixed():
    """A table of numbers, texts, categories and booleans; b to d depend on the target."""
    generator = np.random.default_rng(2)
    third = np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))
    noise = generator.integers(0, 3, N)
    text = np.array(["x", "y", "z"])[np.where(generator.random(N) < 0.6, third, noise)]
    return pd.DataFrame({"a": X[:, 3], "b": X[:, 0], "c": text, "d": pd.Categorical(text[::-1][::-1]), "e": noise == 1})


@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas])
def test_tables_of_any_library(library):
    """The same columns, by their names."""
    table = library(mixed())
    found = InformationSelector().fit(table, Y)
    assert found.get_feature_names_out().tolist() == ["b", "c", "d"]
    assert found.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(found.q_values_, InformationSelector().fit(mixed(), Y).q_values_)


def test_categories_are_named_by_place_mask_or_name():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 20, N)
    y = np.sin(17 * labels) + 0.1 * rng.normal(size=N)  # a label tells more of it than a number
    frame = pd.DataFrame({"label": labels.astype(float), "other": X[:, 0]})
    q_values = [
        InformationSelector(discrete=discrete).fit(frame, y).q_values_
        for discrete in (["label"], [0], np.array([True, False]))
    ]
    assert (q_values[0] == q_values).all() and q_values[0][0] < 1e-6 * InformationSelector().fit(frame, y).q_values_[0]
    none = InformationSelector(discrete=[]).fit(frame, y)
    np.testing.assert_array_equal(none.q_values_, InformationSelector().fit(frame, y).q_values_)
    with refused("discrete", "name"):
        InformationSelector(discrete=["nothing"]).fit(frame, y)


def test_in_a_pipeline_it_is_searched():
    pipeline = make_pipeline(InformationSelector(), OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    search = GridSearchCV(pipeline, {"informationselector__level": [1e-6, 0.05]}, cv=3)
    assert search.fit(mixed()[["c", "d", "e"]], CLASSES).best_score_ > 0.6


def test_groups_are_routed_to_it():
    """What is constant in a group agrees with what else is, by chance of few groups: not kept with groups."""
    groups = np.repeat(np.arange(10), 20)
    rng = np.random.default_rng(5)
    of_group, y = rng.normal(size=(10, 4))[groups], rng.normal(size=10)[groups]
    assert InformationSelector().fit(of_group, y).support_.all()
    assert not InformationSelector().fit(of_group, y, groups=groups).support_.any()
    groups = np.repeat(np.arange(50), 4)
    inputs = np.column_stack([X[:, 0], rng.normal(size=50)[groups]])
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(InformationSelector().set_fit_request(groups=True), LinearRegression())
        found = cross_validate(
            pipeline, inputs, Y, cv=GroupKFold(3), params={"groups": groups}, return_estimator=True, return_indices=True
        )
    for fitted, train in zip(found["estimator"], found["indices"]["train"]):
        expected = InformationSelector().fit(inputs[train], Y[train], groups=groups[train])
        np.testing.assert_array_equal(fitted[0].q_values_, expected.q_values_)
