"""Two drivers and the same cells: one has them, whatever their machines and folders are called."""

import os
import re
import signal
import threading
import time

import pytest
from mlflow import MlflowClient

from infoscope.tracking import runs
from infoscope.tracking.record import milliseconds
from infoscope.tracking.sending import claims
from infoscope.tracking.sending.claims import Claim, SweepBusy, claimed, packed
from infoscope.tracking.sending.duplicates import by_key_once
from infoscope.tracking.sending.flush import close, header_tags, send
from infoscope.tracking.sending.identity import driver, identity, own_tags
from infoscope.tracking.sending.sync import sync
from infoscope.tracking.store.store import Store, by_key, is_finished
from infoscope.tracking.tags import ALIVE, CELLS, CLAIM, DRIVER, IDENTITY, OUTCOME, PARENT, PROFILE, SUMMARY
from tests.tracking.cells import begun, history
from tests.tracking.processes import counts, finish, start, wait_for

KEYS = [f"{number:016x}" for number in range(4)]
HOUR = 3_600_000  # ms


@pytest.fixture
def store(own_folder):
    return Store.open("toy", create=True)


def somebody(name, host="elsewhere:/runs"):
    return {IDENTITY: name, DRIVER: host}


def invocation(store, own, seconds=0.0, keys=KEYS, **tags):
    """The id of the run of an invocation that has its cells, and said so many seconds ago that it lives."""
    alive = {ALIVE: str(milliseconds() - round(1000 * seconds)), CELLS: str(len(keys)), CLAIM: "holds"}
    return store.client.create_run(store.experiment_id, tags={**own, **alive, **packed(keys), **tags}).info.run_id


def made(store, key="one", status="FINISHED", end=None, **tags):
    """The id of a run of a cell."""
    told = header_tags(key, {"name": key}, {PROFILE: "smoke", **tags})
    told |= {OUTCOME: "complete" if status == "FINISHED" else ""}
    run_id = store.client.create_run(store.experiment_id, tags=told).info.run_id
    if status != "RUNNING":
        store.client.set_terminated(run_id, status, end)
    return run_id


def state(store, run_id):
    run = store.run(run_id)
    return run and run.info.status


@pytest.fixture(params=["sqlite", "postgres"])
def uri(request, tmp_path, empty_store, monkeypatch):
    """Of the one store of two working trees."""
    if request.param == "sqlite":
        empty_store(tmp_path)
        address = f"sqlite:///{tmp_path / 'runs' / 'mlflow.db'}"
    else:
        address = request.getfixturevalue("server").uri
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    return address


@pytest.fixture
def trees(tmp_path, monkeypatch):
    """Two working trees; the test itself is in the second."""
    found = [tmp_path / name for name in ("a", "b")]
    for path in found:
        path.mkdir()
    monkeypatch.chdir(found[1])
    return found


@pytest.mark.system
def test_two_drivers_on_one_store_make_every_cell_once(uri, trees, tmp_path):
    """In two folders, with one host name, at the same moment; the loser is told who has the cells."""
    (tmp_path / "meeting").mkdir()
    told = {"TOY_HOST": "same", "TOY_MEET": str(tmp_path / "meeting"), "TOY_DRIVERS": "2", "MLFLOW_TRACKING_URI": uri}
    settings = ("--set", "kinds=slow,plain steps=20 seeds=0,1")
    processes = [start(tree, *settings, module="inline_sweep", **told) for tree in trees]
    (winner, made), (loser, said) = sorted(finish(process) for process in processes)
    assert (winner, loser) == (0, 2) and counts(made) == {"completed": 4, "cells": 4}, (made, said)
    assert re.search(r"same:\S+/runs .*4 of", said)
    store = Store.open("toy")
    found = list(store.cells())
    assert len(found) == 4 and all(map(is_finished, found))
    assert sorted(runs("toy", "smoke steps=20")["seed"]) == [0, 0, 1, 1]
    everything = [run.info.status for run in store.search("") if SUMMARY not in run.data.tags]
    assert everything == ["FINISHED"] * 5  # with the winner's own; the loser left none
    code, output = finish(start(trees[1], *settings, module="inline_sweep", MLFLOW_TRACKING_URI=uri))
    assert code == 0 and counts(output) == {"cells": 4}  # nothing left to do for the other


@pytest.mark.system
@pytest.mark.parametrize("uri", ["sqlite"], indirect=True)
def test_a_driver_of_another_folder_goes_on_when_the_first_is_gone(uri, trees):
    """Killed, its last sign of life is dated back; before that, its cells are refused."""
    told = {"module": "inline_sweep", "TOY_HOST": "same", "MLFLOW_TRACKING_URI": uri}
    first = start(trees[0], "--set", "kinds=slow steps=3000 seeds=0", **told)
    wait_for(trees[0] / "started-0", first)
    first.send_signal(signal.SIGKILL)
    first.wait()
    store = Store.open("toy")
    (parent,) = [run.info.run_id for run in store.search("") if CELLS in run.data.tags]
    code, output = finish(start(trees[1], "--set", "kinds=slow steps=3000 seeds=0,1", **told))
    assert code == 2 and "has 1 of" in output, output
    code, output = finish(start(trees[1], "--set", "kinds=plain", **told))
    assert code == 0 and state(store, parent) == "RUNNING", output  # other cells: nobody is in the way
    store.client.set_tag(parent, ALIVE, str(milliseconds() - HOUR))
    last = start(trees[1], "--set", "kinds=slow steps=3000 seeds=0", **told)
    wait_for(trees[1] / "started-0", last)
    assert state(store, parent) == "KILLED"
    os.killpg(last.pid, signal.SIGINT)
    assert finish(last)[0] == 130
    assert "RUNNING" not in [run.info.status for run in store.search("")]


def test_of_many_that_claim_at_once_one_holds(store):
    """Exactly one, in every round: threads that begin together, each with another identity."""
    for number in range(4):
        held, refused = [], []

        def take(who, number=number, held=held, refused=refused):
            mine = Claim(store, "toy", {PROFILE: "smoke"}, KEYS, somebody(f"{number}-{who}"))
            try:
                mine.hold()
                held.append(mine)
            except SweepBusy:
                mine.withdraw()
                refused.append(who)

        at_once(take, 3)
        assert (len(held), len(refused)) == (1, 2)
        held[0].withdraw()
    assert list(store.search("")) == []


def test_a_living_driver_is_told_of_and_only_for_cells_that_it_has(store):
    theirs = invocation(store, somebody("a"), seconds=30)
    mine = Claim(store, "toy", {PROFILE: "smoke"}, [*KEYS[2:], "f" * 16])
    with pytest.raises(SweepBusy) as refused:
        mine.hold()
    words = str(refused.value)
    assert "elsewhere:/runs since 20" in words and "has 2 of" in words and "\n" not in words
    mine.withdraw()
    others = Claim(store, "toy", {PROFILE: "smoke"}, ["f" * 16])
    others.hold()
    assert state(store, theirs) == "RUNNING" and state(store, others.run_id) == "RUNNING"
    assert claimed(store.run(theirs)) == set(KEYS)


def test_one_that_may_be_dead_is_waited_for(store, monkeypatch, capsys):
    """Until it is silent long enough, or speaks."""
    monkeypatch.setattr(claims, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(claims, "SHORT_SECONDS", 1.0)
    monkeypatch.setattr(claims, "SILENT_SECONDS", 4.0)
    silent = invocation(store, somebody("a"), seconds=2)
    mine, began = Claim(store, "toy", {PROFILE: "smoke"}, KEYS), time.monotonic()
    mine.hold()
    assert time.monotonic() - began > 1 and "silent for" in capsys.readouterr().err
    store.client.set_terminated(silent, "KILLED")
    mine.withdraw()

    monkeypatch.setattr(claims, "SILENT_SECONDS", 60.0)
    speaks = invocation(store, somebody("b"), seconds=2)
    threading.Timer(0.5, store.client.set_tag, (speaks, ALIVE, str(milliseconds()))).start()
    with pytest.raises(SweepBusy):
        Claim(store, "toy", {PROFILE: "smoke"}, KEYS).hold()


def test_a_job_that_begins_again_on_another_machine_takes_over_its_own(store):
    """`runs` is a disk that has moved: the identity is the same, the host is not. Not while the other still speaks."""
    own = somebody(identity(), "another-host:/runs")
    dead, alive = invocation(store, own, seconds=90), invocation(store, own, seconds=5)
    cells = [made(store, key, "RUNNING", **own, **{PARENT: parent}) for key, parent in (("a", dead), ("b", alive))]
    sync(["toy"])
    assert [state(store, run) for run in (dead, alive, *cells)] == ["KILLED", "RUNNING"] * 2
    here = invocation(store, own_tags(), seconds=1)  # of this host: that this process has the lock says that it is dead
    sync(["toy"])
    assert state(store, here) == "KILLED" and state(store, alive) == "RUNNING"


def test_drivers_of_equal_names_do_not_close_each_others_runs(store):
    """As containers have them: host and folder are the same, the identity is not."""
    theirs = invocation(store, somebody("another", driver()), seconds=30)
    cell = made(store, "cell", "RUNNING", **somebody("another", driver()), **{PARENT: theirs})
    second = made(store, "cell", "FINISHED")
    sync(["toy"])
    assert set(by_key_once(store)) == {"cell"}
    assert [state(store, run) for run in (theirs, cell, second)] == ["RUNNING", "RUNNING", "FINISHED"]
    store.client.set_tag(theirs, ALIVE, str(milliseconds() - HOUR))
    sync(["toy"])
    assert by_key_once(store)["cell"].info.run_id == second
    assert [state(store, run) for run in (theirs, cell)] == ["KILLED", None]


def test_one_that_was_cut_off_goes_on_unless_another_has_its_cells(store, monkeypatch):
    mine = Claim(store, "toy", {PROFILE: "smoke"}, KEYS)
    mine.hold()
    store.client.set_terminated(mine.run_id, "KILLED")
    mine.sign()
    assert state(store, mine.run_id) == "RUNNING" and not mine.lost
    store.client.set_terminated(mine.run_id, "KILLED")
    other = Claim(store, "toy", {PROFILE: "smoke"}, KEYS, somebody("b"))
    other.hold()
    stopped = []
    monkeypatch.setattr(claims.os, "kill", lambda *signal: stopped.append(signal))
    mine.sign()
    assert "by elsewhere:/runs" in mine.lost and stopped == [(os.getpid(), signal.SIGTERM)]
    assert state(store, mine.run_id) == "KILLED" and state(store, other.run_id) == "RUNNING"


def at_once(act, many):
    """Calls `act(0)`, `act(1)` and so on from as many threads, which begin together."""
    together = threading.Barrier(many)
    threads = [threading.Thread(target=lambda n=n: (together.wait(), act(n))) for n in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_cell_that_was_finished_twice_counts_by_the_first_and_the_second_is_retired(store):
    now = milliseconds()
    later = made(store, end=now + 2000, **{PROFILE: "laptop"})
    first = made(store, end=now + 1000)
    killed = made(store, status="KILLED")
    stopped = made(store, "two", end=now)
    store.client.set_tag(stopped, OUTCOME, "stopped")
    whole = made(store, "two", end=now + 5000)
    frame = runs("toy").set_index("key")
    assert frame["run_id"].to_dict() == {"one": first, "two": whole}
    assert runs("toy", "laptop")["run_id"].tolist() == [first]  # it is of both profiles
    for _ in range(2):
        assert {key: run.info.run_id for key, run in by_key_once(store).items()} == {"one": first, "two": whole}
    assert [state(store, run) for run in (later, killed, stopped)] == [None] * 3
    assert sorted(store.run(first).data.tags[PROFILE].split("; ")) == ["laptop", "smoke"]
    assert store.client.get_run(later).data.tags["infoscope.second_of"] == first  # MLflow keeps it for a while


def test_drivers_that_retire_at_once_leave_one(store):
    for _ in range(3):
        key = f"cell {time.time_ns()}"
        for number in range(3):
            made(store, key, end=milliseconds() + number)
        at_once(lambda _: by_key_once(store), 3)
        known, others = by_key(store.cells())
        assert is_finished(known[key]) and others == []


def test_an_attempt_that_comes_back_writes_nothing_where_another_driver_has_gone_on(store, tmp_path):
    """Its invocation was taken for dead, and the cell's run went on under another's."""
    old, new = invocation(store, somebody("a")), invocation(store, somebody("b"))
    first = begun(tmp_path / "first", "cell", **{PARENT: old})
    first.metrics({"level": 1.0}, 0)
    run_id = send(first, store)
    second = begun(tmp_path / "second", "cell", None, run_id, **{PARENT: new})
    assert send(second, store) == ""  # the first lives
    store.client.set_terminated(old, "KILLED")
    store.client.set_terminated(run_id, "KILLED")
    second = begun(tmp_path / "second", "cell", None, run_id, **{PARENT: new})
    second.resume({"steps": {"level": [0, 1.0]}, "files": [], "models": []})
    assert send(second, store) == run_id and state(store, run_id) == "RUNNING"

    first.metrics({"level": 7.0}, 1)
    assert send(first, store) == ""
    first = begun(tmp_path / "first", "cell", None, run_id, **{PARENT: old})  # nor does it take it back
    first.metrics({"level": 8.0}, 2)
    first.end("complete")
    close(first, store, otherwise="KILLED")
    assert not first.exists() and state(store, run_id) == "RUNNING"
    second.metrics({"level": 2.0}, 1)
    second.end("complete")
    close(second, store, otherwise="KILLED")
    (run,) = store.cells()
    assert is_finished(run) and run.data.tags[PARENT] == new
    assert sorted(history(store, run_id)) == [(0, 1.0), (1, 2.0)]


def test_two_who_make_the_experiment_at_once_share_it(store, monkeypatch):
    """The second looks before the first has made it, and makes it after."""
    first = Store.open("toy", create=True)
    look, looked = MlflowClient.get_experiment_by_name, []

    def late(client, name):
        looked.append(name)
        return None if len(looked) == 1 else look(client, name)

    monkeypatch.setattr(MlflowClient, "get_experiment_by_name", late)
    assert Store.open("toy", create=True).experiment_id == first.experiment_id and len(looked) == 2
