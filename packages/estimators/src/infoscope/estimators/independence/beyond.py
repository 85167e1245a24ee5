"""Tests of conditional independence of columns and a target given other columns, and stepwise selection of columns.

The residuals of a column and of the target are compared: their functions minus predictions from functions of the other
columns, products of two of these, and trees of all (the generalised covariance measure, Shah & Peters 2020; both
predictions must be good). Columns are added forwards and dropped backwards, as in the search for a Markov blanket
(Tsamardinos et al. 2003).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from infoscope.estimators.discrete import label_entropy
from infoscope.estimators.independence.association import Tested, stacked_tests, tested_products
from infoscope.estimators.independence.functions import MAX_DEGREE, MIN_NEW_SHARE, Smooth, Values, not_spanned
from infoscope.estimators.result import Estimate, mean_of

TESTED_DEGREES = (1, 2)  # of the normal scores that are tested, by resolution
TREES = 40
MIN_SPLIT_INPUTS = 10  # that a split of a tree chooses from; of more inputs a third (Breiman 2001)
METHOD = "partial correlation of normal scores"
Groups = NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of the scores of a column [n, e], the number of scores at each resolution, and of fitted functions."""

    scores: Values
    sizes: tuple[int, ...]
    fitted: int


def residuals(columns: Sequence[Smooth], given: Sequence[Smooth]) -> list[Residuals]:
    """The residuals of columns given functions of others and products of two of these."""
    fitted = _fitted_functions(given, columns[0].n)
    found = []
    for column in columns:
        degrees = column.degrees[: column.scores.shape[1]]
        scores = column.scores[:, degrees <= TESTED_DEGREES[-1]]
        sizes = tuple(int((degrees <= degree).sum()) for degree in TESTED_DEGREES)
        found.append(Residuals(scores - fitted @ (fitted.T @ scores), sizes, fitted.shape[1]))
    return found


def residuals_of_trees(
    columns: Sequence[Residuals], given: Sequence[Smooth], groups: Groups = None, seed: int = 0
) -> list[Residuals]:
    """The residuals given trees of the others as well, fitted to one half of the rows or groups for the other half."""
    from sklearn.ensemble import ExtraTreesRegressor  # takes a second to import

    before = np.hstack([column.scores for column in columns]).round(12)
    inputs = np.hstack([_inputs(column, before) for column in given]).round(9)
    order = np.lexsort(np.hstack([before, inputs]).round(9).T)  # nothing depends on the order of rows
    inputs, scores = inputs[order], before[order]
    units = np.arange(len(order))
    if groups is not None:  # numbered by their first rows
        _, first, codes = np.unique(groups[order], return_index=True, return_inverse=True)
        units = np.argsort(np.argsort(first))[codes]
    half = (np.random.default_rng(seed).permutation(units.max() + 1) * 2 > units.max())[units]
    after = scores.copy()
    candidates = min(inputs.shape[1], max(MIN_SPLIT_INPUTS, inputs.shape[1] // 3))
    for train in (half, ~half):
        trees = ExtraTreesRegressor(TREES, min_samples_leaf=5, max_features=candidates, random_state=seed, n_jobs=-1)
        trees.fit(inputs[train], scores[train] if scores.shape[1] > 1 else scores[train, 0])
        trees.set_params(n_jobs=1)  # predictions are added up in one order
        after[~train] -= trees.predict(inputs[~train]).reshape(-1, scores.shape[1])
    after = after[np.argsort(order)]
    ends = np.cumsum([column.scores.shape[1] for column in columns])
    return [replace(column, scores=part, fitted=0) for column, part in zip(columns, np.split(after, ends[:-1], axis=1))]


def _inputs(column: Smooth, scores: Values) -> Values:
    """What trees see of a column: its functions of degree 1, or the places of its categories in an order that does not
    depend on their names: by their rows, and by the sum of squared scores among equals.
    """
    degree_1 = column.functions[:, column.degrees == 1]
    if column.degrees.max(initial=1) > 1 or degree_1.shape[1] < 2:
        return degree_1
    codes, sizes = column.categories
    squares = np.bincount(codes, (scores**2).sum(axis=1)).round(12)
    return np.argsort(np.lexsort([squares, sizes]))[codes][:, None].astype(np.float64)


def _fitted_functions(given: Sequence[Smooth], n: int) -> Values:
    """Orthonormal [n, f]: a constant, functions of columns and products of two, the smoothest first, at most a fifth of
    the rows, and 200. Functions of one degree of a column, or of two, are all fitted or all left out.
    """
    most = max(1, min(int(0.2 * n), 200))  # fitted functions: 0.2 per row, 200 in all
    blocks, count = [np.ones((n, 1))], 0
    for _, width, make in sorted(_blocks(given), key=itemgetter(0)):
        if count + width <= most:
            blocks.append(make())
            count += width
        if count == most:
            break
    columns = np.hstack(blocks)
    directions, triangle = np.linalg.qr(columns)
    independent = not_spanned(triangle)
    return directions if independent.all() else np.linalg.qr(columns[:, independent])[0]


def _blocks(given: Sequence[Smooth]) -> Iterator[tuple[int, int, Callable[[], Values]]]:
    """Degrees, numbers of functions k and functions [n, k]: of the columns, and products of two of these."""
    for column in given:
        parts = [column.scores] if column.scores is column.functions else [column.scores, column.functions]
        for part in parts:
            degrees = column.degrees[: part.shape[1]]
            for degree, width in _widths(degrees):
                yield degree, width, partial(_of_degree, part, degrees, degree)
    widths = [(column, _widths(column.degrees[: column.scores.shape[1]])) for column in given]
    for (first, of_first), (second, of_second) in combinations(widths, 2):
        for (degree, width), (other, other_width) in product(of_first, of_second):
            if degree + other <= MAX_DEGREE:
                make = partial(_products, first, degree, second, other)
                yield degree + other, width * other_width, make


def _widths(degrees: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Each degree, the lowest first, and how many functions have it."""
    return list(zip(*(part.tolist() for part in np.unique(degrees, return_counts=True))))


def _of_degree(columns: Values, degrees: NDArray[np.intp], degree: int) -> Values:
    return columns[:, degrees == degree]


def _products(first: Smooth, degree: int, second: Smooth, other: int) -> Values:
    """The products [n, k] of the scores of a degree of one column with those of a degree of another."""
    x = _of_degree(first.scores, first.degrees[: first.scores.shape[1]], degree)
    y = _of_degree(second.scores, second.degrees[: second.scores.shape[1]], other)
    return (x[:, :, None] * y[:, None, :]).reshape(len(x), -1) * np.sqrt(len(x))


def tested_residuals(x: Residuals, y: Residuals, groups: Groups = None) -> Tested:
    """The test of the residuals of two columns."""
    sizes = (np.linalg.norm(variable.scores, axis=0) for variable in (x, y))
    a, b = (one.scores / np.where(size > MIN_NEW_SHARE, size, np.inf) for one, size in zip((x, y), sizes))
    return tested_products(a, b, list(zip(x.sizes, y.sizes)), groups, x.fitted)


def information_of_residuals(x: Residuals, y: Residuals, groups: Groups = None) -> Estimate:
    """The information, nats, of normal variables with the leading correlations of the residuals, as many as there are
    scores of degree 1, less its bias. Exact for columns that are increasing maps of normal ones; the interval is for
    the sampling error of rows or groups.
    """
    u, v = _directions(x.scores), _directions(y.scores)
    a, correlations, b = np.linalg.svd(u.T @ v, full_matrices=False)
    n, count = len(u), min(len(correlations), x.sizes[0], y.sizes[0])
    squares = np.minimum(correlations[:count], 1 - MIN_NEW_SHARE) ** 2
    first, second = (variable * np.sqrt(n) for variable in (u @ a[:, :count], v @ b[:count].T))
    ratio = np.sqrt(squares) * first * second - squares * (first**2 + second**2) / 2
    local = (ratio / (1 - squares) - np.log1p(-squares) / 2).sum(axis=1)
    terms = count * (u.shape[1] + v.shape[1] - count)
    found = mean_of(local - terms / (2 * (n - x.fitted)), groups)
    error = math.hypot(found.standard_error, math.sqrt(terms / 2) / found.units if found.units else 0.0)
    return Estimate(found.value, error, n=n, method=METHOD, units=found.units)


def _directions(columns: Values) -> Values:
    """Orthonormal columns that span these, without rounding."""
    directions, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return directions[:, sizes > MIN_NEW_SHARE]


@dataclass(frozen=True)
class Beyond:
    """The information of a column about a target given others, nats, and the p-value of independence."""

    p: float
    information: Estimate


def beyond(x: Smooth, y: Smooth, given: Sequence[Smooth], level: float, groups: Groups = None) -> Beyond:
    """The test of one column; with trees where functions alone leave a dependence at the level."""
    variables = residuals([x, y], given)
    tested = tested_residuals(*variables, groups)
    if given and tested.p <= level:
        variables = residuals_of_trees(variables, given, groups)
        tested = tested_residuals(*variables, groups)
    return Beyond(float(tested.p), information_of_residuals(*variables, groups))


@dataclass(frozen=True)
class Choice:
    """Names of the chosen columns, in order; for all offered ones, the result given the (other) chosen columns."""

    chosen: tuple[str, ...]
    beyond: Mapping[str, Beyond]


def choose(
    offered: Mapping[str, Smooth],
    y: Smooth,
    level: float,
    groups: Groups = None,
    progress: Callable[[float, str], None] = lambda share, what: None,
) -> Choice:
    """Columns that each depend on y given the others; all offered columns depend on y, the first one most. `progress`
    is called with the share done and a description.

    Forwards: adds the column with the strongest dependence given the chosen ones, if its q-value is at most `level` and
    trees confirm it. Backwards: drops the column with the largest p-value given the others while it is above `level`.
    """
    names = list(offered)
    chosen, open_ = names[:1], names[1:]

    def given(but: str = "") -> list[Smooth]:
        return [offered[name] for name in chosen if name != but]

    while open_:
        progress(0.5 - 0.5 * len(open_) / len(names), f"{len(chosen):,} columns chosen, {len(open_):,} left")
        *columns, of_y = residuals([*(offered[name] for name in open_), y], given())
        found = stacked_tests([tested_residuals(column, of_y, groups) for column in columns], (len(open_),))
        q = false_discovery_control(found.p)
        open_ = [open_[place] for place in np.argsort(-found.strength) if q[place] <= level]
        while open_:
            name = open_.pop(0)
            if beyond(offered[name], y, given(), level, groups).p <= level:
                chosen.append(name)
                break
    tested: dict[str, Beyond] = {}
    while len(chosen) > 1:
        progress(0.5, f"{len(chosen):,} columns chosen, each is tested given the others")
        tested = {name: beyond(offered[name], y, given(but=name), level, groups) for name in chosen}
        worst = max(chosen, key=lambda name: tested[name].p)
        if tested[worst].p <= level:
            break
        chosen.remove(worst)
        tested = {}
    for place, (name, column) in enumerate(offered.items()):
        progress(0.5 + 0.5 * place / len(names), f"{len(chosen):,} columns chosen, the others are tested given these")
        if name not in tested:
            tested[name] = beyond(column, y, given(but=name), level, groups)
    return Choice(tuple(chosen), tested)


def at_most_entropy(information: Estimate, labels: Sequence[NDArray[np.intp]], groups: Groups = None) -> Estimate:
    """Information about labels [n] of repeated values, at most their entropies; limits at most those of these."""
    value, low, high = information.value, information.low, information.high
    for codes in labels:
        entropy = label_entropy(codes, groups)
        value = min(value, entropy.value)
        low = min(low, entropy.low)
        high = min(high, entropy.high)
    if (value, low, high) == (information.value, information.low, information.high):
        return information
    return replace(information, value=value, interval=(low, high))
