"""Estimates of terms by three estimators ("routes"), and linear combinations of them.

neighbours: each term separately, biased low in many dimensions, not additive.
classifier: one cross-fitted q(y, d | blocks) for each set of blocks; additive lower
bounds. posterior: exact log-marginals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators import uncertainty
from infoscope.estimators.classifier.information import Information
from infoscope.estimators.classifier.inputs import combined
from infoscope.estimators.result import (
    NATS,
    SHARE,
    Estimate,
    mean_of,
    root_sum_squares,
    undefined,
)
from infoscope.estimators.scales import jitter
from infoscope.metrics.partition.blocks import Term
from infoscope.metrics.pid import ROUNDING
from infoscope.notes import Note

NEIGHBOURS = "neighbours"
CLASSIFIER = "classifier"
POSTERIOR = "posterior"
CONSTANT_BLOCK = Note(
    "The block is constant and carries no information.", "constant block"
)


Linear = Mapping[Term, float]
"""A linear combination of terms: term -> factor."""
Route = Mapping[Term, Estimate]
"""Estimates of terms by one estimator, nats, with influences for the errors of sums; NaN where unavailable."""


def linear(route: Route, terms: Linear) -> Estimate:
    """A linear combination of terms, nats; undefined where a term is."""
    reasons = []
    for term in terms:
        if np.isnan(route[term].value):
            reasons.append(f"{term.name}: {' '.join(route[term].notes)}")
    if reasons:
        return undefined("; ".join(reasons))
    parts: list[Estimate] = [route[term] * factor for term, factor in terms.items()]
    return sum(parts[1:], parts[0])


def as_share(
    part: Estimate, value: float, influence: NDArray[np.float64], notes: tuple[str, ...]
) -> Estimate:
    """A share with the error from its influence, and n and method of `part`."""
    error = root_sum_squares(influence)
    return Estimate(
        value,
        error,
        SHARE,
        part.n,
        part.method,
        notes,
        degrees=part.degrees,
        influence=influence,
    )


def ratio(route: Route, numerator: Linear, denominator: Linear) -> Estimate:
    """A ratio of linear combinations, error by the delta method; undefined unless the
    denominator is above 0.
    """
    part = linear(route, numerator)
    total = linear(route, denominator)
    if part.influence is None or total.influence is None:
        return undefined("; ".join((*part.notes, *total.notes)), SHARE)
    if total.value <= ROUNDING:
        names = ", ".join(term.name for term in denominator)
        return undefined(
            f"{names} is {total.value:.4f}, not above 0: a share of it is undefined.",
            SHARE,
        )
    value = part.value / total.value
    influence = (part.influence - value * total.influence) / total.value
    return as_share(part, value, influence, part.notes)


def knn_route(
    blocks: Mapping[str, NDArray],
    labels: Mapping[str, NDArray],
    terms: Iterable[Term],
    plan: uncertainty.Resamples,
    k: int,
    remarks: Mapping[str, str],
) -> Route:
    """Every term by the mixed nearest-neighbour estimator, with errors from common
    half-samples.

    0, with a note, for a constant block. remarks: block -> note on all its terms.
    """
    route = {}
    for term in terms:
        target = joint(labels, term.target)
        condition = joint(labels, term.given) if term.given else None
        x = stacked(blocks, term.blocks) if term.blocks else target
        value = 0.0
        influence = np.zeros(plan.count)
        notes: tuple[str, ...] = (CONSTANT_BLOCK,)
        if x.size:
            try:
                estimate = uncertainty.subsample(x, target, condition, k, plan)
            except ValueError as error:
                route[term] = undefined(str(error))
                continue
            assert estimate.influence is not None
            value = estimate.value
            influence = estimate.influence
            notes = estimate.notes
        remarks_of_term = [remarks[name] for name in term.blocks if name in remarks]
        information = Estimate(
            value,
            root_sum_squares(influence),
            NATS,
            plan.n,
            f"nearest neighbours, k = {k}",
            (*notes, *remarks_of_term),
            degrees=min(plan.count, plan.units) - 1,
            influence=influence,
        )
        route[term] = to_zero(information)
    return route


def break_ties(
    blocks: Mapping[str, NDArray], generator: np.random.Generator
) -> tuple[dict[str, NDArray], dict[str, str]]:
    """Blocks, and remarks on those with more than 1 % repeated rows, whose ties are
    broken by noise of 1e-6 standard deviations.
    """
    separate = dict(blocks)
    remarks = {}
    for name, block in blocks.items():
        varying = np.ptp(block, axis=0) > 0
        if not varying.any():
            continue
        _, counts = np.unique(block, axis=0, return_counts=True)
        share = counts[counts > 1].sum() / len(block)
        if share > 0.01:
            centred = block - block.mean(axis=0)
            centred[:, varying] = jitter(centred[:, varying], generator, relative=1e-6)
            separate[name] = centred
            remarks[name] = (
                f"{100 * share:.0f} % of the rows of {name} repeat: ties were broken "
                "by noise."
            )
    return separate, remarks


def stacked(blocks: Mapping[str, NDArray], names: Iterable[str]) -> NDArray[np.float64]:
    """The nonconstant columns of some blocks [n, d]; d may be 0."""
    columns = np.hstack([blocks[name] for name in names])
    return columns[:, np.ptp(columns, axis=0) > 0]


def joint(labels: Mapping[str, NDArray], names: str) -> NDArray[np.int64]:
    """One code for the combination of some labels [n]."""
    return combined([labels[name] for name in names])


def classifier_route(information: Information, terms: Iterable[Term]) -> Route:
    """Every term from coherent classifiers; errors of means of pointwise values, robust
    to groups.
    """
    route = {}
    for term in terms:
        target = tuple(term.target)
        condition = tuple(term.given)
        if term.blocks:
            local = information.pointwise(term.blocks, target, condition)
        else:
            local = information.pointwise_entropy(target, condition)
        mean = mean_of(local, information.row_groups, method=information.family)
        route[term] = to_zero(mean)
    return route


def to_zero(information: Estimate) -> Estimate:
    """An estimate whose interval, if it lies below 0, extends to 0, the least true
    value, with a note.
    """
    if not information.high < 0.0:
        return information
    note = Note(
        "Significantly below 0, the least true value, to which the interval extends: "
        "biased.",
        "below 0",
    )
    return replace(
        information, interval=(information.low, 0.0), notes=(*information.notes, note)
    )
