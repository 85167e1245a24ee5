"""`independence_test` as a test of causal-learn (Zheng et al. 2024)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from causallearn.utils.cit import CIT_Base, register_ci_test

from infoscope.errors import NoVariation
from infoscope.estimators.columns import Discrete, as_codes
from infoscope.estimators.independence import independence_test


class CausalLearnTest(CIT_Base):
    """`independence_test` for `pc(data, indep_test="infoscope")` and other searches;
    called, it returns the p-value.

    data        [n, columns]; floats are numbers, integers that look like labels are categories
    discrete    indices of columns that are categories regardless of their type
    cache_path  a file of p-values, as of causal-learn's own tests
    groups      [n] of dependent rows

    If x or y does not vary, the p-value is 1. If the test is not decided, the p-value is
    0: a dependence is not excluded, and the edge stays.
    """

    def __init__(
        self,
        data: np.ndarray,
        discrete: Sequence[int] = (),
        cache_path: str | None = None,
        groups: Any = None,
    ):
        super().__init__(data, cache_path=cache_path)
        codes = None
        if groups is not None:
            codes = as_codes("groups", groups).tolist()
        settings = repr((list(discrete), codes))
        self.check_cache_method_consistent("infoscope", settings)
        self.discrete = set(discrete)
        self.groups = groups

    def __call__(
        self, X: int, Y: int, condition_set: Iterable[int] | None = None
    ) -> float:
        x, y, z, key = self.get_formatted_XYZ_and_cachekey(X, Y, condition_set)
        if key not in self.pvalue_cache:
            condition = self._columns(z) if z else None
            try:
                test = independence_test(
                    self._columns(x), self._columns(y), condition, groups=self.groups
                )
                p = float(np.nan_to_num(test.p_value, nan=0.0))
            except NoVariation:
                p = 1.0
            self.pvalue_cache[key] = p
        return self.pvalue_cache[key]

    def _columns(self, places: Sequence[int]) -> Any:
        """A variable of these columns; categories as `Discrete`."""
        if not self.discrete.intersection(places):
            return self.data[:, places]
        columns = []
        for place in places:
            column = self.data[:, place]
            columns.append(Discrete(column) if place in self.discrete else column)
        return columns


register_ci_test("infoscope", CausalLearnTest)
