"""Which packs share a trial, and what becomes of those a trial leaves undone: no Ray and no MLflow."""

import itertools
import pickle
import types

import pytest

from infoscope.tracking.scheduling import dispatch as dispatching
from infoscope.tracking.scheduling.dispatch import (
    MAX_MACHINE_DEATHS,
    MAX_PACKS,
    TRIAL_SECONDS,
    Dispatch,
    PackedAssignments,
    run_packs,
)


def emptied(dispatch, seconds):
    """Runs everything, every pack in `seconds(number)`, one trial after another; the packs of each trial."""
    trials = []
    while not dispatch.done:
        trials.append(dispatch.take())
        for number in trials[-1]:
            dispatch.ended(number, seconds(number))
    return trials


def test_short_packs_share_trials_and_every_pack_runs_once_in_order():
    trials = emptied(Dispatch([0.0] * 5000, slots=2), lambda number: 0.02)
    assert list(itertools.chain(*trials)) == list(range(5000))
    assert len(trials) < 100 and max(map(len, trials)) == MAX_PACKS
    assert len(trials[0]) == 1  # nothing is known yet


def test_only_packs_that_ask_for_the_same_share_of_a_gpu_are_a_trial():
    shares = [0.5] * 40 + [0.25] * 40
    trials = emptied(Dispatch(shares, slots=1), lambda number: 0.02)
    assert all(len({shares[number] for number in trial}) == 1 for trial in trials) and len(trials) < 40


def test_only_the_running_pack_counts_a_death_of_its_worker():
    dispatch = Dispatch([0.0] * 100, slots=2)
    dispatch.ended(dispatch.take()[0], 0.02)
    first, second, third, *rest = dispatch.take()
    dispatch.ended(first, 0.02)
    assert dispatch.undone([second, third, *rest], died="worker") == []
    assert dispatch.take()[:3] == [second, third, rest[0]]  # before all that waits
    assert dispatch.undone([second, third, *rest], died="worker") == [second]
    assert third in dispatch.take()
    assert dispatch.undone([third], died="worker") == []  # its first time


def test_a_pack_may_lose_more_machines_than_workers_and_is_always_continued_if_left_unfinished():
    dispatch = Dispatch([0.0], slots=1)
    for _ in range(5):
        assert dispatch.undone(dispatch.take(), died=None) == []
    for _ in range(MAX_MACHINE_DEATHS - 1):
        assert dispatch.undone(dispatch.take(), died="machine") == []
    assert dispatch.undone(dispatch.take(), died="machine") == [0] and dispatch.done


def test_packed_assignments_are_short_and_unpack_to_the_same():
    packs = {number: {"cells": {str(number): {"seed": number}}, "tags": "x" * 2000} for number in range(50)}
    handout = PackedAssignments(packs)
    assert pickle.loads(pickle.dumps(handout)).assignments() == packs
    assert len(repr(handout)) < 20 and len(pickle.dumps(handout)) < 5000


def test_a_trial_reports_each_pack_and_leaves_the_others_after_its_time(monkeypatch):
    clock = itertools.accumulate(itertools.repeat(TRIAL_SECONDS / 4))  # a quarter passes between any two looks at it
    monkeypatch.setattr(dispatching, "time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    told = []

    def run(assignment, tell):
        tell({"fraction": 0.5})
        tell({"final": {"mean": assignment}})

    run_packs(PackedAssignments({number: f"pack {number}" for number in (3, 1, 2, 7)}), run, told.append)
    finals = [result for result in told if "final" in result]
    assert [(result["pack"], dict(result["final"])) for result in finals] == [
        (3, {"mean": "pack 3"}),
        (1, {"mean": "pack 1"}),
    ]
    assert [result["pack_seconds"] for result in finals] == [TRIAL_SECONDS / 2] * 2
    assert [result["pack"] for result in told] == [3, 3, 1, 1]


@pytest.mark.parametrize("slots", [1, 7])
def test_nothing_is_lost_whatever_happens(slots):
    """Trials of all outcomes in turn: every pack ends, or fails after so many deaths, and exactly once."""
    dispatch = Dispatch([0.0] * 300, slots=slots)
    ended, failed = [], []
    for outcome in itertools.cycle(["ends", "worker", "machine", "left", "half"]):
        taken = dispatch.take()
        done = taken if outcome == "ends" else taken[: len(taken) // 2] if outcome == "half" else []
        for number in done:
            dispatch.ended(number, 0.3)
        ended += done
        failed += dispatch.undone(taken[len(done) :], outcome if outcome in ("worker", "machine") else None)
        if dispatch.done:
            break
    assert sorted(ended + failed) == list(range(300))
