"""Which columns are numbers and which are categories."""

import numpy as np
import pandas as pd
import pytest
import torch

from infoscope.estimators.variables import Continuous, Discrete, LabelsAsNumbers, as_variable, jitter, join

FLOATS = np.array([0.5, 1.5, -2.0, 3.25])


@pytest.mark.parametrize(
    "value, kind",
    [
        (FLOATS, "continuous"),
        (FLOATS.astype(np.float32), "continuous"),
        (torch.tensor(FLOATS), "continuous"),
        (torch.tensor(FLOATS).bfloat16(), "continuous"),
        (list(FLOATS), "continuous"),
        (pd.Series(FLOATS), "continuous"),
        ([1, 2, 1, 2], "discrete"),
        ([True, False, True, True], "discrete"),
        (["a", "b", "a", "a"], "discrete"),
        (torch.tensor([1, 0, 0, 1]), "discrete"),
        (pd.Series(["a", "b", "a", "a"], dtype="category"), "discrete"),
        (pd.DataFrame({"x": FLOATS, "c": ["u", "v", "u", "u"]}), "mixed"),
        (Discrete(FLOATS), "discrete"),
        (Continuous([1, 5, 2, 9]), "continuous"),
        ((Continuous(FLOATS), Discrete(FLOATS)), "mixed"),
        ([FLOATS, Discrete([0, 1, 1, 0])], "mixed"),
    ],
)
def test_types_are_inferred_per_column(value, kind):
    variable = as_variable("x", value)
    assert variable.kind == kind and variable.n == 4
    assert variable.continuous.dtype == np.float64
    assert (variable.codes is None) == (kind == "continuous")


def test_categories_of_several_columns_are_joined():
    one, two = np.array([0, 0, 1, 1, 1]), np.array(["a", "b", "a", "a", "b"])
    variable = as_variable("x", (Discrete(one), Discrete(two)))
    same = variable.codes[:, None] == variable.codes
    assert np.array_equal(same, (one[:, None] == one) & (two[:, None] == two)) and variable.categories == 4
    beside = join(as_variable("x", one), as_variable("y", two))
    assert np.array_equal(beside.codes[:, None] == beside.codes, same)


def test_mixed_labels_are_compared_with_their_types():
    variable = as_variable("x", Discrete(np.array([1, "1", 1, "1"], dtype=object)))
    assert variable.categories == 2


def test_standardised_columns_at_any_scale():
    columns = np.random.default_rng(0).normal(size=(50, 3)) * [1e-200, 1.0, 1e150] + [0.0, 5.0, 0.0]
    variable = as_variable("x", columns).standardised()
    assert np.allclose(variable.continuous.mean(axis=0), 0, atol=1e-12)
    assert np.allclose(variable.continuous.std(axis=0), 1)


@pytest.mark.parametrize("labels", [Continuous([0, 1, 2] * 2), np.array([0.0, 1, 1, 0]), Continuous([True, False] * 2)])
def test_labels_as_numbers_warn(labels):
    with pytest.warns(LabelsAsNumbers, match="if they are class labels"):
        as_variable("y", labels)


def test_whole_numbers_that_hardly_repeat_do_not_warn(recwarn):
    as_variable("y", Continuous(np.arange(100)))
    as_variable("y", Discrete([0, 1, 0, 1]))
    assert not recwarn


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
def test_jitter_is_relative_to_the_spread(scale):
    values = np.round(np.random.default_rng(0).normal(size=(200, 2))) * scale
    moved = jitter(values, np.random.default_rng(1))
    assert len(np.unique(moved[:, 0])) > 190
    assert np.abs(moved - values).max() <= 1e-10 * scale
    with pytest.raises(ValueError, match="relative must exceed the resolution"):
        jitter(values + 1e8 * scale, np.random.default_rng(1))
