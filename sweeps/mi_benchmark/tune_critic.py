"""Which estimator should I use for data like mine? A search over estimators, critics and their training.

Optuna proposes the bound, learning rate, width, depth and batch size, and ASHA stops the worse trials early. The search
minimises the error of the latest estimates at a known mutual information, in the domain that is most similar to your
data: SET="domain=text bits=6".
"""

from __future__ import annotations

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from infoscope.tracking import Profile, Search, asha
from sweeps.mi_benchmark._benchmark import LAPTOP, PUBLISHED, SMOKE, sweep, training_cells
from sweeps.mi_benchmark.settings import ESTIMATORS, SEARCHED

SPACE = dict(domain="images", bits=4.0, depths=(1, 4), widths=(32, 512), batches=(32, 64, 128), bounds=ESTIMATORS)

PROFILES = {
    "smoke": Profile(
        **SMOKE | SPACE | dict(trials=6, steps=60, widths=(8, 16), batches=(16, 32), bounds=("js", "smile-inf", "dv"))
    ),
    "laptop": Profile(**LAPTOP | SPACE | dict(trials=40, widths=(16, 128), steps=2000)),
    "paper": Profile(**PUBLISHED | SPACE | dict(trials=200)),
}


def cells(profile: Profile) -> list[dict]:
    """The fields that all trials share."""
    fixed = training_cells(profile, profile.domain, bound="dv", seed=0, schedule_bits=(profile.bits,))[0]
    return [{name: value for name, value in fixed.items() if name not in SEARCHED}]


def space(profile: Profile) -> dict:
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
        "recent_mse_bits2", "min", scheduler=asha, space=space, trials=lambda profile: profile.trials, seed=0
    ),
)
