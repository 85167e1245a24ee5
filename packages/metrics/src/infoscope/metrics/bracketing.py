"""Mutual information of a representation and labels from two sides, and what it means when the sides disagree.

A cross-fitted classifier gives what one family of classifiers can use, on held-out rows: a lower bound on I(x; y) up to
sampling error. A nearest-neighbour estimate is no bound, but needs no family; in many dimensions it is biased low.
H(y) is a ceiling for any of them. No one of the three can be trusted alone; their order says which to doubt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from infoscope.estimators import classifier, knn, uncertainty
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.variables import Variable, as_variable, same_length

SURE = 2.0  # standard errors that two estimates must differ by to disagree


@dataclass(frozen=True)
class Bracket:
    """Three figures for I(x; y), nats.

    neighbours  the nearest-neighbour estimate, its interval, and the verdict on its bias
    usable      the held-out classifier's: a lower bound, up to its interval
    ceiling     H(y), which I(x; y) cannot exceed, with its standard error, robust to groups
    finding     agree, neighbours low, neighbours high, above ceiling
    meaning     what follows, in words and numbers
    """

    neighbours: uncertainty.Uncertain
    usable: classifier.Estimate
    ceiling: knn.Estimate
    finding: str
    meaning: str

    @property
    def gap(self) -> float:
        """neighbours minus usable, nats."""
        return self.neighbours.value - self.usable.value


def bracket(
    x: Any,
    y: Any,
    k: int = 5,
    groups: ArrayLike | None = None,
    family: str = "logistic",
    folds: int = 5,
    resamples: int = 100,
    generator: np.random.Generator | None = None,
) -> Bracket:
    """I(x; y), nats, of x [n] or [n, d] (typed as `knn` types it) and discrete labels y [n], from below and above.

    groups [n] keeps dependent rows in one fold and in one half; family and folds are those of `classifier.cross_fit`; k
    and resamples those of `uncertainty.subsample`. generator draws folds and halves; None is a fresh one with seed 0.

    ValueError: y is not discrete; as `cross_fit` and `subsample`.
    """
    features, labels = as_variable("x", x), as_variable("y", y)
    same_length(x=features, y=labels)
    if labels.kind != "discrete":
        raise ValueError(f"y must be discrete (integers, booleans, strings or Discrete), got a {labels.kind} variable.")
    generator = generator_or_default(generator)
    neighbours = uncertainty.subsample(features, labels, k=k, resamples=resamples, groups=groups, generator=generator)
    fitted = classifier.cross_fit(as_numbers(features), labels.codes, groups, family, folds, generator=generator)
    usable, ceiling = fitted.information("z", "y"), knn.entropy(labels, local=True)
    ceiling = replace(ceiling, standard_error=fitted.estimate(ceiling.local).standard_error)
    finding = found(neighbours, usable, ceiling)
    return Bracket(neighbours, usable, ceiling, finding, meaning(finding, neighbours, usable, ceiling))


def as_numbers(x: Variable) -> np.ndarray:
    """What a classifier takes [n, d]: numbers as they are, joint categories one-hot."""
    return x.continuous if x.codes is None else np.hstack([x.continuous, np.eye(x.categories)[x.codes]])


def found(neighbours: uncertainty.Uncertain, usable: classifier.Estimate, ceiling: knn.Estimate) -> str:
    """How the three figures lie."""
    if neighbours.value - ceiling > SURE * hypot(neighbours.standard_error, ceiling.standard_error):
        return "above ceiling"
    error = hypot(neighbours.standard_error, usable.standard_error)
    if abs(neighbours.value - usable.value) <= SURE * error:
        return "agree"
    return "neighbours low" if neighbours.value < usable.value else "neighbours high"


def meaning(finding: str, neighbours: uncertainty.Uncertain, usable: classifier.Estimate, ceiling: knn.Estimate) -> str:
    """The sentence for a finding, with its numbers."""
    gap, verdict = abs(neighbours.value - usable.value), neighbours.verdict
    least = f"{usable.family} finds {usable.value:.3f} ± {usable.standard_error:.3f} nats on held-out rows"
    estimate = f"nearest neighbours estimate {neighbours.value:.3f} ± {neighbours.standard_error:.3f} ({verdict})"
    share = f"H(y) is {float(ceiling):.3f} ± {ceiling.standard_error:.3f}"
    match finding:
        case "above ceiling":
            above = neighbours.value - ceiling
            said = f"no more than H(y) is possible, so the neighbour estimate is at least {above:.3f} too high"
        case "agree":
            said = f"the two agree within {SURE:g} standard errors of their difference"
            if verdict != uncertainty.RELIABLE:
                said += f", though the neighbour estimate is still moving with the sample size ({verdict})"
        case "neighbours low":
            said = f"the neighbour estimate misses at least {gap:.3f} nats, so the classifier's is the one to use"
        case _ if verdict == uncertainty.RELIABLE:
            said = f"about {gap:.3f} nats are there that {usable.family} cannot use"
        case _:
            said = (
                f"the {gap:.3f} nats between them are either what {usable.family} cannot use or bias of the neighbour "
                f"estimate, which is {verdict}: another family or more rows can tell"
            )
    return f"{least}, {estimate}, {share}: {said}."
