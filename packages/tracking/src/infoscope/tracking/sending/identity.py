"""Who this working tree is: a random name that lies in `runs`, whatever the machine and the folder are called."""

from __future__ import annotations

import os
import platform
import re
import secrets
from pathlib import Path

from filelock import FileLock

from infoscope.tracking.store.store import home, made_home
from infoscope.tracking.tags import DRIVER, IDENTITY

WRITTEN = re.compile(r"([0-9a-f]{32}) ([0-9]+)\n")


def own_tags() -> dict[str, str]:
    """What the runs that are made from here say of it: its identity, and to be read its machine and folder."""
    return {IDENTITY: identity(), DRIVER: driver()}


def driver() -> str:
    """This machine and working tree, to be read: containers may have equal names."""
    return f"{platform.node()}:{home()}".replace("'", "")


def identity() -> str:
    """The identity of this working tree, kept over restarts and moved disks; a copy of the folder gets a new one."""
    folder = made_home()
    path = folder / "identity"
    with FileLock(folder / "identity.lock"):
        return _read(path) or _make(path)


def lies_beside(records: Path, known: str) -> bool:
    """Whether a folder of records is, seen from here, the one in the working tree of an identity."""
    return _read(records.parent.parent / "identity") == known


def _read(path: Path) -> str | None:
    """None where there is none, where it is torn, and where it was copied from elsewhere."""
    try:
        with open(path) as file:
            found, number = WRITTEN.fullmatch(file.read(100)), os.fstat(file.fileno()).st_ino
    except (OSError, UnicodeDecodeError):
        return None
    return found[1] if found and int(found[2]) == number else None


def _make(path: Path) -> str:
    made, temporary = secrets.token_hex(16), path.with_suffix(".tmp")
    temporary.unlink(missing_ok=True)
    with open(temporary, "x") as file:
        file.write(f"{made} {os.fstat(file.fileno()).st_ino}\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    return made
