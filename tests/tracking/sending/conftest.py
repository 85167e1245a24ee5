import platform

import pytest

from infoscope.tracking.scheduling.worker import Assignment
from infoscope.tracking.store.store import Store


@pytest.fixture
def assignment(own_folder, monkeypatch):
    """A pack of one cell, of seed 0, of the experiment "pack"; its checkpoints are sent at every round."""
    monkeypatch.setattr("infoscope.tracking.scheduling.worker.CHECKPOINT_SECONDS", 0.0)
    (own_folder / "records").mkdir()
    store = Store.open("pack", create=True)
    return Assignment({"one": {"seed": 0}}, {}, {"one": {}}, store, own_folder / "records", "cpu", platform.node(), 1.0)
