"""A Ray cluster of two nodes with a token, and an MLflow server as `make ui` starts it: started once, ended by id."""

import os
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from infoscope.tracking.store.store import Store
from infra.drill.places import Nodes, free_port, separation, wait_until
from infra.drill.processes import Processes


@dataclass
class Cluster:
    """settings: the variables that move a sweep to it, those of Ray's token included. tree: a folder for the sweeps
    that run on it, of which the second node has another disk and another host name where that is allowed (`apart`).
    """

    settings: dict[str, str]
    tree: Path
    apart: bool
    server: int  # the process id of the MLflow server
    port: int


def plain_environment():
    """Without what would move a sweep elsewhere, and one thread per process."""
    given = ("RAY_", "MLFLOW_", "INFOSCOPE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(given)}
    return kept | {"OMP_NUM_THREADS": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}


@pytest.fixture(scope="session")
def two_nodes(tmp_path_factory):
    processes, folder = Processes(), tmp_path_factory.mktemp("cluster")
    environment, port, log = plain_environment(), free_port(), folder / "server.log"
    token = folder / "token"
    token.write_text(secrets.token_hex(32))
    with pytest.MonkeyPatch.context() as patch:  # what `make ui` shows
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        Store.open("first", create=True)
    try:
        ui = [sys.executable, "-m", "infoscope.tracking", "ui", "--port", str(port)]
        server = processes.start(ui, folder, environment, log)
        tree, apart = folder / "tree", separation() is not None
        with_token = environment | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
        nodes = Nodes(processes, folder, with_token, tree if apart else None)
        tree.mkdir(exist_ok=True)
        started = "Application startup complete"
        wait_until(lambda: started in log.read_text(errors="replace"), "the MLflow server", 300, server, log)
        settings = {"RAY_ADDRESS": nodes.address, "RAY_AUTH_TOKEN_PATH": str(token)}
        settings["MLFLOW_TRACKING_URI"] = f"http://127.0.0.1:{port}"
        yield Cluster(environment | settings, tree, apart, server.pid, port)
    finally:
        processes.end_all()
