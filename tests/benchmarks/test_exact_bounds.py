"""How much faster one sweep gives the informations of Eq. 8 (Tokui & Sato 2021) than
one sweep for each of them.

The baseline is written as the authors describe it: for the whole data and for every
value of every factor, log q(z_S) of draws from that subset, in three passes (each
latent, all but it, all), in float32 blocks with torch. It makes as many draws for every
subset as ours makes in total. Times are processor time on one thread, in one run;
figures are compared too.
"""

import tracemalloc
from math import log

import numpy as np
import pytest
import torch
from numpy.random import default_rng

from infoscope.metrics.factor_information import exact
from infoscope.metrics.factor_information.posterior import GaussianPosterior
from tests.benchmarks.timing import seconds, show

pytestmark = pytest.mark.bench

OUTER, INNER = 1024, 256  # draws and rows of a block
DRAWS, MINIMUM = 300, 10
SIZES = ((3, 6, 10, 4, 4), (3, 6, 10, 8, 8))


def example(size):
    """A grid of factors and six latents: rotated factors, scales as of a trained
    encoder, and one that is unused.
    """
    y = np.stack(np.meshgrid(*map(np.arange, size), indexing="ij"), axis=-1).reshape(
        -1, len(size)
    )
    g = default_rng(0)
    unit = (y / np.array(size) - 0.5) * 3.4
    mean = np.column_stack(
        [unit @ np.linalg.qr(g.normal(size=(5, 5)))[0], np.zeros(len(y))]
    )
    return GaussianPosterior(
        mean, np.tile([0.1, 0.1, 0.15, 0.05, 0.05, 1.0], (len(y), 1))
    ), y


def log_marginals(z, mean, scale, which):
    """log q(z_S), S every latent, all but it, or all; averaged over all rows of mean
    and scale.
    """
    logs_of_draws = []
    for outer in z.split(OUTER):
        parts = []
        for m, s in zip(mean.split(INNER), scale.split(INNER), strict=True):
            logs = (
                -0.5 * ((outer[:, None] - m) / s) ** 2
                - s.log()
                - 0.5 * log(2 * torch.pi)
            )
            if which != "alone":
                joint = logs.sum(-1, keepdim=True)
                logs = joint if which == "joint" else joint - logs
            parts.append(logs.logsumexp(1))
        logs_of_draws.append(torch.stack(parts).logsumexp(0) - log(len(mean)))
    return torch.cat(logs_of_draws)


def entropies(mean, scale, generator):
    """H(z_S) of one subset of the data [2 L + 1], nats, and squared standard errors."""
    means, squares = [], []
    for which in ("alone", "rest", "joint"):
        rows = torch.randperm(len(mean), generator=generator)[:DRAWS]
        z = mean[rows] + scale[rows] * torch.randn(
            len(rows), mean.shape[1], generator=generator
        )
        values = log_marginals(z, mean, scale, which).double()
        means.append(-values.mean(0))
        squares.append(values.var(0) / len(values))
    return torch.cat(means).numpy(), torch.cat(squares).numpy()


def separately(posterior, y):
    """I(y_k; z_S) [K, 2 L + 1], nats, and standard errors: H(z_S) minus the mean of
    H(z_S | y_k = v), a factor's values being equally frequent.
    """
    mean = torch.as_tensor(posterior.mean).float()
    scale = torch.as_tensor(posterior.scale).float()
    generator = torch.Generator().manual_seed(0)
    whole, error = entropies(mean, scale, generator)
    information, errors = [], []
    for column in y.T:
        subsets = [
            torch.as_tensor(np.flatnonzero(column == value))
            for value in np.unique(column)
        ]
        parts = [entropies(mean[rows], scale[rows], generator) for rows in subsets]
        information.append(whole - np.mean([part for part, _ in parts], axis=0))
        errors.append(
            np.sqrt(error + np.sum([e for _, e in parts], axis=0) / len(parts) ** 2)
        )
    return np.array(information), np.array(errors)


@pytest.mark.parametrize("size", SIZES)
def test_one_sweep_against_one_for_every_subset(size):
    posterior, y = example(size)
    exact.factor_information(posterior, y, 2)  # compiles
    results = []
    tracemalloc.start()
    ours = seconds(
        lambda: results.append(
            exact.factor_information(posterior, y, DRAWS, default_rng(0))
        )
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    plain = seconds(lambda: results.append(separately(posterior, y)))
    own, (information, errors) = results
    own_errors = np.sqrt(np.square(own.deviations).sum(axis=0))
    show(
        f"N {len(y):,}",
        ours=ours,
        plain=plain,
        ratio=plain / ours,
        pairs_per_s=len(y) * DRAWS / ours,
    )
    show(
        "",
        peak_mib=peak / 2**20,
        errors=float(own_errors.mean()),
        plain_errors=float(errors.mean()),
    )
    # 65 figures, 5 standard errors of the difference: a false alarm once in 30,000 runs
    assert (np.abs(own.parts - information) <= 5 * np.hypot(errors, own_errors)).all()
    assert plain / ours >= MINIMUM
