"""The faults of a drill: kills and pauses of processes by their ids, a disk, a clock, the way to the server.

A fault is a generator of a round. Up to its first `yield` it prepares, before the sweep begins; up to the second it
strikes and yields what was struck, or "" as long as there is nothing to strike; then it heals, when its time is over.
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
from mlflow.exceptions import MlflowException

from infoscope.tracking.tags import ALIVE
from infra.drill.places import kill, separation
from infra.drill.poison import poison

if TYPE_CHECKING:
    from infra.drill.striking import Round

Strike = Iterator[str | None]
CLOCK_SECONDS = (120, 900, 3600)  # by which a clock goes back
HOUR = 3_600_000  # ms


def driver(round: Round) -> Strike:
    """kill -9; it is started again."""
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
    """SIGSTOP, and at last SIGCONT for those that are still there."""
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
    """Of a local Ray."""
    yield
    process = next(one for one in round.processes.members(round.any_driver().process.pid) if one.name() == "gcs_server")
    kill(process)
    yield f"{process.pid}"


def node(round: Round) -> Strike:
    """The raylet of the second node, which comes back."""
    yield
    second = round.nodes.started[2].pid
    _, where = yield from round.working(second)
    raylet = next(one for one in round.processes.members(second) if one.name() == "raylet")
    kill(raylet)
    yield f"{raylet.pid}, its trial {where}"
    round.nodes.start(2)


def locked(round: Round) -> Strike:
    """Another program holds the SQLite store, the server's where there is one."""
    yield
    path = round.server.store if round.on_server else round.drivers[0].tree / "runs" / "mlflow.db"
    with contextlib.closing(sqlite3.connect(path, timeout=1, isolation_level=None)) as base:
        while not base.in_transaction:
            try:
                base.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError:  # somebody else is writing
                yield ""
        yield path.name


def clock(round: Round) -> Strike:
    """The clock of one driver, of one node, or of all of them, and of all that they have started, goes back."""
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
    with open(path, "r+b" if path.exists() else "wb") as file:  # never cut: they read it
        file.write(struct.pack("l", seconds))
    return path


def disk(round: Round) -> Strike:
    """Not a page is free on the file system of the working trees and their records."""
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
    """The sweep's machine is lost with its working tree, and the command runs again elsewhere; the last heartbeat is
    dated back, as after a long silence.
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


def poisoned(round: Round) -> Strike:
    """Incomplete or foreign runs are added before and during the sweep; a driver is killed."""
    poison(round.client, round.experiment(), "laptop")
    killed = driver(round)
    yield next(killed)
    while True:
        try:
            count = len(poison(round.client, round.experiment(), "laptop"))
            break
        except MlflowException:  # the server is away
            yield ""
    yield f"driver {next(killed)}, beside {2 * count} runs"
    yield from killed


def lies(round: Round, lie: str) -> Strike:
    """The server is reached through a proxy that lies to every other request."""
    yield
    round.liar.lie(lie, share=0.5)
    yield "to half of the requests"
    round.liar.be_honest()


@dataclass(frozen=True)
class Fault:
    """strike: None for several of the others at once. pause: seconds after every step of the sweep, .1 being long
    enough for a checkpoint to be sent; latest: the share of the sweep's steps after which it does not strike any more;
    sqlite: every other round has no server; drivers: of the same sweep, in a working tree each; nodes: there is a Ray
    cluster, of which the second node has the disk of the first, or one of its own where mounts are allowed.
    """

    strike: Callable[[Round], Strike] | None
    pause: float = 0.04
    latest: float = 0.97
    sqlite: bool = False
    drivers: int = 1
    nodes: str = ""

    @property
    def lacks(self) -> str:
        """What it needs and this machine does not have."""
        if self.strike is clock and shutil.which("cc") is None:
            return "a C compiler"
        mounts = self.strike is disk and separation() is None
        return "mounts of its own (unshare --mount --uts)" if mounts else ""


SHARED, OWN = "shared", "own"  # `nodes`
BUSY = 0.75  # `latest` where a trial must be running
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
    "poisoned": Fault(poisoned),
    "server-errors": Fault(partial(lies, lie="error")),
    "answers-lost": Fault(partial(lies, lie="lost")),
    "server-busy": Fault(partial(lies, lie="busy")),
    "answers-garbled": Fault(partial(lies, lie="garbled")),
    "server-silent": Fault(partial(lies, lie="silent")),
    HISTORY: Fault(None, 0.1, drivers=2, nodes=OWN),
}
ALONE = ("gcs", "machine", "two-drivers", HISTORY)  # not among others
MIXED = [name for name in FAULTS if name not in ALONE]
