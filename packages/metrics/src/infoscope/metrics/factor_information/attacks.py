"""Entanglement attacks, which make the information of latents redundant or synergistic
(Tokui & Sato 2021, section 4).

Both double the number of Gaussian latents, by an orthogonal U and a strength alpha.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infoscope.errors import InvalidInput, OutOfRange
from infoscope.estimators.checks import generator_or_default
from infoscope.metrics.factor_information.posterior import (
    CategoricalPosterior,
    GaussianPosterior,
    LogTerms,
    ProductPosterior,
    RowIndex,
    like,
    log_normal,
    matrix,
    without,
)
from infoscope.metrics.factor_information.result import added

ALL_ROWS = slice(None)


def redundancy_attack(
    z: Any, alpha: float, generator: np.random.Generator | None = None
) -> Any:
    """The attacked latents (z, alpha U z + noise), with U = I - (2 / L) 11' (Eq. 9).

    The noise is standard normal.

    Parameters
    ----------
    z
        A posterior, or an array [n, L].
    alpha
        Strength of the attack.
    generator
        Of the noise of an array.

    Returns
    -------
    Posterior or ndarray
        The attacked posterior, or [n, 2 L].

    Raises
    ------
    ValueError
        alpha below 0 or not finite, not exactly one Gaussian part.

    Examples
    --------
    >>> redundancy_attack(np.zeros((5, 3)), 1.0).shape
    (5, 6)
    """
    return attack(RedundantGaussian, z, alpha, generator)


def synergy_attack(
    z: Any, alpha: float, generator: np.random.Generator | None = None
) -> Any:
    """The attacked latents (z + alpha U noise, noise) (Eq. 10).

    The noise is standard normal. Parameters and errors are as in redundancy_attack.

    Examples
    --------
    >>> synergy_attack(np.zeros((5, 3)), 1.0).shape
    (5, 6)
    """
    return attack(SynergisticGaussian, z, alpha, generator)


def attack(
    kind: type[AttackedGaussian],
    z: Any,
    alpha: float,
    generator: np.random.Generator | None,
) -> Any:
    """The attack of a kind on an array or a posterior."""
    if isinstance(z, ProductPosterior):
        is_attacked = [not isinstance(part, CategoricalPosterior) for part in z.parts]
        count = sum(is_attacked)
        if count != 1:
            raise InvalidInput(
                f"z must have exactly one Gaussian part for an attack, got {count}."
            )
        parts = list(z.parts)
        place = is_attacked.index(True)
        parts[place] = attack(kind, parts[place], alpha, generator)
        return ProductPosterior(*parts)
    if isinstance(z, GaussianPosterior):
        return kind(z, alpha)
    if hasattr(z, "log_terms"):
        raise InvalidInput(
            "z must be a posterior with independent Gaussian latents, got "
            f"{type(z).__name__}."
        )
    z = matrix("z", z)
    noise = generator_or_default(generator).standard_normal(z.shape)
    alpha, mixing = checked(alpha, z.shape[1])
    return kind.mixed(z, noise, alpha, mixing)


class AttackedGaussian:
    """A Gaussian posterior with independent latents under an attack; n rows, 2 L
    latents.
    """

    def __init__(self, base: GaussianPosterior, alpha: float) -> None:
        self.base = base
        self.dim = len(base.latents)
        self.alpha, self.mixing = checked(alpha, self.dim)
        self.latents = added(base.latents)

    @property
    def n(self) -> int:
        return self.base.n

    def draw(
        self, rows: np.ndarray, generator: np.random.Generator | None = None
    ) -> np.ndarray:
        """One attacked z for each of `rows` [m]: [m, 2 L]."""
        generator = generator_or_default(generator)
        z = self.base.draw(rows, generator)
        noise = generator.standard_normal(z.shape)
        return self.mixed(z, noise, self.alpha, self.mixing)

    def log_prior(self, z: Tensor) -> Tensor:
        return self.base.log_prior(z)

    @staticmethod
    def mixed(
        z: np.ndarray, noise: np.ndarray, alpha: float, mixing: np.ndarray
    ) -> np.ndarray:
        """The attacked latents [m, 2 L] of z and noise [m, L]."""
        raise NotImplementedError


class RedundantGaussian(AttackedGaussian):
    """(z, alpha U z + noise)."""

    @staticmethod
    def mixed(
        z: np.ndarray, noise: np.ndarray, alpha: float, mixing: np.ndarray
    ) -> np.ndarray:
        added_latents = alpha * z @ mixing.T + noise
        return np.hstack([z, added_latents])

    def added_rows(self, rows: RowIndex = ALL_ROWS) -> tuple[np.ndarray, np.ndarray]:
        """Marginal mean and scale of the added latents."""
        mean = self.alpha * self.base.mean[rows] @ self.mixing.T
        variance = self.alpha**2 * self.base.scale[rows] ** 2
        return mean, np.sqrt(1 + variance @ self.mixing.T**2)

    def removed_rows(self, rows: RowIndex = ALL_ROWS) -> tuple[np.ndarray, np.ndarray]:
        """Marginal mean and scale of U' (added latents) = alpha z + noise."""
        mean = self.alpha * self.base.mean[rows]
        variance = 1 + self.alpha**2 * self.base.scale[rows] ** 2
        return mean, np.sqrt(variance)

    def log_terms(self, z: Tensor, rows: RowIndex) -> LogTerms:
        """See Posterior. The rest of an added latent is z and the other added latents;
        the rest of z_l includes alpha z_l + noise_l.
        """
        original = z[..., : self.dim]
        added_latents = z[..., self.dim :]
        mixing = like(z, self.mixing)
        turned = added_latents @ mixing
        unit = torch.ones_like(turned)
        alone, _, joint = self.base.log_terms(original, rows)
        mean, scale = self.added_rows(rows)
        added_alone = log_normal(added_latents, like(z, mean), like(z, scale))
        noise = log_normal(turned, self.alpha * original, unit)
        joint = joint + noise.sum(-1)
        mean, scale = self.removed_rows(rows)
        removed = log_normal(turned, like(z, mean), like(z, scale))
        added_given_others = log_normal(
            added_latents, self.alpha * original @ mixing.T, unit
        )
        rest = joint[..., None] - alone - noise + removed
        rest_of_added = joint[..., None] - added_given_others
        alone = _cat_last(alone, added_alone)
        return LogTerms(alone, _cat_last(rest, rest_of_added), joint)


class SynergisticGaussian(AttackedGaussian):
    """(z + alpha U noise, noise)."""

    @staticmethod
    def mixed(
        z: np.ndarray, noise: np.ndarray, alpha: float, mixing: np.ndarray
    ) -> np.ndarray:
        masked = z + alpha * noise @ mixing.T
        return np.hstack([masked, noise])

    def masked_scale(self, rows: RowIndex = ALL_ROWS) -> np.ndarray:
        """Marginal scale of z + alpha U noise."""
        variance = self.base.scale[rows] ** 2 + self.alpha**2
        return np.sqrt(variance)

    def unmasked(self, z: Any) -> Any:
        """z of attacked latents [..., 2 L], array or tensor."""
        mixing = self.mixing if isinstance(z, np.ndarray) else like(z, self.mixing)
        noise = z[..., self.dim :]
        return z[..., : self.dim] - self.alpha * noise @ mixing.T

    def noise_precision(self, rows: RowIndex = ALL_ROWS) -> np.ndarray:
        """(S^-1)_ll of the noise latents: 1 + alpha^2 sum_j U_jl^2 / variance_j."""
        precision = self.base.scale[rows] ** -2.0
        return 1 + self.alpha**2 * precision @ self.mixing**2

    def log_terms(self, z: Tensor, rows: RowIndex) -> LogTerms:
        """See Posterior. All latents determine z; all but z_l determine the other
        elements of z; the density of all but noise_l is a quadratic form.
        """
        noise = z[..., self.dim :]
        original = self.unmasked(z)
        mean = like(z, self.base.mean[rows])
        scale = like(z, self.base.scale[rows])
        noise_alone = log_normal(noise, 0.0, torch.ones_like(noise))
        alone, _, joint = self.base.log_terms(original, rows)
        joint = joint + noise_alone.sum(-1)
        masked_scale = like(z, self.masked_scale(rows))
        masked_alone = log_normal(z[..., : self.dim], mean, masked_scale)
        residual = (original - mean) / scale**2
        v = noise - self.alpha * residual @ like(z, self.mixing)
        precision = like(z, self.noise_precision(rows))
        rest_of_masked = joint[..., None] - alone
        rest_of_noise = without(joint, v, precision)
        alone = _cat_last(masked_alone, noise_alone)
        return LogTerms(alone, _cat_last(rest_of_masked, rest_of_noise), joint)


def _cat_last(first: Tensor, second: Tensor) -> Tensor:
    """Concatenation along the last axis, after broadcasting the other axes."""
    shape = torch.broadcast_shapes(first.shape[:-1], second.shape[:-1])
    first = first.expand(*shape, -1)
    second = second.expand(*shape, -1)
    return torch.cat([first, second], -1)


def checked(alpha: float, dim: int) -> tuple[float, np.ndarray]:
    """Checked strength, and U of an attack on `dim` latents."""
    if not (isinstance(alpha, Real) and np.isfinite(alpha) and alpha >= 0):
        raise OutOfRange(f"alpha must be a finite number of at least 0, got {alpha!r}.")
    return float(alpha), np.eye(dim) - 2 / dim
