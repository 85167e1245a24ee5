"""Settings of every test: one thread, because threads of several processes wait for one another on two cores; and one
server, one cluster and one browser for all system tests, each of which runs on one of the two processes.
"""

import pytest
import torch
from threadpoolctl import threadpool_limits

SHARED = ("two_nodes", "server", "browser")  # session fixtures that start other programs


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """An `mlflow server` on PostgreSQL: skipped where PostgreSQL or its driver is missing."""
    from tests.tracking.servers import Server, postgres

    with postgres() as database:
        server = Server(database, tmp_path_factory.mktemp("server"))
        try:
            server.start()
            yield server
        finally:
            if server.process:
                server.kill()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items):
    """System tests stay together by what they share, or else by file."""
    for item in items:
        if item.get_closest_marker("system"):
            needs = {*item.fixturenames, *(["server"] if "postgres" in item.name else [])}
            shared = next((name for name in SHARED if name in needs), None)
            item.add_marker(pytest.mark.xdist_group(shared or item.path.stem))
