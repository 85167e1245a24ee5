"""Tests of conditional independence given other columns, and stepwise selection.

A test compares residuals of a column and of the target: their functions minus
predictions. The predictors are functions of the other columns (the conditions),
products of two such functions, and leaves of trees (the generalised covariance measure,
Shah & Peters 2020). Errors of the two predictions do harm only if both miss the same
function of the conditions. Columns are added forwards and dropped backwards, as in the
search for a Markov blanket (Tsamardinos et al. 2003).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, product
from operator import itemgetter
from typing import TYPE_CHECKING, Any

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
    Groups,
    Integers,
    Smooth,
    Values,
    not_spanned,
)
from infoscope.estimators.result import Estimate, mean_of

if TYPE_CHECKING:
    from sklearn.tree._tree import Tree

TESTED_DEGREES = (1, 2)  # largest degree of the tested normal scores, by resolution
MAX_FITTED, MAX_FITTED_PER_ROW = 200, 0.2  # fitted functions
MAIN_COLUMNS = 5  # conditions whose products are fitted
FOREST_TREES = 20  # trees of the forest that chooses the main columns
MAX_LEAVES = 8  # of a tree
MIN_LEAF_ROWS = 5
ROWS_PER_LEAF = 25  # at least, on average
LEAF_BATCHES = 2  # residuals are tested after each batch
MAX_BATCH_PER_ROW, MAX_BATCH = 0.05, 50  # leaves in a batch
SINGLE_INPUT_TREES = 2  # first trees, without pairs of inputs
PAIRED_INPUTS = 4  # inputs whose pairs later trees also get
# fall of correlations, in standard deviations, from which trees matter (chosen on
# simulated nulls)
MIN_FALL = 5
MIN_RESIDUAL_VARIANCE = 0.05  # of a row, as a share of the variance of the score
METHOD = "partial correlation of normal scores"
Columns = Sequence[Smooth]
Inputs = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of a column.

    scores  [n, e], residuals of the column's scores
    sizes   number of scores at each resolution
    fitted  number of fitted functions
    """

    scores: Values
    sizes: tuple[int, ...]
    fitted: int


def residuals(columns: Columns, conditions: Columns) -> list[Residuals]:
    """Residuals of columns given functions, and products of functions, of conditions."""
    fitted = _fitted_functions(conditions, columns[0].n)
    variables = []
    for column in columns:
        degrees = column.score_degrees
        sizes = [int((degrees <= degree).sum()) for degree in TESTED_DEGREES]
        is_tested = degrees <= max(TESTED_DEGREES)
        scores = _projected_out(column.scores[:, is_tested], fitted)
        variables.append(Residuals(scores, tuple(sizes), fitted.shape[1]))
    return variables


def residuals_and_sizes(columns: Columns, fitted: Values) -> list[Residuals]:
    """Residuals of scores of degree 1 given fitted functions [n, f], and of their sizes.

    The sizes are absolute values of the residuals. They replace the scores of degree 2,
    whose conditional means are harder to predict.
    """
    leverage = (fitted**2).sum(axis=1, keepdims=True)
    variance = np.maximum(1 - leverage, MIN_RESIDUAL_VARIANCE)
    deviation = np.sqrt(variance)
    variables = []
    for column in columns:
        degrees = column.score_degrees
        scores = _projected_out(column.scores[:, degrees == 1], fitted)
        count = scores.shape[1]
        if degrees.max() > 1:
            absolute = np.abs(scores) / deviation
            scores = np.hstack([scores, _projected_out(absolute, fitted)])
        sizes = (count, scores.shape[1])
        variables.append(Residuals(scores, sizes, fitted.shape[1]))
    return variables


def _projected_out(columns: Values, fitted: Values) -> Values:
    """Columns [n, k] less their projections on orthonormal functions [n, f]."""
    return columns - fitted @ (fitted.T @ columns)


def refined_residuals(
    columns: Columns, conditions: Columns
) -> Iterator[list[Residuals]]:
    """Residuals given more and more functions of the conditions.

    First products of functions, then leaves of trees in two batches. A tree splits the
    rows by the residuals of all columns. Each leaf's mean is then removed from all
    residuals. Trees ignore the signs of residuals, which would create dependence.
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
            falls = tree.compute_feature_importances(normalize=False)
            importance += falls[: len(importance)]
            _, leaves = np.unique(tree.apply(tree_inputs), return_inverse=True)
            indicators = np.eye(leaves.max() + 1)[leaves]
            directions = _new_directions(indicators, fitted)
            if directions.shape[1] == 0:
                break
            scores = _projected_out(scores, directions)
            fitted = np.hstack([fitted, directions])
            trees += 1
        refined = []
        parts = np.split(scores, ends[:-1], axis=1)
        for column, part in zip(start, parts):
            refined.append(Residuals(part, column.sizes, fitted.shape[1]))
        yield refined


def _main_functions(columns: Columns, conditions: Columns) -> Values:
    """Fitted functions [n, f] of the conditions.

    Of many conditions, only the five that a forest splits most have products. The other
    conditions have linear functions, at most a tenth of the rows.
    """
    n = columns[0].n
    if len(conditions) <= MAIN_COLUMNS:
        return _fitted_functions(conditions, n)
    from sklearn.ensemble import RandomForestRegressor  # takes a second to import

    linear = np.hstack([column.linear for column in conditions])
    constant = np.full((n, 1), n**-0.5)
    directions = _directions(linear)
    fitted = np.hstack([constant, directions[:, : n // 2]])
    first_residuals = residuals_and_sizes(columns, fitted)
    scores = np.hstack([column.scores for column in first_residuals])
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
    main = [conditions[place] for place in _largest(importance, MAIN_COLUMNS)]
    fitted = _fitted_functions(main, n)
    directions = _new_directions(linear, fitted)
    return np.hstack([fitted, directions[:, : n // 10]])


def _tree_inputs(conditions: Columns, scores: Values) -> tuple[Inputs, Integers]:
    """Inputs of trees [n, d], in standard deviations, and each input's condition [d]."""
    parts = [_inputs(column, scores) for column in conditions]
    widths = [part.shape[1] for part in parts]
    column_of_input = np.repeat(np.arange(len(parts)), widths)
    inputs: Any = zscore(np.hstack(parts), axis=0)
    return inputs.round(6).astype(np.float32), column_of_input


def _tree_targets(scores: Values) -> Values:
    """Targets of trees: every direction of the residuals has equal weight."""
    return _directions(scores).round(9)


def _largest(importance: NDArray, count: int) -> Integers:
    """Indices of the largest values, the largest first."""
    return np.argsort(-importance, kind="stable")[:count]


def _order(scores: Values, inputs: Inputs) -> Integers:
    """An order of rows that is independent of their present order."""
    keys = np.hstack([scores, inputs]).round(9)
    return np.lexsort(keys.T)


def _with_pairs(inputs: Inputs, importance: Values) -> Inputs:
    """The inputs, with sums, differences and products of the four that trees split most."""
    columns = [inputs]
    most_split = _largest(importance, PAIRED_INPUTS)
    for first, second in combinations(most_split, 2):
        x = inputs[:, first]
        y = inputs[:, second]
        pairs = np.stack([x + y, x - y, x * y], axis=1)
        columns.append(pairs)
    return np.hstack(columns).round(5)


def _tree(inputs: Inputs, scores: Values, order: Integers, seed: int) -> Tree:
    """A tree of two to eight leaves that predicts the residuals."""
    from sklearn.tree import DecisionTreeRegressor

    leaves = max(len(inputs) // ROWS_PER_LEAF, 2)
    tree = DecisionTreeRegressor(
        max_leaf_nodes=min(leaves, MAX_LEAVES),
        min_samples_leaf=MIN_LEAF_ROWS,
        random_state=seed,
    )
    targets = _tree_targets(scores)
    return tree.fit(inputs[order], targets[order]).tree_


def _new_directions(columns: Values, fitted: Values) -> Values:
    """Orthonormal directions of columns [n, k] that fitted functions do not span."""
    for _ in range(2):  # the second time removes rounding
        columns = _projected_out(columns, fitted)
    return _directions(columns)


def _inputs(column: Smooth, scores: Values) -> Values:
    """Inputs of trees from a column: its functions of degree 1, or ranks of categories.

    Categories are ranked by their number of rows and, if equal, by their sum of squared
    scores. Names play no part.
    """
    linear = column.linear
    if column.degrees.max(initial=1) > 1 or linear.shape[1] < 2:
        return linear
    codes, sizes = column.categories
    squares = (scores**2).sum(axis=1)
    sums = np.bincount(codes, squares).round(12)
    ranks = np.argsort(np.lexsort([sums, sizes]))
    return ranks[codes][:, None].astype(np.float64)


def _fitted_functions(conditions: Columns, n: int) -> Values:
    """Orthonormal [n, f]: a constant, functions of columns, products of two functions.

    The smoothest are first; there are at most 200, and at most a fifth of the rows.
    Functions of one degree of a column, or of two, are all fitted or all left out.
    """
    max_count = min(int(MAX_FITTED_PER_ROW * n), MAX_FITTED)
    blocks = [np.ones((n, 1))]
    count = 0
    for _, factors in sorted(_blocks(conditions), key=itemgetter(0)):
        width = math.prod(factor.shape[1] for factor in factors)
        if count + width <= max(max_count, 1):
            blocks.append(reduce(_products, factors))
            count += width
    columns = np.hstack(blocks)
    directions, triangle = np.linalg.qr(columns)
    is_new = not_spanned(triangle)
    if not is_new.all():
        directions, _ = np.linalg.qr(columns[:, is_new])
    return directions


def _blocks(conditions: Columns) -> Iterator[tuple[int, tuple[Values, ...]]]:
    """A degree, and functions [n, k] of one column or of two.

    The product of the functions of two columns has this degree.
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
            degree = degree_x + degree_y
            if degree <= MAX_DEGREE:
                yield degree, (x, y)


def _by_degree(columns: Values, degrees: Integers) -> list[tuple[int, Values]]:
    """Each degree, the lowest first, and the columns of this degree."""
    parts = []
    for degree in np.unique(degrees):
        parts.append((int(degree), columns[:, degrees == degree]))
    return parts


def _products(x: Values, y: Values) -> Values:
    """The products [n, a * b] of scores [n, a] and [n, b], of the length of a score."""
    pairs = x[:, :, None] * y[:, None, :]
    return pairs.reshape(len(x), -1) * np.sqrt(len(x))


def tested_residuals(x: Residuals, y: Residuals, groups: Groups = None) -> Tested:
    """The test of the residuals of two columns."""
    sizes = list(zip(x.sizes, y.sizes))
    return tested_products(_unit(x.scores), _unit(y.scores), sizes, groups, x.fitted)


def information_of_residuals(
    x: Residuals, y: Residuals, groups: Groups = None
) -> Estimate:
    """The information, nats, of normal variables with the correlations of the residuals.

    Uses the leading correlations, as many as there are scores of degree 1, and subtracts
    the bias. Exact for columns that are increasing maps of normal variables. The
    interval covers the sampling error of rows or groups.
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
    products = np.sqrt(squares) * variates_x * variates_y
    lengths = variates_x**2 + variates_y**2
    exponent = products - squares * lengths / 2
    log_ratios = exponent / (1 - squares) - np.log1p(-squares) / 2
    log_ratios = log_ratios.sum(axis=1)
    functions = directions_x.shape[1] + directions_y.shape[1]
    parameters = count * (functions - count)
    rows = n - x.fitted
    bias = parameters / (2 * rows)
    mean = mean_of(log_ratios - bias, groups)
    sampling_error = mean.standard_error * math.sqrt(n / rows)
    null_error = math.sqrt(parameters / 2) / mean.units if mean.units else 0.0
    error = math.hypot(sampling_error, null_error)
    return Estimate(mean.value, error, n=n, method=METHOD, units=mean.units)


def _directions(columns: Values) -> Values:
    """Orthonormal columns that span the columns, without rounding."""
    directions, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return directions[:, sizes > MIN_NEW_SHARE]


@dataclass(frozen=True)
class Beyond:
    """The information of a column about a target given other columns, nats.

    p is the p-value of independence, nan where the test is not decided.
    """

    p: float
    information: Estimate


def beyond(
    x: Smooth, y: Smooth, conditions: Columns, level: float, groups: Groups = None
) -> Beyond:
    """The test of one column.

    A dependence at the level is tested again with sizes of residuals, and with trees of
    the conditions if trees lower the dependence. The test is not decided (p is nan) if
    the same fall a second time would leave no dependence.
    """
    variables = residuals([x, y], conditions)
    p = float(tested_residuals(*variables, groups=groups).p)
    if conditions and p <= level:
        p, variables = _tested_again(x, y, conditions, level, groups)
    return Beyond(p, information_of_residuals(*variables, groups=groups))


def _tested_again(
    x: Smooth, y: Smooth, conditions: Columns, level: float, groups: Groups
) -> tuple[float, list[Residuals]]:
    """The p-value after the finer tests, and the residuals of the last test."""
    fitted = _fitted_functions(conditions, x.n)
    coarse = residuals_and_sizes([x, y], fitted)
    p = float(tested_residuals(*coarse, groups=groups).p)
    if p > level:
        return p, coarse
    refined = refined_residuals([x, y], conditions)
    products = next(refined)
    leaves = next(refined)
    if _fall(coarse, leaves)[0] <= MIN_FALL:
        return p, coarse
    fine = products
    for fine in (products, leaves, *refined):
        test = tested_residuals(*fine, groups=groups)
        p = max(p, float(test.p))
        if p > level:
            return p, fine
    _, remaining_share = _fall(coarse, fine)
    if remaining_share * _deviations(p) < _deviations(level):
        p = math.nan
    return p, fine


def _deviations(p: float) -> float:
    """The two-sided p-value in standard deviations of a normal variable."""
    return float(-ndtri(max(p, 1e-300) / 2))


def _fall(coarse: list[Residuals], fine: list[Residuals]) -> tuple[float, float]:
    """The fall of correlations from a coarse fit to a finer fit, and the share left.

    The fall is in standard deviations due to the added functions. The share of the
    correlations is the share that a second fall of the same size would leave.
    """
    before = _correlations(*coarse)
    after = _correlations(*fine)
    size = np.linalg.norm(before)
    inner_product = (before * after).sum()
    n = len(fine[0].scores)
    rows_after = n - fine[0].fitted
    rows_before = n - coarse[0].fitted
    variance = 1 / rows_after - 1 / rows_before
    deviation = math.sqrt(max(variance, MIN_NEW_SHARE))
    fall = (size - inner_product / size) / deviation
    share = 2 - inner_product / (after**2).sum()
    return float(fall), float(np.clip(share, 0, 1))


def _correlations(x: Residuals, y: Residuals) -> Values:
    return _unit(x.scores).T @ _unit(y.scores)


def _unit(columns: Values) -> Values:
    """Columns of length 1; columns that are only rounding are 0."""
    size = np.linalg.norm(columns, axis=0)
    return columns / np.where(size > MIN_NEW_SHARE, size, np.inf)


@dataclass(frozen=True)
class Choice:
    """Names of the chosen columns, in order, and a result for every offered column.

    The result is given the chosen columns, without the column itself.
    """

    chosen: tuple[str, ...]
    beyond: Mapping[str, Beyond]


def choose(
    offered: Mapping[str, Smooth],
    y: Smooth,
    level: float,
    groups: Groups = None,
    progress: Callable[[float, str], None] = lambda share, what: None,
    conditions: Columns = (),
) -> Choice:
    """Columns that each depend on y given the other chosen columns.

    All offered columns must depend on y, the first column most.

    progress    called with the share done and a description
    conditions  given in every test

    Forwards: adds the column with the strongest dependence given the chosen columns, if
    its q-value is at most `level` and trees confirm the dependence. Backwards: drops the
    column with the largest p-value given the others, while this p-value is above
    `level`; a test that is not decided has p-value 1.
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
        chosen_columns = [offered[name] for name in chosen]
        *residuals_x, residuals_y = residuals(
            [*columns, y], [*conditions, *chosen_columns]
        )
        tests = []
        for column in residuals_x:
            tests.append(tested_residuals(column, residuals_y, groups))
        tested = stacked_tests(tests, (len(tests),))
        q = false_discovery_control(tested.p)
        order = np.argsort(-tested.strength)
        remaining = [remaining[place] for place in order if q[place] <= level]
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
        p_values = [results[name].p for name in chosen]
        p_values = np.nan_to_num(p_values, nan=1.0)
        worst = int(p_values.argmax())
        if p_values[worst] <= level:
            break
        del chosen[worst]
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
    information: Estimate, labels: Sequence[Integers], groups: Groups = None
) -> Estimate:
    """Information about labels [n] of repeated values, at most the labels' entropies.

    The limits of the interval are at most the limits of the entropies.
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
