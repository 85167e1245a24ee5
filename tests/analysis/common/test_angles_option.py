"""Options that say what columns hold: CONTINUOUS, DISCRETE and ANGLES, by name or by
PREFIX*.
"""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from analysis.common.own_data import read, read_representation
from infoscope.estimators import Angle, Continuous, Discrete
from infoscope.estimators.arrays import as_pairs
from tests.refusals import refused

RNG = np.random.default_rng(0)
PHASE = RNG.uniform(0, 2 * np.pi, 200)
FRAME = pd.DataFrame(
    {
        "n1": RNG.integers(0, 5, 200),
        "n2": RNG.integers(0, 5, 200),
        "n3": RNG.integers(0, 5, 200),
        "phase": PHASE,
        "hour": PHASE * 12 / np.pi,
        "hour2": RNG.uniform(0, 24, 200),
        "size": np.sin(PHASE) + 0.1 * RNG.normal(size=200),
        "city": RNG.choice(["north", "south"], 200),
        "a:b": RNG.uniform(0, 180, 200),
    }
)


EACH_OTHER = "ANGLES, CONTINUOUS and DISCRETE"


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("own.csv", index=False)
    np.savez("own.npz", phase=PHASE, both=FRAME[["phase", "hour2"]], size=FRAME["size"])
    return tmp_path / "own.csv"


def wrappers(blocks):
    types = []
    for block in blocks:
        wrapped = isinstance(block, (Angle, Continuous, Discrete))
        types.append(type(block) if wrapped else None)
    return types


@pytest.mark.parametrize(
    "words, wrapped",
    [
        ({"continuous": ["n*"]}, [Continuous] * 3 + [None] * 2),
        (
            {"continuous": ["n1", "n3"], "discrete": ["n*"]},
            [Continuous, Discrete, Continuous, None, None],
        ),
        ({"angles": ["h*:24"]}, [None] * 3 + [Angle] * 2),
        ({"angles": ["hour:24"], "discrete": ["n*"]}, [Discrete] * 3 + [Angle, None]),
    ],
)
def test_a_prefix_names_columns_of_x_and_y_that_no_other_option_names(
    table, words, wrapped
):
    assert wrappers(read(table, ["n*", "h*"], ["size"], **words).x) == wrapped


@pytest.mark.parametrize(
    "word, period",
    [
        ("phase:2pi", 2 * math.pi),
        ("phase:0.5pi", math.pi / 2),
        ("phase:1e3", 1000.0),
    ],
)
def test_a_period_is_a_number_or_a_multiple_of_pi(table, word, period):
    data = read(table, ["phase"], ["size"], angles=[word])
    assert isinstance(data.x, Angle)
    assert data.x.period == pytest.approx(period)


def test_angles_enter_as_cosine_and_sine(table):
    data = read(
        table,
        ["phase", "n1"],
        ["size", "hour"],
        angles=["phase:2pi", "hour:24"],
        discrete=["n1"],
    )
    pairs = as_pairs(data.x, data.y)
    assert pairs.x.dim == 2
    assert pairs.x.categories == 5
    assert pairs.y.dim == 3
    cosine_and_sine = np.column_stack([np.cos(PHASE), np.sin(PHASE)])
    assert_allclose(pairs.x.continuous, cosine_and_sine, atol=1e-12)
    assert_allclose(pairs.y.continuous[:, 1:], cosine_and_sine, atol=1e-12)


def test_angles_of_shuffled_rows_stay_paired(table):
    shuffled = read(
        table, ["phase"], ["hour"], angles=["phase:2pi", "hour:24"], shuffle=True
    )
    pairs = as_pairs(shuffled.x, shuffled.y)
    assert_allclose(pairs.x.continuous, pairs.y.continuous, atol=1e-12)


def test_both_columns_of_an_array_are_angles(table):
    both = read(table.with_suffix(".npz"), ["both"], ["size"], angles=["both:2pi"]).x
    assert as_pairs(both, both).x.dim == 4


def test_the_period_follows_the_last_colon(table):
    assert read(table, ["a:b"], ["size"], angles=["a:b:180"]).x.period == 180


@pytest.mark.parametrize(
    "words, argument, code",
    [
        ({"angles": ["phase"]}, "ANGLES", "range"),
        ({"angles": [":24"]}, "ANGLES", "range"),
        ({"angles": ["phase:0"]}, "ANGLES", "range"),
        ({"angles": ["phase:inf"]}, "ANGLES", "range"),
        ({"angles": ["phase:day"]}, "ANGLES", "range"),
        ({"angles": ["minute:60"]}, "ANGLES", "name"),
        ({"angles": ["size:60"]}, "ANGLES", "name"),  # neither of x nor of y
        ({"continuous": ["q*"]}, "CONTINUOUS", "name"),
        ({"angles": ["phase:24"], "discrete": ["phase"]}, EACH_OTHER, "conflict"),
        ({"angles": ["phase:24", "phase:12"]}, EACH_OTHER, "conflict"),
        ({"continuous": ["p*"], "discrete": ["ph*"]}, EACH_OTHER, "conflict"),
    ],
)
def test_a_wrong_type_option_is_one_sentence(table, words, argument, code):
    for reader in (read, read_representation):
        with refused(argument, code):
            reader(table, ["phase"], ["n1"], **words)


def test_texts_are_no_angles_and_missing_values_are_left_out(table):
    with refused("column 'city'", "type"):
        read(table, ["city"], ["size"], angles=["city:24"])
    FRAME.assign(hour=FRAME["hour"].where(FRAME.index > 3)).to_csv(table, index=False)
    assert len(read(table, ["hour"], ["size"], angles=["hour:24"]).x.values) == 196


def test_angles_and_categories_of_a_representation(table):
    representation = read_representation(
        table,
        ["hour", "n1"],
        ["phase", "n2"],
        angles=["hour:24", "phase:2pi"],
        discrete=["n*"],
    )
    assert_allclose(
        representation.blocks["x"][:, :2],
        np.column_stack([np.cos(PHASE), np.sin(PHASE)]),
        atol=1e-12,
    )
    assert representation.blocks["x"].shape == (200, 7)  # a 0 or 1 for each category
    assert representation.blocks["x"][:, 2:].sum() == 200
    assert isinstance(representation.targets["phase"], Angle)
    assert isinstance(representation.targets["n2"], Discrete)
