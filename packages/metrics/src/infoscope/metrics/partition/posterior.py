"""Terms of blocks with a posterior density, by exact log-marginals (as in Tokui & Sato
2021, section 3.5).

The rows are the population. If the posteriors of rows do not overlap, every block has
all the information.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infoscope.estimators.result import mean_of
from infoscope.metrics.factor_information.density_sums import (
    count_equal,
    stratified_rows,
    sum_densities,
)
from infoscope.metrics.factor_information.posterior import GaussianPosterior
from infoscope.metrics.partition.blocks import Term
from infoscope.metrics.partition.terms import Route, joint


def posterior_route(
    posteriors: Mapping[str, GaussianPosterior],
    labels: Mapping[str, NDArray],
    groups: NDArray[np.int64],
    terms: Iterable[Term],
    draws: int,
    generator: np.random.Generator,
) -> Route:
    """Every term from draws of all blocks, errors robust to groups. ValueError where a
    density ratio overflows.
    """
    terms = list(terms)
    names = ("y", "d", "yd")
    codes = np.column_stack([joint(labels, name) for name in names])
    order = np.lexsort((labels["d"], labels["y"]))
    rows = stratified_rows(order, draws, generator)
    ratios = {
        name: _LogRatios(posterior, rows, generator)
        for name, posterior in posteriors.items()
    }
    subsets = list(dict.fromkeys(term.blocks for term in terms if term.blocks))

    def log_ratios(here: slice, data: slice) -> Tensor:
        by_block = {name: of_block(here, data) for name, of_block in ratios.items()}
        by_subset = []
        for subset in subsets:
            by_subset.append(sum(by_block[name] for name in subset))
        return torch.stack(by_subset).movedim(0, -1)

    sums = sum_densities(log_ratios, len(subsets), rows, codes)
    n = len(codes)
    all_rows = np.full(draws, n)
    counts = np.column_stack([all_rows, count_equal(codes, rows)])
    log_means = np.log(sums / counts[:, :, None])
    log_shares = np.log(counts / n)
    places = {name: place for place, name in enumerate(("", *names))}
    groups_of_draws = np.unique(groups[rows], return_inverse=True)[1]
    route = {}
    for term in terms:
        both = places["yd" if term.given else term.target]
        condition = places[term.given]
        if term.blocks:
            subset = subsets.index(term.blocks)
            local = log_means[:, both, subset] - log_means[:, condition, subset]
        else:
            local = log_shares[:, condition] - log_shares[:, both]
        route[term] = mean_of(local, groups_of_draws, method="exact log-marginals")
    return route


class _LogRatios:
    """For draws of a block at `rows` [m]: log q(z | x) minus log q(z | row of the draw),
    by two matrix products.
    """

    def __init__(
        self,
        posterior: GaussianPosterior,
        rows: NDArray[np.int64],
        generator: np.random.Generator,
    ) -> None:
        mean = torch.as_tensor(posterior.mean)
        scale = torch.as_tensor(posterior.scale)
        centre = mean.mean(dim=0)
        mean = mean - centre
        self.precision = scale**-2.0
        self.z = torch.as_tensor(posterior.draw(rows, generator)) - centre
        self.linear = mean * self.precision
        quadratic = (mean * self.linear).sum(dim=1)
        log_scale = scale.log().sum(dim=1)
        self.level = -0.5 * quadratic - log_scale
        terms = self.z * (self.linear[rows] - 0.5 * self.z * self.precision[rows])
        self.own_row = self.level[rows] + terms.sum(dim=1)

    def __call__(self, here: slice, data: slice) -> Tensor:
        """The log ratios of some draws at some rows of data [draws, data]."""
        z = self.z[here]
        level = self.level[data] - self.own_row[here, None]
        log_ratios = torch.addmm(level, z, self.linear[data].T)
        return log_ratios.addmm_(z**2, self.precision[data].T, alpha=-0.5)
