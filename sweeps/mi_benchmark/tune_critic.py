"""Which estimator should I use for data like mine? A search over estimators, critics
and their training.

Optuna proposes the bound, learning rate, width, depth and batch size, and ASHA stops
the worse trials early. The search minimises the error of the latest estimates at a
known mutual information, in the domain that is most similar to your data:
SET="domain=text bits=6".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from optuna.distributions import (
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from infoscope.tracking import Search, asha
from sweeps.mi_benchmark._benchmark import sweep, training_cells
from sweeps.mi_benchmark._cells import (
    BenchmarkProfile,
    TrainingCell,
    for_laptop,
    for_smoke,
)
from sweeps.mi_benchmark.settings import SEARCHED


@dataclass(frozen=True)
class TuningProfile(BenchmarkProfile):
    """The pairs, and the space of the search."""

    domain: str = "images"
    bits: float = 4.0  # true mutual information
    depths: tuple[int, ...] = (1, 4)  # lowest and highest
    widths: tuple[int, ...] = (32, 512)  # lowest and highest
    batches: tuple[int, ...] = (32, 64, 128)
    trials: int = 200


PAPER = TuningProfile()
PROFILES = {
    "smoke": replace(
        for_smoke(PAPER),
        trials=6,
        steps=60,
        widths=(8, 16),
        batches=(16, 32),
        bounds=("js", "smile-inf", "dv"),
    ),
    "laptop": replace(for_laptop(PAPER), trials=40, widths=(16, 128), steps=2000),
    "paper": PAPER,
}


def cells(profile: TuningProfile) -> list[TrainingCell]:
    """The fields that all trials share."""
    (cell,) = training_cells(
        profile, profile.domain, bound="dv", seed=0, schedule_bits=(profile.bits,)
    )
    return [cell.replaced(dict.fromkeys(SEARCHED))]


def space(profile: TuningProfile) -> dict:
    """The search space."""
    return {
        "bound": CategoricalDistribution(profile.bounds),
        "learning_rate": FloatDistribution(1e-4, 1e-2, log=True),
        "width": IntDistribution(*profile.widths, log=True),
        "depth": IntDistribution(*profile.depths),
        "batch": CategoricalDistribution(profile.batches),
    }


SWEEP = sweep(
    "tune-critic",
    cells,
    PROFILES,
    axes=("trials",),
    share=(),
    ranges=("depths", "widths"),
    search=Search(
        "recent_mse_bits2",
        "min",
        scheduler=asha,
        space=space,
        trials=lambda profile: profile.trials,
        seed=0,
    ),
)
