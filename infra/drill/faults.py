"""The faults of a drill. Each strikes one process by its id, or the disk; the sweep knows nothing of it."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil
from mlflow.tracking import MlflowClient

from infoscope.tracking.store.store import ALIVE
from infra.drill import sweep
from infra.drill.liar import LIES, Liar
from infra.drill.places import DISK_BYTES, Nodes, Server, SmallDisk, separation, wait_until
from infra.drill.poison import poison
from infra.drill.processes import Processes, kill

CONTAINER = "infoscope-container"
PROGRAM = "fault_drill"  # the name of the sweep's module in a working tree
IDLE_SECONDS = 600.0  # how long a strike waits for a victim that is between two trials; many may want the machine


@dataclass
class Scene:
    """A round under way. folder: of everything in it; environment, prefix: with which the sweep's command is started;
    driver: the process that runs now; tree: the working tree of the sweep, the last of trees; liar: before the server;
    others: drivers of the same sweep in trees of their own.
    """

    processes: Processes
    server: Server
    folder: Path
    down: float
    environment: dict[str, str]
    prefix: list[str] = field(default_factory=list)
    driver: psutil.Popen | None = None
    liar: Liar | None = None
    others: list[psutil.Popen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client = MlflowClient(self.server.uri)
        self.trees: list[Path] = []
        self.tree = self.make_tree("tree")

    def make_tree(self, name: str) -> Path:
        """An empty working tree, with nothing in it but the sweep's module."""
        tree = self.folder / name
        tree.mkdir(parents=True)
        shutil.copy(sweep.__file__, tree / f"{PROGRAM}.py")
        self.trees.append(tree)
        return tree

    @property
    def ledger(self) -> Path:
        """The steps that the sweep's trials have made."""
        return self.folder / "ledger.txt"

    @property
    def records(self) -> Path:
        return self.tree / "runs" / "records"

    def experiment(self) -> str:
        """The id of the sweep's experiment at the server, which is made if it is not there."""
        name = self.environment[sweep.NAME]
        found = self.client.get_experiment_by_name(name)
        return found.experiment_id if found else self.client.create_experiment(name)

    def age(self) -> None:
        """An hour passes since invocations have said that they live."""
        for run in self.client.search_runs([self.experiment()], "attributes.status = 'RUNNING'"):
            if run.data.tags.get(ALIVE, "").isdecimal():
                self.client.set_tag(run.info.run_id, ALIVE, str(int(run.data.tags[ALIVE]) - 3_600_000))

    def steps(self) -> list[tuple[int, float, int]]:
        """Process id, true MI (bits) and step of every step made so far."""
        lines = self.ledger.read_text().splitlines() if self.ledger.exists() else []
        return [(int(pid), float(bits), int(step)) for pid, bits, step in map(str.split, lines)]

    def busy(self, session: int) -> tuple[psutil.Process, str]:
        """A process that has just made a step, and which. Raises DrillError when none does within three minutes."""
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


class Fault:
    """kind: as given to --faults; how: the mechanism, for the table; pause: seconds after every step of the sweep that
    is struck; latest: the share of the sweep's steps after which it does not strike any more.
    """

    kind: str
    how: str
    pause = 0.04
    latest = 0.97
    may_use_sqlite = False
    needs_mounts = False  # of its own: unshare --mount --uts

    def prepare(self, scene: Scene) -> None:
        """Before the sweep is started."""

    def begun(self, scene: Scene, command: list[str]) -> None:
        """Called as soon as the sweep is started, by this command."""

    def strike(self, scene: Scene) -> str:
        """Returns what was struck."""
        raise NotImplementedError

    def over(self, scene: Scene) -> None:
        """Whatever has happened."""


class DriverKilled(Fault):
    kind, how, may_use_sqlite = "driver", "kill -9", True

    def strike(self, scene: Scene) -> str:
        kill(scene.driver)
        return f"driver {scene.driver.pid}"


class WorkerKilled(Fault):
    kind, how, may_use_sqlite = "worker", "kill -9", True
    latest = 0.75  # a trial must be running

    def strike(self, scene: Scene) -> str:
        process, where = scene.busy(scene.driver.pid)
        kill(process)
        return f"worker {process.pid} {where}"


class NodeLost(Fault):
    """The raylet of a second node on the same disk."""

    kind, how = "node", "kill -9 of the raylet, shared disk"
    latest = 0.75  # its node must be running a trial
    own_disk = False

    def prepare(self, scene: Scene) -> None:
        disk = scene.records if self.own_disk else None
        self.cluster = Nodes(scene.processes, scene.folder, scene.environment, disk)
        scene.environment["RAY_ADDRESS"] = self.cluster.address

    def strike(self, scene: Scene) -> str:
        _, where = scene.busy(self.cluster.second.pid)
        raylet = self.cluster.raylet()
        kill(raylet)
        return f"raylet {raylet.pid}, its trial {where}"


class FarNodeLost(NodeLost):
    """The same with a disk of its own, from which nothing comes back: what was not sent is made again."""

    kind, how = "far-node", "kill -9 of the raylet, own disk and host name"
    own_disk, needs_mounts, pause = True, True, 0.1  # long enough for a checkpoint to be sent


class ServerKilled(Fault):
    kind, how = "server", "kill -9"

    def strike(self, scene: Scene) -> str:
        struck = scene.server.process.pid
        scene.server.kill()
        time.sleep(scene.down)
        scene.server.launch()
        scene.server.wait()
        return f"MLflow server {struck}, down {scene.down:.0f} s"


class MachineLost(Fault):
    """The sweep's machine is lost, and the command runs again elsewhere; the last heartbeat is dated back."""

    kind, how = "machine", "kill -9 of driver and Ray, working tree deleted, run again in another folder an hour later"
    pause = 0.1  # long enough for a checkpoint to be sent

    def strike(self, scene: Scene) -> str:
        scene.processes.end(scene.driver.pid)
        shutil.rmtree(scene.tree)
        scene.age()
        scene.tree = scene.make_tree("elsewhere")
        return f"driver {scene.driver.pid} and everything it had started"


class DiskFull(Fault):
    """The file system of the records is full until the sweep ends, or a server would be back."""

    kind, how, needs_mounts = "disk", "no space left on a small file system", True

    def prepare(self, scene: Scene) -> None:
        self.disk = SmallDisk(scene.processes, scene.records, scene.environment, scene.folder / "disk.log")
        scene.prefix = self.disk.prefix(scene.tree)

    def strike(self, scene: Scene) -> str:
        self.disk.fill()
        with contextlib.suppress(psutil.TimeoutExpired):
            scene.driver.wait(scene.down)
        self.disk.free()
        return f"disk of the records, {DISK_BYTES >> 20} MiB"


class ServerLies(Fault):
    """The server is reached through a proxy that lies to every other request, for as long as a server is down."""

    def __init__(self, kind: str, lie: str) -> None:
        self.kind, self.lie, self.how = kind, lie, LIES[lie]

    def prepare(self, scene: Scene) -> None:
        scene.liar = Liar(scene.server.port)
        scene.environment["MLFLOW_TRACKING_URI"] = scene.liar.uri

    def strike(self, scene: Scene) -> str:
        scene.liar.lie(self.lie, share=0.5)
        with contextlib.suppress(psutil.TimeoutExpired):
            scene.driver.wait(scene.down)
        scene.liar.be_honest()
        return f"{scene.liar.told[self.lie]} requests"

    def over(self, scene: Scene) -> None:
        if scene.liar:
            scene.liar.close()


class TwoDrivers(Fault):
    """A second driver of the same cells in another folder, on the same server; then the first is killed."""

    kind, how = "two-drivers", "the same command in two folders within a second, then kill -9 of the first"

    def begun(self, scene: Scene, command: list[str]) -> None:
        tree, log = scene.make_tree("beside"), scene.folder / "beside.log"
        words = [*self.prefix(scene, tree), *command[len(scene.prefix) :]]
        scene.others.append(scene.processes.start(words, tree, scene.environment, log))

    def prefix(self, scene: Scene, tree: Path) -> list[str]:
        """What a driver's command begins with in a tree."""
        return []

    def strike(self, scene: Scene) -> str:
        alive = [driver for driver in (scene.driver, *scene.others) if driver.poll() is None]
        kill(*alive[:1])
        if scene.driver not in alive:  # it was refused, and the one that has it refused is dead now
            scene.age()
        return f"driver {alive[0].pid if alive else '(none left)'}, one of {1 + len(scene.others)}"


class EqualNames(TwoDrivers):
    """The same in two containers of one image, with equal host names and paths on separate file systems."""

    kind, how = "equal-names", "two drivers as in two containers: equal host names and paths, then kill -9 of the first"
    needs_mounts = True

    def prepare(self, scene: Scene) -> None:
        scene.prefix = self.prefix(scene, scene.tree)

    def prefix(self, scene: Scene, tree: Path) -> list[str]:
        path = scene.folder / "container"
        path.mkdir(exist_ok=True)
        name = f"import socket; socket.sethostname('{CONTAINER}')"
        script = 'mount --bind "$1" "$2" && cd "$2" && "$3" -c "$4" && shift 4 && exec "$@"'
        return [*separation(), "sh", "-c", script, "sh", str(tree), str(path), sys.executable, name]


class Poisoned(Fault):
    """Incomplete or foreign runs are added before and during the sweep; the driver is killed."""

    kind, how = "poisoned", "foreign and half-written runs in the experiment, then kill -9 of the driver"

    def prepare(self, scene: Scene) -> None:
        self._poison(scene)

    def strike(self, scene: Scene) -> str:
        count = self._poison(scene)
        kill(scene.driver)
        return f"driver {scene.driver.pid}, beside {2 * count} runs"

    def _poison(self, scene: Scene) -> int:
        return len(poison(scene.client, scene.experiment(), "laptop"))


_LIES = {
    "server-errors": "error",
    "answers-lost": "lost",
    "server-busy": "busy",
    "answers-garbled": "garbled",
    "server-silent": "silent",
}
FAULTS: Mapping[str, Callable[[], Fault]] = {
    fault.kind: fault
    for fault in (
        *(DriverKilled, WorkerKilled, NodeLost, ServerKilled, DiskFull, FarNodeLost, MachineLost),
        *(TwoDrivers, EqualNames, Poisoned),
    )
} | {kind: partial(ServerLies, kind, lie) for kind, lie in _LIES.items()}
