"""One side of pairs as columns of numbers: which are wide or tied, normal scores, unit covariance, clusters, the values
of the data in another order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from infoscope.estimators.arrays.protocol import Pairs
from infoscope.estimators.variables import Variable

Floats, Rows = NDArray[np.float64], NDArray[np.intp]
_RIDGE = 1e-3  # of correlations within a side
_FEW_ROWS = 20  # for each column: below it a side is seen through its leading principal components
_COMPONENTS = 8
TIED = 0.05  # of the rows share their value with another: beyond it columns or scores have ties


def is_wide(side: Variable) -> bool:
    return side.dim * _FEW_ROWS > side.n


def has_ties(side: Variable) -> bool:
    """Whether a column repeats values: twins that are drawn anew would hold less than they say, for their numbers are
    put on the values of the data."""
    return any(tied(column) > TIED for column in side.continuous.T)


def narrowed(side: Variable) -> Callable[[Variable], Floats]:
    """(variable of these columns) -> its numbers as normal scores [n, d]; of wide ones the leading principal components
    of this side, as they are."""
    if not is_wide(side):
        return lambda other: other.rank_normal().continuous
    centre = side.continuous.mean(axis=0)
    _, _, axes = np.linalg.svd(side.continuous - centre, full_matrices=False)
    return lambda other: (other.continuous - centre) @ axes[:_COMPONENTS].T


def numbers_of(side: Variable) -> Floats:
    return narrowed(side)(side)


def clusters(side: Variable, count: int, generator: np.random.Generator) -> Rows:
    if not side.dim:
        return side.codes
    columns = numbers_of(side)
    white = columns / columns.std() if is_wide(side) else whitened(columns)
    seed = int(generator.integers(2**31))
    rows = replace(side, continuous=white).as_numbers()
    return KMeans(count, n_init=1, random_state=seed).fit_predict(rows).astype(np.intp)


def whitened(columns: Floats) -> Floats:
    """Columns [n, d] at unit covariance."""
    values, vectors = np.linalg.eigh(covariance_of(columns))
    return (columns - columns.mean(axis=0)) @ (vectors / np.sqrt(values))


def covariance_of(columns: Floats) -> Floats:
    """Of columns [n, d] of unit variance, [d, d]; its least eigenvalue is that of a ridge at least."""
    dim = columns.shape[1]
    return (1 - _RIDGE) * np.cov(columns.T).reshape(dim, dim) + _RIDGE * np.eye(dim)


def normal_scores(score: Floats) -> Floats:
    """The normal scores of a column [n]."""
    return Variable(score[:, None], None, 1).rank_normal().continuous[:, 0]


def tied(score: Floats) -> float:
    """The share of rows whose score another row has, too."""
    _, counts = np.unique(score, return_counts=True)
    return float(counts[counts > 1].sum() / len(score))


def together(pairs: Pairs, partner: Rows) -> Pairs:
    """The rows of x, each with the y of its partner; a row that is two people's is of neither's group."""
    return replace(pairs, y=pairs.y.take(partner), groups=None)


def with_margins(side: Variable, columns: Floats, codes: Rows | None = None) -> Variable:
    """A side whose columns have the data's values in the order of `columns` [n, c], and these codes."""
    order = np.argsort(columns, axis=0)
    continuous = np.empty_like(side.continuous)
    np.put_along_axis(continuous, order, np.sort(side.continuous, axis=0), axis=0)
    if side.codes is None:
        return replace(side, continuous=continuous)
    present, names = np.unique(codes, return_inverse=True)
    return replace(side, continuous=continuous, codes=names.reshape(-1).astype(np.intp), categories=len(present))
