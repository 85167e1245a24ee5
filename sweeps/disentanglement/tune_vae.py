"""Which weight and learning rate make a variational autoencoder disentangle my data? A
search by Optuna and ASHA.

There are three criteria. "unibound" and "mig" need the labels of the factors, as the
searches in their papers did. "elbo", the evidence lower bound, needs none. It measures
how well the images are described, not whether the latents are disentangled: use it for
data without labels, at a given weight, since it prefers weights of 1.
SET="model=factor-vae" searches another model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from optuna.distributions import FloatDistribution

from infoscope.checks import one_of
from infoscope.errors import InvalidInput, OutOfRange
from infoscope.metrics.factor_information import exact
from infoscope.models import VAE, AutoEncoder, encode_all
from infoscope.tracking import Pack, Report, Search, Sweep, asha
from sweeps.checks import require_minimum
from sweeps.disentanglement import _factor_scores, _vaes, vae_zoo
from sweeps.disentanglement._cells import TrainingCell
from sweeps.disentanglement.settings import CRITERION, MODELS, WEIGHTS, WITHOUT_DENSITY
from sweeps.streams import draws

CRITERIA = ("unibound", "mig", "elbo")
EVALUATIONS = 10  # of the criterion during a training


@dataclass(frozen=True, kw_only=True)
class TuningCell(TrainingCell):
    criterion: str  # one of CRITERIA
    judging_draws: int  # of the criterion during a training


@dataclass(frozen=True)
class TuningProfile(vae_zoo.ZooProfile):
    """The model, the criterion and the space of the search."""

    model: str = "beta-tcvae"
    criterion: str = "unibound"
    # lowest and highest multiple of the setting's
    relative_weights: tuple[float, ...] = (0.1, 4.0)
    relative_rates: tuple[float, ...] = (0.1, 3.0)
    judging_draws: int = 1000
    seed: int = 0
    trials: int = 100


PAPER = TuningProfile()
PROFILES = {
    "smoke": replace(vae_zoo.for_smoke(PAPER), trials=4, judging_draws=100),
    "laptop": replace(vae_zoo.for_laptop(PAPER), trials=24, steps=3000),
    "paper": PAPER,
}


def whole(profile: TuningProfile) -> TuningCell:
    """One training with the weight and learning rate of the profile's setting, and its
    criterion.
    """
    training = _vaes.training_fields(profile.model, profile.setting, profile.steps)
    return TuningCell(
        **vae_zoo.shared_fields(profile) | training,
        criterion=profile.criterion,
        judging_draws=profile.judging_draws,
        seed=profile.seed,
    )


def cells(profile: TuningProfile) -> list[TuningCell]:
    """The fields that all trials share."""
    return [whole(profile).replaced(dict.fromkeys(space(profile)))]


def space(profile: TuningProfile) -> dict[str, FloatDistribution]:
    """The search space: multiples of the setting's weight and learning rate,
    log-uniform.
    """
    cell = whole(profile)
    ranges = {"learning_rate": profile.relative_rates}
    if profile.model in WEIGHTS:
        ranges["weight"] = profile.relative_weights
    searched = {}
    for name, (low, high) in ranges.items():
        if not 0 < low < high:
            raise OutOfRange(
                f"the range of {name} must be increasing and above 0, got {low} to "
                f"{high}."
            )
        value = getattr(cell, name)
        searched[name] = FloatDistribution(low * value, high * value, log=True)
    return searched


def check(cell: TuningCell) -> None:
    one_of("criterion", cell.criterion, CRITERIA)
    if cell.criterion != "elbo" and cell.model in WITHOUT_DENSITY:
        raise InvalidInput(
            "model must have a density unless the criterion is elbo, got "
            f"{cell.model!r}."
        )
    require_minimum(cell, {"judging_draws": _factor_scores.MINIMUM["draws"]})
    _factor_scores.check_effort(cell)
    _vaes.check_training(cell)


def trial(pack: Pack[TuningCell], report: Report) -> None:
    """Trains a cell's model, reports the criterion meanwhile, and measures it; NaN for
    a diverged training.
    """
    (cell,) = pack.cells
    reported = 0

    def on_point(
        share: float, losses: dict[str, float], model: VAE | AutoEncoder
    ) -> None:
        nonlocal reported
        if share >= 1 or math.floor(share * EVALUATIONS) > reported:
            reported = math.floor(share * EVALUATIONS)
            report.progress(
                share, **{CRITERION: criterion_of(cell, losses, model, pack.device)}
            )

    try:
        model = _vaes.trained(cell, report, pack.device, on_point)
    except FloatingPointError:
        report.metrics(cell, {"diverged": 1.0})
        report.progress(1.0, **{CRITERION: math.nan})
        return
    dataset = _vaes.factor_set(cell)
    seed = 1  # other draws than the criterion's
    measured = _factor_scores.measure(
        _vaes.representation(model, cell), dataset, seed, cell, pack.device
    )
    report.metrics(cell, {"diverged": 0.0} | _factor_scores.metrics([measured]))
    report.model(
        [cell], vae_zoo.MODEL, model.cpu(), {"images": dataset.images([0, 1]).numpy()}
    )


def criterion_of(
    cell: TuningCell, losses: dict[str, float], model: VAE | AutoEncoder, device: str
) -> float:
    """The criterion of a cell at this point of its training; larger is better."""
    if cell.criterion == "elbo":  # nats per image, over the last steps
        return -losses["reconstruction"] - losses.get("kl", 0.0)
    model.eval()
    posterior = _vaes.posterior_of(encode_all(model, _vaes.images(cell)), model.latents)
    model.train()
    noise = draws(0, "judgement")
    factors = _vaes.factor_set(cell).factors
    information = exact.factor_information(
        posterior, factors, cell.judging_draws, noise, device=device
    )
    score = (
        information.unibound() if cell.criterion == "unibound" else information.mig()
    )
    return score.value


SWEEP = Sweep(
    "tune-vae",
    cells,
    trial,
    PROFILES,
    axes=("trials",),
    data=_vaes.data_sets,
    choices={"models": MODELS},
    ranges=("relative_weights", "relative_rates"),
    check=check,
    version=2,  # InfoMEC and sufficiency
    cost=_vaes.cost,
    search=Search(
        CRITERION,
        "max",
        scheduler=asha,
        space=space,
        trials=lambda profile: profile.trials,
        seed=0,
    ),
)
