"""A sample prepared for the figures: normal scores and codes of both variables,
half-samples of whole groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import digamma, ndtri

from infoscope.estimators.pairs import Pairs
from infoscope.estimators.variables import Variable, of_kept, row_codes

MAX_ROWS = 5_000  # of a part
MAX_PARTS = 8
MAX_COMPONENTS = 6  # canonical components
MAX_NEAR_COLUMNS = 12  # in which neighbours are searched
NEAR_COMPONENTS = 8  # in which neighbours are searched for more columns
CORRELATION_RIDGE = 1e-9  # added to the diagonal of correlation matrices

Values = np.ndarray


@dataclass(frozen=True, eq=False)
class PreparedVariable:
    """Normal scores [n, d] (average ranks), scores with ties broken at random, those in
    which neighbours are searched (of many columns leading components), codes or None,
    and the columns of linear methods: the scores and indicators of frequent categories.
    """

    scores: Values
    dithered: Values
    near: Values
    codes: Values | None
    categories: int
    linear: Values
    levels: Values | None

    @property
    def is_label(self) -> bool:
        return not self.scores.shape[1]

    @property
    def is_wide(self) -> bool:
        """Whether neighbours are searched in leading components: among many columns all
        rows are about equally far.
        """
        return self.scores.shape[1] > MAX_NEAR_COLUMNS

    def untied_rows(self, rows: Values) -> tuple[Values, Values | None]:
        """The scores without ties, and codes or None, of some rows."""
        return self.near[rows], None if self.codes is None else self.codes[rows]

    def quadratic(self) -> Values:
        """The linear columns and squares, and products of few columns."""
        count = self.scores.shape[1]
        if not 0 < count <= 60:  # columns for squares
            return self.linear
        first = second = np.arange(count)
        if count <= 8:  # columns for products
            first, second = np.triu_indices(count)
        products = self.scores[:, first] * self.scores[:, second]
        return np.hstack([self.linear, scaled(products)])


@dataclass(frozen=True, eq=False)
class Sample:
    """Two variables, ordered by their values; codes of groups or None; a mask of half
    of the groups.
    """

    variables: tuple[PreparedVariable, PreparedVariable]
    groups: Values | None
    half: Values
    generator: np.random.Generator

    @property
    def n(self) -> int:
        return len(self.half)

    @property
    def labels(self) -> list[PreparedVariable]:
        """The variables of categories alone."""
        return [variable for variable in self.variables if variable.is_label]

    def folds(self) -> Iterator[tuple[Values, Values]]:
        """Masks of training and held-out rows, twice."""
        yield self.half, ~self.half
        yield ~self.half, self.half

    def groups_of(self, rows: Values) -> Values | None:
        return of_kept(self.groups, rows)


def parts(pairs: Pairs, generator: np.random.Generator) -> Iterator[Sample]:
    """Prepared disjoint parts of at most 5,000 rows (whole groups)."""
    count = min(-(-pairs.n // MAX_ROWS), MAX_PARTS)
    if count == 1:
        yield prepare(pairs, generator)
        return
    place = generator.permutation(int(pairs.units.max()) + 1)[pairs.units]
    order = np.argsort(place, kind="stable")
    for rows in np.array_split(order, -(-pairs.n // MAX_ROWS))[:count]:
        yield prepare(pairs.take(rows), generator)


def prepare(pairs: Pairs, generator: np.random.Generator) -> Sample:
    n = pairs.n
    groups = pairs.groups
    if groups is not None and int(groups.max()) + 1 == n:
        groups = None
    units = np.arange(n) if groups is None else groups
    place = generator.permutation(int(units.max()) + 1)[units]
    half = np.zeros(n, bool)
    half[np.argsort(place, kind="stable")[: n // 2]] = True
    if groups is not None:
        half = half & (np.bincount(units, ~half)[units] == 0)
        if not half.any():
            half = units == units.max()
    first, second = sorted([prepared(pairs.x), prepared(pairs.y)], key=_order)
    variables = (_dithered(first, generator), _dithered(second, generator))
    return Sample(variables, groups, half, generator)


def _order(variable: PreparedVariable) -> tuple[float, ...]:
    """A sort key that does not depend on which variable is x."""
    checksum = np.arange(1, len(variable.scores) + 1) @ variable.linear[:, :1]
    return (-variable.scores.shape[1], -variable.categories, *checksum)


def prepared(variable: Variable) -> PreparedVariable:
    numbers = variable.continuous
    if variable.dim:
        numbers = numbers[:, numbers.min(axis=0) < numbers.max(axis=0)]
    codes = variable.codes
    categories = variable.categories
    if not numbers.shape[1] and codes is None:
        codes = np.zeros(variable.n, np.intp)
        categories = 1
    scores = numbers
    if numbers.shape[1]:
        scores = Variable(numbers, None, 1).rank_normal().continuous
    linear = scores
    if codes is not None:
        linear = np.hstack([scores, _indicators(codes)])
    return PreparedVariable(
        scores, scores, scores, codes, categories, linear, _levels(scores, codes)
    )


def _dithered(
    variable: PreparedVariable, generator: np.random.Generator
) -> PreparedVariable:
    """Scores with ties broken at random, independently in every column."""
    tied = [
        place
        for place, column in enumerate(variable.scores.T)
        if len(np.unique(column)) < len(column)
    ]
    dithered = variable.scores
    if tied:
        dithered = variable.scores.copy()
        dithered[:, tied] = untied(variable.scores[:, tied], generator)
    near = dithered
    if variable.is_wide:
        near = untied(leading(dithered, NEAR_COMPONENTS), generator)
    return replace(variable, dithered=dithered, near=near)


def untied(columns: Values, generator: np.random.Generator) -> Values:
    """Normal scores of columns [n, d] with ties broken at random, which preserves
    information.
    """
    n = len(columns)
    ranks = np.empty(columns.shape, np.intp)
    for place, column in enumerate(columns.T):
        order = np.lexsort((generator.random(n), column))
        ranks[order, place] = np.arange(n)
    scores = ndtri((np.arange(n) + 1) / (n + 1))
    return scores[ranks]


def _indicators(codes: Values) -> Values:
    sizes = np.bincount(codes)
    frequent = np.argsort(-sizes, kind="stable")[:60]  # the most frequent categories
    shown = frequent[sizes[frequent] >= min(3, sizes.max())]  # 3 rows per category
    if len(shown) == len(sizes) > 1:
        shown = shown[1:]  # the others imply it
    return scaled((codes[:, None] == shown).astype(float))


def _levels(scores: Values, codes: Values | None) -> Values | None:
    """Codes of distinct rows where these are few, or of categories alone."""
    if not scores.shape[1]:
        return codes
    max_levels = min(100, len(scores) // 3)  # 100 levels, three rows per level
    if len(np.unique(scores[:, 0])) > max_levels:
        return None
    levels = row_codes(Variable(scores, codes, 1))
    return levels if levels.max() < max_levels else None


def scaled(values: Values) -> Values:
    """Columns at mean 0 and standard deviation 1; constant ones are 0."""
    centred = values - values.mean(axis=0)
    spread = np.sqrt(np.mean(centred**2, axis=0))
    return centred / np.where(spread > 0, spread, 1)


def leading(columns: Values, count: int) -> Values:
    """The columns [n, p] if they are few, else the `count` leading principal components
    [n, count], the first last.
    """
    n, p = columns.shape
    if p <= count:
        return columns
    if p > n:
        values, vectors = np.linalg.eigh(columns @ columns.T)
        components = vectors * np.sqrt(np.maximum(values, 0))
        return components[:, -count:]
    _, vectors = np.linalg.eigh(columns.T @ columns)
    return columns @ vectors[:, -count:]


def gaussian_information(u: Values, v: Values) -> float:
    """Information of normal variables u [n, p] and v [n, q], nats, without the bias of
    n rows; nan for too few rows.
    """
    n, p = u.shape
    q = v.shape[1]
    if n < 2 * (p + q) + 3 or not p * q:
        return np.nan
    joint = scaled(np.hstack([u, v]))
    correlation = joint.T @ joint / n + CORRELATION_RIDGE * np.eye(p + q)
    degrees = n - np.arange(1, p + q + 1)
    psi = np.cumsum(digamma(degrees / 2))
    bias = (psi[p - 1] + psi[q - 1] - psi[-1]) / 2
    log_det_x = np.linalg.slogdet(correlation[:p, :p])[1]
    log_det_y = np.linalg.slogdet(correlation[p:, p:])[1]
    log_det = np.linalg.slogdet(correlation)[1]
    return float((log_det_x + log_det_y - log_det) / 2 - bias)


def canonical(
    x: Values, y: Values, generator: np.random.Generator
) -> tuple[Values, Values, Values]:
    """Weights [p, m] and [q, m] of ridge-regularised canonical components (Hotelling
    1936), and correlations [m].
    """
    n = len(x)
    left = _whitener(x)
    right = _whitener(y)
    cross = solve_triangular(left, x.T @ y / n, lower=True)
    cross = solve_triangular(right, cross.T, lower=True).T
    count = min(*cross.shape, MAX_COMPONENTS)
    # columns for an exact SVD; of more, block power iteration
    if min(cross.shape) > 64:
        block = generator.standard_normal((cross.shape[1], 2 * MAX_COMPONENTS))
        for _ in range(6):  # iterations
            block = np.linalg.qr(cross.T @ (cross @ block))[0]
        u, s, v = np.linalg.svd(cross @ block, full_matrices=False)
        v = v @ block.T
    else:
        u, s, v = np.linalg.svd(cross, full_matrices=False)
    a = solve_triangular(left.T, u[:, :count], lower=False)
    b = solve_triangular(right.T, v[:count].T, lower=False)
    return a, b, np.minimum(s[:count], 1)


def _whitener(columns: Values) -> Values:
    """Lower Cholesky factor of the covariance, shrunk towards a multiple of the
    identity by columns per row.
    """
    n, p = columns.shape
    covariance = columns.T @ columns / n
    level = max(np.trace(covariance) / p, CORRELATION_RIDGE)
    weight = max(p / (p + 2 * n), 1e-6)
    return cholesky(
        (1 - weight) * covariance + (weight * level) * np.eye(p), lower=True
    )
