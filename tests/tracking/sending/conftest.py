import pytest

from infoscope.tracking.store.store import Store
from tests.tracking.cells import assigned


@pytest.fixture
def at_once(monkeypatch):
    """Every call of `save` saves, every round of the flusher sends a copy."""
    monkeypatch.setattr("infoscope.tracking.scheduling.worker.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("infoscope.tracking.sending.checkpoint.COPY_SECONDS", 0.0)


@pytest.fixture
def assignment(own_folder, at_once):
    """A pack of one cell, of seed 0, of the experiment "pack"; its checkpoints are saved at every call."""
    return assigned(Store.open("pack", create=True), own_folder / "records", {"one": {"seed": 0}})
