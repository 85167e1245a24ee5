"""The faults of a drill. Each strikes one process by its id, or the disk; the sweep knows nothing of it."""

from __future__ import annotations

import contextlib
import resource
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from mlflow.tracking import MlflowClient

from infoscope.tracking.store import ALIVE
from infra.drill import sweep
from infra.drill.places import DISK_BYTES, Server, SmallDisk, TwoNodes, separation, wait_until
from infra.drill.processes import Processes, kill

PROGRAM = "fault_drill"  # the name of the sweep's module in a working tree
IDLE_SECONDS = 30.0  # how long a strike waits for a victim that is between two trials


@dataclass
class Scene:
    """A round under way. folder: of everything in it; environment, prefix: with which the sweep's command is started;
    driver: the process that runs now; tree: the working tree of the sweep.
    """

    processes: Processes
    server: Server
    folder: Path
    down: float
    environment: dict[str, str]
    prefix: list[str] = field(default_factory=list)
    driver: psutil.Popen | None = None

    def __post_init__(self) -> None:
        self.enter("tree")

    def enter(self, name: str) -> None:
        """Begins an empty working tree, with nothing in it but the sweep's module."""
        self.tree = self.folder / name
        self.tree.mkdir(parents=True)
        shutil.copy(sweep.__file__, self.tree / f"{PROGRAM}.py")

    @property
    def ledger(self) -> Path:
        """The steps that the sweep's trials have made."""
        return self.folder / "ledger.txt"

    @property
    def records(self) -> Path:
        return self.tree / "runs" / "records"

    def steps(self) -> list[tuple[int, float, int]]:
        """Process id, true MI (bits) and step of every step made so far."""
        lines = self.ledger.read_text().splitlines() if self.ledger.exists() else []
        return [(int(pid), float(bits), int(step)) for pid, bits, step in map(str.split, lines)]

    def busy(self, session: int) -> tuple[psutil.Process, str]:
        """A process of a session that has just made a step of a trial, and which step. Raises DrillError when none does
        within half a minute.
        """
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

    def missing(self) -> str | None:
        """Why it cannot be tried on this machine; None when it can."""
        return None

    def prepare(self, scene: Scene) -> None:
        """Before the sweep is started."""

    def strike(self, scene: Scene) -> str:
        """Returns what was struck."""
        raise NotImplementedError


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
        self.cluster = TwoNodes(scene.processes, scene.folder, scene.environment, disk)
        scene.environment["RAY_ADDRESS"] = self.cluster.address

    def strike(self, scene: Scene) -> str:
        _, where = scene.busy(self.cluster.second.pid)
        raylet = self.cluster.raylet()
        kill(raylet)
        return f"raylet {raylet.pid}, its trial {where}"


class FarNodeLost(NodeLost):
    """The same with a disk of its own, from which nothing comes back: what was not sent is made again."""

    kind, how = "far-node", "kill -9 of the raylet, own disk and host name"
    own_disk, pause = True, 0.1  # long enough for a checkpoint to be sent

    def missing(self) -> str | None:
        return None if separation() else "mount namespaces are not allowed here (unshare --mount --uts)"


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
    """The sweep's machine is gone with everything on it, and the command is run again elsewhere, on the same store.
    There an invocation is known to be dead by its long silence; the drill does not wait for that, but dates the last
    sign of its life back.
    """

    kind, how = "machine", "kill -9 of driver and Ray, working tree deleted, run again in another folder an hour later"
    pause = 0.1  # long enough for a checkpoint to be sent

    def strike(self, scene: Scene) -> str:
        scene.processes.end(scene.driver.pid)
        shutil.rmtree(scene.tree)
        client = MlflowClient(scene.server.uri)
        experiment = client.get_experiment_by_name(scene.environment[sweep.NAME])
        for run in client.search_runs([experiment.experiment_id], "attributes.status = 'RUNNING'"):
            if ALIVE in run.data.tags:
                client.set_tag(run.info.run_id, ALIVE, str(int(run.data.tags[ALIVE]) - 3_600_000))
        scene.enter("elsewhere")
        return f"driver {scene.driver.pid} and everything it had started"


class DiskFull(Fault):
    """The file system of the records is filled to the last page until the sweep has ended, but not longer than a server
    is down. Where no file system can be mounted, the sweep's processes are forbidden to write to any file instead.
    """

    kind = "disk"

    def missing(self) -> str | None:
        if separation() or hasattr(resource, "prlimit"):
            return None
        return "neither may a file system be mounted here nor another process be forbidden to write"

    @property
    def how(self) -> str:
        return "no space left on a small file system" if separation() else "no process of the sweep may write a file"

    def prepare(self, scene: Scene) -> None:
        self.disk = None
        if separation():
            log = scene.folder / "disk.log"
            self.disk = SmallDisk(scene.processes, scene.records, scene.environment, log)
            scene.prefix = self.disk.prefix(scene.tree)

    def strike(self, scene: Scene) -> str:
        if self.disk is None:
            return self._forbid(scene)
        self.disk.fill()
        with contextlib.suppress(psutil.TimeoutExpired):
            scene.driver.wait(scene.down)
        self.disk.free()
        return f"disk of the records, {DISK_BYTES >> 20} MiB"

    def _forbid(self, scene: Scene) -> str:
        writers = {pid for pid, _, _ in scene.steps()} | {scene.driver.pid}
        struck = [process.pid for process in scene.processes.members(scene.driver.pid) if process.pid in writers]
        for pid in struck:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0))
        return f"files of processes {struck}"


FAULTS: Mapping[str, type[Fault]] = {
    fault.kind: fault
    for fault in (DriverKilled, WorkerKilled, NodeLost, ServerKilled, DiskFull, FarNodeLost, MachineLost)
}


def parse(text: str) -> list[str]:
    """Names of faults, separated by commas. Raises ValueError for one that there is not."""
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in FAULTS:
            raise ValueError(f"unknown fault {name!r}; valid are {', '.join(FAULTS)}")
    if not names:
        raise ValueError(f"no fault is given; valid are {', '.join(FAULTS)}")
    return names
