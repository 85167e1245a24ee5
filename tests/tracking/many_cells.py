"""A sweep of thousands of cells that take no time: `python -m many_cells --set
"count=5000"`.
"""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from infoscope.tracking import Profile, Sweep, grid, main


def cells(profile):
    """One cell per number; those listed as fatal kill their worker, whenever they run."""
    return grid(
        number=list(range(profile.count)), fatal=",".join(map(str, profile.fatal))
    )


def trial(pack, report):
    """A short curve and a few numbers. Leaves a file that names the trial of Ray Tune."""
    from ray import tune

    cell = pack.cells[0]
    if "TRIALS" in os.environ:
        Path(os.environ["TRIALS"], tune.get_context().get_trial_id()).touch()
    for step in range(10):
        report.metrics(cell, {"level": cell["number"] + step / 10}, step)
    if str(cell["number"]) in cell["fatal"].split(","):
        os.kill(os.getpid(), signal.SIGKILL)
    if cell["number"] % 25 == 13:
        raise ArithmeticError(f"{cell['number']} has no result")
    report.metrics(cell, {"mean": cell["number"], "bias": 0.25, "variance": 0.5})


@dataclass(frozen=True)
class ManyProfile(Profile):
    count: int = 100
    fatal: tuple[int, ...] = (-1,)


PROFILE = ManyProfile()
SWEEP = Sweep(
    "many", cells, trial, {"smoke": PROFILE, "laptop": PROFILE}, axes=("count",)
)

if __name__ == "__main__":
    main(SWEEP)
