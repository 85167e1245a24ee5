"""The most memory that a piece of work adds to this process, as the system counts it."""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_STATUS, _FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_PEAK = "5"  # what, written to clear_refs, makes the peak the present size (proc(5))


@dataclass
class Memory:
    """mib: how far the resident size rose above what it was at first, MiB; nan where the system does not tell."""

    mib: float = math.nan


@contextlib.contextmanager
def peak_of() -> Iterator[Memory]:
    """Measures the work of a `with` block, after giving back to the system what earlier work has freed."""
    found = Memory()
    with contextlib.suppress(OSError, AttributeError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)
    try:
        _FORGET.write_text(_PEAK)
        before = _of("VmRSS")
    except OSError:  # not Linux, or not allowed
        yield found
        return
    try:
        yield found
    finally:
        found.mib = _of("VmHWM") - before


def _of(field: str) -> float:
    """A size of this process, MiB."""
    lines = _STATUS.read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(field + ":")) / 1024
