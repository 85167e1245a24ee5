"""Figures for many columns: regressions and discriminants fitted to parts of a sample,
as a curve of learning.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from infoscope.estimators.reading.figures_heldout import (
    MAX_TARGETS,
    Figures,
    Fold,
    best_gain,
    class_means,
    frequent,
    held_information,
    strongest,
)
from infoscope.estimators.reading.figures_sample import (
    Sample,
    Values,
    canonical,
    correlation_test,
    gaussian_information,
    leading,
    scaled,
)

PENALTIES = (1e-3, 3e-2, 1.0)  # of ridge regressions, in variances of a column
SELECTED = 10  # columns that are most correlated with a target
MIN_ROWS = 15  # of a training set
MAX_SURFACE_ROWS = 500
MAX_SURFACE_COLUMNS = 12
# factors of log odds, which dependent columns exaggerate
TEMPERATURES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
# end of a name: which part of the training rows is used
PARTS = {"": 1, "_half": 2, "_quarter": 4}


def learning_curve(fold: Fold) -> Figures:
    """Held-out information, fitted to all training rows, to half and to a quarter.

    It is of canonical components, of ridge regressions and of naive Bayes.
    """
    features: Figures = {}
    for end, part in PARTS.items():
        train = fold.train[: len(fold.train) // part]
        if len(train) < MIN_ROWS:
            continue
        if end:  # `Fold.components` has the value for all training rows
            features[f"heldout_gaussian{end}"] = _components(fold, train)
        for name, value in _predicted(fold, train).items():
            features[f"{name}{end}"] = value
    return features


def _components(fold: Fold, train: Values) -> float:
    """Gaussian information of held-out canonical components fitted to some rows."""
    x, y = fold.linear
    weights_x, weights_y, _ = canonical(x[train], y[train], fold.sample.generator)
    return held_information(x[fold.test] @ weights_x, y[fold.test] @ weights_y)


def _predicted(fold: Fold, train: Values) -> Figures:
    """Information of held-out predictions of one variable from the other.

    The predicted variable is a label, or the one with fewer columns.
    """
    x, y = fold.linear
    second = fold.sample.variables[1]
    if second.codes is None or not second.is_label:
        columns, target = (y, x) if x.shape[1] <= y.shape[1] else (x, y)
        return _regressions(fold, columns, leading(target, MAX_TARGETS), train)
    columns = x
    codes, prior = frequent(second.codes)
    if len(np.unique(codes[train])) < 2:
        return {}
    selected = _selected(columns, np.eye(len(prior))[codes], train)
    return {
        "label_bayes": _bayes(columns, codes, prior, train, fold.test),
        "label_sparse": _bayes(selected, codes, prior, train, fold.test),
    }


def _regressions(fold: Fold, columns: Values, target: Values, train: Values) -> Figures:
    """Information of held-out ridge regressions of a target [n, t] on columns."""
    selected = _selected(columns, target, train)
    ridge, predicted = _ridge(columns, target, train, fold.test)
    sparse, _ = _ridge(selected, target, train, fold.test)
    features = {"ridge": ridge, "ridge_sparse": sparse}
    if len(train) == len(fold.train):
        predictions = np.zeros_like(target)
        predictions[fold.test] = predicted
        # the largest components are last
        x = predictions[:, -2:]
        y = target[:, -2:]
        features["ridge_ksg"] = fold.ksg((x, None), (y, None))
    return features


def _selected(columns: Values, target: Values, train: Values) -> Values:
    """The columns [n, SELECTED] most correlated with a target in training rows."""
    correlations = scaled(columns[train]).T @ scaled(target[train])
    strength = np.abs(correlations).max(axis=1)
    return columns[:, strongest(strength, SELECTED)]


def _ridge(
    columns: Values, target: Values, train: Values, test: Values
) -> tuple[float, Values]:
    """Gaussian information of held-out ridge predictions and their target.

    Returns the largest over penalties, and the predictions with this penalty.
    """
    x = columns[train]
    y = target[train]
    n, p = x.shape
    is_dual = p > n
    gram = (x @ x.T if is_dual else x.T @ x) / n
    variance = max(np.trace(gram) / len(gram), 1e-9)
    best = np.nan
    predictions = np.empty(0)
    for penalty in PENALTIES:
        matrix = gram + penalty * variance * np.eye(len(gram))
        if is_dual:
            weights = x.T @ np.linalg.solve(matrix, y / n)
        else:
            weights = np.linalg.solve(matrix, x.T @ y / n)
        predicted = columns[test] @ weights
        value = gaussian_information(predicted, target[test])
        if not value <= best:
            best = value
            predictions = predicted
    return best, predictions


def _bayes(
    columns: Values, codes: Values, prior: Values, train: Values, test: Values
) -> float:
    """Held-out gain of naive Bayes, nats.

    Classes are normal, with independent columns of common variance.
    """
    x = columns[train]
    labels = codes[train]
    counts = np.bincount(labels, minlength=len(prior))
    means = class_means(x, labels, counts)
    variance = ((x - means[labels]) ** 2).mean(axis=0) + 1e-3
    scaled_means = means / variance
    logs = columns[test] @ scaled_means.T - (scaled_means * means).sum(axis=1) / 2
    logs[:, counts == 0] = -1e9
    return best_gain(logs, TEMPERATURES, codes[test], prior, counts + 0.5)


def surfaces(sample: Sample) -> Figures:
    """Spread of a column among rows alike in the other columns of its variable.

    It is the log ratio of differences between nearest neighbours to differences between
    any rows, the least over columns: about 0 for independent columns, far below 0 for a
    column that is computed from the others.
    """
    rows = sample.generator.permutation(sample.n)[:MAX_SURFACE_ROWS]
    least = []
    for variable in sample.variables:
        points = variable.scores[rows]
        if not 2 <= points.shape[1] <= MAX_SURFACE_COLUMNS or len(rows) < 2 * MIN_ROWS:
            continue
        log_ratios = []
        for place, column in enumerate(points.T):
            others = np.delete(points, place, axis=1)
            _, ids = KDTree(others).query(others, 2)
            nearest = column[np.asarray(ids)[:, 1]]
            near = np.median(np.abs(column - nearest))
            far = np.median(np.abs(column - np.roll(column, 1)))
            log_ratios.append(np.log((near + 1e-4) / (far + 1e-4)))
        least.append(min(log_ratios))
    if not least:
        return {}
    return {"surface_more": min(least), "surface_fewer": max(least)}


def tests(sample: Sample) -> Figures:
    """Statistics of tests of independence, in their standard deviations."""
    x, y = sample.variables
    n = sample.n
    squares = (scaled(x.linear).T @ scaled(y.linear) / n) ** 2
    expected = 2 * np.log(squares.size + 1)
    features = {
        "test_correlations": correlation_test(squares, n),
        "test_largest": np.arcsinh(n * squares.max() - expected),
    }
    if x.levels is None or y.levels is None:
        return features
    bins = (int(x.levels.max()) + 1, int(y.levels.max()) + 1)
    table = np.histogram2d(x.levels, y.levels, bins)[0]
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / n
    is_filled = table > 0
    counts = table[is_filled]
    statistic = 2 * (counts * np.log(counts / expected[is_filled])).sum()
    degrees = (bins[0] - 1) * (bins[1] - 1)
    excess = (statistic - degrees) / np.sqrt(2 * max(degrees, 1))
    return features | {"test_table": np.arcsinh(excess)}
