"""A sample prepared for the figures: normal scores and codes of both variables,
half-samples of whole groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from scipy.linalg import cholesky, solve_triangular
from scipy.special import digamma, ndtri

from infoscope.estimators.pairs import Pairs
from infoscope.estimators.variables import Variable, of_kept, row_codes

MAX_ROWS = 5_000  # of a part
MAX_PARTS = 8
MAX_COMPONENTS = 6  # canonical components
MAX_NEAR_COLUMNS = 12  # in which neighbours are searched
NEAR_COMPONENTS = 8  # in which neighbours are searched for more columns
MAX_SQUARED_COLUMNS = 60  # with squares among the quadratic columns
MAX_MULTIPLIED_COLUMNS = 8  # with products, too
MAX_INDICATORS = 60  # of the most frequent categories
MAX_LEVELS = 100
MAX_EXACT_SVD = 64  # columns; larger matrices are decomposed by power iteration
CORRELATION_RIDGE = 1e-9  # added to the diagonal of correlation matrices

Values = np.ndarray


@dataclass(frozen=True, eq=False)
class PreparedVariable:
    """A variable in the forms that the figures use.

    scores      float64 [n, d], normal scores by average ranks
    dithered    the scores with ties broken at random
    near        the scores in which neighbours are searched; of many columns leading components
    codes       int [n], joint categories; None if there are none
    categories  number of joint categories
    linear      float64 [n, p], the scores and indicators of frequent categories, for linear methods
    levels      int [n], codes of equal rows; None if there are many different rows
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
        """Whether the variable has categories and no numbers."""
        return not self.scores.shape[1]

    @property
    def is_wide(self) -> bool:
        """Whether neighbours are searched in leading components.

        Among many columns all rows are about equally far.
        """
        return self.scores.shape[1] > MAX_NEAR_COLUMNS

    def untied_rows(self, rows: Values) -> tuple[Values, Values | None]:
        """The scores without ties, and codes or None, of some rows."""
        points = self.near[rows]
        if self.codes is None:
            return points, None
        return points, self.codes[rows]

    def quadratic(self) -> Values:
        """The linear columns and squares, and products of few columns."""
        count = self.scores.shape[1]
        if not 0 < count <= MAX_SQUARED_COLUMNS:
            return self.linear
        first = second = np.arange(count)
        if count <= MAX_MULTIPLIED_COLUMNS:
            first, second = np.triu_indices(count)
        products = self.scores[:, first] * self.scores[:, second]
        return np.hstack([self.linear, scaled(products)])


@dataclass(frozen=True, eq=False)
class Sample:
    """Two prepared variables, in an order that depends on their values alone.

    The first has at least as many numeric columns: a single label is the second.

    groups  int [n], codes of dependent rows; None: rows are independent
    half    bool [n], a random half of the groups
    """

    variables: tuple[PreparedVariable, PreparedVariable]
    groups: Values | None
    half: Values
    generator: Generator

    @property
    def n(self) -> int:
        return len(self.half)

    @property
    def labels(self) -> list[PreparedVariable]:
        """The variables of categories alone."""
        return [variable for variable in self.variables if variable.is_label]

    def folds(self) -> Iterator[tuple[Values, Values]]:
        """Masks of training and held-out rows: each half is held out once."""
        yield self.half, ~self.half
        yield ~self.half, self.half

    def groups_of(self, rows: Values) -> Values | None:
        """The groups of some rows (indices) as codes; None without groups."""
        return of_kept(self.groups, rows)


def parts(pairs: Pairs, generator: Generator) -> Iterator[Sample]:
    """Prepared disjoint parts of at most 5,000 rows; few groups are in two parts."""
    count = math.ceil(pairs.n / MAX_ROWS)
    if count == 1:
        yield prepare(pairs, generator)
        return
    order = _random_order(pairs.units, generator)
    for rows in np.array_split(order, count)[:MAX_PARTS]:
        yield prepare(pairs.take(rows), generator)


def _random_order(units: Values, generator: Generator) -> Values:
    """The rows [n] (indices) in random order; rows of a unit follow one another."""
    places = generator.permutation(int(units.max()) + 1)
    return np.argsort(places[units], kind="stable")


def prepare(pairs: Pairs, generator: Generator) -> Sample:
    """The sample of a pair: normal scores, ties broken at random, a half-sample."""
    n = pairs.n
    groups = pairs.groups
    if groups is not None and int(groups.max()) + 1 == n:
        groups = None
    units = np.arange(n) if groups is None else groups
    order = _random_order(units, generator)
    half = np.zeros(n, bool)
    half[order[: n // 2]] = True
    if groups is not None:
        rows_outside = np.bincount(units, ~half)
        half &= rows_outside[units] == 0
        if not half.any():
            half = units == units.max()
    variables = [prepared(pairs.x), prepared(pairs.y)]
    variables.sort(key=_order)
    first = _dithered(variables[0], generator)
    second = _dithered(variables[1], generator)
    return Sample((first, second), groups, half, generator)


def _order(variable: PreparedVariable) -> tuple[float, ...]:
    """A sort key that does not depend on which variable is x."""
    weights = np.arange(1, len(variable.scores) + 1)
    checksum = weights @ variable.linear[:, :1]
    columns = variable.scores.shape[1]
    return (-columns, -variable.categories, *checksum)


def prepared(variable: Variable) -> PreparedVariable:
    """The prepared variable, without constant columns; ties are not yet broken."""
    numbers = variable.continuous
    is_varied = numbers.min(axis=0) < numbers.max(axis=0)
    numbers = numbers[:, is_varied]
    codes = variable.codes
    categories = variable.categories
    if not is_varied.any() and codes is None:
        codes = np.zeros(variable.n, np.intp)
        categories = 1
    scores = Variable(numbers, None, 1).rank_normal().continuous
    linear = scores
    if codes is not None:
        linear = np.hstack([scores, _indicators(codes)])
    levels = _levels(scores, codes)
    return PreparedVariable(scores, scores, scores, codes, categories, linear, levels)


def _dithered(variable: PreparedVariable, generator: Generator) -> PreparedVariable:
    """The variable with ties broken at random, independently in every column."""
    scores = variable.scores
    tied = []
    for place, column in enumerate(scores.T):
        if len(np.unique(column)) < len(column):
            tied.append(place)
    dithered = scores
    if tied:
        dithered = scores.copy()
        dithered[:, tied] = untied(scores[:, tied], generator)
    near = dithered
    if variable.is_wide:
        components = leading(dithered, NEAR_COMPONENTS)
        near = untied(components, generator)
    return replace(variable, dithered=dithered, near=near)


def untied(columns: Values, generator: Generator) -> Values:
    """Normal scores [n, d] of columns with ties broken at random.

    They have the same information as the columns.
    """
    n = len(columns)
    ranks = np.empty(columns.shape, np.intp)
    for place, column in enumerate(columns.T):
        order = np.lexsort((generator.random(n), column))
        ranks[order, place] = np.arange(n)
    probabilities = (np.arange(n) + 1) / (n + 1)
    scores = ndtri(probabilities)
    return scores[ranks]


def _indicators(codes: Values) -> Values:
    """Indicators [n, m] of the frequent categories, at mean 0 and deviation 1."""
    sizes = np.bincount(codes)
    order = np.argsort(-sizes, kind="stable")
    most_frequent = order[:MAX_INDICATORS]
    min_rows = min(3, sizes.max())
    shown = most_frequent[sizes[most_frequent] >= min_rows]
    if len(shown) == len(sizes) > 1:
        shown = shown[1:]  # the others imply it
    is_category = codes[:, None] == shown
    return scaled(is_category.astype(float))


def _levels(scores: Values, codes: Values | None) -> Values | None:
    """Codes of equal rows, or of categories alone; None for many different rows."""
    if not scores.shape[1]:
        return codes
    max_levels = min(MAX_LEVELS, len(scores) // 3)  # three rows per level
    if len(np.unique(scores[:, 0])) > max_levels:
        return None
    levels = row_codes(Variable(scores, codes, 1))
    return levels if levels.max() < max_levels else None


def scaled(values: Values) -> Values:
    """Columns [n, p] at mean 0 and standard deviation 1; constant columns are 0."""
    centred = values - values.mean(axis=0)
    variance = np.mean(centred**2, axis=0)
    spread = np.sqrt(variance)
    return centred / np.where(spread > 0, spread, 1)


def leading(columns: Values, count: int) -> Values:
    """The columns [n, p] if they are few, else `count` leading principal components.

    The largest component is in the last column.
    """
    n, p = columns.shape
    if p <= count:
        return columns
    if p > n:
        variances, vectors = np.linalg.eigh(columns @ columns.T)
        components = vectors * np.sqrt(np.maximum(variances, 0))
        return components[:, -count:]
    _, vectors = np.linalg.eigh(columns.T @ columns)
    return columns @ vectors[:, -count:]


def gaussian_information(u: Values, v: Values) -> float:
    """Information of normal variables u [n, p] and v [n, q], nats.

    The bias of n rows is subtracted; nan for too few rows.
    """
    n, p = u.shape
    q = v.shape[1]
    if n < 2 * (p + q) + 3 or not p * q:
        return np.nan
    joint = scaled(np.hstack([u, v]))
    correlation = joint.T @ joint / n
    correlation += CORRELATION_RIDGE * np.eye(p + q)
    degrees = n - np.arange(1, p + q + 1)
    psi = np.cumsum(digamma(degrees / 2))
    bias = (psi[p - 1] + psi[q - 1] - psi[-1]) / 2
    return float(normal_information(correlation, p) - bias)


def normal_information(covariance: Values, dim: int) -> Values:
    """I(u; v) [...], nats, of normal u and v with covariances [..., p + q, p + q].

    The first `dim` rows and columns of a covariance belong to u.
    """
    log_det_u = np.linalg.slogdet(covariance[..., :dim, :dim]).logabsdet
    log_det_v = np.linalg.slogdet(covariance[..., dim:, dim:]).logabsdet
    log_det = np.linalg.slogdet(covariance).logabsdet
    return (log_det_u + log_det_v - log_det) / 2


def correlation_test(squares: Values, n: int) -> float:
    """Inverse sinh of the standardised sum of squared correlations of n rows.

    It is standardised for columns without information.
    """
    cells = squares.size
    excess = n * squares.sum() - cells
    return float(np.arcsinh(excess / np.sqrt(2 * cells)))


def canonical(
    x: Values, y: Values, generator: Generator
) -> tuple[Values, Values, Values]:
    """Canonical components of x [n, p] and y [n, q], ridge-regularised.

    Returns weights [p, m] and [q, m], and correlations [m] (Hotelling 1936).
    """
    left = _whitener(x)
    right = _whitener(y)
    cross = solve_triangular(left, x.T @ y / len(x), lower=True)
    cross = solve_triangular(right, cross.T, lower=True).T
    if min(cross.shape) > MAX_EXACT_SVD:
        block = generator.standard_normal((cross.shape[1], 2 * MAX_COMPONENTS))
        for _ in range(6):  # iterations
            block, _ = np.linalg.qr(cross.T @ (cross @ block))
        u, s, v = np.linalg.svd(cross @ block, full_matrices=False)
        v = v @ block.T
    else:
        u, s, v = np.linalg.svd(cross, full_matrices=False)
    count = min(*cross.shape, MAX_COMPONENTS)
    weights_x = solve_triangular(left.T, u[:, :count], lower=False)
    weights_y = solve_triangular(right.T, v[:count].T, lower=False)
    return weights_x, weights_y, np.minimum(s[:count], 1)


def _whitener(columns: Values) -> Values:
    """Lower Cholesky factor of the shrunk covariance [p, p].

    The covariance is shrunk to a multiple of the identity by columns per row.
    """
    n, p = columns.shape
    covariance = columns.T @ columns / n
    level = max(np.trace(covariance) / p, CORRELATION_RIDGE)
    weight = max(p / (p + 2 * n), 1e-6)
    shrunk = (1 - weight) * covariance + (weight * level) * np.eye(p)
    return cholesky(shrunk, lower=True)
