"""Where every random draw of a sweep comes from."""

from __future__ import annotations

import numpy as np
import torch


def stream(seed: int, purpose: str) -> torch.Generator:
    """An independent random stream for each purpose ("pairs", "critic", ...) of a seed."""
    words = np.random.SeedSequence([seed, *purpose.encode()]).generate_state(2, np.uint32)
    return torch.Generator().manual_seed(int(words[0]) << 31 | int(words[1]) >> 1)
