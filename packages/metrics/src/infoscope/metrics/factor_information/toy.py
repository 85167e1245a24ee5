"""A representation of exactly known information, with and without attacks (Tokui & Sato
2021, section 5.1, B).

y [K] is standard normal, z | y normal with mean y; z is unchanged or attacked with U =
I - (2 / K) 11'. Corrections of the paper, checked against determinants: the second-best
latent under redundancy for K = 2 and 3 (table 1, MIG); the upper bound min(a, t - b)
(Eq. 7); 4 / K^2 in Eq. 14 for all but an added latent of another factor.
"""

from __future__ import annotations

from math import inf

import numpy as np

from infoscope.checks import one_of, require_int
from infoscope.errors import OutOfRange
from infoscope.estimators.checks import generator_or_default
from infoscope.metrics.factor_information.result import FactorInformation, added


def exact(
    attack: str, factors: int, noise: float, alpha: float = 0.0
) -> FactorInformation:
    """The information of latents about factors in closed form, nats.

    Parameters
    ----------
    attack
        "none", "redundancy" or "synergy".
    factors
        K; there are K latents without attack, else 2 K.
    noise
        Standard deviation of z given y.
    alpha
        Strength of the attack; it may be infinite.

    Returns
    -------
    FactorInformation
        Without entropies: scores need normalised=False.

    Raises
    ------
    ValueError
        Another attack, factors below 2, noise not above 0, alpha below 0.

    Examples
    --------
    >>> print(f"{exact('none', 2, 1.0).unibound(normalised=False).value:.2f}")
    0.35
    """
    _require(attack, factors, noise)
    if not alpha >= 0:
        raise OutOfRange(f"alpha must be at least 0, got {alpha!r}.")
    variance = noise**2
    marginal = 1 + variance  # variance of z
    total = _half_log(1 + noise**-2.0)
    diagonal = np.eye(factors, dtype=bool)  # whether latent l is the one of factor k
    mixed = np.where(diagonal, (1 - 2 / factors) ** 2, 4 / factors**2)  # U_kl^2
    alone = np.where(diagonal, total, 0.0)
    others = np.where(diagonal, 0.0, total)
    if attack == "redundancy":
        copied = ratio((1, marginal), (1, variance), alpha)
        added_alone = ratio((1, marginal), (1, marginal - mixed), alpha)
        alone = np.hstack([alone, _half_log(added_alone)])
        without_copied = np.where(diagonal, _half_log(copied), total)
        others = np.hstack([without_copied, np.full_like(others, total)])
    elif attack == "synergy":
        masked = ratio((marginal, 1), (variance, 1), alpha)
        high = marginal * marginal
        low = variance * marginal
        unmixed = ratio((high, marginal), (low, variance + mixed), alpha)
        masked_alone = np.where(diagonal, _half_log(masked), 0.0)
        alone = np.hstack([masked_alone, np.zeros_like(others)])
        others = np.hstack([others, _half_log(unmixed)])
    return FactorInformation(
        factors=tuple(f"y{k}" for k in range(factors)),
        latents=latent_names(attack, factors),
        entropy=np.full(factors, np.nan),
        alone=alone,
        rest=others,
        joint=np.full(factors, total),
        n=None,
        method="closed form",
    )


def covariance(
    attack: str, factors: int, noise: float, alpha: float = 0.0
) -> np.ndarray:
    """The covariance of (y, z), K factors and K or 2 K latents.

    Parameters are as in `exact`; alpha must be finite.

    Examples
    --------
    >>> covariance("none", 2, 1.0).shape
    (4, 4)
    """
    _require(attack, factors, noise)
    identity = np.eye(factors)
    zero = np.zeros((factors, factors))
    mixing = alpha * (identity - 2 / factors)
    # in terms of y, the noise of z and the noise of the attack
    z = [identity, noise * identity, zero]
    latents = {
        "none": [z],
        "redundancy": [z, [mixing, noise * mixing, identity]],
        "synergy": [[identity, noise * identity, mixing], [zero, zero, identity]],
    }[attack]
    rows = np.block([[identity, zero, zero], *latents])
    return rows @ rows.T


def sampled(
    attack: str,
    factors: int,
    noise: float,
    alpha: float = 0.0,
    draws: int = 10_000,
    generator: np.random.Generator | None = None,
) -> FactorInformation:
    """Unbiased estimates of `exact` from draws of y and z, nats.

    Parameters and errors are as in `exact`; alpha must be finite.

    Examples
    --------
    >>> sampled("none", 2, 1.0, draws=100).joint.shape
    (2,)
    """
    import torch  # takes seconds; the closed forms do not need it

    from infoscope.metrics.factor_information.attacks import (
        RedundantGaussian,
        SynergisticGaussian,
        checked,
    )
    from infoscope.metrics.factor_information.density_sums import concatenated
    from infoscope.metrics.factor_information.posterior import GaussianPosterior

    _require(attack, factors, noise)
    generator = generator_or_default(generator)
    draws = require_int("draws", draws, 2)
    y = generator.standard_normal((draws, factors))
    z = y + noise * generator.standard_normal(y.shape)
    kind = {"redundancy": RedundantGaussian, "synergy": SynergisticGaussian}.get(attack)
    alpha, mixing = checked(alpha, factors)
    noises = generator.standard_normal(z.shape)

    def log_densities(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Of the draws [n, 2 L + 1], z being normal with mean [n, K] and variance [K]
        before the attack.
        """
        scale = np.sqrt(np.broadcast_to(variance, mean.shape))
        posterior = GaussianPosterior(mean, scale)
        latents = z
        if kind is not None:
            posterior = kind(posterior, alpha)
            latents = kind.mixed(z, noises, alpha, mixing)
        terms = posterior.log_terms(torch.as_tensor(latents), slice(None))
        return concatenated(terms).numpy()

    variance = np.full(factors, 1 + noise**2)
    marginal = log_densities(np.zeros_like(y), variance)
    pointwise = []
    for unit in np.eye(factors):  # one factor is given
        conditional = log_densities(y * unit, variance - unit)
        pointwise.append(conditional - marginal)
    return FactorInformation.from_pointwise(
        tuple(f"y{k}" for k in range(factors)),
        latent_names(attack, factors),
        np.full(factors, np.nan),
        np.stack(pointwise, axis=1),
        f"known densities, {draws:,} draws",
    )


def ratio(over: tuple, under: tuple, alpha: float) -> np.ndarray:
    """(over[0] + alpha^2 over[1]) / (under[0] + alpha^2 under[1]), also in the limit of
    infinite alpha.
    """
    if alpha == inf:
        return np.asarray(over[1] / under[1])
    numerator = over[0] + alpha**2 * over[1]
    denominator = under[0] + alpha**2 * under[1]
    return np.asarray(numerator / denominator)


def _half_log(x: np.ndarray | float) -> np.ndarray:
    return 0.5 * np.log(x)


def latent_names(attack: str, factors: int) -> tuple[str, ...]:
    """z0, z1, ..., and the added ones under an attack."""
    latents = tuple(f"z{i}" for i in range(factors))
    return latents if attack == "none" else added(latents)


def _require(attack: str, factors: int, noise: float) -> None:
    """Argument checks of exact, covariance and sampled."""
    one_of("attack", attack, ("none", "redundancy", "synergy"))
    require_int("factors", factors, 2)
    if not (np.isfinite(noise) and noise > 0):
        raise OutOfRange(
            f"noise must be a finite standard deviation above 0, got {noise!r}."
        )
