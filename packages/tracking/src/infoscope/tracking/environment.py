"""The environment of a run as MLflow tags: code version, machine, device and library
versions.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping

_LIBRARIES = ("torch", "numpy", "ray", "mlflow")


@contextlib.contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """While inside, sets environment variables."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def code_tags() -> dict[str, str]:
    """The command, the commit of the working folder and whether it has changes; known
    to the driver only.
    """
    user = "unknown"
    with contextlib.suppress(KeyError, OSError):  # of a user without an account entry
        user = getpass.getuser()
    command = " ".join(sys.orig_argv[1:] or sys.argv)
    tags = {
        "mlflow.source.name": command,
        "mlflow.source.type": "LOCAL",
        "mlflow.user": user,
    }
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return tags | {"infoscope.code": "not under version control"}
    code = commit[:12]
    if _git("status", "--porcelain"):
        code += " with local changes"
    return tags | {"mlflow.source.git.commit": commit, "infoscope.code": code}


@functools.cache  # a worker may run thousands of trials
def machine_tags(device: str) -> dict[str, str]:
    """Host, device and library versions of a trial."""
    versions = {
        f"version.{name}": importlib.metadata.version(name) for name in _LIBRARIES
    }
    return versions | {
        "version.python": platform.python_version(),
        "infoscope.host": platform.node(),
        "infoscope.device": _device_name(device),
    }


def _device_name(device: str) -> str:
    if device == "cuda":
        import torch

        return f"cuda ({torch.cuda.get_device_name()})"
    return f"{device} ({_processor()}, {os.cpu_count()} cores)"


def _processor() -> str:
    with (
        contextlib.suppress(OSError),
        open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file,
    ):
        for line in file:
            name, _, value = line.partition(":")
            if name.strip() == "model name" and value.strip():
                return value.strip()
    return platform.processor() or platform.machine()


def _git(*arguments: str) -> str | None:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.check_output(
            ["git", *arguments], stderr=subprocess.DEVNULL, text=True, timeout=20
        ).strip()
    return None
