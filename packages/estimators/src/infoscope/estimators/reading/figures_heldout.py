"""Figures of what is fitted to one half of a sample and evaluated on the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_not

import numpy as np
from scipy.special import xlogy

from infoscope.estimators.reading.figures_neighbours import (
    Numbers,
    estimates,
    neighbours,
)
from infoscope.estimators.reading.figures_sample import (
    PreparedVariable,
    Sample,
    Values,
    canonical,
    gaussian_information,
    normal_information,
    untied,
)

MIN_FOLD_ROWS = 15
MAX_NEAR_ROWS = 1_500  # held-out rows among which neighbours are searched
LOCAL_NEAR = 30  # neighbours in a local covariance
LOCAL_POINTS = 300  # rows with a local covariance
TREE_COUNT = 20
TREE_SETTINGS = {"max_depth": 12, "min_samples_leaf": 5, "max_features": 1.0}
MAX_TREE_COLUMNS = 48  # inputs of trees: the columns most correlated with the target
MAX_TARGETS = 3  # predicted columns of a variable; of more, its leading components
MAX_FREQUENT = 48  # categories; the rarer ones are one class
MAX_PAIRS = 4  # matched pairs of columns
# factors of the log odds of discriminants
TEMPERATURES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4)
# of the prior in a mixture with predicted probabilities
PRIOR_SHARES = (0.01, 0.05, 0.2, 0.5, 0.8, 1.0)
LARGEST_CORRELATION = 1 - 1e-9

Figures = dict[str, float]


def held_out(sample: Sample, parts: Sequence[Callable[[Fold], Figures]]) -> Figures:
    """The figures of some parts, means over both folds."""
    linear = [variable.linear for variable in sample.variables]
    quadratic = [variable.quadratic() for variable in sample.variables]
    values_of: dict[str, list[float]] = {}
    for is_train, is_test in sample.folds():
        train = np.flatnonzero(is_train)
        test = np.flatnonzero(is_test)
        if min(len(train), len(test)) < MIN_FOLD_ROWS:
            continue
        fold = Fold(sample, train, test, linear, quadratic)
        for part in parts:
            for name, value in part(fold).items():
                values_of.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in values_of.items()}


def in_order(name: str, values: Sequence[float]) -> Figures:
    """The larger and the smaller of two values, as `name`_more and `name`_fewer.

    A single finite value is `name`_more.
    """
    finite = sorted(value for value in values if np.isfinite(value))
    features: Figures = {}
    if finite:
        features[f"{name}_more"] = finite[-1]
    if len(finite) > 1:
        features[f"{name}_fewer"] = finite[0]
    return features


def information(correlation: float) -> float:
    """Information of normal variables with this correlation; 0 for negative ones."""
    positive = np.clip(correlation, 0, LARGEST_CORRELATION)
    return float(-0.5 * np.log1p(-(positive**2)))


class Fold:
    """Training and held-out rows of a sample, and canonical components of all rows.

    train, test  int, rows (indices)
    linear       the linear columns of both variables, float64 [n, p] and [n, q]
    u, v         their canonical components, float64 [n, m], fitted to the training rows
    u2, v2       the canonical components of the quadratic columns
    """

    def __init__(
        self,
        sample: Sample,
        train: Values,
        test: Values,
        linear: list[Values],
        quadratic: list[Values],
    ):
        self.sample = sample
        self.train = train
        self.test = test
        self.linear = linear
        self.near = test[:MAX_NEAR_ROWS]
        self.u, self.v = self._canonical_components(linear)
        self.u2, self.v2 = self.u, self.v
        self.has_squares = any(map(is_not, quadratic, linear))
        if self.has_squares:
            self.u2, self.v2 = self._canonical_components(quadratic)

    def _canonical_components(self, columns: list[Values]) -> tuple[Values, Values]:
        """Canonical components [n, m] of all rows, fitted to the training rows."""
        x, y = columns
        generator = self.sample.generator
        weights_x, weights_y, _ = canonical(x[self.train], y[self.train], generator)
        return x @ weights_x, y @ weights_y

    def ksg(self, x: Numbers, y: Numbers) -> float:
        """KSG estimate from held-out rows of numbers and codes, k = 5.

        Ties of numbers are broken at random.
        """
        near_variables = []
        for points, codes in (x, y):
            near_points = untied(points[self.near], self.sample.generator)
            near_codes = None if codes is None else codes[self.near]
            near_variables.append((near_points, near_codes))
        near_x, near_y = near_variables
        groups = self.sample.groups_of(self.near)
        return float(estimates(near_x, near_y, groups, (5,))[0])

    def _component_ksg(self, u: Values, v: Values, count: int) -> float:
        """KSG of `count` leading components of each variable; labels stay labels."""
        x, y = self.sample.variables
        leading_x = _as_label(x, u[:, :count])
        leading_y = _as_label(y, v[:, :count])
        return self.ksg(leading_x, leading_y)

    def components(self) -> Figures:
        """Information of canonical components on held-out rows."""
        features: Figures = {}
        for u, v, name, first_name in (
            (self.u, self.v, "heldout_gaussian", "heldout_first"),
            (self.u2, self.v2, "heldout_quadratic", "heldout_quadratic_first"),
        ):
            u = u[self.test]
            v = v[self.test]
            features[name] = held_information(u, v)
            correlations = np.corrcoef(u[:, 0], v[:, 0])
            features[first_name] = information(correlations[0, 1])
        labels = self.sample.labels
        if len(labels) == 2:
            return features
        for count in (1, 2, 3):
            value = self._component_ksg(self.u, self.v, count)
            features[f"component_ksg_{count}"] = value
        for count in (1, 2):
            value = features[f"component_ksg_{count}"]
            if self.has_squares:
                value = self._component_ksg(self.u2, self.v2, count)
            features[f"quadratic_ksg_{count}"] = value
        if not labels:
            features |= self._local_shape()
        return features

    def _local_shape(self) -> Figures:
        """Gaussian information and anisotropy of neighbourhoods.

        Cf. Gao, Ver Steeg & Galstyan (2015).
        """
        rows = self.near
        if len(rows) < 2 * LOCAL_NEAR:
            return {}
        u = untied(self.u[rows, :2], self.sample.generator)
        v = untied(self.v[rows, :2], self.sample.generator)
        groups = self.sample.groups_of(rows)
        nearest = neighbours((u, None), (v, None), groups, (1,), LOCAL_NEAR)
        ids = nearest.ids[:LOCAL_POINTS]
        is_complete = (ids >= 0).all(axis=1)
        if not is_complete.any():
            return {}
        dim = u.shape[1]
        points = np.hstack([u, v])
        deviations = points[ids[is_complete]]
        deviations -= deviations.mean(axis=1, keepdims=True)
        covariance = np.einsum("rki,rkj->rij", deviations, deviations) / LOCAL_NEAR
        variance = np.einsum("rii->r", covariance) / (2 * dim)
        covariance /= np.where(variance > 0, variance, 1)[:, None, None]
        covariance += 1e-6 * np.eye(2 * dim)
        bias = dim * dim / (2 * LOCAL_NEAR)
        axes = np.linalg.eigvalsh(covariance)
        log_ratios = np.log(axes[:, -1] / axes[:, 0])
        return {
            "local_gaussian": float(normal_information(covariance, dim).mean() - bias),
            "local_anisotropy": float(log_ratios.mean()),
        }

    def pairs(self) -> Figures:
        """KSG of matched pairs of columns on held-out rows.

        Pairs are matched by correlations of values and of squares in training rows.
        """
        if len(self.sample.labels) == 2:
            return {}
        x, y = self.sample.variables
        strength = screening(self.sample.variables, self.train)
        values = []
        for _ in range(min(MAX_PAIRS, *strength.shape)):
            i, j = np.unravel_index(strength.argmax(), strength.shape)
            if strength[i, j] < 0:
                break
            column_x = x.scores[:, i : i + 1]
            column_y = y.scores[:, j : j + 1]
            value = self.ksg(_as_label(x, column_x), _as_label(y, column_y))
            values.append(value)
            strength[i] = -1
            if not y.is_label:
                strength[:, j] = -1
        return {"best_pair": values[0], "matched_pairs": float(np.sum(values))}

    def predictions(self) -> Figures:
        """Information of held-out predictions of each variable from the other.

        Predictions are by trees; labels are also predicted by discriminants.
        """
        if len(self.sample.labels) == 2:
            return {}
        features: Figures = {}
        gaussian = []
        ksg = []
        for place, variable in enumerate(self.sample.variables):
            codes = variable.codes
            if codes is not None and variable.is_label:
                features |= self._label_gains(codes)
                continue
            target = self._target(place)
            targets = np.hstack([target, target**2])
            predicted = self._tree_predictions(self.linear[1 - place], targets)
            values = predicted[:, : target.shape[1]]
            gaussian.append(gaussian_information(values, target[self.test]))
            # of one target the predictions of its value and of its square
            searched = np.empty((self.sample.n, 2))
            searched[self.test] = predicted[:, :2]
            first_targets = target[:, :2]
            ksg.append(self.ksg((searched, None), (first_targets, None)))
        features |= in_order("tree_prediction", gaussian)
        return features | in_order("tree_ksg", ksg)

    def _target(self, place: int) -> Values:
        """Targets [n, t] of predictions of a variable: few columns, or components."""
        variable = self.sample.variables[place]
        if variable.codes is None and variable.scores.shape[1] <= MAX_TARGETS:
            return variable.scores
        components = (self.u, self.v)[place]
        return components[:, :MAX_TARGETS]

    def _tree_predictions(self, columns: Values, target: Values) -> Values:
        """Mean predictions of trees [held-out rows, targets]."""
        targets = target[self.train]
        centred = targets - targets.mean(axis=0)
        covariances = columns[self.train].T @ centred
        strength = np.abs(covariances).max(axis=1)
        inputs = columns[:, strongest(strength, MAX_TREE_COLUMNS)]
        train = inputs[self.train]
        test = inputs[self.test]
        draws = tree_draws(self.sample.generator, TREE_COUNT)
        return summed_trees(train, targets, test, TREE_COUNT, draws) / TREE_COUNT

    def _label_gains(self, label: Values) -> Figures:
        """Gains of predictions of the second variable, a label [n], from the first."""
        codes, prior = frequent(label)
        indicators = np.eye(len(prior))[codes]
        predicted = self._tree_predictions(self.linear[0], indicators)
        return {
            "label_linear": self._discriminant(self.u, codes, prior, True),
            "label_quadratic": self._discriminant(self.u2, codes, prior, False),
            "label_trees": gain(predicted, codes[self.test], prior),
        }

    def _discriminant(
        self, u: Values, codes: Values, prior: Values, pooled: bool
    ) -> float:
        """Held-out gain of a linear (pooled covariance) or quadratic discriminant."""
        train = u[self.train]
        test = u[self.test]
        logs = _posteriors(train, codes[self.train], test, len(prior), pooled)
        return best_gain(logs, TEMPERATURES, codes[self.test], prior)


def frequent(label: Values) -> tuple[Values, Values]:
    """Codes [n] of a label with its rarer categories joined, and their shares."""
    sizes = np.bincount(label)
    order = np.argsort(-sizes, kind="stable")[:MAX_FREQUENT]
    code_of = np.full(len(sizes), len(order))
    code_of[order] = np.arange(len(order))
    codes = code_of[label]
    return codes, np.bincount(codes) / len(codes)


def strongest(strength: Values, count: int) -> Values:
    """Places, ascending, of the largest values."""
    descending = np.argsort(-strength, kind="stable")
    return np.sort(descending[:count])


def tree_draws(generator: np.random.Generator, count: int) -> np.random.RandomState:
    """A generator for scikit-learn."""
    seeds = generator.integers(1 << 31, size=count)
    return np.random.RandomState(seeds)


def summed_trees(
    inputs: Values,
    targets: Values,
    test_inputs: Values,
    count: int,
    draws: np.random.RandomState,
) -> Values:
    """Sums of the predictions of `count` trees [test rows, targets].

    Trees are extremely randomised (Geurts, Ernst & Wehenkel 2006).
    """
    from sklearn import config_context  # takes a second to import
    from sklearn.tree import ExtraTreeRegressor

    inputs = np.ascontiguousarray(inputs, dtype=np.float32)
    test_inputs = np.ascontiguousarray(test_inputs, dtype=np.float32)
    targets = np.ascontiguousarray(targets, dtype=np.float64)
    total = np.zeros((len(test_inputs), targets.shape[1]))
    # validation takes as long as a tree
    with config_context(skip_parameter_validation=True):
        for _ in range(count):
            tree = ExtraTreeRegressor(**TREE_SETTINGS, random_state=draws)
            tree.fit(inputs, targets, check_input=False)
            total += tree.tree_.predict(test_inputs).reshape(total.shape)
    return total


def screening(
    variables: tuple[PreparedVariable, PreparedVariable], rows: Values
) -> Values:
    """Strength of each pair of columns [p, q] in some rows.

    It is the absolute correlation of values or of squares, the largest of the four.
    """
    columns = []
    for variable in variables:
        values = variable.linear if variable.is_label else variable.scores
        columns.append(values[rows])
    x, y = columns
    columns_y = (_unit(y), _unit(y**2))
    correlations = []
    for column_x in (_unit(x), _unit(x**2)):
        for column_y in columns_y:
            correlations.append(np.abs(column_x.T @ column_y))
    return np.max(correlations, axis=0)


def _unit(columns: Values) -> Values:
    """Columns of mean 0 and length 1."""
    centred = columns - columns.mean(axis=0)
    squares = (centred**2).sum(axis=0)
    return centred / np.sqrt(np.maximum(squares, 1e-12))


def _as_label(variable: PreparedVariable, columns: Values) -> Numbers:
    """The numbers and codes of a label, else these columns instead of the variable."""
    if variable.is_label:
        return variable.scores, variable.codes
    return columns, None


def held_information(u: Values, v: Values) -> float:
    """Gaussian information of the best number of leading held-out components, nats."""
    counts = range(1, u.shape[1] + 1)
    return max(gaussian_information(u[:, :count], v[:, :count]) for count in counts)


def gain(chances: Values, codes: Values, prior: Values) -> float:
    """Entropy of the classes less cross-entropy of predicted probabilities, nats.

    The probabilities [n, classes] are mixed with the prior by the best share.
    """
    chances = np.maximum(chances, 0)
    totals = np.maximum(chances.sum(axis=1), 1e-12)
    chance = chances[np.arange(len(codes)), codes]
    frequency = prior[codes]
    means = []
    for share in PRIOR_SHARES:
        mixed = (1 - share) * chance / totals + share * frequency
        means.append(np.log(mixed).mean())
    entropy = -xlogy(prior, prior).sum()
    return float(max(means) + entropy)


def best_gain(
    logs: Values,
    temperatures: Sequence[float],
    codes: Values,
    prior: Values,
    weights: Values | float = 1.0,
) -> float:
    """The largest gain, over temperatures, of probabilities from log odds `logs`.

    Probabilities are in proportion to weights * exp(temperature * logs).
    """
    logs = logs - logs.max(axis=1, keepdims=True)
    gains = []
    for temperature in temperatures:
        odds = weights * np.exp(temperature * logs)
        chances = odds / odds.sum(axis=1, keepdims=True)
        gains.append(gain(chances, codes, prior))
    return max(gains)


def class_means(columns: Values, codes: Values, counts: Values) -> Values:
    """Means [classes, p] of columns [n, p] by class; 0 for classes without rows."""
    sums = [np.bincount(codes, column, len(counts)) for column in columns.T]
    sizes = np.maximum(counts, 1)
    return np.stack(sums, axis=1) / sizes[:, None]


def _posteriors(
    u: Values, codes: Values, test: Values, classes: int, pooled: bool
) -> Values:
    """Log posteriors [m, classes] of test rows, up to a constant.

    Classes are normal, fitted to u [n, d], with shrunk covariances.
    """
    dim = u.shape[1]
    counts = np.bincount(codes, minlength=classes)
    means = class_means(u, codes, counts)
    residuals = u - means[codes]
    within = residuals.T @ residuals / len(u)
    within += 1e-3 * np.eye(dim)
    logs = np.full((len(test), classes), -1e9)
    for label in np.flatnonzero(counts):
        covariance = within
        if not pooled:
            members = residuals[codes == label]
            of_class = members.T @ members / len(members)
            count = counts[label]
            weight = count / (count + 2 * dim + 2)
            covariance = (1 - weight) * within + weight * of_class
        deviations = test - means[label]
        standardised = np.linalg.solve(covariance, deviations.T).T
        distance = (deviations * standardised).sum(axis=1)
        log_det = np.linalg.slogdet(covariance).logabsdet
        logs[:, label] = np.log(counts[label]) - distance / 2 - log_det / 2
    return logs
