"""What the SLURM script does with signals, with stand-ins for SLURM, Ray and make that
say what they were asked.
"""

import os
import shutil
import signal
import subprocess
import time

import pytest

from tests.infra.documents import INFRA
from tests.tracking.processes import hear_interrupts

PROGRAMS = {
    "bin/scontrol": """case $1 in show) printf 'one\\ntwo\\n';; *) echo "scontrol $*" >>said;; esac""",
    "bin/srun": """while [ "${1#-}" != "$1" ]; do shift; done; exec "$@" """,
    "bin/hostname": "echo 127.0.0.1",
    # it speaks when it is ready for a signal, and the script that started it is
    "bin/make": """trap 'echo interrupted >>said; exit 130' INT
sleep 0.5
echo "make $*" >>said
[ "$2" != WRONG=1 ] || exit 3
i=0; while [ $((i += 1)) -lt 1000 ]; do sleep 0.1; done""",
    ".venv/bin/python": "[ $1 = -c ] && printf token || cat >/dev/null",
    ".venv/bin/ray": """echo $$ >>nodes; [ "$(cat "$RAY_AUTH_TOKEN_PATH")" = token ] && exec sleep 100""",
}

pytestmark = [
    pytest.mark.system, pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed"),
]  # fmt: skip


@pytest.fixture
def job(tmp_path):
    """(words) -> the script, as SLURM starts it on two nodes."""
    for name, text in PROGRAMS.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    variables = {}
    for name, value in os.environ.items():
        if not name.startswith(("RAY_", "SLURM_")):
            variables[name] = value
    of_slurm = {
        "SUBMIT_DIR": str(tmp_path),
        "JOB_ID": "7",
        "JOB_NODELIST": "[one,two]",
        "CPUS_PER_TASK": "8",
    }
    environment = variables | {
        f"SLURM_{name}": value for name, value in of_slurm.items()
    }
    environment |= {
        "PATH": f"{tmp_path / 'bin'}:{variables['PATH']}",
        "MLFLOW_TRACKING_URI": "http://127.0.0.1:9",
    }
    started = []

    def start(*words):
        command = ["bash", str(INFRA / "slurm" / "sweep.sbatch"), *words]
        started.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=hear_interrupts))  # fmt: skip
        return started[-1]

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=60)


def nodes(folder):
    path = folder / "nodes"
    if path.exists():
        return [int(line) for line in path.read_text().split()]
    return []


def said(folder):
    path = folder / "said"
    if path.exists():
        return path.read_text().splitlines()
    return []


def check_nothing_is_left(folder):
    assert len(nodes(folder)) == 2
    for node in nodes(folder):
        with pytest.raises(ProcessLookupError):
            os.kill(node, 0)
    assert list((folder / "runs").iterdir()) == []  # nor the token


@pytest.mark.parametrize(
    "number, code, then",
    [(signal.SIGUSR1, 0, ["scontrol requeue 7"]), (signal.SIGTERM, 143, [])],
    ids=["out of time", "preempted or cancelled"],
)
def test_a_signal_interrupts_the_sweep_and_only_the_end_of_its_time_requeues_it(
    job, tmp_path, number, code, then
):
    """A job that somebody has cancelled does not come back; a preempted one SLURM
    itself queues again.
    """
    process = job("critic-capacity", "PROFILE=paper")
    deadline = time.monotonic() + 60
    while not said(tmp_path) or len(nodes(tmp_path)) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert said(tmp_path) == [
        "make sweep-critic-capacity PROFILE=paper",
        "interrupted",
        *then,
    ]
    check_nothing_is_left(tmp_path)


def test_the_job_ends_as_its_sweep_does(job, tmp_path):
    process = job("critic-capacity", "WRONG=1")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 3, errors
    assert said(tmp_path) == ["make sweep-critic-capacity WRONG=1"]
    assert list((tmp_path / "runs").iterdir()) == []
