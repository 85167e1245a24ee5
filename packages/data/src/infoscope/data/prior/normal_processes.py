"""Normal processes: autoregressions, and sums of fractional noises with long memory.

Every finite window is normal: log-determinants of autocovariances give the truth for
any history.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from infoscope.data.prior.draws import Array, Generator
from infoscope.data.prior.dynamics import (
    NUMBERS,
    Coupling,
    Dynamics,
    column,
    draw_persistence,
)
from infoscope.data.prior.windows import (
    NOTHING,
    Truth,
    Window,
    normal_truth,
    window_covariance,
)

MAX_ORDER = 3
# modulus above which couplings are weakened until an autoregression is stable
MAX_ROOT = 0.99


# --- autoregressions -------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Autoregression:
    """A stationary vector autoregression with independent normal noise.

    coefficients   [order, width, width]: of the values 1, ..., order steps before
    noise          [width], standard deviations
    """

    coefficients: Array
    noise: Array

    @property
    def width(self) -> int:
        """The number of series."""
        return len(self.noise)

    def transition(self) -> Array:
        """The companion matrix [order * width, same]: the latest values first."""
        order = len(self.coefficients)
        matrix = np.eye(order * self.width, k=-self.width)
        latest = np.hstack([*self.coefficients])
        matrix[: self.width] = latest
        return matrix

    def largest_root(self) -> float:
        """The modulus of the largest root; below 1 for a stationary process."""
        roots = np.linalg.eigvals(self.transition())
        return float(np.abs(roots).max())

    def state_covariance(self) -> Array:
        """The stationary covariance of the latest `order` values."""
        transition = self.transition()
        shocks = np.zeros_like(transition)
        places = np.arange(self.width)
        shocks[places, places] = self.noise**2
        return linalg.solve_discrete_lyapunov(transition, shocks)

    def autocovariances(self, lags: int) -> Array:
        """Covariances [lags + 1, width, width] of the values at t + lag and at t."""
        transition = self.transition()
        covariance = self.state_covariance()
        blocks = []
        for _ in range(lags + 1):
            block = covariance[: self.width, : self.width]
            blocks.append(block)
            covariance = transition @ covariance
        return np.stack(blocks)

    def truth(self, x: int, y: int, history: int) -> Truth:
        """The truth of the first `x` series and the next `y` series."""
        autocovariances = self.autocovariances(history)
        covariance = window_covariance(autocovariances)
        window = Window.of(x, y, self.width, history)
        return normal_truth(covariance, window)

    def draw(self, n: int, g: Generator) -> Array:
        """n values [n, width]; the first are from the stationary distribution."""
        covariance = self.state_covariance()
        values, vectors = np.linalg.eigh(covariance)
        variances = np.maximum(values, 0)
        root = vectors * np.sqrt(variances)
        state = root @ g.normal(size=len(root))
        noise = g.normal(size=(n, self.width))
        shocks = self.noise * noise
        rule = self.transition()[: self.width]
        series = np.empty((n, self.width))
        for t, shock in enumerate(shocks):
            latest = rule @ state + shock
            earlier = state[: -self.width]
            state = np.concatenate([latest, earlier])
            series[t] = latest
        return series


def _draw_coefficients(order: int, g: Generator) -> NDArray:
    """Coefficients [order] of one series.

    One root is a drawn persistence; the others are smaller, real or a conjugate pair.
    """
    roots = [draw_persistence(g)]
    if order == 2:
        root = g.uniform(-0.6, 0.6)
        roots.append(root)
    elif order == 3:
        angle = g.uniform(0, np.pi)
        modulus = g.uniform(0.2, 0.8)
        root = modulus * np.exp(1j * angle)
        roots += [root, np.conj(root)]
    polynomial = np.poly(roots)
    return -polynomial.real[1:]


def noise_of_unit_variance(coefficients: Array) -> float:
    """The standard deviation of noise that gives one series a variance of 1."""
    matrices = coefficients[:, None, None]
    series = Autoregression(matrices, np.ones(1))
    variance = series.autocovariances(0).item()
    return float(1 / np.sqrt(variance))


def draw_autoregression(
    x: int, y: int, coupling: Coupling, order: int, g: Generator
) -> tuple[Autoregression, str]:
    """An autoregression of `x` and `y` series, and its lags in words.

    A hidden series that drives x and y is its last one.
    """
    width = x + y + coupling.driven
    within = np.zeros((order, width, width))
    noise = np.ones(width)
    for place in range(width):
        coefficients = _draw_coefficients(order, g)
        within[:, place, place] = coefficients
        noise[place] = noise_of_unit_variance(coefficients)
    of_x = slice(0, x)
    of_y = slice(x, x + y)
    hidden = slice(x + y, width)
    lag_x, lag_y = g.integers(order, size=2)
    if coupling.driven and g.random() < 0.5:
        within[:, -1, -1] = 0.0
        noise[-1] = 1.0
    of_hidden = coupling.strength * coupling.driven
    links = (
        (lag_y, of_y, of_x, coupling.onto_y),
        (lag_x, of_x, of_y, coupling.onto_x),
        (lag_x, of_x, hidden, of_hidden),
        (lag_y, of_y, hidden, of_hidden),
    )
    across = np.zeros_like(within)
    for lag, targets, sources, strength in links:
        if strength:
            block = across[lag, targets, sources]
            signs = g.choice([-1.0, 1.0], size=block.shape)
            loadings = signs / np.sqrt(block.shape[1])
            block[:] = strength * loadings * noise[targets, None]
    process = Autoregression(within + across, noise)
    while process.largest_root() > MAX_ROOT:
        across = 0.7 * across
        process = Autoregression(within + across, noise)
    return process, f"lags {lag_x + 1} onto x and {lag_y + 1} onto y"


def linear(coupling: Coupling, g: Generator) -> Dynamics:
    """Autoregressions of order 1 to 3; the truth is exact for any history."""
    x = y = 1
    if g.random() >= 0.7:
        x = int(g.integers(2, 4))
    if g.random() >= 0.8:
        y = 2
    order = int(g.integers(1, MAX_ORDER + 1))
    history = order + int(g.integers(3))
    process, lags = draw_autoregression(x, y, coupling, order, g)
    text = f"autoregression of order {order} of {x} + {y} series, {lags}"

    def truth(_):
        if coupling.kind == "none":
            return NOTHING
        return process.truth(x, y, history)

    def draw(n, g):
        series = process.draw(n, g)
        return series[:, :x], series[:, x : x + y]

    memory = process.largest_root()
    return Dynamics(text, NUMBERS, history, memory, truth, draw)


# --- long memory -----------------------------------------------------------------------------------------------------
def fractional_autocovariances(d: float, lags: int) -> Array:
    """Autocovariances [lags + 1] of fractional noise (1 - L)^-d e of variance 1.

    d is below 1/2 (Hosking 1981).
    """
    lag = np.arange(1, lags + 1)
    ratios = (lag - 1 + d) / (lag - d)
    products = np.cumprod(ratios)
    return np.concatenate([[1.0], products])


def draw_stationary(autocovariances: Array, n: int, g: Generator) -> Array:
    """n values of the normal process of some autocovariances [n + 1].

    Circulant embedding makes the draw exact.
    """
    forth = autocovariances[: n + 1]
    back = autocovariances[n - 1 : 0 : -1]
    circle = np.concatenate([forth, back])
    powers = np.fft.fft(circle).real
    size = len(powers)
    real = g.normal(size=size)
    imaginary = g.normal(size=size)
    waves = real + 1j * imaginary
    variances = np.maximum(powers, 0) / size
    amplitudes = np.sqrt(variances)
    series = np.fft.fft(amplitudes * waves)
    return series.real[:n]


@dataclass(frozen=True, eq=False)
class FractionalPair:
    """x and y as weighted sums of independent fractional noises, each at a lag.

    memories   [k], the d of each noise
    weights    [2, k], of x and of y
    lags       [2, k], steps by which x and y follow the noise
    """

    memories: Array
    weights: Array
    lags: Array

    def autocovariances(self, lags: int) -> Array:
        """Covariances [lags + 1, 2, 2] of x, y at t + lag with x, y at t."""
        blocks = np.zeros((lags + 1, 2, 2))
        farthest = lags + int(self.lags.max())
        steps = np.arange(lags + 1)
        noises = zip(self.memories, self.weights.T, self.lags.T)
        for d, weights, delays in noises:
            of_noise = fractional_autocovariances(d, farthest)
            for a, b in product(range(2), repeat=2):
                apart = np.abs(steps - delays[a] + delays[b])
                weight = weights[a] * weights[b]
                blocks[:, a, b] += weight * of_noise[apart]
        return blocks

    def truth(self, history: int) -> Truth:
        """The truth for a history."""
        autocovariances = self.autocovariances(history)
        covariance = window_covariance(autocovariances)
        window = Window.of(1, 1, 2, history)
        return normal_truth(covariance, window)

    def draw(self, n: int, g: Generator) -> tuple[Array, Array]:
        """n values of x and of y."""
        longest = int(self.lags.max())
        length = n + longest
        series = np.zeros((2, n))
        noises = zip(self.memories, self.weights.T, self.lags.T)
        for d, weights, delays in noises:
            of_noise = fractional_autocovariances(d, length)
            noise = draw_stationary(of_noise, length, g)
            for side in range(2):
                start = longest - delays[side]
                delayed = noise[start : start + n]
                series[side] += weights[side] * delayed
        x, y = series
        return column(x), column(y)


def long_memory(coupling: Coupling, g: Generator) -> Dynamics:
    """Sums of fractional noises, some of them shared at a lag; exact for any history.

    Long memory has no root. Where y drives x, the past of x informs about y beyond the
    history of y.
    """
    lag_x, lag_y = g.integers(1, 4, size=2)
    weights = np.eye(2, 3)
    weights[0, 1] = coupling.onto_x
    weights[1, 0] = coupling.onto_y
    if coupling.driven:
        weights[:, 2] = coupling.strength
    of_x = [0, lag_x, lag_x]
    of_y = [lag_y, 0, lag_y]
    lags = np.array([of_x, of_y])
    memories = g.uniform(0.05, 0.47, size=3)
    pair = FractionalPair(memories, weights, lags)
    history = int(g.integers(1, 6))
    text = (
        f"fractional noise of d {memories[0]:.2f} and {memories[1]:.2f}, lags {lag_x} "
        f"onto x and {lag_y} onto y"
    )

    def truth(_):
        if coupling.kind == "none":
            return NOTHING
        return pair.truth(history)

    return Dynamics(text, NUMBERS, history, np.nan, truth, pair.draw)
