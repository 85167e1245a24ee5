"""What dead processes leave behind is sent and closed, and what living ones work on is left alone."""

import os
import re
import signal
import subprocess
import sys

import pytest
from filelock import FileLock

from infoscope.tracking import runs
from infoscope.tracking.record import milliseconds, records
from infoscope.tracking.sending.heartbeat import own_tags
from infoscope.tracking.sending.publish import open_run
from infoscope.tracking.sending.sync import sync
from infoscope.tracking.store.store import Store
from infoscope.tracking.tags import ALIVE, CELLS, DRIVER, PARENT
from tests.tracking.cells import begun
from tests.tracking.test_record import WRITER


@pytest.fixture
def folder(own_folder):
    """The records of the sweeps that run there."""
    (own_folder / "runs" / "records").mkdir()
    return own_folder / "runs" / "records"


def began(folder, sweep, key, **tags):
    record = begun(folder / sweep, key, **own_tags(), **tags)
    record.metrics({"level": 1.0}, 0)
    return record


def statuses(sweep):
    return runs(sweep, finished=False).set_index("key")["status"].to_dict()


def test_leftovers_of_every_sweep_are_sent_and_closed(folder, command):
    began(folder, "first", "dead")
    began(folder, "first", "whole").end("complete")
    began(folder, "second", "broken").end("failed", "RuntimeError: boom")
    store = Store.open("second", create=True)
    tags = {"infoscope.key": "lost", "mlflow.infoscope.cell": '{"name": "lost"}', "infoscope.outcome": ""}
    store.client.create_run(store.experiment_id, tags=tags | own_tags())  # its record is gone
    store.client.create_run(store.experiment_id, tags=tags | {"infoscope.key": "theirs", DRIVER: "another:/folder"})
    (folder / "second" / "copy-1").mkdir()
    (folder / "second" / "0123456789abcdef.tmp").touch()
    (folder / "second" / "0123456789abcdef.checkpoint").touch()

    code, output, _ = command("sync")
    assert code == 0 and [re.findall(r"\w+:|\d+", line) for line in output.splitlines()] == [
        ["first:", "2", "1"], ["second:", "1", "1"],  # records sent, and those that had not ended; runs without one
    ]  # fmt: skip
    assert statuses("first") == {"dead": "KILLED", "whole": "FINISHED"}
    assert statuses("second") == {"broken": "FAILED", "lost": "KILLED", "theirs": "RUNNING"}
    left = {path.name for path in folder.rglob("*") if path.suffix != ".lock"}
    assert left == {"first", "second", "0123456789abcdef.checkpoint"}  # from which the cell goes on
    assert command("sync", "first")[0] == 0 and statuses("first") == {"dead": "KILLED", "whole": "FINISHED"}


def test_open_runs_of_a_machine_that_is_gone_are_found_without_records(folder, command):
    """Nothing of the sweep lies here; another team's runs are left alone."""
    for name, tags in (
        ("gone", {CELLS: "1", DRIVER: "another:/folder", ALIVE: "1"}),
        ("theirs", {}),
        ("not ours", {DRIVER: "another:/folder"}),
    ):
        store = Store.open(name, create=True)
        store.client.create_run(store.experiment_id, tags=tags)
    code, output, _ = command("sync")
    assert code == 0 and output.startswith("gone: 1 runs") and len(output.splitlines()) == 1
    assert command("sync")[0] == 0
    assert [run.info.status for run in Store.open("theirs").search("")] == ["RUNNING"]


def test_a_running_sweep_is_left_alone(folder):
    for name in ("idle", "running"):
        began(folder, name, "cell")
    with FileLock(folder / "running.lock"):
        told = sync()
    assert [(one.sweep, one.records, one.busy) for one in told] == [("idle", 1, False), ("running", 0, True)]
    assert len(records(folder / "running")) == 1 and records(folder / "idle") == []


def test_an_invocation_that_was_killed_after_its_last_cell_has_finished(folder):
    record = began(folder, "ended", "cell")
    store = Store.open("ended", create=True)
    parents = [store.client.create_run(store.experiment_id, tags={CELLS: count, **own_tags()}) for count in "12"]
    for number, parent in enumerate(parents):
        record = began(folder, "ended", f"cell{number}", **{"mlflow.parentRunId": parent.info.run_id})
        record.end("complete")
    sync(["ended"])
    assert [store.run(parent.info.run_id).info.status for parent in parents] == ["FINISHED", "KILLED"]


@pytest.mark.parametrize(("silent", "status"), [(10, "RUNNING"), (1000, "KILLED")])
def test_runs_of_a_driver_elsewhere_are_closed_when_it_is_silent(folder, silent, status):
    """Its cells, too; of a driver that never says that it lives nothing is known."""
    store = Store.open("far", create=True)
    tags = {CELLS: "1", DRIVER: "another:/folder"}
    alive = {ALIVE: str(milliseconds() - 1000 * silent)}
    parent, quiet = (store.client.create_run(store.experiment_id, tags=tags | more).info.run_id
                     for more in (alive, {}))  # fmt: skip
    cell, _ = open_run(begun(folder.parent / "away", **{PARENT: parent, DRIVER: "another:/folder"}), store)
    sync()
    assert [store.run(run_id).info.status for run_id in (parent, cell, quiet)] == [status, status, "RUNNING"]


@pytest.mark.system
def test_records_of_a_worker_that_lives_stay(folder, tmp_path):
    """On a machine that is not the driver's there is no lock of the sweep that would say so."""
    node = tmp_path / "node"
    began(node, "remote", "dead")
    (record,) = records(node / "remote")
    text = (record.folder / "record.jsonl").read_text()
    (record.folder / "record.jsonl").write_text(text.replace(f'"pid": {os.getpid()}', '"pid": 4194303'))
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(node / "remote" / "alive@1")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert writer.stdout.readline() == "begun\n"
        (one,) = sync(folder=node)
        assert one.records == 1 and list(one.left) == ["alive"]
        assert statuses("remote") == {"dead": "KILLED"}
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    (one,) = sync(["remote"], folder=node)
    assert (one.records, one.unended, one.left) == (1, 1, {}) and records(node / "remote") == []
    assert statuses("remote") == {"dead": "KILLED", "alive": "KILLED"}


@pytest.mark.system
def test_workers_that_outlive_their_driver_are_waited_for(folder):
    """They die a second or two after a driver that was killed; until then their records are not closed."""
    script = WRITER.replace("sleep(600)", "sleep(2); record.metrics({'level': 2.0}, 1)")
    with subprocess.Popen(
        [sys.executable, "-c", script, str(folder / "local" / "alive@1")], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout.readline() == b"begun\n"
        (one,) = sync()
    assert (one.records, one.left) == (1, {}) and statuses("local") == {"alive": "KILLED"}
    assert runs("local", finished=False)["level"].tolist() == [2.0]


def test_a_folder_of_records_is_checked(folder, tmp_path, command):
    node = tmp_path / "node"
    linked = began(node, "remote", "linked")
    (linked.files / "secret.txt").symlink_to("/etc/hostname")
    text = (linked.folder / "record.jsonl").read_text()
    (linked.folder / "record.jsonl").write_text(text.replace(f'"pid": {os.getpid()}', '"pid": 4194303'))
    code, output, _ = command("sync", "--records", node)
    assert code == 1 and "cell linked" in output and "symbolic link" in output
    with pytest.raises(LookupError):
        runs("remote", finished=False)
    for arguments, word in (
        (("--records", tmp_path / "absent"), "absent"),
        (("--records", node / "remote"), "folder above"),
        (("other", "--records", node), "sweep other"),
        (("../node",), "'../node'"),
    ):
        code, output, error = command("sync", *arguments)
        assert (code, output) == (2, "") and word in error and len(error.splitlines()) == 1


def test_unsent_records_are_kept_and_reported(folder):
    record = began(folder, "orphan", "sharer")
    record.append({"model": "critic", "owner": "never begun"})
    record.end("complete")
    (one,) = sync()
    assert one.records == 0 and "cell never begun" in one.left["sharer"] and record.exists()


def test_sweeps_whose_names_differ_behind_a_dot_have_locks_of_their_own(folder):
    with FileLock(folder / "reading.v2.lock"):
        assert [done.busy for done in sync(["reading.v1", "reading.v2"])] == [False, True]
