"""The networks of the variational autoencoders, their codes, and whole data sets of
images.
"""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from infoscope.models import (
    VAE,
    AutoEncoder,
    Encoding,
    LatentSpec,
    encode_all,
    traverse,
)
from tests.data.common import generator
from tests.models.samples import SMALL_VAE, Stored


def images(n, shape=(1, 16, 16), seed=1):
    return torch.rand(n, *shape, generator=generator(seed))


MIXED = LatentSpec(2, (3,))


@pytest.mark.parametrize("shape", [(3, 32, 32), (2, 32, 64)])
def test_shapes_of_the_published_network(shape):
    spec = LatentSpec(real=2, categorical=(3, 4))
    model = VAE(shape, spec, generator=generator())
    encoding = model.encode(images(2, shape))
    first, second = encoding.probabilities
    assert encoding.mean.shape == encoding.scale.shape == (2, 2)
    assert first.shape == (2, 3)
    assert second.shape == (2, 4)
    codes = model.sample(encoding, generator())
    assert codes.shape == (2, spec.width) == (2, 9)
    assert model.decode(codes).shape == (2, *shape)
    assert spec.names == ("z1", "z2", "c1", "c2")


def test_weights_of_the_published_network():
    """Tokui & Sato 2021, table 2, for 1 x 64 x 64 images and 6 Gaussian latents,
    counted by hand.
    """
    convolutions = (1 * 32 + 32 * 32 + 32 * 64 + 64 * 64) * 16
    encoder = convolutions + (32 + 32 + 64 + 64) + (1024 + 1) * 256 + (256 + 1) * 12
    decoder = (6 + 1) * 256 + (256 + 1) * 1024 + convolutions + (64 + 32 + 32 + 1)
    model = VAE()
    assert sum(p.numel() for p in model.encoder.parameters()) == encoder
    assert sum(p.numel() for p in model.decoder.parameters()) == decoder
    kinds = [type(layer) for layer in model.encoder]
    assert kinds == [nn.Conv2d, nn.ReLU] * 4 + [
        nn.Flatten,
        nn.Linear,
        nn.ReLU,
        nn.Linear,
    ]


def test_an_autoencoder_has_no_density():
    model = AutoEncoder(**SMALL_VAE, real=3, generator=generator())
    encoding = model.encode(images(2))
    assert encoding.scale is None
    assert encoding.mean.shape == (2, 3)
    assert model.decode(encoding.mean).shape == (2, 1, 16, 16)


def test_all_latents_are_one_block_with_scales_where_every_one_is_drawn():
    x = images(4)
    real = VAE(**SMALL_VAE, latents=LatentSpec(3), generator=generator())
    mixed = VAE(**SMALL_VAE, latents=MIXED, generator=generator())
    (block,) = real.blocks(x).values()
    encoding = real.encode(x)
    assert torch.equal(block.mean, encoding.mean)
    assert torch.equal(block.scale, encoding.scale)
    (block,) = mixed.blocks(x).values()
    encoding = mixed.encode(x)
    assert torch.equal(
        block.mean, torch.cat([encoding.mean, *encoding.probabilities], 1)
    )
    assert torch.equal(block.mean, mixed(x))
    assert block.scale is None


BINARY = (images(9) > 0.5).to(torch.uint8)


@pytest.mark.parametrize(
    "same",
    [
        BINARY,
        BINARY.numpy(),
        BINARY.bool(),
        255 * BINARY,
        BINARY.double(),
        Stored(BINARY.float()),
    ],
)
def test_all_kinds_of_images_are_the_same_images(same):
    model = VAE(**SMALL_VAE, generator=generator())
    expected = model.encode(BINARY.float()).mean.detach()
    assert_close(encode_all(model, same, batch=4).mean, expected)


def test_traversals_change_one_latent_only():
    model = VAE(**SMALL_VAE, latents=MIXED, generator=generator())
    x = images(1)[0]
    code = model(x[None])[0].detach()
    rows = traverse(model, x, (-1.5, 0.5))
    assert {name: len(row) for name, row in rows.items()} == {"z1": 2, "z2": 2, "c1": 3}
    moved = code.clone()
    moved[1] = 0.5
    category = code.clone()
    category[2:] = torch.tensor([0.0, 1.0, 0.0])
    expected = model.decode(torch.stack([moved, category])).sigmoid().detach()
    assert_close(torch.stack([rows["z2"][1], rows["c1"][1]]), expected)
    of_code = traverse(model, code, (-1.5, 0.5))
    for name, row in rows.items():
        assert_close(of_code[name], row)


N = 20_000


def test_codes_have_the_moments_of_the_posterior():
    """Means within 5 standard errors, variances within 5 of theirs (2 latents; false
    alarm below 1e-5).
    """
    model = VAE(**SMALL_VAE, latents=LatentSpec(2))
    mean = torch.tensor([1.0, -2.0])
    scale = torch.tensor([0.3, 2.0])
    codes = model.sample(Encoding(mean.expand(N, 2), scale.expand(N, 2)), generator(3))
    normal = (codes - mean) / scale
    assert normal.mean(0).abs().max() < 5 / math.sqrt(N)
    assert (normal.var(0) - 1).abs().max() < 5 * math.sqrt(2 / N)


def test_relaxed_categories_fall_as_often_as_they_should():
    """The largest entry of a relaxed one-hot is category j with probability p_j
    (Gumbel's trick), at any temperature: within 5 standard errors for 3 categories
    (false alarm below 1e-5).
    """
    p = torch.tensor([0.6, 0.3, 0.1])
    model = VAE(**SMALL_VAE, latents=LatentSpec(0, (3,)))
    nothing = torch.zeros(N, 0)
    codes = model.sample(
        Encoding(nothing, nothing, (p.log().expand(N, 3),)), generator(3)
    )
    assert_close(codes.sum(1), torch.ones(N))
    shares = codes.argmax(1).bincount() / N
    assert ((shares - p).abs() < 5 * (p * (1 - p) / N).sqrt()).all()
    assert ((codes > 0.01) & (codes < 0.99)).any()
