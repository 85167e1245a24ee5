"""Which columns are numbers and which are categories."""

import numpy as np
import pandas as pd
import pytest
import torch

from infoscope import estimators
from infoscope.estimators import knn
from infoscope.estimators.arrays.protocol import as_pairs
from infoscope.estimators.variables import (
    Continuous,
    Discrete,
    LabelsAsNumbers,
    NumbersAsCategories,
    as_codes,
    as_variable,
    jitter,
    join,
    require_same_order,
    separate,
    single_columns,
)
from tests.refusals import refused

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
        (pd.Series([0.5, 1.5, 0.5, 2.5], dtype="category"), "discrete"),
        (pd.Categorical([1, 2, 1, 2]), "discrete"),
        (pd.cut(FLOATS, 2), "discrete"),
        (pd.DataFrame({"x": FLOATS, "c": pd.cut(FLOATS, 2)}), "mixed"),
        (Continuous(pd.Series(FLOATS, dtype="category")), "continuous"),
        ([[0.5, "a"], [1.5, "b"], [2.5, "a"], [1.0, "a"]], "mixed"),
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


def test_wrappers_are_where_estimate_is():
    assert (estimators.Continuous, estimators.Discrete) == (Continuous, Discrete)


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


def test_one_label_has_one_code_whoever_made_it():
    names = [np.str_("a"), "a", np.str_("b"), "b"]
    numbers = [np.int64(1), 1, np.int32(2), 2]
    for labels in (names, numbers, [*names, *numbers]):
        codes = as_variable("x", Discrete(np.array(labels, dtype=object))).codes
        assert np.array_equal(codes[::2], codes[1::2]) and len(set(codes)) == len(labels) // 2


def test_categories_of_pandas_are_those_that_occur():
    cut = pd.cut(FLOATS, [-3, 0, 1, 2, 9])  # codes 1, 2, 0, 3
    assert as_variable("x", cut).categories == 4 == as_variable("x", pd.DataFrame({"c": cut})).categories
    assert as_variable("x", cut[:2]).categories == 2
    assert list(as_variable("x", Continuous(pd.Series(FLOATS, dtype="category"))).continuous[:, 0]) == list(FLOATS)


@pytest.mark.parametrize(
    "labels",
    [["a", float("nan"), "b"], ["a", None, "b"], pd.cut([0.5, 5.0, 0.7], [0, 0.6, 1]), pd.Series(["a", None, "b"])],
)
def test_missing_labels_are_never_a_label(labels):
    for call in (as_codes, as_variable):
        with refused("x", "missing"):
            call("x", labels)


def test_numbers_among_strings_are_neither():
    with refused("x", "type"):
        as_variable("x", ["a", 1, "b"])
    with refused("x", "type"):
        as_variable("x", Continuous(["1.5", "2"]))
    with refused("x", "type"):
        as_variable("x", Continuous(["?", "1.5", "n/a", "?"]))


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["0.4", "1.5", "-2"] * 10 + ["?"], r"numbers as texts, such as '0.4', and beside them '\?' \(1\): write"),
        (["1e-3", "2", "<0.1"] * 10, r"such as '1e-3', and beside them '<0.1' \(10\)"),
        (["12,5", "3,25"] * 10, "such as '12,5': write"),
        (["45%", "7 %"] * 10, "such as '45%'"),
        (["52,000", "1,234,567.5", "3\N{NO-BREAK SPACE}000"] * 10, "such as '52,000'"),
        ([f"{code}" for code in range(10_000, 10_030)], "such as '10000'"),
        (["7:30", "12:05"] * 10, "dates or times as texts, such as '7:30': read them with pandas.to_datetime"),
        (["2020-01-31", "2021-02-01T12:30:00Z", "3/4/2021", "3 Mar 2021"] * 10, "dates or times as texts"),
        ([b"1.5", b"2.5"] * 10, "such as '1.5'"),
    ],
)
def test_numbers_and_dates_as_texts_are_refused(texts, said):
    for value in (texts, np.array(texts), pd.Series(texts, dtype=object)):
        with pytest.raises(ValueError, match=said) as error:
            as_variable("x", value)
        assert "if they are names, wrap it in Discrete" in str(error.value) and "\n" not in str(error.value)
    assert as_variable("x", Discrete(texts)).categories == len(set(texts))
    with refused("x", "type"):
        as_variable("x", pd.DataFrame({"dose": texts, "arm": ["a"] * len(texts)}))


@pytest.mark.parametrize("texts", [
    ["18-25", "26-40"], ["1.2.3", "1.2.4"], ["2019-20", "2020-21"], ["A1", "B2"], ["1", "2"], ["1", "x"], ["10.0.0.1"],
    ["3", "4", "5", "-"], ["", "1.5"], ["may", "june"],
])  # fmt: skip
def test_names_that_hold_digits_are_categories(texts):
    assert as_variable("x", texts * 5).categories == len(texts)


def test_what_is_no_number_of_the_line_is_refused():
    for value in ([1 + 2j, 2.0], np.array([1j, 2, 3]), np.array([1j, 2, 3], dtype=object), torch.tensor([1j, 2])):
        for typed in (value, Continuous(value)):
            with refused("x", "type"):
                as_variable("x", typed)
    days = pd.Series(pd.to_datetime(["2020-01-01", "2020-03-01"]), name="day")
    for value in (days, days.to_numpy(), days - days[0], list(days.dt.date)):
        for typed in (value, Continuous(value)):
            with refused("x", "type"):
                as_variable("x", typed)
    t = days
    assert list((t - t.min()) / np.timedelta64(1, "D")) == [0.0, 60.0]  # as the sentence has it


@pytest.mark.parametrize("values", [[0.5, 1.5, 2.5], [1, 2, 1], ["a", "b", "a"]])
def test_a_mask_is_never_forgotten(values):
    hidden = np.ma.array(values, mask=[False, True, False])
    for value in (hidden, hidden[:, None], Discrete(hidden), [hidden, hidden], [Discrete(values), Discrete(hidden)]):
        for call in (as_variable, single_columns):
            with refused("x", "missing"):
                call("x", value)
    with refused("y", "missing"):
        as_codes("y", hidden)
    assert as_variable("x", np.ma.array(values)).n == 3


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
    with refused("relative", "range"):
        jitter(values + 1e8 * scale, np.random.default_rng(1))


def pixels(n=600, columns=61):
    """uint8, mostly dark, no column constant."""
    g = np.random.default_rng(0)
    return np.where(g.random((n, columns)) < 0.5, 0, g.integers(0, 17, (n, columns))).astype(np.uint8)


def test_integers_that_look_like_numbers_warn_once():
    """Ages, post codes, pixels and several counts; names the columns and both wrappers."""
    g = np.random.default_rng(0)
    ages = np.clip(g.normal(45, 15, 1000), 18, 90).astype(int)
    codes = g.choice(g.integers(10_000, 99_999, 400), 1000)
    both = pd.DataFrame({"sex": g.integers(0, 2, 1000), "age": ages, "code": codes})
    for value, named in (
        (ages, "column 0 has 6[0-9] distinct"),
        (codes.tolist(), "column 0 has 3[0-9]+ distinct"),
        (torch.tensor(ages), "column 0 has"),
        (both, r"2 columns \('age', 'code'\) have"),
        (pixels(), r"61 columns \(0, 1, 2, 3, 4, ...\) have 17 distinct .* each, 600 combinations in 600 rows"),
        (g.integers(0, 1000, 1500), "column 0 has"),
    ):
        with pytest.warns(NumbersAsCategories, match=named) as caught:
            as_variable("x", value)
        assert len(caught) == 1 and "Continuous" in str(caught[0].message) and "Discrete" in str(caught[0].message)


def test_labels_do_not_warn(recwarn):
    g = np.random.default_rng(0)
    for labels in (
        g.integers(1, 13, 1000),  # months
        g.integers(0, 10, 100),
        g.integers(0, 100, 1000),
        g.integers(0, 1000, 5000),
        np.array([3, 17, 201, 404, 999])[g.integers(0, 5, 100)],
        np.eye(10, dtype=int)[g.integers(0, 10, 300)],
        g.integers(0, 3, (2000, 4)),
        np.arange(15),
        Discrete(g.integers(18, 90, 1000)),
        Discrete(pixels()),
        Continuous(g.integers(18, 90, 1000)),
        pd.Series(g.integers(18, 90, 1000), dtype="category"),
        [f"{code}" for code in g.integers(0, 10, 1000)],
        Discrete([f"{code}" for code in g.integers(10_000, 99_999, 1000)]),
    ):
        as_variable("y", labels)
    assert not recwarn


def test_many_columns_warn_once():
    numbers = pixels().astype(float)
    for call in (as_variable, single_columns, lambda _, value: knn.total_correlation(value)):
        with pytest.warns(LabelsAsNumbers, match="61 columns") as caught:
            call("x", numbers)
        assert len(caught) == 1
    with pytest.warns(NumbersAsCategories, match=r"2 columns \(0, 2\)") as caught:
        separate("x", [1000 * np.arange(50), np.arange(50) % 7, 7 * np.arange(50)])
    assert len(caught) == 1


def test_the_same_rows_in_another_order_are_refused():
    """Rows are matched by position: only the same names in another order say that this is wrong."""
    frame = pd.DataFrame({"a": np.arange(5.0)}, index=list("pqrst"))
    moved = pd.Series(np.arange(5.0), index=list("pqtrs"))
    for x, y in ((frame, moved), ([Continuous(frame)], {"b": moved}), (frame.reset_index(), moved.reset_index()[::-1])):
        with refused("y", "order"):
            require_same_order(x=x, y=y)
    with refused("y", "order"):
        as_pairs(frame, moved)
    for other in (moved.to_numpy(), moved.rename(str.upper), moved.reset_index(drop=True), moved[frame.index], [1, 2]):
        require_same_order(x=frame, y=other, groups=None)
