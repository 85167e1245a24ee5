"""Levels of information at which simulations of a family behave as the data do.

Statistics at known levels give a mean curve and a covariance. Hotelling's T² at the nearest level tests the family, its
rise above that each level: indirect inference (Gouriéroux, Monfort & Renault 1993) by test inversion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri

Floats = NDArray[np.float64]
LEVEL = 0.95
UNLIKE = 0.99  # of Hotelling's law: beyond it no level explains the data
_GRID = 401
_FREEDOM = 2  # of the choice of a level and of a family
_SHRUNK = 0.05  # of the covariance towards its diagonal: few twins do not tell correlations near 1


@dataclass(frozen=True, eq=False)
class Fit:
    """A family compared with the data.

    levels     [g], nats
    distances  [g], Hotelling's T² between the data and simulations of each level
    limit      of T², beyond which the family is excluded
    rise       of T², beyond which a level is
    worst      the statistic farthest from the nearest simulations, and by how many standard deviations
    """

    levels: Floats
    distances: Floats
    limit: float
    rise: float
    worst: tuple[int, float]

    @property
    def best(self) -> float:
        """The nearest level, nats."""
        return float(self.levels[self.distances.argmin()])

    @property
    def distance(self) -> float:
        """T² at the nearest level."""
        return float(self.distances.min())

    @property
    def like(self) -> bool:
        """Whether the data could be one of these twins."""
        return self.near(1.0)

    def near(self, times: float) -> bool:
        """Whether they are within so many times the limit."""
        return self.distance <= times * self.limit

    def possible(self, nearest: float | None = None) -> Floats:
        """The levels, nats, whose T² is no more than the rise above the nearest one of any family (None: of this)."""
        return self.levels[self.distances <= (self.distance if nearest is None else nearest) + self.rise]


def fitted(levels: Floats, profiles: Floats, observed: Floats, wider: float = 1.0) -> Fit:
    """The levels at which an observed profile [statistics] is possible, given profiles [t, statistics] at levels [t]
    (nats).

    `wider` is the inflation factor of the data's spread. Means are a cubic at most in the root of the level.
    """
    distinct, count = len(np.unique(np.round(levels, 9))), len(observed)
    degree = min(3, distinct - 1)
    least, span = levels.min(), max(levels.max() - levels.min(), 1e-12)

    def powers(at: Floats) -> Floats:
        share = np.clip((at - least) / span, 0.0, 1.0)
        return np.vander(np.sqrt(share) if least == 0.0 else share, degree + 1)

    design = powers(levels)
    solution, *_ = np.linalg.lstsq(design, profiles, rcond=None)
    residuals = profiles - design @ solution
    free = len(levels) - degree - 1
    covariance = residuals.T @ residuals / free * wider**2
    variances = np.maximum(np.diag(covariance), 1e-12)
    covariance = (1 - _SHRUNK) * covariance + _SHRUNK * np.diag(variances)
    grid = np.linspace(least, least + span, _GRID) if distinct > 1 else np.array([least])
    asked = powers(grid)
    apart = observed - asked @ solution
    leverage = np.einsum("ij,jk,ik->i", asked, np.linalg.pinv(design.T @ design), asked)
    distance = np.einsum("ij,jk,ik->i", apart, np.linalg.inv(covariance), apart) / (1 + leverage)
    nearest = int(distance.argmin())
    ahead = max(1, free - count + 1)
    limit = count * free / ahead * float(fdtri(count, ahead, UNLIKE))
    # what the nearest twins leave unexplained, beyond chance, may be of any level
    surplus = max(1.0, distance[nearest] / count)
    rise = _FREEDOM * float(fdtri(_FREEDOM, ahead, LEVEL)) * free / ahead * surplus
    away = np.abs(apart[nearest]) / np.sqrt(variances)
    return Fit(grid, distance, limit, rise, (int(away.argmax()), float(away.max())))


def levels_of(least: float, reach: float, count: int, most: float) -> Floats:
    """Levels [<= count], nats, closer where they are low, from the least to the reach or `most`."""
    top = min(reach, max(most, least + 0.1))
    if top - least < 1e-6:
        return np.array([least])
    return least + (top - least) * np.linspace(0.0, 1.0, count) ** 2


def around(fit: Fit, least: float, reach: float, count: int) -> Floats:
    """Levels about those that are possible, half of their width farther to either side."""
    possible = fit.possible()
    half = max(0.5 * (possible[-1] - possible[0]), 0.02, 0.05 * fit.best)
    low, high = max(least, possible[0] - half), min(reach, possible[-1] + half)
    if high - low < 1e-6:
        return np.array([min(max(fit.best, least), reach)])
    return np.linspace(low, high, count)
