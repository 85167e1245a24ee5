"""A round of the drill: working trees, drivers of a sweep, faults, the same command again until it is done."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from mlflow.tracking import MlflowClient

from infra.drill import sweep
from infra.drill.faults import FAULTS, HISTORY, MIXED
from infra.drill.liar import Liar
from infra.drill.places import Container, DrillError, wait_until
from infra.drill.reading import RECORDS, Observer

if TYPE_CHECKING:
    from infra.drill.striking import Drill

PROGRAM = "fault_drill"  # the name of the sweep's module in a working tree
RUNS = 4  # of the command, after the faults
RUN_SECONDS = 900.0  # also where eight others want the machine
IDLE_SECONDS = 120.0  # how long a strike waits for a victim that is between two trials
DELAY = 1.5  # seconds at most before a single fault strikes: trials also begin, end and send, when no step is made
MIXED_COUNT, MIXED_DELAY, MIXED_SECONDS = (3, 6), 20.0, (1.0, 12.0)  # of several faults: how many, when, how long each


@dataclass
class Site:
    """A working tree. tree: as it is seen from outside; folder, prefix: where and how its commands run; variables: of
    their environment; process: its driver, the last one.
    """

    tree: Path
    folder: Path
    prefix: list[str]
    variables: Mapping[str, str]
    process: psutil.Popen | None = None

    def lives(self) -> bool:
        """Whether its driver runs."""
        return self.process is not None and self.process.poll() is None


class Round:
    """A round of a kind of fault. turn: how many of this kind were before; words: those of the command."""

    def __init__(self, drill: Drill, number: int, kind: str, turn: int, words: SimpleNamespace):
        self.drill, self.number, self.kind, self.words = drill, number, kind, words
        self.processes, self.server, self.fault = drill.processes, drill.server, FAULTS[kind]
        self.name = f"drill-{number:02d}-{kind}"
        self.folder, self.ledger = drill.folder / self.name, drill.folder / self.name / "ledger.jsonl"
        self.on_server = not self.fault.sqlite or turn % 2 == 1
        self.client, self.starts, self.hung = MlflowClient(self.server.uri), 0, 0
        self.drivers, self.others, self.clocks = list[Site](), list[Site](), list[Path]()
        self.draw = draw = np.random.default_rng([words.seed, number])
        if kind == HISTORY:
            possible = [name for name in MIXED if not FAULTS[name].lacks]
            names = draw.choice(possible, draw.integers(*MIXED_COUNT, endpoint=True), replace=False).tolist()
            self.share = 0.0
            self.schedule = [(name, draw.uniform(0, MIXED_DELAY), draw.uniform(*MIXED_SECONDS)) for name in names]
        else:
            self.share = draw.uniform(0, self.fault.latest)
            self.schedule = [(kind, draw.uniform(0, DELAY), words.down)]
        bits = ",".join(str(0.5 * (1 + pack)) for pack in range(words.packs))
        self.settings = {"bits": bits, "steps": str(words.steps), "pause": str(self.fault.pause)}
        self.all_steps = words.packs * len(sweep.BOUNDS) * words.steps

    def run(self) -> dict[str, Any]:
        """A row of the table. done: percentage of the sweep's steps made when the faults began; runs: of the command;
        hung: of these, how many had to be ended; repeated: steps made more than once; observed: how often the store was
        read; seconds: of the whole round; then the cells and the breaches of every guarantee. Raises DrillError when
        the sweep cannot be started or has nothing to be struck.
        """
        began = time.monotonic()
        self.folder.mkdir(parents=True)
        self.ledger.touch()
        self.server.wait()
        with contextlib.closing(Liar(self.server.port)) as self.liar:
            self._lay_out()
            store = f"sqlite:///{self.drivers[0].tree / 'runs' / 'mlflow.db'}"
            uri = self.server.uri if self.on_server else store
            with contextlib.closing(Observer(uri, self.name, self.folder / "seen.jsonl")) as observer:
                struck = self._strike()
                self.server.wait()
                self._finish()
            named = dataclasses.replace(sweep.SWEEP, name=self.name)
            plan = named.plan(named.profile("laptop", self.settings)[1])
            breaches = observer.history(plan, self.ledger, self.trees).breaches()
        for name, found in breaches.items():
            for one, why in found.items():
                print(f"   {name}: {one}: {why}", flush=True)
        return dict(
            round=self.number,
            fault=self.kind,
            store="server" if self.on_server else "sqlite",
            done=round(100 * self.share),
            struck=struck,
            runs=self.starts,
            hung=self.hung,
            repeated=self._steps() - self.all_steps,
            observed=len(observer.seen),
            seconds=round(time.monotonic() - began),
            cells=len(plan),
            **{name: len(found) for name, found in breaches.items()},
        )

    @property
    def trees(self) -> list[Path]:
        """The working trees, from outside, those on the second node included."""
        return [site.tree for site in (*self.drivers, *self.others)]

    def _lay_out(self) -> None:
        """Working trees for the drivers, and a cluster where the fault needs one."""
        self.nodes = self.disk = far = None
        if self.fault.nodes:
            self.nodes, self.disk, far = self.drill.cluster(self.fault.nodes)
            self.clocks += [self.drill.clock("node-1"), self.drill.clock("node-2")]
        elif self.kind == "disk":
            self.disk = self.drill.disk()
        for number in range(self.fault.drivers):
            self.make_driver(f"tree-{number + 1}")
        if far is not self.disk:
            for site in self.drivers:
                tree = far.inside / self.name / site.tree.name
                self.others.append(dataclasses.replace(site, tree=tree, prefix=far.prefix(site.folder)))

    def make_driver(self, name: str) -> Site:
        """A driver that is not started, with an empty working tree but for the sweep's module."""
        folder, clock = self.drill.trees / self.name / name, self.drill.clock(name)
        tree = self.disk.inside / self.name / name if self.disk else folder
        tree.mkdir(parents=True)
        shutil.copy(sweep.__file__, tree / f"{PROGRAM}.py")
        prefix = self.disk.prefix(folder) if self.disk else []
        if self.fault.alike:
            at, log = self.folder / "container", self.folder / f"{name}.log"
            prefix = Container(self.processes, "infoscope-container", log, at, "--bind", str(folder)).prefix(at)
        variables = {sweep.NAME: self.name, sweep.LEDGER: str(self.ledger), "DRILL_CLOCK": str(clock)}
        variables |= {"MLFLOW_TRACKING_URI": self.liar.uri} if self.on_server else {}
        variables |= {"RAY_ADDRESS": self.nodes.address} if self.nodes else {}
        self.clocks.append(clock)
        self.drivers.append(Site(tree, folder, prefix, variables))
        return self.drivers[-1]

    def _command(self, site: Site, log: Path, *words: str) -> psutil.Popen:
        where = self.folder if site.prefix else site.folder
        return self.processes.start([*site.prefix, sys.executable, "-m", *words], where, log, **site.variables)

    def start(self, site: Site) -> None:
        """Starts a driver, unless it runs."""
        if not site.lives():
            self.starts += 1
            words = " ".join(f"{name}={text}" for name, text in self.settings.items())
            site.process = self._command(site, self.folder / f"run-{self.starts}.log", PROGRAM, "--set", words)

    def any_driver(self) -> Site:
        """A driver that runs, as at least one does whenever a fault strikes."""
        living = [site for site in self.drivers if site.lives()]
        return living[self.draw.integers(len(living))]

    def working(self, session: int | None = None) -> Iterator[str]:
        """Yields "" until a worker (of a session) has just made a step; returns its process, and which step."""
        while True:
            before = self.ledger.stat().st_size
            time.sleep(0.2)
            with open(self.ledger, "rb") as file:
                file.seek(before)
                lines = [json.loads(line) for line in file if line.endswith(b"\n")]
            recent = {line["pid"]: f"at step {line['step']}" for line in lines if line["op"] == "report"}
            for pid in self.draw.permutation(sorted(recent)).tolist():
                with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
                    if session in (None, os.getsid(pid)):
                        return psutil.Process(pid), recent[pid]
            yield ""

    def experiment(self) -> str:
        """The id of the sweep's experiment at the server, which is made if it is not there."""
        found = self.client.get_experiment_by_name(self.name)
        return found.experiment_id if found else self.client.create_experiment(self.name)

    def _steps(self) -> int:
        return self.ledger.read_bytes().count(b'"op": "report"')

    def _strike(self) -> str:
        """Starts the drivers and strikes as scheduled; what was struck. Every fault is healed when this returns."""
        strikes = [FAULTS[name].strike(self) for name, _, _ in self.schedule]
        for strike in strikes:
            next(strike)
        for site in self.drivers:
            self.start(site)
        steps, log = max(1, round(self.share * self.all_steps)), self.folder / "run-1.log"
        slow = "the sweep does not get so far"
        wait_until(lambda: self._steps() >= steps, slow, RUN_SECONDS, self.drivers[0].process, log)
        began, struck = time.monotonic(), dict[int, str]()
        due = {number: began + delay for number, (_, delay, _) in enumerate(self.schedule)}
        while due:
            living = any(site.lives() for site in self.drivers)  # where none does, all is healed at once
            number = min(due, key=lambda number: (not living and number not in struck, due[number]))
            if living and time.monotonic() < due[number]:
                time.sleep(0.05)
                continue
            name, delay, seconds = self.schedule[number]
            del due[number]
            if number in struck:
                next(strikes[number], None)
            elif living and time.monotonic() < began + delay + IDLE_SECONDS:
                if what := next(strikes[number]):
                    struck[number] = f"{delay:.1f} s {name} {what}, {seconds:.0f} s"
                due[number] = time.monotonic() + (seconds if what else 0.0)
        if not struck:
            raise DrillError(f"the sweep had ended before a fault could strike:\n{log.read_text()[-800:]}")
        return "; ".join(struck.values())

    def _finish(self) -> None:
        """Runs the command in every working tree until it has ended well, ends it where it hangs, and sends what is
        left, also from the disk of the second node.
        """
        for _ in range(RUNS):
            unfinished = [site for site in self.drivers if site.process.poll() != 0]
            for site in unfinished:
                self.start(site)
            for site in unfinished:
                try:
                    site.process.wait(RUN_SECONDS)
                except psutil.TimeoutExpired:
                    self.hung += 1
                    self.processes.end(site.process.pid)
        for site in (*self.drivers, *self.others):
            if any(site.tree.glob(RECORDS)):
                of_node = ["--records", "runs/records"] if site in self.others else []
                self._command(site, self.folder / "sync.log", "infoscope", "sync", *of_node).wait(RUN_SECONDS)
