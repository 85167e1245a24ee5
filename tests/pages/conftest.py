"""A finished sweep with its report, the MLflow UI on it, and a headless Chromium to
look at both.
"""

import base64
import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.tracking.processes import REPOSITORY
from tests.tracking.processes import environment as variables

CHROMIUM = (
    shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--window-size=1500,1100",
    "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 60.0  # seconds, on a busy machine


class Browser:
    """Chromium, told what to do by the DevTools protocol over two pipes: no port is
    opened, nothing is installed for it. It reads commands from its descriptor 3 and
    writes answers to 4, JSON texts that end with a zero byte.
    """

    def __init__(self, folder):
        theirs_to_read, self.write = os.pipe()
        self.read, theirs_to_write = os.pipe()
        # numbers above 4, or one could be overwritten by the copy of the other
        theirs = [
            fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
            for end in (theirs_to_read, theirs_to_write)
        ]
        quiet = [
            (os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0)
            for number in (0, 1, 2)
        ]
        pipes = [
            (os.POSIX_SPAWN_DUP2, end, number) for end, number in zip(theirs, (3, 4))
        ]
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self.process = os.posix_spawn(
            CHROMIUM, command, os.environ, file_actions=[*quiet, *pipes], setpgroup=0
        )
        for end in (theirs_to_read, theirs_to_write, *theirs):
            os.close(end)
        self.numbers = itertools.count(1)
        self.rest = b""
        self.session = {}
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = {
            "sessionId": self.ask(
                "Target.attachToTarget", targetId=target, flatten=True
            )["sessionId"]
        }

    def ask(self, method, **parameters):
        """The result of a command of the protocol."""
        number = next(self.numbers)
        asked = {"id": number, "method": method, "params": parameters} | self.session
        os.write(self.write, json.dumps(asked).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            message = json.loads(self._message(deadline, method))
            if message.get("id") == number:
                assert "error" not in message, (method, message["error"])
                return message["result"]

    def _message(self, deadline, method):
        while b"\0" not in self.rest:
            ready, _, _ = select.select(
                [self.read], [], [], max(0.0, deadline - time.monotonic())
            )
            assert ready, f"the browser did not answer {method}"
            more = os.read(self.read, 1 << 20)
            assert more, "the browser has ended"
            self.rest += more
        message, _, self.rest = self.rest.partition(b"\0")
        return message

    def open(self, url):
        answer = self.ask("Page.navigate", url=url)
        assert not answer.get("errorText"), answer

    def value(self, expression):
        """What a JavaScript expression gives on the page, promises awaited."""
        answer = self.ask(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def text(self):
        return self.value("document.body ? document.body.innerText : ''")

    def until(self, condition):
        """Waits until a JavaScript expression is true on the page."""
        deadline = time.monotonic() + PATIENCE
        while not self.value(condition):
            assert time.monotonic() < deadline, (
                f"never true: {condition}; the page says: {self.text()[:2000]}"
            )
            time.sleep(0.2)

    def until_shown(self, *words):
        """Waits until all these words are on the page as a person sees it."""
        shown = "(document.body ? document.body.innerText : '')"
        self.until(
            " && ".join(f"{shown}.includes({json.dumps(word)})" for word in words)
        )

    def picture(self, path):
        """A screenshot, for a person."""
        Path(path).write_bytes(
            base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])
        )

    def close(self):
        """Ends the browser, and every process of its own group with it."""
        self.session = {}
        with contextlib.suppress(AssertionError, OSError):
            self.ask("Browser.close")
        deadline = time.monotonic() + 5
        while os.waitpid(self.process, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.killpg(self.process, signal.SIGKILL)
                os.waitpid(self.process, 0)
                break
            time.sleep(0.05)
        os.close(self.read)
        os.close(self.write)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def environment():
    """Of the commands: nothing but the working tree decides where they record."""
    return {
        name: value for name, value in variables().items() if name != "INFOSCOPE_DATA"
    }


@pytest.fixture(scope="session")
def finished(tmp_path_factory, environment):
    """The folder of a finished sweep, estimators on Gaussian pairs, with its tables and
    its report attached. Made without Ray, of which a page shows nothing.
    """
    folder = tmp_path_factory.mktemp("finished")
    (folder / "analysis").symlink_to(REPOSITORY / "analysis")
    for words in (
        [
            "inline_sweep",
            "--profile",
            "smoke",
            "--set",
            "domains=gaussian bounds=infonce,js",
        ],
        ["infoscope", "table", "estimator-choice", "--profile", "smoke"],
        ["infoscope", "report", "--profile", "smoke"],
    ):
        command = [sys.executable, "-m", *words]
        inline = {"INLINE": "sweeps.mi_benchmark.estimator_choice"}
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment | inline,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def ui_server(finished, environment):
    """(address, process) of the MLflow UI on that sweep, started as `make ui` starts
    it.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "infoscope", "ui", "--port", str(port)]
    with open(finished / "ui.log", "w") as log:
        server = subprocess.Popen(
            command,
            cwd=finished,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 120
    try:
        while not (
            _answers(address) and "MLflow UI at" in (finished / "ui.log").read_text()
        ):
            assert server.poll() is None and time.monotonic() < deadline, (
                finished / "ui.log"
            ).read_text()[-2000:]
            time.sleep(0.3)
        yield address, server
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


@pytest.fixture
def ui(ui_server):
    return ui_server[0]


def _answers(address):
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False
