"""A real `mlflow server` on PostgreSQL: killed under a worker, and what a machine that is lost has left there."""

import shutil
import threading
import time

import pytest

from infoscope.tracking import curve, runs
from infoscope.tracking.record import milliseconds, records
from infoscope.tracking.sending.checkpoint import TAG
from infoscope.tracking.sending.live_updates import LiveUpdates
from infoscope.tracking.sending.publish import publish
from infoscope.tracking.sending.sync import sync
from infoscope.tracking.store.store import Store
from infoscope.tracking.tags import ALIVE
from tests.tracking.cells import begun, history
from tests.tracking.processes import finish, start, wait_until

pytestmark = pytest.mark.system


def until(met, seconds=60):
    deadline = time.monotonic() + seconds
    while not met() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert met()


def test_a_server_that_is_killed_for_a_while_loses_nothing(tmp_path, monkeypatch, server):
    """Eight cells report all the time, and are being shown when the server dies; when it is back, that goes on by
    itself. A ninth cell begins and ends while there is no server.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    store = Store.open("killed", create=True)
    folder = tmp_path / "runs" / "records" / store.experiment
    keys = [f"cell{number}" for number in range(8)]
    found = [begun(folder, key) for key in keys]
    shown, done, steps = LiveUpdates(store, every=0.05), threading.Event(), 0
    shown.follow(found, None, lambda: True)

    def reports():
        nonlocal steps
        while not done.is_set():
            for number, record in enumerate(found):
                record.metrics({"level": steps + number / 10}, steps)
            steps += 1
            time.sleep(0.01)

    def offset(number):
        return shown._followed[number].offset

    reporting = threading.Thread(target=reports)
    reporting.start()
    try:
        until(lambda: offset(-1))
        server.kill()
        ninth = begun(folder, "ninth")
        ninth.metrics({"level": 8.0}, 0)
        ninth.end("complete")
        time.sleep(2.0)
        before = offset(0)
        server.start()
        until(lambda: offset(0) > before)  # it has gone on
    finally:
        done.set()
        reporting.join()
        shown.stop()
    for record in found:
        record.end("complete")
        publish(record, store)
    (one,) = sync([store.experiment])  # as after a crash, for the one that nobody has sent
    assert one.records == 1 and records(folder) == []
    frame = runs(store.experiment).set_index("key")
    assert set(frame.index) == {*keys, "ninth"} and len(frame) == 9 and set(frame["status"]) == {"FINISHED"}
    assert steps > 20
    for number, key in enumerate(keys):
        expected = [(step, step + number / 10) for step in range(steps)]
        assert history(store, frame.loc[key, "run_id"]) == expected
    assert not list(store.search("attributes.status = 'RUNNING'"))


def test_a_sweep_goes_on_on_another_machine(tmp_path, server, monkeypatch):
    """kill -9 of the driver; its machine never comes back. The same command elsewhere takes the checkpoint from the
    store, and the run has every step once.
    """
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    told = {"MLFLOW_TRACKING_URI": server.uri, "TOY_NAME": "moved", "module": "inline_sweep"}
    told |= {"INFOSCOPE_CHECKPOINT_SECONDS": "0.5", "INFOSCOPE_STORED_CHECKPOINT_SECONDS": "1"}
    words = ("--set", "kinds=slow seeds=0 steps=1000")

    def tagged():
        return [run for run in Store.open("moved").cells() if TAG in run.data.tags] if "moved" in Store.names() else []

    first = start(here, *words, **told)
    wait_until(tagged, first, "a stored checkpoint")
    (run,) = tagged()
    time.sleep(20)  # for another round: metrics beyond that checkpoint are there, too
    first.kill()
    first.wait()
    shutil.rmtree(here)
    store = Store.open("moved")
    for parent in store.search("attributes.status = 'RUNNING'"):
        if ALIVE in parent.data.tags:  # as minutes later: until then the machine may only have lost its network
            store.client.set_tag(parent.info.run_id, ALIVE, str(milliseconds() - 3_600_000))
    code, output = finish(start(there, *words, **told))
    assert code == 0, output
    (begins,) = [int(path.name.removeprefix("started-")) for path in there.glob("started-*")]
    assert begins > 0  # and not from scratch
    (row,) = runs("moved").to_dict("records")
    assert TAG not in row["tags"] and not store.client.list_artifacts(run.info.run_id, "checkpoint")
    steps = [step for step, _ in history(store, row["run_id"])]
    assert steps == list(range(1000)) == list(curve(row["run_id"], "level").index)
    assert not store.client.list_artifacts(row["run_id"], "checkpoint")
