"""What a person sees while a sweep runs, on a terminal and elsewhere; time is given."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from infoscope.tracking.scheduling.progress import Progress, Screen

REPOSITORY = Path(__file__).parents[3]


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def watched():
    """A progress of eight cells in four packs of two, its clock, and what it has printed."""
    stream, clock = io.StringIO(), Clock()
    progress = Progress(8, 4.0, ("loss", "min"), slots=2, screen=Screen(stream), clock=clock)
    for pack in range(4):
        progress.add(pack, 2, 1.0)
    return progress, clock, lambda: stream.getvalue().splitlines()


def counted(line):
    """The numbers of cells that are done, running and waiting."""
    found = re.findall(r"(\d+)(?: of \d+ cells (done)| (running)| (waiting))", line)
    return {done or running or waiting: int(number) for number, done, running, waiting in found}


def test_cells_add_up_and_the_last_line_is_told_once(watched):
    """The first step at once, then not a line for every step; a pack that tells nothing is told of all the same."""
    progress, clock, lines = watched
    progress.begin(0)
    assert lines() == [] and counted(progress.describe()) == {"done": 0, "running": 2, "waiting": 6}
    clock.now = 1.0
    progress.advance(0, 0.03, 1.0)
    progress.advance(0, 0.05, 1.0)
    assert len(lines()) == 1
    for clock.now in range(100):
        progress.show()
    assert 5 <= len(lines()) <= 8
    for pack in range(4):
        progress.begin(pack) if pack else None
        clock.now += 59.0
        progress.advance(pack, 0.9, 54.0)
        assert counted(progress.describe()) == {"done": 2 * pack, "running": 2, "waiting": 6 - 2 * pack} or pack == 3
        cells = {f"{pack}{place}": {"name": f"n{pack}"} for place in range(2)}
        progress.ended(pack, cells, {f"{pack}0": {"loss": 3.0 - pack}}, failed=int(pack == 2), seconds=60.0)
    assert all(sum(counted(line).values()) == 8 for line in lines())
    progress.show()
    (last,) = [line for line in lines() if counted(line)["done"] == 8]
    assert last.startswith("100 %") and "1 of them" in last and last.endswith("loss 0 (n3)")


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


def test_a_sweep_says_its_name_before_it_loads_anything():
    """`python -m sweeps.NAME` tells at once, another import of the package does not."""
    command = [sys.executable, "-m", "sweeps.no_such_sweep", "--profile", "smoke"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert done.stderr.startswith("no-such-sweep: loading\n") and done.stdout == ""
    done = subprocess.run([sys.executable, "-c", "import sweeps"], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.stdout + done.stderr == ""
