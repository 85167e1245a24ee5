"""What a person sees while a sweep runs, on a terminal and elsewhere; time is given."""

import io
import re
from pathlib import Path

import pytest

from infoscope.tracking.scheduling.progress import Progress, Screen, duration

REPOSITORY = Path(__file__).parents[3]


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def watched():
    """A progress of eight cells in four packs of two, its clock, and what it has printed."""
    stream, clock = io.StringIO(), Clock()
    progress = Progress(8, ("loss", "min"), screen=Screen(stream), clock=clock, title=lambda cell: cell["name"])
    for pack in range(4):
        progress.add(pack, 2, 1.0)
    return progress, clock, lambda: stream.getvalue().splitlines()


def counted(line):
    """The numbers of cells that are done, running and waiting."""
    found = re.findall(r"(\d+)(?: of \d+ cells (done)| (running)| (waiting))", line)
    return {done or running or waiting: int(number) for number, done, running, waiting in found}


def test_cells_add_up_and_the_last_line_is_printed_once(watched):
    """The first step at once, then not a line for every step; a pack that tells nothing is told of all the same."""
    progress, clock, lines = watched
    progress.begin(0)
    assert lines() == [] and counted(progress.describe()) == {"done": 0, "running": 2, "waiting": 6}
    clock.now = 1.0
    progress.advance(0, 0.03)
    progress.advance(0, 0.05)
    assert len(lines()) == 1
    for clock.now in range(100):
        progress.show()
    assert len(lines()) == 4
    for pack in range(4):
        progress.begin(pack) if pack else None
        clock.now += 59.0
        progress.advance(pack, 0.9)
        assert counted(progress.describe()) == {"done": 2 * pack, "running": 2, "waiting": 6 - 2 * pack} or pack == 3
        cells = {f"{pack}{place}": {"name": f"n{pack}"} for place in range(2)}
        progress.ended(pack, cells, {f"{pack}0": {"loss": 3.0 - pack}}, failed=int(pack == 2))
    assert all(sum(counted(line).values()) == 8 for line in lines())
    progress.show()
    (last,) = [line for line in lines() if counted(line)["done"] == 8]
    assert last.startswith("100 %") and "1 of them" in last and last.endswith("loss 0 (n3)")


def test_the_share_is_of_cells_and_the_time_left_of_costs():
    """Packs of costs 1 to 12, one after another, a second for a cost of 1; one is given back to begin again."""
    clock = Clock()
    progress = Progress(24, None, screen=Screen(io.StringIO()), clock=clock)
    for pack in range(12):
        progress.add(pack, 2, 1.0 + pack)
    assert progress.seconds_left() is None
    for pack in range(4):
        clock.now += 1.0 + pack
        progress.ended(pack, {f"{pack}a": {}, f"{pack}b": {}}, {}, failed=0)
    assert progress.share() == 8 / 24
    assert progress.seconds_left() == pytest.approx(sum(range(5, 13)), abs=1)
    clock.now += 2.5
    progress.advance(4, 0.5)
    assert progress.share() == 9 / 24
    assert progress.seconds_left() == pytest.approx(2.5 + sum(range(6, 13)), abs=1)
    progress.back(4)
    assert progress.share() == 8 / 24


def test_the_time_to_load_is_not_the_pace():
    """A worker that loads for 20 s, then does a hundredth a second."""
    clock = Clock()
    progress = Progress(1, None, screen=Screen(io.StringIO()), clock=clock)
    progress.add(0, 1, 1.0)
    clock.now = 20.0
    progress.advance(0, 0.01)
    assert progress.seconds_left() is None and "left" not in progress.describe()
    clock.now = 40.0
    progress.advance(0, 0.21)
    assert progress.seconds_left() == pytest.approx(79, abs=1)


@pytest.mark.parametrize(
    ("seconds", "words"), [(1, "5 s"), (42, "40 s"), (100, "2 min"), (3000, "50 min"), (1e5, "28 h")]
)
def test_times_are_rounded_to_their_accuracy(seconds, words):
    assert duration(seconds) == words


def test_lines_hold_no_control_characters_whatever_a_name_is(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    stream = io.StringIO()
    with Screen(stream) as screen:
        progress = Progress(1, ("loss", "min"), screen=screen)
        progress.add(0, 1, 1.0)
        progress.advance(0, 0.5)
        progress.ended(0, {"a": {"pool": "red \x1b[31m[bold]x\r"}}, {"a": {"loss": 1.0}}, 0)
        with screen.stage("quick"):
            pass
    assert stream.getvalue().count("\n") == 2 and "[bold]x" in stream.getvalue()
    assert all(sign.isprintable() or sign == "\n" for sign in stream.getvalue())
    assert "quick" not in stream.getvalue()
