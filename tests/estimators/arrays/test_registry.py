"""One call for every method: what it takes, what it refuses, and what it says."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

from infoscope.estimators import estimate, knn, methods
from infoscope.estimators.arrays.protocol import Pairs, as_pairs
from infoscope.estimators.arrays.registry import METHODS, as_method
from infoscope.estimators.result import Estimate, mean_of
from infoscope.estimators.variables import Continuous, Discrete
from tests.refusals import refused

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = 0.6 * X[:, 0] + 0.8 * RNG.normal(size=200)
LABELS = np.digitize(Y, [-0.5, 0.5])


@pytest.fixture(autouse=True)
def no_warning():
    """Doubts are errors or notes here, never warnings that scroll by."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize(
    "x",
    [
        X.tolist(), torch.from_numpy(X), pd.DataFrame(X), sparse.csr_matrix(X), Continuous(X), X.astype(np.float32),
        [Continuous(X[:, 0]), Continuous(X[:, 1])],
    ],
)  # fmt: skip
def test_what_holds_the_same_numbers_gives_the_same_estimate(x):
    exact = estimate(X, Y)
    assert float(exact) == float(knn.mutual_information(X, Y))
    assert float(estimate(x, Y)) == pytest.approx(exact, abs=1e-5)
    assert exact.unit == "nats" and exact.n == 200 and "KSG 1" in exact.method


def test_settings_change_the_method_and_an_object_is_a_method():
    by_name, by_object = estimate(X, Y, "ksg", k=9), estimate(X, Y, as_method("ksg", {"k": 9}))
    assert float(by_name) == float(by_object) != float(estimate(X, Y))

    @dataclass(frozen=True)
    class Mine:
        name: str = "correlation"

        def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
            r = np.corrcoef(pairs.x.continuous[:, 0], pairs.y.continuous[:, 0])[0, 1]
            return mean_of(np.full(pairs.n, -0.5 * np.log1p(-(r**2))), pairs.groups, method=self.name)

    assert estimate(X, Y, Mine()).method == "correlation"
    with refused("settings", "type"):
        estimate(X, Y, Mine(), k=3)


def test_every_method_is_listed_with_what_it_takes():
    listed = methods()
    assert len(listed) == len(METHODS) >= 20
    assert list(listed.table.index) == list(METHODS)
    assert (listed.table != "").all(axis=None)
    assert all(name in str(listed) for name in METHODS)
    assert as_method("smile-3").name == "smile-3"


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (X, RNG.integers(0, 256, 200).astype(np.uint8), r"y must be typed: column 0 has \d+ distinct whole numbers"),
        (pd.DataFrame({"a": X[:, 0], "age": RNG.integers(18, 90, 200)}), Y, "x must be typed: column 'age' has"),
        (RNG.integers(0, 256, (200, 61)), Y, r"x must be typed: 61 columns \(0, 1, 2, 3, 4, ...\) have"),
        (X, LABELS.astype(float), "y must be typed: column 0 has only 3 distinct whole numbers"),
        (X[:1], Y[:1], "x must have at least two rows, got 1"),
        (X, Y[:50], "x and y must have the same number of rows"),
        (np.where(X > 2, np.nan, X), Y, "x must be finite, got"),
        (X, np.ones(200), "y must vary in every continuous column, got one that is 1.0 in all 200 rows"),
        (X, ["a"] * 200, "y must have more than one category, got one in all 200 rows"),
        (np.empty((0, 2)), np.empty(0), "x must have at least one row"),
        (X[None], Y, r"x must be \[n\] or \[n, d\], got shape"),
        (np.array([object()] * 200), Y, "x must hold numbers"),
        (np.full((200, 1), np.inf), Y, "x must be finite"),
    ],
)
def test_bad_arrays_are_one_sentence(x, y, words):
    with pytest.raises(ValueError, match=words) as error:
        estimate(x, y)
    assert "\n" not in str(error.value)


def test_bad_methods_are_one_sentence():
    for method, words in (
        ("kgs", "method must be one of ksg, "),
        (object(), "method must be a name"),
        (type(METHODS["ksg"]), "method must be a name"),
        (3, "method must be a name"),
    ):
        with pytest.raises(ValueError, match=words):
            estimate(X, Y, method)
    with refused("ksg", "name"):
        estimate(X, Y, neighbours=3)
    with refused("method", "type"):
        estimate(X, LABELS, "ksg-2")


def test_integers_that_nobody_typed_are_told():
    (note,) = estimate(X, LABELS).notes
    assert "y: column 0 has 3 distinct whole numbers, which are taken as categories" in note
    assert not estimate(X, Discrete(LABELS)).notes


@pytest.mark.parametrize("columns", [2, 30])
def test_copies_are_found_in_few_columns_and_in_many(columns):
    x = np.random.default_rng(0).normal(size=(60, columns))
    x[0], x[50:] = 0.0, x[:10]
    x[50] = -0.0  # equals 0
    pairs = as_pairs(x, np.repeat([1.5, 2.5], 30)[np.r_[0:50, 0:10]] + x[:, 0])
    assert pairs.groups.max() + 1 == 50 and (pairs.groups[50:] == pairs.groups[:10]).all()


def test_copies_of_rows_say_no_more_than_the_rows():
    once, twice = estimate(X, Y), estimate(np.vstack([X, X]), np.concatenate([Y, Y]))
    assert float(twice) == pytest.approx(once, abs=0.02)
    assert twice.standard_error > 0.9 * once.standard_error
    assert any("200 of 400 rows equal an earlier one" in note for note in twice.notes)
    coarse = np.round(X[:, 0] * 2) / 2 + 0.25  # values that repeat in each margin by themselves are no copies
    assert not any("equal an earlier one" in note for note in estimate(coarse, np.round(Y * 2) / 2 + 0.25).notes)


def test_folds_keep_units_whole_and_are_of_like_size():
    groups = np.repeat(np.arange(60), RNG.integers(1, 8, 60))
    pairs = as_pairs(RNG.normal(size=len(groups)), RNG.normal(size=len(groups)), groups)
    fold_of = pairs.folds(5, np.random.default_rng(1))
    assert all(len(set(fold_of[groups == group])) == 1 for group in range(60))
    sizes = np.bincount(fold_of)
    assert len(sizes) == 5 and np.ptp(sizes) <= 7
    assert np.ptp(np.bincount(as_pairs(X, Y).folds(3, np.random.default_rng(1)))) <= 1
    with refused("x and y", "few"):
        as_pairs(X, Y).folds(12, np.random.default_rng(1))
