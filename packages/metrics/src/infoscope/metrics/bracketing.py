"""Mutual information from below and above.

A held-out classifier (labels) or fitted distribution (numbers) gives a lower bound up to sampling error, H(y) a ceiling
for labels. Nearest neighbours are no bound and biased low in many dimensions. Their order shows which to doubt;
patterns finer than the rows resolve are not detected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from infoscope.errors import Conflict
from infoscope.estimators import classifier, knn, laws, uncertainty
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.result import Estimate
from infoscope.estimators.variables import as_variables

ABOVE = "neighbours above"  # what is usable is a lower bound: above it they may be right
_SURE = 2.0  # standard errors that two estimates must differ by to disagree


@dataclass(frozen=True)
class Bracket:
    """Two or three figures for I(x; y), nats.

    neighbours  the nearest-neighbour estimate, its interval, and the verdict on its bias
    usable      held-out lower bound, up to its interval
    ceiling     H(y); None for numbers
    finding     agree, neighbours low, neighbours above, above ceiling
    meaning     in words
    """

    neighbours: uncertainty.Uncertain
    usable: Estimate
    ceiling: Estimate | None
    finding: str
    meaning: str

    @property
    def gap(self) -> float:
        """neighbours minus usable, nats."""
        return self.neighbours.value - self.usable.value

    def __str__(self) -> str:
        ceiling = [] if self.ceiling is None else [f"ceiling, H(y)       {self.ceiling!r}"]
        sides = [f"nearest neighbours  {self.neighbours!r}", f"held-out rows       {self.usable!r}", *ceiling]
        return "\n".join([*sides, f"{self.finding}: {self.meaning}"])


def bracket(
    x: Any,
    y: Any,
    k: int = 5,
    groups: ArrayLike | None = None,
    family: str | None = None,
    folds: int = 5,
    resamples: int = 100,
    generator: np.random.Generator | None = None,
) -> Bracket:
    """I(x; y), nats, of x and y, [n] or [n, d], typed as `knn` types them, from below and, for labels, from above.

    family (of labels only; None is logistic) and folds as of `classifier.cross_fit`; k and resamples as of
    `uncertainty.subsample`. ValueError: a family for a y that is not discrete; as `cross_fit` and `subsample`.
    """
    sides, groups = as_variables(groups, x=x, y=y)
    left, right = sides.values()
    if right.kind != "discrete" and family is not None:
        raise Conflict(f"family must be None where y is {right.kind}: classifiers need labels, got {family!r}.")
    generator = generator_or_default(generator)
    neighbours = uncertainty.subsample(left, right, k=k, resamples=resamples, groups=groups, generator=generator)
    if right.kind == "discrete":
        family = family or "logistic"
        fitted = classifier.cross_fit(left.as_numbers(), right.codes, groups, family, folds, generator=generator)
        usable, ceiling = fitted.information("z", "y"), knn.entropy(right, local=True)
        by_groups = fitted.estimate(ceiling.local)
        ceiling = replace(ceiling, standard_error=by_groups.standard_error, influence=by_groups.influence)
    else:
        usable, ceiling = laws.held_out(left, right, groups, folds, generator), None
    finding = found(neighbours, usable, ceiling)
    return Bracket(neighbours, usable, ceiling, finding, meaning(finding, neighbours, usable, ceiling))


def found(neighbours: uncertainty.Uncertain, usable: Estimate, ceiling: Estimate | None) -> str:
    """How the figures lie."""
    above = 0.0 if ceiling is None else neighbours.value - ceiling
    if ceiling is not None and above > _SURE * hypot(neighbours.standard_error, ceiling.standard_error):
        return "above ceiling"
    error = hypot(neighbours.standard_error, usable.standard_error)
    if abs(neighbours.value - usable.value) <= _SURE * error:
        return "agree"
    return "neighbours low" if neighbours.value < usable.value else ABOVE


def meaning(finding: str, neighbours: uncertainty.Uncertain, usable: Estimate, ceiling: Estimate | None) -> str:
    """The sentence for a finding, with its numbers."""
    gap, verdict = abs(neighbours.value - usable.value), neighbours.verdict
    least = f"{usable.method} finds {usable.value:.3f} ± {usable.standard_error:.3f} nats on held-out rows"
    estimate = f"nearest neighbours estimate {neighbours.value:.3f} ± {neighbours.standard_error:.3f} ({verdict})"
    share = "numbers have no ceiling"
    if ceiling is not None:
        share = f"H(y) is {float(ceiling):.3f} ± {ceiling.standard_error:.3f}"
    doubt = "" if verdict == uncertainty.RELIABLE else f"; of the neighbour estimate: {'; '.join(neighbours.reasons)}"
    match finding:
        case "above ceiling":
            above = neighbours.value - ceiling
            said = f"no more than H(y) is possible, so the neighbour estimate is at least {above:.3f} too high"
        case "agree":
            said = f"the two agree within {_SURE:g} standard errors of their difference{doubt}"
        case "neighbours low":
            said = f"the neighbour estimate misses at least {gap:.3f} nats, so the held-out one is the one to use"
        case _ if verdict == uncertainty.RELIABLE:
            said = f"about {gap:.3f} nats are there that {usable.method} cannot use"
        case _:
            said = (
                f"the {gap:.3f} nats between them are either what {usable.method} cannot use or bias of the neighbour "
                f"estimate: another family or more rows can tell{doubt}"
            )
    return f"{least}, {estimate}, {share}: {said}."
