"""Encoded pairs: the maps of x and y, their dimensions, devices and gradients."""

import torch
from torch import nn
from torch.testing import assert_close

from infoscope.data import EncodedPairs, GaussianPairs
from tests.data.common import generator

SOURCE = GaussianPairs(4, mutual_information=1.0)


class Scale(nn.Module):
    """A module on a device without values, which stands for another one; moved, it gets
    its value.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty((), device="meta"))

    def to(self, device: torch.device) -> "Scale":
        self.scale = nn.Parameter(torch.tensor(3.0, device=device))
        return self

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return self.scale * values


def test_both_sides_go_through_the_map():
    layer = nn.Linear(4, 3)
    encoded = EncodedPairs(SOURCE, layer)
    assert encoded.dim_x == 3
    assert encoded.dim_y == 3
    assert encoded.mutual_information == SOURCE.mutual_information
    for values, code in zip(
        SOURCE.sample(7, generator()), encoded.sample(7, generator()), strict=True
    ):
        assert torch.equal(code, layer(values))
        assert not code.requires_grad


def test_a_map_of_batch_statistics_can_be_probed_and_keeps_its_mode():
    encoder = nn.BatchNorm1d(4, affine=False)
    x, _ = EncodedPairs(SOURCE, encoder).sample(50, generator())
    assert encoder.training
    assert_close(x.mean(0), torch.zeros(4))
    variance = x.var(0, correction=0)
    assert_close(variance, torch.ones(4), rtol=0, atol=1e-3)


def test_a_module_is_copied_to_another_device_once():
    encoded = EncodedPairs(SOURCE, lambda values: values)
    encoded.encoder = encoder = Scale()
    for _ in range(2):
        x, _ = encoded.sample(6, generator())
        values, _ = SOURCE.sample(6, generator())
        assert torch.equal(x, 3 * values)
    assert encoder.scale.device.type == "meta"  # the module itself stays where it is
    assert len(encoded._copies) == 1
