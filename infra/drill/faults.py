"""The faults of a drill. Each strikes one process by its id, or the disk; the sweep knows nothing of it.

A fault is a generator of a scene: up to its first `yield` it prepares, then the sweep runs, and it strikes and yields
what was struck. It is closed when the round is over.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil
from mlflow.tracking import MlflowClient

from infoscope.tracking.tags import ALIVE
from infra.drill import sweep
from infra.drill.liar import LIES, Liar
from infra.drill.places import DISK_BYTES, Nodes, Processes, Server, SmallDisk, apart, kill, separation, wait_until
from infra.drill.poison import poison

PROGRAM = "fault_drill"  # the name of the sweep's module in a working tree
IDLE_SECONDS = 600.0  # how long a strike waits for a victim that is between two trials; many may want the machine


@dataclass
class Scene:
    """A round under way. folder: of everything in it; environment, prefix: with which the sweep's command is started;
    driver: the process that runs now; tree: the working tree of the sweep, the last of trees; beside: working trees in
    which it is started too, with their prefixes; others: its drivers there.
    """

    processes: Processes
    server: Server
    folder: Path
    down: float
    environment: dict[str, str]
    prefix: list[str] = field(default_factory=list)
    driver: psutil.Popen | None = None
    beside: dict[Path, list[str]] = field(default_factory=dict)
    others: list[psutil.Popen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client = MlflowClient(self.server.uri)
        self.ledger = self.folder / "ledger.txt"  # the steps that the sweep's trials have made
        self.trees: list[Path] = []
        self.tree = self.make_tree("tree")

    @property
    def records(self) -> Path:
        return self.tree / "runs" / "records"

    def make_tree(self, name: str) -> Path:
        """An empty working tree, with nothing in it but the sweep's module."""
        tree = self.folder / name
        tree.mkdir(parents=True)
        shutil.copy(sweep.__file__, tree / f"{PROGRAM}.py")
        self.trees.append(tree)
        return tree

    def experiment(self) -> str:
        """The id of the sweep's experiment at the server, which is made if it is not there."""
        name = self.environment[sweep.NAME]
        found = self.client.get_experiment_by_name(name)
        return found.experiment_id if found else self.client.create_experiment(name)

    def age(self) -> None:
        """Dates back by an hour the last sign of life of every invocation."""
        for run in self.client.search_runs([self.experiment()], "attributes.status = 'RUNNING'"):
            if run.data.tags.get(ALIVE, "").isdecimal():
                self.client.set_tag(run.info.run_id, ALIVE, str(int(run.data.tags[ALIVE]) - 3_600_000))

    def steps(self) -> list[tuple[int, float, int]]:
        """Process id, true MI (bits) and step of every step made so far."""
        lines = self.ledger.read_text().splitlines() if self.ledger.exists() else []
        return [(int(pid), float(bits), int(step)) for pid, bits, step in map(str.split, lines)]

    def busy(self, session: int) -> tuple[psutil.Process, str]:
        """A process that has just made a step, and which. Raises DrillError when none does within ten minutes."""
        found: list[tuple[psutil.Process, str]] = []

        def look() -> bool:
            members = {process.pid: process for process in self.processes.members(session)}
            before = len(self.steps())
            time.sleep(0.2)
            recent = [entry for entry in self.steps()[before:] if entry[0] in members]
            found.extend((members[pid], f"at {bits:g} bits, step {step}") for pid, bits, step in recent[-1:])
            return bool(found)

        wait_until(look, "no trial runs where the fault is to strike", IDLE_SECONDS)
        return found[0]

    def wait_down(self) -> None:
        """Waits as long as a server is down, or until the driver ends."""
        with contextlib.suppress(psutil.TimeoutExpired):
            self.driver.wait(self.down)


Strike = Iterator[str | None]


def driver(scene: Scene) -> Strike:
    yield
    kill(scene.driver)
    yield f"driver {scene.driver.pid}"


def worker(scene: Scene) -> Strike:
    yield
    process, where = scene.busy(scene.driver.pid)
    kill(process)
    yield f"worker {process.pid} {where}"


def paused(scene: Scene) -> Strike:
    """A worker that does nothing for as long as a server is down, and then goes on where it was."""
    yield
    process, where = scene.busy(scene.driver.pid)
    process.suspend()
    scene.wait_down()
    with contextlib.suppress(psutil.NoSuchProcess):  # Ray may have taken it for dead meanwhile
        process.resume()
    yield f"worker {process.pid} {where}, for {scene.down:.0f} s"


def gcs(scene: Scene) -> Strike:
    yield
    process = next(one for one in scene.processes.members(scene.driver.pid) if one.name() == "gcs_server")
    kill(process)
    yield f"gcs {process.pid}"


def locked(scene: Scene) -> Strike:
    """Another program holds the SQLite store, the server's where there is one, for as long as a server is down."""
    yield
    of_server = scene.environment.get("MLFLOW_TRACKING_URI")
    path = scene.server.store if of_server else scene.tree / "runs" / "mlflow.db"
    with contextlib.closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as base:
        base.execute("BEGIN EXCLUSIVE")
        scene.wait_down()
        base.rollback()
    yield f"{path.name}, for {scene.down:.0f} s"


def clock(scene: Scene) -> Strike:
    """The clock of the sweep, of all that it has started, goes back by an hour under a running sweep."""
    library, moved = scene.folder / "clock.so", scene.folder / "clock"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, Path(__file__).with_name("clock.c")], check=True)
    moved.write_bytes(struct.pack("l", 0))
    scene.environment |= {"LD_PRELOAD": str(library), "DRILL_CLOCK": str(moved)}
    yield
    with open(moved, "r+b") as file:
        file.write(struct.pack("l", -3600))
    yield "the clock, by an hour"


def node(scene: Scene, own_disk: bool = False) -> Strike:
    """The raylet of a second node. From a disk of its own nothing comes back: what was not sent is made again."""
    cluster = Nodes(scene.processes, scene.folder, scene.environment, scene.records if own_disk else None)
    scene.environment["RAY_ADDRESS"] = cluster.address
    yield
    _, where = scene.busy(cluster.second.pid)
    raylet = cluster.raylet()
    kill(raylet)
    yield f"raylet {raylet.pid}, its trial {where}"


def server(scene: Scene) -> Strike:
    yield
    struck = scene.server.process.pid
    scene.server.kill()
    time.sleep(scene.down)
    scene.server.launch()
    scene.server.wait()
    yield f"MLflow server {struck}, down {scene.down:.0f} s"


def disk(scene: Scene) -> Strike:
    """The file system of the records is full until the sweep ends, or a server would be back."""
    small = SmallDisk(scene.processes, scene.records, scene.environment, scene.folder / "disk.log")
    scene.prefix = small.prefix(scene.tree)
    yield
    small.fill()
    scene.wait_down()
    small.free()
    yield f"disk of the records, {DISK_BYTES >> 20} MiB"


def machine(scene: Scene) -> Strike:
    """The sweep's machine is lost, and the command runs again elsewhere; the last heartbeat is dated back."""
    yield
    scene.processes.end(scene.driver.pid)
    shutil.rmtree(scene.tree)
    scene.age()
    scene.tree = scene.make_tree("elsewhere")
    yield f"driver {scene.driver.pid} and everything it had started"


def two_drivers(scene: Scene, equal_names: bool = False) -> Strike:
    """A second driver of the same cells in another folder, on the same server; then the first is killed. With equal
    names both run as in containers of one image, with equal host names and paths on separate file systems.
    """
    second, path = scene.make_tree("beside"), scene.folder / "container"
    scene.beside[second] = []
    if equal_names:
        path.mkdir()
        scene.prefix, scene.beside[second] = (
            apart("infoscope-container", 'mount --bind "$1" "$2" && cd "$2"', tree, path)
            for tree in (scene.tree, second)
        )
    yield
    alive = [driver for driver in (scene.driver, *scene.others) if driver.poll() is None]
    kill(*alive[:1])
    if scene.driver not in alive:  # it was refused, and the one that has it refused is dead now
        scene.age()
    yield f"driver {alive[0].pid if alive else '(none left)'}, one of {1 + len(scene.others)}"


def poisoned(scene: Scene) -> Strike:
    """Incomplete or foreign runs are added before and during the sweep; the driver is killed."""
    poison(scene.client, scene.experiment(), "laptop")
    yield
    count = len(poison(scene.client, scene.experiment(), "laptop"))
    kill(scene.driver)
    yield f"driver {scene.driver.pid}, beside {2 * count} runs"


def lies(scene: Scene, lie: str) -> Strike:
    """The server is reached through a proxy that lies to every other request, for as long as a server is down."""
    liar = Liar(scene.server.port)
    with contextlib.closing(liar):
        scene.environment["MLFLOW_TRACKING_URI"] = liar.uri
        yield
        liar.lie(lie, share=0.5)
        scene.wait_down()
        liar.be_honest()
        yield f"{liar.told[lie]} requests"


@dataclass(frozen=True)
class Fault:
    """how: the mechanism, for the table; pause: seconds after every step of the sweep that is struck, .1 being long
    enough for a checkpoint to be sent; latest: the share of the sweep's steps after which it does not strike any more;
    sqlite: every other round has no server; needs: what it needs and this machine may not have.
    """

    how: str
    strike: Callable[[Scene], Strike]
    pause: float = 0.04
    latest: float = 0.97
    sqlite: bool = False
    needs: str | None = None

    def can_strike(self) -> bool:
        return {None: True, MOUNTS: separation() is not None, COMPILER: shutil.which("cc") is not None}[self.needs]


MOUNTS, COMPILER = "mounts of its own (unshare --mount --uts)", "a C compiler"
BUSY = 0.75  # `latest` where a trial must be running
FAULTS: Mapping[str, Fault] = {
    "driver": Fault("kill -9", driver, sqlite=True),
    "worker": Fault("kill -9", worker, latest=BUSY, sqlite=True),
    "paused": Fault("kill -STOP of a worker, later -CONT", paused, latest=BUSY, sqlite=True),
    "gcs": Fault("kill -9 of the gcs of a local Ray", gcs, latest=BUSY, sqlite=True),
    "locked": Fault("the SQLite store locked by another program", locked, sqlite=True),
    "clock": Fault("a clock that goes back by an hour, by a library loaded first", clock, sqlite=True, needs=COMPILER),
    "node": Fault("kill -9 of the raylet, shared disk", node, latest=BUSY),
    "server": Fault("kill -9", server),
    "disk": Fault("no space left on a small file system", disk, needs=MOUNTS),
    "far-node": Fault(
        "kill -9 of the raylet, own disk and host name", partial(node, own_disk=True), 0.1, BUSY, needs=MOUNTS
    ),
    "machine": Fault(
        "kill -9 of driver and Ray, working tree deleted, run again in another folder an hour later", machine, 0.1
    ),
    "two-drivers": Fault("the same command in two folders within a second, then kill -9 of the first", two_drivers),
    "equal-names": Fault(
        "two drivers as in two containers: equal host names and paths, then kill -9 of the first",
        partial(two_drivers, equal_names=True),
        needs=MOUNTS,
    ),
    "poisoned": Fault("foreign and half-written runs in the experiment, then kill -9 of the driver", poisoned),
    "server-errors": Fault(LIES["error"], partial(lies, lie="error")),
    "answers-lost": Fault(LIES["lost"], partial(lies, lie="lost")),
    "server-busy": Fault(LIES["busy"], partial(lies, lie="busy")),
    "answers-garbled": Fault(LIES["garbled"], partial(lies, lie="garbled")),
    "server-silent": Fault(LIES["silent"], partial(lies, lie="silent")),
}
