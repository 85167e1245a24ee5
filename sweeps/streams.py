"""The random streams of sweeps."""

from __future__ import annotations

import numpy as np
import torch


def draws(seed: int, purpose: str) -> np.random.Generator:
    """An independent NumPy random stream for each purpose of a seed."""
    return np.random.default_rng([seed, *purpose.encode()])


def stream(seed: int, purpose: str) -> torch.Generator:
    """An independent PyTorch random stream for each purpose ("pairs", "critic", ...) of a seed."""
    words = np.random.SeedSequence([seed, *purpose.encode()]).generate_state(2, np.uint32)
    return torch.Generator().manual_seed(int(words[0]) << 31 | int(words[1]) >> 1)
