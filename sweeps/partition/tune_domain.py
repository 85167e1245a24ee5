"""Which settings suit a model of data with domains? A search by Optuna and ASHA with a
given selection rule.

"training-domain-validation" uses the accuracy on unseen items of the training domains,
which is available in practice. "oracle" uses the held-out domain itself, so it is no
fair measure of generalisation: it shows how far the settings could be improved if that
domain were known (Gulrajani & Lopez-Paz 2021, section 3). The accuracy in the held-out
domain is recorded in both cases. SET="model=dann" searches another model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from optuna.distributions import FloatDistribution

from infoscope.errors import InvalidInput
from infoscope.tracking import Pack, Report, Search, Sweep, asha
from sweeps.partition import _domains, domain_partition
from sweeps.partition._domains import DomainCell, setting_of
from sweeps.partition.settings import CONFIG, CRITERION

SETS = {
    "training-domain-validation": "validation/average",
    "oracle": "test domain/average",
}

# the searched settings and their ranges, as multiples of the values in the profile
RATE = {"optimisation.learning_rate": (0.1, 5.0)}
RANGES: dict[str, dict[str, tuple[float, float]]] = {
    # the L1 weight from nearly 0, as in the reference, to that of a sum over the
    # dimensions of every item
    "nvae": RATE
    | {"alpha_y": (0.1, 10.0), "alpha_d": (0.1, 10.0), "l1.z_dy": (0.02, 500.0)},
    "diva": RATE | {"alpha_y": (0.1, 10.0), "alpha_d": (0.1, 10.0)},
    "augmented-dann": RATE | {"adversary.weight": (0.1, 10.0), "l1.z_dy": (0.02, 10.0)},
    "dann": RATE | {"adversary.weight": (0.01, 100.0)},  # the range of DomainBed
    "irm": RATE | {"weight": (1e-3, 1e3)},
    "erm": RATE,
}


@dataclass(frozen=True)
class TuningProfile(domain_partition.DomainProfile):
    """The model whose settings are searched."""

    model: str = "nvae"
    held_out: int = 5  # domain
    seed: int = 0
    trials: int = 100


PAPER = TuningProfile()
PROFILES = {
    "smoke": replace(domain_partition.for_smoke(PAPER), model="erm", trials=4),
    "laptop": replace(domain_partition.for_laptop(PAPER), trials=24),
    "paper": PAPER,
}


def whole(profile: TuningProfile) -> DomainCell:
    """One training with the profile's settings, with all searched ones included."""
    model = profile.model
    shared = domain_partition.shared_fields(profile, model)
    cell = DomainCell(**shared, held_out=profile.held_out, seed=profile.seed)
    ranges = RANGES[model]
    # the weights of all blocks, since missing ones would be 0
    names = list(ranges)
    if "l1.z_dy" in ranges:
        names += [f"l1.{block}" for block in setting_of(model, cell.config, "l1")]
    searched = {name: setting_of(model, cell.config, name) for name in names}
    return replace(cell, config=cell.config | searched)


def cells(profile: TuningProfile) -> list[DomainCell]:
    """The fields that all trials share."""
    cell = whole(profile)
    fixed = {
        name: value
        for name, value in cell.config.items()
        if name not in RANGES[profile.model]
    }
    return [replace(cell, config=fixed)]


def space(profile: TuningProfile) -> dict[str, FloatDistribution]:
    """The search space: multiples of the profile's settings, log-uniform."""
    config = whole(profile).config
    searched = {}
    for name, (low, high) in RANGES[profile.model].items():
        searched[CONFIG + name] = FloatDistribution(
            low * config[name], high * config[name], log=True
        )
    return searched


def check(cell: DomainCell) -> None:
    if cell.selection not in SETS:
        raise InvalidInput(
            f"selection must be {' or '.join(SETS)} in a search, got {cell.selection!r}"
        )
    _domains.check(cell)


def trial(pack: Pack[DomainCell], report: Report) -> None:
    """Trains a cell's model, reports the criterion meanwhile, measures and logs it; NaN
    for a diverged training.
    """
    (cell,) = pack.cells
    parts = _domains.parts(cell)
    best = math.nan

    def on_point(share: float, terms: Mapping[str, float]) -> None:
        nonlocal best
        value = terms.get(SETS[cell.selection], math.nan)
        # the oracle may not select a step
        best = value if cell.selection == "oracle" else max((best, value), key=_finite)
        if math.isfinite(value) and share < 1:
            report.progress(share, **{CRITERION: best})

    fit = _domains.trained(cell, parts, report, pack.device, on_point)
    report.metrics(cell, _domains.outcome(fit))
    domain_partition.measure(fit.model, parts, cell, report)
    domain_partition.keep(fit.model, parts, cell, report)
    report.progress(
        1.0, **{CRITERION: math.nan if fit.ended == "diverged" else fit.criterion}
    )


def _finite(value: float) -> float:
    return value if math.isfinite(value) else -math.inf


SWEEP = Sweep(
    "tune-domain",
    cells,
    trial,
    PROFILES,
    axes=("trials",),
    data=_domains.data_sets,
    choices={"models": tuple(RANGES)},
    check=check,
    cost=_domains.cost,
    search=Search(
        CRITERION,
        "max",
        scheduler=asha,
        space=space,
        trials=lambda profile: profile.trials,
        seed=0,
    ),
    version=2,
)
