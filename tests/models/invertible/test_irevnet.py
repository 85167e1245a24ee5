"""The random i-RevNet: its inverse, its shapes, and whose statistics it uses."""

from __future__ import annotations

import json

import pytest
import torch

from infoscope.models import IRevNet
from infoscope.models.invertible.irevnet import depth_to_space, space_to_depth
from tests.refusals import refused

SMALL = {"shape": (3, 8, 8), "blocks": (2, 1)}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def images(n: int, features: int, seed: int = 1) -> torch.Tensor:
    return torch.rand(n, features, generator=generator(seed), dtype=torch.float64)


def calibrated(features: int = 192, **arguments) -> IRevNet:
    encoder = IRevNet(features, **(SMALL | arguments), statistics="fixed", generator=generator()).double()
    encoder.calibrate(images(64, features))
    return encoder


@pytest.mark.parametrize("features", [192, 64, 100])
def test_inverse_returns_the_samples(features):
    encoder = calibrated(features)
    x = images(6, features, seed=2)
    code = encoder(x)
    assert code.shape == (6, 192)
    torch.testing.assert_close(encoder.inverse(code), x, rtol=1e-10, atol=1e-10)


def test_inverse_of_any_code_is_a_sample_with_that_code():
    """The full-size map is onto: also what no image was encoded to has an original."""
    encoder = calibrated()
    code = torch.randn(4, 192, generator=generator(3), dtype=torch.float64)
    torch.testing.assert_close(encoder(encoder.inverse(code)), code, rtol=1e-10, atol=1e-10)


def test_it_keeps_volumes_and_mixes():
    encoder = calibrated(features=16, shape=(1, 4, 4), blocks=(3,), bottleneck=2)
    jacobian = torch.autograd.functional.jacobian(lambda one: encoder(one[None])[0], images(1, 16)[0])
    torch.testing.assert_close(torch.linalg.slogdet(jacobian).logabsdet, jacobian.new_zeros(()))
    assert (jacobian != 0).sum() > 3 * 16  # more than a permutation


def test_a_grey_image_is_three_equal_channels():
    x = images(5, 64).repeat(1, 3)
    grey = IRevNet(64, **SMALL, generator=generator()).double()
    full = IRevNet(192, **SMALL, generator=generator()).double()
    assert torch.equal(grey(x[:, :64]), full(x))


def test_published_shapes():
    """3 x 64 x 64 to 3072 x 2 x 2, stages of 24, 96, 384 and 1536 channels, three convolutions a block."""
    encoder = IRevNet(4096, blocks=(1, 1, 1, 1))
    convolutions = [module for module in encoder.modules() if isinstance(module, torch.nn.Conv2d)]
    assert [layer.out_channels for layer in convolutions[2::3]] == [24, 96, 384, 1536]
    assert [layer.out_channels for layer in convolutions[1::3]] == [6, 24, 96, 384]
    assert encoder(torch.rand(2, 4096, generator=generator())).shape == (2, 3072 * 2 * 2)


def test_space_to_depth_orders_channels_by_place():
    """A 4 x 4 image of two channels: the first two new channels are the upper left pixels of the 2 x 2 cells."""
    image = torch.arange(32).view(1, 2, 4, 4)
    deep = space_to_depth(image)
    assert torch.equal(deep[0, :2], image[0, :, ::2, ::2])
    assert torch.equal(deep[0, 2:4], image[0, :, ::2, 1::2])
    assert torch.equal(deep[0, 4:6], image[0, :, 1::2, ::2])
    assert torch.equal(depth_to_space(deep), image)


def test_fixed_statistics_make_a_code_a_function_of_its_sample():
    encoder = calibrated()
    x = images(32, 192, seed=4)
    torch.testing.assert_close(encoder(x)[:3], encoder(x[:3]), rtol=1e-11, atol=1e-11)


def test_statistics_of_the_batch_make_a_code_depend_on_the_batch():
    encoder = IRevNet(192, **SMALL, generator=generator()).double()
    x = images(32, 192, seed=4)
    assert (encoder(x)[:16] - encoder(x[:16])).abs().max() > 0.01


def test_calibrated_with_a_batch_it_gives_the_batchwise_codes():
    x = images(16, 192, seed=4)
    batchwise = IRevNet(192, **SMALL, statistics="batch", generator=generator()).double()
    fixed = IRevNet(192, **SMALL, statistics="fixed", generator=generator()).double()
    fixed.calibrate(x)
    torch.testing.assert_close(batchwise(x), fixed(x), rtol=1e-10, atol=1e-10)


def test_batch_statistics_are_those_of_torch():
    """The third convolution of the first block, behind torch's own batch norm in training mode."""
    encoder = IRevNet(192, **SMALL, generator=generator()).double()
    residual = encoder.blocks[0].residual
    half = space_to_depth(images(16, 192).view(-1, 3, 8, 8))[:, 6:]
    h = half
    for layer in residual:
        norm = torch.nn.BatchNorm2d(6, dtype=torch.float64)
        h = norm(h) if type(layer).__name__ == "Normalisation" else layer(h)
    torch.testing.assert_close(residual(half), h)


def test_rebuilt_from_config_and_weights_and_the_global_generator_is_left_alone():
    before = torch.get_rng_state()
    encoder = calibrated(100)
    rebuilt = IRevNet(**json.loads(json.dumps(encoder.config)), generator=generator(9)).double()
    x = images(5, 100, seed=5)
    rebuilt.calibrate(images(64, 100))
    assert not torch.equal(rebuilt(x), encoder(x))
    rebuilt.load_state_dict(encoder.state_dict())
    assert torch.equal(rebuilt(x), encoder(x))
    assert torch.equal(before, torch.get_rng_state())


def test_a_code_of_another_length_is_refused():
    encoder = calibrated(100)
    assert (encoder.features, encoder.code_features) == (100, 192)
    with refused("code", "shape"):
        encoder.inverse(images(3, 100))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"features": 193}, "features"),
        ({"features": 0}, "features"),
        ({"shape": (3, 8, 12)}, "shape"),
        ({"shape": (3, 8)}, "shape"),
        ({"blocks": ()}, "blocks"),
        ({"blocks": (1, 0)}, r"blocks\[1\]"),
        ({"bottleneck": 25}, "bottleneck"),
        ({"statistics": "mean"}, "statistics"),
    ],
)
def test_bad_architecture_is_refused(arguments, name):
    with pytest.raises(ValueError, match=f"^{name} must "):
        IRevNet(**({"features": 192} | SMALL | arguments))
