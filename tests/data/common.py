"""What the tests of data and of models share: random streams, and marks for what needs real data or a GPU."""

import os

import pytest
import torch

with_real_data = pytest.mark.skipif(
    not os.environ.get("INFOSCOPE_DATA"), reason="INFOSCOPE_DATA names no folder of real data"
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def on_gpu(test):
    """The test, marked as one of `make test-gpu`."""
    return pytest.mark.gpu(pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")(test))
