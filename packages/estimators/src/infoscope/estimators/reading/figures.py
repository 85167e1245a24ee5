"""Figures: quick statistics of a sample, from which the reader predicts I(x; y) and its
interval.

Every figure is computed from normal scores of the ranks and from codes of categories,
so units, monotone maps of single columns, names of categories and the order of rows and
columns do not matter. Figures that differ between x and y are kept as the larger and
the smaller one. Information is in nats, and limited by what this number of rows can
show.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import digamma

from infoscope.estimators import discrete
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.reading import figures_memory, figures_wide
from infoscope.estimators.reading.figures_heldout import (
    Figures,
    Fold,
    held_out,
    in_order,
    information,
    screening,
)
from infoscope.estimators.reading.figures_neighbours import (
    Neighbours,
    Numbers,
    estimates,
    local_information,
    mean_of_rows,
)
from infoscope.estimators.reading.figures_sample import (
    PreparedVariable,
    Sample,
    Values,
    canonical,
    gaussian_information,
    leading,
    parts,
)
from infoscope.estimators.variables import joint_codes

VERSION = 5
KS = (1, 3, 5, 10, 20)  # neighbours
DIMENSION_NEIGHBOURS = 10  # from which the intrinsic dimension is computed
MIN_ESTIMATE_ROWS = 10
MAX_DISTANCE_ROWS = 300  # for the distance correlation
TAIL = 0.1  # share of the rows
# for estimates of permuted rows, of unbroken ties, and of categories as columns
MAX_EXTRA_ROWS = 2_000
# pseudo-rows with the frequencies of all rows, added to each category
PRIOR_ROWS = (0.5, 2, 8, 32, 128)

HELD_OUT = (
    "component_ksg_1", "component_ksg_2", "quadratic_ksg_1", "tree_ksg_more", "label_linear", "label_quadratic",
    "label_trees", "table_gain_more", "ksg_5_soft", "best_pair", "label_bayes", "label_sparse", "ridge", "ridge_sparse",
)  # fmt: skip

MEANING: Mapping[str, str] = {
    "lower_bound": "largest of the held-out and the nearest-neighbour estimates, at least 0",
    "log_rows": "log of the number of rows (of a part of at most 5,000)",
    "log_rows_per_group": "log of rows per group; 0 without groups",
    "numbers_more": "log(1 + numeric columns) of the variable with more",
    "numbers_fewer": "log(1 + numeric columns) of the variable with fewer",
    "classes_more": "log of the number of joint categories, larger of the two variables",
    "classes_fewer": "log of the number of joint categories, smaller of the two",
    "entropy_more": "entropy of the joint categories, larger of the two",
    "entropy_fewer": "entropy of the joint categories, smaller of the two",
    "smallest_class": "log of the rows of the smallest category",
    "numbers_numbers": "1 if both variables are numbers",
    "numbers_label": "1 if one is numbers and the other categories",
    "labels_labels": "1 if both are categories",
    "label_mixed": "1 if one is categories and the other numbers and categories",
    "dimension_more": "log of the participation ratio of the columns' correlations, larger",
    "dimension_fewer": "log of the participation ratio of the columns' correlations, smaller",
    "tied_more": "mean share of numeric values that repeat, larger of the two variables",
    "tied_fewer": "mean share of numeric values that repeat, smaller of the two",
    "largest_atom_more": "largest share of rows at one numeric value, larger of the two",
    "largest_atom_fewer": "largest share of rows at one numeric value, smaller of the two",
    **{f"ksg_{k}": f"KSG (Ross for labels) estimate, k = {k}, ties broken at random" for k in KS},
    "ksg_3_half": "KSG estimate, k = 3, mean of two halves",
    "ksg_10_half": "KSG estimate, k = 10, mean of two halves",
    "ksg_3_quarter": "KSG estimate, k = 3, mean of two quarters",
    "ksg_3_permuted": "KSG estimate, k = 3, of permuted y",
    "ksg_10_permuted": "KSG estimate, k = 10, of permuted y",
    "ksg_5_tied": "KSG estimate, k = 5, with ties (Mesner & Shalizi 2019)",
    "ksg_5_soft": "KSG estimate, k = 5, with categories beside numbers as columns of 0 and 1",
    "ksg_error": "standard error of the KSG estimate, k = 5",
    "local_spread": "standard deviation of local KSG values, k = 5",
    "local_skewness": "skewness of local KSG values, k = 5",
    "local_low": "10 % quantile of local KSG values, k = 5",
    "local_high": "90 % quantile of local KSG values, k = 5",
    "alone": "share of rows with no other row of the same categories",
    "intrinsic_joint": "log(1 + intrinsic dimension) of x and y together (Levina & Bickel 2004)",
    "intrinsic_more": "log(1 + intrinsic dimension), larger of the two variables",
    "intrinsic_fewer": "log(1 + intrinsic dimension), smaller of the two",
    "gaussian": "Gaussian copula estimate (bias-corrected)",
    "canonical_1": "information of the 1st canonical correlation in the sample",
    "canonical_2": "information of the 2nd canonical correlation in the sample",
    "canonical_3": "information of the 3rd canonical correlation in the sample",
    "canonical_count": "canonical correlations beyond those of independent columns",
    "heldout_gaussian": "Gaussian information of up to 6 held-out canonical components",
    "heldout_first": "Gaussian information of the first held-out canonical component",
    "heldout_quadratic": "Gaussian information of held-out components with squares and products of columns",
    "heldout_quadratic_first": "Gaussian information of the first such component",
    "component_ksg_1": "KSG of the first held-out canonical components, k = 5",
    "component_ksg_2": "KSG of 2 + 2 held-out canonical components, k = 5",
    "component_ksg_3": "KSG of 3 + 3 held-out canonical components, k = 5",
    "quadratic_ksg_1": "KSG of the first held-out components with squares and products, k = 5",
    "quadratic_ksg_2": "KSG of 2 + 2 held-out components with squares and products, k = 5",
    "best_pair": "KSG of the pair of columns chosen on other rows, k = 5",
    "matched_pairs": "sum of KSG over up to 4 matched pairs of columns chosen on other rows",
    "local_gaussian": "mean Gaussian information within neighbourhoods of 30 rows, 2 + 2 components",
    "local_anisotropy": "mean log ratio of the axes of neighbourhoods of 30 rows",
    "tree_prediction_more": "Gaussian information of held-out predictions of trees, better direction",
    "tree_prediction_fewer": "Gaussian information of held-out predictions of trees, other direction",
    "tree_ksg_more": "KSG of held-out predictions of trees and their target, k = 5, better direction",
    "tree_ksg_fewer": "KSG of held-out predictions of trees and their target, k = 5, other direction",
    "label_linear": "entropy of the label less held-out cross-entropy of a linear discriminant",
    "label_quadratic": "entropy of the label less held-out cross-entropy of a quadratic discriminant",
    "label_trees": "entropy of the label less held-out cross-entropy of trees",
    "kurtosis_joint": "kurtosis of the scores of x and y together (Mardia 1970) over that of normal variables, less 1",
    "kurtosis_more": "the same of x or y alone, larger of the two",
    "kurtosis_fewer": "the same of x or y alone, smaller of the two",
    "distance_correlation": "distance correlation, without bias, of at most 300 rows",
    "squares": "correlation of squared scores of the best pair of columns",
    "corner_most": "share of a tail that is in a tail of the other column, best pair of columns, largest of four",
    "corner_least": "share of a tail that is in a tail of the other column, best pair of columns, smallest of four",
    "plug_in": "plug-in estimate of categories or few distinct values",
    "chao_shen": "Chao-Shen estimate of categories or few distinct values",
    "table_gain_more": "information of one table variable about the other on held-out rows, better direction",
    "table_gain_fewer": "information of one table variable about the other on held-out rows, other direction",
    "plug_in_permuted": "plug-in estimate with permuted y",
    "chao_shen_permuted": "Chao-Shen estimate with permuted y",
    "unseen": "share of rows alone in their cell",
    "heldout_gaussian_half": "heldout_gaussian, of half of the training rows",
    "heldout_gaussian_quarter": "heldout_gaussian, of a quarter of the training rows",
    **{
        f"{name}{end}": f"{meaning}{part}"
        for name, meaning in (
            ("ridge", "Gaussian information of held-out ridge regressions of the variable of fewer columns"),
            ("ridge_sparse", "the same of the 10 columns most correlated with the target"),
            ("label_bayes", "entropy of the label less held-out cross-entropy of naive Bayes"),
            ("label_sparse", "the same of the 10 columns most correlated with the label"),
        )
        for end, part in (("", ""), ("_half", ", half of the training rows"), ("_quarter", ", a quarter of them"))
    },
    "ridge_ksg": "KSG of held-out ridge regressions and their target, k = 5",
    "surface_more": "log ratio of a column's differences between rows alike in the others of its variable, least",
    "surface_fewer": "the same of the other variable",
    "test_correlations": "sum of squared correlations, in standard deviations without information (inverse sinh)",
    "test_largest": "largest squared correlation beyond that of independent columns (inverse sinh)",
    "test_table": "G statistic of categories or few values, in standard deviations without information (inverse sinh)",
    **figures_memory.MEANING,
}  # fmt: skip
_INFORMATION = (
    "lower_bound", "entropy", "ksg", "local", "gaussian", "canonical", "heldout", "component", "quadratic", "best_pair",
    "matched_pairs", "tree", "label_", "plug_in", "chao_shen", "table_gain", "ridge",
)  # fmt: skip
_NUMBERS = ("local_skewness", "local_anisotropy", "canonical_count", "label_mixed")
NAMES: tuple[str, ...] = tuple(MEANING)
INFORMATION = figures_memory.INFORMATION | frozenset(
    name for name in NAMES if name.startswith(_INFORMATION) and name not in _NUMBERS
)


def figures(pairs: Pairs, generator: np.random.Generator) -> Values:
    """The figures of a sample, float64 [len(NAMES)]; nan where one does not apply."""
    rows = []
    with np.errstate(all="ignore"):
        for sample in parts(pairs, generator):
            values: Figures = {}
            for part in _FIGURE_GROUPS:
                values |= part(sample)
            values["lower_bound"] = _lower_bound(values)
            rows.append([values.get(name, np.nan) for name in NAMES])
    return mean_of_finite(np.array(rows, dtype=np.float64))


def mean_of_finite(rows: Values) -> Values:
    """Means [p] of the finite values of rows [m, p]; nan where there is none."""
    is_finite = np.isfinite(rows)
    counts = is_finite.sum(axis=0)
    sums = np.where(is_finite, rows, 0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _lower_bound(values: Figures) -> float:
    """The largest of the estimates that are rarely above I by more than their error."""
    values = dict.fromkeys(NAMES, np.nan) | values
    bounds = [values[name] for name in HELD_OUT]
    if values["numbers_numbers"]:
        bounds.append(min(values["gaussian"], values["heldout_gaussian"]))
    for estimate in ("ksg_3", "chao_shen"):
        bias = max(0, values[f"{estimate}_permuted"])
        bounds.append(values[estimate] - bias)
    finite = [bound for bound in bounds if np.isfinite(bound)]
    return max([0.0, *finite])


def _sizes(sample: Sample) -> Figures:
    """Numbers of rows, of columns and of categories, and types of the variables."""
    n = sample.n
    widths = []
    counts = []
    dimensions = []
    for variable in sample.variables:
        sizes = np.array([n])
        if variable.codes is not None:
            sizes = np.bincount(variable.codes)
        counts.append(sizes[sizes > 0])
        widths.append(np.log1p(variable.scores.shape[1]))
        dimensions.append(_dimension(variable.linear))
    kinds = [_kind(variable) for variable in sample.variables]
    groups = n if sample.groups is None else int(sample.groups.max()) + 1
    return {
        "log_rows": np.log(n),
        "log_rows_per_group": np.log(n / groups),
        **in_order("numbers", widths),
        **in_order("classes", [np.log(len(sizes)) for sizes in counts]),
        **in_order("entropy", [discrete.plug_in(sizes) for sizes in counts]),
        "smallest_class": np.log(min(sizes.min() for sizes in counts)),
        "numbers_numbers": float(kinds == ["numbers", "numbers"]),
        "numbers_label": float(kinds == ["numbers", "label"]),
        "labels_labels": float(kinds == ["label", "label"]),
        "label_mixed": float(kinds == ["mixed", "label"]),
        **in_order("dimension", dimensions),
    }


def _kind(variable: PreparedVariable) -> str:
    """The type of a variable: numbers, label or mixed."""
    if variable.is_label:
        return "label"
    return "numbers" if variable.codes is None else "mixed"


def _dimension(columns: Values) -> float:
    """Log of the participation ratio of the eigenvalues of the correlations.

    What n rows of independent columns add to it is subtracted.
    """
    n, p = columns.shape
    gram = columns.T @ columns if p <= n else columns @ columns.T
    squares = ((gram / n) ** 2).sum()
    added = p * (p - 1) / n
    return float(np.log(p * p / max(squares - added, p)))


def _ties(sample: Sample) -> Figures:
    """Shares of the rows that have repeated numbers, and that have the same number."""
    shares = []
    largest_shares = []
    for variable in sample.variables:
        if variable.is_label:
            continue
        repeated = []
        largest = []
        for column in variable.scores.T:
            _, counts = np.unique(column, return_counts=True)
            repeated.append(counts[counts > 1].sum())
            largest.append(counts.max())
        shares.append(np.mean(repeated) / sample.n)
        largest_shares.append(max(largest) / sample.n)
    return in_order("tied", shares) | in_order("largest_atom", largest_shares)


def _ksg_among(sample: Sample, rows: Values, ks: tuple[int, ...]) -> Values:
    """KSG estimates [ks] from some rows, nats."""
    if len(rows) < MIN_ESTIMATE_ROWS:
        return np.full(len(ks), np.nan)
    x, y = (variable.untied_rows(rows) for variable in sample.variables)
    return estimates(x, y, sample.groups_of(rows), ks)


def _knn(sample: Sample) -> Figures:
    """KSG estimates of all rows, of parts and of permuted rows, and local values."""
    variables = sample.variables
    x, y = ((variable.near, variable.codes) for variable in variables)
    neighbours = local_information(x, y, sample.groups, KS, DIMENSION_NEIGHBOURS)
    means = mean_of_rows(neighbours.local)
    values = {f"ksg_{k}": value for k, value in zip(KS, means)}
    by_half = []
    by_quarter = []
    for half in (sample.half, ~sample.half):
        rows = np.flatnonzero(half)
        by_half.append(_ksg_among(sample, rows, (3, 10)))
        by_quarter.append(_ksg_among(sample, rows[: len(rows) // 2], (3,)))
    values["ksg_3_half"], values["ksg_10_half"] = np.mean(by_half, axis=0)
    values["ksg_3_quarter"] = np.mean(by_quarter)
    values["ksg_3_permuted"], values["ksg_10_permuted"] = _permuted(sample)
    values["ksg_5_tied"] = values["ksg_5"]
    if any(variable.dithered is not variable.scores for variable in variables):
        searched: list[Numbers] = []
        for variable in variables:
            points = variable.near if variable.is_wide else variable.scores
            searched.append((points, variable.codes))
        values["ksg_5_tied"] = _ksg_of_part(sample, searched)
    if "mixed" in map(_kind, variables):
        searched = []
        for variable in variables:
            indicators = variable.linear[:, variable.scores.shape[1] :] > 0
            searched.append((np.hstack([variable.near, indicators]), None))
        values["ksg_5_soft"] = _ksg_of_part(sample, searched)
    values |= _local_values(sample, neighbours.local[:, KS.index(5)])
    return values | _dimensions(sample, neighbours)


def _ksg_of_part(sample: Sample, variables: list[Numbers]) -> float:
    """KSG estimate, k = 5, from a random part of at most 2,000 rows, nats."""
    rows = sample.generator.permutation(sample.n)[:MAX_EXTRA_ROWS]
    rows.sort()
    x, y = (
        (points[rows], None if codes is None else codes[rows])
        for points, codes in variables
    )
    return float(estimates(x, y, sample.groups_of(rows), (5,))[0])


def _permuted(sample: Sample) -> Values:
    """KSG estimates, k = 3 and 10, without information: y is from another row.

    Of each group one row is taken, at most 2,000 in all.
    """
    rows = np.arange(sample.n)
    if sample.groups is not None:
        _, rows = np.unique(sample.groups, return_index=True)
    if len(rows) < MIN_ESTIMATE_ROWS:
        return np.full(2, np.nan)
    rows = sample.generator.permutation(rows)[:MAX_EXTRA_ROWS]
    x, y = sample.variables
    other_rows = np.roll(rows, 1)
    return estimates(x.untied_rows(rows), y.untied_rows(other_rows), None, (3, 10))


def _local_values(sample: Sample, local: Values) -> Figures:
    """Standard error and distribution of local information [n], nats."""
    is_finite = np.isfinite(local)
    alone = 1 - is_finite.mean()
    if is_finite.sum() < MIN_ESTIMATE_ROWS:
        return {"alone": alone}
    values = local[is_finite]
    deviations = values - values.mean()
    sums = deviations
    if sample.groups is not None:
        sums = np.bincount(sample.groups[is_finite], deviations)
    spread = values.std()
    skewness = 0.0
    if spread > 1e-9:
        skewness = (deviations**3).mean() / spread**3
    low, high = np.quantile(values, (0.1, 0.9))
    return {
        "ksg_error": np.sqrt((sums**2).sum()) / len(values),
        "local_spread": spread,
        "local_skewness": skewness,
        "local_low": low,
        "local_high": high,
        "alone": alone,
    }


def _dimensions(sample: Sample, neighbours: Neighbours) -> Figures:
    """Intrinsic dimensions of both variables together and of each that has numbers."""
    joint, *margins = map(_log_dimension, neighbours.distances)
    of_numbers = []
    for variable, dimension in zip(sample.variables, margins):
        if not variable.is_label:
            of_numbers.append(dimension)
    return {"intrinsic_joint": joint, **in_order("intrinsic", of_numbers)}


def _log_dimension(distances: Values) -> float:
    """log(1 + maximum-likelihood dimension) from ascending distances [n, near].

    Levina & Bickel (2004).
    """
    is_valid = np.isfinite(distances) & (distances > 0)
    radii = distances[is_valid.all(axis=1)]
    if not distances.shape[1] or len(radii) < MIN_ESTIMATE_ROWS:
        return np.nan
    log_ratios = np.log(radii[:, -1:] / radii[:, :-1]).mean(axis=1)
    return float(np.log1p(1 / max(np.mean(log_ratios), 1e-3)))


def _canonical(sample: Sample) -> Figures:
    """Canonical correlations in the sample, and the Gaussian copula estimate."""
    first, second = sample.variables
    x = first.linear
    y = second.linear
    _, _, correlations = canonical(x, y, sample.generator)
    chance = (np.sqrt(x.shape[1]) + np.sqrt(y.shape[1]) + 1) / np.sqrt(sample.n)
    values: Figures = {}
    for i, correlation in enumerate(correlations[:3], start=1):
        values[f"canonical_{i}"] = information(correlation)
    values["canonical_count"] = float((correlations > chance).sum())
    if not second.is_label:
        max_columns = max(sample.n // 8, 1)
        components_x = leading(x, max_columns)
        components_y = leading(y, max_columns)
        values["gaussian"] = gaussian_information(components_x, components_y)
    elif second.codes is not None and not first.is_label:
        values["gaussian"] = _gaussian_of_label(first.scores, second.codes)
    return values


def _gaussian_of_label(u: Values, codes: Values) -> float:
    """Information of normal scores [n, d] about a label, nats (Ince et al. 2017).

    The scores of each class have a normal distribution.
    """
    n, dim = u.shape
    counts = np.bincount(codes)
    is_frequent = counts > 2 * dim + 2
    if not dim or not is_frequent.any():
        return np.nan

    def log_det(values: Values) -> float:
        """Log determinant of the covariance of rows, without bias."""
        centred = values - values.mean(axis=0)
        m = len(values)
        degrees = m - np.arange(1, dim + 1)
        bias = digamma(degrees / 2).sum() + dim * np.log(2 / m)
        covariance = centred.T @ centred / m + 1e-9 * np.eye(dim)
        return float(np.linalg.slogdet(covariance).logabsdet - bias)

    within = 0.0
    for label in np.flatnonzero(is_frequent):
        within += counts[label] * log_det(u[codes == label])
    within /= counts[is_frequent].sum()
    value = (log_det(u[is_frequent[codes]]) - within) / 2
    return min(value, discrete.plug_in(counts))


def _distances(sample: Sample) -> Figures:
    """Distance correlation without bias (Szekely & Rizzo 2014)."""
    rows = sample.generator.permutation(sample.n)[:MAX_DISTANCE_ROWS]
    m = len(rows)
    if m < MIN_ESTIMATE_ROWS:
        return {}
    centred = []
    for variable in sample.variables:
        points = variable.linear[rows]
        distances = cdist(points, points)
        margin = distances.sum(axis=0) / (m - 2)
        mean = distances.sum() / ((m - 1) * (m - 2))
        distances = distances - margin - margin[:, None] + mean
        np.fill_diagonal(distances, 0)
        centred.append(distances)
    x, y = centred
    variances = (x**2).sum() * (y**2).sum()
    return {"distance_correlation": (x * y).sum() / np.sqrt(variances)}


def _kurtosis(sample: Sample) -> Figures:
    """Joint kurtosis of two variables of numbers; 0 for a Gaussian copula."""
    if any(variable.codes is not None for variable in sample.variables):
        return {}
    x, y = (variable.scores for variable in sample.variables)
    joint = _mardia_excess(np.hstack([x, y]))
    return {
        "kurtosis_joint": joint,
        **in_order("kurtosis", [_mardia_excess(x), _mardia_excess(y)]),
    }


def _mardia_excess(columns: Values) -> float:
    """Mardia's kurtosis over p (p + 2), less 1; nan for few rows."""
    n, p = columns.shape
    if n < 2 * p + 4:
        return np.nan
    inverse = np.linalg.inv(columns.T @ columns / n + 1e-6 * np.eye(p))
    squares = ((columns @ inverse) * columns).sum(axis=1)
    return float((squares**2).mean() / (p * (p + 2)) - 1)


def _copula(sample: Sample) -> Figures:
    """Squares and tails of the pair of columns that depend most."""
    if sample.labels:
        return {}
    strength = screening(sample.variables, np.arange(sample.n))
    i, j = np.unravel_index(int(strength.argmax()), strength.shape)
    x, y = sample.variables
    column_x = x.scores[:, i]
    column_y = y.scores[:, j]
    corners = []
    for tail_x in _tails(column_x):
        for tail_y in _tails(column_y):
            expected = np.sqrt(max(tail_x.mean() * tail_y.mean(), 1e-9))
            corners.append(np.mean(tail_x & tail_y) / expected)
    squares = float(np.corrcoef(column_x**2, column_y**2)[0, 1])
    return {
        "squares": squares,
        "corner_most": max(corners),
        "corner_least": min(corners),
    }


def _tails(column: Values) -> tuple[Values, Values]:
    """Masks [n] of the lower and the upper tail."""
    low, high = np.quantile(column, (TAIL, 1 - TAIL))
    return column <= low, column >= high


def _categories(sample: Sample) -> Figures:
    """Figures from tables of categories, or of few distinct rows of numbers."""
    x, y = (variable.levels for variable in sample.variables)
    if x is None or y is None:
        return {}
    joint = np.bincount(joint_codes((x, y))[0])
    permuted = np.bincount(joint_codes((x, sample.generator.permutation(y)))[0])
    values: Figures = {"unseen": np.sum(joint == 1) / sample.n}
    for name, entropy in (
        ("plug_in", discrete.plug_in),
        ("chao_shen", discrete.chao_shen),
    ):
        margins = entropy(np.bincount(x)) + entropy(np.bincount(y))
        values[name] = margins - entropy(joint)
        values[f"{name}_permuted"] = margins - entropy(permuted)
    gains = [_table_gain(sample, x, y), _table_gain(sample, y, x)]
    return values | in_order("table_gain", gains)


def _table_gain(sample: Sample, x: Values, y: Values) -> float:
    """Mean of log p(y | x) / p(y) on held-out rows, nats.

    p(y | x) is shrunk to p(y) by the best of PRIOR_ROWS.
    """
    shares = np.bincount(y) / sample.n
    cells, _ = joint_codes((x, y))
    gains = []
    for train, test in sample.folds():
        sizes = _training_counts(x, train, test)
        ratios = _training_counts(cells, train, test) / shares[y[test]]
        of_fold = []
        for rows in PRIOR_ROWS:
            log_ratios = np.log((ratios + rows) / (sizes + rows))
            of_fold.append(log_ratios.mean())
        gains.append(of_fold)
    return float(np.mean(gains, axis=0).max())


def _training_counts(codes: Values, train: Values, test: Values) -> Values:
    """For each test row the number of training rows with its code."""
    counts = np.bincount(codes[train], minlength=int(codes.max()) + 1)
    return counts[codes[test]]


_FOLD_GROUPS = (
    Fold.components,
    Fold.pairs,
    Fold.predictions,
    figures_wide.learning_curve,
)


def _held_out(sample: Sample) -> Figures:
    """Figures of what is fitted to one half of a sample and evaluated on the other."""
    return held_out(sample, _FOLD_GROUPS)


_FIGURE_GROUPS = (
    _sizes, _ties, _knn, _canonical, _held_out, _kurtosis, _distances, _copula, _categories, figures_wide.surfaces,
    figures_wide.tests,
)  # fmt: skip
