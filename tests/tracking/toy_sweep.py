"""A sweep that measures nothing, to try scheduling and recording: `python -m toy_sweep
--set "kinds=plain,fails"`.
"""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from infoscope.tracking import Profile, Sweep, grid, main


def cells(profile):
    """One cell per kind of behaviour and seed."""
    return grid(kind=list(profile.kinds), seed=list(profile.seeds), steps=profile.steps)


def check(cell):
    if cell["steps"] < 1:
        raise ValueError(f"steps is {cell['steps']}; it must be at least 1")


def trial(pack, report):
    """Reports a curve; the kind says what else happens."""
    state = report.restore() or {"step": 0}
    if pack.kind == "slow":
        Path("started-" + str(state["step"])).touch()
    for step in range(state["step"], pack.steps):
        if pack.kind == "fails":
            raise RuntimeError("this kind cannot be measured")
        if pack.kind == "dies" and not Path("died").exists():
            Path("died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if pack.kind == "slow":
            time.sleep(0.05)
        for cell in pack.cells:
            report.metrics(cell, {"level": cell["seed"] + step / 10}, step)
        report.save(lambda done=step + 1: {"step": done})
        report.progress(
            (step + 1) / pack.steps, level=pack.cells[0]["seed"] + step / 10
        )
    for cell in pack.cells:
        report.metrics(cell, {"mean": cell["seed"], "infinite": np.inf})
        report.table(cell, "trace", {"level": np.arange(pack.steps)})


@dataclass(frozen=True)
class ToyProfile(Profile):
    kinds: tuple[str, ...] = ("plain",)
    seeds: tuple[int, ...] = (0, 1)
    steps: int = 3


PROFILE = ToyProfile()
SWEEP = Sweep(
    "toy",
    cells,
    trial,
    {"smoke": PROFILE, "laptop": PROFILE},
    axes=("kinds", "seeds"),
    pack_by={"cpu": ("kind",)},
    check=check,
)

if __name__ == "__main__":
    main(SWEEP)
