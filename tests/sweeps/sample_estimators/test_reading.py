"""The sweep that trains the reader: on made-up figures, what it reports and logs."""

import numpy as np
import pandas as pd
import pytest

from sweeps.sample_estimators import reading
from tests.estimators.reading.test_training import FAMILIES, simulated_sets
from tests.refusals import refused
from tests.sweeps.recorder import Recorder


def cell_of(folder, sets):
    return reading.ReaderCell(
        data=folder, sets=sets, content="made-up", prior=1, figures=1, seed=0
    )


@pytest.fixture
def made_up(monkeypatch):
    of = simulated_sets(sets=200)
    monkeypatch.setattr(reading.training, "EPOCHS", 1)
    monkeypatch.setattr(reading.training, "WIDTH", 16)
    monkeypatch.setattr(reading, "collection", lambda folder, most: of)
    return of


def test_readings_of_left_out_families_are_kept_and_counted(made_up):
    cell = cell_of("made-up", 200)
    recorder = Recorder.ran(reading.trial, [cell], "seed")
    table = pd.DataFrame(recorder.tables[0,])
    final = recorder.finals[0,]
    assert len(table) == 200
    assert set(table["family"]) == set(FAMILIES)
    assert final["coverage"] == table["covered"].mean()
    assert final["grade_a_share"] == (table["grade"] == "A").mean()
    for family, rows in table.groupby("family"):
        assert final[f"coverage/{family}"] == rows["covered"].mean()
    np.testing.assert_allclose(
        table["ksg"], made_up.figures[:, reading.figures.NAMES.index("ksg_3")]
    )


def test_a_folder_without_simulated_data_sets_is_refused(tmp_path):
    with refused("data", "few"):
        reading.check(cell_of(str(tmp_path), 1000))


def test_the_digest_is_that_of_figures_and_truths(made_up):
    cell = cell_of("made-up", 200)
    (one,) = reading.data(cell)
    assert one.entry["digest"] == reading.data(cell)[0].entry["digest"]
    assert not one.endless
