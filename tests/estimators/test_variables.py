"""The one door for arrays: how columns are typed, what is refused, aligned or left out, and which rows are copies."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from infoscope.estimators import diagnose, estimate
from infoscope.estimators.alignment import aligned
from infoscope.estimators.column_types import as_variable, as_variables
from infoscope.estimators.columns import Angle, Continuous, Discrete, as_codes, single_columns
from infoscope.estimators.knn import mutual_information
from infoscope.estimators.scales import jitter, with_repeated_values, within_steps
from infoscope.estimators.variables import copies, join
from tests.estimators.samples import draws, normal_pair, normal_pairs
from tests.refusals import refused

FLOATS = np.array([0.5, 1.5, -2.0, 3.25])


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
    assert variable.kind == kind and variable.n == 4
    assert variable.continuous.dtype == np.float64
    assert (variable.codes is None) == (kind == "continuous")
    assert as_variable("x", variable) is variable


def likert(n=400, columns=3, g=None):
    """Answers 1 to 5 [n, columns] to questions about one attitude, and those of a second scale about the same."""
    g = draws() if g is None else g
    attitude = 3 + g.normal(size=(n, 1))
    return [np.clip(np.round(attitude + 0.7 * g.normal(size=(n, columns))), 1, 5).astype(int) for _ in range(2)]


def ages(g):
    return np.clip(g.normal(45, 15, 1000), 18, 90).astype(int)


INTEGERS = {  # values, kind, and the columns that a note names
    "100 classes": (lambda g: g.integers(0, 100, 1000), "discrete", 0),
    "two of large numbers": (lambda g: np.array([201, 999])[g.integers(0, 2, 100)], "discrete", 0),
    "some of large numbers": (lambda g: np.array([3, 17, 201, 404, 999])[g.integers(0, 5, 100)], "continuous", 1),
    "row numbers": (lambda g: np.arange(1000), "continuous", 1),
    "ages": (ages, "continuous", 1),
    "sex and age": (lambda g: np.c_[g.integers(0, 2, 1000), ages(g)], "mixed", 1),
    "ages as numbers": (lambda g: Continuous(ages(g)), "continuous", 0),
}


DRAWN = {  # integers [n] of one distribution each, and their kind at any n
    "sum of four answers": (lambda g, n: likert(n, 4, g)[0].sum(axis=1), "continuous"),
    "wine quality": (lambda g, n: g.choice(range(3, 9), n, p=[0.01, 0.05, 0.67, 0.2, 0.05, 0.02]), "continuous"),
    "years": (lambda g, n: g.integers(2010, 2020, n), "continuous"),
    "heads of 20": (lambda g, n: g.binomial(20, 0.5, n), "continuous"),
    "few events": (lambda g, n: g.poisson(1, n), "discrete"),
    "genotypes": (lambda g, n: g.binomial(2, 0.3, n), "discrete"),
    "classes of falling size": (lambda g, n: g.choice(10, n, p=0.4 * 0.6 ** np.arange(10) / (1 - 0.6**10)), "discrete"),
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("n", [100, 2000])
def test_integers_of_one_distribution_have_one_type(name, n):
    """Whatever values the sample happens to have: the score of 5 to 25 was a label in some samples."""
    values, kind = DRAWN[name]
    assert {as_variable("x", values(draws(seed), n)).kind for seed in range(8)} == {kind}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_labels_unless_they_look_like_numbers(name, recwarn):
    """Numbers of a note: those that a reader may want to be categories. Warnings there are none."""
    values, kind, noted = INTEGERS[name]
    found = as_variable("x", values(draws()))
    assert found.kind == kind and len(found.notes) == (noted > 0) and not recwarn
    codes = {"row numbers": "different whole numbers"}
    assert {note.code for note in found.notes} <= {codes.get(name, "repeated values")}


@pytest.mark.parametrize(
    ("values", "notes"), [(np.array([0.0, 1, 1, 0]), 1), (np.arange(100) / 1, 0), (Continuous([1, 0, 1, 0]), 0)]
)
def test_labels_as_floats_are_numbers_with_a_note(values, notes):
    variable = as_variable("x", values)
    assert variable.kind == "continuous"
    assert len(variable.notes) == notes


def test_constant_columns_are_left_out_with_a_note():
    x, y = normal_pairs(300, 0.8)
    found = estimate(np.column_stack([x, np.full(300, 2.5)]), y)
    assert found.value == estimate(x, y).value
    assert any("left out" in note for note in found.notes)


@pytest.mark.parametrize("constant", [np.ones((60, 2)), ["a"] * 60])
def test_a_constant_variable_is_refused(constant):
    with refused("y", "constant"):
        estimate(draws(1).normal(size=60), constant)


def test_categories_of_several_columns_are_joined():
    one, two = np.array([0, 0, 1, 1, 1]), np.array(["a", "b", "a", "a", "b"])
    variable = as_variable("x", (Discrete(one), Discrete(two)))
    same = variable.codes[:, None] == variable.codes
    assert np.array_equal(same, (one[:, None] == one) & (two[:, None] == two)) and variable.categories == 4
    beside = join(as_variable("x", one), as_variable("y", two))
    assert np.array_equal(beside.codes[:, None] == beside.codes, same)


@pytest.mark.parametrize(
    ("labels", "codes"),
    [
        ([1, "1", 1, "1"], [0, 1, 0, 1]),  # types are compared too
        ([np.str_("a"), "a", np.str_("b"), "b"], [0, 0, 1, 1]),  # but not those of numpy with Python's
        (pd.cut(FLOATS, [-3, 0, 1, 2, 9])[1:], [1, 0, 2]),  # categories that do not occur are none
    ],
)
def test_one_label_has_one_code(labels, codes):
    labels = labels if isinstance(labels, pd.Categorical) else np.array(labels, dtype=object)
    found = as_variable("x", Discrete(labels))
    assert np.array_equal(np.equal.outer(found.codes, found.codes), np.equal.outer(codes, codes))
    assert found.categories == len(set(codes))


@pytest.mark.parametrize(
    "labels",
    [["a", float("nan"), "b"], ["a", None, "b"], pd.cut([0.5, 5.0, 0.7], [0, 0.6, 1]), pd.Series(["a", None, "b"])],
)
def test_missing_labels_are_never_a_label(labels):
    for call in (as_codes, as_variable):
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
        [b"1.5", b"2.5"] * 10,
    ],
)
def test_numbers_and_dates_as_texts_are_refused(texts):
    for value in (texts, np.array(texts), pd.DataFrame({"dose": texts, "arm": ["a"] * len(texts)})):
        with refused("x", "type") as caught:
            as_variable("x", value)
        first = texts[0].decode() if isinstance(texts[0], bytes) else texts[0]
        assert repr(first) in str(caught.value) and "Discrete" in str(caught.value)
    assert as_variable("x", Discrete(texts)).categories == len(set(texts))


@pytest.mark.parametrize("texts", [
    ["18-25", "26-40"], ["1.2.3", "1.2.4"], ["2019-20", "2020-21"], ["1", "2"], ["1", "x"], ["", "1.5"],
])  # fmt: skip
def test_names_that_hold_digits_are_categories(texts):
    assert as_variable("x", texts * 5).categories == len(texts)


DAYS = pd.Series(pd.to_datetime(["2020-01-01", "2020-03-01"]), name="day")
NORMAL = draws(1).normal(size=60)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (["a", 1, "b"], "type"),
        (np.array([1j, 2, 3], dtype=object), "type"),
        (torch.tensor([1j, 2]), "type"),
        (list(DAYS.dt.date), "type"),
        (np.array([object()] * 9), "type"),
        ([[0.5, 1.5]], "few"),
        (np.empty((0, 2)), "length"),
        (scipy.sparse.csr_matrix((1_000_000, 100)), "shape"),
        (NORMAL * 1e307, "range"),  # gave 2.083 nats with an error of 3e-17
    ],
)
def test_what_is_no_sample_of_numbers_or_categories_is_refused(value, code):
    """And more in tests/test_every_entry.py."""
    for typed in (value, Continuous(value)) if code != "few" else (value,):
        with refused("x", code):
            as_variable("x", typed)


@pytest.mark.parametrize("values", [[0.5, 1.5, 2.5], [1, 2, 1], ["a", "b", "a"]])
def test_a_mask_is_never_forgotten(values):
    hidden = np.ma.array(values, mask=[False, True, False])
    for value in (hidden, Discrete(hidden), [Discrete(values), Discrete(hidden)]):
        for call in (as_variable, single_columns):
            with refused("x", "missing"):
                call("x", value)
    with refused("y", "missing"):
        as_codes("y", hidden)
    assert as_variable("x", np.ma.array(values)).n == 3


def test_sparse_matrices_are_dense_ones():
    dense = draws().normal(size=(40, 3)) * [1, 0, 1] + [0, 0.5, 0]
    dense[:20, 1] = 0
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.coo_array):
        assert np.array_equal(as_variable("x", kind(dense)).continuous, dense)
        assert as_variable("x", Discrete(kind(np.eye(4)))).categories == 4


@pytest.mark.parametrize("scale", [1e-12, 1e9])
def test_jitter_is_relative_to_the_spread(scale):
    values = np.round(draws().normal(size=(200, 2))) * scale
    moved = jitter(values, draws(1))
    assert len(np.unique(moved[:, 0])) > 190
    assert np.abs(moved - values).max() <= 1e-10 * scale
    with refused("relative", "range"):
        jitter(values + 1e8 * scale, draws(1))


def test_noise_within_steps_is_undone_by_rounding():
    g = draws()
    numbers = np.column_stack([0.25 * g.integers(-9, 9, 300) + 7, g.normal(size=300)])
    moved = within_steps(as_variable("x", numbers), g).continuous
    assert (np.round(4 * moved[:, 0]) / 4 == numbers[:, 0]).all() and (moved[:, 1] == numbers[:, 1]).all()
    assert len(np.unique(moved[:, 0])) == 300


def test_a_point_mass_becomes_a_category_of_its_own():
    rain = np.where(draws().random(400) < 0.4, 0.0, draws(1).exponential(size=400))
    found = with_repeated_values(as_variable("x", rain))
    assert found.kind == "mixed" and np.array_equal(found.codes == found.codes[rain == 0][0], rain == 0)
    assert with_repeated_values(as_variable("x", NORMAL)).codes is None


# The order of rows


def shuffled(variable, seed=2):
    """A Series [n] with names of rows, and the same in another order."""
    named = pd.Series(variable, index=[f"row {i}" for i in range(len(variable))])
    return named, named.iloc[draws(seed).permutation(len(variable))]


def test_pandas_rows_of_the_same_names_are_put_in_one_order():
    """Matched by position this pair has .00 nats."""
    x, y = normal_pair(300, 0.8)
    exact = estimate(x, y, "ksg")
    (first, _), (_, second) = shuffled(x), shuffled(y)
    for left, right in ((first, second), (first.to_frame(), [Continuous(second)])):
        found = estimate(left, right, "ksg")
        assert found.value == pytest.approx(exact.value, abs=1e-12)
        assert any("y" in note and "index" in note for note in found.notes)
    groups = shuffled(np.arange(300) // 3)[1]
    assert estimate(first, y, groups=groups).units == 100
    for other in (second.to_numpy(), second.iloc[:-1]):
        assert aligned(x=first, y=other)[1] == []
    plain = second.reset_index(drop=True)
    for left, right in ((first, plain), (plain, first)):
        assert [note.code for note in estimate(left, right, "ksg").notes] == ["paired by position"]
    for other in (second.rename(str.upper), [Discrete(first), second.rename(str.upper)]):
        with refused("y", "order"):
            estimate(first, other)


def test_rows_with_missing_values_are_left_out_and_counted():
    """In every form of the same sample; functions below `estimate` name the column and refuse."""
    x, y = normal_pairs(300, 0.8)
    label = (x[:, 0] > 0).astype(int)
    exact = estimate((Continuous(x[10:]), Discrete(label[10:])), y[10:], "ksg")
    x[:7], y[5:10] = np.nan, np.nan
    table = pd.DataFrame({"dose": x[:, 0], "arm": label})
    table.loc[:3, "arm"] = np.nan  # whole numbers become floats
    for left in (table, (Continuous(x), Discrete(label))):
        found = estimate(left, y, "ksg", groups=np.arange(300) // 2)
        assert found.n == 290 and found.value == pytest.approx(estimate(left, y, "ksg").value, abs=0.1)
        assert estimate(left, y, "ksg").value == exact.value
    assert "'dose'" in str(estimate(table, y).notes[0]) and diagnose(table, y).pairs.n == 290
    with refused("x", "missing") as caught:
        mutual_information(table, y)
    assert "'dose'" in str(caught.value) and "dropna" in str(caught.value)
    with refused("x and y", "missing"):
        estimate(np.full(20, np.nan), NORMAL[:20])


def test_a_column_of_vectors_is_a_matrix():
    """As Hugging Face and parquet give embeddings."""
    vectors = draws().normal(size=(60, 3))
    for column in (pd.Series(vectors.tolist()), pd.Series(list(vectors)), pd.DataFrame({"z": list(vectors)})):
        assert np.array_equal(as_variable("x", column).continuous, vectors)
    with refused("x", "shape"):
        as_variable("x", pd.Series([[1.0, 2.0], [1.0]]))


def test_one_group_is_refused():
    with refused("groups", "few"):
        estimate(NORMAL, NORMAL**3, groups=["a"] * 60)


def test_names_of_rows_that_repeat_are_refused_in_another_order():
    x, y = (pd.Series(variable, index=np.arange(300) // 2) for variable in normal_pair(300, 0.8))
    with refused("y", "order"):
        estimate(x, y.iloc[draws(2).permutation(300)])
    assert estimate(x, y).n == 300


@pytest.mark.parametrize(("n", "groups", "argument"), [(59, None, "x and y"), (60, np.arange(59), "groups")])
def test_other_lengths_are_refused(n, groups, argument):
    with refused(argument, "length"):
        as_variables(groups, x=NORMAL, y=NORMAL[:n])


def test_groups_are_codes():
    _, codes = as_variables(["b", "a"] * 30, x=NORMAL)
    assert list(codes[:3]) == [0, 1, 0]


# Angles


def test_an_angle_is_the_same_a_period_on():
    """An axis of 180 degrees, of which the response knows the cosine of twice the angle."""
    g = draws()
    angle = g.uniform(0, 180, 500)
    response = np.cos(2 * np.pi * angle / 180) + 0.5 * g.normal(size=500)
    axis, plain = estimate(Angle(angle, 180), response, "ksg"), estimate(angle, response, "ksg")
    turned = estimate(Angle(angle + 180 * g.integers(-3, 4, 500), 180), response, "ksg")
    assert turned.value == pytest.approx(axis.value, abs=1e-6)
    assert abs(axis - plain) > 1e-3
    assert "Angle(values, 180)" in plain.notes[0] and not axis.notes
    assert as_variable("x", Angle(np.c_[angle, angle], 180)).dim == 4
    for period in (0, np.inf, "360"):
        with refused("period", "range"):
            Angle(angle, period)


@pytest.mark.parametrize("form", [
    lambda turn: Angle(turn, 1), lambda turn: np.c_[np.cos(2 * np.pi * turn), np.sin(2 * np.pi * turn)].astype("f4"),
])  # fmt: skip
def test_two_angles_are_read_by_ksg(form):
    """10 degrees apart, 1.97 nats; the reading had 2.3 to 2.5, and intervals of grade A above the true value."""
    g = draws()
    turn = g.vonmises(0, 1, 600) / (2 * np.pi)
    x, y = form(turn), form(turn + 10 / 360 * g.normal(size=600))
    found = estimate(x, y)
    assert found == pytest.approx(1.97, abs=0.15) and found.low <= 1.97 <= found.high and found.grade == "C"
    assert "two angles" in [note.code for note in found.notes]
    beside = estimate(x, g.normal(size=(600, 2)))
    assert beside.grade == "A" and beside.method == "reading" and not beside.notes


# Copies


def heaped(money, at_fives):
    """Amounts [n] of which some are rounded to fives, the others to cents."""
    return np.where(at_fives, 5 * np.round(money / 5), np.round(money, 2))


ROUNDED = {
    "not": lambda g, n: g.normal(size=n),
    "three decimals": lambda g, n: g.normal(size=n).round(3),
    "two columns": lambda g, n: g.normal(size=(n, 2)).round(1),
    "cents or tens": lambda g, n: (200 * g.exponential(size=n)).round(2 - 3 * g.integers(2)),
    "fives and cents": lambda g, n: heaped(np.exp(4 + g.normal(size=n)), g.random(n) < 0.6),
    "three digits": lambda g, n: np.array([float(f"{one:.3g}") for one in np.exp(2 * g.normal(size=n))]),
}


@pytest.mark.parametrize("rounded", ROUNDED)
@pytest.mark.parametrize("follows", [False, True])
def test_numbers_that_repeat_by_their_resolution_are_no_copies(rounded, follows):
    """Beside a label that knows nothing of them, and one that follows from them. 6 data sets of each."""
    numbers = ROUNDED[rounded]
    for seed in range(6):
        g = draws(seed)
        x = numbers(g, 1000)
        first = x[:, 0] if x.ndim > 1 else x
        label = first > np.median(first) if follows else g.random(1000) < 0.5
        assert copies(as_variable("x", Continuous(x)), as_variable("y", label)) is None


def test_zeros_on_both_sides_are_no_copies():
    """Half of 500 rows are 0 in x and y, the others positive and independent: ln 2."""
    g = draws()
    x, y = (g.random(500) < 0.5) * g.exponential(size=(2, 500))
    assert copies(as_variable("x", x), as_variable("y", y)) is None
    found = estimate(x, y)
    assert found.n == 500 and found == pytest.approx(np.log(2), abs=0.1)
    assert found.low < np.log(2) < found.high


@pytest.mark.parametrize("columns", [2, 30])
def test_copies_are_equal_in_every_column(columns):
    x = draws().normal(size=(60, columns))
    x[0], x[50:] = 0.0, x[:10]
    x[50] = -0.0  # equals 0
    y = np.repeat([1.5, 2.5], 30)[np.r_[0:50, 0:10]] + x[:, 0]
    codes = copies(as_variable("x", x), as_variable("y", y))
    assert codes.max() + 1 == 50 and (codes[50:] == codes[:10]).all()
