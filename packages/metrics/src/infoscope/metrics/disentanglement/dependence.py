"""Information in single columns and pairs about a factor, the part of it that is due
to dependent factors, and upper limits where no information is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chndtrinc
from scipy.stats import chi2_contingency
from scipy.stats.contingency import crosstab
from sklearn.metrics import mutual_info_score

from infoscope.estimators import classifier
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.result import LEVEL, Estimate, mean_of, quantile
from infoscope.metrics.factor_information.arrays import Latents
from infoscope.metrics.factor_information.inputs import Factors, parts_of
from infoscope.metrics.factor_information.result import OF_ENTROPY

Codes = NDArray[np.int64]
Values = NDArray[np.float64]

# chosen by fold: many columns need a penalty, many values little
FAMILY = ("logistic", Logistic(0.01), "knn")
FOLDS = 3
MAX_PAIRED = 15  # columns up to which all pairs are searched


@dataclass(frozen=True, eq=False)
class BeyondFactor:
    """Tests whether a column carries information about a factor that another factor
    does not carry.

    latents, factors  the columns and the factors of the same rows
    clusters          codes of dependent rows, or None
    least             share of the remaining bits that is enough
    """

    latents: Latents
    factors: Factors
    clusters: Codes | None
    least: float

    @property
    def searches_pairs(self) -> bool:
        """Whether the columns are few enough to search all pairs."""
        return 2 <= self.latents.count <= MAX_PAIRED

    @cached_property
    def limits(self) -> Values:
        """The largest information of each column about each factor [K, L], nats, at
        95 % for all of them at once.

        2 n times the information of a column in ten parts is noncentral chi-squared, n
        the number of independent rows. A statistic below the expectation for an
        independent column is raised to this expectation.
        """
        n = self.factors.n
        if self.clusters is not None:
            n = len(np.unique(self.clusters))
        count = self.latents.count
        limits = np.empty((self.factors.count, count))
        level = (1.0 - LEVEL) / limits.size
        for column in range(count):
            z = parts_of(self.latents.codes[:, [column]])
            for k, y in enumerate(self.factors.codes.T):
                degrees = max(1, int(z.max() * y.max()))
                information = mutual_info_score(y, z)
                statistic = max(2 * n * information, degrees)
                largest = chndtrinc(statistic, degrees, level)
                limits[k, column] = largest / (2 * n)
        return limits

    def pair_of(self, k: int) -> tuple[tuple[int, int], Estimate] | None:
        """The two columns that surely hold a factor together, with its share; None: no
        pair, or too many columns.

        The pair of most information in three parts each has to predict held-out rows,
        at 95 % for all pairs at once.
        """
        if not self.searches_pairs:
            return None
        y = self.factors.codes[:, k]

        def information_in_parts(pair: tuple[int, int]) -> float:
            z = parts_of(self.latents.codes[:, pair])
            return mutual_info_score(y, z)

        pairs = list(combinations(range(self.latents.count), 2))
        pair = max(pairs, key=information_in_parts)
        block = np.hstack([self.latents.inputs(column) for column in pair])
        fit = classifier.cross_fit(block, y, self.clusters, FAMILY, FOLDS)
        local = fit.pointwise("z", "y")
        information = mean_of(local, self.clusters, method=fit.family)
        entropy = mean_of(self.factors.surprisal[:, k], self.clusters)
        share = information.share_of(entropy, OF_ENTROPY)
        tests = len(pairs) * self.factors.count
        errors = quantile(share.degrees, 1.0 - (1.0 - LEVEL) / tests)
        low = share.value - errors * share.standard_error
        if low <= self.least:
            return None
        return pair, share

    def __call__(self, k: int, column: int, other: int) -> bool:
        """Whether the column carries more of factor k than another factor does. True
        for independent factors.
        """
        y = self.factors.codes[:, k]
        y_other = self.factors.codes[:, other]
        table = crosstab(y, y_other).count
        test = chi2_contingency(table, correction=False, lambda_="log-likelihood")
        statistic, p_value = np.asarray(test[:2], np.float64)
        tests = self.factors.count * (self.factors.count - 1) / 2
        if p_value * tests > 1.0 - LEVEL:
            return True
        information = statistic / (2 * self.factors.n)
        entropy = float(self.factors.surprisal[:, k].mean())
        remaining = entropy - information
        gain = mean_of(self._gains(y, y_other, column), self.clusters)
        return gain.low > self.least * remaining

    def _gains(self, y: Codes, y_other: Codes, column: int) -> Values:
        """The reduction of the log loss of y by the column, next to the other factor
        [n], nats.
        """
        indicators = np.eye(y_other.max() + 1)[y_other]
        blocks = {"column": self.latents.inputs(column), "other": indicators}
        both = ("column", "other")
        other = ("other",)
        fit = classifier.cross_fit(
            blocks, {"y": y}, self.clusters, FAMILY, FOLDS, [both, other]
        )
        return fit.pointwise(both, "y") - fit.pointwise(other, "y")
