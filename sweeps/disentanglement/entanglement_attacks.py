"""Which score detects a deliberately entangled representation? (Tokui & Sato 2021,
section 5.2, figure 3d)

The redundancy attack adds latents that repeat the information of the others. The
synergy attack adds noise to the latents, and the noise as further latents. Neither
changes the information of all latents together. The representations are those of the
best trainings of the sweep vae-zoo, which must run first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from infoscope.checks import one_of
from infoscope.errors import OutOfRange, UnknownName
from infoscope.metrics.factor_information.attacks import (
    redundancy_attack,
    synergy_attack,
)
from infoscope.tracking import Pack, Profile, Report, Sweep, grid, load_model, runs
from infoscope.tracking.sweep import plain
from sweeps.datasets import part
from sweeps.disentanglement import _factor_scores, _vaes, vae_zoo
from sweeps.disentanglement._cells import Effort, ImagesCell
from sweeps.disentanglement.settings import DATA_FIELDS, MODELS
from sweeps.streams import draws

ATTACKS = {"redundancy": redundancy_attack, "synergy": synergy_attack}
SELECTION_SCORE = "unibound"  # as published
# fields of the training in a cell, besides its data
TRAINING_FIELDS = ("model", "weight", "steps", "latents")


@dataclass(frozen=True, kw_only=True)
class AttackCell(Effort, ImagesCell):
    none_is_a_value = ("weight",)  # of a plain autoencoder

    source: str  # key of the attacked training in vae-zoo
    model: str
    weight: float | None  # of its objective
    steps: int  # of its training
    latents: int
    training_seed: int
    attack: str  # one of ATTACKS
    alpha: float  # strength of the attack
    evaluation: int  # seed of votes, items and noise


@dataclass(frozen=True)
class AttackProfile(Profile):
    """The published settings, of two models."""

    zoo: str = "paper"
    models: tuple[str, ...] = ("beta-vae", "beta-tcvae")
    best: int = 1
    attacks: tuple[str, ...] = tuple(ATTACKS)
    alphas: tuple[float, ...] = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
    evaluations: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    draws: int = 10_000
    votes: int = 30_000
    items: int = 10_000
    protocols: tuple[str, ...] = ("uni-bound", "disentanglement-lib")


PAPER = AttackProfile()
LAPTOP = replace(
    PAPER,
    zoo="laptop",
    alphas=(0.0, 0.5, 1.0, 2.0, 4.0),
    evaluations=(0, 1, 2),
    draws=2000,
    items=3000,
    protocols=("uni-bound",),
)
PROFILES = {
    "smoke": replace(
        LAPTOP,
        zoo="smoke",
        alphas=(0.0, 2.0),
        evaluations=(0, 1),
        draws=200,
        votes=50,
        items=400,
    ),
    "laptop": LAPTOP,
    "paper": PAPER,
}


def cells(profile: AttackProfile) -> Iterator[AttackCell]:
    """One cell per logged training, attack, strength and evaluation. Raises ValueError
    without runs of vae-zoo.

    zoo: the label of these runs, with + for a space. best: number of trainings of each
    model.
    """
    zoo = zoo_runs(profile.zoo.replace("+", " "))
    for _, run in best(zoo, profile.models, profile.best).iterrows():
        yield from grid(
            AttackCell,
            source=run["key"],
            **{name: run[name] for name in (*DATA_FIELDS, *TRAINING_FIELDS)},
            **plain(part(profile, Effort)),
            training_seed=run["seed"],
            attack=list(profile.attacks),
            alpha=list(profile.alphas),
            evaluation=list(profile.evaluations),
        )


def zoo_runs(label: str | None) -> pd.DataFrame:
    """The finished trainings of vae-zoo under a profile's label; None: all. Raises
    ValueError when there are none.
    """
    try:
        return runs(vae_zoo.SWEEP.name, label)
    except LookupError as error:
        raise ValueError(
            f"the models to attack come from the sweep vae-zoo, but {error.args[0]}"
        ) from None


def best(zoo: pd.DataFrame, models: tuple[str, ...], count: int) -> pd.DataFrame:
    """The `count` trainings of each model with the highest UniBound, of the newest
    version, without diverged ones.
    """
    if count < 1:
        raise OutOfRange(f"best must be at least 1, got {count}.")
    newest = zoo["version"] == zoo.loc[zoo["start"].idxmax(), "version"]
    zoo = zoo[newest & (zoo["diverged"] == 0)]
    missing = [model for model in models if model not in set(zoo["model"])]
    if missing:
        raise UnknownName(
            "models must have finished trainings in vae-zoo; there are none for "
            f"{', '.join(missing)}"
        )
    ranked = zoo.sort_values(SELECTION_SCORE, ascending=False, kind="stable")
    return pd.concat([ranked[ranked["model"] == model].head(count) for model in models])


def check(cell: AttackCell) -> None:
    one_of("attack", cell.attack, ATTACKS)
    if not 0 <= cell.alpha < np.inf:
        raise OutOfRange(f"alpha must be a number of at least 0, got {cell.alpha}.")
    _factor_scores.check_effort(cell)
    _vaes.factor_set(cell)


def trial(pack: Pack[AttackCell], report: Report) -> None:
    """Encodes the images with the logged model once, then measures the representation
    under each attack.
    """
    model = load_model(run_of(pack.source), vae_zoo.MODEL)
    original = _vaes.representation(model.to(pack.device), pack.cells[0])
    for done, cell in enumerate(pack.cells):
        with report.member(cell):
            dataset = _vaes.factor_set(cell)
            codes = attacked(original, cell)
            measured = _factor_scores.measure(
                codes, dataset, cell.evaluation, cell, pack.device, predictors=False
            )
            for score, estimate in measured.scores.items():
                name = _factor_scores.metric_of(score)
                report.metrics(
                    cell,
                    {name: estimate.value, f"{name}_error": estimate.standard_error},
                )
            for name, columns in _factor_scores.tables([measured]).items():
                report.table(cell, name, columns)
        report.progress((done + 1) / len(pack.cells))


def run_of(key: str) -> str:
    """The id of the run of a cell of vae-zoo."""
    zoo = zoo_runs(None)
    return zoo.loc[zoo["key"] == key, "run_id"].iloc[0]


def attacked(original: object, cell: AttackCell) -> object:
    """A representation under the attack of a cell. The noise of an array is that of the
    evaluation for every alpha.
    """
    return ATTACKS[cell.attack](original, cell.alpha, draws(cell.evaluation, "attack"))


SWEEP = Sweep(
    "entanglement-attacks",
    cells,
    trial,
    PROFILES,
    axes=("models", "best", "attacks", "alphas", "evaluations"),
    pack_by={"cpu": ("source",), "gpu": ("source",)},
    data=_vaes.data_sets,
    choices={"models": MODELS, "attacks": tuple(ATTACKS)},
    check=check,
    version=5,  # of concrete terms the Gaussian ones alone
    cost=lambda cell: float(cell.draws * len(_vaes.factor_set(cell))),
)
