"""Sweeps through a local Ray and an SQLite store, with faults: each system test is one or more whole processes.

What Ray does not touch any more, a later invocation that finds most cells recorded, has a driver that makes its trials
itself (`inline_sweep`). A search through Ray is in `tests/infra/test_two_nodes.py`.
"""

import os
import signal
import time

import pytest
from filelock import FileLock

from infoscope.tracking import main, parents, runs
from infoscope.tracking.record import Record, milliseconds, records
from infoscope.tracking.scheduling.driver import SweepBusy, where
from infoscope.tracking.scheduling.driver import run as run_sweep
from infoscope.tracking.sending.heartbeat import own_tags
from infoscope.tracking.sending.publish import header_tags
from infoscope.tracking.store.store import Store, tracking_uri
from infoscope.tracking.tags import ALIVE, CELLS, DRIVER, OUTCOME, PARENT, PROFILE
from tests.tracking import toy_sweep
from tests.tracking.cells import history
from tests.tracking.processes import counts, finish, start, wait_until


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to work in, without a store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path


def everything():
    """All cells of the toy experiment, by kind and seed."""
    return runs("toy", finished=False).set_index(["kind", "seed"]).sort_index()


@pytest.fixture
def again(monkeypatch, capsys):
    """The command of the toy sweep in this process, where there is nothing to run: its status, output and errors."""
    monkeypatch.setattr("infoscope.tracking.scheduling.driver.Invocation", None)  # what would start a Ray

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(toy_sweep.SWEEP, arguments)
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("", "{here}/runs"),
        ("sqlite:////elsewhere/mine.db", "/elsewhere/mine.db"),
        ("sqlite:///mine.db", "{here}/mine.db"),
        ("postgresql://ann:hush@host/runs", "postgresql://host/runs"),
        ("https://ann:hush@tracking", "https://tracking/"),
    ],
)
def test_the_place_of_the_record_is_that_of_the_tracking_store(here, monkeypatch, uri, place):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    said = where(Store(tracking_uri(), "toy", "1"))
    assert place.format(here=here) in said and "hush" not in said
    assert (f"{here}/runs" in said) == (not uri)


@pytest.mark.system
def test_failures_are_isolated_and_only_missing_cells_run_again(here, again):
    """One kind completes, one raises, one loses its worker once and is tried again. From an empty folder."""
    code, output = finish(start(here, "--set", "kinds=plain,fails,dies"))
    assert code == 1 and counts(output) == {"completed": 4, "failed": 2, "cells": 6}, output
    assert "RuntimeError: this kind" in output
    first = everything()
    assert first["status"].to_dict() == {
        (kind, seed): "FAILED" if kind == "fails" else "FINISHED"
        for kind in ("plain", "fails", "dies")
        for seed in (0, 1)
    }
    traces = list((here / "runs" / "artifacts").rglob("traceback.txt"))
    assert len(traces) == 2 and "RuntimeError: this kind" in traces[0].read_text()

    code, output = finish(start(here, "--set", "kinds=plain,dies,fails", module="inline_sweep"))
    assert code == 1 and counts(output) == {"failed": 2, "already": 4, "cells": 6}, output
    second = everything()
    same = second["run_id"] == first["run_id"]  # no cell has two runs, and what failed is begun afresh in another one
    assert len(second) == 6 and same.to_dict() == {place: place[0] != "fails" for place in first.index}
    assert len(list(Store.open("toy").cells())) == 6
    code, _, told = again("--profile", "smoke")
    assert code == 0 and counts(told) == {"cells": 2}
    assert (everything()["start"] == second["start"]).all()
    assert records(here / "runs" / "records" / "toy") == []  # everything has been sent
    invocations = parents("toy", "smoke")
    assert [run.info.status for run in invocations] == ["FAILED", "FAILED"]  # the third had nothing to do
    assert invocations[1].data.params == {"kinds": "plain,fails,dies", "seeds": "0,1", "steps": "3"}
    assert again("--profile", "smoke", "--set", "kinds=plain steps=3")[0] == 0
    assert set(everything().loc["plain", "profile"]) == {"smoke; smoke steps=3"}


def newest_step(folder):
    """The furthest step from which a trial of kind "slow" has begun there."""
    return max((int(path.name.removeprefix("started-")) for path in folder.glob("started-*")), default=-1)


@pytest.mark.system
def test_interrupted_and_killed_sweeps_go_on_from_their_checkpoint(own_folder):
    """Ctrl-C leaves no run RUNNING; after kill -9 the next invocation closes and resumes; the curve has every step
    once.
    """
    settings, variables = ("--set", "kinds=slow seeds=0 steps=200"), {"INFOSCOPE_CHECKPOINT_SECONDS": "1"}
    process = start(own_folder, *settings, **variables)
    kept = own_folder / "runs" / "records" / "toy"
    wait_until(lambda: any(kept.glob("*.checkpoint")), process, "a checkpoint")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to everything that runs in it, the workers included
    code, output = finish(process)
    assert code == 130 and "interrupted" in output, output
    assert everything()["status"].tolist() == ["KILLED"]

    process = start(own_folder, *settings, **variables)
    wait_until(lambda: newest_step(own_folder) > 0, process, "a second attempt")
    time.sleep(2)  # for more steps, and another checkpoint
    process.kill()
    process.wait()  # its workers live on for a little, and still write

    code, output = finish(start(own_folder, *settings, module="inline_sweep", **variables))
    assert code == 0, output
    done = everything()
    assert done["status"].tolist() == ["FINISHED"]
    store = Store.open("toy")
    assert sorted(step for step, _ in history(store, done["run_id"].iloc[0])) == list(range(200))
    assert not list(store.search("attributes.status = 'RUNNING'"))


@pytest.mark.system
def test_short_cells_share_trials_and_each_keeps_its_own_run_and_failure(own_folder):
    """100 cells that take no time: 4 raise, one kills its worker every time, and none of the others is touched."""
    (own_folder / "trials").mkdir()
    process = start(own_folder, "--set", "fatal=40", module="many_cells", TRIALS=str(own_folder / "trials"))
    code, output = finish(process)
    assert code == 1 and counts(output) == {"completed": 95, "failed": 5, "cells": 100}, output
    frame = runs("many", finished=False).set_index("number").sort_index()
    assert len(frame) == 100 and frame.index.is_unique
    failed = frame[frame["status"] == "FAILED"]
    assert failed.index.tolist() == [13, 38, 40, 63, 88] and set(frame["status"]) == {"FAILED", "FINISHED"}
    assert failed.loc[63, "tags"]["infoscope.error"].startswith("ArithmeticError: 63")
    assert "worker" in failed.loc[40, "tags"]["infoscope.error"].lower()
    whole = frame.drop(failed.index)
    assert (whole["mean"] == whole.index).all() and (whole["level"] == whole.index + 0.9).all()
    store = Store.open("many")
    for number in (0, 39, 41, 99):  # beside a cell that died, too
        assert sorted(step for step, _ in history(store, whole.loc[number, "run_id"])) == list(range(10))
    assert len(list((own_folder / "trials").iterdir())) < 90  # 12 where nothing else runs, 42 on a busy machine
    assert records(own_folder / "runs" / "records" / "many") == []


def test_abandoned_runs_are_closed_with_their_true_status(own_folder):
    """A second run of a cell, of a store that died after it had made one; an invocation that was over when the store
    was away; invocations of machines that have, or have not, been silent for long.
    """
    sweep = toy_sweep.SWEEP
    store = Store.open(sweep.name, create=True)

    def made(tags):
        return store.client.create_run(store.experiment_id, tags=tags).info.run_id

    whole, partial = (made({CELLS: count, **own_tags()}) for count in "23")
    for key, cell in sweep.plan(sweep.profiles["smoke"]).items():
        for parent, status in ((whole, "FINISHED"), (whole, None)):
            outcome = "complete" if status else ""
            run_id = made(header_tags(key, cell, {PARENT: parent, PROFILE: "smoke", OUTCOME: outcome}))
            store.client.set_terminated(run_id, status) if status else None
    begun = {run.info.run_id: run.info.status for run in store.cells()}
    dead, alive = (
        made({CELLS: "2", DRIVER: "elsewhere:/runs", ALIVE: str(milliseconds() - 60_000 * minutes)})
        for minutes in (20, 2)
    )
    theirs = [made({PARENT: run}) for run in (dead, alive)]
    summary = run_sweep(sweep, "smoke")
    assert (summary.skipped, summary.unfinished) == (2, 0)
    assert {run.info.run_id for run in store.cells()} == {id for id, status in begun.items() if status == "FINISHED"}
    assert store.run(partial).info.status == "KILLED"
    assert [store.run(run).info.status for run in (dead, alive, *theirs)] == ["KILLED", "RUNNING"] * 2


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--profile", "nope"), "'nope'"),
        (("--set", "steps=0"), "steps"),
        (("--set", "speed=1"), "'speed'"),
        (("--set", "steps"), "name=value"),
        (("--gpus-per-pack", "0"), "gpus_per_pack"),
        (("--gpus-per-pack", "1.5"), "gpus_per_pack"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(here, again, arguments, word):
    code, _, error = again(*arguments)
    assert code == 2 and word in error and len(error.splitlines()) == 1
    assert not list(here.iterdir())


def test_a_sweep_that_is_already_running_is_refused(here):
    lock = here / "runs" / "records" / "toy.lock"
    lock.parent.mkdir(parents=True)
    with FileLock(lock), pytest.raises(SweepBusy, match="already running"):
        run_sweep(toy_sweep.SWEEP, "smoke")


def test_a_completely_recorded_pack_is_not_run_again_if_the_store_refuses_it(here, again, monkeypatch):
    """It is counted, said, and sent by a later invocation."""
    sweep = toy_sweep.SWEEP
    store = Store.open(sweep.name, create=True)
    label, settings = sweep.profile("smoke", {"kinds": "plain", "seeds": "0"})
    ((key, cell),) = sweep.plan(settings).items()
    record = Record.of(here / "runs" / "records" / sweep.name, key)
    record.begin(cell, header_tags(key, cell, {PROFILE: label}))
    record.metrics({"level": 1.0}, 0)
    record.end("complete")
    with monkeypatch.context() as patch:
        patch.setattr("infoscope.tracking.sending.publish.parameters", lambda cell: [].missing)
        code, _, said = again("--set", "kinds=plain", "--set", "seeds=0")
        assert code == 1 and record.exists() and str(record.folder.parent) in said
    code, *_ = again("--set", "kinds=plain", "--set", "seeds=0")
    assert code == 0 and not record.exists() and runs(sweep.name)["level"].tolist() == [1.0]
    assert store.run_of(key).info.status == "FINISHED"
