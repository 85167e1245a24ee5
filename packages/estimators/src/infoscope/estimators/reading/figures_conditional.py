"""Figures of x, y and z, from which the conditional reader predicts I(x; y | z) and its
interval.

z is taken out of x and y by regressions whose residuals are of rows left out, and each
of x and y is predicted from z with and without the other. Where a regression still
improves with rows, residuals hold a confounder. All are of normal scores and indicators
of categories; what differs between x and y is kept as the larger and the smaller value.
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
# of residuals, in variances of a column: a lower one, as of a copy, says no more
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
# the first five are those of `figures`, which a reader uses by itself
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
Figures = dict[str, float]


@dataclass(frozen=True, eq=False)
class Triples:
    """A checked sample of x and y, and the conditions: numbers together, and every
    column of categories.
    """

    pairs: Pairs
    conditions: tuple[Variable, ...]

    def take(self, rows: Values) -> Triples:
        """Some of the rows (indices)."""
        return Triples(
            self.pairs.take(rows),
            tuple(variable.take(rows) for variable in self.conditions),
        )


def as_conditions(columns: Sequence[Variable]) -> tuple[Variable, ...]:
    """Conditions from variables of z, one for each column: numbers together, without
    those that others determine.
    """
    numbers = [variable for variable in columns if variable.dim]
    labels = [variable for variable in columns if not variable.dim]
    if numbers:
        labels.insert(
            0, without_functions("z", without_combinations("z", join(*numbers)))
        )
    return tuple(labels)


def figures(triples: Triples, generator: np.random.Generator) -> Values:
    """The figures of a sample, float64 [len(NAMES)]; nan where one does not apply. Rows
    are taken as independent.
    """
    if triples.pairs.n > MAX_ROWS:
        triples = triples.take(
            np.sort(generator.permutation(triples.pairs.n)[:MAX_ROWS])
        )
    with np.errstate(all="ignore"):
        sample = prepare(triples.pairs, generator)
        triple = Given(sample, [prepared(variable) for variable in triples.conditions])
        values = (
            triple.sizes()
            | triple.regressions()
            | triple.neighbours()
            | triple.tables()
        )
        bounds = [
            values[name]
            for name in ("gain_smooth_more", "gain_trees_more", "residual_trees")
        ]
        values["lower_bound"] = max(0.0, float(np.mean(np.nan_to_num(bounds))))
    return np.array([values.get(name, np.nan) for name in NAMES], dtype=np.float64)


class Given:
    """x and y of a sample, and the columns of z: scores of numbers and indicators of
    categories [n, m].
    """

    def __init__(self, sample: Sample, conditions: Sequence[PreparedVariable]) -> None:
        self.sample = sample
        self.conditions = conditions
        self.generator = sample.generator
        self.z = np.hstack([variable.linear for variable in conditions])
        # columns of x and y that are regressed, and their residuals
        self.targets: list[Values] = []
        self.residuals: list[Values] = []

    def sizes(self) -> Figures:
        variables = self.sample.variables
        numbers = self.conditions[0].scores
        counts = [
            np.bincount(variable.codes)
            for variable in variables
            if variable.codes is not None
        ]
        return {
            "log_rows": np.log(self.sample.n),
            "log_rows_per_group": 0.0,
            **in_order(
                "numbers",
                [np.log1p(variable.scores.shape[1]) for variable in variables],
            ),
            "conditions": np.log1p(self.z.shape[1]),
            "conditions_labels": 1 - numbers.shape[1] / self.z.shape[1],
            "labels": float(len(self.sample.labels)),
            **in_order("entropy", [discrete.plug_in(sizes) for sizes in counts]),
            **in_order("tied", [_tied(variable.scores) for variable in variables]),
            "tied_conditions": _tied(numbers),
        }

    # --- regressions -----------------------------------------------------------------------------------------------
    def regressions(self) -> Figures:
        """Figures of the residuals of x and y given z, and of predictions from z and
        the other variable.
        """
        first, second = (
            principal(variable.linear) for variable in self.sample.variables
        )
        both = np.hstack([first, second])
        count = first.shape[1]
        sides = (np.s_[:, :count], np.s_[:, count:])
        residuals, logs, unscaled = self._residuals(both)
        values: Figures = {}
        for name, columns in residuals.items():
            x, y = (columns[side] for side in sides)
            values[f"residual_{name}"] = self._mean(gaussian_information, x, y)
            before = both
            after = columns
            if name == "scale":
                before = logs
                after = unscaled
            values |= in_order(
                name, [explained(before[side], after[side]) for side in sides]
            )
        x, y = (residuals["trees"][side] for side in sides)
        permuted = np.roll(y, len(y) // 3, axis=0)
        values["residual_test"] = self._mean(_test, x, y)
        values["residual_squares"] = self._mean(_largest_correlation, x**2, y**2)
        values["residual_ksg"] = self._mean(self._ksg, x, y)
        divided = (residuals["scale"][side] for side in sides)
        values["residual_scale_ksg"] = self._mean(self._ksg, *divided)
        values["residual_permuted"] = self._mean(self._ksg, x, permuted)
        self.targets = [first, second]
        self.residuals = [x, y]
        gains = [
            self._gains(place, residuals["smooth"][side])
            for place, side in enumerate(sides)
        ]
        by_smooth, by_trees = zip(*gains)
        return (
            values
            | in_order("gain_smooth", by_smooth)
            | in_order("gain_trees", by_trees)
        )

    def _residuals(self, targets: Values) -> tuple[dict[str, Values], Values, Values]:
        """Residuals of the targets [n, t] by regression; logs of squared ones, and what
        z leaves of these.
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
        """Rows, and weights of columns of x and of y: all columns of few, else the
        components of the other half.
        """
        if max(x.shape[1], y.shape[1]) <= MAX_TARGETS:
            yield np.arange(len(x)), np.eye(x.shape[1]), np.eye(y.shape[1])
            return
        for train, test in self.sample.folds():
            weights_x, weights_y, _ = canonical(x[train], y[train], self.generator)
            yield (
                np.flatnonzero(test),
                weights_x[:, :MAX_TARGETS],
                weights_y[:, :MAX_TARGETS],
            )

    def _mean(
        self, statistic: Callable[[Values, Values], float], x: Values, y: Values
    ) -> float:
        """The mean of a statistic of components."""
        values = []
        for rows, weights_x, weights_y in self._components(x, y):
            values.append(statistic(x[rows] @ weights_x, y[rows] @ weights_y))
        return float(np.mean(values))

    def _basis(self, columns: Values) -> Values:
        """Columns, squares and hinges of each, and random waves of up to four (Rahimi &
        Recht 2007) [n, f].
        """
        size = columns.shape[1]
        parts = [
            columns,
            columns**2,
            *(np.maximum(columns - knot, 0) for knot in KNOTS),
        ]
        for rate in RATES:
            used = self.generator.random((size, WAVES)) < 4 / size
            normal = self.generator.normal(size=(size, WAVES))
            directions = used * normal * rate / np.sqrt(min(size, 4))
            phases = self.generator.uniform(0, 2 * np.pi, WAVES)
            parts.append(np.cos(columns @ directions + phases))
        return scaled(np.hstack(parts))

    def _without_trees(self, columns: Values, residuals: Values) -> Values:
        """Residuals less sums of predictions of trees fitted to other rows, shrunk as
        is best for each column.
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
        """Information about a variable that the other one adds to z: by smooth
        functions, and by trees after them.
        """
        together = np.hstack([self.z, self.sample.variables[1 - place].linear])
        with_other = left_out(self._basis(together), self.targets[place])[0]
        trees = self._without_trees(together, with_other)
        return explained(smooth, with_other), explained(self.residuals[place], trees)

    # --- neighbours ------------------------------------------------------------------------------------------------
    def _ksg(self, x: Values, y: Values) -> float:
        x, y = (untied(columns, self.generator) for columns in (x, y))
        return _ksg_of((x, None), (y, None))

    def neighbours(self) -> Figures:
        """Estimates by nearest neighbours and for normal variables, given z or its
        predictions, and without z.
        """
        variables = self.sample.variables
        rows = np.sort(self.generator.permutation(self.sample.n)[:MAX_NEAR])
        z = self.z[rows]
        scores = [_scores(variable).take(rows) for variable in variables]
        values = {
            f"conditional_ksg_{k}": _conditional_ksg(*scores, z, k) for k in (3, 10)
        }
        parts = self._components(*self.residuals)
        values["index_ksg"] = float(np.mean([self._index_ksg(*part) for part in parts]))
        x, y = (variable.linear for variable in variables)
        with_z = gaussian_information(np.hstack([x, self.z]), y)
        values["gaussian"] = gaussian_information(x, y)
        values["gaussian_given"] = with_z - gaussian_information(self.z, y)
        first, second = (variable.untied_rows(rows) for variable in variables)
        values["ksg"] = _ksg_of(first, second)
        return values | in_order(
            "ksg_z", [_ksg_of(variable, (z, None)) for variable in (first, second)]
        )

    def _index_ksg(self, rows: Values, *weights: Values) -> float:
        """Conditional KSG of components of x and y given their predictions from z;
        labels stay as they are.
        """
        components = []
        predictions = []
        for variable, target, residual, weight in zip(
            self.sample.variables, self.targets, self.residuals, weights
        ):
            component = Variable(target @ weight, None, 1)
            if variable.is_label:
                component = _scores(variable)
            components.append(component.take(rows))
            predictions.append(scaled((target - residual) @ weight)[rows])
        return _conditional_ksg(*components, np.hstack(predictions), 5)

    # --- tables ----------------------------------------------------------------------------------------------------
    def tables(self) -> Figures:
        """Information of categories or few distinct values within the categories of z,
        with that of permuted rows.
        """
        levels = [
            variable.levels for variable in (*self.sample.variables, *self.conditions)
        ]
        if any(codes is None for codes in levels):
            return {}
        x, y = levels[:2]
        z, _ = joint_codes(levels[2:])
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
    """KSG, k = 5, of numbers without ties and codes or None."""
    return float(estimates(x, y, None, (5,))[0])


def table_information(x: Values, y: Values, z: Values) -> float:
    """Plug-in I(x; y | z) of codes [n], nats."""
    entropies = []
    for variables in ([x, z], [y, z], [x, y, z], [z]):
        codes, _ = joint_codes(variables)
        entropies.append(discrete.plug_in(np.bincount(codes)))
    entropy_xz, entropy_yz, entropy_xyz, entropy_z = entropies
    return float(entropy_xz + entropy_yz - entropy_xyz - entropy_z)


def _conditional_ksg(x: Variable, y: Variable, z: Values, k: int) -> float:
    try:
        return conditional_mutual_information(
            x, y, Variable(z, None, 1), k, margins="given"
        ).value
    except InfoscopeError:  # hardly any category has two rows
        return np.nan


def left_out(
    columns: Values, targets: Values, other: Values | None = None
) -> tuple[Values, Values]:
    """Residuals of ridge regressions when each row is left out [n, t], of the best
    penalty for each target, and predictions of the same rows, or of `other` rows.
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
    """Difference of the entropies of normal variables with the covariances of `before`
    and `after` [n, t], nats.
    """
    ridge = LEAST_VARIANCE * np.eye(before.shape[1])
    log_dets = []
    for columns in (before, after):
        covariance = columns.T @ columns / len(columns) + ridge
        log_dets.append(np.linalg.slogdet(covariance)[1])
    return float(log_dets[0] - log_dets[1]) / 2


def principal(columns: Values) -> Values:
    """The columns [n, p], or their leading principal components."""
    if columns.shape[1] <= MAX_REGRESSED:
        return columns
    return scaled(leading(columns, MAX_REGRESSED))


def _largest_correlation(x: Values, y: Values) -> float:
    return float(np.abs(scaled(x).T @ scaled(y)).max() / len(x))


def _test(x: Values, y: Values) -> float:
    """The sum of squared correlations in standard deviations of its distribution for
    independent columns.
    """
    correlations = scaled(x).T @ scaled(y) / len(x)
    cells = correlations.size
    excess = len(x) * (correlations**2).sum() - cells
    return float(np.arcsinh(excess / np.sqrt(2 * cells)))


def _tied(columns: Values) -> float:
    """Mean share of values that repeat; nan without columns."""
    shares = []
    for column in columns.T:
        counts = np.unique(column, return_counts=True)[1]
        shares.append(counts[counts > 1].sum() / len(column))
    return float(np.mean(shares)) if shares else np.nan
