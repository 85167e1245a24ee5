"""A screen of a table of known dependence, and what must not change it: order, names, units, libraries, holes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from infoscope import examples
from infoscope.estimators import Angle, estimate
from infoscope.estimators.independence import independence_test
from infoscope.estimators.independence.beyond import beyond
from infoscope.estimators.independence.functions import NUMBER, smooth
from infoscope.estimators.reading.given import as_triples, read_given
from infoscope.estimators.result import Estimate
from infoscope.metrics import screen
from infoscope.metrics.screening.table import _notes_of_readings
from infoscope.notes import Note
from tests.refusals import refused

N = 200
RNG = np.random.default_rng(0)
A, B, NOISE = RNG.normal(size=(3, N))
HOUR = RNG.uniform(0, 24, N)
TABLE = pd.DataFrame(
    {
        "a": A,
        "blurred": A + 0.7 * RNG.normal(size=N),
        "b": RNG.poisson(np.exp(0.8 * B + 1)),
        "site": np.array(["n", "s", "w"])[RNG.integers(0, 3, N)],
        "hour": HOUR,
        "none": NOISE,
        "y": A + B + np.cos(HOUR * np.pi / 12) + 0.5 * RNG.normal(size=N),
    }
)
ANGLES = {"hour": 24.0}


def screened(table, target="y", **settings):
    return screen(table, target, **{"angles": ANGLES, "processes": 1, "rows": 40} | settings)


@pytest.fixture(scope="module")
def found():
    return screened(TABLE)


def figures(found):
    return found.table.set_index(["column", "with"]).sort_index()


def p_values(found):
    return figures(found)["p"].to_numpy()


def test_dependent_columns_are_found_and_redundant_ones_not_chosen(found):
    assert set(found.relevant) == {"a", "b", "hour", "blurred"}
    assert set(found.chosen) == {"a", "b", "hour"} and found.n == N and found.groups == 0
    rows = found.table.set_index("column")
    assert rows.loc["blurred", "like"] == "a" and rows.loc["blurred", "p_beyond"] > 0.05
    assert rows["chosen"].notna().sum() == 3 and np.isnan(rows.loc["none", "adds_bits"])
    assert rows["kind"].to_dict() == {
        "a": "number", "blurred": "number", "b": "whole number", "site": "category", "hour": "angle", "none": "number",
    }  # fmt: skip
    assert (rows["rows_read"] == 40).all() and (rows["n"] == N).all()
    assert (rows["dependent"] == (rows["q"] <= 0.05)).all()


@pytest.mark.parametrize("name", ["spikes", "survey"])
def test_examples(name):
    truth = examples.TRUTH[name]
    angles = {"orientation": 180.0} if name == "spikes" else {}
    found = screen(examples.load(name), truth.target, truth.groups or None, angles=angles, rows=20)
    assert set(found.relevant) == set(truth.relevant)
    assert set(truth.direct) <= set(found.chosen)


def test_a_reading_is_the_estimate_of_the_pair():
    found = figures(screened(TABLE[["a", "b", "site", "y"]], rows=None, angles=None))
    for name in ("a", "site"):
        bits = estimate(TABLE[name], TABLE["y"]).bits
        row = found.loc[(name, "y")]
        assert (row["bits"], row["low_bits"], row["high_bits"]) == (bits.value, bits.low, bits.high)
        assert row["rows_read"] == bits.n


def test_every_pair():
    found = screened(TABLE, None)
    assert len(found.table) == 21 and found.chosen == [] and found.table["chosen"].isna().all()
    dependent = found.table.loc[found.table["dependent"], ["column", "with"]]
    expected = {("a", "blurred"), ("a", "y"), ("b", "y"), ("blurred", "y"), ("hour", "y")}
    assert set(dependent.itertuples(index=False, name=None)) == expected
    assert any({"a", "blurred"} <= set(cluster) for cluster in found.clusters)


def test_order_names_units_and_increasing_maps_of_columns_change_no_p_value(found):
    changed = TABLE[TABLE.columns[::-1]].assign(
        a=np.exp(TABLE["a"]),
        none=1e6 * TABLE["none"] - 3,
        site=TABLE["site"].map({"n": "zzz", "s": "eee", "w": "mmm"}),
        hour=TABLE["hour"] * 15,
        y=TABLE["y"] ** 3,
    )
    moved = changed.iloc[np.random.default_rng(1).permutation(N)].reset_index(drop=True)
    other = screened(moved, angles={"hour": 360.0})
    np.testing.assert_allclose(p_values(other), p_values(found), rtol=1e-6)
    assert set(other.chosen) == set(found.chosen)


@pytest.fixture(scope="module")
def of_given():
    return screened(TABLE, given=["a"])


def test_every_pair_is_tested_and_read_given_the_conditions(of_given):
    rows = of_given.table.set_index("column")
    assert set(rows.index) == {"blurred", "b", "site", "hour", "none"}
    assert set(of_given.relevant) == set(of_given.chosen) == {"b", "hour"}
    assert rows.loc["b", "p"] == independence_test(TABLE["b"], TABLE["y"], TABLE["a"]).p_value
    triples = as_triples(TABLE["b"], TABLE["y"], TABLE[["a"]])
    alone = figures(screened(TABLE[["a", "b", "y"]], given="a", rows=None, angles=None)).loc[("b", "y")]
    reading = read_given(triples, np.random.default_rng(0)).bits
    assert (alone["bits"], alone["low_bits"], alone["high_bits"]) == (reading.value, reading.low, reading.high)
    assert of_given.given == ("a",) and "given a" in of_given.answers[0] and (rows["n"] == N).all()


def test_conditions_of_any_type_without_a_target():
    holed = TABLE[["a", "b", "site", "hour", "y"]].assign(site=TABLE["site"].where(np.arange(N) % 5 != 0))
    found = screened(holed, None, given=["site", "hour"])
    assert len(found.table) == 3 and (found.table["n"] == 4 * N // 5).all()
    assert set(found.relevant) == {"a", "b", "y"}


def test_a_pair_that_is_not_decided_has_no_p_value_and_a_note(monkeypatch):
    undecided = replace(beyond(*(smooth(TABLE[name].to_numpy(), NUMBER) for name in "ay"), [], 0.05), p=np.nan)
    monkeypatch.setattr("infoscope.metrics.screening.table.beyond", lambda *_: undecided)
    found = screened(TABLE[["a", "b", "none", "y"]], given="none", angles={})
    assert found.table[["p", "q"]].isna().all(axis=None) and not found.table["dependent"].any()
    assert "not decided" in {note.code for note in found.notes}


@pytest.mark.parametrize(
    ("given", "error"),
    [("nothing", "name"), (["a", "y"], "conflict"), (["a", "a"], "conflict"), ("flat", "name")],
    ids=["unknown", "target", "twice", "constant"],
)
def test_conditions_that_cannot_be_are_refused(given, error):
    with refused("given", error):
        screened(TABLE.assign(flat=1.0), given=given)


FEW = TABLE[["a", "hour", "none", "y"]]


@pytest.fixture(scope="module")
def of_few():
    return screened(FEW)


@pytest.mark.parametrize(
    "table",
    [
        pl.from_pandas(FEW),
        pa.Table.from_pandas(FEW),
        {name: FEW[name].to_numpy() for name in FEW} | {"hour": Angle(HOUR, 24)},
        FEW.to_dict("list"),
    ],
    ids=["polars", "pyarrow", "wrapped", "lists"],
)
def test_tables_of_every_library_give_the_same(table, of_few):
    wrapped = isinstance(table, dict) and isinstance(table["hour"], Angle)
    other = screened(table, angles={} if wrapped else ANGLES)
    pd.testing.assert_frame_equal(other.table, of_few.table)


def test_missing_values_are_left_out_by_pair():
    holed = TABLE[["a", "site", "y"]]
    holed = holed.assign(a=TABLE["a"].where(np.arange(N) % 7 != 0), site=TABLE["site"].where(np.arange(N) % 5 != 0))
    found = figures(screened(holed, None, angles={}))
    columns = ["p", "n", "bits", "low_bits", "high_bits", "rows_read"]
    for pair in (("a", "y"), ("site", "y"), ("a", "site")):
        complete = holed[list(pair)].dropna().reset_index(drop=True)
        expected = figures(screened(complete, None, angles={})).loc[pair, columns]
        assert expected["n"] == len(complete)
        np.testing.assert_allclose(found.loc[pair, ["p", "n"]].astype(float), expected[["p", "n"]].astype(float))


def test_columns_with_many_holes_are_not_offered_to_the_choice():
    found = screened(TABLE.assign(a=TABLE["a"].where(np.arange(N) % 2 == 0)))
    assert {"a", "blurred"} <= set(found.relevant) and "blurred" in found.chosen and "a" not in found.chosen
    assert any(note.startswith("Not candidates") and "a" in note for note in found.notes)
    assert not any("nothing detectable" in line and " a," in line.replace(" and", ",") for line in found.answers)


@pytest.mark.parametrize("groups", [None, np.arange(400) // 4])
def test_an_indicator_of_missing_values_is_constant_in_the_complete_rows(groups):
    rng = np.random.default_rng(0)
    age = rng.normal(size=400)
    unknown = np.arange(400) < 40
    risk = age + rng.normal(size=400) + 3 * unknown
    lab = np.where(unknown, np.nan, risk + rng.normal(size=400))
    table = pd.DataFrame({"age": age, "lab": lab, "lab_missing": unknown.astype(int), "risk": risk})
    found = screen(table, "risk", groups, rows=50, processes=1)
    assert {"age", "lab"} <= set(found.relevant) and "lab_missing" not in found.chosen


def test_pairs_of_few_known_rows_are_left_out_with_a_note():
    holed = TABLE[["a", "none", "y"]].assign(a=TABLE["a"].where(np.arange(N) < 19))
    found = screened(holed, angles=None)
    assert found.table["column"].tolist() == ["none"] and "a and y" in found.notes[0]
    assert len(screened(holed, None, angles=None).table) == 1
    with refused("table", "few"):
        screened(holed[["a", "y"]], angles=None)


def test_groups_are_a_name_or_an_array():
    home = np.repeat(np.arange(N // 2), 2)
    named = screened(FEW.assign(home=home), groups="home", rows=20)
    given = screened(FEW, groups=home, rows=20)
    pd.testing.assert_frame_equal(named.table, given.table)
    assert named.groups == N // 2
    alone = screened(FEW[["a", "y"]], groups=np.arange(N), angles=None)
    assert alone.groups == 0


def test_progress_is_reported_from_the_start_to_the_end_also_of_the_choice():
    shares, texts = [], []

    def progress(share, what):
        shares.append(share)
        texts.append(what)

    screened(TABLE[["a", "b", "none", "site", "y"]], angles=None, progress=progress)
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] == 1
    assert "4 pairs" in texts[0] and any("chosen" in text for text in texts)


def test_rows_in_sequence_are_called_neither_dependent_nor_independent():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(600, 3)).cumsum(axis=0), columns=["u", "v", "y"])
    found = screen(table, "y", rows=200, processes=1)
    assert found.series == len(found.table) and not found.table["dependent"].any()
    assert found.table[["p", "q"]].isna().all(axis=None) and found.relevant == found.chosen == []
    assert found.answers[0].startswith("Rows follow one another, so p-values do not hold")
    table["iid"] = rng.normal(size=600)
    table["copy"] = table["iid"] + rng.normal(size=600)
    mixed = screen(table, None, rows=200, processes=1)
    assert mixed.series == 3 and {"iid", "copy"} <= set(mixed.relevant)


def test_a_copy_of_a_label_adds_at_most_its_entropy():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 300)
    table = pd.DataFrame({"copy": np.where(label, "yes", "no"), "x": label + rng.normal(size=300), "label": label})
    rows = screen(table, "label", rows=40, processes=1).table.set_index("column")
    assert rows.loc["copy", "adds_bits"] <= 1 and rows.loc["copy", "adds_high_bits"] <= 1.01


def test_columns_are_chosen_on_some_rows_of_many(monkeypatch):
    monkeypatch.setattr("infoscope.metrics.screening.table.MAX_SELECTED_ROWS", 120)
    found = screened(FEW)
    assert "120 of these rows" in "".join(note for note in found.notes if note.code == "rows drawn")
    assert "a" in found.chosen


def test_notes_have_codes_and_those_of_unusual_data_are_not_repeated():
    readings = [
        Estimate(0.0, notes=(Note("unlike", "unusual data"), Note("x: column 0 has ties.", "repeated values", "x"))),
        Estimate(0.0, notes=(Note("few", "few groups", "groups"),)),
        Estimate(0.0, notes=(Note("few", "few groups", "groups"),)),
    ]
    notes = _notes_of_readings(readings)
    assert notes == ["few (In 2 of the pairs.)", "column 0 has ties."]
    assert [note.code for note in notes] == ["few groups", "repeated values"]


def test_more_pairs_than_can_be_read_are_refused(monkeypatch):
    monkeypatch.setattr("infoscope.metrics.screening.table.MAX_PAIRS", 5)
    assert len(screened(TABLE[["a", "b", "y"]], None, angles=None).table) == 3
    with refused("table", "range"):
        screened(TABLE, None)


def test_a_generator_draws_rows_and_readings():
    pair = FEW[["a", "y"]]
    one, same, other = (screened(pair, angles=None, generator=np.random.default_rng(seed)) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one.table, same.table)
    assert (one.table["bits"] != other.table["bits"]).any() and (p_values(one) == p_values(other)).all()


@pytest.mark.parametrize(
    ("table", "target", "settings", "argument", "code"),
    [
        (TABLE, "z", {}, "target", "name"),
        (TABLE.assign(one=1.0), "one", {}, "target", "name"),
        (TABLE.assign(name=[f"n{place}" for place in range(N)]), "name", {}, "target", "name"),
        (TABLE.assign(when=pd.date_range("2020-01-01", periods=N)), "y", {}, "when", "type"),
        (TABLE.set_axis(["a", "a", *TABLE.columns[2:]], axis=1), "y", {}, "table", None),
        (TABLE.head(15), "y", {}, "table", "few"),
        (TABLE.assign(none=np.inf), "y", {}, "none", "missing"),
        (TABLE, "y", {"groups": "home"}, "groups", "name"),
        (TABLE, "y", {"groups": "y"}, "groups", None),
        (TABLE, "y", {"continuous": ["hour"]}, "continuous, discrete and angles", None),
        (TABLE, "y", {"discrete": ["z"]}, "continuous, discrete and angles", "name"),
        (TABLE, "y", {"level": 0.0}, "level", None),
        (TABLE, "y", {"rows": 5}, "rows", None),
    ],
)
def test_bad_input_is_refused(table, target, settings, argument, code):
    with refused(argument, code):
        screened(table, target, **settings)


def test_free_texts_are_left_out_with_a_note():
    found = screened(FEW.assign(name=[f"patient {place}" for place in range(N)], one=1))
    assert "name" not in set(found.table["column"]) and "one" not in set(found.table["column"])
    assert sum("It is left out." in note for note in found.notes) == 2
