"""Quantities and scores of a partition of a representation into z_y (label), z_d (domain), z_dy (shared or joint), z_x.

`unique` is UniBound (Tokui & Sato 2021, Eq. 7) of a block against all others given the other label, over entropy: in
[0, 1], 1 if and only if z_y and z_d alone determine their labels. `seed` is a weighted sum with fixed constants, for
comparison with earlier work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt

import numpy as np

from infoscope.estimators.result import LEVEL, SHARE, Estimate, quantile, undefined
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.partition.terms import BLOCKS, Linear, Route, Term, as_share, linear, ratio
from infoscope.notes import Note

_SEED_SCALE = 7.5  # nats, denominator of the seed score: a typical entropy of 2.5 times three terms

_H_Y, _H_D, _H_YD = Term((), "y"), Term((), "d"), Term((), "yd")
_H_Y_GIVEN_D, _H_D_GIVEN_Y = Term((), "y", "d"), Term((), "d", "y")
_SHARED: Linear = {_H_Y: 1.0, _H_Y_GIVEN_D: -1.0}  # I(Y;D)
_ASPECTS = (("y", ""), ("d", ""), ("y", "d"), ("d", "y"), ("yd", ""))
_CONDITIONAL = (("y", "d"), ("d", "y"))
_OWNER = {"y": "z_y", "d": "z_d"}

Names = tuple[str, ...]


def others(blocks: Names, *without: str) -> Names:
    """The blocks except some."""
    return tuple(name for name in blocks if name not in without)


def co_information(block: str) -> Linear:
    """I(block; Y) + I(block; D) - I(block; Y,D): positive is redundancy, negative is synergy."""
    return {Term((block,), "y"): 1.0, Term((block,), "d"): 1.0, Term((block,), "yd"): -1.0}


def _quantities(blocks: Names) -> dict[str, Linear | str]:
    """Every quantity by its name; for absent blocks the reason why it is undefined."""
    found: dict[str, Linear | str] = {
        term.name: {term: 1.0} for term in (_H_Y, _H_D, _H_YD, _H_Y_GIVEN_D, _H_D_GIVEN_Y)
    }
    found["I(Y;D)"] = _SHARED
    for block in BLOCKS:
        for target, given in _ASPECTS:
            term = Term((block,), target, given)
            found[term.name] = {term: 1.0} if block in blocks else _not_applicable(block)
        gap = {Term((block,), *aspect): sign for aspect, sign in zip(_ASPECTS, (1.0, -1.0, -1.0, 1.0), strict=False)}
        found[f"co-information({block};Y;D)"] = co_information(block) if block in blocks else _not_applicable(block)
        found[f"chain-rule gap of {block}"] = gap if block in blocks else _not_applicable(block)
    for target, given in _ASPECTS[2:]:
        found[Term(blocks, target, given).name] = {Term(blocks, target, given): 1.0}
    for target, given in _CONDITIONAL:
        rests = [others(blocks, block) for block in blocks] + [others(blocks, _OWNER[target], "z_dy")]
        for rest in filter(None, rests):
            found[Term(rest, target, given).name] = {Term(rest, target, given): 1.0}
    return found


def _not_applicable(block: str) -> str:
    return f"not applicable: there is no {block}."


def terms_of(blocks: Names) -> list[Term]:
    """All terms in the quantities and scores of these blocks."""
    return list(
        dict.fromkeys(term for terms in _quantities(blocks).values() if not isinstance(terms, str) for term in terms)
    )


def figures(route: Route, blocks: Names) -> dict[str, Estimate]:
    """Every quantity by its name, from the estimates of a route."""
    return {
        name: undefined(terms) if isinstance(terms, str) else linear(route, terms)
        for name, terms in _quantities(blocks).items()
    }


def scores(route: Route, blocks: Names) -> dict[str, Estimate]:
    """Every score by its name, from the estimates of a route; see `PartitionReport.scores`."""
    found = seed_scores(route, blocks)
    found["seed_ceiling"] = scaled(linear(route, {_H_YD: 1.0}), 1.0 / _SEED_SCALE)
    found |= unique(route, blocks, "")
    if "z_dy" in blocks:
        found |= unique(route, others(blocks, "z_dy"), "_without_z_dy")
    return found | {"sufficiency": ratio(route, {Term(blocks, "yd"): 1.0}, {_H_YD: 1.0})}


def scaled(figure: Estimate, factor: float) -> Estimate:
    """An estimate times a number, as a share."""
    if figure.influence is None:
        return undefined("; ".join(figure.notes), SHARE)
    return as_share(figure, factor * figure.value, factor * figure.influence, figure.notes)


def seed_parts(blocks: Names) -> list[tuple[float, Linear]]:
    """The terms of the seed score with their signs; those of absent blocks are left out."""
    parts: list[tuple[float, str, Mapping[tuple[str, str], float]]] = [
        (1.0, "z_y", {("y", "d"): 1.0}),
        (1.0, "z_d", {("d", "y"): 1.0}),
        (1.0, "z_dy", dict(zip(_ASPECTS, (0.5, 0.5, -0.5, -0.5), strict=False))),
        (-1.0, "z_y", {("d", "y"): 1.0}),
        (-1.0, "z_d", {("y", "d"): 1.0}),
        (-1.0, "z_x", {("y", ""): 1.0, ("d", "y"): 1.0}),
    ]
    return [
        (sign, {Term((block,), *aspect): factor for aspect, factor in aspects.items()})
        for sign, block, aspects in parts
        if block in blocks
    ]


def seed_scores(route: Route, blocks: Names) -> dict[str, Estimate]:
    """The seed score, from terms in nats and in bits."""
    units = {"seed": 1.0, "seed_bits": 1 / NATS_PER_BIT}
    return {name: _partition_quality(route, blocks, unit) for name, unit in units.items()}


def _partition_quality(route: Route, blocks: Names, units: float) -> Estimate:
    """The seed score, from terms in nats (units 1) or bits (1 / log 2).

    (I(z_y;Y|D) + I(z_d;D|Y) + max(0, co-information of z_dy) - I(z_y;D|Y) - I(z_d;Y|D) - I(z_x;Y,D)) / 7.5, terms
    clipped at 0, absent blocks 0, co-information averaged over both formulas, the sum clipped to [0, 1].
    """
    total: dict[Term, float] = {}
    for sign, terms in seed_parts(blocks):
        part = linear(route, terms)
        if part.influence is None:
            return undefined("; ".join(part.notes), SHARE)
        if part.value > 0.0:
            total |= {term: total.get(term, 0.0) + sign * factor for term, factor in terms.items()}
    if not total:
        note = "every term was clipped at 0: the error is unknown."
        return Estimate(0.0, unit=SHARE, n=part.n, method=part.method, notes=(note,))
    raw = scaled(linear(route, total), units / _SEED_SCALE)
    return clipped(raw, 1.0)


def clipped(raw: Estimate, most: float = np.inf) -> Estimate:
    """max(0, min(most, raw)) with its interval; no standard error if a limit lies within the interval."""
    if raw.influence is None:
        return raw
    value, low, high = np.clip([raw.value, raw.low, raw.high], 0.0, most).tolist()
    if (low, high) == (raw.low, raw.high):
        return raw
    note = "clipped, or the interval contains the limit: no standard error; see the raw value and the interval."
    return Estimate(value, np.nan, raw.unit, raw.n, raw.method, (*raw.notes, note), interval=(low, high))


def unique(route: Route, blocks: Names, suffix: str) -> dict[str, Estimate]:
    """PQ_Y, PQ_D (raw and clipped at 0) and PQ = sqrt(PQ_Y PQ_D) of some blocks."""
    found = {}
    for (target, given), entropy in zip(_CONDITIONAL, (_H_Y_GIVEN_D, _H_D_GIVEN_Y), strict=True):
        owner, name = _OWNER[target], f"unique_{target}"
        if owner in blocks:
            rest = others(blocks, owner)
            own = {Term((owner,), target, given): 1.0} | ({Term(rest, target, given): -1.0} if rest else {})
            raw = ratio(route, own, {entropy: 1.0})
        else:
            raw = undefined(_not_applicable(owner), SHARE)
        found |= {f"{name}_raw{suffix}": raw, f"{name}{suffix}": clipped(raw)}
    raws = found[f"unique_y_raw{suffix}"], found[f"unique_d_raw{suffix}"]
    return found | {f"unique{suffix}": _geometric_mean(*raws)}


def _geometric_mean(a: Estimate, b: Estimate) -> Estimate:
    """sqrt(max(0, a) max(0, b)); interval over the joint 95 % rectangle, delta-method error unless one has 0."""
    if a.influence is None or b.influence is None:
        return undefined("; ".join(dict.fromkeys((*a.notes, *b.notes))), SHARE)
    reach = quantile(a.degrees, (1.0 + LEVEL) / 2.0)  # two intervals, joint coverage 95 % (Bonferroni)
    value, low, high = (
        sqrt(max(0.0, a.value + t * a.standard_error) * max(0.0, b.value + t * b.standard_error))
        for t in (0.0, -reach, reach)
    )
    notes = tuple(dict.fromkeys((*a.notes, *b.notes)))
    if a.low <= 0.0 or b.low <= 0.0:
        notes = (*notes, Note("A factor is not significantly above 0: there is no standard error.", "no error"))
        return Estimate(value, np.nan, SHARE, a.n, a.method, notes, interval=(low, high))
    influence = 0.5 * (b.value * a.influence + a.value * b.influence) / value
    return replace(as_share(a, value, influence, notes), interval=(low, high))
