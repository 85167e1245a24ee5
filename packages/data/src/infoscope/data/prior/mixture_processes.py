"""Processes whose windows are mixtures of normal windows: seasons and hidden regimes.

The truth of any history is a Monte Carlo mean of the exact log density ratio, with its
standard error.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from infoscope.data.prior.draws import Array, Generator, log_uniform
from infoscope.data.prior.dynamics import (
    NUMBERS,
    Coupling,
    Dynamics,
    column,
    draw_persistence,
)
from infoscope.data.prior.normal_processes import Autoregression, draw_autoregression
from infoscope.data.prior.windows import (
    NOTHING,
    NormalMixture,
    Window,
    mixture_truth,
    window_covariance,
)


# --- seasons ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class SeasonalPair:
    """x and y of an autoregression, to which seasons [period, width] are added; the
    first phase is random.
    """

    process: Autoregression
    seasons: Array

    def mixture(self, history: int) -> NormalMixture:
        """Windows of all series as a mixture over the phase in which they begin."""
        period = len(self.seasons)
        steps = np.arange(history + 1)
        means = []
        for phase in range(period):
            season = self.seasons[(phase + steps) % period]
            means.append(season.ravel())
        covariance = window_covariance(self.process.autocovariances(history))
        covariances = np.broadcast_to(covariance, (period, *covariance.shape))
        weights = np.full(period, 1 / period)
        return NormalMixture(weights, np.stack(means), covariances)

    def draw(self, n: int, g: Generator) -> tuple[Array, Array]:
        """n values of x and of y."""
        period = len(self.seasons)
        phases = g.integers(period) + np.arange(n)
        series = self.process.draw(n, g) + self.seasons[phases % period]
        return series[:, :1], series[:, 1:2]


def seasonal(coupling: Coupling, g: Generator) -> Dynamics:
    """An autoregression of order 1 added to seasons of x and y.

    The season is not a condition of the truth: a past of x that shows the phase informs
    about y.
    """
    period = int(g.choice([4, 7, 12]))
    history = int(g.integers(1, 4))
    process, lags = draw_autoregression(1, 1, coupling, 1, g)
    seasons = np.zeros((period, process.width))
    for side in range(2):
        seasons[:, side] = _draw_season(period, g)
    if coupling.kind == "none":
        seasons[:, g.integers(2)] = 0.0
    pair = SeasonalPair(process, seasons)
    window = Window.of(1, 1, process.width, history)

    def truth(g):
        if coupling.kind == "none":
            return NOTHING
        return mixture_truth(pair.mixture(history), window, g)

    text = f"autoregression and seasons of period {period}, {lags}"
    return Dynamics(text, NUMBERS, history, process.largest_root(), truth, pair.draw)


def _draw_season(period: int, g: Generator) -> Array:
    """A seasonal pattern [period] of mean 0: a wave, or a level for each phase."""
    size = log_uniform(g, 0.2, 2.0)
    if g.random() < 0.5:
        turn = g.uniform(0, 2 * np.pi)
        return size * np.sin(2 * np.pi * np.arange(period) / period + turn)
    levels = g.normal(size=period)
    return size * (levels - levels.mean())


# --- regimes ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class RegimePair:
    """A hidden chain of two regimes in which level, slope and noise of y, and the level
    of x, change.

    x = u + level_x[regime], where u is autoregressive (persistence; variance 1)
    y = level_y[regime] + slope[regime] * (u one step before) + noise[regime] * e
    """

    stay: Array  # [2], probabilities of staying in each regime
    persistence: float
    level_x: Array
    level_y: Array
    slope: Array
    noise: Array

    def shares(self) -> Array:
        """Stationary probabilities [2] of the regimes."""
        leave = 1 - self.stay
        return leave[::-1] / leave.sum()

    def mixture(self, history: int) -> NormalMixture:
        """Windows of x and y as a mixture over paths of regimes."""
        length = history + 1
        times = np.arange(length + 1)  # one before the window, too
        of_u = self.persistence ** np.abs(times[:, None] - times)
        to_x = np.eye(length, length + 1, k=1)
        before = np.eye(length, length + 1)
        moves = np.where(np.eye(2, dtype=bool), self.stay, (1 - self.stay)[:, None])
        levels = np.stack([self.level_x, self.level_y], axis=1)
        shares = self.shares()
        of_y = np.arange(1, 2 * length, 2)
        weights, means, covariances = [], [], []
        for path in product(range(2), repeat=length):
            regimes = np.array(path)
            chances = moves[regimes[:-1], regimes[1:]]
            weights.append(shares[path[0]] * chances.prod())
            means.append(levels[regimes].ravel())
            to_y = self.slope[regimes, None] * before
            links = np.stack([to_x, to_y], axis=1).reshape(2 * length, -1)
            covariance = links @ of_u @ links.T
            covariance[of_y, of_y] += self.noise[regimes] ** 2
            covariances.append(covariance)
        return NormalMixture(np.array(weights), np.stack(means), np.stack(covariances))

    def draw(self, n: int, g: Generator) -> tuple[Array, Array]:
        """n values of x and of y."""
        regimes = np.empty(n, dtype=int)
        regimes[0] = g.random() < self.shares()[1]
        chances = g.random(n)
        for t in range(1, n):
            before = regimes[t - 1]
            regimes[t] = before if chances[t] < self.stay[before] else 1 - before
        coefficients = np.full((1, 1, 1), self.persistence)
        noise = np.sqrt([1 - self.persistence**2])
        u = Autoregression(coefficients, noise).draw(n + 1, g)[:, 0]
        x = u[1:] + self.level_x[regimes]
        y = self.level_y[regimes] + self.slope[regimes] * u[:-1]
        y += self.noise[regimes] * g.normal(size=n)
        return column(x), column(y)


def regimes(coupling: Coupling, g: Generator) -> Dynamics:
    """Regime switching: x drives y with a slope that changes, or regimes change the
    level of both.

    Forward, x of one step before drives y; with a hidden driver the levels of x and y
    change with the regime.
    """
    history = int(g.integers(1, 4))
    stay = g.uniform(0.6, 0.98, size=2)
    persistence = draw_persistence(g)
    half = np.array([-0.5, 0.5])
    level_x = np.zeros(2)
    if coupling.driven:
        level_x = 2 * coupling.strength * half
    slope = coupling.onto_y * np.array([1.0, g.uniform(-1.0, 1.0)])
    level_y = g.uniform(0.0, 3.0) * half
    noise = np.array([1.0, log_uniform(g, 0.4, 2.5)])
    pair = RegimePair(stay, persistence, level_x, level_y, slope, noise)
    window = Window.of(1, 1, 2, history)

    def truth(g):
        if coupling.kind == "none":
            return NOTHING
        return mixture_truth(pair.mixture(history), window, g)

    text = f"two regimes that stay with {stay[0]:.2f} and {stay[1]:.2f}, persistence {persistence:.2f}"
    memory = max(abs(persistence), abs(stay.sum() - 1))
    return Dynamics(text, NUMBERS, history, float(memory), truth, pair.draw)
