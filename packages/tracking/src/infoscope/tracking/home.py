"""The folder of everything that sweeps write: `runs` in the working folder."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from infoscope.tracking.checks import PLAIN


def home() -> Path:
    """The folder `runs` in the working folder."""
    return Path.cwd() / "runs"


def made_home() -> Path:
    """The folder `home`, created if missing and closed to other users; a folder of
    another user is not changed.
    """
    folder = home()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if (
        hasattr(os, "geteuid")
        and status.st_uid == os.geteuid()
        and status.st_mode & 0o077
    ):
        # on a file system without such permissions
        with contextlib.suppress(PermissionError):
            folder.chmod(stat.S_IMODE(status.st_mode) & 0o700)
    return folder


def outbox() -> Path:
    """The folder with a folder for every sweep, which holds the cells that are not in
    MLflow yet.
    """
    return home() / "cells"


def sweeps_in(folder: Path, others: Iterable[str]) -> list[str]:
    """The names of sweeps in a folder like `outbox`, and others, as far as they are
    valid names.
    """
    names = set(others)
    if folder.is_dir():
        names.update(path.name for path in folder.iterdir() if path.is_dir())
    return sorted(name for name in names if PLAIN.fullmatch(name))
