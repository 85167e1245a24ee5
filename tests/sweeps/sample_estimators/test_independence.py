"""The sweep of tests of independence: its cells, and what is kept of a data set."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from infoscope.data.tasks.cases import draws
from infoscope.data.tasks.independence import SETTINGS, setting
from infoscope.estimators.uncertainty import permutation_test
from sweeps.sample_estimators.independence import SWEEP, trial
from tests.sweeps.recorder import Recorder, planned

cells_of = partial(planned, SWEEP)


def test_every_setting_meets_the_tests_that_know_its_condition():
    cells = cells_of("laptop")
    assert {cell.law for cell in cells} == set(SETTINGS)
    assert {cell.dependent for cell in cells} == {0, 1}
    for cell in cells:
        assert cell.test in ("smooth-beyond", "local-permutation") or cell.columns == 0
        assert cell.sets == (25 if cell.n == 2000 else 400)
    assert sum(SWEEP.cost(cell) for cell in cells) < 2 * 15 * 60  # seconds of two cores


def test_a_row_is_the_test_of_its_data_set():
    recorder = Recorder.ran(
        trial, cells_of(laws="mixed-condition-2"), "test", "dependent"
    )
    columns = recorder.tables["local-permutation", 1]
    final = recorder.finals["local-permutation", 1]
    generator = draws(3, "mixed-condition-2 1", 200)
    x, y, z = setting("mixed-condition-2").sample(200, generator, True)
    test = permutation_test(x, y, pd.DataFrame(z), permutations=39, generator=generator)
    assert columns["p_value"][3] == test.p_value
    assert final["rejected"] == np.sum(columns["p_value"] <= 0.05)
    assert final["true_nats"] == pytest.approx(np.log(1.16) / 2)
    assert len(recorder.tables["smooth-beyond", 0]["p_value"]) == 5
