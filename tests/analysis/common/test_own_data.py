"""A person's file becomes two sides, or one sentence that says what is wrong with it."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from analysis.common.own_data import read
from infoscope.estimators.arrays.protocol import as_pairs
from infoscope.estimators.variables import Continuous, Discrete

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


@pytest.fixture(params=[".csv", ".parquet"])
def table(tmp_path, request):
    path = tmp_path / f"pairs{request.param}"
    FRAME.to_csv(path, index=False) if request.param == ".csv" else FRAME.to_parquet(path)
    return path


def test_columns_are_sides_and_groups(table):
    data = read(table, ["a", "city"], ["b"], "patient")
    assert data.columns == (("a", "city"), ("b",)) and data.n == 60
    assert data.digest == hashlib.sha256(table.read_bytes()).hexdigest()
    pairs = as_pairs(data.x, data.y, data.groups)
    assert pairs.x.kind == "mixed" and pairs.y.kind == "continuous" and pairs.groups.max() == 29
    np.testing.assert_allclose(pairs.x.continuous[:, 0], FRAME["a"])


def test_what_is_left_is_x(table):
    frame = FRAME[["a", "b", "city"]]
    frame.to_csv(table.with_suffix(".csv"), index=False)
    assert read(table.with_suffix(".csv"), y=["b"]).columns[0] == ("a", "city")


def test_a_person_says_what_a_column_is(table):
    data = read(table, ["age", "a"], ["b"], continuous=["age"])
    assert isinstance(data.x[0], Continuous) and as_pairs(data.x, data.y).x.dim == 2
    data = read(table, ["age"], ["b"], discrete=["age"])
    assert isinstance(data.x, Discrete)
    data = read(table, ["age"], ["b"])
    with pytest.raises(ValueError, match="x must be typed: column 'age' has"):
        as_pairs(data.x, data.y)


def test_arrays_of_a_file_of_numpy(tmp_path):
    path = tmp_path / "own.npz"
    np.savez(path, x=RNG.normal(size=(50, 3)), y=RNG.normal(size=50), z=RNG.normal(size=(50, 2)), w=np.arange(50) % 7)
    assert read(path).x.shape == (50, 3)
    data = read(path, ["x", "z"], ["y"], "w")
    assert data.x.shape == (50, 5) and len(set(data.groups)) == 7


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"x": ["a"]}, "Y must name what x is measured against, among a, b, age"),
        ({"y": ["c"]}, "Y must name columns among a, b, age, city, patient, name, hole, got 'c'"),
        ({"x": ["a", "b"], "y": ["b"]}, "X must name columns that are not in Y or GROUPS, got a, b"),
        ({"x": ["a"], "y": ["b"], "groups": "team"}, "GROUPS must name columns among"),
        ({"x": ["a"], "y": ["b"], "discrete": ["age"]}, "DISCRETE must name columns of X or Y, got 'age'"),
        ({"x": ["age"], "y": ["b"], "discrete": ["age"], "continuous": ["age"]}, "CONTINUOUS and DISCRETE must name"),
        ({"x": ["name"], "y": ["b"]}, "column 'name' must hold numbers or categories, got 60 different texts in 60"),
        ({"x": ["hole"], "y": ["b"]}, "column 'hole' must have no missing values, got 1 of 60"),
    ],
)
def test_a_wrong_name_or_column_is_one_sentence(table, words, message):
    with pytest.raises(ValueError, match=message) as error:
        read(table, **words)
    assert "\n" not in str(error.value)


def test_a_wrong_file_is_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="DATA must be a file ending in .npz, .csv, .parquet, got"):
        read(tmp_path / "pairs.pkl")
    with pytest.raises(ValueError, match="DATA must be a file that can be read, got .*No such file"):
        read(tmp_path / "pairs.csv")
    for suffix, content in ((".npz", b"no zip"), (".parquet", b"no parquet"), (".csv", b"")):
        (tmp_path / f"broken{suffix}").write_bytes(content)
        with pytest.raises(ValueError, match="DATA must hold .*, got .*broken") as error:
            read(tmp_path / f"broken{suffix}", y=["y"])
        assert "\n" not in str(error.value)
    np.savez(tmp_path / "objects.npz", x=np.array([object()]), y=np.zeros(1))
    with pytest.raises(ValueError, match="DATA must hold numpy arrays, got .*objects"):
        read(tmp_path / "objects.npz")  # never unpickled
    (tmp_path / "twice.csv").write_text("a,a.1,b\n1,2,3\n")
    assert read(tmp_path / "twice.csv", ["a"], ["b"]).n == 1
