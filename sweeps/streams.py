"""The random streams of sweeps."""

from __future__ import annotations

import numpy as np
import torch


def draws(seed: int, purpose: str) -> np.random.Generator:
    """An independent NumPy random stream for each purpose of a seed."""
    return np.random.default_rng([seed, *purpose.encode()])


def stream(seed: int, purpose: str) -> torch.Generator:
    """An independent PyTorch random stream for each purpose ("pairs", "critic", ...) of
    a seed.
    """
    sequence = np.random.SeedSequence([seed, *purpose.encode()])
    high, low = sequence.generate_state(2, np.uint32).tolist()
    return torch.Generator().manual_seed(high << 31 | low >> 1)
