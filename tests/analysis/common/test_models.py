"""Codes that a model makes of items, and items that it does not take."""

import numpy as np
import pytest
import torch

from analysis.common.models import codes_of


class Ends(torch.nn.Module):
    """The mean of images of 3 channels."""

    def blocks(self, x):
        (mean,) = torch.nn.functional.conv2d(x, torch.ones(1, 3, 1, 1)).mean(
            dim=(1, 2, 3)
        )[None, :, None]
        return {"z": torch.distributions.Normal(mean, torch.ones_like(mean))}


@pytest.mark.parametrize(
    "x, message",
    [
        (np.zeros((5, 8, 8, 3), np.uint8), "give x.transpose"),
        (np.full((5, 3, 8, 8), 255.0), "float64 from 255 to"),
        (np.full((5, 3, 8, 8), 200), "int64 from 200 to"),
        (np.zeros((5, 7)), r"\[5, 7\]"),
        (np.zeros((5, 2, 8, 8)), r"\[5, 2, 8, 8\]"),
    ],
)
def test_items_that_a_model_does_not_take_are_one_sentence(x, message):
    with pytest.raises(ValueError, match=message):
        codes_of(Ends(), x)


@pytest.mark.parametrize(
    "x", [np.full((5, 3, 2, 2), 51, np.uint8), np.full((5, 3, 2, 2), 0.2)]
)
def test_images_are_bytes_or_shares(x):
    assert codes_of(Ends(), x).means["z"] == pytest.approx(0.6)


def test_a_model_without_blocks_is_one_sentence():
    with pytest.raises(ValueError, match="a Linear makes no latent blocks"):
        codes_of(torch.nn.Linear(1, 1), np.zeros((2, 1)))
