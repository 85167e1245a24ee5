"""Posteriors and draws as the arrays that the sweep over a data set takes (see `_kernels`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
import torch

from infoscope.errors import OutOfRange, WrongType
from infoscope.metrics.factor_information._kernels import FULL, PRODUCT, REDUNDANT, SYNERGISTIC, WIDTH, Draws, Plan
from infoscope.metrics.factor_information.attacks import AttackedGaussian, RedundantGaussian, SynergisticGaussian
from infoscope.metrics.factor_information.posterior import (
    LOG_2_PI,
    CategoricalPosterior,
    FullGaussianPosterior,
    GaussianPosterior,
    Posterior,
    ProductPosterior,
)

LOG2_E = 1 / log(2)
KINDS = (
    (RedundantGaussian, REDUNDANT),
    (SynergisticGaussian, SYNERGISTIC),
    (FullGaussianPosterior, FULL),
    ((GaussianPosterior, CategoricalPosterior), PRODUCT),
)
FLOAT32_LARGEST = 1e37  # mean, and one over the scale, that float32 holds with room to spare
NO_COLUMN = -1  # the column of a density that does not depend on the row of data


class Rows(NamedTuple):
    """One-dimensional Gaussian densities: mean and scale [n, w], and of what in a part's z [m, .] they are."""

    mean: np.ndarray
    scale: np.ndarray
    observed: Callable[[np.ndarray], np.ndarray]


class Quadratic(NamedTuple):
    """Quadratic forms of a correlated part (see `Plan`), rows of data first; and their view of draws."""

    mean: np.ndarray
    matrix: np.ndarray
    gain: np.ndarray
    level: np.ndarray


NO_QUADRATIC = Quadratic(*[np.zeros((0, 0))] * 4)


@dataclass(frozen=True)
class Layout:
    """Places of everything in a posterior.

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
        return [(part, at) for part, at in self.parts if isinstance(part, CategoricalPosterior)]

    @property
    def block(self) -> int:
        """Base rows of the correlated part."""
        return {PRODUCT: 0, FULL: 1}.get(self.kind, len(self.parts[0][0].latents) // 2)


def kind_of(part: Posterior) -> int:
    """The structure of a part of a posterior; ValueError for one of another class."""
    for known, kind in KINDS:
        if isinstance(part, known):
            return kind
    raise WrongType(
        f"posterior has a part of type {type(part).__name__}; on a CPU it must be made of GaussianPosterior, "
        "CategoricalPosterior, FullGaussianPosterior and attacks on them."
    )


def layout(posterior: Posterior) -> Layout:
    """The layout of a posterior; ValueError for more than one part with dependent latents."""
    split = posterior.parts if isinstance(posterior, ProductPosterior) else [posterior]
    ends = np.cumsum([len(part.latents) for part in split])
    parts = [(part, slice(end - len(part.latents), end)) for part, end in zip(split, ends, strict=True)]
    parts.sort(key=lambda item: (-kind_of(item[0]), isinstance(item[0], CategoricalPosterior)))
    kinds = [kind_of(part) for part, _ in parts]
    if sum(kind != PRODUCT for kind in kinds) > 1:
        raise OutOfRange("posterior has more than one part with dependent latents; at most one can be measured.")
    base, alone, multipliers = [], [], []
    for i, (part, _) in enumerate(parts):
        for rows, into in zip(gaussian_rows(part), (base, alone, multipliers), strict=True):
            into.extend((i, one) for one in rows)
    columns, terms = columns_of(parts, kinds[0], sum(rows.mean.shape[1] for _, rows in alone))
    return Layout(kinds[0], parts, base, alone, multipliers, columns, terms)


def gaussian_rows(part: Posterior) -> tuple[list[Rows], list[Rows], list[Rows]]:
    """The one-dimensional Gaussian densities of a part: base, single latents, multipliers."""
    if isinstance(part, GaussianPosterior):
        return [Rows(part.mean, part.scale, lambda z: z)], [], []
    if isinstance(part, FullGaussianPosterior):
        scale = np.sqrt(np.diagonal(part.covariance, axis1=1, axis2=2))
        return [], [Rows(part.mean, scale, lambda z: z)], []
    if isinstance(part, RedundantGaussian):
        dim, base = len(part.base.latents), part.base
        added = Rows(*part.added_rows(), lambda z: z[:, dim:])
        removed = Rows(*part.removed_rows(), lambda z: z[:, dim:] @ part.mixing)
        return [Rows(base.mean, base.scale, lambda z: z[:, :dim])], [added], [removed]
    if isinstance(part, SynergisticGaussian):
        dim, base = len(part.base.latents), part.base
        masked = Rows(base.mean, part.masked_scale(), lambda z: z[:, :dim])
        return [Rows(base.mean, base.scale, part.unmasked)], [masked], []
    return [], [], []


def columns_of(parts: list[tuple[Posterior, slice]], kind: int, alones: int) -> tuple[np.ndarray, int]:
    """Layout.columns and Layout.terms; the order of terms is that of `_kernels.fill_terms`."""
    widths = [len(part.latents) for part, _ in parts]
    total, first = sum(widths), widths[0]
    block = {PRODUCT: 0, FULL: 1}.get(kind, first // 2)
    bases = block + sum(widths if kind == PRODUCT else widths[1:])
    loo, joint = bases + alones, 2 * bases + alones
    single, rest, at = np.empty(total, int), np.empty(total, int), block
    for i, (_, where) in enumerate(parts):
        if i == 0 and kind != PRODUCT:
            half, whole = np.arange(first // 2), np.arange(first)
            if kind == REDUNDANT:
                single[where], rest[where] = np.r_[half, bases + half], np.r_[loo + half, joint + 0 * half]
            elif kind == SYNERGISTIC:
                single[where] = np.r_[bases + half, NO_COLUMN + 0 * half]
                rest[where] = np.r_[loo + half, joint + 1 + half]
            else:
                single[where], rest[where] = bases + whole, joint + 1 + whole
            continue
        single[where] = np.arange(at, at + widths[i])
        rest[where] = loo + single[where]
        at += widths[i]
    quadratic = {SYNERGISTIC: first // 2, FULL: first}.get(kind, 0)
    return np.r_[single, rest, joint], joint + 1 + quadratic


def require_range(rows: Rows) -> None:
    """ValueError for densities that float32 cannot hold: their sums would lose the own row without a sign."""
    least, most = rows.scale.min(), np.abs(rows.mean).max()
    if least < 1.0 / FLOAT32_LARGEST or most > FLOAT32_LARGEST:
        raise OutOfRange(
            f"posterior has scales down to {least:.3g} and means up to {most:.3g}; on a CPU scales must be at least "
            f"{1.0 / FLOAT32_LARGEST:g} and means at most {FLOAT32_LARGEST:g}."
        )


def plan_of(arranged: Layout, order: np.ndarray, codes: np.ndarray) -> Plan:
    """The arrays of a posterior and of factor codes [n, K], rows of data in `order` [n]."""
    n, widths = len(order), [rows.mean.shape[1] for _, rows in arranged.gaussian]
    high, low, rate, level = (np.empty((sum(widths), n), np.float32) for _ in range(4))
    g = 0
    for _, rows in arranged.gaussian:
        require_range(rows)
        for column in range(rows.mean.shape[1]):
            mean, scale = rows.mean[order, column], rows.scale[order, column]
            high[g], rate[g], level[g] = mean, np.sqrt(LOG2_E / 2) / scale, -np.log2(scale)
            low[g] = mean - high[g]
            g += 1
    categories = [part.probability[order].T for part, _ in arranged.categorical] or [np.zeros((0, n))]
    first = arranged.parts[0][0]
    quadratic = quadratic_of(first) if arranged.kind in (SYNERGISTIC, FULL) else NO_QUADRATIC
    codes = np.ascontiguousarray(codes[order].T, dtype=np.int32)
    starts = np.arange(0, n, WIDTH)
    return Plan(
        arranged.kind,
        arranged.block,
        sum(rows.mean.shape[1] for _, rows in arranged.base) + len(arranged.categorical) + (arranged.kind == FULL),
        sum(rows.mean.shape[1] for _, rows in arranged.alone),
        high,
        low,
        rate,
        level,
        np.ascontiguousarray(np.concatenate(categories), dtype=np.float32),
        *[np.ascontiguousarray(part[order if len(part) else []].T) for part in quadratic],
        first.alpha * first.mixing if arranged.kind == SYNERGISTIC else np.zeros((0, 0)),
        codes,
        np.minimum.reduceat(codes, starts, axis=1).T.copy(),
        np.maximum.reduceat(codes, starts, axis=1).T.copy(),
    )


def quadratic_of(part: Posterior) -> Quadratic:
    """The quadratic forms of a correlated part; levels are base 2 logarithms, those of all latents last."""
    if isinstance(part, FullGaussianPosterior):
        dim = part.mean.shape[1]
        precision, joint = part.precision, -0.5 * (part.log_determinant + dim * LOG_2_PI)
        diagonal = np.diagonal(precision, axis1=1, axis2=2)
        mean, matrix = part.mean, precision[:, *np.tril_indices(dim)]
    else:
        mean, matrix, diagonal = part.base.mean, part.base.scale**-2.0, part.noise_precision()
        joint = -np.log(part.base.scale).sum(axis=1) - 0.5 * mean.shape[1] * LOG_2_PI
    rests = joint[:, None] + 0.5 * (LOG_2_PI - np.log(diagonal))
    return Quadratic(mean, matrix, 0.5 * LOG2_E / diagonal, LOG2_E * np.column_stack([rests, joint]))


def draws_of(arranged: Layout, z: np.ndarray, rows: np.ndarray, codes: np.ndarray) -> Draws:
    """The arrays of draws z [m, L] from `rows` [m] of the data, and of their own factor codes [m, K]."""
    observed, own = [], []
    for i, one in arranged.gaussian:
        values = one.observed(z[:, arranged.parts[i][1]])
        mean, scale = one.mean[rows], one.scale[rows]
        observed.append(values)
        own.append(-np.log2(scale) - LOG2_E / 2 * ((values - mean) / scale) ** 2)
    observed = np.concatenate(observed, axis=1) if observed else np.zeros((len(z), 0))
    own = np.concatenate(own, axis=1) if own else np.zeros((len(z), 0))
    high = observed.astype(np.float32)
    category, category_own = categories_of(arranged, z, rows)
    return Draws(
        np.ascontiguousarray(high),
        np.ascontiguousarray(observed - high, dtype=np.float32),
        np.ascontiguousarray(own, dtype=np.float32),
        category,
        category_own,
        *quadratic_draws(arranged, z, rows),
        np.ascontiguousarray(codes, dtype=np.int32),
    )


def categories_of(arranged: Layout, z: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draws.category and Draws.category_own."""
    count, offset = len(arranged.categorical), 0
    category, own = np.empty((len(z), count), np.int64), np.empty((len(z), count), np.float32)
    for c, (part, at) in enumerate(arranged.categorical):
        drawn = z[:, at.start].astype(np.int64)
        category[:, c], own[:, c] = offset + drawn, 1 / part.probability[rows, drawn]
        offset += part.probability.shape[1]
    return category, own


def quadratic_draws(arranged: Layout, z: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws.quadratic, Draws.shift and Draws.quadratic_own."""
    if arranged.kind not in (SYNERGISTIC, FULL):
        return (np.zeros((len(z), 0)),) * 3
    part, at = arranged.parts[0]
    drawn = np.ascontiguousarray(z[:, at])
    _, rest, joint = [term.numpy() for term in part.log_terms(torch.as_tensor(drawn), rows)]
    if not isinstance(part, AttackedGaussian):
        return drawn, np.zeros_like(drawn), LOG2_E * np.column_stack([rest, joint])
    noise = drawn[:, drawn.shape[1] // 2 :]
    of_noise = -0.5 * (noise**2 + LOG_2_PI).sum(axis=1)  # of the draw, not of the row: no part of the level
    own = np.column_stack([rest[:, noise.shape[1] :], joint]) - of_noise[:, None]
    return part.unmasked(drawn), np.ascontiguousarray(noise), LOG2_E * own
