"""What is read of finished runs besides their metrics."""

import pytest

from infoscope.tracking.recorded import SAMPLED, sample_times
from infoscope.tracking.store import Store
from tests.tracking.cells import begun, closed


@pytest.mark.parametrize("samples", [0, 3])
def test_times_of_samples_are_in_order(own_folder, samples):
    store = Store.open("critic-capacity", create=True)
    folder = begun(own_folder / "cells")
    for step in range(samples):
        folder.metrics({SAMPLED: 50.0}, step)
    run_id = closed(folder, store)
    times = sample_times(run_id)
    assert times == sorted(times)
    assert len(times) == samples
    assert all(time.tz is not None for time in times)
