"""The number of threads for a step of linear algebra."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

MINIMUM = 1 << 20  # multiplications, above which several threads pay


@contextmanager
def threads_for(multiplications: int) -> Iterator[None]:
    """One thread for steps of fewer than `MINIMUM` multiplications (torch, NumPy,
    SciPy, scikit-learn), else all.
    """
    if multiplications >= MINIMUM:
        yield
        return
    torch = sys.modules.get("torch")  # if it is not loaded, it has no threads
    threads = torch.get_num_threads() if torch else 0
    if threads == 1:
        yield
        return
    if torch:
        torch.set_num_threads(1)
    try:
        with pools().limit(limits=1):
            yield
    finally:
        if torch:
            torch.set_num_threads(threads)


def threads() -> int:
    """Threads of this process: torch's number if it is loaded, else OMP_NUM_THREADS,
    else the number of cores.
    """
    torch = sys.modules.get("torch")
    return (
        torch.get_num_threads()
        if torch
        else int(os.environ.get("OMP_NUM_THREADS", 0)) or os.cpu_count() or 1
    )


@functools.cache
def pools() -> ThreadpoolController:
    """The threads of the libraries that are loaded; to find them takes milliseconds."""
    return ThreadpoolController()
