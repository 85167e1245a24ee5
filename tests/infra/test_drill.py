"""The fault drill: that it tells what is wrong, that it ends what it started, and one of its rounds.

Three rounds are among the slow checks, every fault in `make drill`. That sweeps outlive the death of a worker or of
their driver, and records that of their server, `test_driver` and `test_postgres` check in every run of the tests.
"""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
import requests
from mlflow.entities import LoggedModelOutput, Metric

from infoscope.tracking.sending.flush import header_tags
from infoscope.tracking.store.store import CELL, OUTCOME, Store
from infra.drill import sweep
from infra.drill.__main__ import main
from infra.drill.faults import POISONED, DiskFull
from infra.drill.liar import LIES, Liar
from infra.drill.places import SmallDisk, separation
from infra.drill.processes import Processes
from infra.drill.reading import Reading, expected, read
from infra.drill.rounds import Round, Settings
from tests.refusals import refused
from tests.tracking.scheduling.test_driver import exit_status

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
    run = client.create_run(store.experiment_id, tags=header_tags(key, {"key": key}, {OUTCOME: "complete"}))
    points = [Metric(sweep.CURVE, value, run.info.start_time + step, step) for step, value in enumerate(curve)]
    client.log_batch(run.info.run_id, metrics=points)
    _log_table(client, run.info.run_id, curve)
    model = client.create_logged_model(store.experiment_id, source_run_id=run.info.run_id)
    client.log_outputs(run.info.run_id, [LoggedModelOutput(model.model_id, step=0)])
    client.finalize_logged_model(model.model_id, "READY")
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


def _half_a_model(client, store, runs):
    client.create_logged_model(store.experiment_id, source_run_id=runs["one"])


def _run_of_the_drill(client, store, runs):
    client.create_run(store.experiment_id, tags={POISONED: "yes"})


def _unreadable(client, store, runs):
    client.set_tag(runs["one"], CELL, "torn")


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        (None, {}),
        (_without, {"lost": 1, "miscounted": 1}),
        (_twice, {"twice": 1}),
        (_invocation_running, {"running": 1}),
        (_failed, {"failed": 1}),
        (_repeated_point, {"duplicates": 1}),
        (_other_value, {"duplicates": 1, "wrong": 1}),
        (_short_table, {"incomplete": 1}),
        (_half_a_model, {"unready": 1}),
        (_run_of_the_drill, {}),
        (_unreadable, {"miscounted": 1}),
    ],
)
def test_what_is_wrong_is_counted(store, harm, found, tmp_path):
    opened, cells, runs = store(harm.__name__ if harm else "whole")
    if harm:
        harm(opened.client, opened, runs)
    clean = dict.fromkeys((field.name for field in fields(Reading)), 0)
    assert read(opened.uri, opened.experiment, cells, [tmp_path]) == Reading(**clean | {"cells": 2} | found)


def test_gaps_and_records_left_behind_are_counted(store, tmp_path):
    opened, cells, _ = store("gaps")
    cells["three"] = {"bits": 1.0, "bound": "js", "steps": STEPS}
    _log(opened, "three", expected(1.0, "js", STEPS)[:-1])
    (tmp_path / "gaps" / "three").mkdir(parents=True)
    (tmp_path / "gaps" / "three" / "record.jsonl").touch()
    reading = read(opened.uri, "gaps", cells, [tmp_path, tmp_path / "of another driver"])
    assert (reading.incomplete, reading.wrong, reading.unsent, reading.lost) == (1, 0, 1, 0)
    nothing = read(opened.uri, "never made", cells, [tmp_path])
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


class Counting(BaseHTTPRequestHandler):
    """Counts what it is asked, and answers with it, as JSON."""

    asked: list[tuple[str, int]] = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append((self.path, len(body)))
        content = b'{"asked": %d}' % len(self.asked)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def lying():
    """(proxy before a server, what the server has been asked)"""
    Counting.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    liar = Liar(server.server_port)
    yield liar, Counting.asked
    liar.close()
    server.shutdown()
    server.server_close()


def test_a_liar_tells_what_the_server_says_and_then_lies(lying):
    """Each lie as it is described, and whether the server has done what it was asked."""
    liar, asked = lying

    def ask(timeout=10):
        return requests.post(f"{liar.uri}/some/path", data=b"12345", timeout=timeout)

    assert ask().json() == {"asked": 1} and asked == [("/some/path", 5)]
    liar.lie("error")
    assert ask().status_code == 500 and len(asked) == 2
    liar.lie("busy")
    answer = ask()
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "3600") and len(asked) == 2
    liar.lie("garbled")
    with pytest.raises(requests.JSONDecodeError):
        ask().json()
    assert len(asked) == 3
    liar.lie("lost")
    with pytest.raises(requests.ConnectionError):
        ask()
    assert len(asked) == 4
    liar.lie("silent")
    with pytest.raises(requests.Timeout):
        ask(timeout=0.3)
    assert len(asked) == 4 and liar.told == dict.fromkeys(LIES, 1)
    liar.be_honest()
    assert ask().json() == {"asked": 5}
    with refused("lie", "name"):
        liar.lie("white")


def test_a_share_of_lies(lying):
    liar, _ = lying
    liar.lie("error", share=0.5)
    codes = [requests.post(liar.uri, data=b"", timeout=10).status_code for _ in range(60)]
    assert 10 < codes.count(500) == liar.told["error"] < 50  # a false alarm in about 1e-7 of seeds; the seed is fixed


@pytest.mark.skipif(not separation(), reason="mount namespaces are not allowed here (unshare --mount --uts)")
def test_two_containers_have_one_name_and_one_path_and_files_of_their_own(tmp_path):
    from infra.drill.faults import EqualNames, Scene

    script = "import os, pathlib, platform; pathlib.Path('mine').touch(); print(platform.node(), os.getcwd())"
    processes, fault = Processes(), EqualNames()
    try:
        scene = Scene(processes, None, tmp_path / "round", 1.0, dict(os.environ))
        fault.prepare(scene)
        command = [*scene.prefix, sys.executable, "-c", script]
        scene.driver = processes.start(command, scene.tree, scene.environment, scene.folder / "one.log")
        fault.begun(scene, command)
        assert scene.driver.wait(60) == scene.others[0].wait(60) == 0
        assert (scene.folder / "one.log").read_text() == (scene.folder / "beside.log").read_text() != ""
        assert [(tree / "mine").exists() for tree in scene.trees] == [True, True]
        assert not (scene.folder / "container" / "mine").exists()
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
        (["--faults", "driver,fire"], "fault must be one of driver, worker"),
        (["--faults", ","], "faults must be one or more of"),
        (["--rounds", "0"], "rounds must be at least 1, got 0"),
        (["--seed", "-1"], "seed must not be negative, got -1"),
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
    started = []
    try:
        deadline = time.monotonic() + 600
        # its own server and not a child of an import, which comes before the drill can be interrupted
        while not any("mlflow" in words for child in started for words in _command(child)):
            assert process.poll() is None and time.monotonic() < deadline, "the drill starts no server"
            time.sleep(0.05)
            started = descendants(process)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=600)
    finally:
        for left in (psutil.Process(process.pid), *started) if process.poll() is None else ():
            left.kill()
    assert exit_status(process) == 130 and "interrupted" in output, output
    assert not [child for child in started if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]


def _command(process):
    try:
        return process.cmdline()
    except psutil.Error:  # it has ended
        return []


def test_an_interruption_while_a_process_starts_comes_when_it_is_known(tmp_path, monkeypatch):
    """Else nobody would end it."""
    processes, begin = Processes(), psutil.Popen

    def interrupted(*arguments, **settings):
        signal.raise_signal(signal.SIGINT)
        return begin(*arguments, **settings)

    monkeypatch.setattr(psutil, "Popen", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # where it is ignored in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            processes.start(["sleep", "600"], tmp_path, os.environ, tmp_path / "log")
        (session,) = processes._sessions
        assert len(processes.members(session)) == 1
    finally:
        signal.signal(signal.SIGINT, before)
        processes.end_all()
    assert processes.members(session) == []


@pytest.mark.parametrize(
    "faults", [("driver",), pytest.param(("worker", "driver", "server"), marks=pytest.mark.slow)], ids=",".join
)
def test_rounds_lose_nothing(tmp_path, faults):
    """See `make drill` for the other faults, and for more rounds."""
    words = ("--packs", "2", "--steps", "100", "--down", "5")
    process = start(tmp_path, "--rounds", str(len(faults)), "--faults", ",".join(faults), *words)
    try:
        output, _ = process.communicate(timeout=3600)
    finally:
        process.terminate()  # it ends what it has started
    assert process.returncode == 0, output
    assert f"{len(faults)} rounds, {4 * len(faults)} cells: nothing lost" in output
    (saved,) = (tmp_path / "runs" / "drill").glob("*/rounds.csv")
    table = pd.read_csv(saved)
    assert table["fault"].tolist() == list(faults) and (table["cells"] == 4).all()
    assert table.set_index("fault").loc["driver", "runs"] >= 2  # the driver did not survive
    assert [path.name for path in saved.parent.iterdir()] == ["rounds.csv"]
