"""Samples of the machine: at the run, dated as they were taken, and in nobody's way."""

import time

import pytest

from infoscope.tracking import runs
from infoscope.tracking.record import SYSTEM, Record, records
from infoscope.tracking.scheduling.worker import RecordedReport, _flusher, work
from infoscope.tracking.sending.flush import close_all, send
from infoscope.tracking.sending.machine import Machine

CELL = {"seed": 0}


def sampled(report):
    flusher = _flusher(report.checkpoint.store)
    flusher._sampled = float("-inf")
    flusher._sample(report.records)


def test_samples_are_dated_as_taken_and_are_no_figures_of_the_cell(assignment):
    def trial(pack, report):
        sampled(report)  # too early: nothing is settled yet
        assert not list(Record(assignment.records / "one").entries())[1:]
        report.metrics(CELL, {"level": 1.0})
        sampled(report)

    sample, began = Machine().sample(), 1000 * time.time()
    assert sample[f"{SYSTEM}worker_memory_usage_megabytes"] > 10
    assert 0 < sample[f"{SYSTEM}system_memory_usage_percentage"] < 100
    work(trial, assignment, lambda told: None)
    run_id = send(Record(assignment.records / "one"), assignment.store)
    (Record(assignment.records / "one").folder / "sent.json").unlink()
    assert not close_all(records(assignment.records), assignment.store, "KILLED")  # sent twice
    (point,) = assignment.store.client.get_metric_history(run_id, f"{SYSTEM}worker_memory_usage_megabytes")
    assert began - 1 <= point.timestamp <= 1000 * time.time()
    assert not [name for name in runs("pack") if name.startswith(SYSTEM)]


def test_a_trial_cannot_take_their_names(assignment):
    with pytest.raises(ValueError, match="the machine"):
        RecordedReport(assignment, lambda told: None).metrics(CELL, {f"{SYSTEM}cpu": 1.0})
