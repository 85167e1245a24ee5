"""Terms I(blocks; labels | labels) and entropies of labels, and the routes that measure them.

Neighbours: term by term, biased low in many dimensions, not additive. Classifier: one cross-fitted q(y, d | blocks) for
each set of blocks, additive lower bounds. Posterior: exact log-marginals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators import uncertainty
from infoscope.estimators.classifier.information import Information
from infoscope.estimators.classifier.inputs import combined
from infoscope.estimators.result import NATS, SHARE, Estimate, mean_of, root_sum_squares, undefined
from infoscope.estimators.variables import jitter
from infoscope.metrics.pid import ROUNDING

BLOCKS = ("z_y", "z_x", "z_dy", "z_d")
NEIGHBOURS, CLASSIFIER, POSTERIOR = "neighbours", "classifier", "posterior"
_MAX_REPEATED_SHARE = 0.01  # of the rows; above it one pass over the neighbours is impossible

Progress = Callable[[float, str], None]
"""Called with the share of a stage that is done and what was done last."""


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
"""A sum of terms, each times a number."""
Route = Mapping[Term, Estimate]
"""Terms as one route measured them, nats, with influences by which sums have their errors; nan where there is none."""


def linear(route: Route, terms: Linear) -> Estimate:
    """A sum of terms, nats; none where a term has none."""
    reasons = [f"{term.name}: {' '.join(route[term].notes)}" for term in terms if np.isnan(route[term].value)]
    if reasons:
        return undefined("; ".join(reasons))
    first, *others = [factor * route[term] for term, factor in terms.items()]
    return sum(others, first)


def as_share(one: Estimate, value: float, influence: NDArray[np.float64], notes: tuple[str, ...]) -> Estimate:
    """A share with the error that its influence gives, measured as `one` was."""
    error = root_sum_squares(influence)
    return Estimate(value, error, SHARE, one.n, one.method, notes, degrees=one.degrees, influence=influence)


def ratio(route: Route, numerator: Linear, denominator: Linear) -> Estimate:
    """One sum of terms over another, its error by the delta method; none where the other is not above 0."""
    above, below = linear(route, numerator), linear(route, denominator)
    if above.influence is None or below.influence is None:
        return undefined("; ".join((*above.notes, *below.notes)), SHARE)
    if below.value <= ROUNDING:
        whole = ", ".join(term.name for term in denominator)
        return undefined(f"{whole} is {below.value:.4f}, not above 0: there is nothing to know a share of.", SHARE)
    value = above.value / below.value
    return as_share(above, value, (above.influence - value * below.influence) / below.value, above.notes)


def by_neighbours(
    blocks: Mapping[str, NDArray],
    labels: Mapping[str, NDArray],
    terms: Iterable[Term],
    plan: uncertainty.Resamples,
    k: int,
    remarks: Mapping[str, str],
    progress: Progress,
) -> Route:
    """Every term by the mixed nearest-neighbour estimator, on the half-samples of one plan, so that errors are paired.

    A constant block gives 0, with a note. remarks on blocks go to every term of theirs.
    """
    measured, terms = {}, list(terms)
    for done, term in enumerate(terms):
        target, given = joint(labels, term.target), joint(labels, term.given)
        x = stacked(blocks, term.blocks) if term.blocks else target
        value, influence, notes = 0.0, np.zeros(plan.count), ("the block is constant: it shares nothing.",)
        try:
            if x.size:
                found = uncertainty.subsample(x, target, given, k, plan)
                value, influence, notes = found.value, found.influence, found.notes
            measured[term] = Estimate(
                value, root_sum_squares(influence), NATS, plan.n, f"nearest neighbours, k = {k}",
                (*notes, *(remarks[name] for name in term.blocks if name in remarks)),
                degrees=min(plan.count, plan.units) - 1, influence=influence,
            )  # fmt: skip
        except ValueError as error:
            measured[term] = undefined(str(error))
        progress((done + 1) / len(terms), f"neighbours: {term.name}")
    return measured


def without_repeats(
    blocks: Mapping[str, NDArray], generator: np.random.Generator
) -> tuple[dict[str, NDArray], dict[str, str]]:
    """Blocks with repeated rows put in random order by noise of 1e-6 standard deviations, and a remark beyond
    `_MAX_REPEATED_SHARE`.
    """
    found, notes = dict(blocks), {}
    for name, block in blocks.items():
        varying = np.ptp(block, axis=0) > 0
        if not varying.any():
            continue
        _, counts = np.unique(block, axis=0, return_counts=True)
        share = counts[counts > 1].sum() / len(block)
        if share > _MAX_REPEATED_SHARE:
            centred = block - block.mean(axis=0)
            centred[:, varying] = jitter(centred[:, varying], generator, relative=1e-6)
            found[name] = centred
            notes[name] = f"{100 * share:.0f} % of the rows of {name} repeat: ties were broken by noise."
    return found, notes


def stacked(blocks: Mapping[str, NDArray], names: Iterable[str]) -> NDArray[np.float64]:
    """The columns of some blocks that are not constant [n, d]; d may be 0."""
    columns = np.hstack([blocks[name] for name in names])
    return columns[:, np.ptp(columns, axis=0) > 0]


def joint(labels: Mapping[str, NDArray], names: str) -> NDArray[np.int64] | None:
    """One code for the combination of some labels [n]; None for none."""
    return combined([labels[name] for name in names]) if names else None


def by_classifier(information: Information, terms: Iterable[Term]) -> Route:
    """Every term from the tables of coherent classifiers; errors are those of means of dependent pointwise values."""
    return {
        term: mean_of(
            information.pointwise(term.blocks, tuple(term.target), tuple(term.given))
            if term.blocks
            else information.pointwise_entropy(tuple(term.target), tuple(term.given)),
            information.row_groups,
            method=information.family,
        )
        for term in terms
    }
