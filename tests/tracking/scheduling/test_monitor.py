"""How the runs of a pack are closed, whatever has become of its worker. On a real SQLite store, without Ray."""

import dataclasses

import pytest

from infoscope.tracking import runs, table
from infoscope.tracking.cli import MAX_KINDS, describe
from infoscope.tracking.record import records
from infoscope.tracking.scheduling.dispatch import Dispatch
from infoscope.tracking.scheduling.monitor import MACHINE_DIED, Monitor, Summary
from infoscope.tracking.scheduling.progress import Progress
from infoscope.tracking.scheduling.worker import live_updates, work
from infoscope.tracking.sending.publish import open_run, publish, publish_all
from infoscope.tracking.store.store import Store
from infoscope.tracking.tags import PARENT
from tests.tracking.cells import assigned, begun

CELLS = {"one": {"seed": 0}, "two": {"seed": 1}}


@pytest.fixture
def assignment(own_folder):
    """A pack of two cells; the folder `here` is the driver's, `there` stands for another machine's."""
    return assigned(Store.open("watched", create=True), own_folder / "here", CELLS, **{PARENT: "parent"})


def watching(assignment, dispatch=None):
    watch = Monitor(Progress(2, None), Summary("watched", "smoke", cells=2, skipped=0), dispatch)
    watch.begin({0: assignment})
    return watch


def reported(assignment, folder, outcome=None):
    """Records as a worker leaves them there, whose runs it has opened; these by key."""
    found = {}
    for key, cell in assignment.cells.items():
        record = begun(folder, key, cell, **{PARENT: "parent"})
        record.metrics({"level": 1.5}, 0)
        found[key], start = open_run(record, assignment.store)
        if outcome:
            record.end(outcome)
        else:
            assignment.store.client.log_metric(found[key], "level", 1.5, start, 0)
    return found


def result(run_ids, errors=()):
    return {
        "pack": 0, "pack_seconds": 1.0, "fraction": 1.0, "errors": dict(errors), "final": {"one": {"level": 1.5}},
        "run_ids": run_ids,
    }  # fmt: skip


def states():
    """By key: the run's id, status, outcome and error."""
    frame = runs("watched", finished=False).set_index("key")
    return {
        key: (row["run_id"], row["status"], row["outcome"], row["tags"].get("infoscope.error"))
        for key, row in frame.iterrows()
    }


def test_a_pack_of_this_machine_is_published_and_its_records_go(assignment):
    watch = watching(assignment)
    reported(assignment, assignment.records, "complete")
    watch.result(result({}))  # the worker could not reach the store
    watch.end([0])  # the trial's own end changes nothing any more
    watch.finish()
    assert {state[1:3] for state in states().values()} == {("FINISHED", "complete")}
    assert watch.summary.completed == 2 and not watch.summary.unsent and records(assignment.records) == []


def test_results_from_another_machine_name_what_the_worker_sent(assignment, tmp_path):
    watch = watching(assignment)
    reported(assignment, tmp_path / "there", "complete")
    first, _ = records(tmp_path / "there")
    watch.result(result({"one": publish(first, assignment.store)}))  # what the other one holds lies there
    watch.finish()
    found = states()
    assert found["one"][1:] == ("FINISHED", "complete", None)
    assert found["two"][1] == "RUNNING"  # until the invocation ends, which closes it as KILLED
    assert watch.summary.unsent == {"two"} and records(assignment.records) == []
    assert "`make sweep-sync" in describe(watch.summary).splitlines()[-1]


@pytest.mark.parametrize(("error", "outcome"), [("worker\ndied", "failed"), (None, "stopped")])
def test_runs_of_a_dead_worker_on_another_machine_are_closed_with_their_true_status(
    assignment, tmp_path, error, outcome
):
    """The runs that it had begun get their true end, and keep what they hold."""
    sent = reported(assignment, tmp_path / "there")
    watch = watching(assignment)
    watch.end([0], error)
    watch.finish()
    status, reason = ("FAILED", "died") if error else ("FINISHED", None)
    assert states() == {key: (sent[key], status, outcome, reason) for key in CELLS}
    assert runs("watched", finished=False)["level"].tolist() == [1.5, 1.5]
    summary = watch.summary
    assert (summary.stopped, len(summary.failures), summary.unsent) == ((0, 2, set()) if error else (2, 0, set()))


@pytest.mark.parametrize("first", [True, False])
def test_a_refused_report_ends_a_sweep_of_which_nothing_is_complete(assignment, first):
    """The other cells would be refused as well; what is not run is no failure, and is run by the next command."""
    watch = watching(assignment, Dispatch([0.0, 0.0], 1))
    watch.summary.cells, watch.summary.completed = 3, int(not first)
    watch.result(result({}, errors={"one": "InvalidInput: a@b", "two": "InvalidInput: a@b"}) | {"refused": True})
    watch.finish()
    assert watch.stopper().stop_all() == watch.summary.refused == first
    lines = describe(watch.summary).splitlines()
    assert lines[1].startswith("failed: 2 cells, ") and lines[2].startswith("ended: ") == first
    assert not any(line.startswith("interrupted") for line in lines)


def test_a_search_that_is_ended_leaves_its_other_trials_to_be_run(assignment):
    """Else they would be recorded as stopped early, which counts as done."""
    watch = watching(assignment)
    watch.summary.refused = True
    watch.end([0])
    watch.finish()
    assert watch.open and watch.summary.stopped == 0


def test_failures_are_one_line_for_each_kind():
    """Kinds differ in more than numbers and keys of cells."""
    full = "RecordUnwritable: the record of cell {:016x} cannot be written in runs (No space left on device)"
    failures = [({"seed": seed}, full.format(seed)) for seed in range(50)]
    failures += [({"seed": seed}, f"ValueError: x has {seed} rows\nof 9") for seed in range(3)]
    failures += [({"seed": seed}, f"KeyError: {'abcdefghijklmno'[seed]}") for seed in range(MAX_KINDS)]
    first, second, *others = describe(Summary("demo", "smoke", 70, 0, failures=failures)).splitlines()[1:]
    assert first.startswith("failed: 50 cells, such as {'seed': 0}: RecordUnwritable")
    assert second == "failed: 3 cells, such as {'seed': 0}: ValueError: x has 0 rows"
    assert others[0] == "failed: {'seed': 0}: KeyError: a" and "2 other kinds" in others[MAX_KINDS - 2]


def test_a_worker_that_died_before_it_began_leaves_a_failed_run(assignment):
    watch = watching(assignment)
    watch.end([0], "no worker")
    watch.finish()
    assert {state[1:] for state in states().values()} == {("FAILED", "failed", "no worker")}


def test_a_store_that_is_down_for_a_while_costs_nothing(assignment, monkeypatch):
    """The outcome is written down here, and carried when the store is back; while it is down it is not asked again."""
    sent, asked = reported(assignment, assignment.records), []
    down = Store("http://127.0.0.1:9", "watched", assignment.store.experiment_id)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")

    def publishing(*given, **named):
        asked.append(given)
        return publish_all(*given, **named)

    monkeypatch.setattr("infoscope.tracking.scheduling.monitor.publish_all", publishing)
    away = dataclasses.replace(assignment, store=down)
    watch = watching(away)
    watch.begin({1: away})
    watch.result(result({}))
    watch.result(result({}) | {"pack": 1})
    watch.finish()
    assert watch.summary.unsent == set(CELLS) and len(asked) == 1
    left = records(assignment.records)
    assert [record.ending()["outcome"] for record in left] == ["complete", "complete"]
    assert publish_all(left, assignment.store) == (sent, {})
    assert states() == {key: (sent[key], "FINISHED", "complete", None) for key in CELLS}
    assert runs("watched")["level"].tolist() == [1.5, 1.5]


def test_a_pack_that_another_trial_takes_up_is_not_closed(assignment):
    dispatch = Dispatch([0.0], slots=1)
    watch = watching(assignment, dispatch)
    reported(assignment, assignment.records)
    for error in (None, "it died", f"Actor: {MACHINE_DIED}. Node Id: 1", "worker died"):
        assert dispatch.take() == [0]
        watch.begin({0: assignment})
        watch.end([0], error)
    watch.finish()
    # in the end, at the second death of the worker alone
    assert {state[1:] for state in states().values()} == {("FAILED", "failed", "worker died")}
    assert len(watch.summary.failures) == 2 and dispatch.done


def test_a_completely_recorded_pack_is_not_run_again_after_its_worker_died(assignment):
    """Killed after the last line of its records, while it sends them."""
    dispatch = Dispatch([0.0], slots=1)
    assert dispatch.take() == [0]
    watch = watching(assignment, dispatch)
    sent = reported(assignment, assignment.records, "complete")
    watch.end([0], "worker died")
    watch.finish()
    assert dispatch.done and watch.summary.completed == 2 and not records(assignment.records)
    assert states() == {key: (sent[key], "FINISHED", "complete", None) for key in CELLS}


@pytest.mark.parametrize("driver_first", [False, True])
@pytest.mark.parametrize("seen", [False, True, "late"])
def test_a_trial_that_a_search_stops_elsewhere_keeps_its_numbers(assignment, tmp_path, monkeypatch, seen, driver_first):
    """Tune ends the trial where it reports. seen: whether its runs had been opened by then, or are while it ends."""
    monkeypatch.setattr("infoscope.tracking.sending.live_updates.PAUSE_SECONDS", 600)
    away = dataclasses.replace(assignment, records=tmp_path / "there")
    watch = watching(assignment)

    def closed_here():
        watch.end([0])
        watch.finish()

    def trial(pack, report):
        for cell in pack.cells:
            report.metrics(cell, {"level": 1.5})
            report.table(cell, "trace", {"step": [0]})
        if seen is True:
            live_updates(away.store).round()
        report.progress(0.5, loss=1.0)

    def tell(told):
        if driver_first:
            closed_here()
        if seen == "late":
            live_updates(away.store).round()
        raise SystemExit(0)

    with pytest.raises(SystemExit):
        work(trial, away, tell, "loss")
    if not driver_first:
        closed_here()
    live_updates(away.store).round()  # nothing is followed any more
    assert {state[1:] for state in states().values()} == {("FINISHED", "stopped", None)} and len(states()) == 2
    assert runs("watched", finished=False)["level"].tolist() == [1.5, 1.5] and not records(tmp_path / "there")
    for run in assignment.store.cells():
        assert table(run.info.run_id, "trace")["step"].tolist() == [0]
