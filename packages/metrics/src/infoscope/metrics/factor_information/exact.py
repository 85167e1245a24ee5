"""Exact information of latents about factors, from posterior densities (Tokui & Sato
2021, section 3.5, Eq. 8).

The data set is the population. Only the outer expectation is over draws: estimates are
unbiased, with a standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

from infoscope.checks import require_int
from infoscope.errors import OutOfRange, WrongShape, WrongType
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.result import Estimate, Estimates, mean_of, means_of
from infoscope.metrics.factor_information import _kernels
from infoscope.metrics.factor_information._layout import (
    FLOAT32_LARGEST,
    NO_COLUMN,
    Layout,
    draws_of,
    layout,
    plan_of,
)
from infoscope.metrics.factor_information.density_sums import (
    count_equal,
    latent_sums,
    stratified_rows,
)
from infoscope.metrics.factor_information.inputs import CODING
from infoscope.metrics.factor_information.posterior import Posterior
from infoscope.metrics.factor_information.result import FactorInformation

Progress = Callable[[int, int], None]
DRAWS_PER_CALL = 500  # of the kernels, which threads run side by side


@dataclass(frozen=True)
class LatentInformation:
    """Information of a posterior about x, and dependence of its latents over the data
    set; nats.

    mutual_information  I(x; z), at most log n
    total_correlation   E[log q(z) - sum_l log q(z_l)]
    dimension_wise_kl   E[log q(z_l) - log p(z_l)] [L], p standard normal or uniform
    kl                  E[log q(z | x) - log p(z)]: the sum of the three
    """

    mutual_information: Estimate
    total_correlation: Estimate
    dimension_wise_kl: Estimates
    kl: Estimate
    latents: tuple[str, ...]


@dataclass(frozen=True)
class Measured:
    """The results of one sweep over the data set."""

    factors: FactorInformation
    latents: LatentInformation


def factor_information(
    posterior: Posterior,
    factors: np.ndarray,
    draws: int = 10_000,
    generator: np.random.Generator | None = None,
    factor_names: Sequence[str] | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> FactorInformation:
    """The information of the latents of a posterior about discrete factors, nats.

    I(y_k; z_l), I(y_k; all latents but z_l) and I(y_k; z). Parameters and errors are as
    in `measure`.

    Examples
    --------
    >>> from infoscope.metrics.factor_information.posterior import GaussianPosterior
    >>> y = np.arange(40)[:, None] % 2
    >>> posterior = GaussianPosterior(10.0 * y, np.ones((40, 1)))
    >>> print(f"{factor_information(posterior, y, draws=100).joint[0]:.2f}")
    0.69
    """
    return measure(
        posterior, factors, draws, generator, factor_names, device, progress
    ).factors


def measure(
    posterior: Posterior,
    factors: np.ndarray,
    draws: int = 10_000,
    generator: np.random.Generator | None = None,
    factor_names: Sequence[str] | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Measured:
    """The information of the latents of a posterior about factors, and about x; nats.

    Parameters
    ----------
    posterior
        Of n rows.
    factors
        Whole numbers [n, K].
    draws
        In total, stratified over rows in the order of the factors. Standard errors
        assume independent draws and are too large by 5 to 20 % (up to 60 % in
        `LatentInformation`).
    device
        "cpu" computes Gaussian, attacked and categorical latents in float32 (relative
        error of sums about 1e-6), on torch's threads. Other posteriors and other
        devices use float64, about ten times slower on a CPU.

    Raises
    ------
    ValueError
        Factors that are not whole numbers [n, K], fewer than 2 draws, no posterior.
    """
    if not hasattr(posterior, "log_terms"):
        raise WrongType(
            "posterior must have a density (see `factor_information.posterior`), got "
            f"{type(posterior).__name__}; "
            "for arrays use `disentanglement`."
        )
    codes = codes_of(factors, posterior.n)
    if factor_names is None:
        factor_names = [f"y{k}" for k in range(codes.shape[1])]
    labels = tuple(factor_names)
    if len(labels) != codes.shape[1]:
        raise WrongShape(
            f"factor_names must be {codes.shape[1]} names, one for each factor, got "
            f"{len(labels)}."
        )
    order, rows, z = draw_sample(posterior, codes, draws, generator)
    sums = sums_of(posterior, codes, order, rows, z, device, progress)
    share = count_equal(codes, rows) / len(codes)
    pointwise = np.log(sums[:, 1:]) - np.log(sums[:, :1]) - np.log(share)[:, :, None]
    entropy = []
    for column in codes.T:
        frequency = np.bincount(column) / len(codes)
        entropy.append(np.sum(frequency * np.log(1 / frequency)))
    method = f"exact log-marginals over {len(codes):,} rows, {len(z):,} draws"
    information = FactorInformation.from_pointwise(
        labels, posterior.latents, np.array(entropy), pointwise, method
    )
    return Measured(information, _latent_information(posterior, rows, z, sums))


def codes_of(factors: np.ndarray, n: int) -> np.ndarray:
    """Factors [n, K] as codes 0, 1, ... without gaps; ValueError for other types or
    shapes.
    """
    factors = np.asarray(factors)
    if factors.ndim != 2 or factors.shape[0] != n or not factors.shape[1]:
        raise WrongShape(
            f"factors must have shape [{n}, factors], a row for each posterior, got "
            f"{factors.shape}."
        )
    if factors.dtype.kind not in "iub":
        raise OutOfRange(
            f"factors must be whole numbers, got {factors.dtype}. {CODING}"
        )
    return np.stack(
        [np.unique(column, return_inverse=True)[1] for column in factors.T], axis=1
    )


def draw_sample(
    posterior: Posterior,
    codes: np.ndarray,
    draws: int,
    generator: np.random.Generator | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows sorted by factors (those with few values first), the row of each draw
    [m], and z [m, L].
    """
    draws = require_int("draws", draws, 2)
    generator = generator_or_default(generator)
    order = np.arange(len(codes))
    if codes.shape[1]:
        most_values_first = np.argsort(-codes.max(axis=0), kind="stable")
        order = np.lexsort(codes[:, most_values_first].T)  # the last key sorts first
    rows = stratified_rows(order, draws, generator)
    return order, rows, posterior.draw(rows, generator)


def sums_of(
    posterior: Posterior,
    codes: np.ndarray,
    order: np.ndarray,
    rows: np.ndarray,
    z: np.ndarray,
    device: str,
    progress: Progress | None,
) -> np.ndarray:
    """See `latent_sums`; by the float32 kernels on a CPU, where they support the
    posterior.
    """
    arranged = layout(posterior) if torch.device(device).type == "cpu" else None
    if arranged is None:
        return latent_sums(posterior, z, rows, codes, device, progress=progress)
    sums = kernel_sums(arranged, codes, order, rows, z, progress)
    overflowed = np.flatnonzero(~(sums < FLOAT32_LARGEST).all(axis=(1, 2)))
    if len(overflowed):
        sums[overflowed] = latent_sums(
            posterior, z[overflowed], rows[overflowed], codes
        )
    return sums


def kernel_sums(
    arranged: Layout,
    codes: np.ndarray,
    order: np.ndarray,
    rows: np.ndarray,
    z: np.ndarray,
    progress: Progress | None,
) -> np.ndarray:
    """Sums [m, 1 + K, 2 L + 1] by the float32 kernels; for a density that is equal at
    all rows they are counts.
    """
    plan = plan_of(arranged, order, codes)
    draws = draws_of(arranged, z, rows, codes[rows])
    terms = np.zeros((len(z), 1 + codes.shape[1], arranged.terms))

    def sweep(begin: int) -> int:
        end = min(begin + DRAWS_PER_CALL, len(z))
        _kernels.sweep(plan, draws, begin, end, arranged.terms, terms)
        return end

    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        for end in pool.map(sweep, range(0, len(z), DRAWS_PER_CALL)):
            if progress is not None:
                progress(end, len(z))
    sums = terms[:, :, arranged.columns]
    constant = arranged.columns == NO_COLUMN
    if constant.any():
        all_rows = np.full(len(z), len(codes))
        counts = np.column_stack([all_rows, count_equal(codes, rows)])
        sums[:, :, constant] = counts[:, :, None]
    return sums


def _latent_information(
    posterior: Posterior, rows: np.ndarray, z: np.ndarray, sums: np.ndarray
) -> LatentInformation:
    """LatentInformation from the sums of a sweep and the densities at the own rows."""
    terms = posterior.log_terms(torch.as_tensor(z), rows)
    alone = terms.alone.numpy()
    joint = terms.joint.numpy()
    prior = posterior.log_prior(torch.as_tensor(z)).numpy()
    log_mean = np.log(sums[:, 0] / posterior.n)
    marginal = alone + log_mean[:, : len(posterior.latents)]
    aggregate = joint + log_mean[:, -1]
    return LatentInformation(
        mutual_information=mean_of(-log_mean[:, -1]),
        total_correlation=mean_of(aggregate - marginal.sum(axis=1)),
        dimension_wise_kl=means_of(marginal - prior),
        kl=mean_of(joint - prior.sum(axis=1)),
        latents=posterior.latents,
    )
