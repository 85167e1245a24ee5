"""Do Monte Carlo estimates of MIG and of the bounds of unique, redundant and
synergistic information agree with exact values? (Tokui & Sato 2021, section 5.1 and
table 1)

In the toy model every mutual information has a closed form, with and without an
entanglement attack. Each is also estimated from draws, and the difference divided by
its standard error is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from infoscope.estimators.result import Estimate
from infoscope.metrics.factor_information import toy
from infoscope.metrics.factor_information.result import FactorInformation
from infoscope.tracking import Cell, Pack, Profile, Report, Sweep, grid
from infoscope.tracking.datasets import DataSet
from sweeps.checks import require_minimum
from sweeps.datasets import distribution

# nats; smaller standard errors count as 0: all local values of a pure noise latent are
# 0
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class ToyCell(Cell):
    attack: str  # none, redundancy or synergy
    alpha: float  # strength of the attack
    factors: int  # number of factors; without an attack there are as many latents
    noise: float  # standard deviation of a latent, given the factors
    draws: int  # Monte Carlo draws of each mutual information
    seed: int


@dataclass(frozen=True)
class ToyProfile(Profile):
    """The published settings."""

    factors: tuple[int, ...] = (2, 3, 4, 5, 6, 7)
    attacks: tuple[str, ...] = ("none", "redundancy", "synergy")
    alphas: tuple[float, ...] = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
    noise: float = 0.1
    draws: int = 10_000
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4, 5)


PAPER = ToyProfile()
LAPTOP = replace(PAPER, alphas=(0.0, 0.5, 1.0, 2.0, 3.0, 4.0), seeds=(0, 1, 2))
PROFILES = {
    "smoke": replace(
        LAPTOP, factors=(2, 5), alphas=(0.0, 3.0), draws=500, seeds=(0, 1)
    ),
    "laptop": LAPTOP,
    "paper": PAPER,
}


def cells(profile: ToyProfile) -> Iterator[ToyCell]:
    """One cell per number of factors, attack, strength and seed; without an attack the
    strength is 0.
    """
    for attack in profile.attacks:
        yield from grid(
            ToyCell,
            attack=attack,
            factors=list(profile.factors),
            alpha=list(profile.alphas) if attack != "none" else 0.0,
            noise=profile.noise,
            draws=profile.draws,
            seed=list(profile.seeds),
        )


def check(cell: ToyCell) -> None:
    toy.exact(cell.attack, cell.factors, cell.noise, cell.alpha)
    require_minimum(cell, {"draws": 100, "seed": 0})


def data_sets(cell: ToyCell) -> tuple[DataSet]:
    """The distribution of a cell."""
    law = dict(
        attack=cell.attack, factors=cell.factors, noise=cell.noise, alpha=cell.alpha
    )
    return (distribution("Gaussian toy model (generated)", **law),)


def trial(pack: Pack[ToyCell], report: Report) -> None:
    """Reports the estimates and the exact values of every cell of the pack."""
    for done, cell in enumerate(pack.cells):
        model = (cell.attack, cell.factors, cell.noise, cell.alpha)
        exact = toy.exact(*model)
        name = f"{cell.attack} {cell.alpha}"
        generator = np.random.default_rng([cell.seed, cell.factors, *name.encode()])
        sampled = toy.sampled(*model, cell.draws, generator)
        report.table(cell, "parts", parts(exact, sampled))
        report.metrics(
            cell,
            {
                f"exact/{name}_nats": estimate.value
                for name, estimate in scores(exact).items()
            },
        )
        for name, estimate in scores(sampled).items():
            name = f"sampled/{name}_nats"
            report.metrics(
                cell, {name: estimate.value, f"{name}_error": estimate.standard_error}
            )
        report.metrics(cell, agreement(exact, sampled))
        report.progress((done + 1) / len(pack.cells))


def scores(information: FactorInformation) -> dict[str, Estimate]:
    """MIG, the six bounds at their best latents, and I(y_k; z), means over factors;
    nats.
    """
    return {
        "mig": information.mig(normalised=False),
        "information": information.informativeness(normalised=False),
        **information.aggregated(normalised=False)._asdict(),
    }


def parts(
    exact: FactorInformation, sampled: FactorInformation
) -> dict[str, np.ndarray]:
    """Every mutual information, exact and estimated: one row per factor and set of
    latents; nats.
    """
    sets = [*exact.latents, *(f"all but {latent}" for latent in exact.latents), "all"]
    errors = [
        np.reshape(part, (len(exact.factors), -1)) for part in sampled.standard_errors()
    ]
    return {
        "factor": np.repeat(exact.factors, len(sets)),
        "latents": np.tile(sets, len(exact.factors)),
        "exact": exact.parts.ravel(),
        "estimate": sampled.parts.ravel(),
        "error": np.hstack(errors).ravel(),
    }


def agreement(exact: FactorInformation, sampled: FactorInformation) -> dict[str, Any]:
    """Agreement of estimated with exact mutual informations, in standard errors; in
    nats for those without spread.

    Scores are excluded: a maximum over latents is biased if they are equal.
    """
    columns = parts(exact, sampled)
    difference = columns["estimate"] - columns["exact"]
    spread = columns["error"] > ROUNDING
    z = np.abs(difference[spread] / columns["error"][spread])
    return {
        "compared": z.size,
        "largest_z": z.max(),
        "beyond_95": int((z > 1.96).sum()),
        "largest_difference_without_spread_nats": np.abs(difference[~spread]).max(
            initial=0.0
        ),
    }


SWEEP = Sweep(
    "toy-model",
    cells,
    trial,
    PROFILES,
    axes=("factors", "attacks", "alphas", "seeds"),
    pack_by={"cpu": ("factors", "seed"), "gpu": ("factors", "seed")},
    data=data_sets,
    check=check,
    cost=lambda cell: cell.draws * cell.factors**3,
)
