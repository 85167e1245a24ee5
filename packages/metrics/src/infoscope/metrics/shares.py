"""Confidence intervals of shares of items, also of dependent items, and of the least of
several shares.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Protocol

import numpy as np
from scipy.special import betaincinv, stdtrit

from infoscope.errors import OutOfRange
from infoscope.estimators.result import LEVEL


class Share(Protocol):
    """A share in [0, 1] of n items in `clusters` groups, and its standard error, robust
    to groups.
    """

    value: float
    standard_error: float
    n: int
    clusters: int


def clopper_pearson(
    successes: float, count: float, level: float = LEVEL
) -> tuple[float, float]:
    """The exact interval of a share of `count` independent items (Clopper & Pearson
    1934).
    """
    tail = (1 - level) / 2
    low = 0.0
    high = 1.0
    if successes:
        low = float(betaincinv(successes, count - successes + 1, tail))
    if successes < count:
        high = float(betaincinv(successes + 1, count - successes, 1 - tail))
    return low, high


def share_interval(share: Share, level: float = LEVEL) -> tuple[float, float]:
    """Clopper & Pearson's interval at the effective number of items in groups (Korn &
    Graubard 1998).

    (0, 1) for several items of one group; NaN for a value of NaN.
    """
    value = share.value
    n = share.n
    clusters = share.clusters
    if math.isnan(value):
        return math.nan, math.nan
    if clusters < min(n, 2):
        return 0.0, 1.0
    count: float = n  # effective
    if clusters < n and value in (0.0, 1.0):
        count = clusters
    elif clusters < n and share.standard_error > 0:
        tail = (1 - level) / 2
        ratio = stdtrit(n - 1, tail) / stdtrit(clusters - 1, tail)
        variance = value * (1 - value)
        count = min(n, variance * (ratio / share.standard_error) ** 2)
    return clopper_pearson(value * count, count, level)


def least_interval(shares: Collection[Share]) -> tuple[float, float]:
    """The 95 % interval of the least of k true shares, from intervals of all at 1 - .05
    / k (Bonferroni).
    """
    if not shares:
        raise OutOfRange("shares must be one or more, got none.")
    level = 1 - (1 - LEVEL) / len(shares)
    lows, highs = np.transpose([share_interval(share, level) for share in shares])
    return float(lows.min()), float(highs.min())
