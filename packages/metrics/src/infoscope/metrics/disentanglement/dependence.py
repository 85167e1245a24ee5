"""Whether a column informs about a factor by itself, or only because factors depend on one another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from infoscope.estimators import classifier
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.result import LEVEL, mean_of
from infoscope.metrics.factor_information.arrays import Latents
from infoscope.metrics.factor_information.inputs import Factors

FAMILY = ("logistic", Logistic(0.01), "knn")  # chosen by fold: many columns need a penalty, many values little
FOLDS = 3


@dataclass(frozen=True, eq=False)
class BeyondFactor:
    """Calls a column informative beyond another factor if that lowers the held-out log loss surely.

    latents, known  the columns and the factors of the same rows
    clusters        codes of dependent rows, or None
    least           share of the remaining bits that counts
    """

    latents: Latents
    known: Factors
    clusters: NDArray[np.int64] | None
    least: float

    def __call__(self, k: int, column: int, other: int) -> bool:
        """Whether the column carries more of factor k than the other factor does. True for independent factors."""
        y, m = self.known.codes[:, k], self.known.codes[:, other]
        counts = np.histogram2d(y, m, (y.max() + 1, m.max() + 1))[0]
        test = chi2_contingency(counts, correction=False, lambda_="log-likelihood")
        pairs = self.known.count * (self.known.count - 1) / 2
        if test.pvalue * pairs > 1.0 - LEVEL:
            return True
        shared = test.statistic / (2 * self.known.n)
        remaining = float(self.known.surprisal[:, k].mean()) - shared
        gain = mean_of(self._gains(y, m, column), self.clusters)
        return gain.low > self.least * remaining

    def _gains(self, y: NDArray[np.int64], m: NDArray[np.int64], column: int) -> NDArray[np.float64]:
        """The reduction of the log loss of y by the column, the other factor being known [n], nats."""
        blocks = {"column": self.latents.inputs(column), "other": np.eye(m.max() + 1)[m]}
        both, other = ("column", "other"), ("other",)
        fit = classifier.cross_fit(blocks, {"y": y}, self.clusters, FAMILY, FOLDS, [both, other])
        return fit.pointwise(both, "y") - fit.pointwise(other, "y")
