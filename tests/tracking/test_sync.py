"""What ended while the store was away, or was computed offline, is published; what dead
drivers left open is closed.
"""

import re

import pytest
from filelock import FileLock

from infoscope.tracking import parents, runs
from infoscope.tracking.cell_folder import CellFolder, cell_folders
from infoscope.tracking.driver import own_tag
from infoscope.tracking.results import record_run
from infoscope.tracking.store import Store
from infoscope.tracking.sync import sync
from infoscope.tracking.tags import DRIVER, PARENT
from tests.tracking.cells import begun, publish, tags_of


@pytest.fixture
def folder(own_folder):
    """The cells of the sweeps that run there."""
    (own_folder / "runs" / "cells").mkdir()
    return own_folder / "runs" / "cells"


def began(folder, sweep, key, **tags):
    cell = begun(folder / sweep, key, **own_tag(), **tags)
    cell.metrics({"level": 1.0}, 0)
    return cell


def statuses(sweep):
    return runs(sweep, finished=False).set_index("key")["status"].to_dict()


def test_ended_cells_of_every_sweep_are_sent_and_open_runs_closed(folder, command):
    dead = began(folder, "first", "dead")
    publish(dead, Store.open("first", create=True))
    began(folder, "first", "whole").end("complete")
    began(folder, "second", "broken").end("failed", "RuntimeError: boom")
    store = Store.open("second", create=True)
    # their folders are not here
    for key, driver in (("lost", own_tag()), ("theirs", {DRIVER: "another:/folder"})):
        store.client.create_run(
            store.experiment_id, tags={**tags_of(key, {"name": key}), **driver}
        )
    code, output, _ = command("sync")
    assert code == 0
    assert [re.findall(r"\w+:|\d+", line) for line in output.splitlines()] == [
        ["first:", "1"],
        ["second:", "1"],
    ]
    assert statuses("first") == {"dead": "KILLED", "whole": "FINISHED"}
    assert statuses("second") == {
        "broken": "FAILED",
        "lost": "KILLED",
        "theirs": "RUNNING",
    }
    # which goes on from its checkpoint
    assert [cell.key for cell in cell_folders(folder / "first")] == ["dead"]
    assert command("sync", "first")[0] == 0
    assert statuses("first") == {"dead": "KILLED", "whole": "FINISHED"}


def test_a_run_of_no_sweep_is_closed_once_its_process_has_ended(folder, monkeypatch):
    synced = []

    def ends(*_, **__):
        synced.extend(sync())
        raise KeyboardInterrupt

    client = type(Store.open("measure", create=True).client)
    with monkeypatch.context() as patch:
        patch.setattr(client, "log_batch", ends)
        patch.setattr(client, "set_terminated", None)
        with pytest.raises(KeyboardInterrupt):
            record_run("measure", "own.csv", {}, {}, [], [], "Own data", {}, {})
    assert [(one.sweep, one.busy) for one in synced] == [("measure", True)]
    assert [one.busy for one in sync()] == [False]
    (run,) = Store.open("measure").search("")
    assert run.info.status == "KILLED"


def test_a_running_sweep_is_left_alone(folder):
    for name in ("idle", "running"):
        began(folder, name, "cell").end("complete")
    with FileLock(folder / "running.lock"):
        synced = sync()
    assert [(one.sweep, one.published, one.busy) for one in synced] == [
        ("idle", 1, False),
        ("running", 0, True),
    ]
    assert len(cell_folders(folder / "running")) == 1
    assert not cell_folders(folder / "idle")


def test_cells_from_elsewhere_get_a_parent_for_each_profile(folder, tmp_path, command):
    """As of an offline run. A worker's own disk has cells with a parent."""
    place = tmp_path / "node"
    for key, label in (("one", "smoke"), ("two", "smoke"), ("three", "paper")):
        begun(place / "far", key, **{"infoscope.profile": label}).end("complete")
    begun(place / "far", "four", **{PARENT: "0" * 32}).end("complete")
    begun(place / "far", "five")
    code, output, _ = command("sync", "--records", place)
    assert code == 0
    assert output == "far: 4 cells sent to MLflow\n"
    by_label = {run.data.tags["infoscope.profile"]: run for run in parents("far")}
    assert set(by_label) == {"smoke", "paper"}
    assert {run.info.status for run in by_label.values()} == {"FINISHED"}
    frame = runs("far").set_index("key")
    parent_of = {key: tags[PARENT] for key, tags in frame["tags"].items()}
    smoke = by_label["smoke"].info.run_id
    paper = by_label["paper"].info.run_id
    assert parent_of == {"one": smoke, "two": smoke, "three": paper, "four": "0" * 32}
    assert [cell.key for cell in cell_folders(place / "far")] == ["five"]


def test_a_folder_from_elsewhere_is_checked(folder, tmp_path, command, rejected):
    place = tmp_path / "node"
    linked = began(place, "remote", "linked")
    (linked.files / "secret.txt").symlink_to("/etc/hostname")
    linked.end("complete")
    damaged = began(place, "remote", "damaged")
    damaged.end("complete")
    (damaged.path / "cell.json").write_bytes(bytes(20))
    without_profile = CellFolder(place / "remote" / "unlabelled")
    without_profile.begin({"seed": 0}, {})
    without_profile.end("complete")
    code, output, _ = command("sync", "--records", place)
    assert code == 1
    assert "cell linked" in output
    assert "symbolic link" in output
    assert "cell damaged: its cell.json" in output
    assert "cell unlabelled: its cell.json has no tag infoscope.profile" in output
    with pytest.raises(LookupError):
        runs("remote", finished=False)
    assert "absent" in rejected("sync", "--records", tmp_path / "absent")
    assert "'../node'" in rejected("sync", "../node")


def test_sweeps_whose_names_differ_behind_a_dot_have_locks_of_their_own(folder):
    with FileLock(folder / "reading.v2.lock"):
        assert [done.busy for done in sync(["reading.v1", "reading.v2"])] == [
            False,
            True,
        ]
