"""Random margins, noise shapes, functions and predictors, of which pairs are built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from infoscope.data.prior.draws import (
    MAX_COMBINED,
    Array,
    Generator,
    Map,
    log_uniform,
    log_uniform_int,
    pick,
)

LIMIT = 1e-15  # of uniform draws to 0 and 1
LEAST = 1e-300  # probability
# normal scores at which a function's mean and spread are taken
SCORES = np.linspace(-6.0, 6.0, 241)


@dataclass(frozen=True, eq=False)
class Noise:
    """A noise of about unit spread: its name, draws and distribution function."""

    name: str
    sample: Callable[[int, Generator], Array]
    cdf: Map


@dataclass(frozen=True, eq=False)
class Predictor:
    """Columns of x, and their one score on which y depends, with its quantiles."""

    name: str
    quantile: Map
    # n, generator -> columns [n, k], score [n]
    sample: Callable[[int, Generator], tuple[Array, Array]]
    columns: int


def moments(values: Array) -> tuple[float, float]:
    """Mean and standard deviation of a function of a normal score, given at SCORES."""
    weights = np.exp(-0.5 * SCORES**2)
    weights /= weights.sum()
    mean = float(weights @ values)
    variance = weights @ (values - mean) ** 2
    return mean, float(np.sqrt(variance))


def standardised(function: Map, at: Array = SCORES) -> Map:
    """`function` with mean 0 and standard deviation 1.

    `at` has the values of its argument at the normal SCORES.
    """
    mean, spread = moments(function(at))
    spread = max(spread, 1e-3)
    return lambda score: (function(score) - mean) / spread


# --- noise -----------------------------------------------------------------------------------------------------------
def draw_noise(g: Generator) -> Noise:
    """One of nine noise shapes with random parameters and a random sign."""
    name = pick(g, sorted(NOISES))
    noise = NOISES[name](g)
    if g.random() < 0.5:
        return noise

    def sample(n, g):
        return -noise.sample(n, g)

    return Noise(noise.name, sample, lambda v: 1 - noise.cdf(-v))


def laplace_cdf(v: Array) -> Array:
    """Distribution function of a Laplace variable of scale 1."""
    tail = 0.5 * np.exp(-np.abs(v))
    return np.where(v < 0, tail, 1 - tail)


def _lognormal(g: Generator) -> Noise:
    log_sd = g.uniform(0.3, 1.0)

    def sample(n, g):
        return (g.lognormal(0, log_sd, n) - 1) / log_sd

    def cdf(v):
        value = np.maximum(v * log_sd + 1, LEAST)
        return special.ndtr(np.log(value) / log_sd)

    return Noise(f"lognormal({log_sd:.2g})", sample, cdf)


def _gamma(g: Generator) -> Noise:
    shape = 1.0  # exponential
    if g.random() >= 0.25:
        shape = log_uniform(g, 0.8, 8.0)
    spread = np.sqrt(shape)

    def sample(n, g):
        return (g.gamma(shape, size=n) - shape) / spread

    def cdf(v):
        return special.gammainc(shape, np.maximum(v * spread + shape, 0))

    return Noise(f"gamma({shape:.2g})", sample, cdf)


def _bimodal(g: Generator) -> Noise:
    share = g.uniform(0.2, 0.8)
    half = g.uniform(0.8, 1.2)  # of the distance of the modes
    spread = g.uniform(0.15, 0.5)

    def sample(n, g):
        modes = np.where(g.random(n) < share, -half, half)
        return modes + spread * g.normal(size=n)

    def cdf(v):
        lower = special.ndtr((v + half) / spread)
        upper = special.ndtr((v - half) / spread)
        return share * lower + (1 - share) * upper

    return Noise("bimodal", sample, cdf)


def _triangular(g: Generator) -> Noise:
    mode = g.uniform(-2.2, 2.2)
    end = 2.4

    def cdf(v):
        v = np.clip(v, -end, end)
        below = (v + end) ** 2 / (mode + end) / (2 * end)
        above = (end - v) ** 2 / (end - mode) / (2 * end)
        return np.where(v < mode, below, 1 - above)

    def sample(n, g):
        return g.triangular(-end, mode, end, n)

    return Noise("triangular", sample, cdf)


def student(dof: float) -> Noise:
    """t noise."""

    def sample(n, g):
        return g.standard_t(dof, size=n)

    return Noise(f"t({dof:.2g})", sample, lambda v: special.stdtr(dof, v))


# half the width of a uniform of unit spread; pi times the scale of a logistic of it
ROOT = np.sqrt(3)
NORMAL = Noise("normal", lambda n, g: g.normal(size=n), special.ndtr)
LAPLACE = Noise(
    "Laplace",
    lambda n, g: g.laplace(size=n) / np.sqrt(2),
    lambda v: laplace_cdf(np.sqrt(2) * v),
)
UNIFORM = Noise(
    "uniform",
    lambda n, g: g.uniform(-ROOT, ROOT, n),
    lambda v: np.clip((v + ROOT) / (2 * ROOT), 0, 1),
)
LOGISTIC = Noise(
    "logistic",
    lambda n, g: g.logistic(0, ROOT / np.pi, n),
    lambda v: special.expit(v * np.pi / ROOT),
)
NOISES: dict[str, Callable[[Generator], Noise]] = {
    "normal": lambda g: NORMAL,
    "laplace": lambda g: LAPLACE,
    "uniform": lambda g: UNIFORM,
    "logistic": lambda g: LOGISTIC,
    "student": lambda g: student(log_uniform(g, 2.0, 12.0)),
    "gamma": _gamma,
    "bimodal": _bimodal,
    "lognormal": _lognormal,
    "triangular": _triangular,
}


# --- functions -------------------------------------------------------------------------------------------------------
FUNCTIONS = (
    "linear",
    "quadratic",
    "sine",
    "dose-response",
    "saturating",
    "absolute",
    "cubic",
    "threshold",
)


def draw_function(g: Generator) -> tuple[str, Map]:
    """Name and map of a random function of a standardised score, of eight kinds."""
    kind = pick(g, FUNCTIONS)
    name = kind
    shift = g.normal(0, 0.6)
    rate = log_uniform(g, 0.4, 3.0)
    slope = phase = 0.0
    if kind == "sine":
        periods = g.uniform(0.7, 3.0)  # within 4 standard deviations
        phase = g.uniform(0, 2 * np.pi)
        rate = np.pi / 2 * periods
        name = f"sine({periods:.2g} periods)"
    elif kind == "dose-response":
        slope = log_uniform(g, 0.8, 6.0)
        name = f"dose-response(slope {slope:.2g})"
    elif kind == "cubic":
        slope = g.uniform(-1.5, 1.5)

    def function(s):
        match kind:
            case "linear":
                return s
            case "quadratic":
                return (s - shift) ** 2
            case "sine":
                return np.sin(rate * s + phase)
            case "dose-response":
                return special.expit(slope * (s - shift))
            case "saturating":
                dose = np.maximum(s + 2.5, 0)
                return -np.exp(-rate * dose)
            case "absolute":
                return np.abs(s - shift)
            case "cubic":
                return s**3 + slope * s
            case _:
                return np.maximum(s - shift, 0)

    return name, function


# --- margins and predictors ------------------------------------------------------------------------------------------
MARGINS = (
    "normal",
    "normal",
    "uniform",
    "exponential",
    "lognormal",
    "Laplace",
    "two humps",
    "U-shaped",
    "bounded",
)


def draw_margin(g: Generator) -> tuple[str, Map]:
    """Name and quantile function of a random margin of mean 0 and unit spread."""
    name = pick(g, MARGINS)
    a = g.uniform(0.3, 0.9)
    b = log_uniform(g, 0.6, 4.0)

    def quantile(u):
        match name:
            case "normal":
                return special.ndtri(u)
            case "uniform":
                return u
            case "exponential":
                return -np.log1p(-u)
            case "lognormal":
                return np.exp(a * special.ndtri(u))
            case "Laplace":
                return np.where(u < 0.5, np.log(2 * u), -np.log(2 * (1 - u)))
            case "two humps":
                return 0.4 * special.ndtri(u) + b * np.tanh(12 * (u - a))
            case "U-shaped":
                return -np.cos(np.pi * u)
            case _:
                below = (1 - u) ** (1 / b)
                return (1 - below) ** (1 / (1 + a))

    of_score = standardised(lambda z: quantile(special.ndtr(z)))
    return name, lambda u: of_score(special.ndtri(u))


def plain_predictor(g: Generator) -> Predictor:
    """One column that is the score itself, of a random margin."""
    name, quantile = draw_margin(g)

    def draw(n, g):
        return quantile(open_uniform(n, g))

    return single_column(f"{name} x", quantile, draw)


def single_column(
    name: str, quantile: Map, draw: Callable[[int, Generator], Array]
) -> Predictor:
    """One column that is the score itself."""

    def sample(n, g):
        score = draw(n, g)
        return score[:, None], score

    return Predictor(name, quantile, sample, 1)


def open_uniform(size: int, g: Generator) -> Array:
    """Uniform draws within (0, 1), both ends excluded."""
    u = g.random(size)
    return np.clip(u, LIMIT, 1 - LIMIT)


def projected_predictor(g: Generator, most: int) -> Predictor:
    """Normal columns whose score is a projection or the distance from the origin."""
    limit = min(MAX_COMBINED, max(2, most))
    columns = log_uniform_int(g, 2, limit)
    if g.random() < 0.3:
        return _radius(columns)
    direction = g.normal(size=columns)
    if g.random() < 0.5:
        direction[g.random(columns) < 0.7] = 0
        direction[0] = 1
    direction /= np.linalg.norm(direction)

    def sample(n, g):
        x = g.normal(size=(n, columns))
        return x, x @ direction

    name = f"projection of {columns} columns"
    return Predictor(name, special.ndtri, sample, columns)


def _radius(columns: int) -> Predictor:
    """Normal columns whose distance from the origin is the score."""

    def chi_quantile(u):
        return np.sqrt(2 * special.gammaincinv(columns / 2, u))

    mean, spread = moments(chi_quantile(special.ndtr(SCORES)))

    def quantile(u):
        return (chi_quantile(u) - mean) / spread

    def sample(n, g):
        x = g.normal(size=(n, columns))
        radius = np.sqrt((x**2).sum(axis=1))
        return x, (radius - mean) / spread

    return Predictor(f"radius of {columns} columns", quantile, sample, columns)


def draw_predictor(g: Generator, most: int) -> Predictor:
    """A plain predictor, or sometimes a projection where several columns are allowed."""
    if most > 1 and g.random() < 0.45:
        return projected_predictor(g, most)
    return plain_predictor(g)


# --- columns that inform only together -------------------------------------------------------------------------------
def _sign_quantile(u: Array) -> Array:
    """-1 in the lower half, 1 in the upper."""
    return np.where(u < 0.5, -1.0, 1.0)


def _two_sided_tail(u: Array) -> Array:
    """Probability of a larger absolute value than at u, for a symmetric variable."""
    return np.clip(2 * np.minimum(u, 1 - u), LEAST, 1)


def interaction_predictor(g: Generator) -> Predictor:
    """2 to 4 columns that inform mostly or only together, and their joint score.

    The score is the parity of signs, a signed value, a product or a sum modulo 1. A
    column alone has no information about a parity or a sum modulo 1; its absolute value
    has some about a signed value or a product.
    """
    columns = int(g.integers(2, 5))
    kind = pick(g, ("parity", "signed", "product", "modular"))
    log_sd = g.uniform(0.2, 0.7) / np.sqrt(columns)

    def sample(n, g):
        if kind == "modular":
            x = g.random((n, columns))
            return x, modular_quantile(x.sum(axis=1) % 1)
        x = g.normal(size=(n, columns))
        signs = np.sign(x)
        if kind == "parity":
            return x, signs.prod(axis=1)
        if kind == "signed":
            sign = signs[:, 1:].prod(axis=1)
            return x, sign * x[:, 0]
        sizes = np.exp(log_sd * g.normal(size=x.shape))
        x = signs * sizes
        return x, x.prod(axis=1)

    def modular_quantile(u):
        return np.sqrt(12) * (u - 0.5)

    def product_quantile(u):
        score = special.ndtri(_two_sided_tail(u))
        size = np.exp(-log_sd * np.sqrt(columns) * score)
        return _sign_quantile(u) * size

    kinds: dict[str, tuple[str, Map]] = {
        "parity": ("parity of the signs", _sign_quantile),
        "signed": ("a value times the signs", special.ndtri),
        "product": ("product", product_quantile),
        "modular": ("sum modulo 1", modular_quantile),
    }
    name, quantile = kinds[kind]
    return Predictor(f"{name} of {columns} columns", quantile, sample, columns)


def hidden_predictor(g: Generator) -> Predictor:
    """2 to 4 columns that inform together: by thresholds, cells or smallest values."""
    kind = pick(g, ("thresholds", "cells", "least"))
    makers = {"thresholds": _of_thresholds, "cells": _of_cells, "least": _of_least}
    columns = int(g.integers(2, 5))
    return makers[kind](columns, g)


def _of_thresholds(columns: int, g: Generator) -> Predictor:
    """Whether an odd number of columns is above its threshold.

    The thresholds of the first two columns are medians.
    """
    shares = np.full(columns, 0.5)  # below the thresholds
    shares[2:] = g.uniform(0.2, 0.8, columns - 2)
    cuts = special.ndtri(shares)

    def sample(n, g):
        x = g.normal(size=(n, columns))
        is_odd = (x > cuts).sum(axis=1) % 2 == 1
        return x, np.where(is_odd, 1.0, -1.0)

    return Predictor(f"XOR of {columns} thresholds", _sign_quantile, sample, columns)


def _of_cells(columns: int, g: Generator) -> Predictor:
    """A code of the cells of uniform columns; the codes form a Latin square."""
    levels = int(g.integers(2, 6))
    codes = [g.permutation(levels) for _ in range(columns)]
    values = g.permutation(levels).astype(float)
    values = (values - values.mean()) / values.std()
    ordered = np.sort(values)

    def sample(n, g):
        x = g.random((n, columns))
        cells = (x * levels).astype(int)
        total = sum(order[cell] for order, cell in zip(codes, cells.T))
        return x, values[total % levels]

    def quantile(u):
        level = (np.asarray(u) * levels).astype(int)
        return ordered[np.minimum(level, levels - 1)]

    name = f"a code of {levels} cells of {columns} columns"
    return Predictor(name, quantile, sample, columns)


def _of_least(columns: int, g: Generator) -> Predictor:
    """The smallest absolute value of normal columns, with the product of their signs."""

    def signed_least(u):
        u = np.asarray(u)
        tail = _two_sided_tail(u)
        least = -special.ndtri(tail ** (1 / columns) / 2)
        return np.sign(u - 0.5) * least

    _, spread = moments(signed_least(special.ndtr(SCORES)))

    def quantile(u):
        return signed_least(u) / spread

    def sample(n, g):
        x = g.normal(size=(n, columns))
        sign = np.sign(x).prod(axis=1)
        least = np.abs(x).min(axis=1)
        return x, sign * least / spread

    return Predictor(f"signed least of {columns} columns", quantile, sample, columns)
