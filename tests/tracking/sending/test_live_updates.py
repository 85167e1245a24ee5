"""Samples of the machine: at the run, dated as they were taken, and in nobody's way."""

import time

import pytest

from infoscope.tracking import runs
from infoscope.tracking.record import SYSTEM
from infoscope.tracking.scheduling.worker import RecordedReport, live_updates, work
from infoscope.tracking.sending.live_updates import MachineLoad

CELL = {"seed": 0}


def test_samples_are_dated_as_taken_and_are_no_figures_of_the_cell(assignment):
    def trial(pack, report):
        live_updates(assignment.store).round()  # too early: nothing is settled yet
        assert not list(assignment.store.cells())
        report.metrics(CELL, {"level": 1.0})
        live_updates(assignment.store).round()

    sample, began = MachineLoad().sample(), 1000 * time.time()
    assert sample[f"{SYSTEM}worker_memory_usage_megabytes"] > 10
    assert 0 < sample[f"{SYSTEM}system_memory_usage_percentage"] < 100
    work(trial, assignment, lambda told: None)
    (run,) = assignment.store.cells()
    history = assignment.store.client.get_metric_history(run.info.run_id, f"{SYSTEM}worker_memory_usage_megabytes")
    assert [began - 1 <= point.timestamp <= 1000 * time.time() for point in history] == [True]
    assert not [name for name in runs("pack") if name.startswith(SYSTEM)]


def test_a_trial_cannot_use_reserved_names(assignment):
    with pytest.raises(ValueError, match="the machine"):
        RecordedReport(assignment, lambda told: None).metrics(CELL, {f"{SYSTEM}cpu": 1.0})
