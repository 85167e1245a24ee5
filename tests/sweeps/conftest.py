"""Data are the embedded ones; vectors that take a training are made once for all tests
of a process, outside of the working tree.
"""

import pytest


@pytest.fixture(autouse=True, scope="session")
def encoders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sweeps.embedding.made_home", lambda: folder)
        yield


@pytest.fixture(autouse=True)
def embedded(monkeypatch):
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
