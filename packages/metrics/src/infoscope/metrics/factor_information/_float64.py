"""The sweep over a data set by log densities in float64: on a GPU, and for the rare draw that float32 cannot hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from infoscope.metrics.factor_information.posterior import LogTerms, Posterior

ELEMENTS = 2**23  # of a temporary tensor, 64 MiB


def sweep(
    posterior: Posterior,
    z: np.ndarray,
    rows: np.ndarray,
    codes: np.ndarray,
    device: str = "cpu",
    elements: int = ELEMENTS,
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Sums [m, 1 + K, 2 L + 1] over all rows of data of the densities of draws z [m, L] (alone, rest, joint), over
    those at the row each was drawn from (`rows` [m]); then sums over the rows that share factor k (codes [n, K]).
    """
    n, columns = len(codes), 2 * z.shape[1] + 1
    draws = torch.as_tensor(z, device=device)
    own = columns_of(posterior.log_terms(draws, rows))
    every = torch.as_tensor(codes, device=device)
    sums = torch.zeros(len(z), 1 + codes.shape[1], columns, dtype=torch.float64, device=device)
    width = min(n, max(1, elements // columns // 64))
    step = max(1, elements // columns // width)
    for begin in range(0, len(z), step):
        here = slice(begin, begin + step)
        of_draws = every[rows[here]][:, None]
        for start in range(0, n, width):
            block = slice(start, min(start + width, n))
            terms = columns_of(posterior.log_terms(draws[here, None], block)).sub_(own[here, None]).exp_()
            same = (every[block] == of_draws).double()
            masks = torch.cat([torch.ones_like(terms[..., :1]), same], -1)
            sums[here] += masks.transpose(1, 2) @ terms
        if progress is not None:
            progress(min(begin + step, len(z)), len(z))
    return sums.cpu().numpy()


def columns_of(terms: LogTerms) -> torch.Tensor:
    """alone, rest and joint side by side [..., 2 L + 1]."""
    return torch.cat([terms.alone, terms.rest, terms.joint[..., None]], -1)
