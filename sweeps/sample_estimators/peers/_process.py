"""Worker processes of other environments: started when first asked, one for each environment, ended with this one."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

WORKER = Path(__file__).resolve().parents[3] / "infra" / "peers" / "worker.py"
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS",
     "VECLIB_MAXIMUM_THREADS"), "1",
) | {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}  # fmt: skip
_QUIET = {"TQDM_DISABLE": "1", "MPLBACKEND": "Agg", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
_TO_END = 2.0  # seconds that a worker has once its requests are over
_LAST_WORDS = 300  # characters of what a worker said last


class Silence(Exception):
    """No answer that can be read, and why, in words that follow 'it'."""


class Worker:
    """A process of `python` that answers with the functions of the file `calls`; see infra/peers/worker.py."""

    def __init__(self, python: str, calls: Path) -> None:
        self._lock = threading.Lock()
        self._told = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - appending: it may be emptied under the worker
        self._process = subprocess.Popen(
            [python, "-I", str(WORKER), str(calls)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._told,
            env={**os.environ, **_ONE_THREAD, **_QUIET},
            start_new_session=True,  # Ctrl-C is ours; and whatever a package starts ends with its worker
        )
        self._read = b""

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to one request. Silence: none in time or an unreadable one; the worker is ended then."""
        with self._lock:
            answered = False
            try:
                self._told.truncate(0)
                self._process.stdin.write(json.dumps(request).encode() + b"\n")
                self._process.stdin.flush()
                answer = json.loads(self._line(time.monotonic() + seconds))
                if not isinstance(answer, dict):
                    raise ValueError(answer)
                answered = True
                return answer
            except TimeoutError:
                raise Silence(f"was not done after {seconds:g} s") from None
            except (BrokenPipeError, EOFError):
                raise Silence(f"ended without an answer ({self._last_words()})") from None
            except ValueError:
                raise Silence("gave an answer that is no line of JSON") from None
            finally:
                if not answered:
                    self.end(patience=0.0)

    def _line(self, deadline: float) -> bytes:
        """The next line of the answers. TimeoutError after `deadline`, EOFError where the worker has ended."""
        while b"\n" not in self._read:
            left = deadline - time.monotonic()
            if left <= 0.0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise TimeoutError
            more = os.read(self._process.stdout.fileno(), 65536)
            if not more:
                raise EOFError
            self._read += more
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_TO_END)
        self._told.seek(0)
        lines = [" ".join(line.split()) for line in self._told.read().decode(errors="replace").splitlines()]
        said = next((line for line in reversed(lines) if line), "it said nothing")
        code = self._process.poll()
        return f"exit status {code}: {said[-_LAST_WORDS:]}"

    def end(self, patience: float = _TO_END) -> None:
        """Ends the process and whatever it has started."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()
        self._told.close()


_RUNNING: dict[tuple[int, str, str], Worker] = {}
_STARTING = threading.Lock()


def worker(python: str, calls: Path) -> Worker:
    """The worker of this process for an interpreter and a file of calls; started where there is none, or none alive."""
    key = (os.getpid(), python, str(calls))  # a forked process has workers of its own
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
