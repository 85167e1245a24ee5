"""Whether trees can distinguish the data from a simulated data set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from infoscope.estimators.arrays.protocol import Pairs
from infoscope.estimators.result import SHARE, Estimate, mean_of, undefined
from infoscope.estimators.variables import Variable
from infoscope.metrics.advice.twins import Twin
from infoscope.metrics.advice.twins.sides import with_margins

_FEWEST = 60  # rows of either kind
_MOST = 1000


def told_apart(pairs: Pairs, twin: Twin, generator: np.random.Generator) -> Estimate:
    """The share of held-out rows that trees classify rightly as data or simulation (Lopez-Paz & Oquab 2017); half is
    chance.

    Half of the rows are used as data, the other half as simulation, so that copies give nothing away.
    """
    mine, other = np.array_split(generator.permutation(pairs.n), 2)
    if twin.partner is not None:
        other = other[np.isin(twin.partner[other], other)]
        again = twin.pairs.x.take(other), twin.pairs.y.take(other)
    else:
        again = tuple(
            with_margins(own.take(other), drawn.continuous[other], None if drawn.codes is None else drawn.codes[other])
            for own, drawn in ((pairs.x, twin.pairs.x), (pairs.y, twin.pairs.y))
        )  # fmt: skip
    count = min(len(mine), len(other), _MOST)
    if count < _FEWEST:
        return undefined(f"too few rows, {count}", SHARE, pairs.n, "trees")
    rows = np.vstack([_rows(pairs.x.take(mine), pairs.y.take(mine))[:count], _rows(*again)[:count]])
    kind = np.repeat([0, 1], count)
    seed = int(generator.integers(2**31))
    forest = RandomForestClassifier(50, min_samples_leaf=3, random_state=seed)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    right = cross_val_predict(forest, rows, kind, cv=folds) == kind
    return mean_of(right.astype(float), unit=SHARE, method="trees")


def _rows(*sides: Variable) -> NDArray[np.float64]:
    """x and y as columns of numbers [n, d], those of wide ones as they are."""
    codes = [side.codes[:, None] for side in sides if side.codes is not None]
    return np.hstack([*(side.continuous for side in sides), *codes])
