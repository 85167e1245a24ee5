"""Columns computed from the columns of the same variable: they add no information, but put it on curves and surfaces.

A variable keeps all that determines it, so its information stays: functions of columns are appended to them, or a
group of columns is replaced by columns from which it can be computed (a point of a circle, a direction and a length).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from infoscope.data.information import bisected
from infoscope.data.prior.draws import Array, Generator, log_uniform, pick
from infoscope.data.prior.latent import on_circle
from infoscope.data.prior.parts import Part, Request, Sample, numbers

Derivation = Callable[[Array], Array]  # [n, p] -> [n, q]
MAX_USED = 6  # columns that functions are computed from
MAX_FUNCTIONS = 4
BOUND = 30.0  # standard deviations at which columns are cut before a function, which may be a square or a ratio


def draw_derivation(size: int, g: Generator) -> tuple[str, Derivation]:
    """A map of `size` standardised columns that raises their dimension, and its name: functions or a replacement."""
    if g.random() < 0.3:
        return draw_replacement(size, g)
    used = g.permutation(size)[: min(size, MAX_USED)]
    functions = [draw_function(len(used), g) for _ in range(int(g.integers(1, MAX_FUNCTIONS + 1)))]

    def derive(values: Array) -> Array:
        bounded = np.clip(values[:, used], -BOUND, BOUND)
        added = [function(bounded) for _, function in functions]
        return np.hstack([values, *added])

    return "with " + ", ".join(name for name, _ in functions), derive


def draw_function(size: int, g: Generator) -> tuple[str, Derivation]:
    """One function of `size` columns, and its name; of columns [n, size] it gives [n, 1] or more."""
    i, j = g.integers(size, size=2)
    rate, shift = log_uniform(g, 0.4, 3.0), g.normal(0, 0.7)
    weights = g.normal(size=(size, 1))
    functions: dict[str, Derivation] = {
        "square": lambda z: (z[:, [i]] - shift) ** 2,
        "absolute": lambda z: np.abs(z[:, [i]] - shift),
        "product": lambda z: z[:, [i]] * z[:, [j]],
        "ratio": lambda z: z[:, [i]] / (z[:, [j]] ** 2 + 0.3),
        "logarithm": lambda z: np.log1p(rate * np.abs(z[:, [i]])),
        "levels": lambda z: np.floor(rate * z[:, [i]]),
        "larger": lambda z: np.maximum(z[:, [i]], z[:, [j]] - shift),
        "smaller": lambda z: np.minimum(z[:, [i]], z[:, [j]] - shift),
        "gate": lambda z: z[:, [i]] * (z[:, [j]] > shift),
        "wave": lambda z: np.hstack([np.cos(rate * z[:, [i]]), np.sin(rate * z[:, [i]])]),
        "total": lambda z: np.tanh(z @ weights / np.sqrt(size)),
        "length": lambda z: np.sqrt((z**2).sum(axis=1, keepdims=True)),
        "shares": lambda z: special.softmax(z, axis=1),
    }
    names = [name for name in functions if size > 1 or name not in ("total", "length", "shares")]
    name = pick(g, names)
    return name, functions[name]


def draw_replacement(size: int, g: Generator) -> tuple[str, Derivation]:
    """Columns on a circle, a sphere or a simplex from which the replaced ones can be computed."""
    used = g.permutation(size)[: min(size, MAX_USED)]
    kept = np.setdiff1d(np.arange(size), used)
    kind = pick(g, ("circles", "direction and length", "composition and total"))
    if size == 1:
        kind = "circles"

    def replace(values: Array) -> Array:
        z = values[:, used]
        if kind == "circles":
            angle = np.pi * z / (1 + np.abs(z))
            return np.hstack([values[:, kept], np.cos(angle), np.sin(angle)])
        if kind == "direction and length":
            length = np.sqrt((z**2).sum(axis=1, keepdims=True))
            return np.hstack([values[:, kept], z / np.maximum(length, 1e-300), length])
        parts = np.exp(np.arcsinh(z))  # z is not too far out for its exponential
        total = parts.sum(axis=1, keepdims=True)
        return np.hstack([values[:, kept], parts / total, total])

    return f"as {kind}", replace


def angles(request: Request, g: Generator) -> Part:
    """Two angles that differ by noise, each as a point of the unit circle or as a number, with fixed other turns.

    The noise turns a uniform angle, so I = log 2 pi - h(noise) (Mardia & Jupp 2000, sections 3.5.4 and 3.5.7).
    """
    kind = pick(g, ("von Mises", "wrapped Cauchy", "uniform"))
    low, high = {"von Mises": (0.01, 5e4), "wrapped Cauchy": (1e-4, 8.0), "uniform": (1e-3, 2 * np.pi)}[kind]
    falls = kind == "uniform"  # with the width of an arc, information falls
    log_width, _ = bisected(
        lambda log: (_turn_nats(kind, np.exp(log)) < request.nats) != falls, np.log(low), np.log(high), 40
    )
    width = float(np.exp(log_width))
    winding = int(g.integers(1, 3)) * int(g.choice([-1, 1]))
    as_points = [most > 1 for most in request.columns]
    offsets = g.uniform(0, 2 * np.pi, 2)

    def draw(n: int, g: Generator) -> tuple[Sample, Sample]:
        x = g.uniform(0, 2 * np.pi, n)
        y = winding * x + _turn(kind, width, n, g)
        turned = [(angle + offset) % (2 * np.pi) for angle, offset in zip((x, y), offsets)]
        columns = [on_circle(angle) if points else angle for angle, points in zip(turned, as_points)]
        return numbers(columns[0]), numbers(columns[1])

    text = f"angles, winding {winding}, {kind} noise of {width:.3g}"
    nats = _turn_nats(kind, width)
    return Part("derived", text, draw, lambda _: (nats, 0.0))


def _turn_nats(kind: str, width: float) -> float:
    """Information of two uniform angles that differ by noise: concentration, decay, or width of an arc."""
    if kind == "von Mises":
        scaled = special.i0e(width)
        return float(width * (special.i1e(width) / scaled - 1) - np.log(scaled))
    if kind == "wrapped Cauchy":
        return float(-np.log(-np.expm1(-2 * np.log1p(1 / width))))
    return float(np.log(2 * np.pi / width))


def _turn(kind: str, width: float, n: int, g: Generator) -> Array:
    if kind == "von Mises":
        return g.vonmises(0, width, n)
    if kind == "wrapped Cauchy":
        return np.log1p(1 / width) * g.standard_cauchy(n)
    return g.uniform(0, width, n)
