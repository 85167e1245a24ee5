"""Second-order errors of estimates from counts, which matter where first-order errors vanish (independence).

There 2 n times the estimated information is chi-squared with standard deviation sqrt(2 degrees of freedom); likewise
the entropy of equally frequent categories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from infoscope.estimators.variables import Variable, join, joint_codes

OF_PAIR = ((-1, (0,)), (-1, (1,)), (1, ()))  # the margins of I(x; y): (factor, numbers of variables)
OF_CONDITIONAL = ((-1, (0, 2)), (-1, (1, 2)), (1, (2,)))  # and of I(x; y | z)


def second_order_error(freedom: float, rows: float) -> float:
    """The standard deviation of chi-square / (2 rows), nats, of so many independent rows."""
    return sqrt(min(freedom, rows) / 2) / rows  # rows fall into no more cells than they are


def freedom_of(named: Mapping[str, Variable], margins: Sequence[tuple[int, tuple[int, ...]]]) -> float:
    """Degrees of freedom of a sum of entropies: possible combinations by category of z, and factor times margins'."""
    given = named["z"].codes if "z" in named else np.zeros(next(iter(named.values())).n, np.int64)
    possible = np.ones(int(given.max()) + 1)
    for name, variable in named.items():
        if name != "z":
            within = joint_codes([variable.codes, given])[0]
            possible *= np.bincount(given[np.unique(within, return_index=True)[1]], minlength=len(possible))
    variables = list(named.values())
    sizes = (
        factor * (join(*(variables[m] for m in members)).categories if members else 1) for factor, members in margins
    )
    return float(possible.sum() + sum(sizes))


def independent_rows(codes: np.ndarray, groups: np.ndarray | None) -> float:
    """Number of rows over the design effect of categories [n] in groups [n] (Rao & Scott 1981), at most n."""
    n = len(codes)
    if groups is None:
        return float(n)
    shares, sizes = np.bincount(codes) / n, np.bincount(groups)
    mates = joint_codes([groups, codes])[0]
    _, first, counts = np.unique(mates, return_index=True, return_counts=True)
    squares = (counts * (counts - 2.0 * shares[codes[first]] * sizes[groups[first]]) / shares[codes[first]]).sum()
    effect = (squares + (sizes.astype(float) ** 2).sum()) / (n * max(1, len(shares) - 1))
    return n / max(1.0, effect)
