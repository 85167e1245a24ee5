"""Strikes sweeps by real faults at random moments, runs the same command again, and checks the history: nothing that a
trial has reported may be lost, doubled or changed (`infra.drill.history`). A round of `history` has two drivers on a
cluster of two nodes, and several faults at once.
"""

from __future__ import annotations

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
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pandas as pd
import torch

from infoscope.checks import one_of
from infoscope.command_line import command, option
from infoscope.errors import Unavailable
from infoscope.tracking.record import made_home
from infra.drill.faults import FAULTS, HISTORY, SHARED, set_clock
from infra.drill.history import LOSSES
from infra.drill.places import DISK, Container, Nodes, Processes, Server, separation
from infra.drill.round import Round

LOST = 1
SLOTS = 4  # of a node: as many trials at once as two drivers have


def main(given: SimpleNamespace) -> int:
    """The exit status: 0 when nothing was lost, 1 on losses or failed rounds."""
    names = [one_of("--faults", name, FAULTS) for name in given.faults.split(",")]
    lacks = {name: FAULTS[name].lacks for name in names}
    for name in filter(lacks.get, lacks):
        print(f"not tried: {name}, which needs {lacks[name]}")
    kinds = [name for name in names if not lacks[name]]
    if not kinds:
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
        self.trees.mkdir(parents=True)
        self.scratch = Path(tempfile.mkdtemp(prefix="drill-"))  # Ray's sockets need a short path
        self.processes = Processes(base_environment(self.scratch))
        self.server = Server(self.processes, folder / "server")
        self._disk: Container | None = None
        self._clusters: dict[bool, tuple[Nodes, Container | None, Container | None]] = {}

    def clock(self, name: str) -> Path:
        """A clock, set right, for the processes that have it as DRILL_CLOCK."""
        path = self.folder / f"{name}.clock"
        set_clock(path, 0)
        return path

    def disk(self) -> Container | None:
        """The file system of the working trees, for whom is started in there; None where mounts are not allowed."""
        if self._disk is None and separation():
            self._disk = Container(self.processes, "infoscope-near", self.folder / "disk.log", self.trees, *DISK)
        return self._disk

    def cluster(self, kind: str) -> tuple[Nodes, Container | None, Container | None]:
        """A cluster, and where its nodes run. kind: `Fault.nodes`."""
        own = kind != SHARED and separation() is not None
        if own not in self._clusters:
            near = far = self.disk()
            folder = Path(tempfile.mkdtemp(prefix="cluster-", dir=self.folder))
            if own:
                far = Container(self.processes, "infoscope-far", folder / "disk.log", self.trees, *DISK)
            containers = {1: near, 2: far} if near else {}
            clocks = {number: self.clock(f"node-{number}") for number in (1, 2)}
            self._clusters[own] = Nodes(self.processes, folder, 2, SLOTS, containers, clocks), near, far
        return self._clusters[own]

    def _kept(self) -> list[int]:
        """The sessions that go on after a round."""
        kept = [self.server.process.pid, *([self._disk.session] if self._disk else [])]
        for nodes, _, far in self._clusters.values():
            kept += [process.pid for process in nodes.started.values()] + ([far.session] if far else [])
        return kept

    def run(self, kinds: Sequence[str], words: SimpleNamespace) -> int:
        """Runs, prints and saves the rounds; the exit status."""
        rows, broken = [], 0
        print(f"--seed {words.seed} --first N --rounds 1 repeats round N alone", flush=True)
        for number in range(words.first, words.first + words.rounds):
            turn, place = divmod(number - 1, len(kinds))
            one = Round(self, number, kinds[place], turn, words)
            try:
                rows.append(one.run())
            except Exception as error:  # whatever it is, the other rounds can be made
                broken += 1
                print(f"{number:2d} {one.kind}: the round could not be made: {error!r}", flush=True)
                self._disk, self._clusters = None, {}
                self.processes.end_all()  # the server, too: it may be paused
                continue
            self.processes.end_all(self._kept())
            print(_line(rows[-1]), flush=True)
            pd.DataFrame(rows).to_csv(self.folder / "rounds.csv", index=False)
            if not wrong(rows[-1]):  # of the others everything stays, to find out why
                for path in (one.folder, *(tree.parent for tree in one.trees)):
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
    """The environment of every process of a drill: nothing of the caller's Ray or MLflow, and a clock that can be
    moved where there is a C compiler.
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


def wrong(row: Mapping[str, Any]) -> dict[str, int]:
    """The losses of a round and its runs that had to be ended, with their numbers; empty when nothing is wrong."""
    return {name: row[name] for name in (*LOSSES, "hung") if row[name]}


def _losses(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "nothing lost"


def _line(row: Mapping[str, Any]) -> str:
    return (
        "{round:2d} {fault} ({store}), after {done} % of the steps: {struck}; the command was run {runs} times, "
        "{repeated} steps again, {observed} observations, {seconds} s: ".format(**row)
        + _losses(wrong(row))
    )


def _conclude(rows: Sequence[Mapping[str, Any]], broken: int, folder: Path) -> int:
    if not rows:
        print("no round could be made")
        return LOST
    table = pd.DataFrame(rows)
    print(f"\n{table.drop(columns='struck').to_string(index=False)}\n")
    totals = sum((Counter(wrong(row)) for row in rows), Counter())
    unmade = f"; {broken} rounds could not be made" if broken else ""
    print(f"{len(rows)} rounds, {table['cells'].sum()} cells: {_losses(totals)}{unmade}")
    print(f"saved: {folder / 'rounds.csv'}")
    return LOST if broken or totals else 0


WHOLE = click.IntRange(min=1)
COMMAND = command("drill", main, [
    option("rounds", type=WHOLE, default=20, help="(default: 20)"),
    option("first", type=WHOLE, default=1, help="the number of the first round, to make one again (default: 1)"),
    option("seed", type=click.IntRange(min=0), default=0, help="of the moments and victims of the faults (default: 0)"),
    option("faults", default=HISTORY, help=f"in this order, in turn, of {','.join(FAULTS)} (default: {HISTORY})"),
    option("down", type=click.FloatRange(min=1), default=60, help="seconds that a single fault lasts (default: 60)"),
    option("packs", type=WHOLE, default=2, help="trials of a sweep, of four cells each (default: 2)"),
    option("steps", type=WHOLE, default=200, help="of a cell, at least 40 ms each (default: 200)"),
], __doc__)  # fmt: skip
