"""Processes whose windows are mixtures of normal windows: seasons and hidden regimes.

The truth for any history is a Monte Carlo mean of the exact log density ratio, with the
standard error of the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import linalg

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
    """An autoregression plus seasons [period, width]; the first phase is random."""

    process: Autoregression
    seasons: Array

    def mixture(self, history: int) -> NormalMixture:
        """Windows of all series, as a mixture over the phase in which they begin."""
        period = len(self.seasons)
        steps = np.arange(history + 1)
        means = []
        for phase in range(period):
            phases = (phase + steps) % period
            season = self.seasons[phases]
            means.append(season.ravel())
        autocovariances = self.process.autocovariances(history)
        covariance = window_covariance(autocovariances)
        covariances = np.broadcast_to(covariance, (period, *covariance.shape))
        weights = np.full(period, 1 / period)
        return NormalMixture(weights, np.stack(means), covariances)

    def draw(self, n: int, g: Generator) -> tuple[Array, Array]:
        """n values of x and of y."""
        period = len(self.seasons)
        first = g.integers(period)
        phases = (first + np.arange(n)) % period
        series = self.process.draw(n, g)
        series += self.seasons[phases]
        return series[:, :1], series[:, 1:2]


def seasonal(coupling: Coupling, g: Generator) -> Dynamics:
    """An autoregression of order 1 plus seasons of x and of y.

    The truth is not conditional on the season: a past of x that shows the phase informs
    about y.
    """
    period = int(g.choice([4, 7, 12]))
    history = int(g.integers(1, 4))
    process, lags = draw_autoregression(1, 1, coupling, 1, g)
    seasons = np.zeros((period, process.width))
    for side in range(2):
        seasons[:, side] = _draw_season(period, g)
    if coupling.kind == "none":
        side = g.integers(2)
        seasons[:, side] = 0.0
    pair = SeasonalPair(process, seasons)
    text = f"autoregression and seasons of period {period}, {lags}"
    memory = process.largest_root()
    return _dynamics(text, pair, process.width, coupling, history, memory)


def _draw_season(period: int, g: Generator) -> Array:
    """A seasonal pattern [period] of mean 0: a wave, or random levels."""
    size = log_uniform(g, 0.2, 2.0)
    if g.random() < 0.5:
        start = g.uniform(0, 2 * np.pi)
        angles = 2 * np.pi * np.arange(period) / period
        return size * np.sin(angles + start)
    levels = g.normal(size=period)
    return size * (levels - levels.mean())


# --- regimes ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class RegimePair:
    """x and y whose levels, slope and noise depend on a hidden chain of two regimes.

    x = u + levels[regime, 0], where u is autoregressive (persistence; variance 1)
    y = levels[regime, 1] + slope[regime] * (u one step before) + noise[regime] * e
    """

    stay: Array  # [2], probabilities of staying in each regime
    persistence: float
    levels: Array  # [2, 2], of x and of y (last axis) in each regime
    slope: Array
    noise: Array

    def shares(self) -> Array:
        """Stationary probabilities [2] of the regimes."""
        leave = 1 - self.stay
        return leave[::-1] / leave.sum()

    def mixture(self, history: int) -> NormalMixture:
        """Windows of x and y as a mixture over paths of regimes."""
        length = history + 1
        lags = np.arange(length + 1)
        of_u = linalg.toeplitz(
            self.persistence**lags
        )  # from one step before the window
        to_x = np.eye(length, length + 1, k=1)
        before = np.eye(length, length + 1)
        leave = np.diag(1 - self.stay)
        moves = np.diag(self.stay) + np.fliplr(leave)
        shares = self.shares()
        of_y = np.arange(1, 2 * length, 2)
        weights = []
        means = []
        covariances = []
        for path in product(range(2), repeat=length):
            regimes = np.array(path)
            chances = moves[regimes[:-1], regimes[1:]]
            weight = shares[path[0]] * chances.prod()
            weights.append(weight)
            mean = self.levels[regimes]
            means.append(mean.ravel())
            to_y = self.slope[regimes, None] * before
            rows = np.stack([to_x, to_y], axis=1)
            links = rows.reshape(2 * length, -1)
            covariance = links @ of_u @ links.T
            covariance[of_y, of_y] += self.noise[regimes] ** 2
            covariances.append(covariance)
        shares_of_paths = np.array(weights)
        return NormalMixture(shares_of_paths, np.stack(means), np.stack(covariances))

    def draw(self, n: int, g: Generator) -> tuple[Array, Array]:
        """n values of x and of y."""
        regimes = np.empty(n, dtype=int)
        _, share_of_second = self.shares()
        regimes[0] = g.random() < share_of_second
        chances = g.random(n)
        for t in range(1, n):
            before = regimes[t - 1]
            leaves = chances[t] >= self.stay[before]
            regimes[t] = (before + leaves) % 2
        coefficients = np.full((1, 1, 1), self.persistence)
        variance = 1 - self.persistence**2
        process = Autoregression(coefficients, np.sqrt([variance]))
        u = process.draw(n + 1, g)[:, 0]
        level_x, level_y = self.levels[regimes].T
        x = u[1:] + level_x
        slope = self.slope[regimes]
        noise = self.noise[regimes]
        y = level_y + slope * u[:-1]
        y += noise * g.normal(size=n)
        return column(x), column(y)


def regimes(coupling: Coupling, g: Generator) -> Dynamics:
    """Regime switching of x and y.

    Where x drives y, the slope of y on x one step before changes with the regime. Where
    a hidden series drives both, the levels of x and y change with the regime.
    """
    history = int(g.integers(1, 4))
    stay = g.uniform(0.6, 0.98, size=2)
    persistence = draw_persistence(g)
    half = np.array([-0.5, 0.5])
    levels = np.zeros((2, 2))
    if coupling.driven:
        levels[:, 0] = 2 * coupling.strength * half
    slope_of_second = g.uniform(-1.0, 1.0)
    slope = coupling.onto_y * np.array([1.0, slope_of_second])
    levels[:, 1] = g.uniform(0.0, 3.0) * half
    noise_of_second = log_uniform(g, 0.4, 2.5)
    noise = np.array([1.0, noise_of_second])
    pair = RegimePair(stay, persistence, levels, slope, noise)
    text = (
        f"two regimes that stay with {stay[0]:.2f} and {stay[1]:.2f}, persistence "
        f"{persistence:.2f}"
    )
    second_root = abs(stay.sum() - 1)
    memory = float(max(abs(persistence), second_root))
    return _dynamics(text, pair, 2, coupling, history, memory)


# --- both ------------------------------------------------------------------------------------------------------------
def _dynamics(
    text: str,
    pair: SeasonalPair | RegimePair,
    width: int,
    coupling: Coupling,
    history: int,
    memory: float,
) -> Dynamics:
    """The process of a pair, whose windows have `width` series."""
    window = Window.of(1, 1, width, history)

    def truth(g):
        if coupling.kind == "none":
            return NOTHING
        mixture = pair.mixture(history)
        return mixture_truth(mixture, window, g)

    return Dynamics(text, NUMBERS, history, memory, truth, pair.draw)
