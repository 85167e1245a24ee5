"""Terms of blocks with a posterior density, by exact log-marginals (as in Tokui & Sato 2021, section 3.5).

The rows are the population. If the posteriors of rows do not overlap, every block has all the information.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infoscope.estimators.result import mean_of
from infoscope.metrics.factor_information.density_sums import count_equal, stratified_rows, sum_densities
from infoscope.metrics.factor_information.posterior import GaussianPosterior
from infoscope.metrics.partition.terms import Route, Term, joint


def posterior_route(
    posteriors: Mapping[str, GaussianPosterior],
    labels: Mapping[str, NDArray],
    groups: NDArray[np.int64],
    terms: Iterable[Term],
    draws: int,
    generator: np.random.Generator,
) -> Route:
    """Every term from draws of all blocks, errors robust to groups. ValueError where a density ratio overflows."""
    terms = list(terms)
    names = ("y", "d", "yd")
    codes = np.column_stack([joint(labels, name) for name in names])
    rows = stratified_rows(np.lexsort((labels["d"], labels["y"])), draws, generator)
    ratios = {name: _LogRatios(posterior, rows, generator) for name, posterior in posteriors.items()}
    subsets = list(dict.fromkeys(term.blocks for term in terms if term.blocks))

    def log_ratios(here: slice, data: slice) -> Tensor:
        logs = {name: of_block(here, data) for name, of_block in ratios.items()}
        return torch.stack([sum(logs[name] for name in subset) for subset in subsets]).movedim(0, -1)

    sums = sum_densities(log_ratios, len(subsets), rows, codes)
    counts = np.column_stack([np.full(draws, len(codes)), count_equal(codes, rows)])
    averages, shares = np.log(sums / counts[:, :, None]), np.log(counts / len(codes))
    place = {"": 0, **{name: number for number, name in enumerate(names, 1)}}
    local = {}
    for term in terms:
        both, given = place["".join(sorted(set(term.target + term.given), reverse=True))], place[term.given]
        local[term] = shares[:, given] - shares[:, both]
        if term.blocks:
            of_subset = averages[:, :, subsets.index(term.blocks)]
            local[term] = of_subset[:, both] - of_subset[:, given]
    own = np.unique(groups[rows], return_inverse=True)[1]
    return {term: mean_of(values, own, method="exact log-marginals") for term, values in local.items()}


class _LogRatios:
    """For draws of a block at `rows` [m]: log q(z | x) minus that at the own row, by two matrix products."""

    def __init__(self, posterior: GaussianPosterior, rows: NDArray[np.int64], generator: np.random.Generator) -> None:
        mean, scale = torch.as_tensor(posterior.mean), torch.as_tensor(posterior.scale)
        centre, self.precision = mean.mean(dim=0), scale**-2.0
        self.z, mean = torch.as_tensor(posterior.draw(rows, generator)) - centre, mean - centre
        self.linear = mean * self.precision
        self.level = -0.5 * (mean * self.linear).sum(dim=1) - scale.log().sum(dim=1)
        self.own = self.level[rows] + (self.z * (self.linear[rows] - 0.5 * self.z * self.precision[rows])).sum(dim=1)

    def __call__(self, here: slice, data: slice) -> Tensor:
        """The log ratios of some draws at some rows of data [draws, data]."""
        z = self.z[here]
        found = torch.addmm(self.level[data] - self.own[here, None], z, self.linear[data].T)
        return found.addmm_(z**2, self.precision[data].T, alpha=-0.5)
