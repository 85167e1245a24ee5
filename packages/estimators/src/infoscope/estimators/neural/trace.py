"""The record of a training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infoscope.errors import UnknownName
from infoscope.estimators.neural.bounds import Bound, as_bound


@dataclass(frozen=True, eq=False)
class Trace:
    """The reports of every member at every step, before that step's update, on that step's batch.

    reports  (member, bound name), one per row of `values`
    values   float64 [reports, steps], nats
    truth    float64 [steps], true mutual information of the pairs, nats; nan where it is not known
    """

    reports: tuple[tuple[int, str], ...]
    values: np.ndarray
    truth: np.ndarray

    def of(self, bound: str | Bound, member: int = 0) -> np.ndarray:
        """One report's estimates [steps], nats. ValueError if that member did not report that bound."""
        report = (member, as_bound(bound).name)
        if report not in self.reports:
            raise UnknownName(f"(member, bound) must be one of {list(self.reports)}, got {report}.")
        return self.values[self.reports.index(report)]

    @property
    def nonfinite(self) -> np.ndarray:
        """Number of steps whose estimate is infinite or nan, int64 [reports]."""
        return (~np.isfinite(self.values)).sum(axis=1)
