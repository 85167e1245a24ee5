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


class Rows(NamedTuple):
    """One-dimensional Gaussian densities: mean and scale [n, w], of a function of a
    part's z [m, .].
    """

    mean: np.ndarray
    scale: np.ndarray
    observed: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Layout:
    """The parts of a posterior and the columns of its terms.

    parts      (part, its columns of z): correlated, Gaussian, categorical
    base, alone, multipliers   (index of part, rows)
    columns    the term of each of 2 L + 1 densities (alone, rest, joint), or NO_COLUMN
    """

    kind: int
    parts: list[tuple[Posterior, slice]]
    base: list[tuple[int, Rows]]
    alone: list[tuple[int, Rows]]
    multipliers: list[tuple[int, Rows]]
    columns: np.ndarray
    terms: int

    @property
    def gaussian(self) -> list[tuple[int, Rows]]:
        return self.base + self.alone + self.multipliers

    @property
    def categorical(self) -> list[tuple[CategoricalPosterior, slice]]:
        return [
            (part, at)
            for part, at in self.parts
            if isinstance(part, CategoricalPosterior)
        ]

    @property
    def block(self) -> int:
        """The number of base rows of the correlated part."""
        return 0 if self.kind == PRODUCT else len(self.parts[0][0].latents) // 2


def layout(posterior: Posterior) -> Layout | None:
    """The layout of a posterior; None if the kernels do not support it: another class,
    more than one part with dependent latents, or values too large for float32.
    """
    parts = []
    end = 0
    for part in (
        posterior.parts if isinstance(posterior, ProductPosterior) else [posterior]
    ):
        if type(part) not in KINDS:
            return None
        start = end
        end = start + len(part.latents)
        parts.append((part, slice(start, end)))
    if sum(KINDS[type(part)] != PRODUCT for part, _ in parts) > 1:
        return None
    parts.sort(
        key=lambda item: (
            -KINDS[type(item[0])],
            isinstance(item[0], CategoricalPosterior),
        )
    )
    kind = KINDS[type(parts[0][0])]
    base = []
    alone = []
    multipliers = []
    for i, (part, _) in enumerate(parts):
        base_rows, alone_rows, multiplier_rows = gaussian_rows(part)
        base += [(i, rows) for rows in base_rows]
        alone += [(i, rows) for rows in alone_rows]
        multipliers += [(i, rows) for rows in multiplier_rows]
    for _, rows in base + alone + multipliers:
        if (
            rows.scale.min() < 1.0 / FLOAT32_LARGEST
            or np.abs(rows.mean).max() > FLOAT32_LARGEST
        ):
            return None
    columns, terms = columns_of(
        parts, kind, sum(rows.mean.shape[1] for _, rows in alone)
    )
    return Layout(kind, parts, base, alone, multipliers, columns, terms)


def gaussian_rows(part: Posterior) -> tuple[list[Rows], list[Rows], list[Rows]]:
    """The one-dimensional Gaussian densities of a part: base, single latents,
    multipliers.
    """
    if isinstance(part, GaussianPosterior):
        return [Rows(part.mean, part.scale, lambda z: z)], [], []
    if isinstance(part, RedundantGaussian):
        base = part.base
        dim = len(base.latents)
        added = Rows(*part.added_rows(), lambda z: z[:, dim:])
        removed = Rows(*part.removed_rows(), lambda z: z[:, dim:] @ part.mixing)
        return [Rows(base.mean, base.scale, lambda z: z[:, :dim])], [added], [removed]
    if isinstance(part, SynergisticGaussian):
        base = part.base
        dim = len(base.latents)
        masked = Rows(base.mean, part.masked_scale(), lambda z: z[:, :dim])
        return [Rows(base.mean, base.scale, part.unmasked)], [masked], []
    return [], [], []


def columns_of(
    parts: list[tuple[Posterior, slice]], kind: int, alones: int
) -> tuple[np.ndarray, int]:
    """Layout.columns and Layout.terms; the order of terms is that of
    `_kernels.fill_terms`.
    """
    widths = [len(part.latents) for part, _ in parts]
    if kind == PRODUCT:
        block = 0
        bases = sum(widths)
    else:
        block = widths[0] // 2
        bases = block + sum(widths[1:])
    leave_one_out = bases + alones  # the first of these terms
    joint = 2 * bases + alones
    terms = joint + 1
    single = np.empty(sum(widths), int)
    rest = np.empty(sum(widths), int)
    half = np.arange(block)
    place = block
    for i, (_, where) in enumerate(parts):
        if i == 0 and kind == REDUNDANT:
            single[where] = np.r_[half, bases + half]
            rest[where] = np.r_[leave_one_out + half, np.full(block, joint)]
        elif i == 0 and kind == SYNERGISTIC:
            single[where] = np.r_[bases + half, np.full(block, NO_COLUMN)]
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
    means = np.concatenate(
        [none, *[rows.mean[order].T for _, rows in arranged.gaussian]]
    )
    scales = np.concatenate(
        [none, *[rows.scale[order].T for _, rows in arranged.gaussian]]
    )
    categories = [
        none,
        *[part.probability[order].T for part, _ in arranged.categorical],
    ]
    high = means.astype(np.float32)
    first = arranged.parts[0][0]
    quadratic = [np.zeros((0, 0))] * 4
    mixing = np.zeros((0, 0))
    if arranged.kind == SYNERGISTIC:
        quadratic = [
            np.ascontiguousarray(part[order].T) for part in quadratic_of(first)
        ]
        mixing = first.alpha * first.mixing
    codes = np.ascontiguousarray(codes[order].T, dtype=np.int32)
    starts = np.arange(0, len(order), WIDTH)
    return Plan(
        kind=arranged.kind,
        block=arranged.block,
        bases=sum(rows.mean.shape[1] for _, rows in arranged.base)
        + len(arranged.categorical),
        alones=sum(rows.mean.shape[1] for _, rows in arranged.alone),
        mean_high=np.ascontiguousarray(high),
        mean_low=np.ascontiguousarray(means - high, dtype=np.float32),
        rate=np.ascontiguousarray(np.sqrt(LOG2_E / 2) / scales, dtype=np.float32),
        level=np.ascontiguousarray(-np.log2(scales), dtype=np.float32),
        probability=np.ascontiguousarray(np.concatenate(categories), dtype=np.float32),
        quadratic_mean=quadratic[0],
        quadratic_matrix=quadratic[1],
        quadratic_gain=quadratic[2],
        quadratic_level=quadratic[3],
        mixing=mixing,
        codes=codes,
        least=np.minimum.reduceat(codes, starts, axis=1).T.copy(),
        greatest=np.maximum.reduceat(codes, starts, axis=1).T.copy(),
    )


def quadratic_of(part: SynergisticGaussian) -> tuple[np.ndarray, ...]:
    """mean, matrix, gain and level [n, d] of the quadratic forms of `Plan`; levels in
    bits.
    """
    mean, diagonal = part.base.mean, part.noise_precision()
    joint = -np.log(part.base.scale).sum(axis=1) - 0.5 * mean.shape[1] * LOG_2_PI
    rests = joint[:, None] + 0.5 * (LOG_2_PI - np.log(diagonal))
    return mean, part.base.scale**-2.0, 0.5 * LOG2_E / diagonal, LOG2_E * rests


def draws_of(
    arranged: Layout, z: np.ndarray, rows: np.ndarray, codes: np.ndarray
) -> Draws:
    """The Draws z [m, L] from `rows` [m] of the data, with their factor codes [m, K]."""
    observed = [np.zeros((len(z), 0))]
    own_levels = [np.zeros((len(z), 0))]  # log2 densities at the own rows
    for i, gaussian in arranged.gaussian:
        _, columns = arranged.parts[i]
        values = gaussian.observed(z[:, columns])
        scale = gaussian.scale[rows]
        deviation = (values - gaussian.mean[rows]) / scale
        observed.append(values)
        own_levels.append(-np.log2(scale) - LOG2_E / 2 * deviation**2)
    observed = np.concatenate(observed, axis=1)
    high = observed.astype(np.float32)
    categories = np.empty((len(z), len(arranged.categorical)), np.int64)
    inverse_probability = np.empty(categories.shape, np.float32)
    offset = 0
    for c, (part, columns) in enumerate(arranged.categorical):
        category = z[:, columns.start].astype(np.int64)
        categories[:, c] = offset + category
        inverse_probability[:, c] = 1 / part.probability[rows, category]
        offset += part.probability.shape[1]
    return Draws(
        np.ascontiguousarray(high),
        np.ascontiguousarray(observed - high, dtype=np.float32),
        np.ascontiguousarray(np.concatenate(own_levels, axis=1), dtype=np.float32),
        categories,
        inverse_probability,
        *quadratic_draws(arranged, z, rows),
        np.ascontiguousarray(codes, dtype=np.int32),
    )


def quadratic_draws(
    arranged: Layout, z: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws.quadratic, Draws.shift and Draws.quadratic_own."""
    if arranged.kind != SYNERGISTIC:
        return (np.zeros((len(z), 0)),) * 3
    part, columns = arranged.parts[0]
    latents = np.ascontiguousarray(z[:, columns])
    noise = latents[:, latents.shape[1] // 2 :]
    rest = part.log_terms(torch.as_tensor(latents), rows).rest.numpy()
    # depends on the draw only: not in the level
    log_noise = -0.5 * (noise**2 + LOG_2_PI).sum(axis=1)
    level = rest[:, noise.shape[1] :] - log_noise[:, None]
    return part.unmasked(latents), np.ascontiguousarray(noise), LOG2_E * level
