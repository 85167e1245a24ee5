"""Random margins, noise shapes, functions and predictors: the pieces that pairs of numbers are built from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from infoscope.data.prior.draws import MAX_COMBINED, Array, Generator, Map, log_uniform, log_uniform_int, pick

SCORES = np.linspace(-6.0, 6.0, 241)  # normal scores at which a function's mean and spread are taken


@dataclass(frozen=True, eq=False)
class Noise:
    """A noise distribution of about unit spread: its draws, its cumulative distribution function and its name."""

    name: str
    sample: Callable[[int, Generator], Array]
    cdf: Map


@dataclass(frozen=True, eq=False)
class Predictor:
    """Columns of x and the one score of them that y depends on; `quantile` is the score's quantile function."""

    name: str
    quantile: Map
    sample: Callable[[int, Generator], tuple[Array, Array]]  # n, generator -> columns [n, k], score [n]
    columns: int


def moments(values: Array) -> tuple[float, float]:
    """Mean and standard deviation of a function of a normal score, from its values at SCORES."""
    weights = np.exp(-0.5 * SCORES**2)
    weights /= weights.sum()
    mean = float(weights @ values)
    return mean, float(np.sqrt(weights @ (values - mean) ** 2))


def standardised(function: Map, at: Array = SCORES) -> Map:
    """`function` with mean 0 and standard deviation 1; `at`: values of its argument at the normal SCORES."""
    mean, spread = moments(function(at))
    return lambda score: (function(score) - mean) / max(spread, 1e-3)


# --- noise ---------------------------------------------------------------------------------------------------------
def draw_noise(g: Generator) -> Noise:
    """One of nine noise shapes with random parameters; a skewed one has a random sign."""
    noise = NOISES[pick(g, sorted(NOISES))](g)
    if g.random() < 0.5:
        return noise
    return Noise(noise.name, lambda n, g: -noise.sample(n, g), lambda v: 1 - noise.cdf(-v))


def laplace_cdf(v: Array) -> Array:
    """Distribution function of a Laplace variable of scale 1."""
    tail = 0.5 * np.exp(-np.abs(v))
    return np.where(v < 0, tail, 1 - tail)


def _lognormal(log_sd: float) -> Noise:
    return Noise(
        f"lognormal({log_sd:.2g})",
        lambda n, g: (g.lognormal(0, log_sd, n) - 1) / log_sd,
        lambda v: special.ndtr(np.log(np.maximum(v * log_sd + 1, 1e-300)) / log_sd),
    )


def _gamma(shape: float) -> Noise:
    spread = np.sqrt(shape)
    return Noise(
        f"gamma({shape:.2g})",
        lambda n, g: (g.gamma(shape, size=n) - shape) / spread,
        lambda v: special.gammainc(shape, np.maximum(v * spread + shape, 0)),
    )


def _bimodal(share: float, half: float, spread: float) -> Noise:
    return Noise(
        "bimodal",
        lambda n, g: np.where(g.random(n) < share, -half, half) + spread * g.normal(size=n),
        lambda v: share * special.ndtr((v + half) / spread) + (1 - share) * special.ndtr((v - half) / spread),
    )


def _triangular(mode: float, half: float = 2.4) -> Noise:
    def cdf(v: Array) -> Array:
        v = np.clip(v, -half, half)
        left, right = (v + half) ** 2 / (mode + half), (half - v) ** 2 / (half - mode)
        return np.where(v < mode, left / (2 * half), 1 - right / (2 * half))

    return Noise("triangular", lambda n, g: g.triangular(-half, mode, half, n), cdf)


def student(dof: float) -> Noise:
    """t noise."""
    return Noise(f"t({dof:.2g})", lambda n, g: g.standard_t(dof, size=n), lambda v: special.stdtr(dof, v))


NORMAL = Noise("normal", lambda n, g: g.normal(size=n), special.ndtr)
LAPLACE = Noise("Laplace", lambda n, g: g.laplace(size=n) / np.sqrt(2), lambda v: laplace_cdf(np.sqrt(2) * v))
ROOT = np.sqrt(3)  # standard deviation of a uniform on (-3, 3); scale of a logistic of unit spread times pi
UNIFORM = Noise("uniform", lambda n, g: g.uniform(-ROOT, ROOT, n), lambda v: np.clip((v + ROOT) / (2 * ROOT), 0, 1))
LOGISTIC = Noise("logistic", lambda n, g: g.logistic(0, ROOT / np.pi, n), lambda v: special.expit(v * np.pi / ROOT))
NOISES: dict[str, Callable[[Generator], Noise]] = {
    "normal": lambda g: NORMAL,
    "laplace": lambda g: LAPLACE,
    "uniform": lambda g: UNIFORM,
    "logistic": lambda g: LOGISTIC,
    "student": lambda g: student(log_uniform(g, 2.0, 12.0)),
    "gamma": lambda g: _gamma(1.0 if g.random() < 0.25 else log_uniform(g, 0.8, 8.0)),  # 1 is exponential
    "bimodal": lambda g: _bimodal(g.uniform(0.2, 0.8), g.uniform(0.8, 1.2), g.uniform(0.15, 0.5)),
    "lognormal": lambda g: _lognormal(g.uniform(0.3, 1.0)),
    "triangular": lambda g: _triangular(g.uniform(-2.2, 2.2)),
}


# --- functions -----------------------------------------------------------------------------------------------------
FUNCTIONS = ("linear", "quadratic", "sine", "dose-response", "saturating", "absolute", "cubic", "threshold")


def draw_function(g: Generator, name: str | None = None) -> tuple[str, Map]:
    """One of eight functions of a standardised score with random parameters, and its name."""
    name = name or pick(g, FUNCTIONS)
    shift, rate = g.normal(0, 0.6), log_uniform(g, 0.4, 3.0)
    if name == "linear":
        return name, lambda s: s
    if name == "quadratic":
        return name, lambda s: (s - shift) ** 2
    if name == "sine":
        periods, phase = g.uniform(0.7, 3.0), g.uniform(0, 2 * np.pi)  # periods within 4 standard deviations
        return f"sine({periods:.2g} periods)", lambda s: np.sin(np.pi / 2 * periods * s + phase)
    if name == "dose-response":
        slope = log_uniform(g, 0.8, 6.0)
        return f"dose-response(slope {slope:.2g})", lambda s: special.expit(slope * (s - shift))
    if name == "saturating":
        return name, lambda s: -np.exp(-rate * np.clip(s + 2.5, 0, None))
    if name == "absolute":
        return name, lambda s: np.abs(s - shift)
    if name == "cubic":
        slope = g.uniform(-1.5, 1.5)
        return name, lambda s: s**3 + slope * s
    return name, lambda s: np.maximum(s - shift, 0)


# --- margins and predictors ----------------------------------------------------------------------------------------
MARGINS = ("normal", "normal", "uniform", "exponential", "lognormal", "Laplace", "two humps", "U-shaped", "bounded")


def draw_margin(g: Generator) -> tuple[str, Map]:
    """The quantile function of a random margin of mean 0 and standard deviation 1, and its name."""
    name = pick(g, MARGINS)
    a, b = g.uniform(0.3, 0.9), log_uniform(g, 0.6, 4.0)
    quantiles: dict[str, Map] = {
        "normal": special.ndtri,
        "uniform": lambda u: u,
        "exponential": lambda u: -np.log1p(-u),
        "lognormal": lambda u: np.exp(a * special.ndtri(u)),
        "Laplace": lambda u: np.where(u < 0.5, np.log(2 * u), -np.log(2 * (1 - u))),
        "two humps": lambda u: 0.4 * special.ndtri(u) + b * np.tanh(12 * (u - a)),
        "U-shaped": lambda u: -np.cos(np.pi * u),
        "bounded": lambda u: (1 - (1 - u) ** (1 / b)) ** (1 / (1 + a)),
    }
    raw = quantiles[name]
    of_score = standardised(lambda z: raw(special.ndtr(z)))
    return name, lambda u: of_score(special.ndtri(u))


def plain_predictor(g: Generator) -> Predictor:
    """One column that is the score itself, of a random margin."""
    name, quantile = draw_margin(g)
    return single_column(f"{name} x", quantile, lambda n, g: quantile(open_uniform(n, g)))


def single_column(name: str, quantile: Map, draw: Callable[[int, Generator], Array]) -> Predictor:
    """One column that is the score itself."""
    return Predictor(name, quantile, lambda n, g: (lambda x: (x[:, None], x))(draw(n, g)), 1)


def open_uniform(size: int | tuple[int, ...], g: Generator) -> Array:
    """Uniform draws within (0, 1), both ends excluded."""
    return np.clip(g.random(size), 1e-15, 1 - 1e-15)


def projected_predictor(g: Generator, most: int) -> Predictor:
    """Normal columns; the score is one projection of them, or their distance from the origin."""
    columns = log_uniform_int(g, 2, min(MAX_COMBINED, max(2, most)))
    if g.random() < 0.3:
        name = f"radius of {columns} columns"
        quantile = lambda u: np.sqrt(2 * special.gammaincinv(columns / 2, u))  # noqa: E731
        score_of = lambda x: np.sqrt((x**2).sum(axis=1))  # noqa: E731
        mean, spread = moments(quantile(special.ndtr(SCORES)))
    else:
        name, quantile, (mean, spread) = f"projection of {columns} columns", special.ndtri, (0.0, 1.0)
        direction = g.normal(size=columns)
        if g.random() < 0.5:
            direction[g.random(columns) < 0.7] = 0
            direction[0] = 1
        direction /= np.linalg.norm(direction)
        score_of = lambda x: x @ direction  # noqa: E731

    def sample(n: int, g: Generator) -> tuple[Array, Array]:
        x = g.normal(size=(n, columns))
        return x, (score_of(x) - mean) / spread

    return Predictor(name, lambda u: (quantile(u) - mean) / spread, sample, columns)


def interaction_predictor(g: Generator) -> Predictor:
    """2 to 4 columns none of which informs alone: parity of signs, signed value, product, sum modulo 1."""
    columns, kind = int(g.integers(2, 5)), pick(g, ("parity", "signed", "product", "modular"))
    log_sd = g.uniform(0.2, 0.7) / np.sqrt(columns)

    def sample(n: int, g: Generator) -> tuple[Array, Array]:
        if kind == "modular":
            x = g.random((n, columns))
            return x, np.sqrt(12) * (x.sum(axis=1) % 1 - 0.5)
        x = g.normal(size=(n, columns))
        if kind == "parity":
            return x, np.sign(x).prod(axis=1)
        if kind == "signed":
            return x, np.sign(x[:, 1:]).prod(axis=1) * x[:, 0]
        x = np.sign(x) * np.exp(log_sd * g.normal(size=x.shape))
        return x, x.prod(axis=1)

    def product_quantile(u: Array) -> Array:
        tail = np.clip(2 * np.minimum(u, 1 - u), 1e-300, 1)  # P(|score| beyond)
        return np.where(u < 0.5, -1.0, 1.0) * np.exp(-log_sd * np.sqrt(columns) * special.ndtri(tail))

    name, quantile = {
        "parity": ("parity of the signs of {} columns", lambda u: np.where(u < 0.5, -1.0, 1.0)),
        "signed": ("a value times the signs of {} columns", special.ndtri),
        "product": ("product of {} columns", product_quantile),
        "modular": ("sum modulo 1 of {} columns", lambda u: np.sqrt(12) * (u - 0.5)),
    }[kind]
    return Predictor(name.format(columns), quantile, sample, columns)


def hidden_predictor(g: Generator) -> Predictor:
    """2 to 4 columns that inform together: XOR of thresholds, a code of their cells, a signed smallest value."""
    kind = pick(g, ("thresholds", "cells", "least"))
    return {"thresholds": _of_thresholds, "cells": _of_cells, "least": _of_least}[kind](int(g.integers(2, 5)), g)


def _of_thresholds(columns: int, g: Generator) -> Predictor:
    """Whether an odd number of columns is above its threshold, which is the median of all but one or two."""
    shares = np.full(columns, 0.5)  # below the thresholds
    shares[2:] = g.uniform(0.2, 0.8, columns - 2)
    cuts = special.ndtri(shares)

    def sample(n: int, g: Generator) -> tuple[Array, Array]:
        x = g.normal(size=(n, columns))
        return x, np.where((x > cuts).sum(axis=1) % 2 == 1, 1.0, -1.0)

    return Predictor(f"XOR of {columns} thresholds", lambda u: np.where(u < 0.5, -1.0, 1.0), sample, columns)


def _of_cells(columns: int, g: Generator) -> Predictor:
    """A code of the cells of uniform columns, each code once in every row of cells along a column: a Latin square."""
    levels = int(g.integers(2, 6))
    codes = [g.permutation(levels) for _ in range(columns)]
    values = standard_levels(g.permutation(levels).astype(float))

    def sample(n: int, g: Generator) -> tuple[Array, Array]:
        x = g.random((n, columns))
        cells = (x * levels).astype(int)
        code = sum(order[cell] for order, cell in zip(codes, cells.T)) % levels
        return x, values[code]

    ordered = np.sort(values)

    def quantile(u: Array) -> Array:
        return ordered[np.minimum((np.asarray(u) * levels).astype(int), levels - 1)]

    return Predictor(f"a code of {levels} cells of {columns} columns", quantile, sample, columns)


def standard_levels(values: Array) -> Array:
    """Equally likely values at mean 0 and standard deviation 1."""
    return (values - values.mean()) / values.std()


def _of_least(columns: int, g: Generator) -> Predictor:
    """The smallest absolute value of normal columns, with the product of their signs."""

    def sample(n: int, g: Generator) -> tuple[Array, Array]:
        x = g.normal(size=(n, columns))
        return x, np.sign(x).prod(axis=1) * np.abs(x).min(axis=1) / spread

    def quantile(u: Array) -> Array:
        tail = np.clip(2 * np.minimum(u, 1 - np.asarray(u)), 1e-300, 1)  # P(smallest value beyond)
        return np.sign(np.asarray(u) - 0.5) * -special.ndtri(tail ** (1 / columns) / 2)

    _, spread = moments(quantile(special.ndtr(SCORES)))
    return Predictor(f"signed least of {columns} columns", lambda u: quantile(u) / spread, sample, columns)


def draw_predictor(g: Generator, most: int) -> Predictor:
    """A plain predictor, or, where several columns may be used, sometimes a projection of them."""
    if most > 1 and g.random() < 0.45:
        return projected_predictor(g, most)
    return plain_predictor(g)
