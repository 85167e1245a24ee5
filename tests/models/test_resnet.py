"""The residual networks: equality with torchvision, learning, and layers as fixed maps."""

import math

import pytest
import torch
import torchvision
from pytest import approx
from torch.testing import assert_close

from infoscope.models import LayerEncoder, ResNet, fit_resnet
from tests.data.common import generator
from tests.models.samples import halves

GREY = (1, 32, 32)
THIN = {"shape": GREY, "labels": 2, "depth": 18, "width": 4}


def images(n, shape=GREY, seed=1):
    return torch.rand(n, *shape, generator=generator(seed))


def warmed(**arguments):
    """A network whose batch norms have seen a few batches, in evaluation mode."""
    model = ResNet(**(THIN | arguments), generator=generator())
    with torch.no_grad():
        for seed in range(5):
            model(images(16, model.config["shape"], seed))
    return model.eval()


@pytest.mark.parametrize("depth", [18, 50])
def test_width_64_is_torchvisions_network(depth):
    """The same names, shapes and function, also up to a layer."""
    with torch.random.fork_rng(devices=[]):
        theirs = getattr(torchvision.models, f"resnet{depth}")(
            weights=None, num_classes=10
        )
    ours = ResNet((3, 32, 32), depth=depth, generator=generator())
    theirs.load_state_dict(ours.state_dict())
    x = images(4, (3, 32, 32))
    outputs = []
    theirs.layer3[-1].register_forward_hook(
        lambda module, inputs, output: outputs.append(output)
    )
    last = [name for name in ours.layers() if name.startswith("layer3")][-1]
    with torch.no_grad():
        assert torch.equal(ours(x), theirs.train()(x))
        assert torch.equal(ours.until(last, x), outputs[0])


def test_weights_are_spread_as_torchvisions():
    """Convolutions N(0, 2 / fan-out): the standard deviation of each weight matrix of
    9,000 or more entries, which varies by less than 1/sqrt(2 * 9000) = 0.75 %, within 5
    of these (false alarm below 1e-5 over all layers).
    """
    model = ResNet(GREY, depth=18, generator=generator())
    checked = 0
    for module in model.modules():
        if isinstance(module, torch.nn.Conv2d) and module.weight.numel() >= 9000:
            fan_out = module.out_channels * module.kernel_size[0] ** 2
            assert module.weight.std().item() == approx(
                math.sqrt(2 / fan_out), rel=0.0375
            )
            checked += 1
    assert checked >= 18


def test_flat_and_shaped_images_and_grey_and_colour_agree():
    model = warmed()
    x = images(3)
    colour = ResNet(**(model.config | {"shape": (3, 32, 32)})).eval()
    colour.load_state_dict(model.state_dict())
    with torch.no_grad():
        assert torch.equal(model(x), model(x.flatten(1)))
        assert torch.equal(model(x), colour(x.repeat(1, 3, 1, 1)))


@pytest.mark.parametrize(
    "task, nats", [("labels", math.log(2)), ("combinations", 3 * math.log(2))]
)
def test_losses_of_equal_logits(task, nats):
    """With a last layer of zeros: ln 2 per label, labels * ln 2 for the combination."""
    truth = torch.rand(6, 3, generator=generator()) < 0.5
    model = ResNet(GREY, labels=3, task=task, depth=18, width=4)
    torch.nn.init.zeros_(model.fc.weight)
    torch.nn.init.zeros_(model.fc.bias)
    assert model.loss(images(6), truth).item() == approx(nats, rel=1e-5)


def test_a_combination_has_the_same_number_in_training_and_prediction():
    model = ResNet(GREY, labels=3, task="combinations", depth=18, width=4).eval()
    torch.nn.init.zeros_(model.fc.weight)
    for number in range(8):
        truth = torch.tensor([[bool(number >> place & 1) for place in range(3)]])
        torch.nn.init.zeros_(model.fc.bias)
        model.fc.bias.data[number] = 50.0
        assert torch.equal(model.predict(images(1)), truth)
        assert model.loss(images(1), truth).item() < 1e-6


def test_it_learns_to_predict_the_labels():
    """Guessing gets 85 % of 400 held-out labels right with a probability below 1e-40."""
    settings = {
        "depth": 18,
        "width": 4,
        "steps": 40,
        "batch": 32,
        "learning_rate": 1e-2,
    }
    model = fit_resnet(halves, GREY, generator(), labels=2, task="labels", **settings)
    x, truth = halves(200, generator(7))
    assert not model.training
    assert (model.predict(x) == truth).float().mean() > 0.85


def test_a_layer_is_a_fixed_map_without_gradients():
    """layer2.1 of the thin network: 8 channels on 4 x 4 places. Even in training mode
    the statistics do not change, and a code depends on its image only.
    """
    model = warmed()
    x = images(5)
    encoder = LayerEncoder(model, "layer2.1")
    code = encoder(x.flatten(1))
    places = model.until("layer2.1", x)
    assert places.shape == (5, 8, 4, 4)
    assert encoder.features == 8 * 4 * 4
    assert_close(code, places.flatten(1))
    assert not code.requires_grad
    encoder.train()
    assert not encoder.model.training
    assert_close(encoder(x[:3].flatten(1)), code[:3])
