"""Interrupts sweeps by real faults at random moments, runs the same command again, and checks the record.

Nothing that a trial has reported may be lost, doubled or changed (`infra.drill.history`). A round of the fault
`history` has two drivers on a cluster of two nodes, and several faults at once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pandas as pd
import psutil
import torch
from mlflow.tracking import MlflowClient

from infoscope.checks import one_of
from infoscope.command_line import command, option
from infoscope.errors import Unavailable
from infoscope.tracking.record import made_home
from infra.drill import sweep
from infra.drill.faults import COMBINED, FAULTS, HISTORY, SHARED, set_clock
from infra.drill.history import LOSSES
from infra.drill.observer import RECORDS, Observer
from infra.drill.processes import DISK, Container, DrillError, Nodes, Processes, Server, separation, wait_until
from infra.drill.proxy import FaultyProxy

PROGRAM = "fault_drill"  # the name of the sweep's module in a working tree
LOST = 1  # exit status
RUNS = 4  # runs of the command after the faults, at most
RUN_SECONDS = 900.0  # limit for one run of the command, also on a busy machine
IDLE_SECONDS = 120.0  # for which a fault waits for a process to strike
DELAY = 1.5  # seconds, at most, before a single fault: between steps, trials also begin, end and send
COMBINED_COUNT, COMBINED_DELAY, COMBINED_SECONDS = (3, 6), 20.0, (1.0, 12.0)  # number, latest start, duration


def main(given: SimpleNamespace) -> int:
    """The exit status: 0 when nothing was lost, 1 on losses or failed rounds."""
    names = [one_of("--faults", name, FAULTS) for name in given.faults.split(",")]
    lacks = {name: FAULTS[name].lacks for name in names}
    for name in filter(lacks.get, lacks):
        print(f"skipped: {name}, which needs {lacks[name]}")
    kinds = [name for name in names if not lacks[name]]
    if not kinds:
        raise Unavailable(f"this machine can make none of the faults {given.faults}")
    for ending in (signal.SIGINT, signal.SIGTERM):  # shells make background jobs ignore the first
        signal.signal(ending, signal.default_int_handler)
    logging.disable(logging.WARNING)  # of the observer, while the server is down
    torch.set_num_threads(1)  # as in the trials, so that the numbers are identical
    try:
        return drill(made_home() / "drill" / time.strftime("%Y%m%d-%H%M%S"), kinds, given)
    except KeyboardInterrupt:
        print("interrupted; all processes of the drill are ended", file=sys.stderr)
        raise


@dataclass
class Site:
    """A working tree and its driver.

    tree: its path from outside. folder, prefix: where and how its commands run. variables: of their environment.
    process: the latest driver.
    """

    tree: Path
    folder: Path
    prefix: list[str]
    variables: Mapping[str, str]
    process: psutil.Popen | None = None

    def lives(self) -> bool:
        """Whether the driver is running."""
        return self.process is not None and self.process.poll() is None


class Round:
    """A round with one kind of fault. turn: number of earlier rounds of this kind. options: of the command."""

    def __init__(self, folder: Path, server: Server, number: int, kind: str, turn: int, options: SimpleNamespace):
        self.number, self.kind, self.options = number, kind, options
        self.server, self.processes, self.fault = server, server.processes, FAULTS[kind]
        self.name = folder.name
        self.folder, self.ledger, self._trees = folder, folder / "ledger.jsonl", folder / "trees"
        self.on_server = not self.fault.sqlite or turn % 2 == 1
        self.client, self.starts, self.hung = MlflowClient(self.server.uri), 0, 0
        self.drivers, self.others, self.clocks = list[Site](), list[Site](), list[Path]()
        self.draw = draw = np.random.default_rng([options.seed, number])
        if kind == HISTORY:
            possible = [name for name in COMBINED if not FAULTS[name].lacks]
            names = draw.choice(possible, draw.integers(*COMBINED_COUNT, endpoint=True), replace=False).tolist()
            self.share = 0.0
            self.schedule = [(name, draw.uniform(0, COMBINED_DELAY), draw.uniform(*COMBINED_SECONDS)) for name in names]
        else:
            self.share = draw.uniform(0, self.fault.latest)
            self.schedule = [(kind, draw.uniform(0, DELAY), options.down)]
        bits = ",".join(str(0.5 * (1 + pack)) for pack in range(options.packs))
        self.settings = {"bits": bits, "steps": str(options.steps), "pause": str(self.fault.pause)}
        self.all_steps = options.packs * len(sweep.BOUNDS) * options.steps

    def run(self) -> dict[str, Any]:
        """A row of the table. Raises DrillError when the sweep does not start or ends before a fault.

        done: percentage of the sweep's steps before the faults. runs: of the command. hung: runs that had to be ended.
        repeated: steps made again. observed: observations of the store. seconds: duration of the round. Then the number
        of cells, and of the breaches of every guarantee.
        """
        began = time.monotonic()
        self._trees.mkdir(parents=True)
        self.ledger.touch()
        self.server.wait()
        with contextlib.closing(FaultyProxy(self.server.port)) as self.proxy:
            self._prepare()
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
        """The working trees from outside, including those on the second node."""
        return [site.tree for site in (*self.drivers, *self.others)]

    def _prepare(self) -> None:
        """Makes working trees for the drivers, and a cluster where the fault needs one."""
        self.nodes = self.disk = far = None
        if separation() and (self.fault.nodes or self.kind == "disk"):
            self.disk = far = self._container("infoscope-near")
        if self.fault.nodes:
            if self.disk and self.fault.nodes != SHARED:
                far = self._container("infoscope-far")
            clocks = {number: self._clock(f"node-{number}") for number in (1, 2)}
            cores = max(1, self.options.packs * self.fault.drivers // 2)  # all trials run at once, on both nodes
            self.nodes = Nodes(self.processes, self.folder, 2, cores, {1: self.disk, 2: far}, clocks)
        for number in range(self.fault.drivers):
            self.make_driver(f"tree-{number + 1}")
        if far is not self.disk:
            for site in self.drivers:
                tree = far.inside / site.tree.name
                self.others.append(dataclasses.replace(site, tree=tree, prefix=far.prefix(site.folder)))

    def _container(self, host: str) -> Container:
        return Container(self.processes, host, self.folder / f"{host}.log", self._trees, *DISK)

    def _clock(self, name: str) -> Path:
        self.clocks.append(set_clock(self.folder / f"{name}.clock", 0))
        return self.clocks[-1]

    def make_driver(self, name: str) -> Site:
        """A driver that is not started yet, in a working tree with the sweep's module only."""
        folder, clock = self._trees / name, self._clock(name)
        tree = self.disk.inside / name if self.disk else folder
        tree.mkdir(parents=True)
        shutil.copy(sweep.__file__, tree / f"{PROGRAM}.py")
        prefix = self.disk.prefix(folder) if self.disk else []
        variables = {sweep.NAME: self.name, sweep.LEDGER: str(self.ledger), "DRILL_CLOCK": str(clock)}
        variables |= {"MLFLOW_TRACKING_URI": self.proxy.uri} if self.on_server else {}
        variables |= {"RAY_ADDRESS": self.nodes.address} if self.nodes else {}
        self.drivers.append(Site(tree, folder, prefix, variables))
        return self.drivers[-1]

    def _command(self, site: Site, log: Path, *words: str) -> psutil.Popen:
        where = self.folder if site.prefix else site.folder
        return self.processes.start([*site.prefix, sys.executable, "-m", *words], where, log, **site.variables)

    def start(self, site: Site) -> None:
        """Starts a driver, unless it is running."""
        if not site.lives():
            self.starts += 1
            words = " ".join(f"{name}={text}" for name, text in self.settings.items())
            site.process = self._command(site, self.folder / f"run-{self.starts}.log", PROGRAM, "--set", words)

    def any_driver(self) -> Site:
        """A random driver among those that are running."""
        living = [site for site in self.drivers if site.lives()]
        return living[self.draw.integers(len(living))]

    def working(self, session: int | None = None) -> Iterator[str]:
        """Yields "" until a worker (of a session) has just made a step; returns its process and the step."""
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
        """The id of the sweep's experiment at the server, created if missing."""
        found = self.client.get_experiment_by_name(self.name)
        return found.experiment_id if found else self.client.create_experiment(self.name)

    def _steps(self) -> int:
        return self.ledger.read_bytes().count(b'"op": "report"')

    def _strike(self) -> str:
        """Starts the drivers, makes the faults as scheduled and ends them; returns what was struck."""
        strikes = [FAULTS[name].strike(self) for name, _, _ in self.schedule]
        for strike in strikes:
            next(strike)
        for site in self.drivers:
            self.start(site)
        steps, log = max(1, round(self.share * self.all_steps)), self.folder / "run-1.log"
        alone = self.drivers[0].process if len(self.drivers) == 1 else None  # of several drivers one may end earlier
        wait_until(lambda: self._steps() >= steps, "the sweep does not get this far", RUN_SECONDS, alone, log)
        began, struck = time.monotonic(), dict[int, str]()
        due = {number: began + delay for number, (_, delay, _) in enumerate(self.schedule)}
        while due:
            living = any(site.lives() for site in self.drivers)  # without a driver all faults end at once
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
            raise DrillError(f"the sweep ended before a fault could strike:\n{log.read_text()[-800:]}")
        return "; ".join(struck.values())

    def _finish(self) -> None:
        """Runs the command in every working tree until it succeeds, and sends the remaining records."""
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
                arguments = ["--records", "runs/records"] if site in self.others else []
                self._command(site, self.folder / "sync.log", "infoscope", "sync", *arguments).wait(RUN_SECONDS)


def drill(folder: Path, kinds: Sequence[str], options: SimpleNamespace) -> int:
    """Runs, prints and saves the rounds, and ends all of its processes; returns the exit status."""
    rows, broken = [], 0
    scratch = Path(tempfile.mkdtemp(prefix="drill-"))  # Ray's sockets need a short path
    processes = Processes(base_environment(scratch))
    print(f"--seed {options.seed} --first N --rounds 1 repeats round N alone", flush=True)
    try:
        server = Server(processes, folder / "server")
        for number in range(options.first, options.first + options.rounds):
            turn, place = divmod(number - 1, len(kinds))
            work = folder / f"drill-{number:02d}-{kinds[place]}"
            try:
                row = Round(work, server, number, kinds[place], turn, options).run()
            except Exception as error:  # the other rounds go on
                broken += 1
                print(f"{number:2d} {kinds[place]}: the round failed: {error!r}", flush=True)
                processes.end_all()  # also the server, which may be paused
                continue
            processes.end_all(but=server.process.pid)
            rows.append(row)
            print(LINE.format(**row) + losses([row]), flush=True)
            pd.DataFrame(rows).to_csv(folder / "rounds.csv", index=False)
            if losses([row]) == NOTHING:
                shutil.rmtree(work)  # the folder of a round with losses stays
    finally:
        processes.end_all()
        shutil.rmtree(scratch, ignore_errors=True)
    if not rows:
        print("all rounds failed")
        return LOST
    print(f"\n{pd.DataFrame(rows).drop(columns='struck').to_string(index=False)}\n")
    unmade = f"; {broken} rounds failed" if broken else ""
    print(f"{len(rows)} rounds, {sum(row['cells'] for row in rows)} cells: {losses(rows)}{unmade}")
    print(f"saved: {folder / 'rounds.csv'}")
    if broken or losses(rows) != NOTHING:
        return LOST
    shutil.rmtree(folder / "server")
    return 0


NOTHING = "nothing lost"
LINE = (
    "{round:2d} {fault} ({store}), after {done} % of the steps: {struck}; the command was run {runs} times, "
    "{repeated} steps again, {observed} observations, {seconds} s: "
)


def losses(rows: Sequence[Mapping[str, int]]) -> str:
    """The numbers of breaches in rounds and of runs that had to be ended; NOTHING where there are none."""
    totals = {name: sum(row[name] for row in rows) for name in (*LOSSES, "hung")}
    return ", ".join(f"{count} {name}" for name, count in totals.items() if count) or NOTHING


def base_environment(folder: Path) -> dict[str, str]:
    """The environment of every process of a drill: without the caller's settings of Ray and MLflow, and with a movable
    clock where there is a C compiler.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "MLFLOW_", "INFOSCOPE_"))}
    if shutil.which("cc"):
        source, kept["LD_PRELOAD"] = Path(__file__).with_name("clock.c"), str(folder / "clock.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", kept["LD_PRELOAD"], source], check=True)
    return kept | {
        "RAY_TMPDIR": str(folder),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": "8",
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        "INFOSCOPE_CHECKPOINT_SECONDS": "1",
        "INFOSCOPE_STORED_CHECKPOINT_SECONDS": "1",
    }


POSITIVE = click.IntRange(min=1)
COMMAND = command("drill", main, [
    option("rounds", type=POSITIVE, default=20, help="(default: 20)"),
    option("first", type=POSITIVE, default=1, help="number of the first round, to repeat a round (default: 1)"),
    option("seed", type=click.IntRange(min=0), default=0, help="of the times and targets of the faults (default: 0)"),
    option("faults", default=HISTORY, help=f"one a round, in turn, of {','.join(FAULTS)} (default: {HISTORY})"),
    option("down", type=click.FloatRange(min=1), default=60, help="seconds that a single fault lasts (default: 60)"),
    option("packs", type=POSITIVE, default=2, help="trials of the sweep, four cells each (default: 2)"),
    option("steps", type=POSITIVE, default=200, help="training steps of a cell, at least 40 ms each (default: 200)"),
], __doc__)  # fmt: skip
