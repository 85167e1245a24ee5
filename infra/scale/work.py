"""The pieces of work whose cost is measured: each makes its data and hands back what is to be timed.

Numbers are normal, each column of y is correlated by .5 with one of x; classes are ten cells of the first column of y.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from infoscope.data import GaussianPairs
from infoscope.estimators import Training, estimate, knn, make_critic
from infoscope.metrics import pid

ALONE, DECOMPOSITION = "neighbours, the estimate alone", "Gaussian decomposition (PID)"
METHODS = {
    "neighbours, with interval": "ksg",
    "Gaussian copula": "gcmi",
    "logistic regression, cross-fitted": "classifier",
    "critic (SMILE), cross-fitted": "smile-5",
}
ESTIMATES = (ALONE, *METHODS, DECOMPOSITION)
LEAST = {"rows": 200, "columns": 2}
CRITICS = "critics in a pack"
STEPS, SIDE = 40, 20  # of a pack


def estimates(kind: str, size: Mapping[str, int]) -> Callable[[], Any]:
    """One call of one of ESTIMATES on `rows` and `columns` a side."""
    rows, columns = ((LEAST | dict(size))[name] for name in LEAST)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, columns))
    y = 0.5 * x + 0.75**0.5 * rng.standard_normal(x.shape)
    if kind == ALONE:
        return functools.partial(knn.mutual_information, x, y)
    if kind == DECOMPOSITION:
        return functools.partial(pid.gaussian_from_arrays, x[:, : columns // 2], x[:, columns // 2 :], y)
    if METHODS[kind] == "classifier":
        y = np.digitize(y[:, 0], np.linspace(-1.5, 1.5, 9))
    return functools.partial(estimate, x, y, method=METHODS[kind], generator=np.random.default_rng(0))


def packs(kind: str, size: Mapping[str, int]) -> Callable[[], Any]:
    """Steps of `members` critics, of the width and batch of the profile laptop, which see the same pairs."""
    members = size.get("members", 1)
    critic = make_critic("joint", SIDE, SIDE, depth=2, width=64, members=members)
    training = Training(
        GaussianPairs(SIDE, mutual_information=2.0), critic, "smile-5", STEPS, packed=True, learning_rate=5e-4
    )
    return functools.partial(training.advance, STEPS)
