"""Which weight and learning rate make a variational autoencoder disentangle my data? A search by Optuna and ASHA.

There are three criteria. "unibound" and "mig" need the labels of the factors, as the searches in their papers did.
"elbo", the evidence lower bound, needs none. It measures how well the images are described, not whether the latents are
disentangled: use it for data without labels, at a given weight, since it prefers weights of 1. SET="model=factor-vae"
searches another model.
"""

from __future__ import annotations

import math

from optuna.distributions import FloatDistribution

from infoscope.checks import one_of
from infoscope.errors import InvalidInput, OutOfRange
from infoscope.metrics.factor_information import exact
from infoscope.models import VAE, AutoEncoder, encode_all
from infoscope.tracking import Pack, Profile, Report, Search, Sweep, asha
from sweeps.checks import require_minimum
from sweeps.disentanglement import _factor_scores, _vaes, vae_zoo
from sweeps.disentanglement.settings import CRITERION, MODELS, WEIGHTS, WITHOUT_DENSITY
from sweeps.streams import draws

CRITERIA = ("unibound", "mig", "elbo")
EVALUATIONS = 10  # of the criterion during a training

SPACE = dict(
    model="beta-tcvae",
    criterion="unibound",
    relative_weights=(0.1, 4.0),
    relative_rates=(0.1, 3.0),
    judging_draws=1000,
    seed=0,
)
PROFILES = {
    "smoke": Profile(**vae_zoo.SMOKE | SPACE | dict(trials=4, judging_draws=100)),
    "laptop": Profile(**vae_zoo.LAPTOP | SPACE | dict(trials=24, steps=3000)),
    "paper": Profile(**vae_zoo.PUBLISHED | SPACE | dict(trials=100)),
}


def fields(profile: Profile) -> dict:
    """One training with the weight and learning rate of the profile's setting, and its criterion."""
    training = _vaes.training_fields(profile.model, profile.setting, profile.steps)
    criterion = {name: getattr(profile, name) for name in ("criterion", "judging_draws", "seed")}
    return vae_zoo.shared_fields(profile) | training | criterion


def cells(profile: Profile) -> list[dict]:
    """The fields that all trials share."""
    searched = space(profile)
    return [{name: value for name, value in fields(profile).items() if name not in searched}]


def space(profile: Profile) -> dict:
    """The search space: multiples of the setting's weight and learning rate, log-uniform."""
    whole = fields(profile)
    ranges = {"learning_rate": profile.relative_rates}
    if profile.model in WEIGHTS:
        ranges["weight"] = profile.relative_weights
    for name, (low, high) in ranges.items():
        if not 0 < low < high:
            raise OutOfRange(f"the range of {name} must be increasing and above 0, got {low} to {high}.")
    return {name: FloatDistribution(low * whole[name], high * whole[name], log=True)
            for name, (low, high) in ranges.items()}  # fmt: skip


def check(cell: dict) -> None:
    one_of("criterion", cell["criterion"], CRITERIA)
    if cell["criterion"] != "elbo" and cell["model"] in WITHOUT_DENSITY:
        raise InvalidInput(f"model must have a density unless the criterion is elbo, got {cell['model']!r}.")
    require_minimum(cell, {"judging_draws": _factor_scores.MINIMUM["draws"]})
    _factor_scores.check_effort(cell)
    _vaes.check_training(cell)


def trial(pack: Pack, report: Report) -> None:
    """Trains a cell's model, reports the criterion meanwhile, and measures it; NaN for a diverged training."""
    (cell,) = pack.cells
    reported = 0

    def on_point(share: float, losses: dict[str, float], model: VAE | AutoEncoder) -> None:
        nonlocal reported
        if share >= 1 or math.floor(share * EVALUATIONS) > reported:
            reported = math.floor(share * EVALUATIONS)
            report.progress(share, **{CRITERION: criterion_of(cell, losses, model, pack.device)})

    try:
        model = _vaes.trained(cell, report, pack.device, on_point)
    except FloatingPointError:
        report.metrics(cell, {"diverged": 1.0})
        report.progress(1.0, **{CRITERION: math.nan})
        return
    measured = _factor_scores.measure(
        _vaes.representation(model, cell), _vaes.factor_set(cell), 1, cell, pack.device
    )  # with other draws than those of the criterion
    report.metrics(cell, {"diverged": 0.0} | _factor_scores.metrics([measured]))
    report.model([cell], vae_zoo.MODEL, model.cpu(), {"images": _vaes.factor_set(cell).images([0, 1]).numpy()})


def criterion_of(cell: dict, losses: dict[str, float], model: VAE | AutoEncoder, device: str) -> float:
    """The criterion of a cell at this point of its training; larger is better."""
    if cell["criterion"] == "elbo":  # nats per image, over the last steps
        return -losses["reconstruction"] - losses.get("kl", 0.0)
    model.eval()
    posterior = _vaes.posterior_of(encode_all(model, _vaes.images(cell)), model.latents)
    model.train()
    noise, factors = draws(0, "judgement"), _vaes.factor_set(cell).factors
    found = exact.factor_information(posterior, factors, cell["judging_draws"], noise, device=device)
    return (found.unibound() if cell["criterion"] == "unibound" else found.mig()).value


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
    version=2,  # InfoMEC, minimality and sufficiency
    cost=_vaes.cost,
    search=Search(CRITERION, "max", scheduler=asha, space=space, trials=lambda profile: profile.trials, seed=0),
)
