"""The permutation test of nearest-neighbour information as a test of tigramite (Runge et al. 2019)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from tigramite.independence_tests.independence_tests_base import CondIndTest

from infoscope.errors import NoVariation
from infoscope.estimators.serial import RowsInSequence
from infoscope.estimators.uncertainty import PermutationTest, permutation_test
from infoscope.estimators.variables import Continuous, Discrete


class TigramiteTest(CondIndTest):
    """`permutation_test` for PCMCI and `run_test`: the value is I(x; y | z) in nats, `sig_samples` the permutations.

    k and k_perm are those of `permutation_test`, settings those of tigramite. Variables whose `data_type` is 1 in all
    samples are categories. Where x or y does not vary, or no exchange changes it, the value is 0 and p is 1. That
    successive rows are alike is not warned of: PCMCI conditions on the past.
    """

    measure = "infoscope"
    two_sided = residual_based = False

    def __init__(self, k: int | None = None, k_perm: int = 5, significance: str = "shuffle_test", **settings: Any):
        super().__init__(significance=significance, **settings)
        self.neighbours = {"k": k, "k_perm": k_perm}

    def get_dependence_measure(self, array: np.ndarray, xyz: np.ndarray, data_type: np.ndarray | None = None) -> float:
        """I(x; y | z), nats, of the rows of array [columns, n] that xyz [columns] calls 0, 1 and 2."""
        try:
            return float(self._test(array, xyz, data_type, permutations=1).observed)
        except NoVariation:
            return 0.0

    def get_shuffle_significance(
        self, array: np.ndarray, xyz: np.ndarray, value: float, data_type: np.ndarray | None = None
    ) -> float:
        """The p-value; what the columns are as in `get_dependence_measure`."""
        try:
            return self._test(array, xyz, data_type, permutations=self.sig_samples).p_value
        except NoVariation:
            return 1.0

    def _test(self, array: Any, xyz: Any, data_type: Any, permutations: int) -> PermutationTest:
        labels = np.zeros(len(array), bool) if data_type is None else np.asarray(data_type, bool).all(axis=1)
        columns = [Discrete(row) if label else Continuous(row) for row, label in zip(array, labels)]
        x, y, z = ([columns[place] for place in np.flatnonzero(xyz == part)] for part in range(3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RowsInSequence)
            return permutation_test(
                x, y, z or None, permutations=permutations, generator=self.random_state, **self.neighbours
            )
