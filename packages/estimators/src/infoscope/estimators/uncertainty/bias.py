"""Whether a nearest-neighbour estimate still moves with the sample size.

The bias of a nearest-neighbour estimate is set by the size of the neighbourhoods, that is by k / n. Two things on the
same sample change k / n: fewer points (halves) and fewer neighbours (k = 1). Each predicts the bias that remains, by
I(n) = I + c (k / n)^a, and their mean is taken. The exponent is fixed at 0.4, that of a ten-class Gaussian mixture in
12 dimensions; a fitted one is too noisy to be of use.

It sees only a bias that changes with k / n. Where neighbours are saturated (many columns, heavy tails, patterns finer
than the rows resolve) nothing moves and the bias stays unseen, or even its sign is predicted wrongly; and what it
predicts is itself off by 0.7 to 1.6 standard errors of the estimate. So it can speak against an estimate, never for
one: that takes `verdict`. It is a diagnostic, not a correction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EXPONENT, _COUNT_EXPONENT = 0.4, 1.0  # of neighbour estimates; of counts of categories, whose bias goes as 1 / n
HALVES_WITH_ONE = 40  # halves that are estimated again with one neighbour


@dataclass(frozen=True)
class BiasDiagnostic:
    """How an estimate moves with the sample size.

    bias          predicted estimate minus truth, nats: the mean of the following two, or the first if it is alone
    by_halves     predicted from the mean estimate of the halves
    by_neighbours predicted from the halves with one neighbour instead of k; NaN where k is 1 or nothing is continuous
    share         k / rows of the typical class (of all rows without discrete variables); NaN if nothing is continuous
    extrapolated  the estimate without the predicted bias, nats: where it is heading, and far less sure
    half          the mean estimate of the halves, nats
    """

    bias: float
    by_halves: float
    by_neighbours: float
    share: float
    extrapolated: float
    half: float


def diagnose_bias(
    value: float, halves: NDArray[np.float64], fewer: NDArray[np.float64], k: int, rows: float
) -> BiasDiagnostic:
    """The drift of an estimate.

    halves [B]: the estimates of the halves; fewer [<= B]: of the first of them with one neighbour instead of k, empty
    where k is 1; rows: of the typical class, NaN where nothing is continuous.
    """
    growth = 2.0 ** (_COUNT_EXPONENT if np.isnan(rows) else EXPONENT)
    half = float(halves.mean())
    bias = by_halves = (half - value) / (growth - 1.0)
    by_neighbours = float("nan")
    if len(fewer):
        by_neighbours = float((halves[: len(fewer)] - fewer).mean()) / (growth * (1.0 - k**-EXPONENT))
        bias = (by_halves + by_neighbours) / 2
    return BiasDiagnostic(bias, by_halves, by_neighbours, k / rows, value - bias, half)
