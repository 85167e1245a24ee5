"""Tests of conditional independence of columns and a target given other columns, and
stepwise selection of columns.

The residuals of a column and of the target are compared: their functions minus
predictions from functions of the other columns, products of two of these, and leaves of
trees (the generalised covariance measure, Shah & Peters 2020). Errors of the two
predictions do no harm unless both miss the same function of the others. Columns are
added forwards and dropped backwards, as in the search for a Markov blanket (Tsamardinos
et al. 2003).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, product
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import false_discovery_control, zscore

from infoscope.estimators.discrete import label_entropy
from infoscope.estimators.independence.association import (
    Tested,
    stacked_tests,
    tested_products,
)
from infoscope.estimators.independence.functions import (
    MAX_DEGREE,
    MIN_NEW_SHARE,
    Smooth,
    Values,
    not_spanned,
)
from infoscope.estimators.result import Estimate, mean_of

if TYPE_CHECKING:
    from sklearn.tree._tree import Tree

TESTED_DEGREES = (1, 2)  # of the normal scores that are tested, by resolution
MAX_FITTED, MAX_FITTED_PER_ROW = 200, 0.2  # fitted functions
MAIN_COLUMNS = 5  # conditions whose products are fitted
FOREST_TREES = 20  # trees of the forest that chooses the main columns
MAX_LEAVES = 8  # of a tree
MIN_LEAF_ROWS = 5
ROWS_PER_LEAF = 25  # at least, on average
LEAF_BATCHES = 2  # after each of which residuals are tested
MAX_BATCH_PER_ROW, MAX_BATCH = 0.05, 50  # leaves in a batch
SINGLE_INPUT_TREES = 2  # first trees, without pairs of inputs
PAIRED_INPUTS = 4  # inputs of which later trees also get pairs
# of correlations, in standard deviations, from which trees matter (chosen on simulated
# nulls)
MIN_FALL = 5
MIN_RESIDUAL_VARIANCE = 0.05  # of a row, as a share of the variance of the score
METHOD = "partial correlation of normal scores"
Groups = NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of the scores of a column [n, e], the number of scores at each
    resolution, and of fitted functions.
    """

    scores: Values
    sizes: tuple[int, ...]
    fitted: int


def residuals(
    columns: Sequence[Smooth], conditions: Sequence[Smooth]
) -> list[Residuals]:
    """The residuals of columns given functions of the conditions and products of two of
    these.
    """
    fitted = _fitted_functions(conditions, columns[0].n)
    variables = []
    for column in columns:
        degrees = column.score_degrees
        sizes = tuple(int((degrees <= degree).sum()) for degree in TESTED_DEGREES)
        scores = _projected_out(
            column.scores[:, degrees <= max(TESTED_DEGREES)], fitted
        )
        variables.append(Residuals(scores, sizes, fitted.shape[1]))
    return variables


def residuals_and_sizes(columns: Sequence[Smooth], fitted: Values) -> list[Residuals]:
    """The residuals of scores of degree 1 given fitted functions [n, f], and the
    residuals of their absolute values.

    Absolute values stand for the scores of degree 2, whose means given others are
    harder to predict.
    """
    leverage = (fitted**2).sum(axis=1, keepdims=True)
    deviation = np.sqrt(np.maximum(1 - leverage, MIN_RESIDUAL_VARIANCE))
    variables = []
    for column in columns:
        scores = _projected_out(column.scores[:, column.score_degrees == 1], fitted)
        count = scores.shape[1]
        if column.score_degrees.max() > 1:
            absolute = np.abs(scores) / deviation
            scores = np.hstack([scores, _projected_out(absolute, fitted)])
        variables.append(Residuals(scores, (count, scores.shape[1]), fitted.shape[1]))
    return variables


def _projected_out(columns: Values, fitted: Values) -> Values:
    """Columns [n, k] less their projections on orthonormal functions [n, f]."""
    return columns - fitted @ (fitted.T @ columns)


def refined_residuals(
    columns: Sequence[Smooth], conditions: Sequence[Smooth]
) -> Iterator[list[Residuals]]:
    """Residuals given ever more functions of the conditions: their products, then
    leaves of trees in two batches.

    A tree splits rows by the residuals of all columns, and these are projected on its
    leaves. Signs of residuals play no part in this, so that no dependence arises, and
    leaves leave no mean of x or y behind.
    """
    fitted = _main_functions(columns, conditions)
    start = residuals_and_sizes(columns, fitted)
    yield start
    scores = np.hstack([column.scores for column in start])
    ends = np.cumsum([column.scores.shape[1] for column in start])
    inputs = tree_inputs = _tree_inputs(conditions, scores)[0]
    order = _order(scores, inputs)
    importance = np.zeros(inputs.shape[1])
    max_fitted = fitted.shape[1]
    trees = 0
    for _ in range(LEAF_BATCHES):
        max_fitted += min(int(MAX_BATCH_PER_ROW * len(scores)), MAX_BATCH)
        while fitted.shape[1] < max_fitted:
            if trees == SINGLE_INPUT_TREES:
                tree_inputs = _with_pairs(inputs, importance)
            tree = _tree(tree_inputs, scores, order, trees)
            importance += tree.compute_feature_importances(normalize=False)[
                : len(importance)
            ]
            leaves = np.unique(tree.apply(tree_inputs), return_inverse=True)[1]
            directions = _new_directions(np.eye(leaves.max() + 1)[leaves], fitted)
            if directions.shape[1] == 0:
                break
            scores = _projected_out(scores, directions)
            fitted = np.hstack([fitted, directions])
            trees += 1
        parts = np.split(scores, ends[:-1], axis=1)
        yield [
            Residuals(part, column.sizes, fitted.shape[1])
            for column, part in zip(start, parts)
        ]


def _main_functions(columns: Sequence[Smooth], conditions: Sequence[Smooth]) -> Values:
    """Fitted functions [n, f]. Of many conditions, only the five that a forest splits
    most have products; the others have linear functions, at most a tenth of the rows.
    """
    n = columns[0].n
    if len(conditions) <= MAIN_COLUMNS:
        return _fitted_functions(conditions, n)
    from sklearn.ensemble import RandomForestRegressor  # takes a second to import

    linear = np.hstack(
        [column.functions[:, column.degrees == 1] for column in conditions]
    )
    constant = np.full((n, 1), n**-0.5)
    fitted = np.hstack([constant, _directions(linear)[:, : n // 2]])
    scores = np.hstack(
        [column.scores for column in residuals_and_sizes(columns, fitted)]
    )
    inputs, column_of_input = _tree_inputs(conditions, scores)
    order = _order(scores, inputs)
    forest = RandomForestRegressor(
        FOREST_TREES,
        max_leaf_nodes=2 * MAX_LEAVES,
        min_samples_leaf=MIN_LEAF_ROWS,
        max_features=0.5,
        random_state=0,
    )
    forest.fit(inputs[order], _tree_targets(scores)[order])
    importance = np.bincount(column_of_input, forest.feature_importances_)
    fitted = _fitted_functions(
        [conditions[place] for place in _largest(importance, MAIN_COLUMNS)], n
    )
    return np.hstack([fitted, _new_directions(linear, fitted)[:, : n // 10]])


def _tree_inputs(
    conditions: Sequence[Smooth], scores: Values
) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Inputs of trees [n, d], in standard deviations, and the condition [d] that each
    belongs to.
    """
    parts = [_inputs(column, scores) for column in conditions]
    column_of_input = np.repeat(
        np.arange(len(parts)), [part.shape[1] for part in parts]
    )
    inputs = zscore(np.hstack(parts), axis=0)
    return inputs.round(6).astype(np.float32), column_of_input


def _tree_targets(scores: Values) -> Values:
    """Targets of trees, in which every direction of the residuals has equal weight."""
    return _directions(scores).round(9)


def _largest(importance: Values, count: int) -> NDArray[np.intp]:
    """Places of the largest values, the largest first."""
    return np.argsort(-importance, kind="stable")[:count]


def _order(scores: Values, inputs: NDArray[np.float32]) -> NDArray[np.intp]:
    """An order of rows in which nothing depends on their present one."""
    return np.lexsort(np.hstack([scores, inputs]).round(9).T)


def _with_pairs(inputs: NDArray[np.float32], importance: Values) -> NDArray[np.float32]:
    """The inputs, and sums, differences and products of the four that trees split most."""
    columns = [inputs]
    for first, second in combinations(_largest(importance, PAIRED_INPUTS), 2):
        x, y = inputs[:, first], inputs[:, second]
        columns.append(np.stack([x + y, x - y, x * y], axis=1))
    return np.hstack(columns).round(5)


def _tree(
    inputs: NDArray[np.float32], scores: Values, order: NDArray[np.intp], seed: int
) -> Tree:
    """A tree of two to eight leaves that predicts the residuals."""
    from sklearn.tree import DecisionTreeRegressor

    leaves = min(max(len(inputs) // ROWS_PER_LEAF, 2), MAX_LEAVES)
    tree = DecisionTreeRegressor(
        max_leaf_nodes=leaves, min_samples_leaf=MIN_LEAF_ROWS, random_state=seed
    )
    return tree.fit(inputs[order], _tree_targets(scores)[order]).tree_


def _new_directions(columns: Values, fitted: Values) -> Values:
    """Orthonormal directions of columns [n, k] that fitted functions do not span."""
    for _ in range(2):  # the second time removes rounding
        columns = _projected_out(columns, fitted)
    return _directions(columns)


def _inputs(column: Smooth, scores: Values) -> Values:
    """Inputs of trees from a column: its functions of degree 1, or the ranks of its
    categories by their numbers of rows and, among equals, their sums of squared scores.
    Neither depends on names.
    """
    linear = column.functions[:, column.degrees == 1]
    if column.degrees.max(initial=1) > 1 or linear.shape[1] < 2:
        return linear
    codes, sizes = column.categories
    squares = np.bincount(codes, (scores**2).sum(axis=1)).round(12)
    ranks = np.argsort(np.lexsort([squares, sizes]))
    return ranks[codes][:, None].astype(np.float64)


def _fitted_functions(conditions: Sequence[Smooth], n: int) -> Values:
    """Orthonormal [n, f]: a constant, functions of columns and products of two, the
    smoothest first, at most a fifth of the rows, and 200. Functions of one degree of a
    column, or of two, are all fitted or all left out.
    """
    max_count = max(1, min(int(MAX_FITTED_PER_ROW * n), MAX_FITTED))
    blocks = [np.ones((n, 1))]
    count = 0
    for _, factors in sorted(_blocks(conditions), key=itemgetter(0)):
        width = math.prod(factor.shape[1] for factor in factors)
        if count + width <= max_count:
            blocks.append(reduce(_products, factors))
            count += width
    columns = np.hstack(blocks)
    directions, triangle = np.linalg.qr(columns)
    independent = not_spanned(triangle)
    return directions if independent.all() else np.linalg.qr(columns[:, independent])[0]


def _blocks(conditions: Sequence[Smooth]) -> Iterator[tuple[int, tuple[Values, ...]]]:
    """Degrees and functions [n, k]: of one column, or of two, whose products have this
    degree.
    """
    scores_by_degree = []
    for column in conditions:
        scores = _by_degree(column.scores, column.score_degrees)
        scores_by_degree.append(scores)
        parts = list(scores)
        if column.scores is not column.functions:
            parts += _by_degree(column.functions, column.degrees)
        for degree, part in parts:
            yield degree, (part,)
    for scores_x, scores_y in combinations(scores_by_degree, 2):
        for (degree_x, x), (degree_y, y) in product(scores_x, scores_y):
            if degree_x + degree_y <= MAX_DEGREE:
                yield degree_x + degree_y, (x, y)


def _by_degree(columns: Values, degrees: NDArray[np.intp]) -> list[tuple[int, Values]]:
    """Each degree, the lowest first, and the columns that have it."""
    return [
        (int(degree), columns[:, degrees == degree]) for degree in np.unique(degrees)
    ]


def _products(x: Values, y: Values) -> Values:
    """The products [n, a * b] of scores [n, a] and [n, b], of the length of a score."""
    pairs = x[:, :, None] * y[:, None, :]
    return pairs.reshape(len(x), -1) * np.sqrt(len(x))


def tested_residuals(x: Residuals, y: Residuals, groups: Groups = None) -> Tested:
    """The test of the residuals of two columns."""
    return tested_products(
        _unit(x.scores), _unit(y.scores), list(zip(x.sizes, y.sizes)), groups, x.fitted
    )


def information_of_residuals(
    x: Residuals, y: Residuals, groups: Groups = None
) -> Estimate:
    """The information, nats, of normal variables with the leading correlations of the
    residuals, as many as there are scores of degree 1, less its bias. Exact for columns
    that are increasing maps of normal ones; the interval is for the sampling error of
    rows or groups.
    """
    directions_x = _directions(x.scores)
    directions_y = _directions(y.scores)
    rotation_x, correlations, rotation_y = np.linalg.svd(
        directions_x.T @ directions_y, full_matrices=False
    )
    n = len(directions_x)
    count = min(len(correlations), x.sizes[0], y.sizes[0])
    squares = np.minimum(correlations[:count], 1 - MIN_NEW_SHARE) ** 2
    variates_x = directions_x @ rotation_x[:, :count] * np.sqrt(n)
    variates_y = directions_y @ rotation_y[:count].T * np.sqrt(n)
    exponent = (
        np.sqrt(squares) * variates_x * variates_y
        - squares * (variates_x**2 + variates_y**2) / 2
    )
    log_ratios = (exponent / (1 - squares) - np.log1p(-squares) / 2).sum(axis=1)
    parameters = count * (directions_x.shape[1] + directions_y.shape[1] - count)
    rows = n - x.fitted
    mean = mean_of(log_ratios - parameters / (2 * rows), groups)
    sampling_error = mean.standard_error * math.sqrt(n / rows)
    null_error = math.sqrt(parameters / 2) / mean.units if mean.units else 0.0
    error = math.hypot(sampling_error, null_error)
    return Estimate(mean.value, error, n=n, method=METHOD, units=mean.units)


def _directions(columns: Values) -> Values:
    """Orthonormal columns that span these, without rounding."""
    directions, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return directions[:, sizes > MIN_NEW_SHARE]


@dataclass(frozen=True)
class Beyond:
    """The information of a column about a target given others, nats, and the p-value of
    independence.

    p is nan where the test is not decided.
    """

    p: float
    information: Estimate


def beyond(
    x: Smooth,
    y: Smooth,
    conditions: Sequence[Smooth],
    level: float,
    groups: Groups = None,
) -> Beyond:
    """The test of one column. A dependence at the level is tested again with sizes of
    residuals, and with trees of the conditions if these lower it. If lowering it once
    more by as much would leave none, it is not decided: p is nan.
    """
    variables = residuals([x, y], conditions)
    p = float(tested_residuals(*variables, groups).p)
    if conditions and p <= level:
        p, variables = _tested_again(x, y, conditions, level, groups)
    return Beyond(p, information_of_residuals(*variables, groups))


def _tested_again(
    x: Smooth, y: Smooth, conditions: Sequence[Smooth], level: float, groups: Groups
) -> tuple[float, list[Residuals]]:
    coarse = residuals_and_sizes([x, y], _fitted_functions(conditions, x.n))
    p = float(tested_residuals(*coarse, groups).p)
    if p > level:
        return p, coarse
    refined = refined_residuals([x, y], conditions)
    products = next(refined)
    leaves = next(refined)
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


def _fall(
    coarse: Sequence[Residuals], fine: Sequence[Residuals]
) -> tuple[float, float]:
    """The fall of correlations of residuals from one fit to a finer one, in standard
    deviations by the functions that were added, and the share of them that is left if
    they fall once more by as much.
    """
    before = _correlations(*coarse)
    after = _correlations(*fine)
    size = np.linalg.norm(before)
    inner_product = (before * after).sum()
    n = len(fine[0].scores)
    variance = 1 / (n - fine[0].fitted) - 1 / (n - coarse[0].fitted)
    fall = (size - inner_product / size) / math.sqrt(max(variance, MIN_NEW_SHARE))
    share = 2 - inner_product / (after**2).sum()
    return float(fall), float(np.clip(share, 0, 1))


def _correlations(x: Residuals, y: Residuals) -> Values:
    return _unit(x.scores).T @ _unit(y.scores)


def _unit(columns: Values) -> Values:
    """Columns of length 1; those that are rounding are 0."""
    size = np.linalg.norm(columns, axis=0)
    return columns / np.where(size > MIN_NEW_SHARE, size, np.inf)


@dataclass(frozen=True)
class Choice:
    """Names of the chosen columns, in order; for all offered ones, the result given the
    (other) chosen columns.
    """

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
    """Columns that each depend on y given the others; all offered columns depend on y,
    the first one most. `progress` is called with the share done and a description;
    `conditions` are given in every test.

    Forwards: adds the column with the strongest dependence given the chosen ones, if
    its q-value is at most `level` and trees confirm it. Backwards: drops the column
    with the largest p-value given the others while it is above `level`; a dependence
    that is not decided counts as none.
    """
    first, *remaining = offered
    chosen = [first]

    def test(name: str) -> Beyond:
        others = [offered[other] for other in chosen if other != name]
        return beyond(offered[name], y, [*conditions, *others], level, groups)

    while remaining:
        share = 0.5 - 0.5 * len(remaining) / len(offered)
        progress(share, f"{len(chosen):,} columns chosen, {len(remaining):,} left")
        columns = [offered[name] for name in remaining]
        *residuals_x, residuals_y = residuals(
            [*columns, y], [*conditions, *(offered[name] for name in chosen)]
        )
        tests = [
            tested_residuals(column, residuals_y, groups) for column in residuals_x
        ]
        tested = stacked_tests(tests, (len(tests),))
        q = false_discovery_control(tested.p)
        remaining = [
            remaining[place]
            for place in np.argsort(-tested.strength)
            if q[place] <= level
        ]
        while remaining:
            name = remaining.pop(0)
            if test(name).p <= level:
                chosen.append(name)
                break
    results: dict[str, Beyond] = {}
    while len(chosen) > 1:
        progress(
            0.5, f"{len(chosen):,} columns chosen, each is tested given the others"
        )
        results = {name: test(name) for name in chosen}
        p_values = {
            name: np.nan_to_num(result.p, nan=1.0) for name, result in results.items()
        }
        worst = max(p_values, key=p_values.__getitem__)
        if p_values[worst] <= level:
            break
        chosen.remove(worst)
        results = {}
    for place, name in enumerate(offered):
        share = 0.5 + 0.5 * place / len(offered)
        progress(
            share, f"{len(chosen):,} columns chosen, the others are tested given these"
        )
        if name not in results:
            results[name] = test(name)
    return Choice(tuple(chosen), results)


def at_most_entropy(
    information: Estimate, labels: Sequence[NDArray[np.intp]], groups: Groups = None
) -> Estimate:
    """Information about labels [n] of repeated values, at most their entropies; limits
    at most those of these.
    """
    value, low, high = information.value, information.low, information.high
    for codes in labels:
        entropy = label_entropy(codes, groups)
        value = min(value, entropy.value)
        low = min(low, entropy.low)
        high = min(high, entropy.high)
    if (value, low, high) == (information.value, information.low, information.high):
        return information
    return replace(information, value=value, interval=(low, high))
