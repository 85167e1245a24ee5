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
    places = strata * (n / draws)
    places = np.minimum(places.astype(np.int64), n - 1)
    return order[places]


def count_equal(codes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The number of rows with the same value of each label as each of `rows` [m], codes
    [n, K]: [m, K].
    """
    counts = np.zeros((len(rows), codes.shape[1]), np.int64)
    for k, column in enumerate(codes.T):
        frequency = np.bincount(column)
        counts[:, k] = frequency[column[rows]]
    return counts


def sum_densities(
    log_ratios: Callable[[slice, slice], torch.Tensor],
    columns: int,
    rows: np.ndarray,
    codes: np.ndarray,
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Sums of the density ratios of m draws over all n rows, then over the rows that
    share label k with the row of the draw [m, 1 + K, C].

    log_ratios  (draws, data) -> log q(z | x) minus log q(z | row of the draw) [draws,
                data, C], nats; it is overwritten
    rows        [m], the row of each draw
    codes       [n, K], labels of the rows

    ValueError: density ratios that overflow.
    """
    draws = len(rows)
    n, labels = codes.shape
    label = torch.as_tensor(codes, device=device)
    sums = torch.zeros(draws, 1 + labels, columns, dtype=torch.float64, device=device)
    elements = ELEMENTS // columns
    width = min(n, max(1, elements // 64))
    step = max(1, elements // width)
    for begin in range(0, draws, step):
        here = slice(begin, begin + step)
        label_of_draw = label[rows[here]][:, None]
        for start in range(0, n, width):
            block = slice(start, min(start + width, n))
            ratios = log_ratios(here, block).exp_()
            same = label[block] == label_of_draw
            all_rows = torch.ones_like(ratios[..., :1])
            masks = torch.cat([all_rows, same.double()], -1)
            sums[here] += masks.transpose(1, 2) @ ratios
        if progress is not None:
            progress(min(begin + step, draws), draws)
    if not sums.isfinite().all():
        raise Conflict(
            "posterior must have scales of similar size in all rows, got density "
            "ratios between rows that overflow "
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
    """`sum_densities` of draws z [m, L]: of every latent alone, of all others, and of
    all latents [m, 1 + K, 2 L + 1].
    """
    draws = torch.as_tensor(z, device=device)
    at_own_row = concatenated(posterior.log_terms(draws, rows))
    columns = at_own_row.shape[1]

    def log_ratios(here: slice, data: slice) -> torch.Tensor:
        densities = concatenated(posterior.log_terms(draws[here, None], data))
        return densities.sub_(at_own_row[here, None])

    return sum_densities(log_ratios, columns, rows, codes, device, progress)


def concatenated(densities: LogTerms) -> torch.Tensor:
    """alone, rest and joint along the last axis [..., 2 L + 1]."""
    joint = densities.joint[..., None]
    return torch.cat([densities.alone, densities.rest, joint], -1)
