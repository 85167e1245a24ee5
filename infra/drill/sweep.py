"""The sweep of the fault drill: critics trained on Gaussian pairs, with two curves, a table and a model per cell.

The estimates depend on the cell alone, so each value can be compared with that of an uninterrupted training. The curve
`attempt` holds a random number that identifies the attempt which reported a step. Every value is written to a separate
ledger before it is reported. The drill copies this file into the working trees of a round.
"""

from __future__ import annotations

import json
import os
import secrets
import time

import numpy as np
import torch

from infoscope.data import GaussianPairs
from infoscope.estimators import Training, make_critic
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.tracking import Pack, Profile, Report, Sweep, grid, main

NAME = "INFOSCOPE_DRILL_NAME"  # variable: the experiment of a round
LEDGER = "INFOSCOPE_DRILL_LEDGER"  # variable: the path of the ledger, JSON lines
BOUNDS = ("js", "smile-1", "smile-5", "smile-inf")  # one training, four cells
CURVE, ATTEMPT, TABLE, MODEL = "estimate_nats", "attempt", "trace", "critic"
DIM = 4


def cells(profile: Profile) -> list[dict]:
    """Four cells per amount of true MI: a pack."""
    return grid(bits=list(profile.bits), bound=list(BOUNDS), steps=profile.steps, pause=profile.pause)


def training(bits: float, steps: int) -> Training:
    """The training of a pack, before its first step."""
    pairs = GaussianPairs(DIM, mutual_information=bits * NATS_PER_BIT)
    seed = round(1000 * bits)
    critic = make_critic("joint", DIM, DIM, depth=1, width=16, generator=torch.Generator().manual_seed(seed))
    return Training(pairs, critic, [BOUNDS], steps, batch=32, generator=torch.Generator().manual_seed(seed + 1))


def trial(pack: Pack, report: Report) -> None:
    """Trains a pack step by step; a pause after each step makes the trial long enough to be interrupted."""
    running, attempt, attempts = training(pack.bits, pack.steps), secrets.randbits(32), []
    cell_of = {SWEEP.key(cell): cell for cell in pack.cells}
    if state := report.restore():
        running.load_state_dict(state["training"])
        attempts = list(state["attempts"])
    origin = {"origin": attempts[-1] if attempts else None, "step": running.done}
    note([{"op": "begin", "key": key, "attempt": attempt} | origin for key in cell_of])
    while running.done < running.total:
        running.advance(1)
        attempts.append(attempt)
        values = {key: float(running.trace.of(cell["bound"])[-1]) for key, cell in cell_of.items()}
        entry = {"op": "report", "attempt": attempt, "step": running.done - 1}
        note([entry | {"key": key, "value": value} for key, value in values.items()])
        for key, cell in cell_of.items():
            report.metrics(cell, {CURVE: values[key], ATTEMPT: attempt}, running.done - 1)
        report.save(lambda: {"training": running.state_dict(), "attempts": attempts})
        report.progress(running.done / running.total)
        time.sleep(pack.pause)
    for cell in pack.cells:
        report.table(cell, TABLE, {CURVE: running.trace.of(cell["bound"]), ATTEMPT: np.array(attempts, float)})
    example = {"x": np.zeros((2, DIM), np.float32), "y": np.zeros((2, DIM), np.float32)}
    report.model(pack.cells, MODEL, running.critic, example)


def note(entries: list[dict]) -> None:
    """Appends lines to the ledger in one write."""
    with open(os.environ[LEDGER], "a") as file:
        file.write("".join(json.dumps({"pid": os.getpid(), **entry}) + "\n" for entry in entries))


PROFILE = Profile(bits=(0.5, 1.0), steps=150, pause=0.04)
SWEEP = Sweep(
    os.environ.get(NAME, "drill"),
    cells,
    trial,
    {"laptop": PROFILE},
    axes=("bits",),
    pack_by={"cpu": ("bits",), "gpu": ("bits",)},
)

if __name__ == "__main__":
    main(SWEEP)
