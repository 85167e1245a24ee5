"""Stores: an empty one on SQLite, made once (its migrations take seconds, a copy of the
file does not), and a real `mlflow server` on PostgreSQL.
"""

import shutil
import sys
import types

import pytest

from infoscope.__main__ import main
from infoscope.tracking.store import Store


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory):
    """(folder) -> None: puts an empty store where a sweep that runs in that folder
    looks for it.
    """
    origin = tmp_path_factory.mktemp("empty")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(origin)
        Store.open("empty", create=True)

    def copy(folder):
        (folder / "runs").mkdir()
        shutil.copy(origin / "runs" / "mlflow.db", folder / "runs" / "mlflow.db")

    return copy


@pytest.fixture
def own_folder(empty_folder, empty_store):
    """A folder of the test's own, to work in, with an empty store."""
    empty_store(empty_folder)
    return empty_folder


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.system)])
def store(request, tmp_path, monkeypatch):
    """An experiment of the test's own, on SQLite and on a server."""
    if request.param == "sqlite":
        request.getfixturevalue("own_folder")
    else:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", request.getfixturevalue("server").uri)
    return Store.open(f"kept-{tmp_path.name}", create=True)


@pytest.fixture
def command(capsys):
    """`python -m infoscope ARGUMENTS`: its exit status, output and errors."""

    def run(*arguments):
        code = main([*map(str, arguments)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def declared(monkeypatch):
    """(sweeps) -> None: they are declared where a command is given."""

    def declare(*sweeps):
        modules = {
            sweep.name: f"sweeps.somewhere.{sweep.name.replace('-', '_')}"
            for sweep in sweeps
        }
        for sweep in sweeps:
            module = types.ModuleType(modules[sweep.name])
            module.SWEEP = sweep
            monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr("infoscope.tracking.status.module_of", modules.get)

    return declare


@pytest.fixture
def rejected(command):
    """The one line of the error with which `python -m infoscope ARGUMENTS` rejects
    them, and prints nothing.
    """

    def run(*arguments):
        code, output, error = command(*arguments)
        assert code == 2
        assert output == ""
        assert len(error.splitlines()) == 1
        return error

    return run
