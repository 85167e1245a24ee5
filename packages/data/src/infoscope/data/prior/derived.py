"""Columns computed from the columns of the same variable; they add no information.

The variable still determines its former columns, so its information stays. Functions of
columns are appended to them, or columns are replaced by others from which they can be
computed (a point of a circle; a direction and a length). The data then lie on curves
and surfaces.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from infoscope.data.information import bisected
from infoscope.data.prior.draws import Array, Generator, log_uniform, pick
from infoscope.data.prior.latent import on_circle, von_mises_information
from infoscope.data.prior.parts import Part, Request, exactly, numbers

Derivation = Callable[[Array], Array]  # [n, p] -> [n, q]
MAX_USED = 6  # columns that functions are computed from
MAX_FUNCTIONS = 4
# standard deviations at which columns are cut before a function, which may be a square
# or a ratio
BOUND = 30.0
OF_TWO = (  # functions of one column or two
    "square",
    "absolute",
    "product",
    "ratio",
    "logarithm",
    "levels",
    "larger",
    "smaller",
    "gate",
    "wave",
)
OF_SEVERAL = ("total", "length", "shares")  # functions of two columns or more


def draw_derivation(size: int, g: Generator) -> tuple[str, Derivation]:
    """Name and map of `size` standardised columns: functions of them or a replacement."""
    if g.random() < 0.3:
        return draw_replacement(size, g)
    used = g.permutation(size)[:MAX_USED]
    names, functions = [], []
    for _ in range(int(g.integers(1, MAX_FUNCTIONS + 1))):
        name, function = draw_function(len(used), g)
        names.append(name)
        functions.append(function)

    def derive(values):
        bounded = np.clip(values[:, used], -BOUND, BOUND)
        added = [function(bounded) for function in functions]
        return np.hstack([values, *added])

    return f"with {', '.join(names)}", derive


def draw_function(size: int, g: Generator) -> tuple[str, Derivation]:
    """Name and map of a random function of columns [n, size] with values [n, 1 or more]."""
    i, j = g.integers(size, size=2)
    rate = log_uniform(g, 0.4, 3.0)
    shift = g.normal(0, 0.7)
    weights = g.normal(size=(size, 1))
    names = OF_TWO
    if size > 1:
        names += OF_SEVERAL
    name = pick(g, names)

    def function(z):
        a = z[:, [i]]
        b = z[:, [j]]
        match name:
            case "square":
                return (a - shift) ** 2
            case "absolute":
                return np.abs(a - shift)
            case "product":
                return a * b
            case "ratio":
                return a / (b**2 + 0.3)
            case "logarithm":
                return np.log1p(rate * np.abs(a))
            case "levels":
                return np.floor(rate * a)
            case "larger":
                return np.maximum(a, b - shift)
            case "smaller":
                return np.minimum(a, b - shift)
            case "gate":
                return a * (b > shift)
            case "wave":
                return np.hstack([np.cos(rate * a), np.sin(rate * a)])
            case "total":
                return np.tanh(z @ weights / np.sqrt(size))
            case "length":
                return _lengths(z)
            case _:
                return special.softmax(z, axis=1)

    return name, function


def _lengths(z: Array) -> Array:
    """Length [n, 1] of every row."""
    return np.sqrt((z**2).sum(axis=1, keepdims=True))


def draw_replacement(size: int, g: Generator) -> tuple[str, Derivation]:
    """Name and map of columns to a circle, a sphere or a simplex; the map is invertible."""
    used = g.permutation(size)[:MAX_USED]
    unused = np.setdiff1d(np.arange(size), used)
    kind = pick(g, ("circles", "direction and length", "composition and total"))
    if size == 1:
        kind = "circles"

    def replace(values):
        z = values[:, used]
        if kind == "circles":
            angle = np.pi * z / (1 + np.abs(z))
            columns = (np.cos(angle), np.sin(angle))
        elif kind == "direction and length":
            length = _lengths(z)
            columns = (z / np.maximum(length, 1e-300), length)
        else:
            amounts = np.exp(np.arcsinh(z))  # exp(z) may overflow
            total = amounts.sum(axis=1, keepdims=True)
            columns = (amounts / total, total)
        return np.hstack([values[:, unused], *columns])

    return f"as {kind}", replace


# concentration of von Mises noise, decay of wrapped Cauchy noise, width of an arc
NOISE_WIDTHS = {
    "von Mises": (0.01, 5e4),
    "wrapped Cauchy": (1e-4, 8.0),
    "uniform": (1e-3, 2 * np.pi),
}


def angles(request: Request, g: Generator) -> Part:
    """Two angles that differ by noise, each as a point of the unit circle or a number.

    While the first angle turns once, the second turns once or twice, in either sense.
    The noise turns a uniform angle, so I = log 2 pi - h(noise) (Mardia & Jupp 2000,
    sections 3.5.4 and 3.5.7).
    """
    kind = pick(g, tuple(NOISE_WIDTHS))
    low, high = np.log(NOISE_WIDTHS[kind])

    def below(log_width):
        nats = _turn_nats(kind, np.exp(log_width))
        falls = kind == "uniform"  # the information, with the width
        return (nats < request.nats) != falls

    log_width, _ = bisected(below, low, high, 40)
    width = float(np.exp(log_width))
    turns = int(g.integers(1, 3))
    winding = turns * int(g.choice([-1, 1]))
    offsets = g.uniform(0, 2 * np.pi, 2)

    def draw(n, g):
        x = g.uniform(0, 2 * np.pi, n)
        y = winding * x + _turn(kind, width, n, g)
        samples = []
        for angle, offset, most in zip((x, y), offsets, request.columns):
            columns = (angle + offset) % (2 * np.pi)
            if most > 1:
                columns = on_circle(columns)
            samples.append(numbers(columns))
        return tuple(samples)

    text = f"angles, winding {winding}, {kind} noise of {width:.3g}"
    truth = exactly(_turn_nats(kind, width))
    return Part("derived", text, draw, truth)


def _turn_nats(kind: str, width: float) -> float:
    """Information, nats, of uniform angles whose difference is noise of this width."""
    if kind == "von Mises":
        return von_mises_information(width)
    if kind == "wrapped Cauchy":
        decay = np.log1p(1 / width)
        return float(-np.log(-np.expm1(-2 * decay)))
    return float(np.log(2 * np.pi / width))


def _turn(kind: str, width: float, n: int, g: Generator) -> Array:
    """Noise [n] that is added to an angle."""
    if kind == "von Mises":
        return g.vonmises(0, width, n)
    if kind == "wrapped Cauchy":
        return np.log1p(1 / width) * g.standard_cauchy(n)
    return g.uniform(0, width, n)
