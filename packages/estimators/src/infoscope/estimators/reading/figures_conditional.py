"""Figures of x, y and z, from which the conditional reader predicts I(x; y | z) and its
interval.

Regressions of x and of y on z leave residuals, each of a row that was left out of the
fit. x and y are also predicted from z together with the other one. A regression that
still improves with more rows leaves a confounder in the residuals. All figures are of
normal scores and indicators of categories; a figure that differs between x and y is
kept as the larger and the smaller value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from infoscope.errors import InfoscopeError
from infoscope.estimators import discrete
from infoscope.estimators.derived import without_combinations, without_functions
from infoscope.estimators.knn.estimators import conditional_mutual_information
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.reading import figures_memory
from infoscope.estimators.reading.figures_heldout import (
    MAX_TARGETS,
    Figures,
    Numbers,
    in_order,
    strongest,
    summed_trees,
    tree_draws,
)
from infoscope.estimators.reading.figures_neighbours import estimates
from infoscope.estimators.reading.figures_sample import (
    PreparedVariable,
    Sample,
    Values,
    canonical,
    correlation_test,
    gaussian_information,
    leading,
    prepare,
    prepared,
    scaled,
    untied,
)
from infoscope.estimators.variables import Variable, join, joint_codes

VERSION = 3
MAX_ROWS = 5_000
MAX_NEAR = 2_000  # rows among which neighbours in all columns are searched
# columns of x or y that are regressed on z; of more, principal components
MAX_REGRESSED = 24
# added to variances of residuals; smaller variances, as of copies, are not distinguished
LEAST_VARIANCE = 5e-3
WAVES = 60  # random waves of several columns at each rate
RATES = (0.4, 1.2)
KNOTS = (-1.0, 0.0, 1.0)  # of hinges of one column
# of ridge regressions, in mean variances of a column
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
TREES = 8  # of a fold
TREE_FOLDS = 3
MAX_INPUTS = 32  # columns that trees split
SHUFFLES = 10  # of y within the categories of z
LOWER_BOUNDS = ("gain_smooth_more", "gain_trees_more", "residual_trees")

MEANING: Mapping[str, str] = {
    "lower_bound": "mean of the gains of held-out predictions and of the information of residuals, at least 0",
    "log_rows": "log of the number of rows (at most 5,000)",
    "log_rows_per_group": "0: of every group a row is taken",
    "numbers_more": "log(1 + numeric columns) of the variable with more",
    "numbers_fewer": "log(1 + numeric columns) of the variable with fewer",
    "conditions": "log(1 + columns of z), indicators of categories included",
    "conditions_labels": "share of the columns of z that are indicators of categories",
    "labels": "how many of x and y are categories alone",
    "entropy_more": "entropy of the categories of x or y, larger",
    "entropy_fewer": "entropy of the categories of x or y, smaller",
    "tied_more": "share of repeated values of x or y, larger",
    "tied_fewer": "share of repeated values of x or y, smaller",
    "tied_conditions": "share of repeated values of z",
    "linear_more": "information of z about x or y by ridge regression on columns, larger",
    "linear_fewer": "the same, smaller",
    "smooth_more": "information of z about x or y by smooth functions, larger",
    "smooth_fewer": "the same, smaller",
    "half_more": "information of z about x or y by smooth functions fitted to half of the rows, larger",
    "half_fewer": "the same, smaller",
    "trees_more": "information of z about x or y by trees after smooth functions, larger",
    "trees_fewer": "the same, smaller",
    "scale_more": "information of z about squared residuals of x or y, larger",
    "scale_fewer": "the same, smaller",
    "residual_linear": "information of normal residuals of ridge regressions",
    "residual_smooth": "information of normal residuals of smooth functions",
    "residual_half": "information of normal residuals of smooth functions fitted to half of the rows",
    "residual_trees": "information of normal residuals after trees",
    "residual_scale": "information of normal residuals divided by their predicted scale",
    "residual_squares": "largest correlation of squared residuals",
    "residual_test": "sum of squared correlations of residuals, standardised",
    "residual_ksg": "KSG of residuals after trees, k = 5",
    "residual_scale_ksg": "KSG of residuals divided by their predicted scale, k = 5",
    "residual_permuted": "KSG of residuals of permuted rows, k = 5",
    "gain_smooth_more": "information about x or y gained by adding the other to z, smooth functions, larger",
    "gain_smooth_fewer": "the same, smaller",
    "gain_trees_more": "information about x or y gained by adding the other to z, trees, larger",
    "gain_trees_fewer": "the same, smaller",
    "conditional_ksg_3": "conditional KSG (Frenzel & Pompe 2007; with ties Mesner & Shalizi 2021), k = 3",
    "conditional_ksg_10": "the same, k = 10",
    "index_ksg": "conditional KSG given the predictions of x and y from z, k = 5",
    "gaussian_given": "Gaussian conditional information of normal scores",
    "gaussian": "Gaussian information of x and y without z",
    "ksg": "KSG of x and y without z, k = 5",
    "ksg_z_more": "KSG of x or y and z, k = 5, larger",
    "ksg_z_fewer": "the same, smaller",
    "table": "plug-in conditional information of categories or few values",
    "table_permuted": "the same with y permuted within the categories of z",
    "table_test": "their difference, in standard deviations of permutations",
    **figures_memory.MEANING,
}
# the first five are also the first of `figures`: a reader uses them by their place
NAMES: tuple[str, ...] = tuple(MEANING)
_NUMBERS = (
    "log_",
    "numbers",
    "conditions",
    "labels",
    "tied",
    "residual_squares",
    "residual_test",
    "table_test",
)
INFORMATION = figures_memory.INFORMATION | frozenset(
    name
    for name in NAMES
    if not name.startswith(_NUMBERS) and name not in figures_memory.NAMES
)


@dataclass(frozen=True, eq=False)
class Triples:
    """A checked sample of x, y and z.

    conditions  z: all its numbers as one variable, and each column of categories
    """

    pairs: Pairs
    conditions: tuple[Variable, ...]

    def take(self, rows: Values) -> Triples:
        """Some of the rows (indices)."""
        conditions = tuple(variable.take(rows) for variable in self.conditions)
        return Triples(self.pairs.take(rows), conditions)


def as_conditions(columns: Sequence[Variable]) -> tuple[Variable, ...]:
    """Conditions from the columns of z.

    Numbers that other columns determine are left out.
    """
    numbers = [variable for variable in columns if variable.dim]
    labels = [variable for variable in columns if not variable.dim]
    if not numbers:
        return tuple(labels)
    independent = without_combinations("z", join(*numbers))
    return without_functions("z", independent), *labels


def figures(triples: Triples, generator: np.random.Generator) -> Values:
    """The figures of a sample, float64 [len(NAMES)]; nan where one does not apply.

    Rows are taken as independent.
    """
    n = triples.pairs.n
    if n > MAX_ROWS:
        rows = generator.permutation(n)[:MAX_ROWS]
        triples = triples.take(np.sort(rows))
    with np.errstate(all="ignore"):
        sample = prepare(triples.pairs, generator)
        conditions = [prepared(variable) for variable in triples.conditions]
        triple = Given(sample, conditions)
        values = triple.sizes()
        values |= triple.regressions()
        values |= triple.neighbours()
        values |= triple.tables()
    bounds = [values[name] for name in LOWER_BOUNDS]
    values["lower_bound"] = max(0.0, float(np.mean(np.nan_to_num(bounds))))
    return np.array([values.get(name, np.nan) for name in NAMES], dtype=np.float64)


class Given:
    """x and y of a sample, and z.

    z          float64 [n, m], scores of numbers and indicators of categories
    targets    columns of x and of y that are regressed on z, set by `regressions`
    residuals  their residuals after trees
    """

    def __init__(self, sample: Sample, conditions: Sequence[PreparedVariable]) -> None:
        self.sample = sample
        self.conditions = conditions
        self.generator = sample.generator
        self.z = np.hstack([variable.linear for variable in conditions])
        self.targets: list[Values] = []
        self.residuals: list[Values] = []

    def sizes(self) -> Figures:
        """Numbers of rows, columns and categories, and shares of repeated values."""
        widths = []
        entropies = []
        shares = []
        for variable in self.sample.variables:
            widths.append(np.log1p(variable.scores.shape[1]))
            shares.append(_tied(variable.scores))
            if variable.codes is not None:
                entropies.append(discrete.plug_in(np.bincount(variable.codes)))
        numbers = self.conditions[0].scores
        return {
            "log_rows": np.log(self.sample.n),
            "log_rows_per_group": 0.0,
            **in_order("numbers", widths),
            "conditions": np.log1p(self.z.shape[1]),
            "conditions_labels": 1 - numbers.shape[1] / self.z.shape[1],
            "labels": float(len(self.sample.labels)),
            **in_order("entropy", entropies),
            **in_order("tied", shares),
            "tied_conditions": _tied(numbers),
        }

    # --- regressions -----------------------------------------------------------------------------------------------
    def regressions(self) -> Figures:
        """Figures of residuals given z, and of predictions from z and the other one."""
        x, y = self.sample.variables
        self.targets = [principal(x.linear), principal(y.linear)]
        both = np.hstack(self.targets)
        count = self.targets[0].shape[1]

        def split(columns: Values) -> tuple[Values, Values]:
            """The columns of x and of y."""
            return columns[:, :count], columns[:, count:]

        residuals, logs, unscaled = self._residuals(both)
        values: Figures = {}
        for name, columns in residuals.items():
            residual_x, residual_y = split(columns)
            information = self._mean(gaussian_information, residual_x, residual_y)
            values[f"residual_{name}"] = information
            before = both
            after = columns
            if name == "scale":
                before = logs
                after = unscaled
            values |= in_order(name, [*map(explained, split(before), split(after))])
        residual_x, residual_y = split(residuals["trees"])
        self.residuals = [residual_x, residual_y]
        squares = (residual_x**2, residual_y**2)
        permuted = np.roll(residual_y, len(residual_y) // 3, axis=0)
        scaled_x, scaled_y = split(residuals["scale"])
        values["residual_test"] = self._mean(_test, residual_x, residual_y)
        values["residual_squares"] = self._mean(_largest_correlation, *squares)
        values["residual_ksg"] = self._mean(self._ksg, residual_x, residual_y)
        values["residual_scale_ksg"] = self._mean(self._ksg, scaled_x, scaled_y)
        values["residual_permuted"] = self._mean(self._ksg, residual_x, permuted)
        gains_smooth = []
        gains_trees = []
        for place, smooth in enumerate(split(residuals["smooth"])):
            by_smooth, by_trees = self._gains(place, smooth)
            gains_smooth.append(by_smooth)
            gains_trees.append(by_trees)
        values |= in_order("gain_smooth", gains_smooth)
        return values | in_order("gain_trees", gains_trees)

    def _residuals(self, targets: Values) -> tuple[dict[str, Values], Values, Values]:
        """Residuals of the targets [n, t] by regression on z, by its name.

        Also returns logs of the squared residuals, and the residuals of these logs.
        """
        linear, _ = left_out(self.z, targets)
        basis = self._basis(self.z)
        smooth, _ = left_out(basis, targets)
        half = targets.copy()
        for train, test in self.sample.folds():
            _, predicted = left_out(basis[train], targets[train], basis[test])
            half[test] -= predicted
        trees = self._without_trees(self.z, smooth)
        logs = scaled(np.log(trees**2 + 1e-2))
        unscaled, log_scale = left_out(basis, logs)
        scale = trees / np.exp(np.clip(log_scale, -2, 2))
        residuals = {
            "linear": linear,
            "smooth": smooth,
            "half": half,
            "trees": trees,
            "scale": scale,
        }
        return residuals, logs, unscaled

    def _components(
        self, x: Values, y: Values
    ) -> Iterator[tuple[Values, Values, Values]]:
        """Rows, and weights of the columns of x and of y.

        They are all rows and columns of few columns; of more, for each half the
        canonical components fitted to the other half.
        """
        if max(x.shape[1], y.shape[1]) <= MAX_TARGETS:
            yield np.arange(len(x)), np.eye(x.shape[1]), np.eye(y.shape[1])
            return
        for train, test in self.sample.folds():
            weights_x, weights_y, _ = canonical(x[train], y[train], self.generator)
            rows = np.flatnonzero(test)
            yield rows, weights_x[:, :MAX_TARGETS], weights_y[:, :MAX_TARGETS]

    def _mean(
        self, statistic: Callable[[Values, Values], float], x: Values, y: Values
    ) -> float:
        """The mean of a statistic of components (`_components`)."""
        values = []
        for rows, weights_x, weights_y in self._components(x, y):
            value = statistic(x[rows] @ weights_x, y[rows] @ weights_y)
            values.append(value)
        return float(np.mean(values))

    def _basis(self, columns: Values) -> Values:
        """Smooth functions [n, f] of columns [n, m].

        They are the columns, their squares and hinges, and random waves of about four
        columns (Rahimi & Recht 2007).
        """
        size = columns.shape[1]
        parts = [columns, columns**2]
        for knot in KNOTS:
            parts.append(np.maximum(columns - knot, 0))
        for rate in RATES:
            used = self.generator.random((size, WAVES)) < 4 / size
            normal = self.generator.normal(size=(size, WAVES))
            directions = used * normal * rate / np.sqrt(min(size, 4))
            phases = self.generator.uniform(0, 2 * np.pi, WAVES)
            parts.append(np.cos(columns @ directions + phases))
        return scaled(np.hstack(parts))

    def _without_trees(self, columns: Values, residuals: Values) -> Values:
        """Residuals [n, t] less predictions of trees that were fitted to other rows.

        Predictions are shrunk by the best factor for each column.
        """
        strength = np.abs(columns.T @ residuals).max(axis=1)
        inputs = columns[:, strongest(strength, MAX_INPUTS)]
        fold = self.generator.permutation(len(inputs)) % TREE_FOLDS
        predictions = np.zeros_like(residuals)
        draws = tree_draws(self.generator, TREES)
        for held_out in range(TREE_FOLDS):
            train = fold != held_out
            test = ~train
            predictions[test] = summed_trees(
                inputs[train], residuals[train], inputs[test], TREES, draws
            )
        products = (predictions * residuals).sum(axis=0)
        squares = (predictions**2).sum(axis=0)
        shrink = products / np.maximum(squares, 1e-12)
        return residuals - np.clip(shrink, 0, 1 / TREES) * predictions

    def _gains(self, place: int, smooth: Values) -> tuple[float, float]:
        """Information about a variable that the other one adds to z, nats.

        The first value is by smooth functions, the second by trees after them.
        """
        other = self.sample.variables[1 - place]
        together = np.hstack([self.z, other.linear])
        with_other, _ = left_out(self._basis(together), self.targets[place])
        trees = self._without_trees(together, with_other)
        return explained(smooth, with_other), explained(self.residuals[place], trees)

    # --- neighbours ------------------------------------------------------------------------------------------------
    def _ksg(self, x: Values, y: Values) -> float:
        """KSG, k = 5, of numbers with ties broken at random, nats."""
        untied_x = untied(x, self.generator)
        untied_y = untied(y, self.generator)
        return _ksg_of((untied_x, None), (untied_y, None))

    def neighbours(self) -> Figures:
        """Estimates by neighbours and for normal variables, with and without z."""
        x, y = self.sample.variables
        rows = self.generator.permutation(self.sample.n)[:MAX_NEAR]
        rows.sort()
        z = self.z[rows]
        scores_x = _scores(x).take(rows)
        scores_y = _scores(y).take(rows)
        values: Figures = {}
        for k in (3, 10):
            value = _conditional_ksg(scores_x, scores_y, z, k)
            values[f"conditional_ksg_{k}"] = value
        parts = self._components(*self.residuals)
        values["index_ksg"] = float(np.mean([self._index_ksg(*part) for part in parts]))
        with_z = np.hstack([x.linear, self.z])
        information_with_z = gaussian_information(with_z, y.linear)
        information_of_z = gaussian_information(self.z, y.linear)
        values["gaussian"] = gaussian_information(x.linear, y.linear)
        values["gaussian_given"] = information_with_z - information_of_z
        points_x = x.untied_rows(rows)
        points_y = y.untied_rows(rows)
        values["ksg"] = _ksg_of(points_x, points_y)
        ksg_z = [_ksg_of(points_x, (z, None)), _ksg_of(points_y, (z, None))]
        return values | in_order("ksg_z", ksg_z)

    def _index_ksg(self, rows: Values, weights_x: Values, weights_y: Values) -> float:
        """Conditional KSG of components given their predictions from z, k = 5, nats."""
        x, index_x = self._index(0, rows, weights_x)
        y, index_y = self._index(1, rows, weights_y)
        return _conditional_ksg(x, y, np.hstack([index_x, index_y]), 5)

    def _index(
        self, place: int, rows: Values, weights: Values
    ) -> tuple[Variable, Values]:
        """Components of a variable in some rows, and their predictions from z.

        Instead of its components a label itself is returned.
        """
        variable = self.sample.variables[place]
        target = self.targets[place]
        component = Variable(target @ weights, None, 1)
        if variable.is_label:
            component = _scores(variable)
        predicted = (target - self.residuals[place]) @ weights
        return component.take(rows), scaled(predicted)[rows]

    # --- tables ----------------------------------------------------------------------------------------------------
    def tables(self) -> Figures:
        """Plug-in conditional information of categories or few distinct values.

        It is compared with y permuted within the categories of z.
        """
        levels = []
        for variable in (*self.sample.variables, *self.conditions):
            if variable.levels is None:
                return {}
            levels.append(variable.levels)
        x, y, *conditions = levels
        z, _ = joint_codes(conditions)
        assert z is not None
        order = np.argsort(z, kind="stable")
        permuted = []
        for _ in range(SHUFFLES):
            shuffled = np.empty_like(y)
            keys = self.generator.random(len(y))
            shuffled[order] = y[np.lexsort((keys, z))]
            permuted.append(table_information(x, shuffled, z))
        value = table_information(x, y, z)
        mean = float(np.mean(permuted))
        deviations = (value - mean) / max(float(np.std(permuted)), 1e-4)
        return {
            "table": value,
            "table_permuted": mean,
            "table_test": float(np.arcsinh(deviations)),
        }


def _scores(variable: PreparedVariable) -> Variable:
    """The scores and categories of a variable."""
    return Variable(variable.scores, variable.codes, variable.categories)


def _ksg_of(x: Numbers, y: Numbers) -> float:
    """KSG, k = 5, of numbers without ties and codes or None, nats."""
    return float(estimates(x, y, None, (5,))[0])


def table_information(x: Values, y: Values, z: Values) -> float:
    """Plug-in I(x; y | z) of codes [n], nats."""

    def entropy(*variables: Values) -> float:
        """Joint plug-in entropy, nats."""
        codes, _ = joint_codes(list(variables))
        assert codes is not None
        return discrete.plug_in(np.bincount(codes))

    return entropy(x, z) + entropy(y, z) - entropy(x, y, z) - entropy(z)


def _conditional_ksg(x: Variable, y: Variable, z: Values, k: int) -> float:
    """Conditional KSG given numbers z [n, m], nats."""
    given = Variable(z, None, 1)
    try:
        return conditional_mutual_information(x, y, given, k, margins="given").value
    except InfoscopeError:  # hardly any category has two rows
        return np.nan


def left_out(
    columns: Values, targets: Values, other: Values | None = None
) -> tuple[Values, Values]:
    """Residuals [n, t] of ridge regressions, each of a row that is left out of the fit.

    They are by the best penalty for each target. Also returns the predictions of these
    rows, or of `other` rows.
    """
    n = len(columns)
    centre = columns.mean(axis=0)
    mean = targets.mean(axis=0)
    centred = columns - centre
    deviations = targets - mean
    variances, directions = np.linalg.eigh(centred.T @ centred / n)
    components = centred @ directions
    rotated = components.T @ deviations / n
    squares = components**2 / n
    best = np.full(targets.shape[1], np.inf)
    residuals = np.zeros_like(targets)
    chosen = np.zeros_like(rotated)
    for penalty in PENALTIES:
        inverse = 1 / (np.maximum(variances, 0) + penalty * variances.mean())
        weights = inverse[:, None] * rotated
        free = np.maximum(1 - 1 / n - squares @ inverse, 1e-3)
        out = (deviations - components @ weights) / free[:, None]
        errors = (out**2).mean(axis=0)
        better = errors < best
        best = np.where(better, errors, best)
        residuals = np.where(better, out, residuals)
        chosen = np.where(better, weights, chosen)
    if other is None:
        return residuals, targets - residuals
    predicted = (other - centre) @ (directions @ chosen) + mean
    return residuals, predicted


def explained(before: Values, after: Values) -> float:
    """Entropy of normal columns `before` [n, t] less the entropy of `after`, nats."""
    ridge = LEAST_VARIANCE * np.eye(before.shape[1])
    log_dets = []
    for columns in (before, after):
        covariance = columns.T @ columns / len(columns) + ridge
        log_dets.append(np.linalg.slogdet(covariance).logabsdet)
    return float(log_dets[0] - log_dets[1]) / 2


def principal(columns: Values) -> Values:
    """The columns [n, p] if they are few, else leading principal components."""
    if columns.shape[1] <= MAX_REGRESSED:
        return columns
    return scaled(leading(columns, MAX_REGRESSED))


def _largest_correlation(x: Values, y: Values) -> float:
    """The largest absolute correlation of columns."""
    return float(np.abs(scaled(x).T @ scaled(y)).max() / len(x))


def _test(x: Values, y: Values) -> float:
    """The test of correlations of x and y (`correlation_test`)."""
    correlations = scaled(x).T @ scaled(y) / len(x)
    return correlation_test(correlations**2, len(x))


def _tied(columns: Values) -> float:
    """Mean share of values that repeat; nan without columns."""
    shares = []
    for column in columns.T:
        counts = np.unique(column, return_counts=True)[1]
        shares.append(counts[counts > 1].sum() / len(column))
    return float(np.mean(shares)) if shares else np.nan
