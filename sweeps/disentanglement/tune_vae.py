"""Which weight and learning rate make a variational autoencoder disentangle my data? A search by Optuna and ASHA.

Three criteria: "unibound" and "mig" need the labels of the factors, as their papers' searches did; "elbo", the evidence
lower bound, needs none, but it asks how well the images are described and not how: it is for data without labels, to
train as well as possible at a given weight, and chooses weights of 1. Search another model by SET="model=factor-vae".
"""

from __future__ import annotations

import math

from optuna.distributions import FloatDistribution

from infoscope.checks import one_of
from infoscope.errors import InvalidInput, OutOfRange
from infoscope.metrics.factor_information import exact
from infoscope.models import VAE, AutoEncoder, encode_all
from infoscope.tracking import Pack, Profile, Report, Search, Sweep, asha
from sweeps.disentanglement import _factor_scores, _vaes, vae_zoo
from sweeps.disentanglement.settings import CRITERION, MODELS, WEIGHTS, WITHOUT_DENSITY
from sweeps.streams import draws

CRITERIA = ("unibound", "mig", "elbo")
JUDGEMENTS = 10  # how many times in a training the criterion is taken

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
    """One training at the weight and learning rate of the profile's setting, and how it is judged."""
    training = _vaes.training_fields(profile.model, profile.setting, profile.steps)
    judged = {name: getattr(profile, name) for name in ("criterion", "judging_draws", "seed")}
    return vae_zoo.shared_fields(profile) | training | judged


def cells(profile: Profile) -> list[dict]:
    """What is the same in every trial."""
    searched = space(profile)
    return [{name: value for name, value in fields(profile).items() if name not in searched}]


def space(profile: Profile) -> dict:
    """What a trial may try: multiples of the setting's weight and learning rate, in logarithms."""
    whole = fields(profile)
    ranges = {"learning_rate": profile.relative_rates}
    if profile.model in WEIGHTS:
        ranges["weight"] = profile.relative_weights
    for name, (low, high) in ranges.items():
        if not 0 < low < high:
            raise OutOfRange(f"the range of {name} must rise from above 0, got {low} to {high} times its setting.")
    return {name: FloatDistribution(low * whole[name], high * whole[name], log=True)
            for name, (low, high) in ranges.items()}  # fmt: skip


def check(cell: dict) -> None:
    one_of("criterion", cell["criterion"], CRITERIA)
    if cell["criterion"] != "elbo" and cell["model"] in WITHOUT_DENSITY:
        raise InvalidInput(f"model is {cell['model']!r}, whose code has no density; search it by criterion=elbo")
    if cell["judging_draws"] < _factor_scores.MINIMUM["draws"]:
        raise OutOfRange(
            f"judging_draws must be at least {_factor_scores.MINIMUM['draws']}, got {cell['judging_draws']}."
        )
    _factor_scores.check_effort(cell)
    _vaes.check_training(cell)


def trial(pack: Pack, report: Report) -> None:
    """Trains a cell's model with interim judgements and measures it; a diverged training is judged as NaN."""
    (cell,) = pack.cells
    told = 0

    def heard(share: float, losses: dict[str, float], model: VAE | AutoEncoder) -> None:
        nonlocal told
        if share >= 1 or math.floor(share * JUDGEMENTS) > told:
            told = math.floor(share * JUDGEMENTS)
            report.progress(share, **{CRITERION: judgement(cell, losses, model, pack.device)})

    try:
        model = _vaes.trained(cell, report, pack.device, heard)
    except FloatingPointError:
        report.metrics(cell, {"diverged": 1.0})
        report.progress(1.0, **{CRITERION: math.nan})
        return
    measured = _factor_scores.measure(
        _vaes.representation(model, cell), _vaes.factor_set(cell), 1, cell, pack.device
    )  # other draws than those by which it was judged
    report.metrics(cell, {"diverged": 0.0} | _factor_scores.metrics([measured]))
    report.model([cell], vae_zoo.MODEL, model.cpu(), {"images": _vaes.factor_set(cell).images([0, 1]).numpy()})


def judgement(cell: dict, losses: dict[str, float], model: VAE | AutoEncoder, device: str) -> float:
    """The criterion of a cell at this point of its training: more is better."""
    if cell["criterion"] == "elbo":  # nats per image, over the last steps
        return -losses["reconstruction"] - losses.get("kl", 0.0)
    model.eval()
    seen = _vaes.posterior_of(encode_all(model, _vaes.images(cell)), model.latents)
    model.train()
    noise = draws(0, "judgement")
    found = exact.factor_information(seen, _vaes.factor_set(cell).factors, cell["judging_draws"], noise, device=device)
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
