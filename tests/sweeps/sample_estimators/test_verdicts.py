"""The sweep of verdicts: its cells, and what is kept of a data set."""

import numpy as np

from infoscope.data.tasks import beyond_normal, unseen_laws, verdict_laws
from infoscope.data.tasks.known_truth import draws
from infoscope.estimators import uncertainty
from infoscope.tracking import Pack
from sweeps.sample_estimators.verdicts import PROFILES, SWEEP, law, trial
from tests.sweeps.recorder import Recorder


def cells_of(**overrides):
    return list(SWEEP.plan(PROFILES["smoke"].override(overrides)).values())


def test_no_law_that_chose_the_constants_measures_the_verdict():
    names = {cell["law"] for cell in SWEEP.plan(PROFILES["laptop"]).values()}
    assert names == set(beyond_normal.NAMES) | set(unseen_laws.LAWS)
    assert len(beyond_normal.NAMES) == 40 and len(unseen_laws.LAWS) >= 10
    assert not names & set(verdict_laws.LAWS)


def test_a_row_is_the_verdict_on_its_data_set():
    recorder = Recorder("law")
    trial(Pack(tuple(cells_of(laws="1v1-normal-0.75"))), recorder)
    columns, final = recorder.tables["1v1-normal-0.75",], recorder.finals["1v1-normal-0.75",]
    generator = draws(0, "1v1-normal-0.75", 500)
    found = uncertainty.subsample(*law("1v1-normal-0.75").sample(500, generator), generator=generator)
    assert columns["value"][0] == found.value and columns["verdict"][0] == found.verdict
    np.testing.assert_equal(columns["truth_high"][0], found.judgement.high)
    assert columns["reason"][0] == "; ".join(found.reasons) and len(columns["value"]) == 4
    assert final["reliable"] == (columns["verdict"] == "reliable").mean()
