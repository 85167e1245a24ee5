"""Cross-fitted odds of labels by fast classifiers, for simulated labels and as an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from infoscope.estimators.arrays.protocol import LABELS, Described, Pairs
from infoscope.estimators.families.protocol import Family
from infoscope.estimators.families.scikit import Sklearn
from infoscope.estimators.result import Estimate, mean_of

Floats = NDArray[np.float64]
_LEAST_SHARE = 1e-3  # of a label at a row
_LEAVES, _SMOOTHED, _LEAST = 50, 3, 5  # of a tree, in so few columns, where no others smooth the odds; rows of one


def sides(pairs: Pairs) -> tuple[Floats, NDArray[np.intp], int]:
    """What is seen [n, d], as normal scores and columns of 0 and 1, the label of every row, and how many there are."""
    seen, labels = (pairs.x, pairs.y) if pairs.y.kind == "discrete" else (pairs.y, pairs.x)
    return seen.rank_normal().as_numbers(), labels.codes, labels.categories


def forest(pairs: Pairs, trees: int = 100) -> Family:
    """Trees that are as fine as the rows and columns of pairs allow."""
    dim = sum(side.dim for side in (pairs.x, pairs.y))
    leaf = max(_LEAST, pairs.n // _LEAVES) if dim <= _SMOOTHED else _LEAST
    return Sklearn(RandomForestClassifier(trees, min_samples_leaf=leaf, max_features=0.3), title="trees")


def held_out_odds(family: Family, pairs: Pairs, folds: int, generator: np.random.Generator) -> Floats:
    """log p(label | row) - log p(label) [n, labels], of classifiers of the other folds."""
    block, codes, count = sides(pairs)
    fold_of = pairs.folds(folds, generator)
    prior = np.bincount(codes, minlength=count) / pairs.n
    odds = np.empty((pairs.n, count))
    for fold in range(folds):
        train, test = fold_of != fold, fold_of == fold
        fitted = family.fit(block[train], codes[train], count, generator=generator)
        odds[test] = np.log((1 - _LEAST_SHARE) * np.exp(fitted.log_probabilities(block[test])) / prior + _LEAST_SHARE)
    return odds


@dataclass(frozen=True)
class Trees(Described):
    """Mean log odds of the labels by trees of the other half of the rows, not calibrated."""

    trees: int = 50

    name: ClassVar[str] = "trees"
    takes: ClassVar[str] = LABELS
    limit: ClassVar[str] = "lower bound, usable by trees of half of the rows"
    cost: ClassVar[str] = "that of 2 fits"
    source: ClassVar[str] = "Xu et al. 2020, definition 2; Breiman 2001"

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        odds = held_out_odds(forest(pairs, self.trees), pairs, 2, generator)
        return mean_of(odds[np.arange(pairs.n), sides(pairs)[1]], pairs.groups, method="trees of half of the rows")
