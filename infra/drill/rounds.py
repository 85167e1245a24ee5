"""One round: a fresh working tree, a sweep, a fault, the same command again until it is done, a look at the store."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from infra.drill import sweep
from infra.drill.faults import FAULTS, PROGRAM, Fault, Scene
from infra.drill.places import DrillError, Server, wait_until
from infra.drill.processes import Processes
from infra.drill.reading import LOSSES, expected, read

RUNS = 4  # of the command: the one that is struck, and at most three more
RUN_SECONDS, DELAY_SECONDS = 1800.0, 1.5  # also where eight others want the machine


@dataclasses.dataclass(frozen=True)
class Settings:
    """packs: of two cells each; steps: of every cell; down: seconds that a server is away, or a disk stays full."""

    packs: int = 4
    steps: int = 250
    down: float = 60.0

    @property
    def bits(self) -> tuple[float, ...]:
        return tuple(0.5 * (1 + pack) for pack in range(self.packs))

    def of(self, fault: Fault) -> dict[str, str]:
        """The settings of the sweep for a fault, as its command takes them."""
        return {"bits": ",".join(map(str, self.bits)), "steps": str(self.steps), "pause": str(fault.pause)}


def wrong(row: Mapping[str, Any]) -> dict[str, int]:
    """The losses of a round and its runs that had to be ended, with their numbers; empty when nothing is wrong."""
    return {name: row[name] for name in (*LOSSES, "hung") if row[name]}


class Round:
    """A sweep that is struck. `run` raises DrillError when it cannot be started or has nothing to be struck."""

    def __init__(self, number: int, kind: str, turn: int, settings: Settings, seed: int):
        self.number, self.settings, self.hung = number, settings, 0
        self.fault: Fault = FAULTS[kind]()
        self.store = "sqlite" if self.fault.may_use_sqlite and turn % 2 == 0 else "server"
        self.name = f"drill-{number:02d}-{kind}"
        generator = np.random.default_rng([seed, number])
        self.share = generator.uniform(0, self.fault.latest)
        self.delay = generator.uniform(0, DELAY_SECONDS)  # trials also begin, end and send, when no step is made

    def run(self, folder: Path, processes: Processes, server: Server, environment: Mapping[str, str]) -> dict[str, Any]:
        """A row of the table. done: percentage of the sweep's steps made when the fault was drawn; delay: seconds from
        then until it struck; runs: of the command; hung: of these, how many had to be ended; repeated: steps made more
        than once; seconds: of the whole round; then the cells and losses of `read`.
        """
        began = time.monotonic()
        scene = self._scene(folder / self.name, processes, server, environment)
        of_all = self.settings.packs * self.settings.steps
        try:
            self.fault.prepare(scene)
            command = self._start(scene, 1)
            self.fault.begun(scene, command)
            self._await(scene, max(1, round(self.share * of_all)))
            struck = self.fault.strike(scene)
            for runs in range(1, RUNS + 1):
                if runs > 1:
                    self._start(scene, runs)
                if self._finish(scene):
                    break
                self._finish_others(scene)
            self._finish_others(scene)
            records = [tree / "runs" / "records" for tree in scene.trees]
            for tree, place in zip(scene.trees, records):  # where a driver has died, and nobody has gone on
                if tree != scene.tree and any(place.glob("*/*/record.jsonl")):
                    self._sync(scene, tree)
        finally:
            self.fault.over(scene)
            processes.end_all(but=server.process.pid)
        named = dataclasses.replace(sweep.SWEEP, name=self.name)
        plan = named.plan(named.profile("laptop", self.settings.of(self.fault))[1])
        uri = server.uri if self.store == "server" else f"sqlite:///{scene.tree / 'runs' / 'mlflow.db'}"
        return dict(
            round=self.number,
            fault=self.fault.kind,
            how=self.fault.how,
            store=self.store,
            done=round(100 * self.share),
            delay=round(self.delay, 2),
            struck=struck,
            runs=runs,
            hung=self.hung,
            repeated=len(scene.steps()) - of_all,
            seconds=round(time.monotonic() - began, 1),
            **read(uri, self.name, plan, records),
        )

    def _await(self, scene: Scene, steps: int) -> None:
        log = scene.folder / "run-1.log"
        driver = None if scene.others else scene.driver  # of several drivers one may be refused
        wait_until(lambda: len(scene.steps()) >= steps, "the sweep does not get so far", RUN_SECONDS, driver, log)
        time.sleep(self.delay)
        if driver and driver.poll() is not None:
            raise DrillError(f"the sweep had ended before the fault could strike:\n{log.read_text()[-800:]}")

    def _scene(self, folder: Path, processes: Processes, server: Server, environment: Mapping[str, str]) -> Scene:
        scene = Scene(processes, server, folder, self.settings.down, dict(environment))
        scene.environment |= {sweep.NAME: self.name, sweep.LEDGER: str(scene.ledger)}
        scene.environment |= {"INFOSCOPE_CHECKPOINT_SECONDS": "1", "INFOSCOPE_STORED_CHECKPOINT_SECONDS": "1"}
        if self.store == "server":
            server.wait()
            scene.environment["MLFLOW_TRACKING_URI"] = server.uri
        return scene

    def _start(self, scene: Scene, runs: int) -> list[str]:
        words = " ".join(f"{name}={text}" for name, text in self.settings.of(self.fault).items())
        command = [*scene.prefix, sys.executable, "-m", PROGRAM, "--set", words]
        scene.driver = scene.processes.start(command, scene.tree, scene.environment, scene.folder / f"run-{runs}.log")
        return command

    def _sync(self, scene: Scene, tree: Path) -> None:
        command = [sys.executable, "-m", "infoscope.tracking", "sync"]
        scene.driver = scene.processes.start(command, tree, scene.environment, scene.folder / "sync.log")
        self._finish(scene)

    def _finish(self, scene: Scene, driver: psutil.Popen | None = None) -> bool:
        """Waits for the command, or another driver, and ends it when it hangs; whether it ended well."""
        driver = driver or scene.driver
        try:
            return driver.wait(RUN_SECONDS) == 0
        except psutil.TimeoutExpired:
            self.hung += 1
            scene.processes.end(driver.pid)
            return False

    def _finish_others(self, scene: Scene) -> None:
        """Waits for the drivers beside the one that was struck: while they live, they run the sweep."""
        while scene.others:
            self._finish(scene, scene.others.pop())


def reference(settings: Settings) -> None:
    """Computes what uninterrupted trainings give, once for all rounds."""
    for bits in settings.bits:
        for bound in sweep.BOUNDS:
            expected(bits, bound, settings.steps)


def base_environment(folder: Path, token: str) -> dict[str, str]:
    """The environment of every process of a drill: nothing of the caller's Ray or MLflow."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "MLFLOW_", "INFOSCOPE_"))}
    return kept | {
        "RAY_TMPDIR": str(folder),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": token,
        "RAY_USAGE_STATS_ENABLED": "0",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
    }
