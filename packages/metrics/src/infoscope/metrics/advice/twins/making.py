"""Which families can be made of pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from infoscope.estimators import laws
from infoscope.estimators.arrays.protocol import Pairs
from infoscope.estimators.families.registry import as_family
from infoscope.metrics.advice.odds import forest, held_out_odds
from infoscope.metrics.advice.twins.drawn import Labels, Latent, Mixture, Student, StudentDegrees
from infoscope.metrics.advice.twins.paired import Cells, Null, Scores
from infoscope.metrics.advice.twins.protocol import Family
from infoscope.metrics.advice.twins.sides import (
    clusters,
    has_ties,
    is_wide,
    numbers_of,
    whitened,
)

_CELLS, _ROWS_OF_CELL = (2, 4, 8, 16), 3  # clusters of a side, and rows of a pair of them at least
_FOLDS = 5  # of rows, whose odds are those of a classifier of the others


def families(pairs: Pairs, generator: np.random.Generator) -> tuple[Family, ...]:
    """All families that fit the types and sizes of these pairs."""
    found: list[Family] = [Null(pairs)]
    kinds = pairs.x.kind, pairs.y.kind
    drawn_anew = not any(is_wide(side) or has_ties(side) for side in (pairs.x, pairs.y))
    if "discrete" not in kinds:
        found += scores(pairs, generator)
    if kinds == ("continuous", "continuous") and drawn_anew:
        of_tails = Student(pairs)
        found += [Latent(pairs), of_tails, StudentDegrees(pairs, of_tails.degrees)]
    if "discrete" in kinds and kinds != ("discrete", "discrete"):
        found += labels(pairs, generator)
    found += cells(pairs, generator)
    if kinds != ("discrete", "discrete") and drawn_anew:
        found.append(Mixture(pairs, laws.fit((pairs.x, pairs.y), generator)))
    return tuple(found)


def labels(pairs: Pairs, generator: np.random.Generator) -> list[Labels]:
    """Labels drawn by the odds of linear classifiers and of trees."""
    asked = {"logistic": as_family("logistic"), "trees": forest(pairs)}
    return [
        Labels(pairs, held_out_odds(family, pairs, _FOLDS, generator), f"labels: {name}")
        for name, family in asked.items()
    ]


def scores(pairs: Pairs, generator: np.random.Generator) -> list[Scores]:
    """Pairs of scores of numbers, categories as columns of 0 and 1: the first canonical variates of normal columns, the
    lengths of whitened rows, and random directions."""
    white = [whitened(replace(side, continuous=numbers_of(side)).as_numbers()) for side in (pairs.x, pairs.y)]
    left, _, right = np.linalg.svd(white[0].T @ white[1])
    found = [Scores(pairs, white[0] @ left[:, 0], white[1] @ right[0], "scores: canonical variates")]
    if min(side.shape[1] for side in white) > 1:
        found.append(Scores(pairs, *((side**2).sum(axis=1) for side in white), "scores: lengths"))
        ways = [side @ generator.normal(size=side.shape[1]) for side in white]
        found.append(Scores(pairs, *ways, "scores: random directions"))
    return found


def cells(pairs: Pairs, generator: np.random.Generator) -> list[Cells]:
    """Clusters of either side, 2 to 16 of them as rows allow; a side of categories is its own cells."""
    found = []
    for count in _CELLS:
        if count > 2 and _ROWS_OF_CELL * count**2 > pairs.n:
            break
        a, b = (clusters(side, count, generator) for side in (pairs.x, pairs.y))
        found.append(Cells(pairs, a, b, f"cells: {int(a.max()) + 1} x {int(b.max()) + 1}"))
    of_name = {one.name: one for one in found}  # categories on both sides have the same cells at every count
    if pairs.x.kind == pairs.y.kind == "discrete":
        name = f"cells, added: {pairs.x.categories} x {pairs.y.categories}"
        of_name[name] = Cells(pairs, pairs.x.codes, pairs.y.codes, name, added=True)
    return list(of_name.values())
