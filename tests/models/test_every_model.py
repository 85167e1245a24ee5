"""Every model draws from its own generator only, and can be rebuilt from its
configuration and weights.
"""

import json

import pytest
import torch

from infoscope.models import (
    VAE,
    AutoEncoder,
    IRevNet,
    LatentSpec,
    LayerEncoder,
    MaskedAutoregressiveFlow,
    RealNVP,
    fine_tune,
    fit_resnet,
    fit_sentence_encoder,
    small_encoder,
)
from infoscope.models.domain import MODELS
from infoscope.tracking.weights import read_model, write_model
from tests.data.common import generator
from tests.models.samples import KINDS, LABELS, SMALL_TEXT, SMALL_VAE, TEXTS, halves

IMAGES = torch.rand(3, 1, 16, 16, generator=generator(1))
THIN = {"labels": 2, "depth": 18, "width": 4, "steps": 2, "batch": 4}
SAMPLES = torch.rand(9, 48, generator=generator(2))
HALVES = halves(4, generator(3))[0]


def resnet(generator):
    return fit_resnet(halves, (1, 32, 32), generator, **THIN)


def calibrated(kind, generator, **settings):
    model = kind(48, **settings, statistics="fixed", generator=generator)
    model.calibrate(SAMPLES)
    return model


def text_encoder(kind, pooling):
    return lambda g: small_encoder(TEXTS, kind, g, pooling=pooling, **SMALL_TEXT)


def tuned(kind, pooling):
    settings = {"epochs": 1, "batch": 16, "learning_rate": 3e-3}
    return lambda g: fine_tune(
        TEXTS[:48], LABELS[:48], text_encoder(kind, pooling)(g), g, **settings
    )


def domain_model(kind):
    return lambda g: kind(
        shape=(1, 16, 16), classes=4, domains=3, network={"width": 4}, generator=g
    )


# name -> how it is made from a generator, and what it is given
CASES = {
    "vae": (
        lambda g: VAE(**SMALL_VAE, latents=LatentSpec(2, (3,)), generator=g),
        {"images": IMAGES},
    ),
    "autoencoder": (
        lambda g: AutoEncoder(**SMALL_VAE, real=2, generator=g),
        {"images": IMAGES},
    ),
    "resnet": (resnet, {"images": HALVES}),
    "layer": (lambda g: LayerEncoder(resnet(g), "layer2.0"), {"x": HALVES}),
    "autoregressive": (
        lambda g: calibrated(MaskedAutoregressiveFlow, g, hidden=16),
        {"x": SAMPLES},
    ),
    "realnvp": (lambda g: calibrated(RealNVP, g, hidden=16), {"x": SAMPLES}),
    "irevnet": (
        lambda g: calibrated(IRevNet, g, shape=(3, 4, 4), blocks=(2,)),
        {"x": SAMPLES},
    ),
    "sentences": (
        lambda g: fit_sentence_encoder(TEXTS, LABELS, g, width=8, steps=5),
        TEXTS[:9],
    ),
    **{kind: (text_encoder(kind, pooling), TEXTS[:9]) for kind, pooling in KINDS},
    **{f"tuned {kind}": (tuned(kind, pooling), TEXTS[:9]) for kind, pooling in KINDS},
    **{name: (domain_model(kind), {"x": IMAGES}) for name, kind in MODELS.items()},
}


def answer(model, inputs):
    if isinstance(inputs, dict):
        return model(**inputs)
    for name in ("log_probabilities", "embed", "encode"):
        if hasattr(model, name):
            return getattr(model, name)(inputs)
    raise AssertionError(type(model))


def example(model, inputs):
    """The arguments of a call, as arrays."""
    if isinstance(inputs, list):
        if hasattr(model, "frequencies"):
            inputs = {"frequencies": model.frequencies(inputs)}
        else:
            encoder = getattr(model, "encoder", model)
            inputs = encoder.tokenize(inputs)
    return {name: values.numpy() for name, values in inputs.items()}


@pytest.mark.parametrize("make, inputs", CASES.values(), ids=CASES)
def test_a_model_is_restored_from_its_configuration_and_weights(make, inputs, tmp_path):
    """Trained or calibrated, torch's own generator is untouched; a model that was
    written and read by tracking has bit-identical outputs.
    """
    before = torch.get_rng_state()
    model, again, other = (
        make(generator(seed)).eval().requires_grad_(False) for seed in (0, 0, 1)
    )
    expected = answer(model, inputs)
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(answer(again, inputs), expected)
    assert not torch.equal(answer(other, inputs), expected)
    write_model(model, example(model, inputs), tmp_path)
    restored = read_model(tmp_path)
    assert type(restored) is type(model)
    assert restored.config == json.loads(json.dumps(model.config))
    assert torch.equal(answer(restored, inputs), expected)
