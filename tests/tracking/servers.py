"""A real `mlflow server` on a real PostgreSQL, with artifacts in an S3-like bucket, for
tests: on the loopback address, ended by their process ids.
"""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from functools import cache
from pathlib import Path

import pytest
from pyarrow.fs import FileSelector, S3FileSystem

from tests.infra.documents import INFRA


@cache
def with_moto():
    """The variables of a Python that finds the packages of
    `infra/mlflow/test-requirements.txt`, too, in uv's cache.

    Skips the test where they are not there.
    """
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "tool", "run", "--quiet", "--offline", "--python", sys.executable]
    command += ["--with-requirements", INFRA / "mlflow" / "test-requirements.txt"]
    command += [
        "python",
        "-c",
        "import moto, pathlib; print(pathlib.Path(moto.__file__).parents[1])",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(
            f"there is no moto, which .ci/run installs: {done.stderr.strip()[-200:]}"
        )
    path = [done.stdout.strip(), os.environ.get("PYTHONPATH", "")]
    kept = {}
    for name, value in os.environ.items():
        if name != "MLFLOW_TRACKING_URI":
            kept[name] = value
    return kept | {"PYTHONPATH": os.pathsep.join(path)}


def free_port():
    """One of those that the system gives to nobody by itself, not even while its server
    is down for a while.
    """
    draw = random.SystemRandom()  # tests in other processes draw, too
    while True:
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", draw.randrange(15_000, 32_000)))
            return listener.getsockname()[1]


def wait_until(ready, process, log, seconds=300):
    deadline = time.monotonic() + seconds
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"{process.args[0]} did not start: {log.read_text()[-2000:]}")
        time.sleep(0.1)


@contextlib.contextmanager
def postgres():
    """The address of a PostgreSQL database on the loopback address, which a fresh
    folder holds; a normal user runs it, because it refuses root.
    """
    pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
    found = [
        shutil.which("initdb"),
        *sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True),
    ]
    if not any(found):
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    programs = Path(next(filter(None, found))).resolve().parent
    user = {}
    if os.getuid() == 0:
        import pwd

        names = {entry.pw_name: entry for entry in pwd.getpwall()}
        entry = names.get("postgres") or names["nobody"]
        user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    # pytest's own folders are closed to other users
    folder = Path(tempfile.mkdtemp(prefix="infoscope-postgres-"))
    try:
        (folder / "password").write_text("only-for-this-test")
        if user:
            for path in (folder, folder / "password"):
                os.chown(path, user["user"], user["group"])
        command = [programs / "initdb", "-D", folder / "data", "-U", "tester", "-A", "scram-sha-256", "--no-sync",
                   "--pwfile", folder / "password", "-E", "UTF8", "--locale", "C"]  # fmt: skip
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, **user
        )
        if done.returncode != 0:
            pytest.skip(f"initdb failed: {done.stderr.strip()[-300:]}")
        port = free_port()
        log = folder / "log"
        with open(log, "w") as output:
            command = [programs / "postgres", "-D", folder / "data", "-p", str(port), "-h", "127.0.0.1", "-k", folder,
                       "-F"]  # fmt: skip
            process = subprocess.Popen(
                command, cwd=folder, stdout=output, stderr=output, **user
            )
        try:
            wait_until(
                lambda: "ready to accept connections" in log.read_text(), process, log
            )
            yield f"postgresql+psycopg2://tester:only-for-this-test@127.0.0.1:{port}/postgres"
        finally:
            process.send_signal(signal.SIGINT)  # its fast shutdown
            process.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Bucket:
    """An S3-like store with one bucket. variables: of the environment of its users."""

    NAME = "infoscope"

    def __init__(self, folder):
        self.address = f"127.0.0.1:{free_port()}"
        self.variables = {
            "AWS_ENDPOINT_URL_S3": f"http://{self.address}",
            "AWS_ACCESS_KEY_ID": "tester",
            "AWS_SECRET_ACCESS_KEY": "only-for-this-test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        self.log = folder / "bucket.log"

    @contextlib.contextmanager
    def running(self):
        """While inside, it answers."""
        environment = with_moto() | self.variables
        command = [
            sys.executable,
            "-m",
            "moto.server",
            "-H",
            "127.0.0.1",
            "-p",
            self.address.rpartition(":")[2],
        ]
        with open(self.log, "w") as output:
            process = subprocess.Popen(
                command, env=environment, stdout=output, stderr=output
            )
        try:
            wait_until(lambda: "Running on" in self.log.read_text(), process, self.log)
            subprocess.run(
                [sys.executable, INFRA / "mlflow" / "bucket.py", self.NAME],
                env=environment,
                check=True,
            )
            yield self
        finally:
            process.kill()
            process.wait()

    def names(self, ending):
        """The names of the objects that end so."""
        files = S3FileSystem(
            access_key="tester",
            secret_key="-",
            endpoint_override=f"http://{self.address}",
        )
        found = files.get_file_info(FileSelector(self.NAME, recursive=True))
        return [info.path for info in found if info.path.endswith(ending)]


class Server:
    """A real `mlflow server`, which can be killed and started again on the same port,
    database and bucket.
    """

    def __init__(self, database, bucket, folder):
        self.database = database
        self.bucket = bucket
        self.folder = folder
        self.port = free_port()
        self.process = None
        self.uri = f"http://127.0.0.1:{self.port}"

    def start(self):
        log = self.folder / "log"
        command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", self.database, "--host",
                   "127.0.0.1", "--port", str(self.port), "--workers", "1",
                   "--artifacts-destination", f"s3://{self.bucket.NAME}/artifacts"]  # fmt: skip
        environment = with_moto() | self.bucket.variables
        environment |= {
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }
        with open(log, "w") as output:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        wait_until(self._healthy, self.process, log)

    def _healthy(self):
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"{self.uri}/health", timeout=5) as answer,
        ):
            return answer.status == 200
        return False

    def kill(self):
        """kill -9, with everything that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
