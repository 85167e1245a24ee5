"""The networks of the variational autoencoders, their codes, and whole data sets of
images.
"""

import math

import pytest
import torch
from torch.testing import assert_close

from infoscope.models import (
    VAE,
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


def parameters_of(module):
    return sum(parameter.numel() for parameter in module.parameters())


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
    assert spec.width == 9
    assert codes.shape == (2, 9)
    assert model.decode(codes).shape == (2, *shape)
    assert spec.names == ("z1", "z2", "c1", "c2")


def test_weights_of_the_published_network():
    """Tokui & Sato 2021, table 2, for 1 x 64 x 64 images and 6 Gaussian latents,
    counted by hand.
    """
    convolutions = (1 * 32 + 32 * 32 + 32 * 64 + 64 * 64) * 16
    inner = (1024 + 1) * 256
    encoder = convolutions + (32 + 32 + 64 + 64) + inner + (256 + 1) * 12
    decoder = (6 + 1) * 256 + (256 + 1) * 1024 + convolutions + (64 + 32 + 32 + 1)
    model = VAE()
    assert parameters_of(model.encoder) == encoder
    assert parameters_of(model.decoder) == decoder
    kinds = [type(layer).__name__ for layer in model.encoder]
    assert kinds[:8] == ["Conv2d", "ReLU"] * 4
    assert kinds[8:] == ["Flatten", "Linear", "ReLU", "Linear"]


def test_all_latents_are_one_block_with_scales_where_every_one_is_drawn():
    x = images(4)
    real = VAE(**SMALL_VAE, latents=LatentSpec(3), generator=generator())
    (block,) = real.blocks(x).values()
    encoding = real.encode(x)
    assert torch.equal(block.mean, encoding.mean)
    assert torch.equal(block.scale, encoding.scale)
    mixed = VAE(**SMALL_VAE, latents=MIXED, generator=generator())
    (block,) = mixed.blocks(x).values()
    encoding = mixed.encode(x)
    codes = torch.cat([encoding.mean, *encoding.probabilities], 1)
    assert torch.equal(block.mean, codes)
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
    assert list(map(len, rows.values())) == [2, 2, 3]
    second_real = code.clone()
    second_real[1] = 0.5
    second_category = code.clone()
    second_category[2:] = torch.tensor([0.0, 1.0, 0.0])
    for image, changed in (
        (rows["z2"][1], second_real),
        (rows["c1"][1], second_category),
    ):
        expected = model.decode(changed[None]).sigmoid().detach()
        assert_close(image, expected[0])
    for name, row in traverse(model, code, (-1.5, 0.5)).items():
        assert_close(row, rows[name])


N = 20_000


def test_codes_have_the_moments_of_the_posterior():
    """Means within 5 standard errors, variances within 5 of theirs (2 latents; false
    alarm below 1e-5).
    """
    model = VAE(**SMALL_VAE, latents=LatentSpec(2))
    mean = torch.tensor([1.0, -2.0])
    scale = torch.tensor([0.3, 2.0])
    encoding = Encoding(mean.expand(N, 2), scale.expand(N, 2))
    codes = model.sample(encoding, generator(3))
    normal = (codes - mean) / scale
    error = 1 / math.sqrt(N)
    assert normal.mean(0).abs().max() < 5 * error
    assert (normal.var(0) - 1).abs().max() < 5 * math.sqrt(2) * error


def test_relaxed_categories_fall_as_often_as_they_should():
    """The largest entry of a relaxed one-hot is category j with probability p_j
    (Gumbel's trick), at any temperature: within 5 standard errors for 3 categories
    (false alarm below 1e-5).
    """
    p = torch.tensor([0.6, 0.3, 0.1])
    model = VAE(**SMALL_VAE, latents=LatentSpec(0, (3,)))
    nothing = torch.zeros(N, 0)
    encoding = Encoding(nothing, nothing, (p.log().expand(N, 3),))
    codes = model.sample(encoding, generator(3))
    assert_close(codes.sum(1), torch.ones(N))
    shares = codes.argmax(1).bincount() / N
    errors = (p * (1 - p) / N).sqrt()
    assert ((shares - p).abs() < 5 * errors).all()
    is_between = (codes > 0.01) & (codes < 0.99)
    assert is_between.any()
