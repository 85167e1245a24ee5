"""Rank correlation of two scores over models of several kinds, each kind trained a few times.

Intervals resample kinds, then trainings: coverage 90 to 100 % (with four kinds 88 to 100 %; see
tests/metrics/test_agreement.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from infoscope.errors import MissingValues, WrongLength
from infoscope.estimators.alignment import aligns
from infoscope.estimators.result import LEVEL, Estimate, undefined

MIN_KINDS = 4  # for an interval over kinds
METHOD = "Spearman's rank correlation"


@aligns("a", "b", "kinds")
def rank_agreement(
    a: ArrayLike, b: ArrayLike, kinds: Sequence, generator: np.random.Generator, draws: int = 2000
) -> Estimate:
    """Spearman's rank correlation of two scores a, b [models] over models of all kinds [models].

    95 % interval: bootstrap over kinds, then models; over models for a single kind, none for two or three kinds. NaN
    where a score is constant. ValueError for unequal lengths, fewer than three models, or a score that is not finite.
    """
    pair, members = _checked(a, b, kinds)
    value = _correlation(rankdata(pair, axis=0)[None])[0]
    if not math.isfinite(value):
        return undefined("one of the scores is the same for all models", unit="", n=len(pair))
    if 1 < len(members) < MIN_KINDS:
        note = f"{len(members)} kinds of models are too few for an interval over kinds, which needs {MIN_KINDS}."
        return Estimate(value, unit="", n=len(pair), method=METHOD, notes=(note,), interval=(math.nan, math.nan))
    chosen = generator.integers(len(members), size=(draws, len(members)))
    drawn = pair[_draw_models(members, chosen, generator)]
    return _estimate(value, _correlation(rankdata(drawn, axis=1)), pair, len(members))


@aligns("a", "b", "kinds")
def rank_agreement_within(
    a: ArrayLike, b: ArrayLike, kinds: Sequence, generator: np.random.Generator, draws: int = 2000
) -> Estimate:
    """Spearman's rank correlation within kinds: of ranks minus their means over each kind.

    95 % interval: bootstrap over models. Kinds with one model are left out; NaN without any. ValueError as
    `rank_agreement`.
    """
    pair, members = _checked(a, b, kinds)
    members = [rows for rows in members if len(rows) > 1]
    if not members:
        return undefined("no kind has two models", unit="", n=len(pair))
    kept = np.concatenate(members)
    ranks = rankdata(pair[kept], axis=0)
    ends = np.cumsum([len(rows) for rows in members])[:-1]
    value = _correlation(_centre_kinds(ranks[None], ends))[0]
    if not math.isfinite(value):
        return undefined("one of the scores is the same for all models of each kind", unit="", n=len(kept))
    drawn = np.hstack([rows[generator.integers(len(rows), size=(draws, len(rows)))] for rows in members])
    spread = _correlation(_centre_kinds(rankdata(pair[drawn], axis=1), ends))
    return _estimate(value, spread, pair[kept], len(members))


def _checked(a: ArrayLike, b: ArrayLike, kinds: Sequence) -> tuple[NDArray[np.float64], list[NDArray[np.intp]]]:
    """Both scores [models, 2], and the rows of each kind."""
    a, b, kinds = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64), np.asarray(kinds)
    if not a.shape == b.shape == kinds.shape or a.ndim != 1 or a.size < 3:
        raise WrongLength(
            f"a, b and kinds must have one value for each of three or more models, got shapes {a.shape}, {b.shape} and "
            f"{kinds.shape}."
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise MissingValues("a and b must be finite; leave out models without a score.")
    return np.stack([a, b], axis=1), [np.flatnonzero(kinds == kind) for kind in dict.fromkeys(kinds.tolist())]


def _draw_models(members: list[NDArray[np.intp]], chosen: NDArray, generator: np.random.Generator) -> NDArray[np.intp]:
    """Models of chosen kinds [draws, kinds], drawn with replacement, of each kind the mean number of models."""
    sizes = np.array([len(rows) for rows in members])
    starts, ordered = np.cumsum(sizes) - sizes, np.concatenate(members)
    share = generator.random((*chosen.shape, -(-len(ordered) // len(members))))
    places = starts[chosen][..., None] + (share * sizes[chosen][..., None]).astype(np.intp)
    return ordered[places].reshape(len(chosen), -1)


def _centre_kinds(ranks: NDArray, ends: NDArray) -> NDArray:
    """Ranks [draws, models, 2], ordered by kind, minus their means over each kind."""
    parts = np.split(ranks, ends, axis=1)
    return np.concatenate([part - part.mean(axis=1, keepdims=True) for part in parts], axis=1)


def _correlation(ranks: NDArray) -> NDArray[np.float64]:
    """Pearson correlation of two columns over models [draws, models, 2]; nan where one does not vary."""
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).sum(axis=1).prod(axis=1))
    known = spread > 1e-9
    return np.where(known, centred.prod(axis=2).sum(axis=1) / np.where(known, spread, 1.0), np.nan)


def _estimate(value: float, spread: NDArray, pair: NDArray, kinds: int) -> Estimate:
    low, high = np.quantile(spread[np.isfinite(spread)], [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return Estimate(float(value), unit="", n=len(pair), units=kinds, method=METHOD, interval=(low, high))
