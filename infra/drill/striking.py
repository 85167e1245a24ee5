"""Strikes sweeps by real faults at random moments, runs the same command again, and checks the history: nothing that a
trial has reported may be lost, doubled or changed (`infra.drill.history`). A round of the fault `history` has two
drivers on a cluster of two nodes, and several faults at once.
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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import psutil
import torch
from mlflow.tracking import MlflowClient

from infoscope.checks import one_of, require_int, require_number
from infoscope.command_line import command, option
from infoscope.errors import Unavailable
from infoscope.tracking.record import made_home
from infra.drill import sweep
from infra.drill.faults import ANY, CLOCK_BYTES, FAULTS, HISTORY, MIXED, OWN
from infra.drill.history import LOSSES
from infra.drill.liar import Liar
from infra.drill.places import DISK, Container, DrillError, Nodes, Processes, Server, separation, wait_until
from infra.drill.reading import Observer

PROGRAM = "fault_drill"  # the name of the sweep's module in a working tree
LOST = 1
RUNS = 4  # of the command, after the faults
RUN_SECONDS = 900.0  # also where eight others want the machine
IDLE_SECONDS = 120.0  # how long a strike waits for a victim that is between two trials
DELAY = 1.5  # seconds at most before a single fault strikes: trials also begin, end and send, when no step is made
MIXED_COUNT, MIXED_DELAY, MIXED_SECONDS = (
    (3, 6),
    20.0,
    (1.0, 12.0),
)  # of a history: faults, seconds before, seconds of each
SLOTS = 4  # of a node: as many trials at once as two drivers have
RECORDS = "runs/records/*/*/record.jsonl"


def main(given: SimpleNamespace) -> int:
    """The exit status: 0 when nothing was lost, 1 on losses or failed rounds."""
    names = [one_of("--faults", name, FAULTS) for name in given.faults.split(",")]
    for name, least in {"rounds": 1, "first": 1, "packs": 1, "steps": 1, "seed": 0}.items():
        require_int(f"--{name}", getattr(given, name), least)
    require_number("--down", given.down, 1)
    lacks = {name: fault.lacks for name, fault in FAULTS.items()}
    for name in filter(lacks.get, names):
        print(f"not tried: {name}, which needs {lacks[name]}")
    if not (kinds := [name for name in names if not lacks.get(name)]):
        raise Unavailable(f"none of the faults {given.faults} can be tried on this machine")
    for ending in (signal.SIGINT, signal.SIGTERM):  # shells have the former ignored by what they run in the background
        signal.signal(ending, signal.default_int_handler)
    logging.disable(logging.WARNING)  # of the observer, which meets poisoned runs and a server that is down
    torch.set_num_threads(1)  # as the trials train, so that their numbers are the same
    drill = Drill(made_home() / "drill" / time.strftime("%Y%m%d-%H%M%S"))
    try:
        return drill.run(kinds, given)
    except KeyboardInterrupt:
        print("interrupted; everything that the drill had started is ended", file=sys.stderr)
        raise
    finally:
        drill.close()


class Drill:
    """The rounds of a drill, and what goes on from round to round: a server, clusters, a small disk."""

    def __init__(self, folder: Path):
        self.folder, self.trees = folder, folder / "trees"
        self.scratch = Path(tempfile.mkdtemp(prefix="drill-"))  # Ray's sockets need a short path
        environment = base_environment(self.scratch)
        self.trees.mkdir(parents=True)
        if shutil.which("cc"):
            source, library = Path(__file__).with_name("clock.c"), self.scratch / "clock.so"
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
            environment["LD_PRELOAD"] = str(library)
        self.processes = Processes(environment)
        self.server = Server(self.processes, folder / "server")
        self._disk: Container | None = None
        self._nodes: dict[str, tuple[Nodes, Container | None]] = {}

    def clock(self, name: str) -> Path:
        """A clock, set right, for the processes that have it as DRILL_CLOCK."""
        path = self.folder / f"{name}.clock"
        with open(path, "r+b" if path.exists() else "wb") as file:
            file.write(bytes(CLOCK_BYTES))
        return path

    def disk(self) -> Container | None:
        """The file system of the working trees, for whom is started in there; None where mounts are not allowed."""
        if self._disk is None and separation():
            log = self.folder / "disk.log"
            self._disk = Container(self.processes, "infoscope-near", log, self.trees, *DISK)
        return self._disk

    def nodes(self, own: bool) -> tuple[Nodes, Container | None]:
        """A cluster, and where its second node runs: on a disk of its own or on that of the first."""
        if own not in self._nodes:
            near, folder = self.disk(), Path(tempfile.mkdtemp(prefix="cluster-", dir=self.folder))
            far = near
            if own:
                far = Container(self.processes, "infoscope-far", folder / "disk.log", self.trees, *DISK)
            clocks = [{"DRILL_CLOCK": str(self.clock(f"node-{number}"))} for number in (1, 2)]
            self._nodes[own] = Nodes(self.processes, folder, 2, SLOTS, (near, far), clocks), far
        return self._nodes[own]

    def end_round(self) -> None:
        """Ends what a round has started, and nothing that goes on."""
        places = [place for _, place in self._nodes.values()] + [self._disk]
        kept = [self.server.process.pid, *(place.session for place in places if place)]
        self.processes.end_all([*kept, *(pid for nodes, _ in self._nodes.values() for pid in nodes.sessions)])

    def run(self, kinds: Sequence[str], words: SimpleNamespace) -> int:
        """Runs, prints and saves the rounds; the exit status."""
        rows, broken = [], 0
        print(f"--seed {words.seed} --first N --rounds 1 repeats round N alone", flush=True)
        for number in range(words.first, words.first + words.rounds):
            one = Round(self, number, kinds[(number - 1) % len(kinds)], (number - 1) // len(kinds) % 2 == 1, words)
            try:
                rows.append(one.run())
            except Exception as error:  # whatever it is, the other rounds can be made
                broken += 1
                print(f"{number:2d} {one.kind}: the round could not be made: {error!r}", flush=True)
                self._disk, self._nodes = None, {}
                self.processes.end_all()  # the server, too: it may be paused
                continue
            self.end_round()
            print(_line(rows[-1]), flush=True)
            pd.DataFrame(rows).to_csv(self.folder / "rounds.csv", index=False)
            if not wrong(rows[-1]):  # of the others everything stays, to find out why
                for path in (one.folder, *one.trees):
                    shutil.rmtree(path, ignore_errors=True)
        if not broken and not any(map(wrong, rows)):
            self.close()
            for path in self.folder.iterdir():
                if path.name != "rounds.csv":
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        return _conclude(rows, broken, self.folder)

    def close(self) -> None:
        """Ends everything that was started."""
        self.processes.end_all()
        shutil.rmtree(self.scratch, ignore_errors=True)


def base_environment(folder: Path) -> dict[str, str]:
    """The environment of every process of a drill: nothing of the caller's Ray or MLflow."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "MLFLOW_", "INFOSCOPE_"))}
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
    """Working trees, drivers of a sweep, faults, the same command again until it is done, a look at the history.

    on_server: whether there is a server, where the fault does not need one.
    """

    def __init__(self, drill: Drill, number: int, kind: str, on_server: bool, words: SimpleNamespace):
        self.drill, self.number, self.kind, self.words = drill, number, kind, words
        self.processes, self.server, self.fault = drill.processes, drill.server, FAULTS[kind]
        self.name = f"drill-{number:02d}-{kind}"
        self.folder, self.ledger = drill.folder / self.name, drill.folder / self.name / "ledger.jsonl"
        self.on_server = on_server or not self.fault.sqlite
        self.client, self.starts, self.hung = MlflowClient(self.server.uri), 0, 0
        self.drivers, self.others, self.clocks = list[Site](), list[Site](), list[Path]()
        self.draw = draw = np.random.default_rng([words.seed, number])
        self.share, self.schedule = draw.uniform(0, self.fault.latest), [(kind, draw.uniform(0, DELAY), words.down)]
        if kind == HISTORY:
            possible = [name for name in MIXED if not FAULTS[name].lacks]
            names = map(str, draw.choice(possible, draw.integers(*MIXED_COUNT, endpoint=True), replace=False))
            self.share, self.schedule = (
                0.0,
                [(name, draw.uniform(0, MIXED_DELAY), draw.uniform(*MIXED_SECONDS)) for name in names],
            )
        bits = ",".join(str(0.5 * (1 + pack)) for pack in range(words.packs))
        self.settings = {"bits": bits, "steps": str(words.steps), "pause": str(self.fault.pause)}

    def run(self) -> dict[str, Any]:
        """A row of the table. done: percentage of the sweep's steps made when the faults began; delay: seconds from
        then until the first; runs: of the command; hung: of these, how many had to be ended; repeated: steps made more
        than once; observed: how often the store was read; seconds: of the whole round; then the cells and the breaches
        of every guarantee. Raises DrillError when the sweep cannot be started or has nothing to be struck.
        """
        began = time.monotonic()
        self.folder.mkdir(parents=True)
        self.ledger.touch()
        self.server.wait()
        with contextlib.closing(Liar(self.server.port)) as self.liar:
            uri = self._lay_out()
            with contextlib.closing(Observer(uri, self.name, self.folder / "seen.jsonl")) as observer:
                struck = self._strike()
                self.server.wait()
                self._finish()
                self._sync()
            named = dataclasses.replace(sweep.SWEEP, name=self.name)
            plan = named.plan(named.profile("laptop", self.settings)[1])
            breaches = observer.history(plan, self.ledger, self.trees).breaches()
        for name, found in breaches.items():
            for one, why in found.items():
                print(f"   {name}: {one}: {why}", flush=True)
        return dict(
            round=self.number,
            fault=self.kind,
            how=self.fault.how,
            store="server" if self.on_server else "sqlite",
            done=round(100 * self.share),
            delay=round(min(delay for _, delay, _ in self.schedule), 2),
            struck=struck,
            runs=self.starts,
            hung=self.hung,
            repeated=self._steps() - self._all_steps(),
            observed=len(observer.seen),
            seconds=round(time.monotonic() - began, 1),
            cells=len(plan),
            **{name: len(found) for name, found in breaches.items()},
        )

    @property
    def trees(self) -> list[Path]:
        return [site.tree for site in (*self.drivers, *self.others)]

    def _lay_out(self) -> str:
        """Makes working trees, and a cluster where the fault needs one; the address of the store as it is."""
        fault, drill, far = self.fault, self.drill, None
        self.nodes = self.disk = None
        if fault.nodes:
            self.nodes, far = drill.nodes(fault.nodes == OWN or fault.nodes == ANY and separation() is not None)
            self.clocks += [drill.clock(f"node-{number}") for number in (1, 2)]
        if fault.nodes or self.kind == "disk":
            self.disk = drill.disk()
        self.drivers = [self.make_driver(f"tree-{number + 1}") for number in range(fault.drivers)]
        if far is not self.disk:
            for site in self.drivers:
                tree = far.inside / self.name / site.tree.name
                self.others.append(dataclasses.replace(site, tree=tree, prefix=far.prefix(site.folder)))
        return self.server.uri if self.on_server else f"sqlite:///{self.drivers[0].tree / 'runs' / 'mlflow.db'}"

    def make_driver(self, name: str) -> Site:
        """A driver that is not started, with an empty working tree but for the sweep's module."""
        folder = self.drill.trees / self.name / name
        tree = self.disk.inside / self.name / name if self.disk else folder
        tree.mkdir(parents=True)
        shutil.copy(sweep.__file__, tree / f"{PROGRAM}.py")
        prefix, clock = self.disk.prefix(folder) if self.disk else [], self.drill.clock(name)
        if self.fault.alike:
            at, log = self.folder / "container", self.folder / f"{name}.log"
            prefix = Container(self.processes, "infoscope-container", log, at, "--bind", str(folder)).prefix(at)
        self.clocks.append(clock)
        variables = {sweep.NAME: self.name, sweep.LEDGER: str(self.ledger), "DRILL_CLOCK": str(clock)}
        variables |= {"MLFLOW_TRACKING_URI": self.liar.uri} if self.on_server else {}
        variables |= {"RAY_ADDRESS": self.nodes.address} if self.nodes else {}
        return Site(tree, folder, prefix, variables)

    def _command(self, site: Site, name: str, *words: str) -> psutil.Popen:
        where, log = self.folder if site.prefix else site.folder, self.folder / f"{name}.log"
        return self.processes.start([*site.prefix, sys.executable, "-m", *words], where, log, **site.variables)

    def start(self, site: Site) -> None:
        """Starts a driver, unless it runs."""
        if not site.lives():
            self.starts += 1
            words = " ".join(f"{name}={text}" for name, text in self.settings.items())
            site.process = self._command(site, f"run-{self.starts}-{site.tree.name}", PROGRAM, "--set", words)

    def any_driver(self) -> Site:
        """A driver that runs. At least one does whenever a fault strikes."""
        living = [site for site in self.drivers if site.lives()]
        return living[self.draw.integers(len(living))]

    def working(self, session: int | None = None) -> Iterator[str]:
        """Yields "" until a worker (in a session) has just made a step; returns its process, and which step."""
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

    def _all_steps(self) -> int:
        return self.words.packs * len(sweep.BOUNDS) * self.words.steps

    def _strike(self) -> str:
        """Starts the drivers and strikes as scheduled; what was struck. Every fault is healed when this returns."""
        strikes = [FAULTS[name].strike(self) for name, _, _ in self.schedule]
        for strike in strikes:
            next(strike)
        for site in self.drivers:
            self.start(site)
        first, steps = self.drivers[0], max(1, round(self.share * self._all_steps()))
        log = self.folder / f"run-1-{first.tree.name}.log"
        wait_until(lambda: self._steps() >= steps, "the sweep does not get so far", RUN_SECONDS, first.process, log)
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
        """Runs the command in every working tree until it has ended well; one that hangs is ended."""
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

    def _sync(self) -> None:
        """Sends what is left, also from the disk of the second node."""
        for site in (*self.drivers, *self.others):
            if any(site.tree.glob(RECORDS)):
                of_node = ["--records", "runs/records"] if site in self.others else []
                self._command(site, "sync", "infoscope", "sync", *of_node).wait(RUN_SECONDS)


def wrong(row: Mapping[str, Any]) -> dict[str, int]:
    """The losses of a round and its runs that had to be ended, with their numbers; empty when nothing is wrong."""
    return {name: row[name] for name in (*LOSSES, "hung") if row[name]}


def _losses(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "nothing lost"


def _line(row: Mapping[str, Any]) -> str:
    return (
        "{round:2d} {fault} ({store}), after {done} % of the steps: {struck}; the command was run {runs} times, "
        "{repeated} steps again, {observed} observations, {seconds:.0f} s: ".format(**row)
        + _losses(wrong(row))
    )


def _conclude(rows: Sequence[Mapping[str, Any]], broken: int, folder: Path) -> int:
    if not rows:
        print("no round could be made")
        return LOST
    table = pd.DataFrame(rows)
    print(f"\n{table.drop(columns=['struck', 'how']).to_string(index=False)}\n")
    for kind, how in table[["fault", "how"]].drop_duplicates().itertuples(index=False):
        print(f"{kind}: {how}")
    totals = sum((Counter(wrong(row)) for row in rows), Counter())
    unmade = f"; {broken} rounds could not be made" if broken else ""
    print(f"{len(rows)} rounds, {table['cells'].sum()} cells: {_losses(totals)}{unmade}")
    print(f"saved: {folder / 'rounds.csv'}")
    return LOST if broken or totals else 0


COMMAND = command("drill", main, [
    option("rounds", type=int, default=20, help="(default: 20)"),
    option("first", type=int, default=1, help="the number of the first round, to make one again (default: 1)"),
    option("seed", type=int, default=0, help="of the moments and victims of the faults (default: 0)"),
    option("faults", default=HISTORY, help=f"in this order, in turn, of {','.join(FAULTS)} (default: {HISTORY})"),
    option("down", type=float, default=60, help="seconds that a single fault lasts (default: 60)"),
    option("packs", type=int, default=2, help="trials of a sweep, of four cells each (default: 2)"),
    option("steps", type=int, default=200, help="of a cell, at least 40 ms each (default: 200)"),
], __doc__)  # fmt: skip
