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

MIN_FOLD_ROWS = 15
MAX_NEAR_ROWS = 1_500  # held-out rows among which neighbours are searched
LOCAL_NEAR = 30  # neighbours in a local covariance
LOCAL_POINTS = 300  # rows with a local covariance
TREE_COUNT = 20
TREE_SETTINGS = {"max_depth": 12, "min_samples_leaf": 5, "max_features": 1.0}
MAX_TREE_COLUMNS = 48  # inputs of trees: the columns most correlated with the target
# columns of a variable up to which they are predicted themselves; else its leading
# components
MAX_TARGETS = 3
MAX_FREQUENT = 48  # categories; the rarer ones are one class
MAX_PAIRS = 4  # matched pairs of columns
# factors of the log odds of discriminants
TEMPERATURES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4)
# of the prior in a mixture with predicted probabilities
PRIOR_SHARES = (0.01, 0.05, 0.2, 0.5, 0.8, 1.0)
LARGEST_CORRELATION = 1 - 1e-9

Values = np.ndarray
Figures = dict[str, float]
Numbers = tuple[Values, Values | None]


def held_out(sample: Sample, parts: Sequence[Callable[[Fold], Figures]]) -> Figures:
    """Figures of both folds, their means."""
    linear = [variable.linear for variable in sample.variables]
    quadratic = [variable.quadratic() for variable in sample.variables]
    values_of: dict[str, list[float]] = {}
    for train, test in sample.folds():
        if min(train.sum(), test.sum()) < MIN_FOLD_ROWS:
            continue
        fold = Fold(
            sample, np.flatnonzero(train), np.flatnonzero(test), linear, quadratic
        )
        for part in parts:
            for name, value in part(fold).items():
                values_of.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in values_of.items()}


def in_order(name: str, values: Sequence[float]) -> Figures:
    """The larger and the smaller of two values, as `name`_more and `name`_fewer; nan
    where only one is known.
    """
    finite = sorted(value for value in values if np.isfinite(value))
    features: Figures = {}
    if finite:
        features[f"{name}_more"] = finite[-1]
    if len(finite) > 1:
        features[f"{name}_fewer"] = finite[0]
    return features


def information(correlation: Values | float) -> Values | float:
    """Information of normal variables with this correlation; 0 for negative ones."""
    positive = np.clip(correlation, 0, LARGEST_CORRELATION)
    return -0.5 * np.log1p(-(positive**2))


class Fold:
    """Training and held-out rows of a sample, with its linear and its quadratic
    columns.
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
        self.has_squares = any(
            more is not less for more, less in zip(quadratic, linear)
        )
        self.u2, self.v2 = self.u, self.v
        if self.has_squares:
            self.u2, self.v2 = self._canonical_components(quadratic)

    def _canonical_components(self, columns: list[Values]) -> tuple[Values, Values]:
        """Canonical components [n, m] of all rows, with weights of the training rows."""
        x, y = columns
        weights_x, weights_y, _ = canonical(
            x[self.train], y[self.train], self.sample.generator
        )
        return x @ weights_x, y @ weights_y

    def ksg(self, *variables: Numbers) -> float:
        """KSG estimate from held-out rows of numbers, with ties broken at random, and
        codes.
        """
        near_variables = []
        for points, codes in variables:
            near_points = untied(points[self.near], self.sample.generator)
            near_codes = None if codes is None else codes[self.near]
            near_variables.append((near_points, near_codes))
        groups = self.sample.groups_of(self.near)
        return float(estimates(*near_variables, groups, (5,))[0])

    def _component_ksg(self, u: Values, v: Values, count: int) -> float:
        """KSG of the leading components; a label stays as it is."""
        variables: list[Numbers] = []
        for variable, components in zip(self.sample.variables, (u, v)):
            if variable.is_label:
                variables.append((variable.scores, variable.codes))
            else:
                variables.append((components[:, :count], None))
        return self.ksg(*variables)

    def components(self) -> Figures:
        """Information of canonical components on held-out rows."""
        features: Figures = {}
        for name, u, v in (
            ("gaussian", self.u, self.v),
            ("quadratic", self.u2, self.v2),
        ):
            features[f"heldout_{name}"] = held_information(u[self.test], v[self.test])
            correlation = np.corrcoef(u[self.test, 0], v[self.test, 0])[0, 1]
            first = "first" if name == "gaussian" else "quadratic_first"
            features[f"heldout_{first}"] = float(information(correlation))
        labels = self.sample.labels
        if len(labels) == 2:
            return features
        for count in (1, 2, 3):
            features[f"component_ksg_{count}"] = self._component_ksg(
                self.u, self.v, count
            )
        for count in (1, 2):
            value = features[f"component_ksg_{count}"]
            if self.has_squares:
                value = self._component_ksg(self.u2, self.v2, count)
            features[f"quadratic_ksg_{count}"] = value
        if not labels:
            features |= self._local_shape()
        return features

    def _local_shape(self) -> Figures:
        """Gaussian information and anisotropy of neighbourhoods (cf. Gao, Ver Steeg &
        Galstyan 2015).
        """
        rows = self.near
        if len(rows) < 2 * LOCAL_NEAR:
            return {}
        u = untied(self.u[rows, :2], self.sample.generator)
        v = untied(self.v[rows, :2], self.sample.generator)
        groups = self.sample.groups_of(rows)
        ids = neighbours((u, None), (v, None), groups, (1,), LOCAL_NEAR).ids[
            :LOCAL_POINTS
        ]
        ids = ids[(ids >= 0).all(axis=1)]
        if not len(ids):
            return {}
        dim = u.shape[1]
        deviations = np.hstack([u, v])[ids]
        deviations -= deviations.mean(axis=1, keepdims=True)
        covariance = np.einsum("rki,rkj->rij", deviations, deviations) / LOCAL_NEAR
        variance = np.einsum("rii->r", covariance) / (2 * dim)
        variance = np.where(variance > 0, variance, 1)
        covariance = covariance / variance[:, None, None] + 1e-6 * np.eye(2 * dim)
        log_det_x = np.linalg.slogdet(covariance[:, :dim, :dim])[1]
        log_det_y = np.linalg.slogdet(covariance[:, dim:, dim:])[1]
        log_det = np.linalg.slogdet(covariance)[1]
        bias = dim * dim / (2 * LOCAL_NEAR)
        axes = np.linalg.eigvalsh(covariance)
        return {
            "local_gaussian": float(
                np.mean(log_det_x + log_det_y - log_det) / 2 - bias
            ),
            "local_anisotropy": float(np.mean(np.log(axes[:, -1] / axes[:, 0]))),
        }

    def pairs(self) -> Figures:
        """KSG of matched pairs of columns, by the correlations of values and of squares
        of the training rows.
        """
        if len(self.sample.labels) == 2:
            return {}
        x, y = self.sample.variables
        strength = screening(self.sample.variables, self.train)
        values = []
        for _ in range(min(MAX_PAIRS, *strength.shape)):
            i, j = np.unravel_index(int(strength.argmax()), strength.shape)
            if strength[i, j] < 0:
                break
            values.append(self.ksg(_column(x, i), _column(y, j)))
            strength[i] = -1
            if not y.is_label:
                strength[:, j] = -1
        return {"best_pair": values[0], "matched_pairs": float(np.sum(values))}

    def predictions(self) -> Figures:
        """Held-out predictions of each variable from the other by trees, of labels also
        by discriminants.
        """
        if len(self.sample.labels) == 2:
            return {}
        features: Figures = {}
        gaussian, ksg = [], []
        for place, variable in enumerate(self.sample.variables):
            if variable.is_label:
                features |= self._label_gains(place)
                continue
            target = self._target(place)
            predicted = self._tree_predictions(
                self.linear[1 - place], np.hstack([target, target**2])
            )
            count = target.shape[1]
            gaussian.append(
                gaussian_information(predicted[:, :count], target[self.test])
            )
            searched = np.empty((self.sample.n, 2))
            # of one target the predictions of its value and of its square
            searched[self.test] = predicted[:, :2]
            ksg.append(self.ksg((searched, None), (target[:, :2], None)))
        return (
            features | in_order("tree_prediction", gaussian) | in_order("tree_ksg", ksg)
        )

    def _target(self, place: int) -> Values:
        """Targets [n, t] of predictions of a variable: its columns if they are few,
        else the leading components.
        """
        variable = self.sample.variables[place]
        if variable.codes is None and variable.scores.shape[1] <= MAX_TARGETS:
            return variable.scores
        components = (self.u, self.v)[place]
        return components[:, :MAX_TARGETS]

    def frequent(self, label: PreparedVariable) -> tuple[Values, Values]:
        """Codes [n] of a label with its rarer categories as one, and their shares."""
        sizes = np.bincount(label.codes)
        frequent = np.argsort(-sizes, kind="stable")[:MAX_FREQUENT]
        code_of = np.full(len(sizes), len(frequent))
        code_of[frequent] = np.arange(len(frequent))
        codes = code_of[label.codes]
        return codes, np.bincount(codes) / len(codes)

    def _tree_predictions(self, columns: Values, target: Values) -> Values:
        """Mean predictions of trees [held-out rows, targets]."""
        targets = target[self.train]
        covariances = columns[self.train].T @ (targets - targets.mean(axis=0))
        strength = np.abs(covariances).max(axis=1)
        inputs = columns[:, strongest(strength, MAX_TREE_COLUMNS)]
        draws = tree_draws(self.sample.generator, TREE_COUNT)
        total = summed_trees(
            inputs[self.train], targets, inputs[self.test], TREE_COUNT, draws
        )
        return total / TREE_COUNT

    def _label_gains(self, place: int) -> Figures:
        """Entropy of a label less held-out cross-entropies of predictions from the
        other variable.
        """
        codes, prior = self.frequent(self.sample.variables[place])
        linear = (self.v, self.u)[place]
        quadratic = (self.v2, self.u2)[place]
        predicted = self._tree_predictions(
            self.linear[1 - place], np.eye(len(prior))[codes]
        )
        return {
            "label_linear": self._discriminant(linear, codes, prior, True),
            "label_quadratic": self._discriminant(quadratic, codes, prior, False),
            "label_trees": gain(predicted, codes[self.test], prior),
        }

    def _discriminant(
        self, u: Values, codes: Values, prior: Values, pooled: bool
    ) -> float:
        """Held-out gain of a linear (pooled covariance) or quadratic discriminant."""
        logs = _posteriors(
            u[self.train], codes[self.train], u[self.test], len(prior), pooled
        )
        return best_gain(logs, TEMPERATURES, codes[self.test], prior)


def strongest(strength: Values, count: int) -> Values:
    """Places, ascending, of the largest values."""
    return np.sort(np.argsort(-strength, kind="stable")[:count])


def tree_draws(generator: np.random.Generator, count: int) -> np.random.RandomState:
    """A generator for scikit-learn."""
    return np.random.RandomState(generator.integers(1 << 31, size=count))


def summed_trees(
    inputs: Values,
    targets: Values,
    test_inputs: Values,
    count: int,
    draws: np.random.RandomState,
) -> Values:
    """Sums of the predictions [test rows, targets] of extremely randomised trees
    (Geurts, Ernst & Wehenkel 2006).
    """
    from sklearn import config_context  # takes a second to import
    from sklearn.tree import ExtraTreeRegressor

    inputs = np.ascontiguousarray(inputs, dtype=np.float32)
    test_inputs = np.ascontiguousarray(test_inputs, dtype=np.float32)
    targets = np.ascontiguousarray(targets, dtype=np.float64)
    total = np.zeros((len(test_inputs), targets.shape[1]))
    # which takes as long as a tree
    with config_context(skip_parameter_validation=True):
        for _ in range(count):
            tree = ExtraTreeRegressor(**TREE_SETTINGS, random_state=draws)
            tree.fit(inputs, targets, check_input=False)
            total += tree.tree_.predict(test_inputs).reshape(total.shape)
    return total


def screening(
    variables: tuple[PreparedVariable, PreparedVariable], rows: Values
) -> Values:
    """Absolute correlations of columns [p, q] or of their squares, whichever is larger."""
    x, y = (
        variable.linear if variable.is_label else variable.scores
        for variable in variables
    )
    x = x[rows]
    y = y[rows]
    columns_x = (_unit(x), _unit(x**2))
    columns_y = (_unit(y), _unit(y**2))
    return np.max([np.abs(a.T @ b) for a in columns_x for b in columns_y], axis=0)


def _unit(columns: Values) -> Values:
    """Columns of mean 0 and length 1."""
    centred = columns - columns.mean(axis=0)
    return centred / np.sqrt(np.maximum((centred**2).sum(axis=0), 1e-12))


def _column(variable: PreparedVariable, place: int) -> Numbers:
    """One column of numbers, or a label."""
    if variable.is_label:
        return variable.scores, variable.codes
    return variable.scores[:, [place]], None


def held_information(u: Values, v: Values) -> float:
    """Gaussian information of held-out components: the largest over the numbers of
    leading components.
    """
    counts = range(1, u.shape[1] + 1)
    return max(gaussian_information(u[:, :count], v[:, :count]) for count in counts)


def gain(chances: Values, codes: Values, prior: Values) -> float:
    """Entropy of frequencies less cross-entropy of probabilities [n, classes], mixed
    with the prior as is best.
    """
    chances = np.maximum(chances, 0)
    totals = np.maximum(chances.sum(axis=1), 1e-12)
    chance = chances[np.arange(len(codes)), codes]
    frequency = prior[codes]
    logs = [
        np.log((1 - share) * chance / totals + share * frequency).mean()
        for share in PRIOR_SHARES
    ]
    return float(max(logs) - xlogy(prior, prior).sum())


def best_gain(
    logs: Values,
    temperatures: Sequence[float],
    codes: Values,
    prior: Values,
    weights: Values | float = 1.0,
) -> float:
    """The largest gain of probabilities in proportion to weights * exp(temperature *
    logs).
    """
    logs = logs - logs.max(axis=1, keepdims=True)
    gains = []
    for temperature in temperatures:
        odds = weights * np.exp(temperature * logs)
        chances = odds / odds.sum(axis=1, keepdims=True)
        gains.append(gain(chances, codes, prior))
    return max(gains)


def _posteriors(
    u: Values, codes: Values, test: Values, classes: int, pooled: bool
) -> Values:
    """Log posterior [m, classes], up to a constant, of normal classes fitted to u [n,
    d], with shrunk covariances.
    """
    dim = u.shape[1]
    counts = np.bincount(codes, minlength=classes)
    sums = np.stack([np.bincount(codes, column, classes) for column in u.T], axis=1)
    means = sums / np.maximum(counts, 1)[:, None]
    residuals = u - means[codes]
    within = residuals.T @ residuals / len(u) + 1e-3 * np.eye(dim)
    logs = np.full((len(test), classes), -1e9)
    for label in np.flatnonzero(counts):
        covariance = within
        if not pooled:
            members = residuals[codes == label]
            weight = counts[label] / (counts[label] + 2 * dim + 2)
            covariance = (1 - weight) * within + weight * (
                members.T @ members / len(members)
            )
        deviations = test - means[label]
        distance = (deviations * np.linalg.solve(covariance, deviations.T).T).sum(
            axis=1
        )
        log_det = np.linalg.slogdet(covariance)[1]
        logs[:, label] = np.log(counts[label]) - distance / 2 - log_det / 2
    return logs
