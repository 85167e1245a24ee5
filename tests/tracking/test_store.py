"""What is read back of a tracking store, and what is added to it later."""

import sqlite3
import subprocess
from pathlib import Path

import pytest
from mlflow.tracking._tracking_service.registry import TrackingStoreRegistry

from infoscope.errors import InvalidInput, StoreUnreachable
from infoscope.tracking import attach, parents
from infoscope.tracking.results import record_run
from infoscope.tracking.store import Store, connect
from tests.refusals import refused
from tests.tracking.cells import begun, closed


def as_in_a_new_process():
    TrackingStoreRegistry._get_store_with_resolved_uri.cache_clear()
    connect.cache_clear()


def set_version(path, version):
    """The schema's version before."""
    with sqlite3.connect(path) as database:
        (before,) = database.execute(
            "select version_num from alembic_version"
        ).fetchone()
        database.execute("update alembic_version set version_num = ?", (version,))
    database.close()
    return before


@pytest.fixture
def path(own_folder):
    """The database of a store."""
    return Path(Store.open("demo", create=True).uri.removeprefix("sqlite:///"))


def test_an_old_store_is_upgraded(path, monkeypatch):
    """The schema of an earlier MLflow: what `mlflow db upgrade` is for."""
    current = set_version(path, "451aebb31d03")
    as_in_a_new_process()
    upgraded = []

    def upgrade(command, **_):
        upgraded.append(command[1:])
        set_version(path, current)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", upgrade)
    assert Store.open("demo").experiment == "demo"
    assert upgraded == [["-m", "mlflow", "db", "upgrade", f"sqlite:///{path}"]]


def test_a_store_of_a_later_mlflow_is_refused_with_a_reason(path, monkeypatch):
    set_version(path, "f" * 12)
    as_in_a_new_process()
    failed = subprocess.CompletedProcess(
        [], 1, stderr="Traceback\nno revision 'ffffffffffff'\n"
    )
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(StoreUnreachable, match="no revision 'ffffffffffff'"):
        Store.open("demo")


def test_a_run_that_mlflow_refuses_is_closed_and_named(own_folder):
    with pytest.raises(InvalidInput, match=r"a b\*"):
        record_run(
            "measure", "own.csv", {"a b*": 1}, {"bits": 1.0}, [], [], "Own data", {}, {}
        )
    assert [run.info.status for run in Store.open("measure").search("")] == ["FAILED"]


def invocation(store, label, start, status):
    """The run of an invocation, as a driver makes it."""
    tags = {"infoscope.cells": "2", "infoscope.profile": label}
    run = store.client.create_run(store.experiment_id, start_time=start, tags=tags)
    store.client.set_terminated(run.info.run_id, status)
    return run.info.run_id


def test_files_are_attached_to_the_newest_finished_invocation(tmp_path, own_folder):
    store = Store.open("demo", create=True)
    older = invocation(store, "laptop", 1000, "FINISHED")
    newer = invocation(store, "laptop", 2000, "FINISHED")
    failed = invocation(store, "laptop", 3000, "FAILED")
    # a cell is no invocation
    closed(begun(tmp_path / "records", "cell", {"a": 1}), store)
    of_label = [run.info.run_id for run in parents("demo", "laptop")]
    assert of_label == [failed, newer, older]
    report = tmp_path / "report.html"
    for text in ("first", "second"):
        report.write_text(text)
        assert attach("demo", "laptop", [report]) == newer
    path = "analysis/report.html"
    stored = store.client.download_artifacts(newer, path, str(tmp_path))
    assert Path(stored).read_text() == "second"
    assert not store.client.list_artifacts(older)
    with refused("nothing.csv", "invalid"):
        attach("demo", "laptop", [report, "nothing.csv"])
    with pytest.raises(LookupError, match="'paper' has ended"):
        attach("demo", "paper", [report])
