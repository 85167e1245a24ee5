"""Columns computed from the columns of the same variable: they add no information, but
put it on curves and surfaces.

A variable keeps all that determines it, so its information stays: functions of columns
are appended to them, or a group of columns is replaced by columns from which it can be
computed (a point of a circle, a direction and a length).
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
OF_SEVERAL = ("total", "length", "shares")  # functions of two columns or more


def draw_derivation(size: int, g: Generator) -> tuple[str, Derivation]:
    """A map of `size` standardised columns that raises their dimension, and its name:
    functions or a replacement.
    """
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
    """One function of `size` columns, and its name; of columns [n, size] it gives [n,
    1] or more.
    """
    i, j = g.integers(size, size=2)
    rate = log_uniform(g, 0.4, 3.0)
    shift = g.normal(0, 0.7)
    weights = g.normal(size=(size, 1))
    of_two: dict[str, Callable[[Array, Array], Array]] = {
        "square": lambda a, b: (a - shift) ** 2,
        "absolute": lambda a, b: np.abs(a - shift),
        "product": lambda a, b: a * b,
        "ratio": lambda a, b: a / (b**2 + 0.3),
        "logarithm": lambda a, b: np.log1p(rate * np.abs(a)),
        "levels": lambda a, b: np.floor(rate * a),
        "larger": lambda a, b: np.maximum(a, b - shift),
        "smaller": lambda a, b: np.minimum(a, b - shift),
        "gate": lambda a, b: a * (b > shift),
        "wave": lambda a, b: np.hstack([np.cos(rate * a), np.sin(rate * a)]),
    }
    of_several: dict[str, Derivation] = {
        "total": lambda z: np.tanh(z @ weights / np.sqrt(size)),
        "length": lambda z: np.sqrt((z**2).sum(axis=1, keepdims=True)),
        "shares": lambda z: special.softmax(z, axis=1),
    }
    names = list(of_two)
    if size > 1:
        names += OF_SEVERAL
    name = pick(g, names)
    if name in of_several:
        return name, of_several[name]
    return name, lambda z: of_two[name](z[:, [i]], z[:, [j]])


def draw_replacement(size: int, g: Generator) -> tuple[str, Derivation]:
    """Columns on a circle, a sphere or a simplex from which the replaced ones can be
    computed.
    """
    used = g.permutation(size)[:MAX_USED]
    unused = np.setdiff1d(np.arange(size), used)
    kind = pick(g, ("circles", "direction and length", "composition and total"))
    if size == 1:
        kind = "circles"

    def replacement(z):
        if kind == "circles":
            angle = np.pi * z / (1 + np.abs(z))
            return np.cos(angle), np.sin(angle)
        if kind == "direction and length":
            length = np.sqrt((z**2).sum(axis=1, keepdims=True))
            return z / np.maximum(length, 1e-300), length
        amounts = np.exp(np.arcsinh(z))  # z is not too far out for its exponential
        total = amounts.sum(axis=1, keepdims=True)
        return amounts / total, total

    def replace(values):
        return np.hstack([values[:, unused], *replacement(values[:, used])])

    return f"as {kind}", replace


# concentration of von Mises noise, decay of wrapped Cauchy noise, width of an arc
NOISE_WIDTHS = {
    "von Mises": (0.01, 5e4),
    "wrapped Cauchy": (1e-4, 8.0),
    "uniform": (1e-3, 2 * np.pi),
}


def angles(request: Request, g: Generator) -> Part:
    """Two angles that differ by noise, each as a point of the unit circle or as a
    number, with fixed other turns.

    The noise turns a uniform angle, so I = log 2 pi - h(noise) (Mardia & Jupp 2000,
    sections 3.5.4 and 3.5.7).
    """
    kind = pick(g, tuple(NOISE_WIDTHS))
    low, high = np.log(NOISE_WIDTHS[kind])

    def below(log_width):
        too_little = _turn_nats(kind, np.exp(log_width)) < request.nats
        # with the width of an arc, information falls
        return too_little != (kind == "uniform")

    log_width, _ = bisected(below, low, high, 40)
    width = float(np.exp(log_width))
    turns = int(g.integers(1, 3))
    winding = turns * int(g.choice([-1, 1]))
    offsets = g.uniform(0, 2 * np.pi, 2)

    def draw(n, g):
        x = g.uniform(0, 2 * np.pi, n)
        y = winding * x + _turn(kind, width, n, g)
        variables = []
        for angle, offset, most in zip((x, y), offsets, request.columns):
            turned = (angle + offset) % (2 * np.pi)
            variables.append(numbers(on_circle(turned) if most > 1 else turned))
        return tuple(variables)

    text = f"angles, winding {winding}, {kind} noise of {width:.3g}"
    return Part("derived", text, draw, exactly(_turn_nats(kind, width)))


def _turn_nats(kind: str, width: float) -> float:
    """Information of two uniform angles that differ by noise: concentration, decay, or
    width of an arc.
    """
    if kind == "von Mises":
        return von_mises_information(width)
    if kind == "wrapped Cauchy":
        return float(-np.log(-np.expm1(-2 * np.log1p(1 / width))))
    return float(np.log(2 * np.pi / width))


def _turn(kind: str, width: float, n: int, g: Generator) -> Array:
    """Noise [n] that is added to an angle."""
    if kind == "von Mises":
        return g.vonmises(0, width, n)
    if kind == "wrapped Cauchy":
        return np.log1p(1 / width) * g.standard_cauchy(n)
    return g.uniform(0, width, n)
