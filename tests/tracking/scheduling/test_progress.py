"""What a person sees while a sweep runs, on a terminal and elsewhere; time is given."""

import io
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infoscope.tracking.scheduling.progress import Progress, Screen

REPOSITORY = Path(__file__).parents[3]


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def watched(monkeypatch):
    """A progress of eight cells in four packs of two, its clock, and what it has printed."""
    stream, clock = io.StringIO(), Clock()
    progress = Progress(8, 4.0, ("loss", "min"), slots=2, screen=Screen(stream), clock=clock)
    for pack in range(4):
        progress.add(pack, 2, 1.0)
    return progress, clock, lambda: stream.getvalue().splitlines()


def test_the_first_step_of_the_first_pack_is_told_at_once(watched):
    progress, clock, lines = watched
    assert progress.describe() == "0 of 8 cells done, 8 waiting, the workers load"
    progress.begin(0)
    progress.begin(1)
    assert lines() == []
    clock.now = 2.0
    progress.advance(0, 0.03, 1.8)
    assert lines() == ["  1 %  0 of 8 cells done, 4 running (3 %, 0 %), 4 waiting, time left not known yet"]
    clock.now = 3.0
    progress.advance(0, 0.05, 2.8)
    assert len(lines()) == 1  # not a line for every step


def test_a_pack_that_tells_nothing_is_told_of_all_the_same(watched):
    """As a line now and then, while it runs."""
    progress, clock, lines = watched
    progress.begin(0)
    for clock.now in range(100):
        progress.show()
    assert 5 <= len(lines()) <= 7 and all("2 running (0 %), 6 waiting" in line for line in lines())


def test_cells_add_up_and_the_last_line_is_told_once(watched):
    progress, clock, lines = watched
    told = []
    for pack in range(4):
        clock.now = 60.0 * pack
        progress.begin(pack)
        clock.now += 59.0
        progress.advance(pack, 0.9, 54.0)
        told.append(progress.describe())
        cells = {f"{pack}{place}": {"name": f"n{pack}"} for place in range(2)}
        progress.ended(pack, cells, {f"{pack}0": {"loss": 3.0 - pack}}, failed=int(pack == 2), seconds=60.0)
    assert "about" in told[1] and "6 of 8 cells done, 1 of them failed, 2 running (90 %)" in told[3]
    done = [line for line in lines() if "8 of 8" in line]
    assert done == ["100 %  8 of 8 cells done, 1 of them failed, best loss 0 (n3)"]
    for line in lines():
        counts = [int(number) for number in re.findall(r"(\d+)(?: of 8 cells done| running| waiting)", line)]
        assert sum(counts) == 8
    progress.show()
    assert [line for line in lines() if "8 of 8" in line] == done


def test_lines_hold_no_control_characters_whatever_a_name_is(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    stream = io.StringIO()
    with Screen(stream) as screen:
        progress = Progress(1, 1.0, ("loss", "min"), screen=screen)
        progress.add(0, 1, 1.0)
        progress.advance(0, 0.5, 1.0)
        progress.ended(0, {"a": {"pool": "red \x1b[31m[bold]x\r"}}, {"a": {"loss": 1.0}}, 0, 2.0)
        with screen.stage("quick"):
            pass
    assert stream.getvalue().count("\n") == 2 and "[bold]x" in stream.getvalue()
    assert all(sign.isprintable() or sign == "\n" for sign in stream.getvalue())
    assert "quick" not in stream.getvalue()


def test_a_stage_that_takes_long_is_told(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("infoscope.tracking.scheduling.progress.STAGE_SECONDS", 0.05)
    monkeypatch.setattr("infoscope.tracking.scheduling.progress.STILL_SECONDS", 0.05)
    monkeypatch.setattr("infoscope.tracking.scheduling.progress.TICK_SECONDS", 0.05)
    with Screen(stream).stage("starting Ray"):
        deadline = time.monotonic() + 20
        while len(stream.getvalue().splitlines()) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
    first, second, *_ = stream.getvalue().splitlines()
    assert first == "starting Ray" and re.fullmatch(r"starting Ray, \d+ s", second)


ON_A_TERMINAL = """
import sys, time
from infoscope.tracking.scheduling.progress import Progress, Screen
with Screen() as screen:
    screen.say("one [bold]line")
    with Progress(2, 1.0, None, screen=screen) as progress:
        progress.add(0, 2, 1.0)
        progress.advance(0, 0.25, 30.0)
        time.sleep(1.5)
print("label")
"""


def test_on_a_terminal_there_is_a_live_line_and_the_output_stays_clean():
    """Standard error is a terminal, standard output a pipe, as in a recipe of make."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen(
        [sys.executable, "-c", ON_A_TERMINAL], stdout=subprocess.PIPE, stderr=theirs, env=environment
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    assert process.communicate(timeout=120)[0] == b"label\n" and process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert "one [bold]line" in text and "0 of 2 cells done, 2 running (25 %)" in text


def test_a_sweep_says_its_name_before_it_loads_anything():
    """`python -m sweeps.NAME` tells at once, another import of the package does not."""
    command = [sys.executable, "-m", "sweeps.no_such_sweep", "--profile", "smoke"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert done.stderr.startswith("no-such-sweep: loading\n") and done.stdout == ""
    done = subprocess.run([sys.executable, "-c", "import sweeps"], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.stdout + done.stderr == ""
