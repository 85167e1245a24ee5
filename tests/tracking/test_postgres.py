"""A real `mlflow server` on PostgreSQL: away for a while under a worker, and a driver whose machine is lost."""

import shutil
import threading
import time

import pytest

from infoscope.tracking import curve, runs
from infoscope.tracking.cell_folder import cell_folders
from infoscope.tracking.store import Store
from infoscope.tracking.sync import sync
from infoscope.tracking.trial import STORAGE
from tests.tracking.cells import computed, history, job
from tests.tracking.processes import finish, start, wait_for, wait_until

pytestmark = pytest.mark.system
KEYS = [f"cell{number}" for number in range(8)]


def test_a_server_that_is_away_for_a_while_loses_nothing(tmp_path, monkeypatch, server):
    """Eight cells report all the time, and are being shown, when the server dies; it is back before they end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    monkeypatch.setattr("infoscope.tracking.trial.PUBLISH_SECONDS", 0.05)
    store, steps = Store.open("killed", create=True), 40

    def trial(pack, report):
        for step in range(steps):
            for cell in pack.cells:
                report.metrics(cell, {"level": float(step)}, step)
            if step == 10:
                server.kill()
                threading.Timer(5.0, server.start).start()
            time.sleep(0.05)

    folder = tmp_path / "runs" / "cells" / "killed"
    heard = computed(job(store, folder, trial), {key: {"name": key} for key in KEYS})
    assert {outcome for _, outcome, _ in heard[-1]["ended"]} == {"complete"}
    assert not cell_folders(folder)  # MLflow's own retries have waited for the server
    frame = runs("killed").set_index("key")
    assert set(frame.index) == set(KEYS) and len(frame) == 8
    for run_id in frame["run_id"]:
        assert history(store, run_id) == [(step, float(step)) for step in range(steps)]


def test_cells_that_end_without_a_server_are_sent_later(tmp_path, monkeypatch, server):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    store = Store.open("later", create=True)
    folder = tmp_path / "runs" / "cells" / "later"
    server.kill()
    try:
        computed(job(store, folder, lambda pack, report: report.metrics(pack.cells[0], {"level": 1.0})), {"one": {}})
    finally:
        server.start()
    assert [cell.key for cell in cell_folders(folder)] == ["one"]
    (one,) = sync(["later"])
    assert (one.published, one.left) == (1, {}) and runs("later")["level"].tolist() == [1.0]


def test_a_sweep_goes_on_on_another_machine(tmp_path, server, monkeypatch):
    """kill -9 of the driver; its machine never comes back. With INFOSCOPE_STORAGE the same command elsewhere goes on
    from the checkpoint, and the run has every step once.
    """
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    here, there, storage = tmp_path / "here", tmp_path / "there", tmp_path / "storage"
    for folder in (here, there, storage):
        folder.mkdir()
    settings = {"MLFLOW_TRACKING_URI": server.uri, "TOY_NAME": "moved", STORAGE: str(storage), "module": "inline_sweep"}
    settings["INFOSCOPE_CHECKPOINT_SECONDS"] = "0.5"
    words = ("--set", "kinds=slow seeds=0 steps=300")
    first = start(here, *words, **settings)
    wait_for(here / "started-0", first)
    wait_until(lambda: any(storage.rglob("*.checkpoint")), first, "a checkpoint")
    time.sleep(1)  # for more steps
    first.kill()
    first.wait()
    shutil.rmtree(here)
    code, output = finish(start(there, *words, **settings))
    assert code == 0, output
    (begins,) = [int(path.name.removeprefix("started-")) for path in there.glob("started-*")]
    assert begins > 0  # and not from scratch
    (row,) = runs("moved").to_dict("records")
    steps = [step for step, _ in history(Store.open("moved"), row["run_id"])]
    assert steps == list(range(300)) == list(curve(row["run_id"], "level").index)
    assert not list(storage.rglob("*.checkpoint"))
