"""Several attempts at one cell: what a dead one has left is not taken for what a later one has found."""

import contextlib
import dataclasses
import math
import shutil

import numpy as np
import pytest

from infoscope.estimators import make_critic
from infoscope.tracking import curve, runs
from infoscope.tracking.record import Record, records
from infoscope.tracking.scheduling.worker import _flusher, work
from infoscope.tracking.sending.flush import close, close_all, header_tags, send
from infoscope.tracking.store.store import KEY, SUPERSEDED, SUPERSEDED_BY, SUPERSEDES
from tests.tracking.cells import Killed, assigned, begun, history

CELL = {"seed": 0}


def trial(steps, level=lambda step: float(step), saves=(), ends=None, files=lambda step: (), sends=False):
    """A curve of so many steps, saved before some of them; ends as it is told, if it is."""

    def run(pack, report):
        begin = (report.restore() or {"step": 0})["step"]
        for step in range(begin, steps):
            if step in saves:
                report._save_from = 0.0
                report.save(lambda done=step: {"step": done})
            report._save_from = math.inf
            report.metrics(pack.cells[0], {"level": level(step)}, step)
            for name in files(step):
                report.table(pack.cells[0], name, {"step": np.array([step])})
        if sends:
            _flusher(report.checkpoint.store)._round(report.records, None)
        if ends is not None:
            raise ends

    return run


def attempt(run, assignment):
    """One attempt, as the driver makes it: it knows the cell's run, and closes what is left."""
    known = {run.data.tags[KEY]: run.info.run_id for run in assignment.store.cells()}
    with contextlib.suppress(Killed):
        work(run, dataclasses.replace(assignment, run_ids=known), lambda told: None)
    assert close_all(records(assignment.records), assignment.store, otherwise="KILLED") == []


def files(store, run_id):
    return {file.path for file in store.client.list_artifacts(run_id)}


def test_a_failed_attempt_leaves_nothing_in_the_finished_run(store, tmp_path):
    """It reported up to step 999 and died of an error; the mended trial ends at step 19."""
    assignment, row = assigned(store, tmp_path / "records", {"one": CELL}), np.ones((1, 2), np.float32)

    def broken(pack, report):
        report.metrics(CELL, {"level": 123.0, "only_here": 1.0}, 999)
        report.table(CELL, "half", {"x": row[0]})
        report.model([CELL], "critic", make_critic("inner", 2, 2), {"x": row, "y": row})
        raise RuntimeError("broken")

    attempt(broken, assignment)
    (dead,) = store.cells()
    assert dead.info.status == "FAILED" and "traceback.txt" in files(store, dead.info.run_id)
    attempt(trial(20, level=lambda step: step / 10), assignment)
    (run,) = store.cells()
    assert run.info.status == "FINISHED" and run.data.metrics == {"level": 1.9}
    assert history(store, run.info.run_id) == [(step, step / 10) for step in range(20)]
    assert runs(store.experiment, finished=False)["level"].tolist() == [1.9]
    assert curve(run.info.run_id, "level").index.tolist() == list(range(20))
    assert not files(store, run.info.run_id) and not run.outputs.model_outputs

    dead = store.run(dead.info.run_id)  # for whoever wants to know: what it had, that it does not count, what does
    assert dead.info.status == "FAILED" and history(store, dead.info.run_id) == [(999, 123.0)]
    assert (dead.data.tags[SUPERSEDED], dead.data.tags[SUPERSEDED_BY]) == ("one", run.info.run_id)
    assert run.data.tags[SUPERSEDES] == dead.info.run_id
    assert run.info.run_id in dead.data.tags["mlflow.note.content"]


@pytest.mark.parametrize("sends", [False, True])
def test_a_worker_that_is_tried_again_begins_a_run_of_its_own(assignment, sends):
    """Within one invocation, in the same record: what the dead one had reported may have been sent, or not."""
    dead = trial(9, files=lambda step: ["half"], ends=Killed(), sends=sends)
    with pytest.raises(Killed):
        work(dead, assignment, lambda told: None)
    assert list((assignment.records / "one" / "files").iterdir())
    attempt(trial(3, level=lambda step: -1.0), assignment)
    (run,) = assignment.store.cells()
    assert history(assignment.store, run.info.run_id) == [(step, -1.0) for step in range(3)]
    assert not files(assignment.store, run.info.run_id)
    others = list(assignment.store.search(f"tags.`{SUPERSEDED}` = 'one'"))
    assert [other.info.status for other in others] in ([["KILLED"]] if sends else [[], ["KILLED"]])  # or in time


def test_an_attempt_is_sent_again_to_its_own_run(assignment):
    """The process died before it could note what it had sent, or between the end of the old run and the new one."""
    store = assignment.store
    attempt(trial(9, ends=RuntimeError("broken")), assignment)
    (dead,) = store.cells()
    record = begun(assignment.records, "one", CELL, dead.info.run_id)
    record.metrics({"level": -1.0}, 0)
    store.retire(dead)  # ... and died
    assert list(store.cells()) == []
    run_id = send(record, store)
    assert store.run(run_id).data.tags[SUPERSEDES] == dead.info.run_id != run_id
    (record.folder / "sent.json").unlink()
    assert send(record, store) == run_id
    record.end("complete")
    close(record, store, otherwise="KILLED")
    assert [run.info.run_id for run in store.cells()] == [run_id] and history(store, run_id) == [(0, -1.0)]


def test_an_attempt_goes_on_in_its_run_from_a_checkpoint(assignment):
    """It computes the same again: nothing is there twice. A table from before the checkpoint is kept, though the record
    that held it is gone.
    """
    attempt(trial(9, saves=(5,), files=lambda step: ["early"] * (step == 2), ends=Killed()), assignment)
    (first,) = assignment.store.cells()
    assert first.info.status == "KILLED" and len(history(assignment.store, first.info.run_id)) == 9
    attempt(trial(12), assignment)
    (run,) = assignment.store.cells()
    assert run.info.run_id == first.info.run_id and run.info.status == "FINISHED"
    assert history(assignment.store, run.info.run_id) == [(step, float(step)) for step in range(12)]
    assert files(assignment.store, run.info.run_id) == {"early.parquet"}


@pytest.mark.parametrize("closed", [True, False])
def test_what_is_made_again_replaces_what_came_after_the_checkpoint(assignment, closed):
    """The mended trial goes on from step 5, computes other values and ends at step 7, where the dead one, whose table
    `late` it does not write, had got to step 999. closed: the driver has closed the record in between.
    """
    dead = trial(1000, saves=(5,), files=lambda step: {2: ["early"], 9: ["late"]}.get(step, ()), ends=Killed())
    if closed:
        attempt(dead, assignment)
    else:
        with pytest.raises(Killed):
            work(dead, assignment, lambda told: None)
    attempt(trial(8, level=lambda step: -float(step)), assignment)
    store = assignment.store
    (run,) = store.cells()
    assert run.info.status == "FINISHED" and run.data.metrics == {"level": -7.0}
    assert history(store, run.info.run_id) == [(step, float(step if step < 5 else -step)) for step in range(8)]
    assert files(store, run.info.run_id) == {"early.parquet"}
    assert run.data.params == {"seed": "0"} and run.info.run_name == "one"
    if closed:
        (dead,) = store.search(f"tags.`{SUPERSEDED}` = 'one'")
        assert dead.info.status == "KILLED" and dead.data.tags[SUPERSEDED_BY] == run.info.run_id


def test_a_kill_before_the_checkpoint_is_read_takes_nothing_away(assignment):
    attempt(trial(9, saves=(5,), ends=Killed()), assignment)
    (first,) = assignment.store.cells()

    def killed_at_once(pack, report):
        raise Killed

    attempt(killed_at_once, assignment)
    attempt(trial(12), assignment)
    (run,) = assignment.store.cells()
    assert run.info.run_id == first.info.run_id
    assert history(assignment.store, run.info.run_id) == [(step, float(step)) for step in range(12)]


def test_a_checkpoint_does_not_outlive_an_attempt_that_did_not_take_it_up(assignment):
    """Else a third attempt would go on from the first one's, in the second one's run."""
    attempt(trial(9, saves=(5,), ends=Killed()), assignment)

    def forgetful(pack, report):
        report.metrics(CELL, {"level": 1.0}, 0)
        raise Killed

    attempt(forgetful, assignment)
    attempt(trial(3, level=lambda step: -1.0), assignment)
    (run,) = assignment.store.cells()
    assert history(assignment.store, run.info.run_id) == [(step, -1.0) for step in range(3)]


def lost(assignment, tmp_path, outcome):
    """The record of an attempt on a machine that was taken for lost, none of which was sent."""
    record = begun(tmp_path / "away", "one", CELL)
    record.metrics({"level": 123.0}, 999)
    if outcome:
        record.end(outcome)
    return record


@pytest.mark.parametrize("outcome", [None, "failed"])
def test_a_late_record_of_a_dead_attempt_changes_nothing(assignment, tmp_path, outcome):
    """Though the attempt after it has not finished either."""
    late = lost(assignment, tmp_path, outcome)
    attempt(trial(3, ends=Killed()), assignment)
    (run,) = assignment.store.cells()
    close(late, assignment.store, otherwise="KILLED")
    assert not late.exists()
    (after,) = assignment.store.cells()
    assert after.info.run_id == run.info.run_id and after.info.end_time == run.info.end_time
    assert history(assignment.store, run.info.run_id) == [(step, float(step)) for step in range(3)]


def test_a_late_record_of_a_whole_attempt_counts(assignment, tmp_path):
    """It has found what the later one, that failed, has not."""
    late = lost(assignment, tmp_path, "complete")
    attempt(trial(3, ends=RuntimeError("broken")), assignment)
    close(late, assignment.store, otherwise="KILLED")
    (run,) = assignment.store.cells()
    assert run.info.status == "FINISHED" and history(assignment.store, run.info.run_id) == [(999, 123.0)]


def test_of_a_step_that_is_reported_again_the_last_value_counts(assignment):
    """For MLflow, too, which by itself takes the largest; also when the first has been sent long before."""

    def run(pack, report):
        for send_between in (False, True):
            for value in (3.0, 1.0, 2.0, 1.0):
                report.metrics(CELL, {f"again/{send_between}": value})
                if send_between:
                    _flusher(report.checkpoint.store)._round(report.records, None)
        for step in (0, 2, 1, 2, 0):
            report.metrics(CELL, {"jumps": -float(step)}, step)

    attempt(run, assignment)
    (done,) = assignment.store.cells()
    assert done.data.metrics == {"again/False": 1.0, "again/True": 1.0, "jumps": -2.0}
    assert curve(done.info.run_id, "again/True").to_dict() == {0: 1.0}


def test_an_end_that_is_written_here_joins_the_attempt_elsewhere(assignment):
    """The worker's machine is gone; what it had sent is the attempt's, if it was of the same invocation."""
    store = assignment.store
    for parent, joined in (("p1", True), ("p2", False)):
        tags = header_tags("one", CELL, {"mlflow.parentRunId": "p1"})
        away = Record(assignment.records.with_name("away") / "one")
        away.begin(CELL, tags, None)
        away.metrics({"level": 1.0}, 0)
        run_id = send(away, store)
        shutil.rmtree(away.folder)
        here = Record(assignment.records / "one")
        here.begin(CELL, tags | {"mlflow.parentRunId": parent}, None, joins=True)
        here.end("failed", "gone")
        close(here, store, otherwise="KILLED")
        (run,) = store.cells()
        assert (run.info.run_id == run_id) == joined and run.info.status == "FAILED"
        assert run.data.metrics == ({"level": 1.0} if joined else {})
