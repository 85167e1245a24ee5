"""Figures: quick statistics of a sample, from which the reader predicts I(x; y) and its interval.

Every figure is computed from normal scores of the ranks and from codes of categories, so units, monotone maps of single
columns, names of categories and the order of rows and columns do not matter. Figures that differ between x and y are
kept as the larger and the smaller one. Information is in nats, and limited by what this number of rows can show.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import digamma

from infoscope.estimators import discrete
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.reading import figures_memory, figures_wide
from infoscope.estimators.reading.figures_heldout import Fold, held_out, in_order, information, screening
from infoscope.estimators.reading.figures_neighbours import Neighbours, estimates, local_information, mean_of_rows
from infoscope.estimators.reading.figures_sample import Sample, canonical, gaussian_information, leading, parts
from infoscope.estimators.variables import joint_codes

VERSION = 5
KS = (1, 3, 5, 10, 20)  # neighbours
MIN_ESTIMATE_ROWS = 10
MAX_EXTRA_ROWS = 2_000  # for estimates of permuted rows, of unbroken ties, and of categories as columns
PRIOR_ROWS = (0.5, 2, 8, 32, 128)  # pseudo-rows with the frequencies of all rows, added to each category

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
Values, Figures = np.ndarray, dict[str, float]


def figures(pairs: Pairs, generator: np.random.Generator) -> np.ndarray:
    """The figures of a sample, float64 [len(NAMES)]; nan where one does not apply."""
    rows = []
    with np.errstate(all="ignore"):
        for sample in parts(pairs, generator):
            found: Figures = {}
            for part in _FIGURE_GROUPS:
                found |= part(sample)
            found["lower_bound"] = _lower_bound(found)
            rows.append([found.get(name, np.nan) for name in NAMES])
    return mean_of_known(np.array(rows, dtype=np.float64))


def mean_of_known(rows: np.ndarray) -> np.ndarray:
    """The mean [p] of the rows [m, p] that have a figure; nan where none has."""
    known = np.isfinite(rows)
    counts = known.sum(axis=0)
    return np.where(counts > 0, np.where(known, rows, 0).sum(axis=0) / np.maximum(counts, 1), np.nan)


def _lower_bound(found: Figures) -> float:
    """The largest of the estimates that are rarely above I by more than their error."""
    value = {name: found.get(name, np.nan) for name in NAMES}
    values = [value[name] for name in HELD_OUT]
    if value["numbers_numbers"]:
        values.append(min(value["gaussian"], value["heldout_gaussian"]))
    for estimate in ("ksg_3", "chao_shen"):
        values.append(value[estimate] - max(0, value[f"{estimate}_permuted"]))
    return max([0.0, *(each for each in values if np.isfinite(each))])


def _sizes(sample: Sample) -> Figures:
    variables, n = sample.variables, sample.n
    counts = [np.bincount(one.codes) if one.codes is not None else np.array([n]) for one in variables]
    counts = [count[count > 0] for count in counts]
    kinds = sorted((one.is_label, one.codes is not None) for one in variables)
    numbers, mixed, label = (False, False), (False, True), (True, True)
    groups = n if sample.groups is None else int(sample.groups.max()) + 1
    return {
        "log_rows": np.log(n),
        "log_rows_per_group": np.log(n / groups),
        **in_order("numbers", [np.log1p(one.scores.shape[1]) for one in variables]),
        **in_order("classes", [np.log(len(count)) for count in counts]),
        **in_order("entropy", [discrete.plug_in(count) for count in counts]),
        "smallest_class": np.log(min(count.min() for count in counts)),
        "numbers_numbers": float(kinds == [numbers, numbers]),
        "numbers_label": float(kinds == [numbers, label]),
        "labels_labels": float(kinds == [label, label]),
        "label_mixed": float(kinds == [mixed, label]),
        **in_order("dimension", [_dimension(one.linear) for one in variables]),
    }


def _dimension(columns: Values) -> float:
    """Log of the participation ratio of the eigenvalues of the correlations, less what n rows add to it."""
    n, p = columns.shape
    square = ((columns.T @ columns / n) ** 2).sum() if p <= n else ((columns @ columns.T / n) ** 2).sum()
    return float(np.log(p * p / max(square - p * (p - 1) / n, p)))


def _ties(sample: Sample) -> Figures:
    shares, largest = [], []
    for one in sample.variables:
        counts = [np.unique(column, return_counts=True)[1] for column in one.scores.T]
        shares.append(np.mean([count[count > 1].sum() for count in counts]) / sample.n if counts else np.nan)
        largest.append(max(count.max() for count in counts) / sample.n if counts else np.nan)
    return {**in_order("tied", shares), **in_order("largest_atom", largest)}


def _ksg_among(sample: Sample, rows: Values, ks: tuple[int, ...]) -> Values:
    """KSG estimates [ks] from some rows."""
    if len(rows) < MIN_ESTIMATE_ROWS:
        return np.full(len(ks), np.nan)
    x, y = (one.untied_rows(rows) for one in sample.variables)
    return mean_of_rows(local_information(x, y, sample.groups_of(rows), ks).local)


def _knn(sample: Sample) -> Figures:
    x, y = ((one.near, one.codes) for one in sample.variables)
    around = local_information(x, y, sample.groups, KS, 10)  # the dimension is from 10 neighbours
    value = mean_of_rows(around.local)
    found = {f"ksg_{k}": each for k, each in zip(KS, value)}
    halves = [np.flatnonzero(rows) for rows in (sample.half, ~sample.half)]
    found["ksg_3_half"], found["ksg_10_half"] = np.mean([_ksg_among(sample, rows, (3, 10)) for rows in halves], axis=0)
    found["ksg_3_quarter"] = np.mean([_ksg_among(sample, rows[: len(rows) // 2], (3,)) for rows in halves])
    found["ksg_3_permuted"], found["ksg_10_permuted"] = _permuted(sample)
    found["ksg_5_tied"] = value[2]
    if any(one.dithered is not one.scores for one in sample.variables):
        searched = [one.near if one.is_wide else one.scores for one in sample.variables]
        found["ksg_5_tied"] = _ksg_of_part(
            sample, [(points, one.codes) for points, one in zip(searched, sample.variables)]
        )
    if any(one.codes is not None and not one.is_label for one in sample.variables):
        found["ksg_5_soft"] = _ksg_of_part(
            sample,
            [(np.hstack([one.near, one.linear[:, one.scores.shape[1] :] > 0]), None) for one in sample.variables],
        )
    return found | _local_values(sample, around.local[:, 2]) | _dimensions(sample, around)


def _ksg_of_part(sample: Sample, variables: list[tuple[Values, Values | None]]) -> float:
    """KSG estimate, k = 5, of numbers and codes in a random part of at most 2,000 rows."""
    rows = np.sort(sample.generator.permutation(sample.n)[:MAX_EXTRA_ROWS])
    x, y = ((points[rows], None if codes is None else codes[rows]) for points, codes in variables)
    return float(estimates(x, y, sample.groups_of(rows), (5,))[0])


def _permuted(sample: Sample) -> Values:
    """KSG, k = 3 and 10, of one row of each group (at most 2,000) with y taken from another."""
    rows = np.arange(sample.n) if sample.groups is None else np.unique(sample.groups, return_index=True)[1]
    if len(rows) < MIN_ESTIMATE_ROWS:
        return np.full(2, np.nan)
    rows = sample.generator.permutation(rows)[:MAX_EXTRA_ROWS]
    x, y = (one.untied_rows(places) for one, places in zip(sample.variables, (rows, np.roll(rows, 1))))
    return mean_of_rows(local_information(x, y, None, (3, 10)).local)


def _local_values(sample: Sample, local: Values) -> Figures:
    known = np.isfinite(local)
    if known.sum() < MIN_ESTIMATE_ROWS:
        return {"alone": 1 - known.mean()}
    kept = local[known]
    away, spread = kept - kept.mean(), kept.std()
    sums = away if sample.groups is None else np.bincount(sample.groups[known], away)
    low, high = np.quantile(kept, (0.1, 0.9))
    skewness = (away**3).mean() / spread**3 if spread > 1e-9 else 0.0
    return {
        "ksg_error": np.sqrt((sums**2).sum()) / len(kept), "local_spread": spread, "local_skewness": skewness,
        "local_low": low, "local_high": high, "alone": 1 - known.mean(),
    }  # fmt: skip


def _dimensions(sample: Sample, around: Neighbours) -> Figures:
    """Intrinsic dimensions of both variables together and of each that has numbers."""
    together, *apart = (_log_dimension(distances) for distances in around.distances)
    apart = [np.nan if one.is_label else each for one, each in zip(sample.variables, apart)]
    return {"intrinsic_joint": together, **in_order("intrinsic", apart)}


def _log_dimension(distances: Values) -> float:
    """log(1 + maximum-likelihood dimension) from ascending distances (Levina & Bickel 2004)."""
    kept = distances[np.isfinite(distances).all(axis=1) & (distances > 0).all(axis=1)]
    if not distances.shape[1] or len(kept) < MIN_ESTIMATE_ROWS:
        return np.nan
    logs = np.log(kept[:, -1:] / kept[:, :-1]).mean(axis=1)
    return float(np.log1p(1 / max(np.mean(logs), 1e-3)))


def _canonical(sample: Sample) -> Figures:
    """Canonical correlations in the sample (categories as indicators), and the Gaussian copula estimate."""
    x, y = (one.linear for one in sample.variables)
    *_, correlations = canonical(x, y, sample.generator)
    chance = (np.sqrt(x.shape[1]) + np.sqrt(y.shape[1]) + 1) / np.sqrt(sample.n)
    found = {f"canonical_{place + 1}": float(information(each)) for place, each in enumerate(correlations[:3])}
    found["canonical_count"] = float((correlations > chance).sum())
    labels = sample.labels
    if len(labels) == 1:
        other = next(one for one in sample.variables if one is not labels[0])
        found["gaussian"] = _gaussian_of_label(other.scores, labels[0].codes)
    elif not labels:
        found["gaussian"] = gaussian_information(*(leading(each, sample.n // 8 or 1) for each in (x, y)))
    return found


def _gaussian_of_label(u: Values, codes: Values) -> float:
    """Information of normal scores about a label with one normal distribution a class (Ince et al. 2017)."""
    n, dim = u.shape
    counts = np.bincount(codes)
    kept = counts > 2 * dim + 2
    if not dim or not kept.any():
        return np.nan

    def log_det(values: Values) -> float:
        centred = values - values.mean(axis=0)
        m = len(values)
        bias = digamma((m - np.arange(1, dim + 1)) / 2).sum() + dim * np.log(2 / m)
        return float(np.linalg.slogdet(centred.T @ centred / m + 1e-9 * np.eye(dim))[1] - bias)

    rows = kept[codes]
    inside = sum(counts[label] * log_det(u[codes == label]) for label in np.flatnonzero(kept)) / counts[kept].sum()
    return min((log_det(u[rows]) - inside) / 2, discrete.plug_in(counts))


def _distances(sample: Sample) -> Figures:
    """Distance correlation without bias, of distances between rows (Szekely & Rizzo 2014)."""
    rows = sample.generator.permutation(sample.n)[:300]  # rows at most
    m = len(rows)
    if m < MIN_ESTIMATE_ROWS:
        return {}
    centred = []
    for one in sample.variables:
        far = cdist(one.linear[rows], one.linear[rows])
        margin = far.sum(axis=0) / (m - 2)
        far = far - margin - margin[:, None] + far.sum() / ((m - 1) * (m - 2))
        np.fill_diagonal(far, 0)
        centred.append(far)
    x, y = ((far**2).sum() for far in centred)
    return {"distance_correlation": (centred[0] * centred[1]).sum() / np.sqrt(x * y)}


def _kurtosis(sample: Sample) -> Figures:
    """Joint kurtosis of two variables of numbers; 0 for a Gaussian copula."""
    if any(one.codes is not None for one in sample.variables):
        return {}
    scores = [one.scores for one in sample.variables]
    joint, *apart = (_mardia_excess(columns) for columns in (np.hstack(scores), *scores))
    return {"kurtosis_joint": joint, **in_order("kurtosis", apart)}


def _mardia_excess(columns: Values) -> float:
    """Mardia's kurtosis over p (p + 2), less 1; nan for more columns than half of the rows."""
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
    place = np.unravel_index(int(strength.argmax()), strength.shape)
    x, y = (one.scores[:, column] for one, column in zip(sample.variables, place))
    tail = 0.1  # share of the rows
    tails = [(each <= np.quantile(each, tail), each >= np.quantile(each, 1 - tail)) for each in (x, y)]
    corners = [np.mean(a & b) / np.sqrt(max(a.mean() * b.mean(), 1e-9)) for a in tails[0] for b in tails[1]]
    squares = float(np.corrcoef(x**2, y**2)[0, 1])
    return {"squares": squares, "corner_most": max(corners), "corner_least": min(corners)}


def _categories(sample: Sample) -> Figures:
    """Figures from tables of categories, or of few distinct rows of numbers."""
    x, y = (one.levels for one in sample.variables)
    if x is None or y is None:
        return {}
    counts = [np.bincount(codes) for codes in (x, y, joint_codes([x, y])[0])]
    counts = [count[count > 0] for count in counts]
    permuted = np.bincount(joint_codes([x, sample.generator.permutation(y)])[0])
    found: Figures = {}
    for name, entropy in (("plug_in", discrete.plug_in), ("chao_shen", discrete.chao_shen)):
        margins = entropy(counts[0]) + entropy(counts[1])
        found |= {name: margins - entropy(counts[2]), f"{name}_permuted": margins - entropy(permuted)}
    return found | {
        "unseen": np.sum(counts[2] == 1) / sample.n,
        **in_order("table_gain", [_table_gain(sample, *pair) for pair in ((x, y), (y, x))]),
    }


def _table_gain(sample: Sample, x: Values, y: Values) -> float:
    """Mean of log p(y | x) / p(y) on held-out rows, with p(y | x) shrunk towards p(y) by the best of PRIOR_ROWS."""
    share = (np.bincount(y) / sample.n)[y]
    cells, gains = joint_codes([x, y])[0], []
    for train, test in sample.folds():
        sizes = np.bincount(x[train], minlength=int(x.max()) + 1)[x[test]]
        inside = np.bincount(cells[train], minlength=int(cells.max()) + 1)[cells[test]]
        gains.append([np.log((inside / share[test] + rows) / (sizes + rows)).mean() for rows in PRIOR_ROWS])
    return float(np.mean(gains, axis=0).max())


_FOLD_GROUPS = (Fold.components, Fold.pairs, Fold.predictions, figures_wide.learning_curve)


def _held_out(sample: Sample) -> Figures:
    return held_out(sample, _FOLD_GROUPS)


_FIGURE_GROUPS = (
    _sizes, _ties, _knn, _canonical, _held_out, _kurtosis, _distances, _copula, _categories, figures_wide.surfaces,
    figures_wide.tests,
)  # fmt: skip
