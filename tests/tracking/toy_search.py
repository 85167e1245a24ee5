"""A search of a space without any science: `python -m toy_search --set "trials=6"`."""

import math
import time
from dataclasses import dataclass

from optuna.distributions import CategoricalDistribution, FloatDistribution

from infoscope.tracking import Profile, Search, Sweep, asha, main


def cells(profile):
    """The fixed values."""
    return [{"steps": profile.steps, "seed": 0}]


def space(profile):
    """Best at rate 0.01 and kind "good". Declared in Optuna's and in Ray Tune's way."""
    from ray import tune

    return {
        "rate": FloatDistribution(1e-4, 1.0, log=True),
        "width": tune.randint(1, 9),
        "kind": CategoricalDistribution(["good", "bad", "broken"]),
    }


def loss(cell):
    """Lowest, 0, at the best of the space."""
    return abs(math.log10(cell["rate"]) + 2) + (cell["kind"] != "good")


def trial(pack, report):
    """A loss that falls towards the cell's own."""
    if pack.kind == "broken":
        raise RuntimeError("this kind cannot be measured")
    for step in range(1, pack.steps + 1):
        time.sleep(0.01)
        report.progress(step / pack.steps, loss=loss(pack.cells[0]) + 1 / step)
    report.metrics(pack.cells[0], {"final_loss": loss(pack.cells[0])})


@dataclass(frozen=True)
class SearchProfile(Profile):
    trials: int = 8
    steps: int = 30


PROFILE = SearchProfile()
SWEEP = Sweep(
    "toy-search",
    cells,
    trial,
    {"smoke": PROFILE, "laptop": PROFILE},
    axes=("trials",),
    search=Search(
        "loss", "min", asha, space=space, trials=lambda profile: profile.trials, seed=1
    ),
)

if __name__ == "__main__":
    main(SWEEP)
