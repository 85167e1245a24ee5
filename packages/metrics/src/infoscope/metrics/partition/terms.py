"""Terms I(blocks; labels | labels) and entropies of labels, and their estimators ("routes").

neighbours: each term separately, biased low in many dimensions, not additive. classifier: one cross-fitted q(y, d |
blocks) for each set of blocks; additive lower bounds. posterior: exact log-marginals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators import uncertainty
from infoscope.estimators.classifier.information import Information
from infoscope.estimators.classifier.inputs import combined
from infoscope.estimators.result import NATS, SHARE, Estimate, mean_of, root_sum_squares, undefined
from infoscope.estimators.scales import jitter
from infoscope.metrics.pid import ROUNDING
from infoscope.notes import Note

BLOCKS = ("z_y", "z_x", "z_dy", "z_d")
NEIGHBOURS, CLASSIFIER, POSTERIOR = "neighbours", "classifier", "posterior"

CONSTANT_BLOCK = Note("The block is constant and carries no information.", "constant block")


@dataclass(frozen=True)
class Term:
    """I(blocks; target | given), or H(target | given) without blocks. target and given are strings of "y" and "d"."""

    blocks: tuple[str, ...]
    target: str
    given: str = ""

    @property
    def name(self) -> str:
        target = ",".join(self.target.upper())
        given = "|" + ",".join(self.given.upper()) if self.given else ""
        return f"I({','.join(self.blocks)};{target}{given})" if self.blocks else f"H({target}{given})"


Linear = Mapping[Term, float]
"""A linear combination of terms: term -> factor."""
Route = Mapping[Term, Estimate]
"""Estimates of terms by one estimator, nats, with influences for the errors of sums; NaN where unavailable."""


def linear(route: Route, terms: Linear) -> Estimate:
    """A linear combination of terms, nats; undefined where a term is."""
    reasons = [f"{term.name}: {' '.join(route[term].notes)}" for term in terms if np.isnan(route[term].value)]
    if reasons:
        return undefined("; ".join(reasons))
    first, *others = [factor * route[term] for term, factor in terms.items()]
    return sum(others, first)


def as_share(one: Estimate, value: float, influence: NDArray[np.float64], notes: tuple[str, ...]) -> Estimate:
    """A share with the error from its influence, and n and method of `one`."""
    error = root_sum_squares(influence)
    return Estimate(value, error, SHARE, one.n, one.method, notes, degrees=one.degrees, influence=influence)


def ratio(route: Route, numerator: Linear, denominator: Linear) -> Estimate:
    """A ratio of linear combinations, error by the delta method; undefined unless the denominator is above 0."""
    above, below = linear(route, numerator), linear(route, denominator)
    if above.influence is None or below.influence is None:
        return undefined("; ".join((*above.notes, *below.notes)), SHARE)
    if below.value <= ROUNDING:
        whole = ", ".join(term.name for term in denominator)
        return undefined(f"{whole} is {below.value:.4f}, not above 0: a share of it is undefined.", SHARE)
    value = above.value / below.value
    return as_share(above, value, (above.influence - value * below.influence) / below.value, above.notes)


def knn_route(
    blocks: Mapping[str, NDArray],
    labels: Mapping[str, NDArray],
    terms: Iterable[Term],
    plan: uncertainty.Resamples,
    k: int,
    remarks: Mapping[str, str],
) -> Route:
    """Every term by the mixed nearest-neighbour estimator, with errors from common half-samples.

    0, with a note, for a constant block. remarks: block -> note on all its terms.
    """
    measured = {}
    for term in terms:
        target, given = joint(labels, term.target), joint(labels, term.given)
        x = stacked(blocks, term.blocks) if term.blocks else target
        value, influence, notes = 0.0, np.zeros(plan.count), (CONSTANT_BLOCK,)
        try:
            if x.size:
                found = uncertainty.subsample(x, target, given, k, plan)
                value, influence, notes = found.value, found.influence, found.notes
            information = Estimate(
                value, root_sum_squares(influence), NATS, plan.n, f"nearest neighbours, k = {k}",
                (*notes, *(remarks[name] for name in term.blocks if name in remarks)),
                degrees=min(plan.count, plan.units) - 1, influence=influence,
            )  # fmt: skip
            measured[term] = to_zero(information)
        except ValueError as error:
            measured[term] = undefined(str(error))
    return measured


def break_ties(
    blocks: Mapping[str, NDArray], generator: np.random.Generator
) -> tuple[dict[str, NDArray], dict[str, str]]:
    """Blocks, and remarks on those with more than 1 % repeated rows, whose ties are broken by noise
    of 1e-6 standard deviations.
    """
    found, notes = dict(blocks), {}
    for name, block in blocks.items():
        varying = np.ptp(block, axis=0) > 0
        if not varying.any():
            continue
        _, counts = np.unique(block, axis=0, return_counts=True)
        share = counts[counts > 1].sum() / len(block)
        if share > 0.01:
            centred = block - block.mean(axis=0)
            centred[:, varying] = jitter(centred[:, varying], generator, relative=1e-6)
            found[name] = centred
            notes[name] = f"{100 * share:.0f} % of the rows of {name} repeat: ties were broken by noise."
    return found, notes


def stacked(blocks: Mapping[str, NDArray], names: Iterable[str]) -> NDArray[np.float64]:
    """The nonconstant columns of some blocks [n, d]; d may be 0."""
    columns = np.hstack([blocks[name] for name in names])
    return columns[:, np.ptp(columns, axis=0) > 0]


def joint(labels: Mapping[str, NDArray], names: str) -> NDArray[np.int64] | None:
    """One code for the combination of some labels [n]; None for none."""
    return combined([labels[name] for name in names]) if names else None


def classifier_route(information: Information, terms: Iterable[Term]) -> Route:
    """Every term from coherent classifiers; errors of means of pointwise values, robust to groups."""
    route = {}
    for term in terms:
        target, given = tuple(term.target), tuple(term.given)
        if term.blocks:
            local = information.pointwise(term.blocks, target, given)
        else:
            local = information.pointwise_entropy(target, given)
        route[term] = to_zero(mean_of(local, information.row_groups, method=information.family))
    return route


def to_zero(information: Estimate) -> Estimate:
    """An estimate whose interval, if it lies below 0, extends to 0, the least true value, with a note."""
    if not information.high < 0.0:
        return information
    note = Note("Significantly below 0, the least true value, to which the interval extends: biased.", "below 0")
    return replace(information, interval=(information.low, 0.0), notes=(*information.notes, note))
