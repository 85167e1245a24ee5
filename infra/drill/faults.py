"""The faults of a drill. Each strikes one process by its id, a disk, a clock or the way to the server; the sweep knows
nothing of it.

A fault is a generator of a round. Up to its first `yield` it prepares, before the sweep begins; up to the second it
strikes and yields what was struck, or "" as long as there is nothing to strike; then it heals, when its time is over.
"""

from __future__ import annotations

import contextlib
import errno
import shutil
import sqlite3
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from infoscope.tracking.tags import ALIVE
from infra.drill.liar import LIES
from infra.drill.places import kill, separation
from infra.drill.poison import poison

if TYPE_CHECKING:
    from infra.drill.striking import Round

Strike = Iterator[str | None]
CLOCK_SECONDS = (120, 900, 3600)  # by which a clock goes back
CLOCK_BYTES = struct.calcsize("l")  # of the file in which clock.c looks for them


def _stopped(*processes: psutil.Process) -> Strike:
    """SIGSTOP, and at last SIGCONT for those that are still there."""
    for one in processes:
        one.suspend()
    yield ", ".join(map(str, [one.pid for one in processes]))
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.resume()


def driver(round: Round, pause: bool = False) -> Strike:
    yield
    victim = round.any_driver()
    if pause:
        yield from _stopped(victim.process)
    else:
        kill(victim.process)
        yield f"{victim.process.pid}"
        round.start(victim)


def worker(round: Round, pause: bool = False) -> Strike:
    yield
    process, where = yield from round.working()
    if pause:
        yield from _stopped(process)
    else:
        kill(process)
        yield f"{process.pid} {where}"


def server(round: Round, pause: bool = False) -> Strike:
    yield
    if pause:
        while not (members := round.processes.members(round.server.process.pid)):
            yield ""
        yield from _stopped(*members)
    else:
        killed = round.server.process.pid
        round.server.end()
        yield f"{killed}"
        round.server.launch()


def gcs(round: Round) -> Strike:
    yield
    process = next(one for one in round.processes.members(round.any_driver().process.pid) if one.name() == "gcs_server")
    kill(process)
    yield f"{process.pid}"


def node(round: Round) -> Strike:
    """The raylet of the second node, which comes back."""
    yield
    _, where = yield from round.working(round.nodes.started[2].pid)
    raylet = round.nodes.raylet(2)
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
        base.rollback()


def clock(round: Round) -> Strike:
    """The clock of one driver, or of one node, or of all of them, and of all that they have started."""
    yield
    choices = [[clock] for clock in round.clocks] + [round.clocks]
    chosen, seconds = choices[round.draw.integers(len(choices))], int(round.draw.choice(CLOCK_SECONDS))
    for path in chosen:
        _set(path, -seconds)
    yield f"of {', '.join(path.stem for path in chosen)}, by {seconds} s"
    for path in chosen:
        _set(path, 0)


def _set(path: Path, seconds: int) -> None:
    with open(path, "r+b") as file:
        file.write(seconds.to_bytes(CLOCK_BYTES, sys.byteorder, signed=True))


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
    """The sweep's machine is lost, and the command runs again elsewhere; the last heartbeat is dated back by an hour,
    as after a long silence.
    """
    yield
    lost = round.drivers[0]
    round.processes.end(lost.process.pid)
    shutil.rmtree(lost.tree)
    for run in round.client.search_runs([round.experiment()], "attributes.status = 'RUNNING'"):
        if run.data.tags.get(ALIVE, "").isdecimal():
            round.client.set_tag(run.info.run_id, ALIVE, str(int(run.data.tags[ALIVE]) - 3_600_000))
    yield f"{lost.process.pid} and everything it had started"
    round.drivers[0] = round.make_driver("elsewhere")
    round.start(round.drivers[0])


def poisoned(round: Round) -> Strike:
    """Incomplete or foreign runs are added before and during the sweep; a driver is killed."""
    poison(round.client, round.experiment(), "laptop")
    yield
    count = len(poison(round.client, round.experiment(), "laptop"))
    killed = driver(round)
    next(killed)
    yield f"driver {next(killed)}, beside {2 * count} runs"
    next(killed, None)


def lies(round: Round, lie: str) -> Strike:
    """The server is reached through a proxy that lies to every other request."""
    yield
    round.liar.lie(lie, share=0.5)
    yield "half of the requests"
    round.liar.be_honest()


@dataclass(frozen=True)
class Fault:
    """how: the mechanism, for the table. pause: seconds after every step of the sweep, .1 being long enough for a
    checkpoint to be sent; latest: the share of the sweep's steps after which it does not strike any more; sqlite: every
    other round has no server. nodes: a Ray cluster, of which the second node has a disk and host name of its own or
    shares those of the first; drivers: of the same sweep, in a working tree each; alike: in containers of equal host
    names and paths.
    """

    how: str
    strike: Callable[[Round], Strike] | None
    pause: float = 0.04
    latest: float = 0.97
    sqlite: bool = False
    nodes: str = ""
    drivers: int = 1
    alike: bool = False

    @property
    def lacks(self) -> str:
        """What it needs and this machine does not have."""
        if self.strike is clock and shutil.which("cc") is None:
            return "a C compiler"
        mounts = self.strike is disk or self.alike or self.nodes == OWN
        return "mounts of its own (unshare --mount --uts)" if mounts and separation() is None else ""


OWN, SHARED, ANY = "own", "shared", "own where mounts are allowed"  # `nodes`
BUSY = 0.75  # `latest` where a trial must be running
KILL, STOP = "kill -9", "kill -STOP, later -CONT"
HISTORY = "history"
FAULTS: Mapping[str, Fault] = {
    "driver": Fault(KILL, driver, sqlite=True),
    "driver-paused": Fault(STOP, partial(driver, pause=True), sqlite=True),
    "worker": Fault(KILL, worker, latest=BUSY, sqlite=True),
    "paused": Fault(f"{STOP}, of a worker", partial(worker, pause=True), latest=BUSY, sqlite=True),
    "gcs": Fault(f"{KILL} of the gcs of a local Ray", gcs, latest=BUSY, sqlite=True),
    "locked": Fault("the SQLite store locked by another program", locked, sqlite=True),
    "clock": Fault("a clock that goes back, by a library loaded first", clock, sqlite=True),
    "node": Fault(f"{KILL} of the raylet, shared disk", node, latest=BUSY, nodes=SHARED),
    "server": Fault(KILL, server),
    "server-paused": Fault(STOP, partial(server, pause=True)),
    "disk": Fault("no space left on a small file system", disk),
    "far-node": Fault(f"{KILL} of the raylet, own disk and host name", node, 0.1, BUSY, nodes=OWN),
    "machine": Fault(
        f"{KILL} of driver and Ray, working tree deleted, an hour later run again elsewhere", machine, 0.1
    ),
    "two-drivers": Fault(f"the same command in two folders at once, then {KILL} of one", driver, drivers=2),
    "equal-names": Fault(
        f"two drivers as in two containers of one image, then {KILL} of one", driver, drivers=2, alike=True
    ),
    "poisoned": Fault(f"foreign and half-written runs in the experiment, then {KILL} of the driver", poisoned),
    "server-errors": Fault(LIES["error"], partial(lies, lie="error")),
    "answers-lost": Fault(LIES["lost"], partial(lies, lie="lost")),
    "server-busy": Fault(LIES["busy"], partial(lies, lie="busy")),
    "answers-garbled": Fault(LIES["garbled"], partial(lies, lie="garbled")),
    "server-silent": Fault(LIES["silent"], partial(lies, lie="silent")),
    HISTORY: Fault("several of the others at once, two drivers on two nodes", None, 0.1, nodes=ANY, drivers=2),
}
ALONE = ("gcs", "far-node", "machine", "two-drivers", "equal-names", HISTORY)  # not among others
MIXED = [name for name in FAULTS if name not in ALONE]
