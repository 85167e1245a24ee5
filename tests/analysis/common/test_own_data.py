"""A person's file becomes two sides, or one sentence that says what is wrong with it."""

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from analysis.common.own_data import listed, read, read_representation, read_table
from analysis.common.own_files import ReadOptions
from infoscope import examples
from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.pairs import as_pairs
from infoscope.estimators.reading.given import as_triples
from tests.refusals import refused

STRICT = ReadOptions(strict=True)
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "a": RNG.normal(size=60),
        "b": RNG.normal(size=60),
        "age": RNG.integers(18, 90, 60),
        "city": RNG.choice(["north", "south"], 60),
        "patient": np.repeat(np.arange(30), 2),
        "name": [f"row {i}" for i in range(60)],
        "hole": np.where(np.arange(60) == 7, np.nan, 1.5),
    }
)


@pytest.fixture
def csv(tmp_path):
    """(frame) -> the path of a file with it."""

    def write(frame):
        path = tmp_path / "own.csv"
        frame.to_csv(path, index=False)
        return path

    return write


@pytest.fixture(params=[".csv", ".parquet"])
def table(tmp_path, request):
    path = tmp_path / f"pairs{request.param}"
    if request.param == ".csv":
        FRAME.to_csv(path, index=False)
    else:
        FRAME.to_parquet(path)
    return path


def test_columns_are_sides_and_groups(table):
    data = read(table, ["a", "city"], ["b"], "patient")
    assert data.variables == (("a", "city"), ("b",))
    assert len(data.x) == 60
    assert data.digest == hashlib.sha256(table.read_bytes()).hexdigest()
    pairs = as_pairs(data.x, data.y, data.groups)
    assert pairs.x.kind == "mixed"
    assert pairs.y.kind == "continuous"
    assert pairs.groups.max() == 29
    assert_allclose(pairs.x.continuous[:, 0], FRAME["a"])


def test_conditions_are_a_side_with_types_of_their_own(table):
    data = read(table, ["a"], ["b"], given=["age", "city"], discrete=["age"])
    assert data.conditions == ("age", "city")
    assert isinstance(data.given[0], Discrete)
    triples = as_triples(data.x, data.y, data.given)
    assert triples.conditions[0].categories == FRAME["age"].nunique()
    screened = read_table(table, target="b", given=["a*", "city"])
    assert screened.conditions == ("a", "age", "city")
    assert "a" not in screened.variables[0]
    assert read(table, ["a"], ["b"]).given is None


def test_x_is_what_no_other_option_names_and_rows_lack_no_condition(table):
    data = read(
        table,
        [],
        ["b"],
        "patient",
        given=["age", "city", "name", "hole"],
        discrete=["name"],
    )
    assert data.variables == (("a",), ("b",))
    assert len(data.given[0]) == 59


@pytest.fixture
def wide(csv):
    frame = FRAME[["a", "b"]].assign(
        b2=FRAME["age"], a2=1.5 * FRAME["a"], patient=FRAME["patient"]
    )
    return csv(frame)


@pytest.mark.parametrize(
    "x, y, variables",
    [
        (["a*"], ["b*"], (("a", "a2"), ("b", "b2"))),
        (["a", "b*"], ["a*"], (("a", "b", "b2"), ("a2",))),
        (["*"], ["b"], (("a", "b2", "a2"), ("b",))),
    ],
)
def test_a_prefix_names_all_columns_that_begin_so_and_that_nothing_else_names(
    wide, x, y, variables
):
    assert read(wide, x, y, "patient", discrete=["b2"]).variables == variables


def test_a_name_that_ends_in_a_star_is_itself(csv):
    path = csv(FRAME.assign(**{"a*": FRAME["b"]}))
    assert read(path, ["a*"], ["b"]).variables == (("a*",), ("b",))


def test_a_person_says_what_a_column_is(table):
    data = read(table, ["age", "a"], ["b"], continuous=["age"])
    assert isinstance(data.x[0], Continuous)
    assert as_pairs(data.x, data.y).x.dim == 2
    assert isinstance(read(table, ["age"], ["b"], discrete=["age"]).x, Discrete)


def test_arrays_of_a_file_of_numpy(tmp_path):
    path = tmp_path / "own.npz"
    np.savez(
        path,
        x=RNG.normal(size=(50, 3)),
        y=RNG.normal(size=50),
        z=RNG.normal(size=(50, 2)),
        w=np.arange(50) % 7,
    )
    assert read(path).x.shape == (50, 3)
    data = read(path, ["x", "z"], ["y"], "w")
    assert data.x.shape == (50, 5)
    assert len(set(data.groups)) == 7


@pytest.mark.parametrize(
    "words, argument",
    [
        ({"x": ["a"]}, "Y"),
        ({"x": ["a"], "y": ["c"]}, "Y"),
        ({"x": ["a", "b"], "y": ["b"]}, "X"),
        ({"x": ["q*"], "y": ["a"]}, "X"),
        ({"x": ["name"], "y": ["b"]}, "column 'name'"),
        ({"x": ["a"], "y": ["b"], "groups": "team"}, "GROUPS"),
        ({"x": ["a"], "y": ["b"], "discrete": ["age"]}, "DISCRETE"),
        ({"x": ["a"], "y": ["b"], "given": ["a"]}, "X"),
        ({"x": ["a"], "y": ["b"], "given": ["b"]}, None),
        ({"x": ["a"], "y": ["b"], "given": ["no"]}, "GIVEN"),
    ],
)
def test_a_wrong_name_is_refused(table, words, argument):
    with refused(argument):
        read(table, **words)


@pytest.mark.parametrize(
    "column, code",
    [
        (["0.4"] * 20 + ["1.5"] * 38 + ["?"] * 2, "type"),
        ([f"{place / 8}%" for place in range(60)], "type"),
        (pd.date_range("2020-01-01", periods=60).astype(str), "type"),
        (["None"] * 20 + ["cisplatin"] * 39 + [""], "missing"),
    ],
    ids=["numbers", "per cent", "dates", "missing"],
)
def test_a_strict_reader_refuses_texts_that_are_something_else(csv, column, code):
    path = csv(pd.DataFrame({"x": column, "y": FRAME["a"]}))
    with refused(code=code):
        read(path, ["x"], ["y"], options=STRICT)
    if code == "type":
        assert isinstance(
            read(path, ["x"], ["y"], options=STRICT, discrete=["x"]).x, Discrete
        )
        with refused("column 'x'", "type"):
            read(path, ["x"], ["y"], options=STRICT, continuous=["x"])


@pytest.mark.parametrize("content", ["x,x,y\n1,2,3\n", "x,y\n"], ids=["twice", "empty"])
def test_a_strict_reader_refuses_repeated_names_and_no_rows(tmp_path, content):
    (tmp_path / "own.csv").write_text(content)
    with refused():
        read(tmp_path / "own.csv", ["x"], ["y"], options=STRICT)


def test_dates_of_a_parquet_are_days_unless_the_reader_is_strict(tmp_path):
    path = tmp_path / "own.parquet"
    pd.DataFrame(
        {"day": pd.date_range("2020-01-01", periods=60), "y": FRAME["a"]}
    ).to_parquet(path)
    for words in ({}, {"continuous": ["day"]}):
        days = read(path, ["day"], ["y"], **words).x
        np.testing.assert_array_equal(
            as_pairs(days, days).x.continuous[:, 0], np.arange(60)
        )
        with refused(code="type"):
            read(path, ["day"], ["y"], options=STRICT, **words)


@pytest.fixture
def with_holes(csv):
    """Three marks of a missing value in age, two empty cells in patient."""
    ages = FRAME["age"].astype(object).where(FRAME.index > 2, "?")
    patients = FRAME["patient"].where(FRAME.index < 58)
    return csv(FRAME.assign(age=ages, patient=patients))


def test_rows_with_missing_values_of_used_columns_are_left_out_and_counted(with_holes):
    """Whole numbers stay whole; x, y and groups keep the same rows."""
    data = read(with_holes, ["age"], ["b"], "patient")
    assert len(data.x) == len(data.y) == len(data.groups) == 55
    assert data.x.dtype.kind == "i"
    assert_allclose(data.y, FRAME["b"][3:58])
    assert "'?' taken as missing (3)" in data.understood
    assert "5 rows with missing values left out" in data.understood
    representation = read_representation(with_holes, ["a"], ["age"], "city")
    assert len(representation.blocks["x"]) == len(representation.domain) == 57
    table = read_table(with_holes, target="b")
    assert pd.isna(table.columns["age"]).sum() == 3


def test_rows_of_a_series_without_a_time_are_left_out_and_counted(csv):
    """Other gaps stay, as they are places in the series."""
    path = csv(FRAME.assign(age=FRAME["age"].where(FRAME.index > 2), b=np.nan, a=1.5))
    data = read(path, ["a"], ["patient"], time="age", gaps=True)
    assert len(data.x) == 57
    assert "3 rows without age left out" in data.understood


@pytest.mark.parametrize("refuse", [ReadOptions(refuse_missing=True), STRICT])
def test_missing_values_are_refused_if_that_is_asked(csv, refuse):
    with_holes = csv(FRAME.assign(age=FRAME["age"].where(FRAME.index > 2)))
    for reader in (read, read_representation):
        with refused("column 'age'", "missing"):
            reader(with_holes, ["age", "hole"], ["b"], options=refuse)
    with refused("column 'age'", "missing"):
        read_table(with_holes, options=refuse)


def test_all_columns_without_a_value_are_named_at_once(csv):
    path = csv(FRAME.assign(a="", b=np.nan))
    with pytest.raises(
        ValueError, match=r"column 'a' .*60 of 60; column 'b' .*60 of 60"
    ):
        read(path, ["a"], ["b", "age"])


def test_all_columns_with_a_problem_are_named_at_once_and_left_out_of_a_screen(csv):
    path = csv(
        pd.DataFrame({"p": ["1"] * 58 + ["low", "?"], "q": "3/4/2020", "b": FRAME["b"]})
    )
    with pytest.raises(
        ValueError, match=r"column 'p' .*'low' \(1\).*column 'q' .*--dates"
    ):
        read(path, ["p", "q"], ["b"])
    assert isinstance(read(path, ["p"], ["b"], discrete=["p"]).x, Discrete)
    table = read_table(path)
    assert [*table.columns] == ["b"]
    assert "left out: column 'p'" in table.understood
    with refused("column 'q'", "type"):
        read_table(path, target="q")


def test_a_name_with_a_comma_is_quoted(csv):
    assert listed('a, "b, c",d') == ["a", "b, c", "d"]
    assert listed("") == []
    path = csv(FRAME.rename(columns={"a": "mass, kg"}))
    data = read(path, listed('"mass, kg",age'), ["b"], angles=listed('"mass, kg":24'))
    assert data.variables[0] == ("mass, kg", "age")


def test_rows_of_a_screen_are_shuffled_together(csv):
    table = read_table(csv(FRAME), ["a", "b"], groups="patient", shuffle=True)
    shuffled = pd.DataFrame(table.columns).assign(patient=table.groups)
    assert shuffled["a"].tolist() != FRAME["a"].tolist()
    ordered = shuffled.sort_values("a", ignore_index=True)
    expected = FRAME[["a", "b", "patient"]].sort_values("a", ignore_index=True)
    pd.testing.assert_frame_equal(ordered, expected, check_dtype=False)


def test_a_file_without_two_sides_is_refused(tmp_path):
    np.savez(tmp_path / "single.npz", x=3.0, y=np.zeros(30), seed=1)
    with refused("X", "name"):
        read(tmp_path / "single.npz")
    for name in ("pairs.pkl", "absent.csv"):
        with refused("DATA", "file"):
            read(tmp_path / name, y=["y"])


def test_an_example_is_read_like_a_file():
    data = read(Path("examples/survey"), ["q*"], ["satisfaction"], "household")
    table = examples.survey()
    assert data.variables[0] == tuple(f"q{number}" for number in range(1, 9))
    assert len(data.x) == len(table)
    assert data.digest == hashlib.sha256(table.to_csv(index=False).encode()).hexdigest()
    with refused(code="name"):
        read(Path("examples/flowers"), ["a"], ["b"])
