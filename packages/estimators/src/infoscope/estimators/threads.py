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
    """A context: one thread for steps of fewer than `MINIMUM` multiplications, else all.

    It limits the threads of torch, NumPy, SciPy and scikit-learn.
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
    """The number of threads of this process.

    torch's number if torch is loaded, else OMP_NUM_THREADS, else the number of cores.
    """
    torch = sys.modules.get("torch")
    if torch:
        return torch.get_num_threads()
    return int(os.environ.get("OMP_NUM_THREADS", 0)) or os.cpu_count() or 1


@functools.cache
def pools() -> ThreadpoolController:
    """The thread pools of the loaded libraries; the search takes milliseconds."""
    return ThreadpoolController()
