import platform

import pytest

from infoscope.tracking.scheduling.worker import Assignment
from infoscope.tracking.store.store import Store


@pytest.fixture
def assignment(tmp_path, monkeypatch, empty_store):
    """A pack of one cell, of seed 0, of the experiment "pack"; its checkpoints are sent at every round."""
    empty_store(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr("infoscope.tracking.scheduling.worker.CHECKPOINT_SECONDS", 0.0)
    (tmp_path / "records").mkdir()
    store = Store.open("pack", create=True)
    return Assignment({"one": {"seed": 0}}, {}, {"one": {}}, store, tmp_path / "records", "cpu", platform.node(), 1.0)
