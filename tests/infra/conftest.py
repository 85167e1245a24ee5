"""A Ray cluster of two nodes with a token: started once, ended by id."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.infra.nodes import Processes, container, separation, start_nodes


@dataclass
class Cluster:
    """settings: the variables that move a sweep to it and to the server. processes: of
    its nodes. tree: a folder for the sweeps that run on it, of which the second node
    has another disk and another host name where that is allowed (`apart`).
    """

    settings: dict[str, str]
    processes: Processes
    tree: Path
    apart: bool


def plain_environment(**variables):
    """Without what would move a sweep elsewhere, and one thread per process."""
    given = ("RAY_", "MLFLOW_", "INFOSCOPE_")
    kept = {}
    for name, value in os.environ.items():
        if not name.startswith(given):
            kept[name] = value
    return (
        kept | {"OMP_NUM_THREADS": "1", "MLFLOW_DISABLE_TELEMETRY": "true"} | variables
    )


@pytest.fixture(scope="session")
def two_nodes(tmp_path_factory, server):
    folder = tmp_path_factory.mktemp("cluster")
    token = folder / "token"
    token.write_text(secrets.token_hex(32))
    variables = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        **server.bucket.variables,
    }
    processes = Processes(plain_environment(**variables))
    try:
        tree = folder / "tree"
        apart = separation() is not None
        tree.mkdir()
        prefix = (
            container(processes, "infoscope-far-node", folder / "disk.log", tree)
            if apart
            else []
        )
        address = start_nodes(processes, folder, prefix)
        places = {
            "RAY_ADDRESS": address,
            "RAY_AUTH_TOKEN_PATH": str(token),
            "MLFLOW_TRACKING_URI": server.uri,
        }
        yield Cluster(plain_environment(**places), processes, tree, apart)
    finally:
        processes.end_all()
