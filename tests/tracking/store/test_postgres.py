"""A real `mlflow server` on PostgreSQL: killed under a worker, and what a machine that is lost has left there."""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from infoscope.tracking import curve, runs
from infoscope.tracking.record import Record, milliseconds, records
from infoscope.tracking.sending.checkpoint import TAG
from infoscope.tracking.sending.flush import Flusher, close, header_tags
from infoscope.tracking.sending.sync import sync
from infoscope.tracking.store.store import Store
from infoscope.tracking.tags import ALIVE


@pytest.fixture
def store(tmp_path, monkeypatch, server, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    return Store.open(request.node.name, create=True)


def test_a_server_that_is_killed_for_a_while_loses_nothing(tmp_path, store, server):
    """Eight cells report all the time; the flusher is in the middle of its work when the server dies, and goes on by
    itself when it is back. A ninth cell begins and ends while there is no server.
    """
    folder = tmp_path / "runs" / "records" / store.experiment
    cells = {f"cell{number}": {"number": number} for number in range(8)}
    found = [Record(folder / key) for key in cells]
    for record, (key, cell) in zip(found, cells.items()):
        record.begin(cell, header_tags(key, cell, {}), None)
    flusher, done, steps = Flusher(store, every=0.05), threading.Event(), 0
    flusher.follow(found)

    def reports():
        nonlocal steps
        while not done.is_set():
            for number, record in enumerate(found):
                record.metrics({"level": steps + number / 10}, steps)
            steps += 1
            time.sleep(0.01)

    reporting = threading.Thread(target=reports)
    reporting.start()
    try:
        deadline = time.monotonic() + 60
        while found[-1].sent().get("offset", 0) == 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        server.kill()
        ninth = Record(folder / "ninth")
        ninth.begin({"number": 8}, header_tags("ninth", {"number": 8}, {}), None)
        ninth.metrics({"level": 8.0}, 0)
        ninth.end("complete")
        time.sleep(2.0)
        (before,) = {record.sent()["offset"] for record in found[:1]}
        server.start()
        deadline = time.monotonic() + 60
        while found[0].sent()["offset"] == before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert found[0].sent()["offset"] > before, "the flusher did not go on"
    finally:
        done.set()
        reporting.join()
    for record in found:
        record.end("complete")
        close(record, store, otherwise="KILLED")
    (one,) = sync([store.experiment])  # as after a crash, for the one that no flusher followed
    assert one.records == 1 and records(folder) == []
    frame = runs(store.experiment).set_index("key")
    assert set(frame.index) == {*cells, "ninth"} and len(frame) == 9 and set(frame["status"]) == {"FINISHED"}
    assert steps > 20
    for number, key in enumerate(cells):
        history = store.client.get_metric_history(frame.loc[key, "run_id"], "level")
        assert [(point.step, point.value) for point in history] == [(step, step + number / 10) for step in range(steps)]
    assert not list(store.search("attributes.status = 'RUNNING'"))


def sweep(folder, uri):
    """The toy sweep as a process of its own, in a folder that is another machine's as far as it knows."""
    settings = {"MLFLOW_TRACKING_URI": uri, "INFOSCOPE_CHECKPOINT_SECONDS": "0.5"}
    settings |= {"INFOSCOPE_STORED_CHECKPOINT_SECONDS": "1"}
    settings |= {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), str(Path(__file__).parents[3])])}
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"} | settings
    command = [sys.executable, "-m", "toy_sweep", "--profile", "smoke", "--set", "kinds=slow seeds=0 steps=1000"]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


@pytest.mark.slow  # two whole sweeps of a minute
def test_a_sweep_goes_on_on_another_machine(tmp_path, server, monkeypatch):
    """kill -9 of the driver; its machine never comes back. The same command elsewhere takes the checkpoint from the
    store, and the run has every step once.
    """
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    first = sweep(here, server.uri)
    deadline, tagged = time.monotonic() + 240, []
    while len(tagged) < 1 and time.monotonic() < deadline and first.poll() is None:
        time.sleep(1.0)
        if "toy" in Store.names():
            tagged = [run for run in Store.open("toy").cells() if TAG in run.data.tags]
    assert tagged, "no checkpoint came to the store"
    time.sleep(20)  # the flusher's next round: metrics beyond that checkpoint are there, too
    first.kill()
    first.wait()
    time.sleep(10)  # Ray's processes end themselves when their driver is gone
    shutil.rmtree(here)
    for run in Store.open("toy").search("attributes.status = 'RUNNING'"):
        if ALIVE in run.data.tags:  # as minutes later: until then the machine may only have lost its network
            Store.open("toy").client.set_tag(run.info.run_id, ALIVE, str(milliseconds() - 3_600_000))
    second = sweep(there, server.uri)
    output, _ = second.communicate(timeout=400)
    assert second.returncode == 0, output
    (begun,) = [int(path.name.removeprefix("started-")) for path in there.glob("started-*")]
    assert begun > 0, "it began from scratch"
    (row,) = runs("toy").to_dict("records")
    assert row["run_id"] == tagged[0].info.run_id and TAG not in row["tags"]
    store = Store.open("toy")
    history = store.client.get_metric_history(row["run_id"], "level")
    assert [point.step for point in history] == list(range(1000)) == list(curve(row["run_id"], "level").index)
    assert not store.client.list_artifacts(row["run_id"], "checkpoint")
