"""Figures for many columns: regressions and discriminants fitted to parts of a sample, as a curve of learning."""

from __future__ import annotations

import numpy as np

from infoscope.estimators.reading.figures_heldout import MAX_TARGETS, Fold, gain, held_information
from infoscope.estimators.reading.figures_sample import Sample, Values, canonical, gaussian_information, leading, scaled

PENALTIES = (1e-3, 3e-2, 1.0)  # of ridge regressions, in variances of a column
SELECTED = 10  # columns that are most correlated with a target
MIN_ROWS = 15  # of a training set
TEMPERATURES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)  # factors of log odds, which dependent columns exaggerate
PARTS = {"": 1, "_half": 2, "_quarter": 4}  # end of a name, and which part of the training rows

Figures = dict[str, float]


def learning_curve(fold: Fold) -> Figures:
    """Held-out information of components, regressions and discriminants, of all training rows, a half and a quarter."""
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
    a, b, _ = canonical(x[train], y[train], fold.sample.generator)
    return held_information(x[fold.test] @ a, y[fold.test] @ b)


def _predicted(fold: Fold, train: Values) -> Figures:
    """Information of held-out predictions of the label, or of the variable of fewer columns, from the other one."""
    place = min((0, 1), key=lambda place: fold.linear[place].shape[1])
    if fold.sample.labels:
        place = fold.sample.variables.index(fold.sample.labels[-1])
    target, columns = fold.sample.variables[place], fold.linear[1 - place]
    if target.is_label:
        codes, prior = fold.frequent(target)
        if len(np.unique(codes[train])) < 2:
            return {}
        return {
            "label_bayes": _bayes(columns, codes, prior, train, fold.test),
            "label_sparse": _bayes(columns[:, _selected(columns, np.eye(len(prior))[codes], train)], codes, prior,
                                   train, fold.test),
        }  # fmt: skip
    values = leading(fold.linear[place], MAX_TARGETS)
    few = _selected(columns, values, train)
    ridge, predicted = _ridge(columns, values, train, fold.test)
    sparse, _ = _ridge(columns[:, few], values, train, fold.test)
    features = {"ridge": ridge, "ridge_sparse": sparse}
    if len(train) == len(fold.train):
        used = np.zeros_like(values)
        used[fold.test] = predicted
        predictions, largest = used[:, -2:], values[:, -2:]  # the largest components are last
        features["ridge_ksg"] = fold.ksg((predictions, None), (largest, None))
    return features


def _selected(columns: Values, target: Values, train: Values) -> Values:
    """The columns that are most correlated with a target column, in training rows."""
    strength = np.abs(scaled(columns[train]).T @ scaled(target[train])).max(axis=1)
    return np.sort(np.argsort(-strength, kind="stable")[:SELECTED])


def _ridge(columns: Values, target: Values, train: Values, test: Values) -> tuple[float, Values]:
    """Gaussian information of held-out ridge predictions and their target, of the best penalty, and the predictions."""
    x, y = columns[train], target[train]
    n, p = x.shape
    dual = p > n
    gram = (x @ x.T if dual else x.T @ x) / n
    level = max(np.trace(gram) / len(gram), 1e-9)
    best, predicted = np.nan, np.zeros((len(test), y.shape[1]))
    for penalty in PENALTIES:
        matrix = gram + penalty * level * np.eye(len(gram))
        weights = x.T @ np.linalg.solve(matrix, y / n) if dual else np.linalg.solve(matrix, x.T @ y / n)
        candidate = columns[test] @ weights
        value = gaussian_information(candidate, target[test])
        if not value <= best:
            best, predicted = value, candidate
    return best, predicted


def _bayes(columns: Values, codes: Values, prior: Values, train: Values, test: Values) -> float:
    """Held-out gain of normal classes with independent columns of common variance (naive Bayes)."""
    counts = np.bincount(codes[train], minlength=len(prior))
    sums = np.stack([np.bincount(codes[train], column, len(prior)) for column in columns[train].T], axis=1)
    means = sums / np.maximum(counts, 1)[:, None]
    variance = ((columns[train] - means[codes[train]]) ** 2).mean(axis=0) + 1e-3
    scaled_means = means / variance
    logs = columns[test] @ scaled_means.T - (scaled_means * means).sum(axis=1) / 2
    logs[:, counts == 0] = -1e9
    logs -= logs.max(axis=1, keepdims=True)
    chances = ((counts + 0.5) * np.exp(factor * logs) for factor in TEMPERATURES)
    return max(gain(each / each.sum(axis=1, keepdims=True), codes[test], prior) for each in chances)


def surfaces(sample: Sample) -> Figures:
    """How little each column varies among rows that are alike in the other columns of its variable.

    The log ratio of its differences between nearest neighbours to those between any rows, of the least column: about 0
    for independent columns, far below for one that is computed from the others.
    """
    from scipy.spatial import cKDTree

    rows = sample.generator.permutation(sample.n)[:500]
    least = []
    for variable in sample.variables:
        points = variable.scores[rows]
        if not 2 <= points.shape[1] <= 12 or len(rows) < 2 * MIN_ROWS:
            least.append(np.nan)
            continue
        ratios = []
        for place, column in enumerate(points.T):
            _, ids = cKDTree(np.delete(points, place, axis=1)).query(np.delete(points, place, axis=1), 2)
            near = np.median(np.abs(column - column[ids[:, 1]]))
            far = np.median(np.abs(column - np.roll(column, 1)))
            ratios.append(np.log((near + 1e-4) / (far + 1e-4)))
        least.append(min(ratios))
    measured = sorted(value for value in least if np.isfinite(value))
    return {"surface_more": measured[0], "surface_fewer": measured[-1]} if measured else {}


def tests(sample: Sample) -> Figures:
    """Statistics of tests of independence, in standard deviations of their distribution without information."""
    x, y = (variable.linear for variable in sample.variables)
    n, cells = sample.n, x.shape[1] * y.shape[1]
    strength = (scaled(x).T @ scaled(y) / n) ** 2
    statistics = {
        "test_correlations": np.arcsinh((n * strength.sum() - cells) / np.sqrt(2 * cells)),
        "test_largest": np.arcsinh(n * strength.max() - 2 * np.log(cells + 1)),
    }
    codes = [variable.levels for variable in sample.variables]
    if all(code is not None for code in codes):
        table = np.histogram2d(*codes, bins=[int(code.max()) + 1 for code in codes])[0]
        expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / n
        free = (table.shape[0] - 1) * (table.shape[1] - 1)
        filled = table > 0
        statistic = 2 * (table[filled] * np.log(table[filled] / expected[filled])).sum()
        statistics["test_table"] = np.arcsinh((statistic - free) / np.sqrt(2 * max(free, 1)))
    return statistics
