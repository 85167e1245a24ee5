"""A screen of a table of known dependence, and what must not change it: order, names,
units, libraries, holes.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

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
RNG = default_rng(0)
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
KINDS = {
    "a": "number",
    "blurred": "number",
    "b": "whole number",
    "site": "category",
    "hour": "angle",
    "none": "number",
}
FEW = TABLE[["a", "hour", "none", "y"]]
ANGLES = {"hour": 24.0}
ROW = np.arange(N)


def screened(table, target="y", **settings):
    defaults = {"angles": ANGLES, "processes": 1, "rows": 40}
    return screen(table, target, **defaults | settings)


def by_column(screening):
    return screening.table.set_index("column")


def by_pair(screening):
    return screening.table.set_index(["column", "with"]).sort_index()


@pytest.fixture(scope="module")
def whole():
    return screened(TABLE)


@pytest.fixture(scope="module")
def few():
    return screened(FEW)


def test_dependent_columns_are_found_and_redundant_ones_not_chosen(whole):
    assert set(whole.relevant) == {"a", "b", "hour", "blurred"}
    assert set(whole.chosen) == {"a", "b", "hour"}
    assert whole.n == N
    assert whole.groups == 0
    rows = by_column(whole)
    assert rows.loc["blurred", "like"] == "a"
    assert rows.loc["blurred", "p_beyond"] > 0.05
    assert rows["chosen"].notna().sum() == 3
    assert np.isnan(rows.loc["none", "adds_bits"])
    assert rows["kind"].to_dict() == KINDS
    assert (rows["rows_read"] == 40).all()
    assert (rows["dependent"] == (rows["q"] <= 0.05)).all()


@pytest.mark.parametrize("name", ["spikes", "survey"])
def test_examples(name):
    truth = examples.TRUTH[name]
    angles = {"orientation": 180.0} if name == "spikes" else {}
    screening = screen(
        examples.load(name), truth.target, truth.groups or None, angles=angles, rows=20
    )
    assert set(screening.relevant) == set(truth.relevant)
    assert set(truth.direct) <= set(screening.chosen)


def test_a_reading_is_the_estimate_of_the_pair():
    rows = by_pair(screened(TABLE[["a", "b", "site", "y"]], rows=None, angles=None))
    for name in ("a", "site"):
        bits = estimate(TABLE[name], TABLE["y"]).bits
        row = rows.loc[(name, "y")]
        assert_same_interval(row, bits)
        assert row["rows_read"] == bits.n


def assert_same_interval(row, bits):
    assert row["bits"] == bits.value
    assert row["low_bits"] == bits.low
    assert row["high_bits"] == bits.high


def test_every_pair():
    screening = screened(TABLE, None)
    assert len(screening.table) == 21
    assert screening.chosen == []
    dependent = screening.table.loc[screening.table["dependent"], ["column", "with"]]
    pairs = [" ".join(pair) for pair in dependent.itertuples(index=False)]
    assert sorted(pairs) == ["a blurred", "a y", "b y", "blurred y", "hour y"]


def test_order_names_units_and_increasing_maps_of_columns_change_no_p_value(whole):
    changed = TABLE[TABLE.columns[::-1]].assign(
        a=np.exp(TABLE["a"]),
        none=1e6 * TABLE["none"] - 3,
        site=TABLE["site"].map({"n": "zzz", "s": "eee", "w": "mmm"}),
        hour=TABLE["hour"] * 15,
        y=TABLE["y"] ** 3,
    )
    order = default_rng(1).permutation(N)
    shuffled = changed.iloc[order].reset_index(drop=True)
    other = screened(shuffled, angles={"hour": 360.0})
    assert_allclose(by_pair(other)["p"], by_pair(whole)["p"], rtol=1e-6)
    assert set(other.chosen) == set(whole.chosen)


def test_every_pair_is_tested_and_read_given_the_conditions():
    screening = screened(TABLE, given=["a"])
    rows = by_column(screening)
    assert set(rows.index) == {"blurred", "b", "site", "hour", "none"}
    assert set(screening.relevant) == set(screening.chosen) == {"b", "hour"}
    test = independence_test(TABLE["b"], TABLE["y"], TABLE["a"])
    assert rows.loc["b", "p"] == test.p_value
    assert screening.given == ("a",)
    three = screened(TABLE[["a", "b", "y"]], given="a", rows=None, angles=None)
    triples = as_triples(TABLE["b"], TABLE["y"], TABLE[["a"]])
    bits = read_given(triples, default_rng(0)).bits
    assert_same_interval(by_column(three).loc["b"], bits)


def test_a_pair_that_is_not_decided_has_no_p_value_and_a_note(monkeypatch):
    a, y = (smooth(TABLE[name].to_numpy(), NUMBER) for name in "ay")
    undecided = replace(beyond(a, y, [], 0.05), p=np.nan)
    monkeypatch.setattr(
        "infoscope.metrics.screening.table.beyond", lambda *_: undecided
    )
    screening = screened(TABLE[["a", "b", "none", "y"]], given="none", angles={})
    assert screening.table[["p", "q"]].isna().all(axis=None)
    assert not screening.table["dependent"].any()
    assert "not decided" in {note.code for note in screening.notes}


@pytest.mark.parametrize("library", ["polars", "arrays"])
def test_tables_of_other_libraries_give_the_same(library, few):
    if library == "polars":
        other = screened(pl.from_pandas(FEW))
    else:
        arrays = {name: FEW[name].to_numpy() for name in FEW}
        other = screened(arrays | {"hour": Angle(HOUR, 24)}, angles={})
    assert_frame_equal(other.table, few.table)


def test_missing_values_are_left_out_by_pair():
    a = TABLE["a"].where(ROW % 7 != 0)
    site = TABLE["site"].where(ROW % 5 != 0)
    holed = TABLE[["a", "site", "y"]].assign(a=a, site=site)
    rows = by_pair(screened(holed, None, angles={}))
    for pair in (("a", "y"), ("a", "site")):
        complete = holed[list(pair)].dropna().reset_index(drop=True)
        expected = by_pair(screened(complete, None, angles={})).loc[pair]
        assert rows.loc[pair, "n"] == expected["n"] == len(complete)
        assert rows.loc[pair, "p"] == pytest.approx(expected["p"])


def test_columns_with_many_holes_are_no_candidates():
    screening = screened(TABLE.assign(a=TABLE["a"].where(ROW % 2 == 0)))
    assert {"a", "blurred"} <= set(screening.relevant)
    assert "blurred" in screening.chosen
    assert "a" not in screening.chosen
    assert not any(
        "nothing detectable" in line and " a," in line for line in screening.answers
    )


@pytest.mark.parametrize("groups", [None, np.arange(400) // 4])
def test_an_indicator_of_missing_values_is_constant_in_the_complete_rows(groups):
    rng = default_rng(0)
    age = rng.normal(size=400)
    missing = np.arange(400) < 40
    risk = age + rng.normal(size=400) + 3 * missing
    lab = np.where(missing, np.nan, risk + rng.normal(size=400))
    table = pd.DataFrame(
        {"age": age, "lab": lab, "lab_missing": missing.astype(int), "risk": risk}
    )
    screening = screen(table, "risk", groups, rows=50, processes=1)
    assert {"age", "lab"} <= set(screening.relevant)
    assert "lab_missing" not in screening.chosen


def test_pairs_of_few_complete_rows_are_left_out_with_a_note():
    holed = TABLE[["a", "none", "y"]].assign(a=TABLE["a"].where(ROW < 19))
    screening = screened(holed, angles=None)
    assert screening.table["column"].tolist() == ["none"]
    assert "a and y" in screening.notes[0]
    with refused("table", "few"):
        screened(holed[["a", "y"]], angles=None)


def test_groups_are_a_name_or_an_array():
    home = np.repeat(np.arange(N // 2), 2)
    by_name = screened(FEW.assign(home=home), groups="home", rows=20)
    by_array = screened(FEW, groups=home, rows=20)
    assert_frame_equal(by_name.table, by_array.table)
    assert by_name.groups == N // 2
    assert screened(FEW[["a", "y"]], groups=ROW, angles=None).groups == 0


def test_progress_rises_from_0_to_1_and_has_the_choice():
    shares = []
    texts = []

    def progress(share, text):
        shares.append(share)
        texts.append(text)

    screened(TABLE[["a", "b", "y"]], angles=None, progress=progress)
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == 1
    assert any("chosen" in text for text in texts)


def test_rows_in_sequence_are_called_neither_dependent_nor_independent():
    rng = default_rng(0)
    walks = rng.normal(size=(600, 3)).cumsum(axis=0)
    table = pd.DataFrame(walks, columns=["u", "v", "y"])
    screening = screen(table, "y", rows=200, processes=1)
    assert screening.series == len(screening.table)
    assert not screening.table["dependent"].any()
    assert screening.table[["p", "q"]].isna().all(axis=None)
    assert screening.relevant == screening.chosen == []
    table["iid"] = rng.normal(size=600)
    table["copy"] = table["iid"] + rng.normal(size=600)
    mixed = screen(table, None, rows=200, processes=1)
    assert mixed.series == 3
    assert {"iid", "copy"} <= set(mixed.relevant)


def test_a_copy_of_a_label_adds_at_most_its_entropy():
    rng = default_rng(0)
    label = rng.integers(0, 2, 300)
    copy = np.where(label, "yes", "no")
    table = pd.DataFrame(
        {"copy": copy, "x": label + rng.normal(size=300), "label": label}
    )
    row = by_column(screen(table, "label", rows=40, processes=1)).loc["copy"]
    assert row["adds_bits"] <= 1
    assert row["adds_high_bits"] <= 1.01


def test_columns_are_chosen_on_some_rows_of_many(monkeypatch):
    monkeypatch.setattr("infoscope.metrics.screening.table.MAX_SELECTED_ROWS", 120)
    screening = screened(FEW)
    assert "rows drawn" in {note.code for note in screening.notes}
    assert "a" in screening.chosen


def test_equal_notes_are_counted_and_those_of_unusual_data_are_left_out():
    unlike = Note("unlike", "unusual data")
    ties = Note("x: column 0 has ties.", "repeated values", "x")
    few_groups = Note("few", "few groups", "groups")
    with_groups = Estimate(0.0, notes=(few_groups,))
    unusual = Estimate(0.0, notes=(unlike, ties))
    notes = _notes_of_readings([unusual, with_groups, with_groups])
    assert notes == ["few (In 2 of the pairs.)", "column 0 has ties."]
    assert [note.code for note in notes] == ["few groups", "repeated values"]


def test_more_pairs_than_can_be_read_are_refused(monkeypatch):
    monkeypatch.setattr("infoscope.metrics.screening.table.MAX_PAIRS", 2)
    with refused("table", "range"):
        screened(TABLE[["a", "b", "y"]], None, angles=None)


KINDS_OF_COLUMNS = "continuous, discrete and angles"


@pytest.mark.parametrize(
    ("change", "settings", "argument", "code"),
    [
        ({}, {"target": "z"}, "target", "name"),
        ({"name": [f"n{row}" for row in ROW]}, {"target": "name"}, "target", "name"),
        ({"when": pd.date_range("2020-01-01", periods=N)}, {}, "when", "type"),
        ({"none": np.inf}, {}, "none", "missing"),
        ({}, {"groups": "home"}, "groups", "name"),
        ({}, {"groups": "y"}, "groups", None),
        ({}, {"continuous": ["hour"]}, KINDS_OF_COLUMNS, None),
        ({}, {"discrete": ["z"]}, KINDS_OF_COLUMNS, "name"),
        ({}, {"level": 0.0}, "level", None),
        ({}, {"rows": 5}, "rows", None),
        ({}, {"given": "nothing"}, "given", "name"),
        ({}, {"given": ["a", "y"]}, "given", "conflict"),
        ({}, {"given": ["a", "a"]}, "given", "conflict"),
    ],
)
def test_bad_input_is_refused(change, settings, argument, code):
    with refused(argument, code):
        screened(TABLE.assign(**change), **settings)


def test_few_rows_and_repeated_names_are_refused():
    with refused("table", "few"):
        screened(TABLE.head(15))
    with refused("table"):
        screened(TABLE.set_axis(["a", "a", *TABLE.columns[2:]], axis=1))


def test_free_texts_and_constants_are_left_out():
    texts = [f"patient {row}" for row in ROW]
    screening = screened(FEW.assign(name=texts, flat=1))
    assert not {"name", "flat"} & set(screening.table["column"])
    assert len(screening.notes) >= 2
