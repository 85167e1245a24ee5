"""Strikes sweeps by real faults at random moments, runs the same command again, and checks that nothing was lost."""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pandas as pd
import torch

from infoscope.errors import InvalidInput, OutOfRange
from infoscope.tracking.store.store import made_home
from infra.drill.faults import FAULTS, parse
from infra.drill.places import DrillError, Server
from infra.drill.processes import Processes
from infra.drill.rounds import Result, Round, Settings, base_environment, reference

LOST, BAD_INPUT, INTERRUPTED = 1, 2, 130


def main() -> int:
    """Returns 0 when nothing was lost, 1 on losses or failed rounds, 2 on bad input, 130 when interrupted."""
    parser = argparse.ArgumentParser(prog="python -m infra.drill", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="(default: 20)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments at which the faults strike (default: 0)")
    parser.add_argument(
        "--faults", default=",".join(FAULTS), help=f"in this order, in turn (default: {','.join(FAULTS)})"
    )
    parser.add_argument("--down", type=float, default=60, help="seconds that the server is away (default: 60)")
    parser.add_argument("--packs", type=int, default=4, help="trials of a sweep, of two cells each (default: 4)")
    parser.add_argument("--steps", type=int, default=250, help="of a cell, at least 40 ms each (default: 250)")
    words = parser.parse_args()
    try:
        kinds = [kind for kind in parse(words.faults) if _possible(kind)]
        numbers = {"rounds": words.rounds, "packs": words.packs, "steps": words.steps, "down": words.down}
        if small := [name for name, value in numbers.items() if value < 1]:
            raise OutOfRange(f"{small[0]} must be at least 1, got {numbers[small[0]]}")
        if words.seed < 0:
            raise InvalidInput(f"seed must not be negative, got {words.seed}")
        if not kinds:
            raise ValueError(f"none of the faults {words.faults} can be tried on this machine")
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    for ending in (signal.SIGINT, signal.SIGTERM):  # shells have the former ignored by what they run in the background
        signal.signal(ending, _interrupt)
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    torch.set_num_threads(1)  # as the trials train, so that their numbers are the same
    folder = made_home() / "drill" / time.strftime("%Y%m%d-%H%M%S")
    settings = Settings(words.packs, words.steps, words.down)
    try:
        return drill(folder, kinds, words.rounds, words.seed, settings)
    except KeyboardInterrupt:
        print("interrupted; everything that the drill had started is ended", file=sys.stderr)
        return INTERRUPTED


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _possible(kind: str) -> bool:
    if reason := FAULTS[kind]().missing():
        print(f"not tried: {kind}: {reason}")
    return reason is None


def drill(folder: Path, kinds: list[str], rounds: int, seed: int, settings: Settings) -> int:
    """Runs, prints and saves the rounds, and ends all of its processes."""
    processes, results, turns, broken = Processes(), [], Counter(), 0
    scratch = Path(tempfile.mkdtemp(prefix="drill-"))  # Ray's sockets need a short path
    try:
        environment = base_environment(scratch, secrets.token_hex(32))
        server = Server(processes, folder / "server", environment)
        reference(settings)
        for number in range(1, rounds + 1):
            kind = kinds[(number - 1) % len(kinds)]
            one = Round(number, kind, turns[kind], settings, seed)
            turns[kind] += 1
            try:
                results.append(one.run(folder, processes, server, environment))
            except DrillError as error:
                broken += 1
                print(f"{number:2d} {kind}: the round could not be made: {error}", flush=True)
                continue
            print(_line(results[-1]), flush=True)
            _save(results, folder)
            if not results[-1].wrong():
                shutil.rmtree(folder / one.name)  # of the others everything stays, to find out why
    finally:
        processes.end_all()
        shutil.rmtree(scratch, ignore_errors=True)
    if not broken and not any(result.wrong() for result in results):
        shutil.rmtree(folder / "server")
    return _conclude(results, broken, folder)


def _line(result: Result) -> str:
    wrong = [f"{count} {name}" for name, count in result.wrong().items()]
    times = "once" if result.runs == 1 else f"{result.runs} times"
    return (
        f"{result.round:2d} {result.fault} ({result.store}), {result.delay:.1f} s after {result.done} % of the steps: "
        f"{result.struck}; the command was run {times}, {result.repeated} steps again, {result.seconds:.0f} s: "
        f"{', '.join(wrong) or 'nothing lost'}"
    )


def _save(results: list[Result], folder: Path) -> pd.DataFrame:
    table = pd.DataFrame([result.row() for result in results])
    table.to_csv(folder / "rounds.csv", index=False)
    return table


def _conclude(results: list[Result], broken: int, folder: Path) -> int:
    if not results:
        print("no round could be made")
        return LOST
    table = _save(results, folder)
    print(f"\n{table.drop(columns=['struck', 'how']).to_string(index=False)}\n")
    for kind, how in table[["fault", "how"]].drop_duplicates().itertuples(index=False):
        print(f"{kind}: {how}")
    totals = sum((Counter(result.wrong()) for result in results), Counter())
    told = ", ".join(f"{count} {name}" for name, count in totals.items()) or "nothing lost"
    unmade = f"; {broken} rounds could not be made" if broken else ""
    print(f"{len(results)} rounds, {table['cells'].sum()} cells: {told}{unmade}")
    print(f"saved: {folder / 'rounds.csv'}")
    return LOST if broken or totals else 0


if __name__ == "__main__":
    sys.exit(main())
