"""Which variational autoencoder disentangles best, and by which score? (Tokui & Sato
2021, section 5.2, figures 3a-c)

Every model is trained several times, and every training is evaluated several times by
the BetaVAE and FactorVAE scores, MIG, DCI, SAP and UniBound, and by bounds of the
unique, redundant and synergistic information between a latent and all others. A plain
autoencoder is included for comparison. Its code has no density, so its mutual
informations are estimated by nearest neighbours and are not comparable with the exact
ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from infoscope.errors import OutOfRange
from infoscope.models import VAE, AutoEncoder
from infoscope.tracking import Pack, Profile, Report, Sweep, grid
from infoscope.tracking.sweep import plain
from sweeps.datasets import part
from sweeps.disentanglement import _factor_scores, _vaes
from sweeps.disentanglement._cells import Effort, TrainingCell
from sweeps.disentanglement.settings import MODELS, WEIGHTS
from sweeps.streams import stream

EXAMPLES = 6  # images stored with a model
TRAINING_SHARE = 0.8  # of the duration of a trial
MODEL = "vae"  # the name of the logged model
Settings = TypeVar("Settings", bound="ZooProfile")


@dataclass(frozen=True, kw_only=True)
class ZooCell(TrainingCell):
    evaluations: int  # of the trained model


@dataclass(frozen=True)
class ZooProfile(Profile):
    """The published settings."""

    data: str = "dsprites-full"
    resolution: int = 64  # pixels per side
    every_orientation: int = 1
    every_position: int = 1
    models: tuple[str, ...] = MODELS
    setting: str = "published"  # one of infoscope.models.vae.objectives.PRESETS
    relative_weights: tuple[float, ...] = (1.0,)  # multiples of the setting's weight
    latents: int = 6
    channels: tuple[int, ...] = (32, 32, 64, 64)
    hidden: int = 256
    steps: int = 300_000
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    evaluations: int = 6
    draws: int = 10_000
    votes: int = 30_000
    items: int = 10_000
    protocols: tuple[str, ...] = ("uni-bound", "disentanglement-lib")


def for_laptop(profile: Settings) -> Settings:
    """Smaller images, if there are any real ones, and networks; fewer and cheaper steps
    and evaluations.
    """
    return replace(
        profile,
        data="auto",
        resolution=32,
        setting="quick",
        channels=(16, 16, 32, 32),
        hidden=128,
        steps=6000,
        seeds=(0, 1, 2),
        evaluations=3,
        draws=4000,
        items=3000,
        protocols=("uni-bound",),
    )


def for_smoke(profile: Settings) -> Settings:
    """The settings of `for_laptop` with models, images and steps for seconds."""
    return replace(
        for_laptop(profile),
        resolution=16,
        every_orientation=5,
        every_position=2,
        models=("beta-vae", "beta-tcvae", "joint-vae", "ae"),
        channels=(4, 8),
        hidden=16,
        steps=40,
        seeds=(0, 1),
        evaluations=2,
        draws=200,
        votes=50,
        items=400,
    )


PAPER = ZooProfile()
PROFILES = {"smoke": for_smoke(PAPER), "laptop": for_laptop(PAPER), "paper": PAPER}


def shared_fields(profile: ZooProfile) -> dict[str, Any]:
    """The fields of every model: its data, its network and its evaluation."""
    network = dict(
        latents=profile.latents, channels=profile.channels, hidden=profile.hidden
    )
    return plain(_vaes.images_of(profile)) | plain(part(profile, Effort)) | network


def cells(profile: ZooProfile) -> Iterator[ZooCell]:
    """One cell per model, weight and seed; the plain autoencoder has no weight."""
    shared = shared_fields(profile) | {"evaluations": profile.evaluations}
    for model in profile.models:
        weights = (
            profile.relative_weights
            if model in WEIGHTS
            else profile.relative_weights[:1]
        )
        for weight in weights:
            training = _vaes.training_fields(
                model, profile.setting, profile.steps, weight
            )
            yield from grid(ZooCell, **shared | training, seed=list(profile.seeds))


def check(cell: ZooCell) -> None:
    if cell.evaluations < 1:
        raise OutOfRange(f"evaluations must be at least 1, got {cell.evaluations}.")
    _factor_scores.check_effort(cell)
    _vaes.check_training(cell)


def trial(pack: Pack[ZooCell], report: Report) -> None:
    """Trains the model of a cell, evaluates it and logs it."""
    (cell,) = pack.cells

    def on_point(
        share: float, losses: dict[str, float], model: VAE | AutoEncoder
    ) -> None:
        report.progress(TRAINING_SHARE * share)

    try:
        model = _vaes.trained(cell, report, pack.device, on_point)
    except FloatingPointError:
        report.metrics(cell, {"diverged": 1.0})
        return
    posterior = _vaes.representation(model, cell)
    measurements = []
    for evaluation in range(cell.evaluations):
        # different draws for every training, so that the noise of evaluations averages
        # out over trainings
        seed = cell.seed * cell.evaluations + evaluation
        measurements.append(
            _factor_scores.measure(
                posterior, _vaes.factor_set(cell), seed, cell, pack.device
            )
        )
        done = (evaluation + 1) / cell.evaluations
        report.progress(TRAINING_SHARE + (1 - TRAINING_SHARE) * done)
    report.metrics(cell, {"diverged": 0.0} | _factor_scores.metrics(measurements))
    for name, columns in _factor_scores.tables(measurements).items():
        report.table(cell, name, columns)
    keep(model, cell, report)


def keep(model: VAE | AutoEncoder, cell: ZooCell, report: Report) -> None:
    """Logs a model with examples."""
    dataset = _vaes.factor_set(cell)
    rows = dataset.sample(EXAMPLES, stream(0, "examples"))
    shown = dataset.images(rows)
    model = model.cpu()
    report.arrays(
        cell, "examples", {"images": shown.numpy(), "factors": dataset.factors[rows]}
    )
    report.model([cell], MODEL, model, {"images": shown[:2].numpy()})


SWEEP = Sweep(
    "vae-zoo",
    cells,
    trial,
    PROFILES,
    axes=("models", "relative_weights", "seeds"),
    data=_vaes.data_sets,
    check=check,
    version=2,  # InfoMEC and sufficiency
    cost=_vaes.cost,
)
