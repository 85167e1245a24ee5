"""The folder of everything that runs leave behind: closed to other users of the
machine.
"""

import os

import pytest

from infoscope.tracking.home import home, made_home
from infoscope.tracking.store import Store
from infoscope.tracking.sync import sync


def mode(path):
    return oct(path.stat().st_mode & 0o777)


@pytest.fixture
def here(empty_folder):
    before = os.umask(0o022)
    yield empty_folder
    os.umask(before)


def test_the_home_folder_is_private(here, monkeypatch):
    assert mode(made_home()) == "0o700"
    home().chmod(0o775)
    assert made_home() == here / "runs"
    assert mode(home()) == "0o700"
    home().chmod(0o500)
    assert mode(made_home()) == "0o500"  # more closed than that stays
    home().chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: home().stat().st_uid + 1)
    assert mode(made_home()) == "0o755"  # somebody else's stays as it is


def test_opening_the_store_and_sync_make_the_home_folder_private_and_change_no_other(
    here, monkeypatch, empty_store
):
    empty_store(here)
    for act in (lambda: Store.open("private", create=True), lambda: sync(["private"])):
        home().chmod(0o755)
        act()
        assert mode(home()) == "0o700"
    (here / "runs").rename(here / "shared")
    (here / "shared").chmod(0o755)
    monkeypatch.setenv(
        "MLFLOW_TRACKING_URI", f"sqlite:///{here / 'shared' / 'mlflow.db'}"
    )
    Store.open("shared", create=True)
    assert mode(here / "shared") == "0o755"
