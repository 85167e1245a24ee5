"""Strikes sweeps by real faults at random moments, runs the same command again, and checks that nothing was lost."""

from __future__ import annotations

import dataclasses
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import psutil
import torch

from infoscope.checks import one_of, require_int, require_number
from infoscope.command_line import command, option
from infoscope.errors import Unavailable
from infoscope.tracking.record import made_home
from infra.drill import sweep
from infra.drill.faults import FAULTS, PROGRAM, Scene
from infra.drill.places import DrillError, Processes, Server, wait_until
from infra.drill.reading import LOSSES, read

LOST = 1
RUNS = 4  # of the command: the one that is struck, and at most three more
RUN_SECONDS, DELAY_SECONDS = 1800.0, 1.5  # also where eight others want the machine


def main(given: SimpleNamespace) -> int:
    """The exit status: 0 when nothing was lost, 1 on losses or failed rounds."""
    names = [one_of("--faults", name, FAULTS) for name in given.faults.split(",")]
    for name, least in {"rounds": 1, "packs": 1, "steps": 1, "seed": 0}.items():
        require_int(f"--{name}", getattr(given, name), least)
    require_number("--down", given.down, 1)
    kinds = [name for name in names if FAULTS[name].can_strike()]
    for name in sorted(set(names) - set(kinds)):
        print(f"not tried: {name}, which needs {FAULTS[name].needs}")
    if not kinds:
        raise Unavailable(f"none of the faults {given.faults} can be tried on this machine")
    for ending in (signal.SIGINT, signal.SIGTERM):  # shells have the former ignored by what they run in the background
        signal.signal(ending, signal.default_int_handler)
    torch.set_num_threads(1)  # as the trials train, so that their numbers are the same
    try:
        return drill(made_home() / "drill" / time.strftime("%Y%m%d-%H%M%S"), kinds, given)
    except KeyboardInterrupt:
        print("interrupted; everything that the drill had started is ended", file=sys.stderr)
        raise


def drill(folder: Path, kinds: list[str], words: SimpleNamespace) -> int:
    """Runs, prints and saves the rounds, and ends all of its processes."""
    processes, rows, broken = Processes(), [], 0
    scratch = Path(tempfile.mkdtemp(prefix="drill-"))  # Ray's sockets need a short path
    try:
        environment = base_environment(scratch)
        server = Server(processes, folder / "server", environment)
        for number in range(words.rounds):
            one = Round(number, kinds, words)
            try:
                rows.append(one.run(folder, processes, server, environment))
            except DrillError as error:
                broken += 1
                print(f"{number + 1:2d} {one.kind}: the round could not be made: {error}", flush=True)
                continue
            print(_line(rows[-1]), flush=True)
            pd.DataFrame(rows).to_csv(folder / "rounds.csv", index=False)
            if not wrong(rows[-1]):
                shutil.rmtree(folder / one.name)  # of the others everything stays, to find out why
    finally:
        processes.end_all()
        shutil.rmtree(scratch, ignore_errors=True)
    if not broken and not any(map(wrong, rows)):
        shutil.rmtree(folder / "server")
    return _conclude(rows, broken, folder)


def base_environment(folder: Path) -> dict[str, str]:
    """The environment of every process of a drill: nothing of the caller's Ray or MLflow."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "MLFLOW_", "INFOSCOPE_"))}
    return kept | {
        "RAY_TMPDIR": str(folder),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        "INFOSCOPE_CHECKPOINT_SECONDS": "1",
        "INFOSCOPE_STORED_CHECKPOINT_SECONDS": "1",
    }


class Round:
    """A fresh working tree, a sweep, a fault, the same command again until it is done, a look at the store."""

    def __init__(self, number: int, kinds: Sequence[str], words: SimpleNamespace):
        turn, place = divmod(number, len(kinds))
        self.number, self.kind, self.words, self.hung = number + 1, kinds[place], words, 0
        self.fault, self.name = FAULTS[self.kind], f"drill-{self.number:02d}-{self.kind}"
        self.on_server = not self.fault.sqlite or turn % 2 == 1
        generator = np.random.default_rng([words.seed, self.number])
        self.share = generator.uniform(0, self.fault.latest)
        self.delay = generator.uniform(0, DELAY_SECONDS)  # trials also begin, end and send, when no step is made
        bits = ",".join(str(0.5 * (1 + pack)) for pack in range(words.packs))
        self.settings = {"bits": bits, "steps": str(words.steps), "pause": str(self.fault.pause)}

    def run(self, folder: Path, processes: Processes, server: Server, environment: Mapping[str, str]) -> dict[str, Any]:
        """A row of the table. done: percentage of the sweep's steps made when the fault was drawn; delay: seconds from
        then until it struck; runs: of the command; hung: of these, how many had to be ended; repeated: steps made more
        than once; seconds: of the whole round; then the cells and losses of `read`. Raises DrillError when the sweep
        cannot be started or has nothing to be struck.
        """
        began, of_all = time.monotonic(), self.words.packs * self.words.steps
        scene = Scene(processes, server, folder / self.name, self.words.down, dict(environment))
        scene.environment |= {sweep.NAME: self.name, sweep.LEDGER: str(scene.ledger)}
        if self.on_server:
            server.wait()
            scene.environment["MLFLOW_TRACKING_URI"] = server.uri
        strike = self.fault.strike(scene)
        try:
            next(strike)
            scene.driver = self._start(scene, 1, scene.tree, scene.prefix)
            scene.others = [self._start(scene, 1, *beside) for beside in scene.beside.items()]
            self._await(scene, max(1, round(self.share * of_all)))
            struck = next(strike)
            for runs in range(1, RUNS + 1):
                if runs > 1:
                    scene.driver = self._start(scene, runs, scene.tree, scene.prefix)
                if self._finish(scene, scene.driver):
                    break
                self._finish_others(scene)
            self._finish_others(scene)
            for tree in scene.trees:  # where a driver has died, and nobody has gone on
                if tree != scene.tree and any(tree.glob("runs/records/*/*/record.jsonl")):
                    command = [sys.executable, "-m", "infoscope", "sync"]
                    self._finish(scene, processes.start(command, tree, scene.environment, scene.folder / "sync.log"))
        finally:
            strike.close()
            processes.end_all(but=server.process.pid)
        named = dataclasses.replace(sweep.SWEEP, name=self.name)
        plan = named.plan(named.profile("laptop", self.settings)[1])
        uri = server.uri if self.on_server else f"sqlite:///{scene.tree / 'runs' / 'mlflow.db'}"
        return dict(
            round=self.number,
            fault=self.kind,
            how=self.fault.how,
            store="server" if self.on_server else "sqlite",
            done=round(100 * self.share),
            delay=round(self.delay, 2),
            struck=struck,
            runs=runs,
            hung=self.hung,
            repeated=len(scene.steps()) - of_all,
            seconds=round(time.monotonic() - began, 1),
            **read(uri, self.name, plan, scene.trees),
        )

    def _await(self, scene: Scene, steps: int) -> None:
        log = scene.folder / "run-1-tree.log"
        driver = None if scene.others else scene.driver  # of several drivers one may be refused
        wait_until(lambda: len(scene.steps()) >= steps, "the sweep does not get so far", RUN_SECONDS, driver, log)
        time.sleep(self.delay)
        if driver and driver.poll() is not None:
            raise DrillError(f"the sweep had ended before the fault could strike:\n{log.read_text()[-800:]}")

    def _start(self, scene: Scene, runs: int, tree: Path, prefix: list[str]) -> psutil.Popen:
        words = " ".join(f"{name}={text}" for name, text in self.settings.items())
        command = [*prefix, sys.executable, "-m", PROGRAM, "--set", words]
        return scene.processes.start(command, tree, scene.environment, scene.folder / f"run-{runs}-{tree.name}.log")

    def _finish(self, scene: Scene, driver: psutil.Popen) -> bool:
        """Waits for a command and ends it when it hangs; whether it ended well."""
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


def wrong(row: Mapping[str, Any]) -> dict[str, int]:
    """The losses of a round and its runs that had to be ended, with their numbers; empty when nothing is wrong."""
    return {name: row[name] for name in (*LOSSES, "hung") if row[name]}


def _losses(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "nothing lost"


def _line(row: Mapping[str, Any]) -> str:
    return (
        "{round:2d} {fault} ({store}), {delay:.1f} s after {done} % of the steps: {struck}; the command was run {runs} "
        "times, {repeated} steps again, {seconds:.0f} s: ".format(**row)
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
    option("seed", type=int, default=0, help="of the moments at which the faults strike (default: 0)"),
    option("faults", default=",".join(FAULTS), help="in this order, in turn (default: all)"),
    option("down", type=float, default=60, help="seconds that the server is away (default: 60)"),
    option("packs", type=int, default=4, help="trials of a sweep, of two cells each (default: 4)"),
    option("steps", type=int, default=250, help="of a cell, at least 40 ms each (default: 250)"),
], __doc__)  # fmt: skip
