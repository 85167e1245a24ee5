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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from infoscope.tracking.store.store import made_home
from infra.drill.faults import FAULTS
from infra.drill.places import DrillError, Server, separation
from infra.drill.processes import Processes
from infra.drill.rounds import Round, Settings, base_environment, reference, wrong

LOST, INTERRUPTED = 1, 130
TABLE = "rounds.csv"


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
    names = words.faults.split(",")
    if unknown := [name for name in names if name not in FAULTS]:
        parser.error(f"--faults must be among {', '.join(FAULTS)}, got {unknown[0]!r}")
    if min(words.rounds, words.packs, words.steps, words.down) < 1 or words.seed < 0:
        parser.error("--rounds, --packs, --steps and --down must be at least 1, --seed at least 0")
    kinds = [name for name in names if separation() or not FAULTS[name]().needs_mounts]
    if left_out := set(names) - set(kinds):
        print(f"not tried without mount namespaces (unshare --mount --uts): {', '.join(sorted(left_out))}")
    if not kinds:
        parser.error(f"none of the faults {words.faults} can be tried on this machine")
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


def drill(folder: Path, kinds: list[str], rounds: int, seed: int, settings: Settings) -> int:
    """Runs, prints and saves the rounds, and ends all of its processes."""
    processes, rows, turns, broken = Processes(), [], Counter(), 0
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
                rows.append(one.run(folder, processes, server, environment))
            except DrillError as error:
                broken += 1
                print(f"{number:2d} {kind}: the round could not be made: {error}", flush=True)
                continue
            print(_line(rows[-1]), flush=True)
            pd.DataFrame(rows).to_csv(folder / TABLE, index=False)
            if not wrong(rows[-1]):
                shutil.rmtree(folder / one.name)  # of the others everything stays, to find out why
    finally:
        processes.end_all()
        shutil.rmtree(scratch, ignore_errors=True)
    if not broken and not any(map(wrong, rows)):
        shutil.rmtree(folder / "server")
    return _conclude(rows, broken, folder)


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
    print(f"saved: {folder / TABLE}")
    return LOST if broken or totals else 0


if __name__ == "__main__":
    sys.exit(main())
