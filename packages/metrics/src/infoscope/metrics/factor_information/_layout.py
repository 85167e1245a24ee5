"""Posteriors and draws as arrays for the kernels (see `_kernels`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
import torch

from infoscope.metrics.factor_information._kernels import (
    PRODUCT,
    REDUNDANT,
    SYNERGISTIC,
    WIDTH,
    Draws,
    Plan,
)
from infoscope.metrics.factor_information.attacks import (
    RedundantGaussian,
    SynergisticGaussian,
)
from infoscope.metrics.factor_information.posterior import (
    LOG_2_PI,
    CategoricalPosterior,
    GaussianPosterior,
    Posterior,
    ProductPosterior,
)

LOG2_E = 1 / log(2)
KINDS = {
    RedundantGaussian: REDUNDANT,
    SynergisticGaussian: SYNERGISTIC,
    GaussianPosterior: PRODUCT,
    CategoricalPosterior: PRODUCT,
}
FLOAT32_LARGEST = 1e37  # largest mean, and largest 1 / scale, for float32
NO_COLUMN = -1  # marks a density that does not depend on the row of data


Part = tuple[Posterior, slice]
"""A part of a posterior, and its columns of z."""


class Rows(NamedTuple):
    """One-dimensional Gaussian densities: mean and scale [n, w], of a function of a
    part's z [m, .].
    """

    mean: np.ndarray
    scale: np.ndarray
    observed: Callable[[np.ndarray], np.ndarray]


RowsOfPart = tuple[int, Rows]
"""The index of a part, and rows of it."""


@dataclass(frozen=True)
class Layout:
    """The parts of a posterior and the columns of its sums.

    parts      correlated, Gaussian, categorical
    base, alone, multipliers   rows of all latents, of single latents, and factors
    columns    the sum of each of 2 L + 1 densities (alone, rest, joint), or NO_COLUMN
    terms      the number of sums
    """

    kind: int
    parts: list[Part]
    base: list[RowsOfPart]
    alone: list[RowsOfPart]
    multipliers: list[RowsOfPart]
    columns: np.ndarray
    terms: int

    @property
    def gaussian(self) -> list[RowsOfPart]:
        return self.base + self.alone + self.multipliers

    @property
    def categorical(self) -> list[tuple[CategoricalPosterior, slice]]:
        categorical = []
        for part, columns in self.parts:
            if isinstance(part, CategoricalPosterior):
                categorical.append((part, columns))
        return categorical

    @property
    def block(self) -> int:
        """The number of base rows of the correlated part."""
        part, _ = self.parts[0]
        return 0 if self.kind == PRODUCT else len(part.latents) // 2


def layout(posterior: Posterior) -> Layout | None:
    """The layout of a posterior; None if the kernels do not support it.

    They do not support other classes, several parts with dependent latents, and values
    too large for float32.
    """
    members = (posterior,)
    if isinstance(posterior, ProductPosterior):
        members = posterior.parts
    if any(type(part) not in KINDS for part in members):
        return None
    parts = []
    end = 0
    for part in members:
        start = end
        end = start + len(part.latents)
        parts.append((part, slice(start, end)))
    parts.sort(key=_place)
    kinds = [KINDS[type(part)] for part, _ in parts]
    if np.count_nonzero(kinds) > 1:  # PRODUCT is 0
        return None
    base = []
    alone = []
    multipliers = []
    for i, (part, _) in enumerate(parts):
        base_rows, alone_rows, multiplier_rows = gaussian_rows(part)
        base += [(i, rows) for rows in base_rows]
        alone += [(i, rows) for rows in alone_rows]
        multipliers += [(i, rows) for rows in multiplier_rows]
    for _, rows in base + alone + multipliers:
        largest = np.abs(rows.mean).max()
        narrowest = rows.scale.min()
        if largest > FLOAT32_LARGEST or narrowest < 1.0 / FLOAT32_LARGEST:
            return None
    columns, terms = columns_of(parts, kinds[0], _width(alone))
    return Layout(kinds[0], parts, base, alone, multipliers, columns, terms)


def _place(item: Part) -> tuple[int, bool]:
    """The sort key of a part: correlated parts first, categorical parts last."""
    part, _ = item
    return -KINDS[type(part)], isinstance(part, CategoricalPosterior)


def _width(groups: list[RowsOfPart]) -> int:
    """The number of one-dimensional densities."""
    return sum(rows.mean.shape[1] for _, rows in groups)


def gaussian_rows(part: Posterior) -> tuple[list[Rows], list[Rows], list[Rows]]:
    """The one-dimensional Gaussian densities of a part: base, single latents,
    multipliers.
    """
    if isinstance(part, GaussianPosterior):
        return [Rows(part.mean, part.scale, lambda z: z)], [], []
    if isinstance(part, RedundantGaussian):
        base = part.base
        dim = len(base.latents)
        original = Rows(base.mean, base.scale, lambda z: z[:, :dim])
        added = Rows(*part.added_rows(), lambda z: z[:, dim:])
        removed = Rows(*part.removed_rows(), lambda z: z[:, dim:] @ part.mixing)
        return [original], [added], [removed]
    if isinstance(part, SynergisticGaussian):
        base = part.base
        dim = len(base.latents)
        original = Rows(base.mean, base.scale, part.unmasked)
        masked = Rows(base.mean, part.masked_scale(), lambda z: z[:, :dim])
        return [original], [masked], []
    return [], [], []


def columns_of(parts: list[Part], kind: int, alones: int) -> tuple[np.ndarray, int]:
    """Layout.columns and Layout.terms, in the order of `_kernels.fill_terms`."""
    widths = [len(part.latents) for part, _ in parts]
    latents = sum(widths)
    block = 0 if kind == PRODUCT else widths[0] // 2
    bases = latents - block
    leave_one_out = bases + alones  # the first of these sums
    joint = 2 * bases + alones
    terms = joint + 1
    single = np.empty(latents, int)
    rest = np.empty(latents, int)
    half = np.arange(block)
    place = block
    for i, (_, where) in enumerate(parts):
        if i == 0 and kind == REDUNDANT:
            added = np.full(block, joint)
            single[where] = np.r_[half, bases + half]
            rest[where] = np.r_[leave_one_out + half, added]
        elif i == 0 and kind == SYNERGISTIC:
            noise = np.full(block, NO_COLUMN)
            single[where] = np.r_[bases + half, noise]
            rest[where] = np.r_[leave_one_out + half, terms + half]
        else:
            single[where] = np.arange(place, place + widths[i])
            rest[where] = leave_one_out + single[where]
            place += widths[i]
    if kind == SYNERGISTIC:
        terms += block
    return np.r_[single, rest, joint], terms


def plan_of(arranged: Layout, order: np.ndarray, codes: np.ndarray) -> Plan:
    """The Plan of a posterior and factor codes [n, K], with rows of data in `order`
    [n].
    """
    none = np.zeros((0, len(order)))
    means = [none]
    scales = [none]
    for _, rows in arranged.gaussian:
        means.append(rows.mean[order].T)
        scales.append(rows.scale[order].T)
    mean = np.concatenate(means)
    scale = np.concatenate(scales)
    categories = [none]
    for part, _ in arranged.categorical:
        categories.append(part.probability[order].T)
    mean_high = _float32(mean)
    quadratic = [np.zeros((0, 0))] * 4
    mixing = np.zeros((0, 0))
    first, _ = arranged.parts[0]
    if isinstance(first, SynergisticGaussian):
        quadratic = []
        for numbers in quadratic_of(first):
            quadratic.append(np.ascontiguousarray(numbers[order].T))
        mixing = first.alpha * first.mixing
    codes = np.ascontiguousarray(codes[order].T, dtype=np.int32)
    starts = np.arange(0, len(order), WIDTH)
    return Plan(
        kind=arranged.kind,
        block=arranged.block,
        bases=_width(arranged.base) + len(arranged.categorical),
        alones=_width(arranged.alone),
        mean_high=mean_high,
        mean_low=_float32(mean - mean_high),
        rate=_float32(np.sqrt(LOG2_E / 2) / scale),
        level=_float32(-np.log2(scale)),
        probability=_float32(np.concatenate(categories)),
        quadratic_mean=quadratic[0],
        quadratic_matrix=quadratic[1],
        quadratic_gain=quadratic[2],
        quadratic_level=quadratic[3],
        mixing=mixing,
        codes=codes,
        least=np.minimum.reduceat(codes, starts, axis=1).T.copy(),
        greatest=np.maximum.reduceat(codes, starts, axis=1).T.copy(),
    )


def _float32(numbers: np.ndarray) -> np.ndarray:
    """A contiguous array of float32."""
    return np.ascontiguousarray(numbers, dtype=np.float32)


def quadratic_of(part: SynergisticGaussian) -> tuple[np.ndarray, ...]:
    """mean, matrix, gain and level [n, d] of the quadratic forms of `Plan`; levels in
    bits.
    """
    mean = part.base.mean
    scale = part.base.scale
    diagonal = part.noise_precision()
    joint = -np.log(scale).sum(axis=1) - 0.5 * mean.shape[1] * LOG_2_PI
    rests = joint[:, None] + 0.5 * (LOG_2_PI - np.log(diagonal))
    return mean, scale**-2.0, 0.5 * LOG2_E / diagonal, LOG2_E * rests


def draws_of(
    arranged: Layout, z: np.ndarray, rows: np.ndarray, codes: np.ndarray
) -> Draws:
    """The Draws z [m, L] from `rows` [m] of the data, with their factor codes [m, K]."""
    values = [np.zeros((len(z), 0))]
    levels = [np.zeros((len(z), 0))]  # log2 densities at the row of the draw
    for i, gaussian in arranged.gaussian:
        _, columns = arranged.parts[i]
        observed = gaussian.observed(z[:, columns])
        scale = gaussian.scale[rows]
        deviation = (observed - gaussian.mean[rows]) / scale
        values.append(observed)
        levels.append(-np.log2(scale) - LOG2_E / 2 * deviation**2)
    value = np.concatenate(values, axis=1)
    high = _float32(value)
    categories = np.empty((len(z), len(arranged.categorical)), np.int64)
    inverse_probability = np.empty(categories.shape, np.float32)
    offset = 0
    for c, (part, columns) in enumerate(arranged.categorical):
        category = z[:, columns.start].astype(np.int64)
        categories[:, c] = offset + category
        inverse_probability[:, c] = 1 / part.probability[rows, category]
        offset += part.probability.shape[1]
    return Draws(
        high,
        _float32(value - high),
        _float32(np.concatenate(levels, axis=1)),
        categories,
        inverse_probability,
        *quadratic_draws(arranged, z, rows),
        np.ascontiguousarray(codes, dtype=np.int32),
    )


def quadratic_draws(
    arranged: Layout, z: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws.quadratic, Draws.shift and Draws.quadratic_own."""
    part, columns = arranged.parts[0]
    if not isinstance(part, SynergisticGaussian):
        none = np.zeros((len(z), 0))
        return none, none, none
    latents = np.ascontiguousarray(z[:, columns])
    noise = latents[:, part.dim :]
    densities = part.log_terms(torch.as_tensor(latents), rows)
    rest_of_noise = densities.rest.numpy()[:, part.dim :]
    # depends on the draw only: not in the level
    log_noise = -0.5 * (noise**2 + LOG_2_PI).sum(axis=1)
    level = rest_of_noise - log_noise[:, None]
    return part.unmasked(latents), np.ascontiguousarray(noise), LOG2_E * level
