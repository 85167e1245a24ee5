"""The sweep of the fault drill: critics trained on Gaussian pairs, with a curve, a table and a model per cell.

Every number follows from the cell alone, so that a curve which was interrupted and continued can be compared, value by
value, with one that was not. The drill copies this file into the working tree of each round.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence

import numpy as np
import torch

from infoscope.data import GaussianPairs
from infoscope.estimators import Training, make_critic
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.tracking import Pack, Profile, Report, Sweep, grid, main

NAME = "INFOSCOPE_DRILL_NAME"  # the experiment of a round
LEDGER = "INFOSCOPE_DRILL_LEDGER"  # a file to which every step made is noted, whatever becomes of its record
BOUNDS = ("js", "smile-5")  # one training, two cells
CURVE, TABLE, MODEL = "estimate_nats", "trace", "critic"
DIM = 4


def cells(profile: Profile) -> list[dict]:
    """Two cells per amount of true MI: a pack."""
    return grid(bits=list(profile.bits), bound=list(BOUNDS), steps=profile.steps, pause=profile.pause)


def training(bits: float, bounds: Sequence[str], steps: int) -> Training:
    """The training of a pack, from its beginning."""
    pairs = GaussianPairs(DIM, mutual_information=bits * NATS_PER_BIT)
    seed = round(1000 * bits)
    critic = make_critic("joint", DIM, DIM, depth=1, width=16, generator=torch.Generator().manual_seed(seed))
    return Training(pairs, critic, [tuple(bounds)], steps, batch=32, generator=torch.Generator().manual_seed(seed + 1))


def trial(pack: Pack, report: Report) -> None:
    """A pause after every step makes the trial long enough to be struck, on machines slow and fast."""
    running = training(pack.bits, [cell["bound"] for cell in pack.cells], pack.steps)
    if state := report.restore():
        running.load_state_dict(state)
    while running.done < running.total:
        running.advance(1)
        note(pack.bits, running.done - 1)
        for cell in pack.cells:
            report.metrics(cell, {CURVE: running.trace.of(cell["bound"])[-1]}, running.done - 1)
        report.save(running.state_dict)
        report.progress(running.done / running.total)
        time.sleep(pack.pause)
    for cell in pack.cells:
        report.table(cell, TABLE, {CURVE: running.trace.of(cell["bound"])})
    example = {"x": np.zeros((2, DIM), np.float32), "y": np.zeros((2, DIM), np.float32)}
    report.model(pack.cells, MODEL, running.critic, example)


def note(bits: float, step: int) -> None:
    """A line in the ledger; a disk that is full shall fail in the record, not here."""
    if LEDGER in os.environ:
        with contextlib.suppress(OSError), open(os.environ[LEDGER], "a") as file:
            file.write(f"{os.getpid()} {bits} {step}\n")


PROFILE = Profile(bits=(0.5, 1.0, 1.5, 2.0), steps=250, pause=0.04)
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
