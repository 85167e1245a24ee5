"""What the tests of data and of models share: random streams, and marks for what needs
real data or a GPU.
"""

import os
from functools import partial

import numpy as np
import pytest
import torch
from scipy.stats import entropy

with_real_data = pytest.mark.skipif(
    not os.environ.get("INFOSCOPE_DATA"),
    reason="INFOSCOPE_DATA names no folder of real data",
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def wrong(call, code, prefix="", **settings):
    """A row (call, argument, code) of a table of refusals for each setting: the call
    with this one alone.
    """
    rows = []
    for name, value in settings.items():
        rows.append((partial(call, **{name: value}), prefix + name, code))
    return rows


def on_gpu(test):
    """The test, marked as one of `make test-gpu`."""
    return pytest.mark.gpu(
        pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")(
            test
        )
    )


def places_of(dataset, codes):
    """The places int64 [b] of combinations of codes [b, K] in a grid."""
    of_rows = np.ravel_multi_index(dataset.factors.T, dataset.factor_sizes)
    return np.argsort(of_rows)[
        np.searchsorted(
            np.sort(of_rows), np.ravel_multi_index(codes.T, dataset.factor_sizes)
        )
    ]


def plug_in(a, b) -> float:
    """The information of the table of two columns of codes [n] less its first-order
    bias, nats.
    """
    size = b.max() + 1
    joint = np.bincount(a * size + b, minlength=(a.max() + 1) * size).reshape(-1, size)
    margins = joint.sum(axis=1), joint.sum(axis=0)
    filled = np.count_nonzero(joint) - sum(map(np.count_nonzero, margins))
    return (
        sum(map(entropy, margins))
        - entropy(joint, axis=None)
        - (filled + 1) / (2 * len(a))
    )


def is_grid(dataset) -> bool:
    """Whether every combination of codes is there exactly once."""
    return (
        len(np.unique(dataset.factors, axis=0))
        == len(dataset)
        == np.prod(dataset.factor_sizes)
    )
