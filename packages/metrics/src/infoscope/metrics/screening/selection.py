"""Columns that carry information about a target, for pipelines of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from infoscope.checks import require_number
from infoscope.errors import NoVariation, UnknownName, WrongLength
from infoscope.estimators.alignment import aligns, group_codes
from infoscope.estimators.columns import Discrete, single_columns
from infoscope.estimators.independence.association import MIN_ROWS, independence
from infoscope.estimators.independence.beyond import choose
from infoscope.estimators.independence.columns import smooth_column
from infoscope.estimators.independence.functions import NUMBER, Smooth, smooth


@aligns("X", "y")
def information_scores(X: Any, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Strength and p-value [d] of the dependence of y and each column of X [n, d]: `SelectKBest(information_scores)`.

    The strength is in standard deviations above that of independent columns; 0 for a constant column. InfoscopeError:
    missing values, dates, texts that are numbers, a constant y, fewer than 4 rows.
    """
    tested = independence(*smooth_columns(single_columns("X", X), y))
    return tested.strength[:, 0], tested.p[:, 0]


def smooth_columns(columns: Sequence[Any], y: Any) -> tuple[list[Smooth], list[Smooth]]:
    """Smooth functions of the columns (0 for constant ones) and of y."""
    of_y = smooth_column("y", y)
    if of_y is None:
        raise NoVariation("y must take two values or more; categories must repeat.")
    found = [smooth_column("X", column) or smooth(np.zeros(of_y.n), NUMBER) for column in columns]
    if {one.n for one in found} != {of_y.n} or of_y.n < MIN_ROWS:
        raise WrongLength(f"X and y must have the same rows, at least {MIN_ROWS}, got {found[0].n} and {of_y.n}.")
    return found, [of_y]


class InformationSelector(SelectorMixin, BaseEstimator):
    """Keeps the columns that carry information about y, of any type and in any form, at a false discovery rate.

    level           false discovery rate: the expected share of independent columns among those kept is at most this
                    (Benjamini & Hochberg 1995)
    drop_redundant  whether to keep only columns that each carry information about y beyond the others
                    (`independence.beyond.choose`)
    discrete        the columns that are categories: "auto", by their types (`column_types`); or a mask, indices
                    or names

    Fitted: scores_ and p_values_ as in `information_scores`, q_values_ [d], and support_, a mask [d]. Tables of pandas,
    polars and pyarrow may have columns of texts, booleans and categories. y may be numbers or classes. Dependent rows
    are given by `fit(X, y, groups=...)`.
    """

    def __init__(self, level: float = 0.05, drop_redundant: bool = False, discrete: Any = "auto"):
        self.level = level
        self.drop_redundant = drop_redundant
        self.discrete = discrete

    @aligns("X", "y", "groups")
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Tests every column of X [n, d] against y [n]. ValueError: as scikit-learn and `information_scores`."""
        require_number("level", self.level, 0, 1)
        given = y
        # validate_data turns categories into numbers
        checked, y = validate_data(self, X, y, dtype=None, accept_sparse=["csr", "csc"], ensure_min_samples=MIN_ROWS)
        y = given if isinstance(getattr(given, "dtype", None), pd.CategoricalDtype) else y
        columns = single_columns(
            "X", X if isinstance(X, pd.DataFrame) or hasattr(self, "feature_names_in_") else checked
        )
        found, of_y = smooth_columns(
            [Discrete(one) if known else one for one, known in zip(columns, self._discrete())], y
        )
        codes = None if groups is None else group_codes(len(y), groups)[1]
        tested = independence(found, of_y, codes)
        self.scores_, self.p_values_ = tested.strength[:, 0], tested.p[:, 0]
        self.q_values_ = false_discovery_control(self.p_values_)
        self.support_ = self.q_values_ <= self.level
        if self.drop_redundant and self.support_.any():
            offered = {place: found[place] for place in np.argsort(-self.scores_) if self.support_[place]}
            chosen = choose(offered, of_y[0], self.level, codes).chosen
            self.support_ = np.isin(np.arange(len(found)), chosen)
        return self

    def _discrete(self) -> NDArray[np.bool_]:
        """Mask of the columns given as categories [d]."""
        known = np.zeros(self.n_features_in_, bool)
        if isinstance(self.discrete, str) and self.discrete == "auto":
            return known
        named = np.atleast_1d(self.discrete)
        if named.size == 0:
            return known
        if named.dtype.kind not in "UO":
            try:
                known[named] = True
            except IndexError:
                raise UnknownName(f"discrete must name columns of X, got {named.tolist()} for {len(known)}.") from None
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
