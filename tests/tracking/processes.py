"""Sweeps as processes of their own: started in a folder, awaited, ended."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
# variables that would move a sweep elsewhere, and what one of this process has of Ray
MOVES = (
    "MLFLOW_TRACKING_URI",
    "RAY_ADDRESS",
    "RAY_AUTH_MODE",
    "RAY_AUTH_TOKEN",
    "RAY_AUTH_TOKEN_PATH",
)


def environment(**variables):
    """This process's, without what would move a sweep elsewhere; the toy sweeps of this
    folder can be imported.
    """
    path = os.pathsep.join(
        [str(Path(__file__).parent), str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
    )
    return (
        {name: value for name, value in os.environ.items() if name not in MOVES}
        | {"PYTHONPATH": path}
        | variables
    )


def hear_interrupts():
    """SIGINT as at a terminal: tests that run in the background of a shell inherit that
    it is ignored.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(folder, *arguments, module="toy_sweep", **variables):
    command = [sys.executable, "-m", module, "--profile", "smoke", *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=environment(**variables), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True, preexec_fn=hear_interrupts,
    )  # fmt: skip


# seconds, of a machine that is busy with other things
def finish(process, timeout=900):
    """(exit status as a shell counts it, output). Python may end by SIGINT itself,
    which a shell counts as 130 too.
    """
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return (
        process.returncode if process.returncode >= 0 else 128 - process.returncode
    ), output


def wait_until(met, process, what, seconds=300):
    """Until it is so, while the process lives."""
    deadline = time.monotonic() + seconds
    while not met():
        if process.poll() is not None:
            pytest.fail(finish(process)[1])
        if time.monotonic() > deadline:
            os.killpg(process.pid, signal.SIGKILL)
            pytest.fail(f"{what}: not within {seconds} seconds")
        time.sleep(0.1)


def counts(output):
    """What a sweep says at its end: how many cells there are, and how many of them
    completed, failed and so on.
    """
    (line,) = [
        line
        for line in output.splitlines()
        if re.match(r"\S+ \(.*\): .*cells (in|are) ", line)
    ]
    return {
        word: int(number)
        for number, word in re.findall(
            r"(\d+) (cells|completed|stopped|failed|already)", line
        )
    }
