"""Figures for many columns: regressions and discriminants fitted to parts of a sample,
as a curve of learning.
"""

from __future__ import annotations

import numpy as np

from infoscope.estimators.reading.figures_heldout import (
    MAX_TARGETS,
    Fold,
    best_gain,
    held_information,
    strongest,
)
from infoscope.estimators.reading.figures_sample import (
    Sample,
    Values,
    canonical,
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
# end of a name, and which part of the training rows
PARTS = {"": 1, "_half": 2, "_quarter": 4}

Figures = dict[str, float]


def learning_curve(fold: Fold) -> Figures:
    """Held-out information of components, regressions and discriminants, of all
    training rows, a half and a quarter.
    """
    features: Figures = {}
    for end, part in PARTS.items():
        train = fold.train[: len(fold.train) // part]
        if len(train) < MIN_ROWS:
            continue
        if end:  # of all training rows it is `heldout_gaussian`
            features[f"heldout_gaussian{end}"] = _components(fold, train)
        for name, value in _predicted(fold, train).items():
            features[f"{name}{end}"] = value
    return features


def _components(fold: Fold, train: Values) -> float:
    x, y = fold.linear
    weights_x, weights_y, _ = canonical(x[train], y[train], fold.sample.generator)
    return held_information(x[fold.test] @ weights_x, y[fold.test] @ weights_y)


def _predicted(fold: Fold, train: Values) -> Figures:
    """Information of held-out predictions of the label, or of the variable of fewer
    columns, from the other one.
    """
    widths = [columns.shape[1] for columns in fold.linear]
    place = int(np.argmin(widths))
    if fold.sample.labels:
        place = fold.sample.variables.index(fold.sample.labels[-1])
    target = fold.sample.variables[place]
    columns = fold.linear[1 - place]
    if target.is_label:
        codes, prior = fold.frequent(target)
        if len(np.unique(codes[train])) < 2:
            return {}
        selected = _selected(columns, np.eye(len(prior))[codes], train)
        return {
            "label_bayes": _bayes(columns, codes, prior, train, fold.test),
            "label_sparse": _bayes(selected, codes, prior, train, fold.test),
        }
    values = leading(fold.linear[place], MAX_TARGETS)
    ridge, predicted = _ridge(columns, values, train, fold.test)
    sparse, _ = _ridge(_selected(columns, values, train), values, train, fold.test)
    features = {"ridge": ridge, "ridge_sparse": sparse}
    if len(train) == len(fold.train):
        predictions = np.zeros_like(values)
        predictions[fold.test] = predicted
        largest = np.s_[:, -2:]  # the largest components are last
        features["ridge_ksg"] = fold.ksg(
            (predictions[largest], None), (values[largest], None)
        )
    return features


def _selected(columns: Values, target: Values, train: Values) -> Values:
    """The columns [n, SELECTED] that are most correlated with a target column, in
    training rows.
    """
    correlations = scaled(columns[train]).T @ scaled(target[train])
    return columns[:, strongest(np.abs(correlations).max(axis=1), SELECTED)]


def _ridge(
    columns: Values, target: Values, train: Values, test: Values
) -> tuple[float, Values]:
    """Gaussian information of held-out ridge predictions and their target, of the best
    penalty, and the predictions.
    """
    x = columns[train]
    y = target[train]
    n, p = x.shape
    is_dual = p > n
    gram = (x @ x.T if is_dual else x.T @ x) / n
    variance = max(np.trace(gram) / len(gram), 1e-9)
    best = np.nan
    for penalty in PENALTIES:
        matrix = gram + penalty * variance * np.eye(len(gram))
        if is_dual:
            weights = x.T @ np.linalg.solve(matrix, y / n)
        else:
            weights = np.linalg.solve(matrix, x.T @ y / n)
        candidate = columns[test] @ weights
        value = gaussian_information(candidate, target[test])
        if not value <= best:
            best = value
            predicted = candidate
    return best, predicted


def _bayes(
    columns: Values, codes: Values, prior: Values, train: Values, test: Values
) -> float:
    """Held-out gain of normal classes with independent columns of common variance
    (naive Bayes).
    """
    x = columns[train]
    labels = codes[train]
    counts = np.bincount(labels, minlength=len(prior))
    sums = np.stack([np.bincount(labels, column, len(prior)) for column in x.T], axis=1)
    means = sums / np.maximum(counts, 1)[:, None]
    variance = ((x - means[labels]) ** 2).mean(axis=0) + 1e-3
    scaled_means = means / variance
    logs = columns[test] @ scaled_means.T - (scaled_means * means).sum(axis=1) / 2
    logs[:, counts == 0] = -1e9
    return best_gain(logs, TEMPERATURES, codes[test], prior, counts + 0.5)


def surfaces(sample: Sample) -> Figures:
    """How little each column varies among rows that are alike in the other columns of
    its variable.

    The log ratio of its differences between nearest neighbours to those between any
    rows, of the least column: about 0 for independent columns, far below for one that
    is computed from the others.
    """
    from scipy.spatial import cKDTree

    rows = sample.generator.permutation(sample.n)[:MAX_SURFACE_ROWS]
    least = []
    for variable in sample.variables:
        points = variable.scores[rows]
        if not 2 <= points.shape[1] <= MAX_SURFACE_COLUMNS or len(rows) < 2 * MIN_ROWS:
            continue
        log_ratios = []
        for place, column in enumerate(points.T):
            others = np.delete(points, place, axis=1)
            _, ids = cKDTree(others).query(others, 2)
            near = np.median(np.abs(column - column[ids[:, 1]]))
            far = np.median(np.abs(column - np.roll(column, 1)))
            log_ratios.append(np.log((near + 1e-4) / (far + 1e-4)))
        least.append(min(log_ratios))
    if not least:
        return {}
    return {"surface_more": min(least), "surface_fewer": max(least)}


def tests(sample: Sample) -> Figures:
    """Statistics of tests of independence, in standard deviations of their distribution
    without information.
    """
    x, y = sample.variables
    n = sample.n
    squares = (scaled(x.linear).T @ scaled(y.linear) / n) ** 2
    cells = squares.size
    features = {
        "test_correlations": np.arcsinh(
            (n * squares.sum() - cells) / np.sqrt(2 * cells)
        ),
        "test_largest": np.arcsinh(n * squares.max() - 2 * np.log(cells + 1)),
    }
    if x.levels is not None and y.levels is not None:
        bins = (int(x.levels.max()) + 1, int(y.levels.max()) + 1)
        table = np.histogram2d(x.levels, y.levels, bins)[0]
        expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / n
        degrees = (bins[0] - 1) * (bins[1] - 1)
        is_filled = table > 0
        counts = table[is_filled]
        statistic = 2 * (counts * np.log(counts / expected[is_filled])).sum()
        features["test_table"] = np.arcsinh(
            (statistic - degrees) / np.sqrt(2 * max(degrees, 1))
        )
    return features
