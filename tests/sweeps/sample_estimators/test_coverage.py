"""The sweep of coverages: its cells, and what is kept of a data set."""

import numpy as np

from infoscope.data.tasks.known_truth import case, draws
from infoscope.estimators import uncertainty
from infoscope.tracking import Pack
from sweeps.sample_estimators.coverage import PROFILES, SWEEP, trial
from tests.sweeps.recorder import Recorder


def cells_of(**overrides):
    return list(SWEEP.plan(PROFILES["smoke"].override(overrides)).values())


def test_methods_see_the_same_data_and_only_halves_are_judged():
    recorder = Recorder("method")
    trial(Pack(tuple(cells_of(cases="mixture-2", blocks="0"))), recorder)
    halves, jackknife, partitions = (recorder.tables[m,] for m in ("half-subsamples", "jackknife", "holmes-nemenman"))
    np.testing.assert_allclose(halves["value"], jackknife["value"], atol=1e-12)
    np.testing.assert_allclose(halves["value"], partitions["value"], atol=1e-12)
    assert set(halves["verdict"]) <= {"reliable", "drifting", "unreliable", "unverified"}
    assert set(jackknife["verdict"]) == {""}
    assert np.isnan(partitions["predicted_bias"]).all() and np.isfinite(halves["predicted_bias"]).all()


def test_a_row_is_the_interval_of_its_data_set():
    recorder = Recorder("method")
    trial(Pack(tuple(cells_of(cases="gaussian-1", methods="half-subsamples", blocks="1"))), recorder)
    generator = draws(4, "gaussian-1", 200)
    found = uncertainty.subsample(*case("gaussian-1").sample(200, generator), generator=generator)
    columns, final = recorder.tables["half-subsamples",], recorder.finals["half-subsamples",]
    assert (columns["value"][0], columns["low"][0], columns["verdict"][0]) == (found.value, found.low, found.verdict)
    assert final["covers_truth"] == ((columns["low"] <= 1) & (columns["high"] >= 1)).mean() and final["truth"] == 1
