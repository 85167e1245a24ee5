"""The fault drill: that it tells what is wrong, that it ends what it started, and three of its rounds."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
from mlflow.entities import LoggedModelOutput, Metric

from infoscope.tracking.store import KEY, Store
from infra.drill import sweep
from infra.drill.__main__ import main
from infra.drill.faults import DiskFull
from infra.drill.places import SmallDisk, separation
from infra.drill.processes import Processes
from infra.drill.reading import Reading, expected, read
from infra.drill.rounds import Round, Settings

REPOSITORY = Path(__file__).parents[2]
STEPS = 5


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """An SQLite store of its own, with what every cell of a plan should hold: (experiment) -> client, plan, run ids."""
    folder = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}")
        patch.chdir(folder)
        yield lambda experiment: _filled(Store.open(experiment, create=True))


def _filled(store):
    cells = {key: {"bits": 0.5, "bound": bound, "steps": STEPS} for key, bound in (("one", "js"), ("two", "smile-5"))}
    runs = {key: _log(store, key, expected(**cell)) for key, cell in cells.items()}
    return store, cells, runs


def _log(store, key, curve, status="FINISHED"):
    client = store.client
    run = client.create_run(store.experiment_id, tags={KEY: key})
    points = [Metric(sweep.CURVE, value, run.info.start_time + step, step) for step, value in enumerate(curve)]
    client.log_batch(run.info.run_id, metrics=points)
    _log_table(client, run.info.run_id, curve)
    model = client.create_logged_model(store.experiment_id, source_run_id=run.info.run_id)
    client.log_outputs(run.info.run_id, [LoggedModelOutput(model.model_id, step=0)])
    if status != "RUNNING":
        client.set_terminated(run.info.run_id, status)
    return run.info.run_id


def _log_table(client, run_id, curve):
    path = Path.cwd() / f"{sweep.TABLE}.parquet"
    pd.DataFrame({sweep.CURVE: curve}).to_parquet(path)
    client.log_artifact(run_id, str(path))


def _without(client, store, runs):
    client.delete_run(runs["one"])


def _twice(client, store, runs):
    _log(store, "one", expected(0.5, "js", STEPS))


def _invocation_running(client, store, runs):
    client.create_run(store.experiment_id, tags={"infoscope.cells": "2"})


def _failed(client, store, runs):
    client.set_terminated(runs["two"], "FAILED")


def _repeated_point(client, store, runs):
    curve = expected(0.5, "js", STEPS)
    client.log_metric(runs["one"], sweep.CURVE, curve[3], timestamp=1, step=3)


def _other_value(client, store, runs):
    client.log_metric(runs["one"], sweep.CURVE, 7.0, timestamp=1, step=3)


def _short_table(client, store, runs):
    _log_table(client, runs["one"], expected(0.5, "js", STEPS)[:-1])


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        (None, {}),
        (_without, {"lost": 1}),
        (_twice, {"twice": 1}),
        (_invocation_running, {"running": 1}),
        (_failed, {"failed": 1}),
        (_repeated_point, {"duplicates": 1}),
        (_other_value, {"duplicates": 1, "wrong": 1}),
        (_short_table, {"incomplete": 1}),
    ],
)
def test_what_is_wrong_is_counted(store, harm, found, tmp_path):
    opened, cells, runs = store(harm.__name__ if harm else "whole")
    if harm:
        harm(opened.client, opened, runs)
    clean = dict.fromkeys(("lost", "twice", "running", "failed", "incomplete", "duplicates", "wrong", "unsent"), 0)
    assert read(opened.uri, opened.experiment, cells, tmp_path) == Reading(cells=2, **clean | found)


def test_gaps_and_records_left_behind_are_counted(store, tmp_path):
    opened, cells, _ = store("gaps")
    cells["three"] = {"bits": 1.0, "bound": "js", "steps": STEPS}
    _log(opened, "three", expected(1.0, "js", STEPS)[:-1])
    (tmp_path / "gaps" / "three").mkdir(parents=True)
    (tmp_path / "gaps" / "three" / "record.jsonl").touch()
    reading = read(opened.uri, "gaps", cells, tmp_path)
    assert (reading.incomplete, reading.wrong, reading.unsent, reading.lost) == (1, 0, 1, 0)
    nothing = read(opened.uri, "never made", cells, tmp_path)
    assert nothing.lost == nothing.cells == 3


def test_a_training_that_is_continued_gives_what_the_reading_expects(tmp_path):
    """The drill's own premise: it asks for equality, so a checkpoint must give it."""
    first = sweep.training(1.5, sweep.BOUNDS, 20)
    first.advance(7)
    second = sweep.training(1.5, sweep.BOUNDS, 20)
    second.load_state_dict(first.state_dict())
    second.advance(20)
    for bound in sweep.BOUNDS:
        assert tuple(second.trace.of(bound)) == expected(1.5, bound, 20)
    assert len({expected(bits, bound, 20) for bits in (1.0, 1.5) for bound in sweep.BOUNDS}) == 4


def test_orphans_are_found_and_ended_and_nobody_else(tmp_path):
    processes, other = Processes(), Processes()
    script = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    try:
        parent = processes.start([sys.executable, "-c", script], tmp_path, os.environ, tmp_path / "log")
        neighbour = other.start(["sleep", "600"], tmp_path, os.environ, tmp_path / "log")
        parent.wait(30)
        (orphan,) = processes.members(parent.pid)
        assert orphan.pid != parent.pid and orphan.is_running()
        processes.end_all()
        assert processes.members(parent.pid) == []
        assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
        assert neighbour.poll() is None
    finally:
        processes.end_all()
        other.end_all()


@pytest.mark.skipif(not separation(), reason="mount namespaces are not allowed here (unshare --mount --uts)")
def test_the_small_disk_is_full_for_those_inside_only(tmp_path):
    processes, folder = Processes(), tmp_path / "records"
    write = "import sys; open(sys.argv[1], 'a').write('x' * 9000)"
    try:
        disk = SmallDisk(processes, folder, os.environ, tmp_path / "log")

        def attempt(name):
            command = [*disk.prefix(tmp_path), sys.executable, "-c", write, f"records/{name}"]
            return subprocess.run(command, capture_output=True, text=True, timeout=30)

        assert attempt("before").returncode == 0
        disk.fill()
        full = attempt("during")
        assert full.returncode and os.strerror(errno.ENOSPC) in full.stderr
        disk.free()
        assert attempt("after").returncode == 0
        assert list(folder.iterdir()) == []  # nothing of it is seen from outside
    finally:
        processes.end_all()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="limits of another process are Linux's")
def test_where_nothing_can_be_mounted_a_process_is_forbidden_to_write(tmp_path, monkeypatch):
    import infra.drill.faults as faults
    from infra.drill.faults import Scene

    monkeypatch.setattr(faults, "separation", lambda: None)
    script = (
        "import sys, time\n"
        "while True:\n"
        "    try:\n"
        "        open('out', 'a').write('x' * 9000)\n"
        "    except OSError as error:\n"
        "        sys.exit(error.errno)\n"
        "    time.sleep(0.1)\n"
    )
    processes = Processes()
    try:
        driver = processes.start([sys.executable, "-c", script], tmp_path, os.environ, tmp_path / "log")
        scene = Scene(processes, None, tmp_path / "round", 1.0, {}, driver=driver)
        fault = DiskFull()
        fault.prepare(scene)
        while not (tmp_path / "out").exists():
            time.sleep(0.05)
        assert str(driver.pid) in fault.strike(scene) and "no process" in fault.how
        assert driver.wait(30) == errno.EFBIG
    finally:
        processes.end_all()


def test_moments_depend_on_the_seed_and_the_round_only():
    def moments(seed, settings):
        return [(one.share, one.delay) for one in (Round(k, "driver", 0, settings, seed) for k in range(1, 21))]

    assert moments(0, Settings()) == moments(0, Settings(packs=2, steps=9)) != moments(1, Settings())
    shares = np.array(moments(0, Settings()))[:, 0]
    assert shares.min() < 0.25 and shares.max() > 0.7 and len(set(shares)) == 20


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--faults", "driver,fire"], "unknown fault 'fire'; valid are driver, worker"),
        (["--faults", ","], "no fault is given"),
        (["--rounds", "0"], "rounds is 0; it must be at least 1"),
        (["--seed", "-1"], "seed is -1; it must not be negative"),
    ],
)
def test_bad_input_is_one_sentence(words, told, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["drill", *words])
    assert main() == 2
    assert told in capsys.readouterr().err and not list(tmp_path.iterdir())


def start(folder, *words):
    command = [sys.executable, "-m", "infra.drill", *words]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # as a shell does in the background
    )


def descendants(process):
    return psutil.Process(process.pid).children(recursive=True)


def test_an_interrupted_drill_leaves_no_process(tmp_path):
    process = start(tmp_path, "--faults", "server", "--rounds", "1")  # which starts a server and a sweep
    try:
        deadline = time.monotonic() + 60
        while not (started := descendants(process)) and time.monotonic() < deadline:
            time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    finally:
        for left in (psutil.Process(process.pid), *started) if process.poll() is None else ():
            left.kill()
    assert started and process.returncode == 130 and "interrupted" in output, output
    assert not [child for child in started if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]


def test_three_rounds_lose_nothing(tmp_path):
    """A worker, the driver and the server are killed; see `make drill` for the others, and for more of them."""
    words = ("--rounds", "3", "--faults", "worker,driver,server", "--packs", "2", "--steps", "100", "--down", "5")
    process = start(tmp_path, *words)
    try:
        output, _ = process.communicate(timeout=900)
    finally:
        process.terminate()  # it ends what it has started
    assert process.returncode == 0, output
    assert "3 rounds, 12 cells: nothing lost" in output
    (saved,) = (tmp_path / "runs" / "drill").glob("*/rounds.csv")
    table = pd.read_csv(saved)
    assert table["fault"].tolist() == ["worker", "driver", "server"] and (table["cells"] == 4).all()
    assert table["runs"].tolist()[1] >= 2  # the driver did not survive
    assert [path.name for path in saved.parent.iterdir()] == ["rounds.csv"]
