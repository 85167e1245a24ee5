"""Tests of conditional independence of columns and a target given other columns, and stepwise selection of columns.

The residuals of a column and of the target are compared: their functions minus predictions from functions of the other
columns, products of two of these, and leaves of trees (the generalised covariance measure, Shah & Peters 2020). Errors
of the two predictions do no harm unless both miss the same function of the others. Columns are added forwards and
dropped backwards, as in the search for a Markov blanket (Tsamardinos et al. 2003).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import false_discovery_control, zscore

from infoscope.estimators.discrete import label_entropy
from infoscope.estimators.independence.association import Tested, stacked_tests, tested_products
from infoscope.estimators.independence.functions import MAX_DEGREE, MIN_NEW_SHARE, Smooth, Values, not_spanned
from infoscope.estimators.result import Estimate, mean_of

if TYPE_CHECKING:
    from sklearn.tree._tree import Tree

TESTED_DEGREES = (1, 2)  # of the normal scores that are tested, by resolution
MAIN_COLUMNS = 5  # of the given ones, whose products are fitted
FOREST = 20  # trees, that choose the main columns
LEAVES, MIN_LEAF = 8, 5  # of a tree, rows of a leaf
ROWS_PER_LEAF = 25  # at least, on average
BATCHES, BATCH, MAX_BATCH = 2, 0.05, 50  # of leaves: how many, share of the rows, most in one
PLAIN_TREES, PAIRED = 2, 4  # first trees, that see single inputs; inputs of which later trees see pairs
MIN_FALL = 5  # of correlations, in standard deviations, from which trees matter (chosen on simulated nulls)
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
        degrees = column.score_degrees
        scores = column.scores[:, degrees <= TESTED_DEGREES[-1]]
        sizes = tuple(int((degrees <= degree).sum()) for degree in TESTED_DEGREES)
        found.append(Residuals(_projected_out(scores, fitted), sizes, fitted.shape[1]))
    return found


def residuals_and_sizes(columns: Sequence[Smooth], fitted: Values) -> list[Residuals]:
    """The residuals of scores of degree 1 given fitted functions [n, f], and the residuals of their absolute values.

    Absolute values stand for the scores of degree 2, whose means given others are harder to predict.
    """
    leverage = (fitted**2).sum(axis=1, keepdims=True)
    deviation = np.sqrt(np.maximum(1 - leverage, 0.05))  # of a row's residual
    found = []
    for column in columns:
        degrees = column.score_degrees
        scores = _projected_out(column.scores[:, degrees == 1], fitted)
        count = scores.shape[1]
        if degrees.max() > 1:
            absolute = np.abs(scores) / deviation
            scores = np.hstack([scores, _projected_out(absolute, fitted)])
        found.append(Residuals(scores, (count, scores.shape[1]), fitted.shape[1]))
    return found


def _projected_out(columns: Values, fitted: Values) -> Values:
    """Columns [n, k] less their projections on orthonormal functions [n, f]."""
    return columns - fitted @ (fitted.T @ columns)


def refined_residuals(columns: Sequence[Smooth], given: Sequence[Smooth]) -> Iterator[list[Residuals]]:
    """Residuals given ever more functions of the others: their products, then leaves of trees in two batches.

    A tree splits rows by the residuals of all columns, and these are projected on its leaves. Signs of residuals play
    no part in this, so that no dependence arises, and leaves leave no mean of x or y behind.
    """
    fitted = _main_functions(columns, given)
    start = residuals_and_sizes(columns, fitted)
    yield start
    scores = np.hstack([column.scores for column in start])
    inputs = offered = _tree_inputs(given, scores)[0]
    order = _order(scores, inputs)
    importance = np.zeros(inputs.shape[1])
    ends = np.cumsum([column.scores.shape[1] for column in start])
    most, trees = fitted.shape[1], 0
    for _ in range(BATCHES):
        most += min(int(BATCH * len(scores)), MAX_BATCH)
        while fitted.shape[1] < most:
            if trees == PLAIN_TREES:
                offered = _with_pairs(inputs, importance)
            tree = _tree(offered, scores, order, trees)
            importance += tree.compute_feature_importances(normalize=False)[: len(importance)]
            leaves = np.unique(tree.apply(offered), return_inverse=True)[1]
            new = _new_directions(np.eye(leaves.max() + 1)[leaves], fitted)
            if new.shape[1] == 0:
                break
            scores = _projected_out(scores, new)
            fitted = np.hstack([fitted, new])
            trees += 1
        parts = np.split(scores, ends[:-1], axis=1)
        yield [replace(column, scores=part, fitted=fitted.shape[1]) for column, part in zip(start, parts)]


def _main_functions(columns: Sequence[Smooth], given: Sequence[Smooth]) -> Values:
    """Fitted functions [n, f]: of many given columns those of the five that a forest splits most, and others' linear
    ones, at most a tenth of the rows.
    """
    n = columns[0].n
    if len(given) <= MAIN_COLUMNS:
        return _fitted_functions(given, n)
    from sklearn.ensemble import RandomForestRegressor  # takes a second to import

    linear = np.hstack([_of_degree(column.functions, column.degrees, 1) for column in given])
    constant = np.full((n, 1), n**-0.5)
    fitted = np.hstack([constant, _directions(linear)[:, : n // 2]])
    scores = np.hstack([column.scores for column in residuals_and_sizes(columns, fitted)])
    inputs, of_column = _tree_inputs(given, scores)
    order = _order(scores, inputs)
    forest = RandomForestRegressor(
        FOREST, max_leaf_nodes=2 * LEAVES, min_samples_leaf=MIN_LEAF, max_features=0.5, random_state=0
    )
    forest.fit(inputs[order], _directions(scores).round(9)[order])
    importance = np.bincount(of_column, forest.feature_importances_)
    main = np.argsort(-importance, kind="stable")[:MAIN_COLUMNS]
    fitted = _fitted_functions([given[place] for place in main], n)
    return np.hstack([fitted, _new_directions(linear, fitted)[:, : n // 10]])


def _tree_inputs(given: Sequence[Smooth], scores: Values) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """What trees see of the given columns [n, d], in standard deviations, and the column [d] of each."""
    parts = [_inputs(column, scores) for column in given]
    of_column = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
    inputs = zscore(np.hstack(parts), axis=0)
    return inputs.round(6).astype(np.float32), of_column


def _order(scores: Values, inputs: NDArray[np.float32]) -> NDArray[np.intp]:
    """An order of rows in which nothing depends on their present one."""
    return np.lexsort(np.hstack([scores, inputs]).round(9).T)


def _with_pairs(inputs: NDArray[np.float32], importance: Values) -> NDArray[np.float32]:
    """The inputs, and sums, differences and products of the four that trees split most."""
    best = np.argsort(-importance, kind="stable")[:PAIRED]
    columns = [inputs]
    for first, second in combinations(best, 2):
        x, y = inputs[:, first], inputs[:, second]
        columns.append(np.stack([x + y, x - y, x * y], axis=1))
    return np.hstack(columns).round(5)


def _tree(inputs: NDArray[np.float32], scores: Values, order: NDArray[np.intp], seed: int) -> Tree:
    """A tree of two to eight leaves; in what it predicts every direction of the residuals has equal weight."""
    from sklearn.tree import DecisionTreeRegressor

    leaves = min(max(len(inputs) // ROWS_PER_LEAF, 2), LEAVES)
    tree = DecisionTreeRegressor(max_leaf_nodes=leaves, min_samples_leaf=MIN_LEAF, random_state=seed)
    return tree.fit(inputs[order], _directions(scores).round(9)[order]).tree_


def _new_directions(columns: Values, fitted: Values) -> Values:
    """Orthonormal directions of columns [n, k] that fitted functions do not span."""
    for _ in range(2):  # the second time removes rounding
        columns = _projected_out(columns, fitted)
    return _directions(columns)


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
        parts = [(column.scores, column.score_degrees)]
        if column.scores is not column.functions:
            parts.append((column.functions, column.degrees))
        for part, degrees in parts:
            for degree, width in _widths(degrees):
                yield degree, width, partial(_of_degree, part, degrees, degree)
    widths = [(column, _widths(column.score_degrees)) for column in given]
    for (first, of_first), (second, of_second) in combinations(widths, 2):
        for (degree, width), (other, other_width) in product(of_first, of_second):
            if degree + other <= MAX_DEGREE:
                make = partial(_products, first, degree, second, other)
                yield degree + other, width * other_width, make


def _widths(degrees: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Each degree, the lowest first, and how many functions have it."""
    values, counts = np.unique(degrees, return_counts=True)
    return list(zip(values.tolist(), counts.tolist()))


def _of_degree(columns: Values, degrees: NDArray[np.intp], degree: int) -> Values:
    return columns[:, degrees == degree]


def _products(first: Smooth, degree: int, second: Smooth, other: int) -> Values:
    """The products [n, k] of the scores of a degree of one column with those of a degree of another."""
    x = _of_degree(first.scores, first.score_degrees, degree)
    y = _of_degree(second.scores, second.score_degrees, other)
    pairs = x[:, :, None] * y[:, None, :]
    return pairs.reshape(len(x), -1) * np.sqrt(len(x))


def tested_residuals(x: Residuals, y: Residuals, groups: Groups = None) -> Tested:
    """The test of the residuals of two columns."""
    a, b = (_unit(variable.scores) for variable in (x, y))
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
    sampling_error = found.standard_error * math.sqrt(n / (n - x.fitted))
    error = math.hypot(sampling_error, math.sqrt(terms / 2) / found.units if found.units else 0.0)
    return Estimate(found.value, error, n=n, method=METHOD, units=found.units)


def _directions(columns: Values) -> Values:
    """Orthonormal columns that span these, without rounding."""
    directions, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return directions[:, sizes > MIN_NEW_SHARE]


@dataclass(frozen=True)
class Beyond:
    """The information of a column about a target given others, nats, and the p-value of independence.

    p is nan where the test is not decided.
    """

    p: float
    information: Estimate


def beyond(x: Smooth, y: Smooth, given: Sequence[Smooth], level: float, groups: Groups = None) -> Beyond:
    """The test of one column. A dependence at the level is tested again with sizes of residuals, and with trees of the
    others if these lower it; p is nan if so much more would leave none: not decided.
    """
    variables = residuals([x, y], given)
    p = float(tested_residuals(*variables, groups).p)
    if given and p <= level:
        p, variables = _tested_again(x, y, given, level, groups)
    return Beyond(p, information_of_residuals(*variables, groups))


def _tested_again(
    x: Smooth, y: Smooth, given: Sequence[Smooth], level: float, groups: Groups
) -> tuple[float, list[Residuals]]:
    coarse = residuals_and_sizes([x, y], _fitted_functions(given, x.n))
    p = float(tested_residuals(*coarse, groups).p)
    if p > level:
        return p, coarse
    refined = refined_residuals([x, y], given)
    products, leaves = next(refined), next(refined)
    if _fall(coarse, leaves)[0] <= MIN_FALL:
        return p, coarse
    for fine in (products, leaves, *refined):
        p = max(p, float(tested_residuals(*fine, groups).p))
        if p > level:
            return p, fine
    remaining = _fall(coarse, fine)[1] * _deviations(p)
    if remaining < _deviations(level):
        p = math.nan
    return p, fine


def _deviations(p: float) -> float:
    return float(-ndtri(max(p, 1e-300) / 2))


def _fall(coarse: Sequence[Residuals], fine: Sequence[Residuals]) -> tuple[float, float]:
    """How far correlations of residuals fall from one fit to a finer one, in standard deviations by the functions that
    were added, and the share of them that is left if they fall once more by as much.
    """
    before, after = _correlations(*coarse), _correlations(*fine)
    size = np.linalg.norm(before)
    product = (before * after).sum()
    n = len(fine[0].scores)
    variance = 1 / (n - fine[0].fitted) - 1 / (n - coarse[0].fitted)
    fall = (size - product / size) / math.sqrt(max(variance, MIN_NEW_SHARE))
    share = 2 - product / (after**2).sum()
    return float(fall), float(np.clip(share, 0, 1))


def _correlations(x: Residuals, y: Residuals) -> Values:
    a, b = (_unit(one.scores) for one in (x, y))
    return a.T @ b


def _unit(columns: Values) -> Values:
    """Columns of length 1; those that are rounding are 0."""
    size = np.linalg.norm(columns, axis=0)
    return columns / np.where(size > MIN_NEW_SHARE, size, np.inf)


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
    conditions: Sequence[Smooth] = (),
) -> Choice:
    """Columns that each depend on y given the others; all offered columns depend on y, the first one most. `progress`
    is called with the share done and a description; `conditions` are given in every test.

    Forwards: adds the column with the strongest dependence given the chosen ones, if its q-value is at most `level` and
    trees confirm it. Backwards: drops the column with the largest p-value given the others while it is above `level`; a
    dependence that is not decided counts as none.
    """
    names = list(offered)
    chosen, open_ = names[:1], names[1:]

    def given(but: str = "") -> list[Smooth]:
        return [*conditions, *(offered[name] for name in chosen if name != but)]

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
        worst = max(chosen, key=lambda name: np.nan_to_num(tested[name].p, nan=1.0))
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
