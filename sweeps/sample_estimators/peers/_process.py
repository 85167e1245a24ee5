"""Worker processes in other environments, one for each, started when first needed and ended with this process."""

from __future__ import annotations

import atexit
import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

WORKER = Path(__file__).resolve().parents[3] / "infra" / "peers" / "worker.py"
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS",
     "VECLIB_MAXIMUM_THREADS"), "1",
) | {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}  # fmt: skip
_QUIET = {"TQDM_DISABLE": "1", "MPLBACKEND": "Agg", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
_END_SECONDS = 2.0  # for which the exit status of an ended worker is awaited
_MAX_ANSWER = 2**20  # bytes


class NoAnswer(Exception):
    """A worker gave no readable answer; the message continues a sentence about it."""


class Worker:
    """A process of `python` that calls the functions of the file `calls`; see infra/peers/worker.py."""

    def __init__(self, python: str, calls: Path) -> None:
        self._connection, theirs = multiprocessing.Pipe()
        self._lock, self._output = threading.Lock(), tempfile.TemporaryFile("a+b")  # noqa: SIM115
        with theirs:
            self._process = subprocess.Popen(
                [python, "-I", str(WORKER), str(calls), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                env={**os.environ, **_ONE_THREAD, **_QUIET},
                start_new_session=True,  # so that Ctrl-C does not reach it, and its children end with it
            )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to a request. Without a readable one in time, ends the worker and raises NoAnswer.

        An interrupted request ends it, too: its answer would be taken for that of the next one.
        """
        answer = None
        with self._lock:
            try:
                self._output.truncate(0)
                self._connection.send_bytes(json.dumps(request).encode())
                if self._connection.poll(seconds):
                    answer = dict(json.loads(self._connection.recv_bytes(_MAX_ANSWER)))
                    return answer
                reason = f"did not finish within {seconds:g} s"
            except (EOFError, ConnectionError):
                reason = f"ended without an answer ({self._last_output()})"
            except (OSError, ValueError, TypeError):
                reason = "gave an answer that cannot be read"
            finally:
                if answer is None:
                    self.end()
            raise NoAnswer(reason)

    def _last_output(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self._output.seek(0)
        lines = [" ".join(line.split()) for line in self._output.read().decode(errors="replace").splitlines()]
        last = next((line for line in reversed(lines) if line), "no output")
        return f"exit status {self._process.poll()}: {last[-300:]}"

    def end(self) -> None:
        """Ends the process and its children."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._connection.close()
        self._output.close()


_RUNNING: dict[tuple[int, str, str], Worker] = {}
_STARTING = threading.Lock()


def worker(python: str, calls: Path) -> Worker:
    """This process's worker for an interpreter and a file of calls; started if there is none alive."""
    key = (os.getpid(), python, str(calls))  # a forked process has its own workers
    with _STARTING:
        if key not in _RUNNING or not _RUNNING[key].alive:
            _RUNNING[key] = Worker(python, calls)
        return _RUNNING[key]


@atexit.register
def end_all() -> None:
    """Ends the workers that this process has started."""
    own = [key for key in _RUNNING if key[0] == os.getpid()]
    for key in own:
        _RUNNING.pop(key).end()
