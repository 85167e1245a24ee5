"""The random flows: inverses, determinants, what a feature may depend on, and whose statistics they use."""

from __future__ import annotations

import json

import pytest
import torch

from infoscope.models import MaskedAutoregressiveFlow, RealNVP
from infoscope.models.invertible.flows import Autoregressive, Coupling
from tests.refusals import refused

FLOWS = (MaskedAutoregressiveFlow, RealNVP)
SIZES = ((7, 4), (6, 16), (2, 3))  # features, hidden: fewer hidden units than features, more, and the smallest flow


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def samples(n: int, features: int, seed: int = 1) -> torch.Tensor:
    """Correlated, of unequal scales, off centre."""
    draws = torch.randn(n, features, generator=generator(seed), dtype=torch.float64)
    return draws.cumsum(1) * torch.linspace(0.5, 2.0, features, dtype=torch.float64) + 1.0


def calibrated(kind, features: int = 7, hidden: int = 16, seed: int = 0):
    flow = kind(features, hidden, blocks=3, statistics="fixed", generator=generator(seed)).double()
    flow.calibrate(samples(200, features))
    return flow


@pytest.mark.parametrize("kind", FLOWS)
@pytest.mark.parametrize(("features", "hidden"), SIZES)
def test_inverse_returns_the_samples(kind, features, hidden):
    flow = calibrated(kind, features, hidden)
    x = samples(20, features, seed=2)
    code = flow(x)
    assert code.shape == x.shape
    assert not torch.allclose(code, x, atol=0.1)
    torch.testing.assert_close(flow.inverse(code), x, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", FLOWS)
@pytest.mark.parametrize(("features", "hidden"), SIZES)
def test_log_det_is_that_of_the_jacobian(kind, features, hidden):
    flow = calibrated(kind, features, hidden)
    x = samples(4, features, seed=3)
    jacobians = torch.stack([torch.autograd.functional.jacobian(lambda one: flow(one[None])[0], row) for row in x])
    torch.testing.assert_close(flow.log_det(x), torch.linalg.slogdet(jacobians).logabsdet, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("features", "hidden"), SIZES)
def test_made_is_autoregressive(features, hidden):
    """Output i is an increasing function of input i, given by the log determinant, and depends on none after it."""
    made = Autoregressive(features, hidden, generator()).double()
    x = samples(1, features)[0]
    jacobian = torch.autograd.functional.jacobian(lambda one: made(one[None])[0][0], x)
    assert torch.equal(jacobian.triu(1), torch.zeros_like(jacobian))
    assert (jacobian.diagonal() > 0).all()
    torch.testing.assert_close(jacobian.diagonal().log().sum(), made(x[None])[1][0])


def test_made_conditions_on_as_many_features_as_hidden_units():
    """The published degrees: with 4 hidden units, every later feature may see the first four and no other."""
    made = Autoregressive(7, 4, generator()).double()
    seen = torch.zeros(7, 7, dtype=torch.bool)
    for row in samples(50, 7):  # a ReLU may hide a dependence at one point, not at fifty
        seen |= torch.autograd.functional.jacobian(lambda one: made(one[None])[0][0], row) != 0
    assert not seen[5:, 4].any() and not seen[6, 5]
    assert seen[4:, :4].any(0).all()


@pytest.mark.parametrize("first_kept", [0, 1])
def test_coupling_keeps_every_second_feature(first_kept):
    coupling = Coupling(5, 8, first_kept, generator()).double()
    x = samples(10, 5)
    y, log_det = coupling(x)
    kept, moved = slice(first_kept, None, 2), slice(1 - first_kept, None, 2)
    assert torch.equal(y[:, kept], x[:, kept])
    assert (y[:, moved] != x[:, moved]).all()
    jacobian = torch.autograd.functional.jacobian(lambda one: coupling(one[None])[0][0], x[0])
    torch.testing.assert_close(torch.linalg.slogdet(jacobian).logabsdet, log_det[0])


@pytest.mark.parametrize("kind", FLOWS)
def test_fixed_statistics_make_a_code_a_function_of_its_sample(kind):
    flow = calibrated(kind)
    x = samples(64, 7, seed=4)
    torch.testing.assert_close(flow(x)[:5], flow(x[:5]), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(flow(x)[:1], flow(x[:1]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", FLOWS)
def test_statistics_of_the_batch_make_a_code_depend_on_the_batch(kind):
    flow = kind(7, 16, blocks=3, generator=generator()).double()
    x = samples(64, 7, seed=4)
    assert (flow(x)[:32] - flow(x[:32])).abs().max() > 0.1


@pytest.mark.parametrize("kind", FLOWS)
def test_calibrated_with_a_batch_it_gives_the_batchwise_codes(kind):
    x = samples(64, 7, seed=4)
    batchwise = kind(7, 16, blocks=3, statistics="batch", generator=generator()).double()
    fixed = kind(7, 16, blocks=3, statistics="fixed", generator=generator()).double()
    fixed.calibrate(x)
    torch.testing.assert_close(batchwise(x), fixed(x), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", FLOWS)
def test_a_batch_is_coded_with_mean_0_and_variance_1(kind):
    code = kind(7, 16, generator=generator()).double()(samples(500, 7))
    torch.testing.assert_close(code.mean(0), torch.zeros(7, dtype=torch.float64))
    torch.testing.assert_close(code.var(0, correction=0), torch.ones(7, dtype=torch.float64), rtol=0.01, atol=0)


@pytest.mark.parametrize("kind", FLOWS)
def test_rebuilt_from_config_and_weights_calibration_included(kind):
    flow = calibrated(kind, seed=5)
    rebuilt = kind(**json.loads(json.dumps(flow.config))).double()
    rebuilt.load_state_dict(flow.state_dict())
    x = samples(9, 7, seed=6)
    assert torch.equal(rebuilt(x), flow(x))


@pytest.mark.parametrize("kind", FLOWS)
def test_same_seed_same_flow_and_the_global_generator_is_left_alone(kind):
    before = torch.get_rng_state()
    x = samples(9, 7)
    first, again, other, default = (
        kind(7, 16, generator=made).double()(x) for made in (generator(0), generator(0), generator(1), None)
    )
    assert torch.equal(first, again) and torch.equal(first, default)
    assert not torch.equal(first, other)
    assert torch.equal(before, torch.get_rng_state())
    assert not any(parameter.requires_grad for parameter in kind(7, 16).parameters())


def test_published_size_of_the_autoregressive_flow():
    """33 million weights on 4096 pixels."""
    flow = MaskedAutoregressiveFlow(4096)
    assert sum(parameter.numel() for parameter in flow.parameters()) == pytest.approx(33e6, rel=0.01)


@pytest.mark.parametrize("kind", FLOWS)
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"features": 1}, "features"),
        ({"features": 4, "hidden": 0}, "hidden"),
        ({"features": 4, "blocks": 1.5}, "blocks"),
        ({"features": 4, "statistics": "running"}, "statistics"),
    ],
)
def test_bad_architecture_is_refused(kind, arguments, name):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        kind(**arguments)


@pytest.mark.parametrize("kind", FLOWS)
def test_what_needs_fixed_statistics_says_so(kind):
    x = samples(5, 4).float()
    uncalibrated, batchwise = kind(4, 8, statistics="fixed"), kind(4, 8)
    for call in (uncalibrated, uncalibrated.inverse, uncalibrated.log_det):
        with pytest.raises(RuntimeError, match="call calibrate"):
            call(x)
    for call in (batchwise.inverse, batchwise.log_det):
        with pytest.raises(RuntimeError, match='take statistics="fixed"'):
            call(x)
    with pytest.raises(RuntimeError, match='only an encoder with statistics="fixed"'):
        batchwise.calibrate(x)


@pytest.mark.parametrize("kind", FLOWS)
def test_bad_samples_are_refused(kind):
    fixed, batchwise = kind(4, 8, statistics="fixed"), kind(4, 8)
    for wrong in (torch.zeros(5, 3), torch.zeros(4), torch.zeros(1, 4)):
        with refused("samples", "shape"):
            batchwise(wrong)
        with refused("samples", "shape"):
            fixed.calibrate(wrong)
    with refused("samples", "missing"):
        fixed.calibrate(torch.tensor([[1.0, 2.0, 3.0, float("nan")]] * 3))
    assert not fixed.calibrated
