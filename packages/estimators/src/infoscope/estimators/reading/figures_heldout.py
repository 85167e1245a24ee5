"""Figures of what is fitted to one half of a sample and evaluated on the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import xlogy

from infoscope.estimators.reading.figures_neighbours import estimates, neighbours
from infoscope.estimators.reading.figures_sample import (
    PreparedVariable,
    Sample,
    canonical,
    gaussian_information,
    untied,
)

LOCAL_NEAR, LOCAL_POINTS = 30, 300  # neighbours in a local covariance, and rows with one
TREE_COUNT, TREE_SETTINGS = 20, {"max_depth": 12, "min_samples_leaf": 5, "max_features": 1.0}
MAX_TREE_COLUMNS = 48  # inputs of trees: the columns most correlated with the target
MAX_TARGETS = 3  # columns of a variable up to which they are predicted themselves; else its leading components
LARGEST_CORRELATION = 1 - 1e-9

Values, Figures = np.ndarray, dict[str, float]
Numbers = tuple[Values, Values | None]


def held_out(sample: Sample, parts: Sequence[Callable[[Fold], Figures]]) -> Figures:
    """Figures of both folds, their means."""
    found: dict[str, list[float]] = {}
    columns = ([one.linear for one in sample.variables], [one.quadratic() for one in sample.variables])
    for train, test in sample.folds():
        if min(train.sum(), test.sum()) < 15:  # rows
            continue
        fold = Fold(sample, np.flatnonzero(train), np.flatnonzero(test), *columns)
        for part in parts:
            for name, value in part(fold).items():
                found.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def in_order(name: str, values: list[float]) -> Figures:
    """The larger and the smaller of two values, as `name`_more and `name`_fewer; nan where only one is known."""
    known = sorted(value for value in values if np.isfinite(value))
    more = {f"{name}_more": known[-1]} if known else {}
    return more | ({f"{name}_fewer": known[0]} if len(known) > 1 else {})


def information(correlation: Values | float) -> Values | float:
    """Information of normal variables with this correlation; 0 for negative ones."""
    return -0.5 * np.log1p(-(np.clip(correlation, 0, LARGEST_CORRELATION) ** 2))


class Fold:
    """Training and held-out rows of a sample, with its linear and its quadratic columns."""

    def __init__(self, sample: Sample, train: Values, test: Values, linear: list[Values], quadratic: list[Values]):
        self.sample, self.train, self.test, self.linear, self.quadratic = sample, train, test, linear, quadratic
        self.near = test[:1_500]  # rows in which neighbours are searched
        self.u, self.v = self._components(linear)
        self.richer = any(more is not less for more, less in zip(quadratic, linear))
        self.u2, self.v2 = self._components(quadratic) if self.richer else (self.u, self.v)

    def _components(self, columns: list[Values]) -> tuple[Values, Values]:
        """Canonical components [n, m] of all rows, with weights of the training rows."""
        x, y = columns
        a, b, _ = canonical(x[self.train], y[self.train], self.sample.generator)
        return x @ a, y @ b

    def ksg(self, *variables: Numbers) -> float:
        """KSG estimate from held-out rows of numbers, with ties broken at random, and codes."""
        rows, generator = self.near, self.sample.generator
        x, y = (
            (untied(points[rows], generator), None if codes is None else codes[rows]) for points, codes in variables
        )
        return float(estimates(x, y, self.sample.groups_of(rows), (5,))[0])

    def component_ksg(self, u: Values, v: Values, count: int) -> float:
        """KSG of the leading components; a label stays as it is."""
        none = np.empty((len(u), 0))
        given = zip(self.sample.variables, (u, v))
        return self.ksg(*((none, one.codes) if one.is_label else (w[:, :count], None) for one, w in given))

    def components(self) -> Figures:
        u, v, u2, v2, test = self.u, self.v, self.u2, self.v2, self.test
        first = [np.corrcoef(a[test, 0], b[test, 0])[0, 1] for a, b in ((u, v), (u2, v2))]
        found = {
            "heldout_gaussian": held_information(u[test], v[test]),
            "heldout_quadratic": held_information(u2[test], v2[test]),
            "heldout_first": float(information(first[0])),
            "heldout_quadratic_first": float(information(first[1])),
        }
        if len(self.sample.labels) == 2:
            return found
        for count in (1, 2, 3):
            found[f"component_ksg_{count}"] = self.component_ksg(u, v, count)
        for count in (1, 2):
            name = f"component_ksg_{count}"
            found[f"quadratic_ksg_{count}"] = self.component_ksg(u2, v2, count) if self.richer else found[name]
        return found | ({} if self.sample.labels else self._local_shape(u[:, :2], v[:, :2]))

    def _local_shape(self, u: Values, v: Values) -> Figures:
        """Gaussian information and anisotropy of neighbourhoods (cf. Gao, Ver Steeg & Galstyan 2015)."""
        rows, p = self.near, u.shape[1]
        if len(rows) < 2 * LOCAL_NEAR:
            return {}
        u, v = (untied(each[rows], self.sample.generator) for each in (u, v))
        ids = neighbours((u, None), (v, None), self.sample.groups_of(rows), (1,), LOCAL_NEAR).ids
        ids = ids[:LOCAL_POINTS][(ids[:LOCAL_POINTS] >= 0).all(axis=1)]
        if not len(ids):
            return {}
        around = np.hstack([u, v])[ids]
        around -= around.mean(axis=1, keepdims=True)
        covariance = np.einsum("rki,rkj->rij", around, around) / LOCAL_NEAR
        level = np.einsum("rii->r", covariance) / (2 * p)
        covariance = covariance / np.where(level > 0, level, 1)[:, None, None] + 1e-6 * np.eye(2 * p)
        logs = [np.linalg.slogdet(part)[1] for part in (covariance[:, :p, :p], covariance[:, p:, p:], covariance)]
        axes = np.linalg.eigvalsh(covariance)
        return {
            "local_gaussian": float(np.mean(logs[0] + logs[1] - logs[2]) / 2 - p * p / (2 * LOCAL_NEAR)),
            "local_anisotropy": float(np.mean(np.log(axes[:, -1] / axes[:, 0]))),
        }

    def pairs(self) -> Figures:
        """KSG of matched pairs of columns, by the correlations of values and of squares of the training rows."""
        variables = self.sample.variables
        if len(self.sample.labels) == 2:
            return {}
        strength = screening(variables, self.train)
        values = []
        for _ in range(min(4, *strength.shape)):  # pairs
            i, j = np.unravel_index(int(strength.argmax()), strength.shape)
            if strength[i, j] < 0:
                break
            values.append(self.ksg(*(_column(one, place) for one, place in zip(variables, (i, j)))))
            strength[i], strength[:, j] = -1, strength[:, j] if variables[1].is_label else -1
        return {"best_pair": values[0], "matched_pairs": float(np.sum(values))}

    def predictions(self) -> Figures:
        """Held-out predictions of each variable from the other by trees, of labels also by discriminants."""
        variables, found = self.sample.variables, {}
        if len(self.sample.labels) == 2:
            return {}
        by_trees, ksg = [], []
        components = ((self.u, self.u2), (self.v, self.v2))
        for place, one in enumerate(variables):
            other = 1 - place
            columns = self.linear[other]
            if one.is_label:
                found |= self._label(one, columns, components[other])
                continue
            target = self.target(place)
            predicted = self._trees(columns, np.hstack([target, target**2]))
            count = target.shape[1]
            held = target[self.test]
            by_trees.append(gaussian_information(predicted[:, :count], held))
            used = np.empty((self.sample.n, 2))
            used[self.test] = predicted[:, [0, count]] if count == 1 else predicted[:, :2]
            ksg.append(self.ksg((used, None), (target[:, :2], None)))
        return found | in_order("tree_prediction", by_trees) | in_order("tree_ksg", ksg)

    def target(self, place: int) -> Values:
        """What is predicted of a variable: the columns if they are few, else the leading components [n, targets]."""
        one = self.sample.variables[place]
        if one.codes is None and one.scores.shape[1] <= MAX_TARGETS:
            return one.scores
        return (self.u, self.v)[place][:, :MAX_TARGETS]

    def frequent(self, label: PreparedVariable) -> tuple[Values, Values]:
        """Codes [n] of a label with its rarer categories as one, and their shares."""
        sizes = np.bincount(label.codes)
        frequent = np.argsort(-sizes, kind="stable")[:48]  # the rarer ones are one class
        code_of = np.full(len(sizes), len(frequent))
        code_of[frequent] = np.arange(len(frequent))
        codes = code_of[label.codes]
        return codes, np.bincount(codes) / len(codes)

    def _trees(self, columns: Values, target: Values) -> Values:
        """Predictions [held-out rows, targets] of extremely randomised trees (Geurts, Ernst & Wehenkel 2006)."""
        from sklearn import config_context  # takes a second to import
        from sklearn.tree import ExtraTreeRegressor

        inputs = columns
        if columns.shape[1] > MAX_TREE_COLUMNS:
            centred = target[self.train] - target[self.train].mean(axis=0)
            strength = np.abs(columns[self.train].T @ centred).max(axis=1)
            inputs = columns[:, np.sort(np.argsort(-strength, kind="stable")[:MAX_TREE_COLUMNS])]
        seen, unseen = (np.ascontiguousarray(inputs[rows], dtype=np.float32) for rows in (self.train, self.test))
        wanted = np.ascontiguousarray(target[self.train], dtype=np.float64)
        total = np.zeros((len(unseen), wanted.shape[1]))
        draws = np.random.RandomState(self.sample.generator.integers(1 << 31, size=TREE_COUNT))  # for scikit-learn
        with config_context(skip_parameter_validation=True):  # which takes as long as a tree
            for _ in range(TREE_COUNT):
                tree = ExtraTreeRegressor(**TREE_SETTINGS, random_state=draws).fit(seen, wanted, check_input=False)
                total += tree.tree_.predict(unseen).reshape(total.shape)
        return total / TREE_COUNT

    def _label(self, label: PreparedVariable, columns: Values, components: tuple[Values, Values]) -> Figures:
        """Entropy of a label less held-out cross-entropies."""
        codes, prior = self.frequent(label)
        linear, quadratic = components
        predicted = self._trees(columns, np.eye(len(prior))[codes])
        return {
            "label_linear": self._discriminant(linear, codes, prior, True),
            "label_quadratic": self._discriminant(quadratic, codes, prior, False),
            "label_trees": gain(predicted, codes[self.test], prior),
        }

    def _discriminant(self, u: Values, codes: Values, prior: Values, pooled: bool) -> float:
        logs = _posteriors(u[self.train], codes[self.train], u[self.test], len(prior), pooled)
        logs -= logs.max(axis=1, keepdims=True)
        temperatures = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4)  # factors of log odds
        chances = (np.exp(factor * logs) for factor in temperatures)
        held = codes[self.test]
        return max(gain(each / each.sum(axis=1, keepdims=True), held, prior) for each in chances)


def screening(variables: tuple[PreparedVariable, PreparedVariable], rows: Values) -> Values:
    """Absolute correlations of columns [p, q] or of their squares, whichever is larger."""
    x, y = (one.scores[rows] if one.scores.shape[1] else one.linear[rows] for one in variables)
    plain = [(x, y), (x**2, y**2), (x, y**2), (x**2, y)]
    return np.max([np.abs(_correlations(a, b)) for a, b in plain], axis=0)


def _correlations(a: Values, b: Values) -> Values:
    a, b = ((each - each.mean(axis=0)) for each in (a, b))
    spreads = [np.sqrt(np.maximum((each**2).sum(axis=0), 1e-12)) for each in (a, b)]
    return (a / spreads[0]).T @ (b / spreads[1])


def _column(one: PreparedVariable, place: int) -> Numbers:
    return (one.scores, one.codes) if one.is_label else (one.scores[:, [place]], None)


def held_information(u: Values, v: Values) -> float:
    """Gaussian information of held-out components: the largest over the numbers of leading components."""
    return max(gaussian_information(u[:, :count], v[:, :count]) for count in range(1, u.shape[1] + 1))


def gain(chances: Values, codes: Values, prior: Values) -> float:
    """Entropy of frequencies less cross-entropy of probabilities [n, classes], mixed with the prior as is best."""
    own, base = np.maximum(chances[np.arange(len(codes)), codes], 0), prior[codes]
    totals = np.maximum(np.maximum(chances, 0).sum(axis=1), 1e-12)
    shares = (0.01, 0.05, 0.2, 0.5, 0.8, 1.0)  # of the prior
    logs = [np.log((1 - share) * own / totals + share * base).mean() for share in shares]
    return float(max(logs) - xlogy(prior, prior).sum())


def _posteriors(u: Values, codes: Values, test: Values, classes: int, pooled: bool) -> Values:
    """Log posterior [m, classes], up to a constant, of normal classes fitted to u [n, d], with shrunk covariances."""
    dim, counts = u.shape[1], np.bincount(codes, minlength=classes)
    means = np.array([np.bincount(codes, column, classes) for column in u.T]).T / np.maximum(counts, 1)[:, None]
    residuals = u - means[codes]
    within = residuals.T @ residuals / len(u) + 1e-3 * np.eye(dim)
    found = np.full((len(test), classes), -1e9)
    for label in np.flatnonzero(counts):
        covariance = within
        if not pooled:
            own = residuals[codes == label]
            weight = counts[label] / (counts[label] + 2 * dim + 2)
            covariance = (1 - weight) * within + weight * (own.T @ own / len(own))
        away = test - means[label]
        distance = (away * np.linalg.solve(covariance, away.T).T).sum(axis=1)
        found[:, label] = np.log(counts[label]) - distance / 2 - np.linalg.slogdet(covariance)[1] / 2
    return found
