"""Settings of every test: one thread, because threads of several processes wait for one
another on two cores, and a store of runs in the working folder; and one server for all
system tests.
"""

import pytest
import torch
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True, scope="session")
def store_in_the_folder():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """The working folder, which is empty and without a store."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """An `mlflow server` on PostgreSQL and an S3-like bucket: skipped where one of
    these is missing.
    """
    from tests.tracking.servers import Bucket, Server, postgres

    folder = tmp_path_factory.mktemp("server")
    with postgres() as database, Bucket(folder).running() as bucket:
        server = Server(database, bucket, folder)
        try:
            server.start()
            yield server
        finally:
            if server.process:
                server.kill()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests stay together by file, those that need the server in one process: there is
    one of it.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            if "postgres" in nodeid or file.endswith("test_two_nodes.py"):
                return "server"
            return file

    if config.getoption("dist") == "loadscope":
        return Scheduling(config, log)
    return None


@pytest.fixture
def scores_in_order():
    """For a test that takes scores away, named before `monkeypatch`: those that come
    back would stand last.
    """
    from infoscope.metrics.disentanglement.registry import SCORES

    before = dict(SCORES)
    yield
    SCORES.clear()
    SCORES.update(before)
