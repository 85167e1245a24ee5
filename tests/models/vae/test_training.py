"""The training of variational autoencoders: learning, exact continuation, and
divergence.
"""

import math

import numpy as np
import pytest
import torch

from infoscope.models import (
    OBJECTIVES,
    VAE,
    AutoEncoder,
    LatentSpec,
    VaeTraining,
    encode_all,
    fit_vae,
)
from tests.data.common import generator, on_gpu
from tests.models.samples import SMALL_VAE, reread
from tests.refusals import refused

SETTINGS = {
    "factor-vae": {"width": 8, "depth": 2},
    "joint-vae": {"gamma": 2.0, "capacity_real": 5.0, "capacity_steps": 20},
}
PARTS = {
    "ae": set(),
    "vae": {"kl"},
    "beta-vae": {"kl"},
    "factor-vae": {"kl", "total_correlation", "discriminator"},
    "beta-tcvae": {
        "kl",
        "mutual_information",
        "total_correlation",
        "dimension_wise_kl",
    },
    "joint-vae": {
        "kl",
        "kl_real",
        "kl_categorical",
        "capacity_real",
        "capacity_categorical",
    },
}


def squares():
    """A white 8 x 8 square at each of 9 x 9 places of a 16 x 16 image, uint8 0/1, row
    by row.
    """
    images = torch.zeros(81, 1, 16, 16, dtype=torch.uint8)
    for number in range(81):
        row, column = divmod(number, 9)
        images[number, 0, row : row + 8, column : column + 8] = 1
    return images


def model(name, seed=0):
    if name == "ae":
        return AutoEncoder(**SMALL_VAE, real=2, generator=generator(seed))
    blocks = (3,) if name == "joint-vae" else ()
    return VAE(**SMALL_VAE, latents=LatentSpec(2, blocks), generator=generator(seed))


def objective(name):
    return OBJECTIVES[name](**SETTINGS.get(name, {}))


def fitted(name, steps, **settings):
    """A trained model, and the trace of its training."""
    trained = model(name)
    settings = {"batch": 16, "generator": generator()} | settings
    return trained, fit_vae(trained, objective(name), squares(), steps, **settings)


def weights(trained):
    return torch.cat(
        [parameter.detach().flatten() for parameter in trained.parameters()]
    )


@pytest.mark.parametrize("name", ["vae", "factor-vae", "joint-vae"])
def test_a_resumed_training_is_the_same_training(name):
    """Stopped in the middle of an epoch, written to a file and read without unpickling
    code, and continued by other objects: the weights, the discriminator's and the
    losses are those of a training never stopped, bit for bit.
    """
    arguments = {"steps": 23, "batch": 16, "learning_rate": 1e-3, "every": 7}
    states = []
    whole, trace = fitted(
        name,
        generator=generator(5),
        save=lambda state: states.append(state()),
        **arguments,
    )
    assert [state["done"] for state in states] == trace["step"] == [7, 14, 21, 23]
    for written in states[:2]:
        again = model(name, seed=8)
        state = {"resume": reread(written)}
        resumed = fit_vae(
            again,
            objective(name),
            squares(),
            generator=generator(9),
            **state,
            **arguments,
        )
        assert resumed == trace
        assert torch.equal(weights(again), weights(whole))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_losses_are_reported_by_name_and_fall(name):
    reports = []
    before = torch.get_rng_state()
    settings = {"batch": 32, "learning_rate": 5e-3, "every": 10}
    trained, trace = fitted(
        name, 30, report=lambda *reported: reports.append(reported), **settings
    )
    assert torch.equal(before, torch.get_rng_state())
    assert not trained.training
    assert [step for step, _ in reports] == trace["step"] == [10, 20, 30]
    assert [losses["loss"] for _, losses in reports] == trace["loss"]
    assert trace.keys() == {"step", "loss", "reconstruction"} | PARTS[name]
    assert trace["reconstruction"][-1] < trace["reconstruction"][0]


def test_a_vae_finds_the_position_of_a_square():
    """Two latents, two coordinates: a linear map of the means has R^2 above .8 for each
    (six seeds gave .97 to .99; two uninformative latents have more than .2 for 81
    images less than once in 5,000 times). A decoder that ignores the codes is left with
    the 118.66 nats of the entropies of the pixels.
    """
    trained, trace = fitted("vae", 250, batch=32, learning_rate=5e-3)
    assert trace["reconstruction"][-1] < 110
    means = encode_all(trained, squares()).mean.double()
    places = torch.cartesian_prod(torch.arange(9.0), torch.arange(9.0)).double()
    design = torch.cat([means, torch.ones(81, 1)], 1)
    left = places - design @ torch.linalg.lstsq(design, places).solution
    assert (1 - left.var(0) / places.var(0) > 0.8).all()


def test_means_are_over_the_steps_between_reports():
    _, every_step = fitted("vae", 6, every=1)
    _, every_fourth = fitted("vae", 6, every=4)
    for name in ("loss", "reconstruction", "kl"):
        expected = [np.mean(every_step[name][:4]), np.mean(every_step[name][4:])]
        assert every_fourth[name] == pytest.approx(expected, rel=1e-12)


class Watched:
    """Images by index; `asked` has the indices of every call."""

    def __init__(self):
        self.asked = []

    def __len__(self):
        return 81

    def images(self, index):
        self.asked.append(index.copy())
        return squares()[index].float()


@pytest.mark.parametrize("name, take", [("vae", 10), ("factor-vae", 20)])
def test_an_epoch_shows_no_image_twice(name, take):
    images = Watched()
    per_epoch = 81 // take
    fit_vae(
        model(name),
        objective(name),
        images,
        2 * per_epoch,
        batch=10,
        generator=generator(),
    )
    assert [len(index) for index in images.asked] == [take] * 2 * per_epoch
    epochs = [
        np.concatenate(images.asked[part : part + per_epoch]) for part in (0, per_epoch)
    ]
    assert all(len(set(epoch)) == take * per_epoch for epoch in epochs)
    assert not np.array_equal(*epochs)


def test_divergence_is_reported_and_ends_the_training():
    reports = []
    with pytest.raises(FloatingPointError, match="step 10.* kl "):
        fitted(
            "vae",
            50,
            learning_rate=1e20,
            every=10,
            report=lambda *reported: reports.append(reported),
        )
    assert [step for step, _ in reports] == [10]
    assert not math.isfinite(reports[0][1]["loss"])


def test_an_objective_may_serve_many_trainings():
    """It is copied: two trainings with one FactorVAE are two trainings with two of
    them.
    """
    shared = objective("factor-vae")
    results = []
    for _ in range(2):
        trained = model("factor-vae")
        fit_vae(trained, shared, squares(), 5, batch=16, generator=generator())
        results.append(weights(trained))
    assert torch.equal(*results)


def test_a_state_of_another_training_is_refused():
    def training(name="vae", steps=5, batch=16):
        return VaeTraining(model(name), name, squares(), steps, batch=batch)

    begun = training()
    begun.advance(5)
    state = begun.state_dict()
    for other in (training("beta-vae"), training(batch=8)):
        with refused("state", "conflict"):
            other.load_state_dict(state)
    with refused("steps", "range"):
        training(steps=4).load_state_dict(state)
    with refused("steps", "range"):
        begun.advance(1)


@on_gpu
@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_gpu_trains_the_same_model(name):
    """The same draws: weights agree to what ten steps of rounding leave."""
    here, _ = fitted(name, 10, learning_rate=1e-3)
    there, _ = fitted(name, 10, learning_rate=1e-3, device="cuda")
    torch.testing.assert_close(weights(there).cpu(), weights(here), rtol=0, atol=1e-3)
