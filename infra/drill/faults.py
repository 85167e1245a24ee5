"""The faults of a drill: processes killed or paused by their ids, a full disk, a moved clock, a faulty server.

A fault is a generator over a round. Until its first `yield` it prepares, before the sweep begins. Until the second it
strikes and yields a description of what was struck, or "" while there is nothing to strike. Then it restores the place.
"""

from __future__ import annotations

import contextlib
import errno
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from infoscope.tracking.tags import ALIVE
from infra.drill.processes import kill, separation

if TYPE_CHECKING:
    from infra.drill.rounds import Round

Strike = Iterator[str | None]
CLOCK_SECONDS = (120, 900, 3600)  # possible offsets by which a clock goes back
HOUR = 3_600_000  # ms


def driver(round: Round) -> Strike:
    """A driver is killed and started again."""
    yield
    victim = round.any_driver()
    kill(victim.process)
    yield f"{victim.process.pid}"
    round.start(victim)


def worker(round: Round) -> Strike:
    yield
    process, where = yield from round.working()
    kill(process)
    yield f"{process.pid} {where}"


def server(round: Round) -> Strike:
    yield
    killed = round.server.process.pid
    round.processes.end(killed)
    yield f"{killed}"
    round.server.launch()


def paused(round: Round, whom: str) -> Strike:
    """SIGSTOP, and at the end SIGCONT for the processes that are still there."""
    yield
    if whom == "driver":
        processes = [round.any_driver().process]
    elif whom == "worker":
        processes = [(yield from round.working())[0]]
    else:
        while not (processes := round.processes.members(round.server.process.pid)):
            yield ""
    for one in processes:
        one.suspend()
    yield ", ".join(str(one.pid) for one in processes)
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.resume()


def gcs(round: Round) -> Strike:
    """The control process (GCS) of a local Ray is killed."""
    yield
    process = next(one for one in round.processes.members(round.any_driver().process.pid) if one.name() == "gcs_server")
    kill(process)
    yield f"{process.pid}"


def node(round: Round) -> Strike:
    """The raylet of the second node is killed, and the node started again."""
    yield
    second = round.nodes.started[2].pid
    _, where = yield from round.working(second)
    raylet = next(one for one in round.processes.members(second) if one.name() == "raylet")
    kill(raylet)
    yield f"{raylet.pid}, its trial {where}"
    round.nodes.start(2)


def locked(round: Round) -> Strike:
    """Another program locks the SQLite store, or that of the server."""
    yield
    path = round.server.store if round.on_server else round.drivers[0].tree / "runs" / "mlflow.db"
    with contextlib.closing(sqlite3.connect(path, timeout=1, isolation_level=None)) as base:
        while not base.in_transaction:
            try:
                base.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError:  # another process is writing
                yield ""
        yield path.name


def clock(round: Round) -> Strike:
    """The clock of one driver, of one node, or of all of them goes back, also for the processes they started."""
    yield
    which, seconds = round.draw.integers(len(round.clocks) + 1), int(round.draw.choice(CLOCK_SECONDS))
    chosen = round.clocks[which : which + 1] or round.clocks
    for path in chosen:
        set_clock(path, -seconds)
    yield f"of {', '.join(path.stem for path in chosen)}, by {seconds} s"
    for path in chosen:
        set_clock(path, 0)


def set_clock(path: Path, seconds: int) -> Path:
    """Moves the clock of the processes that have this file as DRILL_CLOCK (see clock.c); returns it."""
    with open(path, "r+b" if path.exists() else "wb") as file:  # never truncated: it is mapped by running processes
        file.write(struct.pack("l", seconds))
    return path


def disk(round: Round) -> Strike:
    """The file system of the working trees and their records is full."""
    ballast = round.disk.inside / "ballast"
    yield
    try:
        with open(ballast, "wb", buffering=0) as file:
            while True:
                file.write(bytes(2**16))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    yield f"{ballast.stat().st_size >> 10} KiB of ballast"
    ballast.unlink()


def machine(round: Round) -> Strike:
    """The sweep's machine is lost with its working tree, and the command runs again on another.

    The time of the last heartbeat is set back, as after a long silence.
    """
    yield
    lost = round.drivers.pop()
    round.processes.end(lost.process.pid)
    shutil.rmtree(lost.tree)
    for run in round.client.search_runs([round.experiment()], "attributes.status = 'RUNNING'"):
        if run.data.tags.get(ALIVE, "").isdecimal():
            round.client.set_tag(run.info.run_id, ALIVE, str(int(run.data.tags[ALIVE]) - HOUR))
    yield f"{lost.process.pid} and everything it had started"
    round.start(round.make_driver("elsewhere"))


def faulty(round: Round, failure: str) -> Strike:
    """The proxy before the server fails half of the requests."""
    yield
    round.proxy.fail(failure, share=0.5)
    yield "half of the requests"
    round.proxy.restore()


@dataclass(frozen=True)
class Fault:
    """A fault and the round it needs.

    strike   the generator; None for several of the other faults at once
    pause    seconds after every step of the sweep; 0.1 s is long enough for sending a checkpoint
    latest   share of the sweep's steps after which the fault no longer begins
    sqlite   whether every other round is without a server
    drivers  number of drivers of the same sweep, each in its own working tree
    nodes    a Ray cluster whose second node shares the disk of the first, or has its own where mounts are allowed
    """

    strike: Callable[[Round], Strike] | None
    pause: float = 0.04
    latest: float = 0.97
    sqlite: bool = False
    drivers: int = 1
    nodes: str = ""

    @property
    def lacks(self) -> str:
        """What the fault needs and this machine lacks; empty for nothing."""
        if self.strike is clock and shutil.which("cc") is None:
            return "a C compiler"
        mounts = self.strike is disk and separation() is None
        return "permission to mount (unshare --mount --uts)" if mounts else ""


SHARED, OWN = "shared", "own"  # `nodes`
BUSY = 0.75  # `latest` of faults that need a running trial
HISTORY = "history"
FAULTS: Mapping[str, Fault] = {
    "driver": Fault(driver, sqlite=True),
    "driver-paused": Fault(partial(paused, whom="driver"), sqlite=True),
    "worker": Fault(worker, latest=BUSY, sqlite=True),
    "paused": Fault(partial(paused, whom="worker"), latest=BUSY, sqlite=True),
    "gcs": Fault(gcs, latest=BUSY, sqlite=True),
    "locked": Fault(locked, sqlite=True),
    "clock": Fault(clock, sqlite=True),
    "server": Fault(server),
    "server-paused": Fault(partial(paused, whom="server")),
    "node": Fault(node, latest=BUSY, nodes=SHARED),
    "disk": Fault(disk),
    "machine": Fault(machine, 0.1),
    "two-drivers": Fault(driver, drivers=2),
    "server-errors": Fault(partial(faulty, failure="error")),
    "answers-lost": Fault(partial(faulty, failure="lost")),
    "server-busy": Fault(partial(faulty, failure="busy")),
    "answers-garbled": Fault(partial(faulty, failure="garbled")),
    "server-silent": Fault(partial(faulty, failure="silent")),
    HISTORY: Fault(None, 0.1, drivers=2, nodes=OWN),
}
SINGLE = ("gcs", "machine", "two-drivers", HISTORY)  # never combined with others
COMBINED = [name for name in FAULTS if name not in SINGLE]
