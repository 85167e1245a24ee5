"""Estimators of public packages as functions (x, y) -> nats, each with its own defaults
(extra `peers`).

`SET="methods=sweeps.sample_estimators.peers:ennemi,ksg"` compares one with ours in the
sweep known-laws. Every function takes x [n, c] and y [n, d], float64, or labels y [n]
of integers where it says so; rows are taken as independent. Results and exceptions of
the packages are not changed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from infoscope.errors import WrongShape


def npeet_plus(x: NDArray, y: NDArray) -> float:
    """I(x; y) by Kraskov, Stögbauer & Grassberger 2004, eq. 8, k = 3; of labels |H(x) -
    H(x | y)| (npeet-plus).

    Adds noise of 1e-10 from NumPy's global state.
    """
    import npeet_plus as package

    if is_labels(y):
        return float(package.micd(x, y.reshape(len(y), -1), base=np.e))
    return float(package.mi(x, y, base=np.e))


def infomeasure(x: NDArray, y: NDArray) -> float:
    """I(x; y) by Kraskov, Stögbauer & Grassberger 2004, eq. 8, k = 4, columns not
    scaled (infomeasure).
    """
    import infomeasure as package

    return float(package.mutual_information(x, y, approach="ksg", base="e"))


def ennemi(x: NDArray, y: NDArray) -> float:
    """The sum over columns of I(column; y), k = 3: Kraskov et al. 2004, eq. 8; of
    labels Ross 2014 (ennemi).

    Raises WrongShape unless x or y is one column.
    """
    import ennemi as package

    columns, target = target_last(x, y)
    each = package.estimate_mi(
        target, columns, discrete_y=is_labels(target), max_threads=1
    )
    return float(np.sum(each))


def scikit_learn(x: NDArray, y: NDArray) -> float:
    """The sum over columns of I(column; y), k = 3: Kraskov et al. 2004, eq. 8; of
    labels Ross 2014 (scikit-learn).

    Raises WrongShape unless x or y is one column.
    """
    columns, target = target_last(x, y)
    estimate = mutual_info_classif if is_labels(target) else mutual_info_regression
    return float(estimate(columns, target, random_state=0).sum())


def is_labels(y: NDArray) -> bool:
    return y.dtype.kind in "iu"


def target_last(x: NDArray, y: NDArray) -> tuple[NDArray, NDArray]:
    """Columns [n, c] and a target [n]: y where it is one column, else x."""
    x = x.reshape(len(x), -1)
    y = y.reshape(len(y), -1)
    if y.shape[1] == 1:
        return x, y[:, 0]
    if x.shape[1] == 1:
        return y, x[:, 0]
    raise WrongShape(f"x or y must be one column, got {x.shape[1]} and {y.shape[1]}.")
