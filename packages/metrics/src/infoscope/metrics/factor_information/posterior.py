"""Posteriors q(z | x) of a data set: log densities (nats) of every latent alone, of all
others, and of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from infoscope.errors import Conflict, InvalidInput, OutOfRange, WrongShape
from infoscope.estimators.checks import generator_or_default
from infoscope.metrics.pid import finite

LOG_2_PI = log(2 * pi)
RowIndex = np.ndarray | slice


class LogTerms(NamedTuple):
    """Log densities, nats: of every latent alone [..., L], of all latents except it
    [..., L], of all [...].
    """

    alone: Tensor
    rest: Tensor
    joint: Tensor


class Posterior(Protocol):
    """q(z | x) for every row x of a data set, over latents that are numbers or
    categories (0, 1, ... as floats).

    log_terms(z, rows): z float64 [..., L], rows an index [...]. log_prior(z): of every
    latent [..., L].
    """

    latents: tuple[str, ...]

    @property
    def n(self) -> int: ...
    def draw(
        self, rows: np.ndarray, generator: np.random.Generator | None = None
    ) -> np.ndarray: ...
    def log_terms(self, z: Tensor, rows: RowIndex) -> LogTerms: ...
    def log_prior(self, z: Tensor) -> Tensor: ...


class GaussianPosterior:
    """Independent Gaussian latents: mean and scale (standard deviation) [n, L].

    ValueError: shapes differ, a value is not finite, a scale is not above 0.
    """

    def __init__(
        self, mean: np.ndarray, scale: np.ndarray, latents: Sequence[str] | None = None
    ) -> None:
        self.mean = matrix("mean", mean)
        self.scale = matrix("scale", scale)
        if self.mean.shape != self.scale.shape:
            raise WrongShape(
                f"scale must have the shape of mean, {self.mean.shape}, got "
                f"{self.scale.shape}."
            )
        if not (self.scale > 0).all():
            count = np.sum(self.scale <= 0)
            raise OutOfRange(
                f"scale must be above 0, got {count} values that are not (least "
                f"{self.scale.min():g}). A deterministic code has no density: pass it "
                "as an array to "
                "infoscope.metrics.disentanglement."
            )
        self.latents = names(latents, self.mean.shape[1])

    @property
    def n(self) -> int:
        return len(self.mean)

    def draw(
        self, rows: np.ndarray, generator: np.random.Generator | None = None
    ) -> np.ndarray:
        """One z for each of `rows` [m]: [m, L]."""
        mean = self.mean[rows]
        noise = generator_or_default(generator).standard_normal(mean.shape)
        return mean + self.scale[rows] * noise

    def log_terms(self, z: Tensor, rows: RowIndex) -> LogTerms:
        mean = like(z, self.mean[rows])
        scale = like(z, self.scale[rows])
        alone = log_normal(z, mean, scale)
        joint = alone.sum(-1)
        others = joint[..., None] - alone
        return LogTerms(alone, others, joint)

    def log_prior(self, z: Tensor) -> Tensor:
        return log_normal(z, 0.0, torch.ones_like(z))


class CategoricalPosterior:
    """One latent with C categories: probability [n, C]. A draw is a category 0..C-1, as
    a float.

    ValueError: negative entries, rows that do not sum to 1 (to 1e-5), fewer than 2
    categories.
    """

    def __init__(self, probability: np.ndarray, latent: str = "category") -> None:
        probability = matrix("probability", probability)
        total = probability.sum(axis=1)
        if probability.shape[1] < 2:
            raise WrongShape(
                "probability must have 2 columns (categories) or more, got "
                f"{probability.shape[1]}."
            )
        if (probability < 0).any() or np.abs(total - 1).max() > 1e-5:
            raise OutOfRange(
                "probability must have nonnegative rows that sum to 1, got a least "
                "entry of "
                f"{probability.min():g} and row sums from {total.min():g} to "
                f"{total.max():g}."
            )
        self.probability = probability / total[:, None]
        self.latents = (latent,)

    @property
    def n(self) -> int:
        return len(self.probability)

    def draw(
        self, rows: np.ndarray, generator: np.random.Generator | None = None
    ) -> np.ndarray:
        """One category for each of `rows` [m]: [m, 1]."""
        cumulative = self.probability[rows].cumsum(axis=1)
        uniform = generator_or_default(generator).random((len(rows), 1))
        level = uniform * cumulative[:, -1:]
        category = (cumulative <= level).sum(axis=1, keepdims=True)
        return category.astype(np.float64)

    def log_terms(self, z: Tensor, rows: RowIndex) -> LogTerms:
        probability = like(z, self.probability[rows])
        shape = torch.broadcast_shapes(z.shape[:-1], probability.shape[:-1])
        codes = z.long().expand(*shape, 1)
        probability = probability.expand(*shape, -1).gather(-1, codes)
        alone = probability.log()
        return LogTerms(alone, torch.zeros_like(alone), alone[..., 0])

    def log_prior(self, z: Tensor) -> Tensor:
        return torch.full_like(z, -log(self.probability.shape[1]))


class ProductPosterior:
    """A product of posteriors that are independent given x; latents in the order of the
    parts.

    ValueError: no part, parts of different data sets, the same latent name twice.
    """

    def __init__(self, *parts: Posterior) -> None:
        flat: list[Posterior] = []
        for part in parts:
            flat += part.parts if isinstance(part, ProductPosterior) else [part]
        self.parts = tuple(flat)
        sizes = [part.n for part in self.parts]
        if not sizes or len(set(sizes)) > 1:
            raise InvalidInput(
                "parts must be posteriors of one data set, got numbers of rows "
                f"{sizes}."
            )
        latents: list[str] = []
        for part in self.parts:
            latents += part.latents
        self.latents = names(latents, None)

    @property
    def n(self) -> int:
        return self.parts[0].n

    def split(self, z: np.ndarray | Tensor) -> list:
        """The columns of z [..., L] that belong to each part."""
        columns = []
        end = 0
        for part in self.parts:
            start = end
            end = start + len(part.latents)
            columns.append(z[..., start:end])
        return columns

    def draw(
        self, rows: np.ndarray, generator: np.random.Generator | None = None
    ) -> np.ndarray:
        """One z for each of `rows` [m]: [m, L]."""
        generator = generator_or_default(generator)
        draws = [part.draw(rows, generator) for part in self.parts]
        return np.concatenate(draws, axis=1)

    def log_terms(self, z: Tensor, rows: RowIndex) -> LogTerms:
        densities = []
        for part, columns in zip(self.parts, self.split(z)):
            densities.append(part.log_terms(columns, rows))
        zero = torch.zeros_like(densities[0].joint)
        joint = zero
        alone = []
        rest = []
        for density in densities:
            joint = joint + density.joint
            alone.append(density.alone)
            others = zero  # a sum, not a difference: log 0 cannot be subtracted
            for other in densities:
                if other is not density:
                    others = others + other.joint
            rest.append(density.rest + others[..., None])
        return LogTerms(torch.cat(alone, -1), torch.cat(rest, -1), joint)

    def log_prior(self, z: Tensor) -> Tensor:
        log_priors = []
        for part, columns in zip(self.parts, self.split(z)):
            log_priors.append(part.log_prior(columns))
        return torch.cat(log_priors, -1)


def log_normal(z: Tensor, mean: Tensor | float, scale: Tensor) -> Tensor:
    """log N(z; mean, scale^2), nats."""
    residual = (z - mean) / scale
    return -0.5 * (residual**2 + LOG_2_PI) - scale.log()


def without(joint: Tensor, v: Tensor, diagonal: Tensor) -> Tensor:
    """Log density of all Gaussian latents but one [..., L], from the joint [...], v =
    S^-1 (z - mean), diag S^-1.
    """
    quadratic = v**2 / diagonal
    return joint[..., None] + 0.5 * (quadratic + LOG_2_PI - diagonal.log())


def like(z: Tensor, array: np.ndarray) -> Tensor:
    """An array as a tensor of the type and device of z."""
    contiguous = np.ascontiguousarray(array)
    return torch.as_tensor(contiguous, dtype=z.dtype, device=z.device)


def matrix(name: str, values: np.ndarray) -> np.ndarray:
    """float64 [n, width]; ValueError for another shape, no rows or columns, values that
    are not finite.
    """
    if isinstance(values, Tensor):
        values = values.detach().cpu().numpy()
    (array,) = finite(**{name: values})
    if array.ndim != 2 or 0 in array.shape:
        raise WrongShape(
            f"{name} must have shape [rows of data, columns], got {array.shape}."
        )
    if not array.flags.writeable:  # as in pandas: torch warns of such arrays
        array = array.copy()
    return array


def names(latents: Sequence[str] | None, width: int | None) -> tuple[str, ...]:
    """Names of latents, z0, z1, ... by default; ValueError for the wrong number or a
    repeated one.
    """
    if latents is None:
        latents = [f"z{i}" for i in range(width or 0)]
    if width is not None and len(latents) != width:
        raise InvalidInput(
            f"latents must be {width} names, one for each latent, got {len(latents)}."
        )
    if len(set(latents)) < len(latents):
        raise Conflict(f"latents must have different names, got {tuple(latents)}.")
    return tuple(latents)
