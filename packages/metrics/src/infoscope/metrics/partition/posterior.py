"""Terms of blocks that have a posterior density, by exact log-marginals (as Tokui & Sato 2021, section 3.5).

The rows are the population. q(z_S | labels) is the average of q(z_S | x) over every row with those labels, complete and
in float64; only the outer expectation is over draws z ~ q(z | x). So nothing is fitted and there is no family, but
where posteriors of different rows do not overlap, a draw tells its row and with it every label: then every block holds
everything, whatever a reader could use of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infoscope.estimators.classifier.information import clustered_error
from infoscope.metrics.factor_information.posterior import GaussianPosterior
from infoscope.metrics.partition.terms import POSTERIOR, Progress, Term, TermEstimates, joint

_ELEMENTS = 2**23  # of a table of draws by rows, 64 MiB


def by_posterior(
    posteriors: Mapping[str, GaussianPosterior],
    labels: Mapping[str, NDArray],
    groups: NDArray[np.int64],
    terms: Iterable[Term],
    draws: int,
    generator: np.random.Generator,
    progress: Progress,
) -> TermEstimates:
    """Every term from draws of all blocks at rows that are spread evenly over the labels; errors robust to groups.

    ValueError where a density overflows float64 when divided by that of the row a draw came from.
    """
    terms = list(terms)
    n = len(labels["y"])
    order = np.lexsort((labels["d"], labels["y"]))
    rows = order[((np.arange(draws) + generator.random(draws)) * (n / draws)).astype(np.int64).clip(max=n - 1)]
    z = {name: torch.as_tensor(posterior.draw(rows, generator)) for name, posterior in posteriors.items()}
    subsets = list(dict.fromkeys(term.blocks for term in terms if term.blocks))
    step = max(1, _ELEMENTS // n)
    parts = []
    for begin in range(0, draws, step):
        here = slice(begin, begin + step)
        logs = {name: _log_densities(z[name][here], posteriors[name]) for name in posteriors}
        parts.append({subset: _log_averages(sum(logs[b] for b in subset), labels, rows[here]) for subset in subsets})
        progress(min(begin + step, draws) / draws, f"posterior: draw {min(begin + step, draws)} of {draws}")
    averages = {
        subset: {key: np.concatenate([p[subset][key] for p in parts]) for key in parts[0][subset]} for subset in subsets
    }
    shares = _log_shares(labels, rows)
    influences = {term: pointwise(term, averages, shares) for term in terms}
    values = {term: float(influence.mean()) for term, influence in influences.items()}
    own = np.unique(groups[rows], return_inverse=True)[1]
    return TermEstimates(POSTERIOR, values, influences, {}, {}, lambda s: clustered_error(s, own), int(own.max()))


def pointwise(term: Term, averages: Mapping, shares: Mapping) -> NDArray[np.float64]:
    """log q(z | target, given) / q(z | given) of every draw, or -log p(target | given) without blocks."""
    both = "".join(sorted(set(term.target + term.given), reverse=True))
    if not term.blocks:
        return shares[term.given] - shares[both]
    return averages[term.blocks][both] - averages[term.blocks][term.given]


def _log_densities(z: Tensor, posterior: GaussianPosterior) -> Tensor:
    """log q(z | x) up to a constant, of draws z [m, dim] at every row [m, n], by two products of matrices."""
    mean, scale = torch.as_tensor(posterior.mean), torch.as_tensor(posterior.scale)
    centre = mean.mean(dim=0)
    z, mean, precision = z - centre, mean - centre, scale**-2.0
    level = -0.5 * (mean**2 * precision).sum(dim=1) - scale.log().sum(dim=1)
    return level + z @ (mean * precision).T - 0.5 * z**2 @ precision.T


def _log_averages(logs: Tensor, labels: Mapping[str, NDArray], rows: NDArray) -> dict[str, NDArray[np.float64]]:
    """log of the average density [m] over the rows that share a draw's labels: none, y, d, both; nats.

    logs [m, n] of draws that came from `rows` [m]. Densities are divided by those at the own row.
    """
    own = logs[torch.arange(len(rows)), torch.as_tensor(rows)][:, None]
    cell = joint(labels, "yd")
    sums = ((logs - own).exp_() @ torch.as_tensor(np.eye(int(cell.max()) + 1)[cell])).numpy()
    if not np.isfinite(sums).all():
        raise ValueError("scales must not differ so much between rows that densities overflow float64.")
    _, first = np.unique(cell, return_index=True)
    found = {"": np.log(sums.sum(axis=1) / len(cell))}
    for names in ("y", "d", "yd"):
        value = joint(labels, names)
        same = value[first] == value[rows][:, None]
        found[names] = np.log((sums * same).sum(axis=1) / np.bincount(value)[value[rows]])
    return found


def _log_shares(labels: Mapping[str, NDArray], rows: NDArray) -> dict[str, NDArray[np.float64]]:
    """log of the share of all rows that have a draw's labels [m]: none, y, d, both."""
    found = {"": np.zeros(len(rows))}
    for names in ("y", "d", "yd"):
        value = joint(labels, names)
        found[names] = np.log(np.bincount(value)[value[rows]] / len(value))
    return found
