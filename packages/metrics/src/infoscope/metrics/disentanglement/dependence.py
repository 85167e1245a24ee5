"""Information in single columns and pairs about a factor, its part due to dependent
factors, and upper limits where none is found.
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

# chosen by fold: many columns need a penalty, many values little
FAMILY = ("logistic", Logistic(0.01), "knn")
FOLDS = 3
MAX_PAIRED = 15  # columns up to which all pairs are searched


@dataclass(frozen=True, eq=False)
class BeyondFactor:
    """Calls a column informative beyond another factor if that lowers the held-out log
    loss surely.

    latents, known  the columns and the factors of the same rows
    clusters        codes of dependent rows, or None
    least           share of the remaining bits that counts
    """

    latents: Latents
    known: Factors
    clusters: Codes | None
    least: float

    @property
    def searches_pairs(self) -> bool:
        """Whether there are few enough columns."""
        return 2 <= self.latents.count <= MAX_PAIRED

    @cached_property
    def limits(self) -> NDArray[np.float64]:
        """The most that each column could hold of each factor [K, L], nats, at 95 % for
        all of them at once.

        2 n times the information of a column in ten parts is noncentral chi-squared, n
        the number of independent rows; a statistic below the expectation of an
        independent column is raised to this expectation.
        """
        groups = (
            self.known.n if self.clusters is None else len(np.unique(self.clusters))
        )
        limits = np.empty((self.known.count, self.latents.count))
        level = (1.0 - LEVEL) / limits.size
        for column, values in enumerate(self.latents.codes.T):
            parts = parts_of(values[:, None])
            for k, y in enumerate(self.known.codes.T):
                degrees = max(1, int(parts.max() * y.max()))
                information = mutual_info_score(y, parts)
                statistic = max(2 * groups * information, degrees)
                largest = chndtrinc(statistic, degrees, level)
                limits[k, column] = largest / (2 * groups)
        return limits

    def pair_of(self, k: int) -> tuple[tuple[int, int], Estimate] | None:
        """The two columns that surely hold a factor together, with its share; None: no
        pair, or too many columns.

        The pair of most information in three parts each has to predict held-out rows,
        at 95 % for all pairs at once.
        """
        if not self.searches_pairs:
            return None
        y = self.known.codes[:, k]
        pairs = list(combinations(range(self.latents.count), 2))
        informations = []
        for pair in pairs:
            parts = parts_of(self.latents.codes[:, pair])
            informations.append(mutual_info_score(y, parts))
        pair = pairs[int(np.argmax(informations))]
        block = np.hstack([self.latents.inputs(column) for column in pair])
        fit = classifier.cross_fit(
            {"pair": block}, {"y": y}, self.clusters, FAMILY, FOLDS
        )
        entropy = mean_of(self.known.surprisal[:, k], self.clusters)
        information = mean_of(
            fit.pointwise("pair", "y"), self.clusters, method=fit.family
        )
        share = information.share_of(entropy, OF_ENTROPY)
        tests = len(pairs) * self.known.count
        level = 1.0 - (1.0 - LEVEL) / tests
        low = share.value - quantile(share.degrees, level) * share.standard_error
        if low <= self.least:
            return None
        return pair, share

    def __call__(self, k: int, column: int, other: int) -> bool:
        """Whether the column carries more of factor k than the other factor does. True
        for independent factors.
        """
        y = self.known.codes[:, k]
        m = self.known.codes[:, other]
        counts = crosstab(y, m).count
        test = chi2_contingency(counts, correction=False, lambda_="log-likelihood")
        pairs = self.known.count * (self.known.count - 1) / 2
        if test.pvalue * pairs > 1.0 - LEVEL:
            return True
        information = test.statistic / (2 * self.known.n)
        entropy = float(self.known.surprisal[:, k].mean())
        remaining = entropy - information
        gain = mean_of(self._gains(y, m, column), self.clusters)
        return gain.low > self.least * remaining

    def _gains(self, y: Codes, m: Codes, column: int) -> NDArray[np.float64]:
        """The reduction of the log loss of y by the column, the other factor being
        known [n], nats.
        """
        indicators = np.eye(m.max() + 1)[m]
        blocks = {"column": self.latents.inputs(column), "other": indicators}
        both = ("column", "other")
        other = ("other",)
        fit = classifier.cross_fit(
            blocks, {"y": y}, self.clusters, FAMILY, FOLDS, [both, other]
        )
        return fit.pointwise(both, "y") - fit.pointwise(other, "y")
