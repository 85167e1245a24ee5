"""Quantities and scores of a partition of a representation into z_y (label), z_d
(domain), z_dy (shared or joint), z_x.

`unique` is UniBound (Tokui & Sato 2021, Eq. 7) of a block against all others given the
other label, over entropy: in [0, 1], 1 if and only if z_y and z_d alone determine their
labels. `seed` is a weighted sum with fixed constants, for comparison with earlier work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt

import numpy as np

from infoscope.estimators.result import LEVEL, SHARE, Estimate, quantile, undefined
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.partition.terms import (
    BLOCKS,
    Linear,
    Route,
    Term,
    as_share,
    linear,
    ratio,
)
from infoscope.notes import Note

# nats, denominator of the seed score: a typical entropy of 2.5 times three terms
_SEED_SCALE = 7.5

_H_Y = Term((), "y")
_H_D = Term((), "d")
_H_YD = Term((), "yd")
_H_Y_GIVEN_D = Term((), "y", "d")
_H_D_GIVEN_Y = Term((), "d", "y")
_SHARED: Linear = {_H_Y: 1.0, _H_Y_GIVEN_D: -1.0}  # I(Y;D)
_ASPECTS = (("y", ""), ("d", ""), ("y", "d"), ("d", "y"), ("yd", ""))
_CONDITIONAL = (("y", "d"), ("d", "y"))
_OWNER = {"y": "z_y", "d": "z_d"}

Names = tuple[str, ...]


def others(blocks: Names, *without: str) -> Names:
    """The blocks except some."""
    return tuple(name for name in blocks if name not in without)


def _quantities(blocks: Names) -> dict[str, Linear | str]:
    """Every quantity by its name; for absent blocks the reason why it is undefined."""
    quantities: dict[str, Linear | str] = {}

    def add(term: Term) -> None:
        quantities[term.name] = {term: 1.0}

    for entropy in (_H_Y, _H_D, _H_YD, _H_Y_GIVEN_D, _H_D_GIVEN_Y):
        add(entropy)
    quantities["I(Y;D)"] = _SHARED
    for block in BLOCKS:
        terms = [Term((block,), target, given) for target, given in _ASPECTS]
        of_block: dict[str, Linear | str] = {term.name: {term: 1.0} for term in terms}
        about_y, about_d, *_, about_both = terms
        # Positive co-information is redundancy, negative is synergy.
        of_block[f"co-information({block};Y;D)"] = {
            about_y: 1.0,
            about_d: 1.0,
            about_both: -1.0,
        }
        of_block[f"chain-rule gap of {block}"] = dict(
            zip(terms, (1.0, -1.0, -1.0, 1.0))
        )
        if block not in blocks:
            of_block = dict.fromkeys(of_block, _not_applicable(block))
        quantities |= of_block
    for target, given in _ASPECTS[2:]:
        add(Term(blocks, target, given))
    for target, given in _CONDITIONAL:
        complements = [others(blocks, block) for block in blocks]
        complements.append(others(blocks, _OWNER[target], "z_dy"))
        for complement in filter(None, complements):
            add(Term(complement, target, given))
    return quantities


def _not_applicable(block: str) -> str:
    return f"not applicable: there is no {block}."


def terms_of(blocks: Names) -> list[Term]:
    """All terms in the quantities and scores of these blocks."""
    terms: dict[Term, None] = {}
    for quantity in _quantities(blocks).values():
        if not isinstance(quantity, str):
            terms |= dict.fromkeys(quantity)
    return list(terms)


def figures(route: Route, blocks: Names) -> dict[str, Estimate]:
    """Every quantity by its name, from the estimates of a route."""
    estimates = {}
    for name, terms in _quantities(blocks).items():
        if isinstance(terms, str):
            estimates[name] = undefined(terms)
        else:
            estimates[name] = linear(route, terms)
    return estimates


def scores(route: Route, blocks: Names) -> dict[str, Estimate]:
    """Every score by its name, from the estimates of a route; see
    `PartitionReport.scores`.
    """
    estimates = seed_scores(route, blocks)
    estimates["seed_ceiling"] = scaled(linear(route, {_H_YD: 1.0}), 1.0 / _SEED_SCALE)
    estimates |= unique(route, blocks, "")
    if "z_dy" in blocks:
        without_joint = others(blocks, "z_dy")
        estimates |= unique(route, without_joint, "_without_z_dy")
    all_blocks = Term(blocks, "yd")
    estimates["sufficiency"] = ratio(route, {all_blocks: 1.0}, {_H_YD: 1.0})
    return estimates


def scaled(figure: Estimate, factor: float) -> Estimate:
    """An estimate times a number, as a share."""
    if figure.influence is None:
        return undefined("; ".join(figure.notes), SHARE)
    value = factor * figure.value
    influence = factor * figure.influence
    return as_share(figure, value, influence, figure.notes)


def seed_parts(blocks: Names) -> list[tuple[float, Linear]]:
    """The terms of the seed score with their signs, without terms of absent blocks."""
    y, d, y_given_d, d_given_y = _ASPECTS[:4]
    parts: list[tuple[float, str, Mapping[tuple[str, str], float]]] = [
        (1.0, "z_y", {y_given_d: 1.0}),
        (1.0, "z_d", {d_given_y: 1.0}),
        (1.0, "z_dy", {y: 0.5, d: 0.5, y_given_d: -0.5, d_given_y: -0.5}),
        (-1.0, "z_y", {d_given_y: 1.0}),
        (-1.0, "z_d", {y_given_d: 1.0}),
        (-1.0, "z_x", {y: 1.0, d_given_y: 1.0}),
    ]
    signed = []
    for sign, block, factors in parts:
        if block not in blocks:
            continue
        terms = {}
        for (target, given), factor in factors.items():
            terms[Term((block,), target, given)] = factor
        signed.append((sign, terms))
    return signed


def seed_scores(route: Route, blocks: Names) -> dict[str, Estimate]:
    """The seed score, from terms in nats and in bits."""
    return {
        "seed": _partition_quality(route, blocks, 1.0),
        "seed_bits": _partition_quality(route, blocks, 1 / NATS_PER_BIT),
    }


def _partition_quality(route: Route, blocks: Names, units: float) -> Estimate:
    """The seed score, from terms in nats (units 1) or bits (1 / log 2).

    (I(z_y;Y|D) + I(z_d;D|Y) + max(0, co-information of z_dy) - I(z_y;D|Y) - I(z_d;Y|D)
    - I(z_x;Y,D)) / 7.5, terms clipped at 0, absent blocks 0, co-information averaged
    over both formulas, the sum clipped to [0, 1].
    """
    total: dict[Term, float] = {}
    for sign, terms in seed_parts(blocks):
        part = linear(route, terms)
        if part.influence is None:
            return undefined("; ".join(part.notes), SHARE)
        if part.value <= 0.0:
            continue
        for term, factor in terms.items():
            total.setdefault(term, 0.0)
            total[term] += sign * factor
    if not total:
        note = "every term was clipped at 0: the error is unknown."
        return Estimate(0.0, unit=SHARE, n=part.n, method=part.method, notes=(note,))
    raw = scaled(linear(route, total), units / _SEED_SCALE)
    return clipped(raw, 1.0)


def clipped(raw: Estimate, most: float = np.inf) -> Estimate:
    """max(0, min(most, raw)) with its interval; no standard error if a limit lies
    within the interval.
    """
    if raw.influence is None:
        return raw
    value, low, high = np.clip([raw.value, raw.low, raw.high], 0.0, most).tolist()
    if np.array_equal([low, high], [raw.low, raw.high], equal_nan=True):
        return raw
    note = "clipped, or the interval contains the limit: no standard error; see the raw value and the interval."
    notes = (*raw.notes, note)
    return Estimate(
        value, np.nan, raw.unit, raw.n, raw.method, notes, interval=(low, high)
    )


def unique(route: Route, blocks: Names, suffix: str) -> dict[str, Estimate]:
    """PQ_Y, PQ_D (raw and clipped at 0) and PQ = sqrt(PQ_Y PQ_D) of some blocks."""
    estimates = {}
    for (target, given), entropy in zip(
        _CONDITIONAL, (_H_Y_GIVEN_D, _H_D_GIVEN_Y), strict=True
    ):
        owner = _OWNER[target]
        if owner in blocks:
            difference = {Term((owner,), target, given): 1.0}
            complement = others(blocks, owner)
            if complement:
                difference[Term(complement, target, given)] = -1.0
            raw = ratio(route, difference, {entropy: 1.0})
        else:
            raw = undefined(_not_applicable(owner), SHARE)
        estimates[f"unique_{target}_raw{suffix}"] = raw
        estimates[f"unique_{target}{suffix}"] = clipped(raw)
    raw_y = estimates[f"unique_y_raw{suffix}"]
    raw_d = estimates[f"unique_d_raw{suffix}"]
    estimates[f"unique{suffix}"] = _geometric_mean(raw_y, raw_d)
    return estimates


def _geometric_mean(a: Estimate, b: Estimate) -> Estimate:
    """sqrt(max(0, a) max(0, b)); interval over the joint 95 % rectangle, delta error
    unless an interval has 0.
    """
    notes = tuple(dict.fromkeys((*a.notes, *b.notes)))
    if a.influence is None or b.influence is None:
        return undefined("; ".join(notes), SHARE)
    # two intervals, joint coverage 95 % (Bonferroni)
    margin = quantile(a.degrees, (1.0 + LEVEL) / 2.0)

    def mean_at(errors: float) -> float:
        value_a = a.value + errors * a.standard_error
        value_b = b.value + errors * b.standard_error
        return sqrt(max(0.0, value_a) * max(0.0, value_b))

    value = mean_at(0.0)
    interval = (mean_at(-margin), mean_at(margin))
    if a.low <= 0.0 or b.low <= 0.0:
        note = Note(
            "A factor is not significantly above 0: there is no standard error.",
            "no error",
        )
        return Estimate(
            value, np.nan, SHARE, a.n, a.method, (*notes, note), interval=interval
        )
    influence = 0.5 * (b.value * a.influence + a.value * b.influence) / value
    estimate = as_share(a, value, influence, notes)
    return replace(estimate, interval=interval)
