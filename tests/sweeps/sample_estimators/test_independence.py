"""The sweep of tests of independence: its cells, and what is kept of a data set."""

import numpy as np
import pandas as pd
import pytest

from infoscope.data.tasks.cases import draws
from infoscope.data.tasks.independence import SETTINGS, setting
from infoscope.estimators.uncertainty import permutation_test
from infoscope.tracking import Pack
from sweeps.sample_estimators.independence import PROFILES, SWEEP, UNCONDITIONAL, trial
from tests.sweeps.recorder import Recorder


def cells_of(profile="smoke", **overrides):
    return list(SWEEP.plan(PROFILES[profile].override(overrides)).values())


def test_every_setting_meets_the_tests_that_know_its_condition():
    cells = cells_of("laptop")
    assert {cell["law"] for cell in cells} == set(SETTINGS) and {cell["dependent"] for cell in cells} == {0, 1}
    assert all((cell["test"] in UNCONDITIONAL) == (SETTINGS[cell["law"]].columns == 0) for cell in cells)
    assert all(cell["sets"] == 400 for cell in cells if cell["n"] <= 500)
    assert sum(SWEEP.cost(cell) for cell in cells) < 2 * 15 * 60  # seconds of two cores


def test_a_row_is_the_test_of_its_data_set():
    recorder = Recorder("test", "dependent")
    trial(Pack(tuple(cells_of(laws="mixed-condition-2", tests="local-permutation,smooth-beyond"))), recorder)
    columns, final = recorder.tables["local-permutation", 1], recorder.finals["local-permutation", 1]
    generator = draws(3, "mixed-condition-2 1", 200)
    x, y, z = setting("mixed-condition-2").sample(200, generator, True)
    found = permutation_test(x, y, pd.DataFrame(z), permutations=39, generator=generator)
    assert (columns["p_value"][3], columns["value"][3]) == (found.p_value, found.observed.value)
    assert final["rejected"] == np.sum(columns["p_value"] <= 0.05)
    assert final["information"] == pytest.approx(np.log(1.16) / 2)
    assert len(recorder.tables["smooth-beyond", 0]["p_value"]) == 5
