"""Rademacher complexity and the PAC bound of in-sample V-information.

With g(x, y) = log f[x](y) for f in V, |g| <= B, Xu et al. 2020 (theorem 1) bound, with
probability 1 - 2 delta,

    |I_V - estimate| <= 4 R_n(G) + 2 B sqrt(2 ln(1 / delta) / n).

R_n(G) is the expected supremum of |mean of g times random signs| (Bartlett & Mendelson
2002, with 1 / n for their 2 / n). It is estimated by Monte Carlo on the sample. By
McDiarmid's inequality

    R_n(G) <= R_sample(G) + B sqrt(2 ln(1 / delta) / n)   with probability 1 - delta,

The bound therefore holds with probability 1 - 3 delta. A floor on probabilities widens
it by `slack`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from infoscope.checks import require_int
from infoscope.errors import MissingValues, OutOfRange


@dataclass(frozen=True)
class Complexity:
    """The Rademacher complexity `value` of a class of log densities; nats.

    standard_error  of the Monte Carlo over signs
    magnitude       B, the largest |log density|
    slack           largest effect of the floor on the in-sample estimate
    """

    value: float
    standard_error: float
    magnitude: float
    slack: float = 0.0


@dataclass(frozen=True)
class PacBound:
    """A bound on the distance of the in-sample estimate from the V-information.

    width       of the bound, nats; uses the complexity + 2 standard errors
    confidence  without the Monte Carlo error of the complexity
    """

    width: float
    confidence: float
    delta: float
    complexity: Complexity


def pac_bound(complexity: Complexity, n: int, delta: float = 0.05) -> PacBound:
    """The PAC bound for n pairs.

    ValueError: n < 1, delta outside (0, 0.5), infinite complexity or magnitude.
    """
    n = require_int("n", n, 1)
    if not 0.0 < delta < 0.5:
        raise OutOfRange(f"delta must be between 0 and 0.5, got {delta!r}.")
    if not (math.isfinite(complexity.value) and math.isfinite(complexity.magnitude)):
        raise MissingValues(
            f"complexity must have a finite value and magnitude, got {complexity!r}."
        )
    deviation = complexity.magnitude * math.sqrt(2.0 * math.log(1.0 / delta) / n)
    expected = complexity.value + 2.0 * complexity.standard_error + deviation
    width = 4.0 * expected + 2.0 * deviation + complexity.slack
    return PacBound(width, 1.0 - 3.0 * delta, delta, complexity)


def table_on_sample(
    cells: np.ndarray,
    classes: int,
    floor: float,
    generator: np.random.Generator,
    draws: int = 200,
) -> tuple[float, float]:
    """The complexity of conditional tables on the sample, and its Monte Carlo error.

    The class contains all tables with probabilities of at least `floor`. Its supremum is
    a sum over inputs.

    cells  int64 [n], input code * classes + class
    """
    if not 0.0 < floor < 1.0 / classes:
        raise OutOfRange(
            f"floor must be between 0 and 1 / {classes} (classes) for a bound, got "
            f"{floor!r}."
        )
    require_int("draws", draws, 2)
    inputs = int(cells.max()) // classes + 1

    def supremum(signs: np.ndarray) -> float:
        sums = np.bincount(cells, weights=signs, minlength=inputs * classes)
        sums = sums.reshape(inputs, classes)
        log_probabilities = np.log(best_rows(sums, floor))
        return float((sums * log_probabilities).sum()) / len(cells)

    suprema = []
    for _ in range(draws):
        signs = generator.choice((-1.0, 1.0), len(cells))
        suprema.append(max(supremum(signs), supremum(-signs)))
    error = float(np.std(suprema, ddof=1)) / math.sqrt(draws)
    return float(np.mean(suprema)), error


def best_rows(sums: np.ndarray, floor: float) -> np.ndarray:
    """Probabilities p [inputs, classes] >= floor with the largest sum of sums * log p.

    The sum is over the classes of a row.
    """
    weights = np.maximum(sums, 0.0)
    at_floor = weights <= 0.0
    # rows without a positive sum: all classes but the class of least loss are at the
    # floor
    without_positive = np.flatnonzero(at_floor.all(axis=1))
    best = sums[without_positive].argmax(axis=1)
    at_floor[without_positive, best] = False
    weights[without_positive, best] = 1.0
    while True:
        remaining = 1.0 - floor * at_floor.sum(axis=1, keepdims=True)
        shares = np.where(at_floor, 0.0, weights)
        scaled = remaining * shares / shares.sum(axis=1, keepdims=True)
        rows = np.where(at_floor, floor, scaled)
        is_low = ~at_floor & (rows < floor)
        if not is_low.any():
            return rows
        at_floor |= is_low
