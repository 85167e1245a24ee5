"""Quantities and scores of a partition of a representation into z_y (label), z_d
(domain), z_dy (shared or joint), z_x.

`unique` is UniBound (Tokui & Sato 2021, Eq. 7) of a block against all others given the
other label, over entropy: in [0, 1], 1 if and only if z_y and z_d alone determine their
labels. `seed` is a weighted sum with fixed constants, for comparison with earlier work.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np

from infoscope.estimators.result import LEVEL, SHARE, Estimate, quantile, undefined
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.partition.blocks import (
    BLOCKS,
    BOTH,
    D_GIVEN_Y,
    LEAKY,
    OWNERS,
    SHARED,
    Y_GIVEN_D,
    Aspect,
    Block,
    D,
    Term,
    Y,
)
from infoscope.metrics.partition.terms import Linear, Route, as_share, linear, ratio
from infoscope.notes import Note

# nats, denominator of the seed score: a typical entropy of 2.5 times three terms
_SEED_SCALE = 7.5
_H_YD: Linear = {Term((), *BOTH): 1.0}

Names = tuple[str, ...]


def others(blocks: Names, *without: str) -> Names:
    """The blocks except some."""
    return tuple(name for name in blocks if name not in without)


def _quantities(blocks: Names) -> dict[str, Linear | str]:
    """Every quantity by its name; for absent blocks the reason why it is undefined."""
    quantities: dict[str, Linear | str] = {}

    def add(names: Names, aspect: Aspect) -> None:
        term = Term(names, *aspect)
        quantities[term.name] = {term: 1.0}

    for aspect in (Y, D, BOTH, Y_GIVEN_D, D_GIVEN_Y):
        add((), aspect)
    quantities["I(Y;D)"] = {Term((), *Y): 1.0, Term((), *Y_GIVEN_D): -1.0}
    for name in BLOCKS:
        of_block = _quantities_of(Block(name))
        if name in blocks:
            quantities |= of_block
        else:
            quantities |= dict.fromkeys(of_block, _not_applicable(name))
    for aspect in (Y_GIVEN_D, D_GIVEN_Y, BOTH):
        add(blocks, aspect)
    for owner in OWNERS:
        complements = [others(blocks, name) for name in blocks]
        complements.append(others(blocks, owner.name, "z_dy"))
        for complement in filter(None, complements):
            add(complement, owner.wanted)
    return quantities


def _quantities_of(block: Block) -> dict[str, Linear]:
    """Every quantity of a single block by its name."""
    about_y = block.term(Y)
    about_d = block.term(D)
    about_y_given_d = block.term(Y_GIVEN_D)
    about_d_given_y = block.term(D_GIVEN_Y)
    about_both = block.term(BOTH)
    quantities: dict[str, Linear] = {}
    for term in (about_y, about_d, about_y_given_d, about_d_given_y, about_both):
        quantities[term.name] = {term: 1.0}
    # above 0: redundancy; below 0: synergy
    quantities[f"co-information({block.name};Y;D)"] = {
        about_y: 1.0,
        about_d: 1.0,
        about_both: -1.0,
    }
    quantities[f"chain-rule gap of {block.name}"] = {
        about_y: 1.0,
        about_d: -1.0,
        about_y_given_d: -1.0,
        about_d_given_y: 1.0,
    }
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
    entropy = linear(route, _H_YD)
    estimates["seed_ceiling"] = scaled(entropy, 1.0 / _SEED_SCALE)
    estimates |= unique(route, blocks, "")
    if "z_dy" in blocks:
        without_joint = others(blocks, "z_dy")
        estimates |= unique(route, without_joint, "_without_z_dy")
    information = {Term(blocks, *BOTH): 1.0}
    estimates["sufficiency"] = ratio(route, information, _H_YD)
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
    parts: list[tuple[float, Linear]] = []
    for block in OWNERS:
        if block.name in blocks:
            parts.append((1.0, {block.term(block.wanted): 1.0}))
    if SHARED.name in blocks:
        # half the sum of both formulas of the co-information
        factors = {Y: 0.5, D: 0.5, Y_GIVEN_D: -0.5, D_GIVEN_Y: -0.5}
        terms = {SHARED.term(aspect): factor for aspect, factor in factors.items()}
        parts.append((1.0, terms))
    for block in LEAKY:
        if block.name in blocks:
            parts.append((-1.0, {block.term(aspect): 1.0 for aspect in block.parts}))
    return parts


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
            total[term] = total.get(term, 0.0) + sign * factor
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
    interval = [raw.low, raw.high]
    value, low, high = np.clip([raw.value, *interval], 0.0, most).tolist()
    if np.array_equal([low, high], interval, equal_nan=True):
        return raw
    note = (
        "clipped, or the interval contains the limit: no standard error; see the raw "
        "value and the interval."
    )
    notes = (*raw.notes, note)
    return Estimate(
        value, np.nan, raw.unit, raw.n, raw.method, notes, interval=(low, high)
    )


def unique(route: Route, blocks: Names, suffix: str) -> dict[str, Estimate]:
    """PQ_Y, PQ_D (raw and clipped at 0) and PQ = sqrt(PQ_Y PQ_D) of some blocks."""
    estimates = {}
    for owner in OWNERS:
        label, _ = owner.wanted
        raw = undefined(_not_applicable(owner.name), SHARE)
        if owner.name in blocks:
            difference = {owner.term(owner.wanted): 1.0}
            complement = others(blocks, owner.name)
            if complement:
                difference[Term(complement, *owner.wanted)] = -1.0
            entropy = {Term((), *owner.wanted): 1.0}
            raw = ratio(route, difference, entropy)
        estimates[f"unique_{label}_raw{suffix}"] = raw
        estimates[f"unique_{label}{suffix}"] = clipped(raw)
    raw_y = estimates[f"unique_y_raw{suffix}"]
    raw_d = estimates[f"unique_d_raw{suffix}"]
    estimates[f"unique{suffix}"] = _geometric_mean(raw_y, raw_d)
    return estimates


def _geometric_mean(a: Estimate, b: Estimate) -> Estimate:
    """sqrt(max(0, a) max(0, b)). The interval is over the joint 95 % rectangle; the
    error is by the delta method, or unknown if an interval contains 0.
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
    derivative = b.value * a.influence + a.value * b.influence
    influence = 0.5 * derivative / value
    estimate = as_share(a, value, influence, notes)
    return replace(estimate, interval=interval)
