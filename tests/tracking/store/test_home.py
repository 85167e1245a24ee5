"""The folder of everything that runs leave behind: closed to other users of the machine."""

import os

import pytest

from infoscope.tracking.sending.sync import sync
from infoscope.tracking.store.store import Store, home, made_home


def mode(path):
    return oct(path.stat().st_mode & 0o777)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    before = os.umask(0o022)
    yield tmp_path
    os.umask(before)


def test_it_is_made_closed_and_an_open_one_is_closed(here):
    assert mode(made_home()) == "0o700"
    home().chmod(0o775)
    assert made_home() == here / "runs" and mode(home()) == "0o700"
    home().chmod(0o500)
    assert mode(made_home()) == "0o500"  # more closed than that stays


def test_that_of_somebody_else_stays_as_it_is(here, monkeypatch):
    home().mkdir(mode=0o755)
    monkeypatch.setattr(os, "geteuid", lambda: home().stat().st_uid + 1)
    assert mode(made_home()) == "0o755"


def test_a_store_and_a_sync_make_it_so(here, empty_store):
    empty_store(here)
    home().chmod(0o755)
    Store.open("private", create=True)
    assert mode(home()) == "0o700"
    home().chmod(0o755)
    sync(["private"])
    assert mode(home()) == "0o700"


def test_another_folder_is_not_touched(here, monkeypatch, empty_store):
    empty_store(here)
    (here / "runs").rename(here / "shared")
    (here / "shared").chmod(0o755)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{here / 'shared' / 'mlflow.db'}")
    Store.open("shared", create=True)
    assert mode(here / "shared") == "0o755"
