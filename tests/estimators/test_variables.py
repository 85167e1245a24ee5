"""The one door for arrays: how columns are typed, what is refused, aligned or left out,
and which rows are copies.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from numpy.testing import assert_array_equal
from pytest import approx

from infoscope.estimators import diagnose, estimate
from infoscope.estimators.alignment import aligned, complete_rows
from infoscope.estimators.column_types import as_variable, as_variables
from infoscope.estimators.columns import (
    Angle,
    Continuous,
    Discrete,
    as_codes,
    single_columns,
)
from infoscope.estimators.knn import mutual_information
from infoscope.estimators.scales import jitter, with_repeated_values, within_steps
from infoscope.estimators.variables import copies, join
from tests.estimators.samples import draws, normal_pair
from tests.refusals import refused

FLOATS = np.array([0.5, 1.5, -2.0, 3.25])
NORMAL = draws(1).normal(size=60)


def codes_of_notes(noted):
    return [note.code for note in noted.notes]


def same_label(codes):
    """Whether the labels of each pair of rows are equal, bool [n, n]."""
    return np.equal.outer(codes, codes)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (FLOATS, "continuous"),
        (torch.tensor(FLOATS).bfloat16(), "continuous"),
        ([True, False, True, True], "discrete"),
        (torch.tensor([1, 0, 0, 1]), "discrete"),
        (pd.Series([0.5, 1.5, 0.5, 2.5], dtype="category"), "discrete"),
        (Continuous(pd.Series(FLOATS, dtype="category")), "continuous"),
        ([[0.5, "a"], [1.5, "b"], [2.5, "a"], [1.0, "a"]], "mixed"),
        (pd.DataFrame({"x": FLOATS, "c": pd.cut(FLOATS, 2)}), "mixed"),
        (Angle(FLOATS, 4), "continuous"),
        ([FLOATS, Discrete([0, 1, 1, 0])], "mixed"),
    ],
)
def test_types_are_inferred_per_column(value, kind):
    variable = as_variable("x", value)
    assert variable.kind == kind
    assert variable.n == 4
    assert variable.continuous.dtype == np.float64
    assert (variable.codes is None) == (kind == "continuous")
    assert as_variable("x", variable) is variable


def ages(g, n):
    return np.clip(g.normal(45, 15, n), 18, 90).astype(int)


def sum_of_answers(g, n):
    """Sum of four answers 1 to 5 about one attitude."""
    attitude = 3 + g.normal(size=(n, 1))
    noise = 0.7 * g.normal(size=(n, 4))
    answers = np.round(attitude + noise)
    return np.clip(answers, 1, 5).astype(int).sum(axis=1)


NOTED = {  # values, kind, and code of the note
    "100 classes": (lambda g: g.integers(0, 100, 1000), "discrete", []),
    "two of large numbers": (lambda g: g.choice([201, 999], 100), "discrete", []),
    "two floats": (lambda g: g.choice([0.2, 1.7], 100), "discrete", []),
    "some of large numbers": (
        lambda g: g.choice([3, 17, 201, 404, 999], 100),
        "continuous",
        ["repeated values"],
    ),
    "row numbers": (
        lambda g: np.arange(1000),
        "continuous",
        ["different whole numbers"],
    ),
    "sex and age": (
        lambda g: np.c_[g.integers(0, 2, 1000), ages(g, 1000)],
        "mixed",
        ["repeated values"],
    ),
    "ages as numbers": (lambda g: Continuous(ages(g, 1000)), "continuous", []),
}


@pytest.mark.parametrize("name", NOTED)
def test_integers_are_labels_unless_they_look_like_numbers(name, recwarn):
    """A note names those that a reader may want to be categories. There are no
    warnings.
    """
    values, kind, codes = NOTED[name]
    variable = as_variable("x", values(draws()))
    assert variable.kind == kind
    assert codes_of_notes(variable) == codes
    assert not recwarn


INTEGERS = {  # integers [n] of one distribution each, and their kind at any n
    "sum of four answers": (sum_of_answers, "continuous"),
    "wine quality": (
        lambda g, n: g.choice(range(3, 9), n, p=[0.01, 0.05, 0.67, 0.2, 0.05, 0.02]),
        "continuous",
    ),
    "years": (lambda g, n: g.integers(2010, 2020, n), "continuous"),
    "few events": (lambda g, n: g.poisson(1, n), "discrete"),
    "genotypes": (lambda g, n: g.binomial(2, 0.3, n), "discrete"),
}


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("n", [100, 2000])
def test_integers_of_one_distribution_have_one_type(name, n):
    """Whatever values the sample happens to have: the score of 5 to 25 was a label in
    some samples.
    """
    values, kind = INTEGERS[name]
    for seed in range(8):
        assert as_variable("x", values(draws(seed), n)).kind == kind


@pytest.mark.parametrize("constant", [np.ones((60, 2)), ["a"] * 60])
def test_a_constant_variable_is_refused(constant):
    with refused("y", "constant"):
        estimate(NORMAL, constant)


def test_categories_of_several_columns_are_joined():
    numbers = np.array([0, 0, 1, 1, 1])
    letters = np.array(["a", "b", "a", "a", "b"])
    expected = same_label(numbers) & same_label(letters)
    variable = as_variable("x", (Discrete(numbers), Discrete(letters)))
    joint = join(as_variable("x", numbers), as_variable("y", letters))
    assert variable.categories == 4
    for codes in (variable.codes, joint.codes):
        assert_array_equal(same_label(codes), expected)


TYPED_LABELS = np.array([1, "1", 1, "1"], dtype=object)


MIXED_TEXTS = np.array([np.str_("a"), "a", np.str_("b"), "b"], dtype=object)


@pytest.mark.parametrize(
    ("labels", "codes"),
    [
        (TYPED_LABELS, [0, 1, 0, 1]),  # types are compared too
        (MIXED_TEXTS, [0, 0, 1, 1]),  # but not numpy's with Python's
        # categories that do not occur are none
        (pd.cut(FLOATS, [-3, 0, 1, 2, 9])[1:], [1, 0, 2]),
    ],
)
def test_one_label_has_one_code(labels, codes):
    variable = as_variable("x", Discrete(labels))
    assert_array_equal(same_label(variable.codes), same_label(codes))
    assert variable.categories == len(set(codes))


@pytest.mark.parametrize("call", [as_codes, as_variable])
@pytest.mark.parametrize(
    "labels",
    [["a", float("nan"), "b"], ["a", None, "b"], pd.cut([0.5, 5.0, 0.7], [0, 0.6, 1])],
)
def test_missing_labels_are_never_a_label(call, labels):
    with refused("x", "missing"):
        call("x", labels)


@pytest.mark.parametrize(
    "texts",
    [
        ["0.4", "1.5", "-2"] * 10 + ["?"],
        ["1e-3", "2", "<0.1"] * 10,
        ["45%", "7 %"] * 10,
        ["52,000", "1,234,567.5", "3\N{NO-BREAK SPACE}000"] * 10,
        [f"{code}" for code in range(10_000, 10_030)],
        ["7:30", "12:05"] * 10,
        ["2020-01-31", "2021-02-01T12:30:00Z", "3/4/2021", "3 Mar 2021"] * 10,
    ],
)
def test_numbers_and_dates_as_texts_are_refused(texts):
    encoded = [text.encode() for text in texts]
    for value in (texts, encoded, pd.DataFrame({"dose": texts})):
        with refused("x", "type") as caught:
            as_variable("x", value)
        assert repr(texts[0]) in str(caught.value)
    assert as_variable("x", Discrete(texts)).categories == len(set(texts))


@pytest.mark.parametrize(
    "texts",
    [["18-25", "26-40"], ["1.2.3", "1.2.4"], ["2019-20", "2020-21"], ["1", "x"]],
)
def test_names_that_hold_digits_are_categories(texts):
    assert as_variable("x", texts * 5).categories == 2


@pytest.mark.parametrize("declared", [lambda value: value, Continuous])
@pytest.mark.parametrize(
    ("value", "code"),
    [
        (["a", 1, "b"], "type"),
        (list(pd.date_range("2020-01-01", periods=2).date), "type"),
        (scipy.sparse.csr_matrix((1_000_000, 100)), "shape"),
        (NORMAL * 1e307, "range"),  # gave 2.083 nats with an error of 3e-17
    ],
)
def test_what_is_no_sample_of_numbers_or_categories_is_refused(declared, value, code):
    """And more in tests/test_every_entry.py."""
    with refused("x", code):
        as_variable("x", declared(value))


@pytest.mark.parametrize("values", [[0.5, 1.5, 2.5], [1, 2, 1], ["a", "b", "a"]])
def test_a_mask_is_never_forgotten(values):
    masked = np.ma.array(values, mask=[False, True, False])
    hidden = Discrete(masked)
    for call in (as_variable, single_columns):
        for value in (hidden, [Discrete(values), hidden]):
            with refused("x", "missing"):
                call("x", value)
    assert as_variable("x", np.ma.array(values)).n == 3


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_sparse_matrices_are_dense_ones(kind):
    dense = draws().normal(size=(40, 3))
    dense[:20, 1] = 0
    assert_array_equal(as_variable("x", kind(dense)).continuous, dense)
    assert as_variable("x", Discrete(kind(np.eye(4)))).categories == 4


@pytest.mark.parametrize("scale", [1e-12, 1e9])
def test_jitter_is_relative_to_the_spread(scale):
    rounded = np.round(draws().normal(size=(200, 2)))
    values = scale * rounded
    moved = jitter(values, draws(1))
    assert len(np.unique(moved[:, 0])) > 190
    assert np.abs(moved - values).max() <= 1e-10 * scale
    with refused("relative", "range"):
        jitter(values + 1e8 * scale, draws(1))


def test_noise_within_steps_is_undone_by_rounding():
    g = draws()
    quarters = 7 + 0.25 * g.integers(-9, 9, 300)
    normal = g.normal(size=300)
    variable = as_variable("x", np.column_stack([quarters, normal]))
    moved, unchanged = within_steps(variable, g).continuous.T
    assert_array_equal(np.round(4 * moved) / 4, quarters)
    assert_array_equal(unchanged, normal)
    assert len(np.unique(moved)) == 300


def test_a_point_mass_becomes_a_category_of_its_own():
    is_dry = draws().random(400) < 0.4
    amounts = draws(1).exponential(size=400)
    rain = np.where(is_dry, 0.0, amounts)
    variable = with_repeated_values(as_variable("x", rain))
    assert variable.kind == "mixed"
    code_of_zero = variable.codes[rain == 0][0]
    assert_array_equal(variable.codes == code_of_zero, is_dry)
    assert with_repeated_values(as_variable("x", NORMAL)).codes is None


# The order of rows


def named_series(values):
    """A Series with a name for each row."""
    names = [f"row {i}" for i in range(len(values))]
    return pd.Series(values, index=names)


def shuffled(series):
    return series.iloc[draws(2).permutation(len(series))]


def test_names_of_rows_order_groups_and_declared_columns():
    """Of x and y in tests/test_every_entry.py."""
    x, y = map(named_series, normal_pair(300, 0.8))
    exact = estimate(x, y, "ksg").value
    other_order = Continuous(shuffled(y))
    declared = estimate(x.to_frame(), [other_order], "ksg")
    assert declared.value == approx(exact, abs=1e-12)
    groups = shuffled(named_series(np.arange(300) // 3))
    assert estimate(x, y.to_numpy(), groups=groups).units == 100


def test_rows_without_names_in_common_are_paired_by_position():
    x, y = map(named_series, normal_pair(300, 0.8))
    other_order = shuffled(y)
    _, notes = aligned(x=x, y=other_order.to_numpy())
    assert notes == []
    plain = other_order.reset_index(drop=True)
    for left, right in ((x, plain), (plain, x)):
        assert codes_of_notes(estimate(left, right, "ksg")) == ["paired by position"]
    with refused("y", "order"):
        estimate(x, other_order.rename(str.upper))


def test_names_of_rows_that_repeat_are_refused_in_another_order():
    index = np.arange(300) // 2
    x, y = (pd.Series(variable, index=index) for variable in normal_pair(300, 0.8))
    with refused("y", "order"):
        estimate(x, shuffled(y))
    assert estimate(x, y).n == 300


def test_rows_with_missing_values_are_left_out_and_counted():
    """In every form of the same sample; functions below `estimate` name the column and
    refuse.
    """
    x, y = normal_pair(300, 0.8)
    label = (x > 0).astype(float)
    complete = (Continuous(x[10:]), Discrete(label[10:]))
    exact = estimate(complete, y[10:], "ksg")
    x[:7] = np.nan
    y[5:10] = np.nan
    label[:4] = np.nan  # whole numbers become floats
    table = pd.DataFrame({"dose": x, "arm": label})
    estimated = estimate(table, y, "ksg")
    assert estimated.n == 290
    assert estimated.value == exact.value
    assert "'dose'" in str(estimate(table, y).notes[0])
    assert diagnose(table, y).pairs.n == 290
    with refused("x", "missing") as caught:
        mutual_information(table, y)
    assert "'dose'" in str(caught.value)
    with refused("x and y", "missing"):
        estimate(np.full(20, np.nan), NORMAL[:20])


def test_a_column_of_vectors_is_a_matrix():
    """As Hugging Face and parquet give embeddings."""
    vectors = draws().normal(size=(60, 3))
    for column in (pd.Series(vectors.tolist()), pd.DataFrame({"z": list(vectors)})):
        assert_array_equal(as_variable("x", column).continuous, vectors)
    with refused("x", "shape"):
        as_variable("x", pd.Series([[1.0, 2.0], [1.0]]))


def test_one_group_is_refused():
    with refused("groups", "few"):
        estimate(NORMAL, NORMAL**3, groups=["a"] * 60)


@pytest.mark.parametrize(
    ("n", "groups", "argument"), [(59, None, "x and y"), (60, np.arange(59), "groups")]
)
def test_other_lengths_are_refused(n, groups, argument):
    with refused(argument, "length"):
        as_variables(groups, x=NORMAL, y=NORMAL[:n])


# Angles


@pytest.mark.parametrize("period", [0, np.inf, "360"])
def test_a_period_is_a_positive_number(period):
    with refused("period", "range"):
        Angle(FLOATS, period)


def cosine_and_sine(turn):
    radians = 2 * np.pi * turn
    circle = np.column_stack([np.cos(radians), np.sin(radians)])
    return circle.astype("f4")


@pytest.mark.parametrize("form", [lambda turn: Angle(turn, 1), cosine_and_sine])
def test_two_angles_are_read_by_ksg(form):
    """10 degrees apart, 1.97 nats; the reading had 2.3 to 2.5, and intervals of grade A
    above the true value.
    """
    g = draws()
    turn = g.vonmises(0, 1, 600) / (2 * np.pi)
    noise = 10 / 360 * g.normal(size=600)
    estimated = estimate(form(turn), form(turn + noise))
    assert estimated == approx(1.97, abs=0.15)
    assert estimated.low <= 1.97 <= estimated.high
    assert estimated.grade == "C"
    assert "two angles" in codes_of_notes(estimated)
    numbers = g.normal(size=(600, 2))
    with_numbers = estimate(form(turn), numbers)
    assert with_numbers.method == "reading"
    assert not with_numbers.notes


# Copies


def fives_and_cents(g, n):
    """Amounts of which some are rounded to fives, the others to cents."""
    amounts = np.exp(4 + g.normal(size=n))
    fives = 5 * np.round(amounts / 5)
    is_rounded = g.random(n) < 0.6
    return np.where(is_rounded, fives, np.round(amounts, 2))


ROUNDED = {
    "not": lambda g, n: g.normal(size=n),
    "three decimals": lambda g, n: g.normal(size=n).round(3),
    "two columns": lambda g, n: g.normal(size=(n, 2)).round(1),
    "fives and cents": fives_and_cents,
}


@pytest.mark.parametrize("rounded", ROUNDED)
@pytest.mark.parametrize("depends", [False, True])
def test_numbers_that_repeat_by_their_resolution_are_no_copies(rounded, depends):
    """Next to an independent label, and to one that is a function of them. 6 data sets
    of each.
    """
    for seed in range(6):
        g = draws(seed)
        x = as_variable("x", Continuous(ROUNDED[rounded](g, 1000)))
        first = x.continuous[:, 0]
        label = g.random(1000) < 0.5
        if depends:
            label = first > np.median(first)
        assert copies(x, as_variable("y", label)) is None


def test_zeros_on_both_sides_are_no_copies():
    """Half of 500 rows are 0 in x and y, the others positive and independent: ln 2."""
    g = draws()
    is_positive = g.random(500) < 0.5
    x, y = is_positive * g.exponential(size=(2, 500))
    estimated = estimate(x, y)
    assert estimated.n == 500
    assert estimated == approx(np.log(2), abs=0.1)
    assert estimated.low < np.log(2) < estimated.high


@pytest.mark.parametrize("columns", [2, 30])
def test_copies_are_equal_in_every_column(columns):
    x = draws().normal(size=(50, columns))
    x[0] = 0.0
    label = np.repeat([1.5, 2.5], 25)
    x = np.vstack([x, x[:10]])
    x[50] = -0.0  # equals 0
    labels = np.append(label, label[:10])
    y = labels + x[:, 0]
    codes = copies(as_variable("x", x), as_variable("y", y))
    assert codes.max() + 1 == 50
    assert_array_equal(codes[50:], codes[:10])


def test_complete_rows_take_groups_beside_a_checked_variable():
    """The last value may be a Variable, which has no missing values."""
    x = np.array([1.0, np.nan, 3.0, 4.0])
    y = as_variables(y=np.array([0.5, 1.5, 2.5, 4.5]))[0]["y"]
    values, groups, _ = complete_rows({"x": x, "y": y}, groups=list("aabb"))
    assert values["x"].tolist() == [1.0, 3.0, 4.0]
    assert values["y"].n == 3
    assert groups.tolist() == [0, 1, 1]
