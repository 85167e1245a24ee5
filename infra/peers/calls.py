"""Calls of public packages for the mutual information of two arrays, each with its own defaults.

Imported by worker.py in the environment of the package, without infoscope. Every function imports its package and
returns measure(x, y, labels, seed) -> nats, or a dict with "value" and any of "interval" and "notes": x [n, c] and
y [n, d] are float64; with `labels`, y [n, 1] holds category codes. Functions named _selection return select(x, y,
categories, labels, seed) -> positions of the columns of x that depend on y; categories [c]: which columns hold codes.
p-values are adjusted by the procedure of Benjamini & Hochberg 1995 at 0.05. Results and exceptions are not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Answer = float | dict[str, Any]
Measure = Callable[[np.ndarray, np.ndarray, bool, int], Answer]


def npeet_plus() -> Measure:
    """npeet_plus.mi for numbers, .micd for numbers and labels, k = 3; noise of 1e-10 from numpy's global state."""
    import npeet_plus as package

    def measure(x: np.ndarray, y: np.ndarray, labels: bool, seed: int) -> float:
        return (package.micd if labels else package.mi)(x, y, base=np.e)

    return measure


def npeet_plus_bootstrap() -> Measure:
    """mi_confidence_interval: the same value, with percentiles of 1,000 resamples with replacement."""
    import npeet_plus.estimators as package

    def measure(x: np.ndarray, y: np.ndarray, labels: bool, seed: int) -> Answer:
        kind = "micd" if labels else "mi"
        value, low, high, _ = package.mi_confidence_interval(x, y, mi_type=kind, base=np.e, random_state=seed)
        return {"value": value, "interval": (low, high)}

    return measure


def infomeasure() -> Measure:
    """infomeasure.mutual_information(approach="ksg"), k = 4, columns not scaled."""
    import infomeasure as package

    def measure(x: np.ndarray, y: np.ndarray, labels: bool, seed: int) -> float:
        return package.mutual_information(x, y, approach="ksg", base="e", seed=seed)

    return measure


def ennemi_sum() -> Measure:
    """The sum of ennemi.estimate_mi, k = 3, over the columns of x."""
    import ennemi as package

    def measure(x: np.ndarray, y: np.ndarray, labels: bool, seed: int) -> Answer:
        each = package.estimate_mi(y[:, 0], x, discrete_y=labels, max_threads=1)
        return _sum_over_columns(np.asarray(each).ravel())

    return measure


def sklearn_sum() -> Measure:
    """The sum of mutual_info_regression, or mutual_info_classif for labels, k = 3, over the columns of x."""
    from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

    def measure(x: np.ndarray, y: np.ndarray, labels: bool, seed: int) -> Answer:
        estimate = mutual_info_classif if labels else mutual_info_regression
        return _sum_over_columns(estimate(x, y[:, 0].astype(int) if labels else y[:, 0], random_state=seed))

    return measure


def _sum_over_columns(each: np.ndarray) -> Answer:
    if len(each) == 1:
        return float(each[0])
    return {"value": each.sum(), "notes": [f"the sum over {len(each)} columns, each estimated separately"]}


def _bmi(name: str, trained: bool = False) -> Measure:
    """An estimator of bmi.estimators. trained: whether it trains a network and returns information about it."""
    import bmi

    make = getattr(bmi.estimators, name)

    def measure(x: np.ndarray, y: np.ndarray, labels: bool, seed: int) -> Answer:
        if not trained:
            return make().estimate(x, y)
        found = make(verbose=False, seed=seed).estimate_with_info(x, y)
        warned = [name for name, value in found.additional_information.items() if value is True]
        notes = [f"it reports {name.replace('_', ' ')}: True" for name in warned]
        return {"value": found.mi_estimate, "notes": notes}

    return measure


bmi_ksg = partial(_bmi, "KSGEnsembleFirstEstimator")  # k = 5 and 10 averaged, columns standardised
bmi_cca = partial(_bmi, "CCAMutualInformationEstimator")  # of a normal distribution with these canonical correlations
bmi_mine = partial(_bmi, "MINEEstimator", trained=True)  # these have their own network, steps and split
bmi_infonce = partial(_bmi, "InfoNCEEstimator", trained=True)
bmi_nwj = partial(_bmi, "NWJEstimator", trained=True)
bmi_dv = partial(_bmi, "DonskerVaradhanEstimator", trained=True)


def latentmi() -> Measure:
    """lmi.estimate: autoencoders to 8 dimensions, KSG on the other half (which also stops the training); the mean."""
    import torch
    from latentmi import lmi

    torch.set_num_threads(1)

    def measure(x: np.ndarray, y: np.ndarray, labels: bool, seed: int) -> float:
        torch.manual_seed(seed)
        values, _, _ = lmi.estimate(x, y)
        return np.nanmean(values)

    return measure


def _torch_mist(**settings: Any) -> Measure:
    """torch_mist.estimate_mi, evaluated on all rows after training."""
    import torch
    import torch_mist

    torch.set_num_threads(1)

    def measure(x: np.ndarray, y: np.ndarray, labels: bool, seed: int) -> Answer:
        torch.manual_seed(seed)
        value, *_ = torch_mist.estimate_mi((x.astype(np.float32), y.astype(np.float32)), verbose=False, **settings)
        return {"value": value, "notes": ["evaluated on its training rows, the default of the package"]}

    return measure


torch_mist_smile = _torch_mist  # with its defaults: SMILE, up to 5,000 steps
README = {"max_iterations": 1000, "hidden_dims": [128]}  # as in its README
torch_mist_mine = partial(_torch_mist, estimator="mine", **README)
torch_mist_infonce = partial(_torch_mist, estimator="infonce", **README)

Select = Callable[[np.ndarray, np.ndarray, np.ndarray, bool, int], np.ndarray]
SHUFFLES = 20  # of y; the scores of all columns are pooled as the null distribution


def _adjusted(p: list[float]) -> np.ndarray:
    from scipy.stats import false_discovery_control

    return np.flatnonzero(false_discovery_control(p) <= 0.05)


def _vectors(column: np.ndarray, category: bool) -> np.ndarray:
    return np.eye(int(column.max()) + 1)[column.astype(int)] if category else column[:, None]


def dcor_selection() -> Select:
    """dcor: n times the unbiased squared distance correlation, plus 1, is about chi-squared (Shen et al. 2022)."""
    import dcor
    from scipy.stats import chi2

    def select(x: np.ndarray, y: np.ndarray, categories: np.ndarray, labels: bool, seed: int) -> np.ndarray:
        target = _vectors(y[:, 0], labels)
        each = [dcor.u_distance_correlation_sqr(_vectors(*one), target) for one in zip(x.T, categories)]
        return _adjusted([chi2.sf(len(y) * one + 1, 1) for one in each])

    return select


def phik_selection() -> Select:
    """phik: the p-value of its chi-square test with ten bins for numbers."""
    from phik.significance import significance_from_array

    def select(x: np.ndarray, y: np.ndarray, categories: np.ndarray, labels: bool, seed: int) -> np.ndarray:
        p = []
        for column, category in zip(x.T, categories):
            numbers = [name for name, is_code in (("x", category), ("y", labels)) if not is_code]
            p.append(significance_from_array(column, y[:, 0], num_vars=numbers, njobs=1)[0])
        return _adjusted(p)

    return select


def sklearn_selection() -> Select:
    """mutual_info_classif or _regression of each column, compared with those of all columns for shuffled y."""
    from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

    def select(x: np.ndarray, y: np.ndarray, categories: np.ndarray, labels: bool, seed: int) -> np.ndarray:
        score = mutual_info_classif if labels else mutual_info_regression
        draws = np.random.default_rng(seed)
        columns = dict(discrete_features=categories.astype(bool), random_state=seed)
        null = np.sort([score(x, draws.permutation(y[:, 0]), **columns) for _ in range(SHUFFLES)], axis=None)
        above = len(null) - np.searchsorted(null, score(x, y[:, 0], **columns))
        return _adjusted((1 + above) / (1 + len(null)))

    return select


def boruta_selection() -> Select:
    """BorutaPy with a random forest of depth 5, as in its documentation; codes are used as numbers."""
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    def select(x: np.ndarray, y: np.ndarray, categories: np.ndarray, labels: bool, seed: int) -> np.ndarray:
        forest = (RandomForestClassifier if labels else RandomForestRegressor)(n_jobs=1, max_depth=5, random_state=seed)
        found = BorutaPy(forest, n_estimators="auto", max_iter=50, random_state=seed).fit(x, y[:, 0])
        return np.flatnonzero(found.support_)

    return select
