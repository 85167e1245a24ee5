"""Sums of densities over all rows of data, in float64, for exact log-marginals; the
rows are the population.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from infoscope.errors import Conflict
from infoscope.metrics.factor_information.posterior import LogTerms, Posterior

ELEMENTS = 2**22  # of a temporary tensor: 32 MiB, the largest that the allocator reuses


def stratified_rows(
    order: np.ndarray, draws: int, generator: np.random.Generator
) -> np.ndarray:
    """The row of each draw [draws]: a random one of each of `draws` equal stretches of
    rows in their `order` [n].
    """
    n = len(order)
    strata = np.arange(draws) + generator.random(draws)
    places = (strata * (n / draws)).astype(np.int64)
    return order[np.minimum(places, n - 1)]


def count_equal(codes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The number of rows with the same value of each label as each of `rows` [m], codes
    [n, K]: [m, K].
    """
    counts = np.zeros((len(rows), codes.shape[1]), np.int64)
    for k, column in enumerate(codes.T):
        counts[:, k] = np.bincount(column)[column[rows]]
    return counts


def sum_densities(
    log_ratios: Callable[[slice, slice], torch.Tensor],
    columns: int,
    rows: np.ndarray,
    codes: np.ndarray,
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Sums [m, 1 + K, C] of m draws' densities over all n rows, then over those that
    share label k with the draw's row.

    log_ratios: (draws, data) -> log q(z | x) minus that at the draw's own row [draws,
    data, C], nats; overwritten. rows [m]: the own rows; codes [n, K]. ValueError:
    densities that overflow when divided by that of the own row.
    """
    draws = len(rows)
    n = len(codes)
    labels = torch.as_tensor(codes, device=device)
    sums = torch.zeros(
        draws, 1 + codes.shape[1], columns, dtype=torch.float64, device=device
    )
    width = min(n, max(1, ELEMENTS // columns // 64))
    step = max(1, ELEMENTS // columns // width)
    for begin in range(0, draws, step):
        here = slice(begin, begin + step)
        of_draws = labels[rows[here]][:, None]
        for start in range(0, n, width):
            block = slice(start, min(start + width, n))
            terms = log_ratios(here, block).exp_()
            same = (labels[block] == of_draws).double()
            all_rows = torch.ones_like(terms[..., :1])
            masks = torch.cat([all_rows, same], -1)
            sums[here] += masks.transpose(1, 2) @ terms
        if progress is not None:
            progress(min(begin + step, draws), draws)
    if not sums.isfinite().all():
        raise Conflict(
            "posterior must have scales of similar size in all rows, got density ratios between rows that overflow "
            "float64."
        )
    return sums.cpu().numpy()


def latent_sums(
    posterior: Posterior,
    z: np.ndarray,
    rows: np.ndarray,
    codes: np.ndarray,
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """`sum_densities` [m, 1 + K, 2 L + 1] of draws z [m, L]: of every latent alone, of
    all others, and of all.
    """
    draws = torch.as_tensor(z, device=device)
    at_own_row = concatenated(posterior.log_terms(draws, rows))
    columns = at_own_row.shape[1]

    def log_ratios(here: slice, data: slice) -> torch.Tensor:
        terms = posterior.log_terms(draws[here, None], data)
        return concatenated(terms).sub_(at_own_row[here, None])

    return sum_densities(log_ratios, columns, rows, codes, device, progress)


def concatenated(terms: LogTerms) -> torch.Tensor:
    """alone, rest and joint along the last axis [..., 2 L + 1]."""
    return torch.cat([terms.alone, terms.rest, terms.joint[..., None]], -1)
