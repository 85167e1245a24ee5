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

    Where x or y does not vary, the p-value is 1. Where the test is not decided it is 0:
    a dependence is not excluded, and the edge stays.
    """

    def __init__(
        self,
        data: np.ndarray,
        discrete: Sequence[int] = (),
        cache_path: str | None = None,
        groups: Any = None,
    ):
        super().__init__(data, cache_path=cache_path)
        self.check_cache_method_consistent(
            "infoscope",
            repr(
                (
                    list(discrete),
                    None if groups is None else as_codes("groups", groups).tolist(),
                )
            ),
        )
        self.discrete, self.groups = set(discrete), groups

    def __call__(
        self, X: int, Y: int, condition_set: Iterable[int] | None = None
    ) -> float:
        x, y, z, key = self.get_formatted_XYZ_and_cachekey(X, Y, condition_set)
        if key not in self.pvalue_cache:
            variables = (
                self._columns(x),
                self._columns(y),
                self._columns(z) if z else None,
            )
            try:
                p = independence_test(*variables, groups=self.groups).p_value
                self.pvalue_cache[key] = float(np.nan_to_num(p, nan=0.0))
            except NoVariation:
                self.pvalue_cache[key] = 1.0
        return self.pvalue_cache[key]

    def _columns(self, places: Sequence[int]) -> Any:
        """A variable of these columns; categories as `Discrete`."""
        if not self.discrete.intersection(places):
            return self.data[:, places]
        columns = {place: self.data[:, place] for place in places}
        return [
            Discrete(column) if place in self.discrete else column
            for place, column in columns.items()
        ]


register_ci_test("infoscope", CausalLearnTest)
