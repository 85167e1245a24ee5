"""A sweep that measures nothing, to try the scheduling and recording with: `python -m toy_sweep`."""

import os
import signal
import time

import numpy as np

from infoscope.tracking import Profile, Sweep, grid, main


def cells(profile):
    """One cell per value and seed."""
    return grid(value=list(profile.values), seed=list(profile.seeds), kind=profile.kind, steps=profile.steps)


def check(cell):
    if cell["value"] < 0:
        raise ValueError(f"value is {cell['value']}; it must be at least 0")


def trial(pack, report):
    """Reports a curve; the kind says what else happens."""
    state = report.restore() or {"step": 0}
    for step in range(state["step"], pack.steps):
        if pack.kind == "fails-on-1" and pack.value == 1:
            raise RuntimeError(f"value {pack.value} cannot be measured")
        if pack.kind == "dies-once" and not os.path.exists(os.environ["TOY_MARK"]):
            open(os.environ["TOY_MARK"], "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        if pack.kind == "slow":
            time.sleep(0.1)
        for cell in pack.cells:
            report.metrics(cell, {"level": cell["value"] + step / 10}, step)
        report.save(lambda done=step + 1: {"step": done})
        report.progress((step + 1) / pack.steps)
    for cell in pack.cells:
        report.metrics(cell, {"mean": cell["value"], "diverged": np.inf})
        report.table(cell, "trace", {"level": np.arange(pack.steps)})


SWEEP = Sweep(
    "toy",
    cells,
    trial,
    profiles={"smoke": Profile(values=(0, 1, 2), seeds=(0, 1), kind="plain", steps=3)},
    axes=("values", "seeds"),
    pack_by={"cpu": ("value",)},
    check=check,
    best=("mean", "min"),
)

if __name__ == "__main__":
    main(SWEEP)
