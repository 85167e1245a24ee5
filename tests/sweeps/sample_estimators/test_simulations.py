"""The sweep that simulates data sets: numbers, what a row is, and what is kept of it."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from infoscope.data import prior
from infoscope.data.prior import conditional, processes
from infoscope.estimators.reading import figures, figures_conditional
from infoscope.estimators.reading.simulated import (
    BITS,
    CONDITIONAL_FACTS,
    Simulated,
    load,
)
from sweeps.sample_estimators import simulations
from sweeps.sample_estimators.simulations import (
    SWEEP,
    as_sample,
    simulated,
    simulated_given,
    trial,
)
from tests.sweeps.recorder import Recorder, planned

FEW = (100, 150)
NUMBERS = [20, 21, 22, 23, 24]  # mixed, numbers, numbers, categories, numbers


cells_of = partial(planned, SWEEP)


def rows_of(**overrides):
    """Of NUMBERS."""
    recorder = Recorder.ran(trial, cells_of(blocks="4", sets="5", **overrides))
    (columns,) = recorder.tables.values()
    return columns


@pytest.fixture(scope="module")
def every():
    """All of those rows, of small samples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulations, "ROWS", FEW)
        yield rows_of()


def test_no_number_is_in_two_cells():
    cells = cells_of("laptop")
    numbers = [
        range(cell.block * cell.sets, (cell.block + 1) * cell.sets) for cell in cells
    ]
    assert (
        sum(map(len, numbers))
        == len({number for each in numbers for number in each})
        == 10_000
    )
    for cell in cells:
        assert cell.prior == prior.VERSION
        assert cell.figures == figures.VERSION


def test_a_row_can_be_computed_again_from_its_number(every):
    assert list(every["number"]) == NUMBERS
    again = simulated(23)
    assert every["truth"][3] == again["truth"] == prior.distribution(23).truth
    assert FEW[0] <= every["n"][3] == again["n"] <= FEW[1]
    for name in figures.NAMES:
        assert_array_equal(every[name][3], again[name])


@pytest.mark.parametrize(
    "asked, numbers",
    [({"most_columns": "16"}, [20, 23]), ({"only": "categories"}, [23])],
    ids=["columns", "type"],
)
def test_data_sets_of_more_columns_or_another_type_are_omitted(every, asked, numbers):
    few = rows_of(**asked)
    assert list(few["number"]) == numbers
    assert_array_equal(few["truth"], every["truth"][np.subtract(numbers, NUMBERS[0])])


def test_samples_are_typed_as_they_were_drawn():
    kinds = set()
    for number in range(8, 14):
        of = prior.distribution(number)
        pairs = as_sample(*of.sample(200, np.random.default_rng(number)))
        kinds.add((of.type, pairs.x.kind, pairs.y.kind))
        assert pairs.n == 200
        assert not pairs.groups
    assert ("numbers", "continuous", "continuous") in kinds
    for type, x, y in kinds:
        assert (type == "categories") == (x == y == "discrete")


def test_a_triple_can_be_simulated_again_and_its_collection_is_read_back(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(simulations, "ROWS", FEW)
    rows = [simulated_given(number) for number in (3, 4)]
    again = simulated_given(4)
    assert again["truth"] == conditional.conditional_distribution(4).truth
    names = figures_conditional.NAMES
    assert_array_equal(
        [again[name] for name in names], [rows[1][name] for name in names]
    )
    values = np.array([[row[name] for name in names] for row in rows], np.float32)
    saved = Simulated(pd.DataFrame(rows)[list(CONDITIONAL_FACTS)], values, given=True)
    saved.save(tmp_path / "sets.parquet")
    loaded = load([tmp_path / "sets.parquet"])
    assert len(loaded) == 2
    assert list(loaded.facts["columns_z"]) == [row["columns_z"] for row in rows]
    np.testing.assert_allclose(loaded.figures, values, rtol=2**-BITS)  # rounded
    assert loaded.given


def test_cells_of_triples_have_rows_of_triples(monkeypatch):
    monkeypatch.setattr(simulations, "ROWS", FEW)
    (cell,) = cells_of(blocks="2", sets="2", only="triples")
    assert cell.prior == conditional.VERSION
    assert cell.figures == figures_conditional.VERSION
    columns = rows_of(only="triples")
    assert list(columns["number"]) == NUMBERS
    assert (columns["columns_z"] > 0).all()
    assert set(columns) == {*CONDITIONAL_FACTS, *figures_conditional.NAMES}


@pytest.mark.parametrize(
    "only, kind, truth",
    [
        ("series", figures, "information"),
        ("transfers", figures_conditional, "transfer_entropy"),
    ],
)
def test_pairs_of_series_have_the_figures_of_their_past(only, kind, truth, monkeypatch):
    monkeypatch.setattr(simulations, "SERIES_ROWS", FEW)
    cells = cells_of(only=only, blocks="3", sets="2")
    assert [(cell.prior, cell.figures) for cell in cells] == [
        (processes.VERSION, kind.VERSION)
    ]
    (columns,) = Recorder.ran(trial, cells).tables.values()
    laws = [processes.process(number) for number in (6, 7)]
    assert list(columns["truth"]) == [getattr(law.truth, truth) for law in laws]
    assert list(columns["families"]) == [law.family for law in laws]
    for type in columns["type"]:
        assert type.startswith("series of ")
    assert np.isfinite(columns["memory_more"]).all()
    assert np.isfinite(columns["lower_bound"]).all()
