"""`independence_test` as a test of tigramite (Runge et al. 2019)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from tigramite.independence_tests.independence_tests_base import CondIndTest

from infoscope.errors import NoVariation
from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.independence import IndependenceTest, independence_test
from infoscope.estimators.serial import RowsInSequence


class TigramiteTest(CondIndTest):
    """`independence_test` for PCMCI and `run_test`: the value is the information of the residuals of x and y given z,
    nats; no samples are shuffled.

    Settings are those of tigramite. Variables whose `data_type` is 1 in all samples are categories. Where x or y is
    constant the value is 0 and p is 1. Where the test is not decided p is 0: a dependence is not excluded, and the link
    stays. Serial dependence of rows is not warned of, as PCMCI conditions on the past.
    """

    measure = "infoscope"
    two_sided = residual_based = False

    def __init__(self, significance: str = "shuffle_test", **settings: Any):
        super().__init__(significance=significance, **settings)

    def get_dependence_measure(self, array: np.ndarray, xyz: np.ndarray, data_type: np.ndarray | None = None) -> float:
        """The information of x, y and z: the rows of array [columns, n] where xyz [columns] is 0, 1 and 2."""
        found = self._test(array, xyz, data_type)
        return 0.0 if found is None else float(found.observed)

    def get_shuffle_significance(
        self, array: np.ndarray, xyz: np.ndarray, value: float, data_type: np.ndarray | None = None
    ) -> float:
        """The p-value; columns as in `get_dependence_measure`."""
        found = self._test(array, xyz, data_type)
        return 1.0 if found is None else float(np.nan_to_num(found.p_value, nan=0.0))

    def _test(self, array: Any, xyz: Any, data_type: Any) -> IndependenceTest | None:
        """The test; None where a variable is constant."""
        labels = np.zeros(len(array), bool) if data_type is None else np.asarray(data_type, bool).all(axis=1)
        columns = [Discrete(row) if label else Continuous(row) for row, label in zip(array, labels)]
        x, y, z = ([columns[place] for place in np.flatnonzero(xyz == part)] for part in range(3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RowsInSequence)
            try:
                return independence_test(x, y, z or None)
            except NoVariation:
                return None
