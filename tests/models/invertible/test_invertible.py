"""The random invertible encoders: inverses, determinants, what a feature may depend on,
and whose statistics count.
"""

import pytest
import torch
from torch.testing import assert_close

from infoscope.models import IRevNet, MaskedAutoregressiveFlow, RealNVP
from infoscope.models.invertible.flows import Autoregressive, Coupling
from infoscope.models.invertible.irevnet import depth_to_space, space_to_depth
from tests.data.common import generator
from tests.refusals import refused

FLOWS = (MaskedAutoregressiveFlow, RealNVP)
# features, hidden: fewer hidden units than features, more, and the smallest flow
SIZES = (7, 4), (6, 16), (2, 3)
SMALL = {"shape": (3, 8, 8), "blocks": (2, 1)}
SETTINGS = {
    IRevNet: {"features": 192, **SMALL},
    MaskedAutoregressiveFlow: {"features": 7, "hidden": 16, "blocks": 3},
    RealNVP: {"features": 7, "hidden": 16, "blocks": 3},
}


def samples(n, features, seed=1):
    """Correlated, of unequal scales, off centre; of images in [0, 1]."""
    drawn = generator(seed)
    if features > 16:
        return torch.rand(n, features, generator=drawn, dtype=torch.float64)
    noise = torch.randn(n, features, generator=drawn, dtype=torch.float64)
    scales = torch.linspace(0.5, 2.0, features)
    return noise.cumsum(1) * scales + 1.0


def made(kind, statistics="fixed", **settings):
    arguments = SETTINGS[kind] | settings
    encoder = kind(statistics=statistics, **arguments, generator=generator())
    return encoder.double()


def calibrated(kind, features, **settings):
    encoder = made(kind, features=features, **settings)
    encoder.calibrate(samples(200, features))
    return encoder


def jacobian_at(model, row):
    """The derivatives [code, feature] of the code of one sample."""

    def code(values):
        output = model(values[None])
        if isinstance(output, tuple):
            output, _ = output
        return output[0]

    return torch.autograd.functional.jacobian(code, row)


def log_volume(jacobian):
    return torch.linalg.slogdet(jacobian).logabsdet


def assert_near(values, expected, tolerance=1e-10):
    assert_close(values, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", FLOWS)
@pytest.mark.parametrize("features, hidden", SIZES)
def test_a_flow_has_its_inverse_and_the_determinant_of_its_jacobian(
    kind, features, hidden
):
    flow = calibrated(kind, features, hidden=hidden)
    x = samples(20, features, seed=2)
    code = flow(x)
    assert not torch.allclose(code, x, atol=0.1)
    assert_near(flow.inverse(code), x)
    first = x[:4]
    for row, volume in zip(first, flow.log_det(first)):
        assert_near(volume, log_volume(jacobian_at(flow, row)), 1e-9)


@pytest.mark.parametrize("features, hidden", SIZES)
def test_made_is_autoregressive(features, hidden):
    """Output i is an increasing function of input i, given by the log determinant, and
    depends on none after it.
    """
    layer = Autoregressive(features, hidden, generator()).double()
    x = samples(1, features)
    jacobian = jacobian_at(layer, x[0])
    slopes = jacobian.diagonal()
    assert not jacobian.triu(1).any()
    assert (slopes > 0).all()
    _, (log_det,) = layer(x)
    assert_close(slopes.log().sum(), log_det)


def test_made_conditions_on_as_many_features_as_hidden_units():
    """The published degrees: with 4 hidden units, every later feature may see the first
    four and no other.
    """
    layer = Autoregressive(7, 4, generator()).double()
    seen = torch.zeros(7, 7, dtype=torch.bool)
    # a ReLU may hide a dependence at one point, not at fifty
    for row in samples(50, 7):
        seen |= jacobian_at(layer, row) != 0
    assert not seen[5:, 4].any()
    assert not seen[6, 5]
    assert seen[4:, :4].any(0).all()


@pytest.mark.parametrize("first_kept", [0, 1])
def test_coupling_keeps_every_second_feature(first_kept):
    coupling = Coupling(5, 8, first_kept, generator()).double()
    x = samples(10, 5)
    y, log_det = coupling(x)
    is_kept = torch.arange(5) % 2 == first_kept
    is_equal = y == x
    assert is_equal[:, is_kept].all()
    assert not is_equal[:, ~is_kept].any()
    assert_close(log_det[0], log_volume(jacobian_at(coupling, x[0])))


@pytest.mark.parametrize("kind", SETTINGS)
def test_fixed_statistics_make_a_code_a_function_of_its_sample_and_those_of_the_batch_do_not(
    kind,
):
    """Calibrated with a batch, it gives the codes that the batch has with its own
    statistics.
    """
    x = samples(64, SETTINGS[kind]["features"], seed=4)
    fixed = made(kind)
    batchwise = made(kind, "batch")
    fixed.calibrate(x)
    code = fixed(x)
    assert_near(batchwise(x), code)
    assert_near(fixed(x[:5]), code[:5])
    difference = batchwise(x[:32]) - code[:32]
    assert difference.abs().max() > 0.01


@pytest.mark.parametrize("kind", FLOWS)
def test_a_batch_is_coded_with_mean_0_and_variance_1(kind):
    code = made(kind, "batch")(samples(500, 7))
    ones = torch.ones(7).double()
    assert_close(code.mean(0), 0 * ones)
    variance = code.var(0, correction=0)
    assert_close(variance, ones, rtol=0.01, atol=0)


def test_published_size_of_the_autoregressive_flow():
    """33 million weights on 4096 pixels."""
    flow = MaskedAutoregressiveFlow(4096)
    weights = sum(parameter.numel() for parameter in flow.parameters())
    assert weights == pytest.approx(33e6, rel=0.01)


@pytest.mark.parametrize("features", [192, 64, 100])
def test_the_irevnet_has_its_inverse(features):
    encoder = calibrated(IRevNet, features)
    x = samples(6, features, seed=2)
    code = encoder(x)
    assert code.shape == (6, 192)
    assert encoder.features == features
    assert encoder.code_features == 192
    assert_near(encoder.inverse(code), x)
    with refused("code", "shape"):
        encoder.inverse(samples(3, 100))


def test_the_full_size_irevnet_is_onto():
    """What no image was encoded to has an original."""
    encoder = calibrated(IRevNet, 192)
    code = torch.randn(4, 192, generator=generator(3), dtype=torch.float64)
    assert_near(encoder(encoder.inverse(code)), code)


def test_the_irevnet_keeps_volumes_and_mixes():
    encoder = calibrated(IRevNet, 16, shape=(1, 4, 4), blocks=(3,), bottleneck=2)
    jacobian = jacobian_at(encoder, samples(1, 16)[0])
    assert_close(log_volume(jacobian), jacobian.new_zeros(()))
    assert (jacobian != 0).sum() > 3 * 16  # more than a permutation


def test_published_shapes_of_the_irevnet():
    """3 x 64 x 64 to 3072 x 2 x 2, stages of 24, 96, 384 and 1536 channels, three
    convolutions a block.
    """
    encoder = IRevNet(4096, blocks=(1, 1, 1, 1))
    channels = []
    for module in encoder.modules():
        if isinstance(module, torch.nn.Conv2d):
            channels.append(module.out_channels)
    assert channels[2::3] == [24, 96, 384, 1536]
    assert channels[1::3] == [6, 24, 96, 384]
    images = torch.rand(2, 4096, generator=generator())
    assert encoder(images).shape == (2, 3072 * 2 * 2)


def test_space_to_depth_orders_channels_by_place():
    """A 4 x 4 image of two channels: the first two new channels are the upper left
    pixels of the 2 x 2 cells.
    """
    image = torch.arange(32).view(1, 2, 4, 4)
    channels = space_to_depth(image)
    for place, corner in enumerate(channels.split(2, 1)):
        row, column = divmod(place, 2)
        pixels = image[:, :, row::2, column::2]
        assert torch.equal(corner, pixels)
    assert torch.equal(depth_to_space(channels), image)


@pytest.mark.parametrize("kind", FLOWS)
@pytest.mark.parametrize(
    "statistics, name", [("fixed", "calibrate"), ("batch", '"fixed"')]
)
def test_densities_without_fixed_statistics_are_refused(kind, statistics, name):
    flow = kind(4, 8, statistics=statistics)
    calls = [flow.inverse, flow.log_det]
    calls.append(flow if statistics == "fixed" else flow.calibrate)
    x = samples(5, 4).float()
    for call in calls:
        with pytest.raises(RuntimeError, match=name):
            call(x)
