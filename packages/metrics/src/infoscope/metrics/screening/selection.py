"""Columns that carry information about a target, for pipelines of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from infoscope.checks import require_number
from infoscope.errors import NoVariation, UnknownName
from infoscope.estimators.kernel_tests import hsic_test, kcit_test
from infoscope.estimators.variables import Discrete, Variable, aligns, as_variable, join, single_columns

Scores = tuple[NDArray[np.float64], NDArray[np.float64]]


@aligns("X", "y")
def information_scores(X: Any, y: ArrayLike) -> Scores:
    """Statistics and p-values [d] of independence of y and each column of X [n, d]: `SelectKBest(information_scores)`.

    A column that does not vary has 0 and 1. Errors as `associations`.
    """
    return relevance(typed(single_columns("X", X)), y)


def typed(columns: list[Any]) -> list[Variable | None]:
    """The columns as variables; None for those that do not vary."""
    found: list[Variable | None] = []
    for column in columns:
        try:
            found.append(as_variable("X", column))
        except NoVariation:
            found.append(None)
    return found


def relevance(columns: list[Variable | None], y: Any, groups: ArrayLike | None = None) -> Scores:
    """Statistics and p-values [d] of independence of y [n] and each of the columns."""
    null = "gamma" if groups is None else "permutation"
    tests = [None if column is None else hsic_test(column, y, null, groups=groups) for column in columns]
    found = [(0.0, 1.0) if test is None else (float(test.observed), test.p_value) for test in tests]
    return tuple(np.array(found).T)


def beyond_others(
    columns: list[Variable | None], y: Any, ranked: ArrayLike, level: float, groups: ArrayLike | None
) -> NDArray[np.bool_]:
    """Which columns [d] are kept where, in the order of `ranked`, each must add something to those before it."""
    kept: list[int] = []
    for place in ranked:
        given = [columns[other] for other in kept]
        if not kept or kcit_test(columns[place], y, join(*given), groups).p_value <= level:
            kept.append(int(place))
    return np.isin(np.arange(len(columns)), kept)


class InformationSelector(SelectorMixin, BaseEstimator):
    """Keeps the columns that carry information about y, of any type and in any form, at a false discovery rate.

    level           the false discovery rate: of the columns that are kept, the share that is independent of y is at
                    most this on average (Benjamini and Hochberg 1995)
    drop_redundant  whether a column is kept only where it adds to those that are kept already, taken by their p-values
    discrete        which columns are categories: "auto", by their types (`estimators.variables`); or a mask, places or
                    names

    Fitted: scores_, p_values_, q_values_ [d] and support_, a mask [d]. Tables of pandas, polars and pyarrow may have
    columns of texts, booleans and categories. y may be numbers or classes. Rows that belong together are named by
    `fit(X, y, groups=...)`.
    """

    def __init__(self, level: float = 0.05, drop_redundant: bool = False, discrete: Any = "auto"):
        self.level = level
        self.drop_redundant = drop_redundant
        self.discrete = discrete

    @aligns("X", "y", "groups")
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Tests every column of X [n, d] against y [n]. ValueError: as scikit-learn and `associations`."""
        require_number("level", self.level, 0, 1)
        checked, y = validate_data(self, X, y, dtype=None, accept_sparse=["csr", "csc"], ensure_min_samples=2)
        columns = single_columns("X", X if hasattr(self, "feature_names_in_") else checked)
        columns = typed([Discrete(one) if known else one for one, known in zip(columns, self._discrete())])
        self.scores_, self.p_values_ = relevance(columns, y, groups)
        self.q_values_ = false_discovery_control(self.p_values_)
        self.support_ = self.q_values_ <= self.level
        if self.drop_redundant:
            self.support_ = beyond_others(columns, y, self._ranked(), self.level, groups)
        return self

    def _ranked(self) -> NDArray[np.intp]:
        """Places of the columns that are not independent of y, those of the smallest p-values first."""
        order = np.lexsort((-self.scores_, self.p_values_))
        return order[self.support_[order]]

    def _discrete(self) -> NDArray[np.bool_]:
        """Which columns are named as categories [d]."""
        known = np.zeros(self.n_features_in_, bool)
        if isinstance(self.discrete, str) and self.discrete == "auto":
            return known
        named = np.asarray(self.discrete)
        if named.dtype.kind not in "UO":
            known[named] = True
            return known
        names = getattr(self, "feature_names_in_", np.array([], object))
        if unknown := set(named.tolist()) - set(names):
            raise UnknownName(f"discrete must name columns of X, got {sorted(unknown)}.")
        return np.isin(names, named)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags
