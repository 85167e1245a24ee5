"""An empty MLflow store, made once: its migrations take seconds, a copy of the file does not."""

import shutil

import pytest

from infoscope.tracking.store import Store


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory):
    """(folder) -> None: puts an empty store where a sweep that runs in that folder looks for it."""
    origin = tmp_path_factory.mktemp("empty")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(origin)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        Store.open("empty", create=True)

    def copy(folder):
        (folder / "runs").mkdir()
        shutil.copy(origin / "runs" / "mlflow.db", folder / "runs" / "mlflow.db")

    return copy
