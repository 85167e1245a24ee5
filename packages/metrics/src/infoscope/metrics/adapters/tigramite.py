"""`independence_test` as a test of tigramite (Runge et al. 2019)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from tigramite.independence_tests.independence_tests_base import CondIndTest

from infoscope.errors import NoVariation
from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.independence import IndependenceTest, independence_test
from infoscope.estimators.pairs import as_pairs
from infoscope.estimators.reading.given import as_triples
from infoscope.estimators.reading.lagged import Lagged
from infoscope.estimators.serial import RowsInSequence
from infoscope.estimators.series import read_rows


class TigramiteTest(CondIndTest):
    """`independence_test` for PCMCI and `run_test`; no samples are shuffled.

    Variables with `data_type` 1 in all samples are categories. If x or y is constant,
    the value is 0 and p is 1. If the test is not decided, p is 0: a dependence is not
    excluded, and the link stays. There are no warnings of serial dependence, as PCMCI
    conditions on the past.

    Parameters
    ----------
    reading
        Whether the value is the reading of I(x; y | z) of series, nats, about a second
        for each. Otherwise the value is the information of normal variables with the
        correlations of the residuals of x and y given z, nats.
    settings
        Of tigramite's tests.
    """

    measure = "infoscope"
    two_sided = False
    residual_based = False

    def __init__(
        self, significance: str = "shuffle_test", reading: bool = False, **settings: Any
    ):
        super().__init__(significance=significance, **settings)
        self.reading = reading

    def get_dependence_measure(
        self, array: np.ndarray, xyz: np.ndarray, data_type: np.ndarray | None = None
    ) -> float:
        """The information of x and y given z, nats: the rows of array [columns, n]
        where xyz [columns] is 0, 1 and 2.
        """
        if self.reading:
            return self._information(*_variables(array, xyz, data_type))
        test = self._test(array, xyz, data_type)
        return 0.0 if test is None else float(test.observed)

    def get_shuffle_significance(
        self,
        array: np.ndarray,
        xyz: np.ndarray,
        value: float,
        data_type: np.ndarray | None = None,
    ) -> float:
        """The p-value; columns as in `get_dependence_measure`."""
        test = self._test(array, xyz, data_type)
        return 1.0 if test is None else float(np.nan_to_num(test.p_value, nan=0.0))

    def _test(self, array: Any, xyz: Any, data_type: Any) -> IndependenceTest | None:
        """The test; None where a variable is constant."""
        x, y, z = _variables(array, xyz, data_type)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RowsInSequence)
            try:
                return independence_test(x, y, z)
            except NoVariation:
                return None

    def _information(self, x: Any, y: Any, z: Any) -> float:
        """The reading of rows in the order of time, nats; 0 where a variable is
        constant.
        """
        has_conditions = z is not None
        conditions = ()
        try:
            if has_conditions:
                triples = as_triples(x, y, z)
                pairs = triples.pairs
                conditions = triples.conditions
            else:
                pairs = as_pairs(x, y)
        except NoVariation:
            return 0.0
        one_series = np.zeros(pairs.n, np.intp)
        sample = Lagged(pairs, conditions, one_series)
        generator = np.random.default_rng(0)
        return float(read_rows(sample, has_conditions, generator))


def _variables(array: Any, xyz: Any, data_type: Any) -> tuple[Any, Any, Any]:
    """x, y, and z or None: the rows of array where xyz is 0, 1 and 2, without constant
    rows of z. Rows with `data_type` 1 throughout are categories.
    """
    labels = np.zeros(len(array), bool)
    if data_type is not None:
        labels = np.asarray(data_type, bool).all(axis=1)
    assert isinstance(labels, np.ndarray)
    variables: list[list[Any]] = [[], [], []]
    for row, label, part in zip(array, labels, xyz):
        if part in (0, 1) or (part == 2 and np.ptp(row) > 0):
            wrapper = Discrete if label else Continuous
            variables[int(part)].append(wrapper(row))
    x, y, z = variables
    return x, y, z or None
