"""The sweep that simulates data sets: numbers, what a row is, and what is kept of it."""

import numpy as np
import pytest

from infoscope.data import prior
from infoscope.errors import UnknownName
from infoscope.estimators.reading import figures
from infoscope.tracking import Pack
from sweeps.sample_estimators import simulations
from sweeps.sample_estimators.simulations import PROFILES, ROWS, SWEEP, as_sample, simulated, trial
from tests.sweeps.recorder import Recorder


def cells_of(profile="smoke", **overrides):
    return list(SWEEP.plan(PROFILES[profile].override(overrides)).values())


def test_no_number_is_in_two_cells():
    cells = cells_of("laptop")
    numbers = [range(cell.block * cell.sets, (cell.block + 1) * cell.sets) for cell in cells]
    assert sum(map(len, numbers)) == len({number for each in numbers for number in each}) == 10_000
    assert all(cell.prior == prior.VERSION and cell.figures == figures.VERSION for cell in cells)


def test_a_row_can_be_computed_again_from_its_number():
    recorder = Recorder("block")
    trial(Pack(tuple(cells_of(blocks="3", sets="2"))), recorder)
    columns = recorder.tables[3,]
    assert list(columns["number"]) == [6, 7]
    again = simulated(7)
    assert columns["truth"][1] == again["truth"] == prior.distribution(7).truth
    assert ROWS[0] <= columns["n"][1] == again["n"] <= ROWS[1]
    np.testing.assert_array_equal([columns[name][1] for name in figures.NAMES], [again[name] for name in figures.NAMES])


@pytest.fixture
def few_rows(monkeypatch):
    """Samples of 100 to 300 rows, whose figures take a tenth of the time."""
    monkeypatch.setattr(simulations, "ROWS", (100, 300))


def test_data_sets_with_more_numeric_columns_are_omitted(few_rows):
    numbers = {"blocks": "0", "sets": "12"}
    every, few = Recorder("block"), Recorder("block")
    trial(Pack(tuple(cells_of(**numbers))), every)
    trial(Pack(tuple(cells_of(**numbers, most_columns="4"))), few)
    kept = [simulated(number, 4) is not None for number in every.tables[0,]["number"]]
    assert 0 < sum(kept) < len(kept)
    np.testing.assert_array_equal(few.tables[0,]["number"], every.tables[0,]["number"][kept])
    np.testing.assert_array_equal(few.tables[0,]["truth"], every.tables[0,]["truth"][kept])


def test_one_type_is_kept_alone(few_rows):
    every, categories = Recorder("block"), Recorder("block")
    numbers = {"blocks": "1", "sets": "20"}
    trial(Pack(tuple(cells_of(**numbers))), every)
    trial(Pack(tuple(cells_of(**numbers, only="categories"))), categories)
    kept = every.tables[1,]["type"] == "categories"
    assert 0 < kept.sum() < len(kept)
    np.testing.assert_array_equal(categories.tables[1,]["truth"], every.tables[1,]["truth"][kept])
    with pytest.raises(UnknownName, match="only must be one of .*got 'words'"):
        cells_of(only="words")


def test_samples_are_typed_as_they_were_drawn():
    kinds = set()
    for number in range(20):
        of = prior.distribution(number)
        pairs = as_sample(*of.sample(200, np.random.default_rng(number)))
        kinds |= {(of.type, pairs.x.kind, pairs.y.kind)}
        assert pairs.n == 200 and not pairs.groups
    assert {("numbers", "continuous", "continuous")} <= kinds
    assert all((type == "categories") == (x == y == "discrete") for type, x, y in kinds)
