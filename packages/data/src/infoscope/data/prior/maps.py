"""Invertible maps of x or y, which keep mutual information: mixing, swirls, coupling layers, monotone maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import special

from infoscope.data.prior.draws import Array, Generator, Map, log_uniform, pick

Columns = Callable[[Array], Array]


def draw_rotation(size: int, g: Generator) -> Columns:
    """A random rotation of `size` columns."""
    if size <= 96:  # columns; of more, products of 4 reflections
        matrix = np.linalg.qr(g.normal(size=(size, size)))[0]
        return lambda x: x @ matrix
    directions = g.normal(size=(4, size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)

    def reflect(x: Array) -> Array:
        for direction in directions:
            x = x - 2 * np.outer(x @ direction, direction)
        return x

    return reflect


def draw_mixing(size: int, g: Generator) -> Columns:
    """An invertible linear map: none, columns that share a few factors, or a rotated spectrum."""
    kind = pick(g, ("none", "factors", "rotated"))
    if size == 1 or kind == "none":
        return lambda x: x
    if kind == "factors":
        factors = g.normal(size=(2, int(g.integers(1, 4)), size)) / np.sqrt(size) * log_uniform(g, 0.5, 3.0)
        return lambda x: x + (x @ factors[0].T) @ factors[1]
    scales = np.arange(1.0, size + 1) ** -g.uniform(0.2, 2.0)
    rotation, order = draw_rotation(size, g), g.permutation(size)
    return lambda x: rotation(x * scales[order])


def draw_swirl(size: int, g: Generator) -> Columns:
    """Rotations of pairs of columns by an angle that depends on their distance from the origin."""
    order = g.permutation(size)
    first, second = order[: size // 2], order[size // 2 : 2 * (size // 2)]
    angle, reach = g.uniform(0.5, 4.0), log_uniform(g, 0.5, 3.0)

    def swirl(x: Array) -> Array:
        a, b = x[:, first], x[:, second]
        turn = angle * np.exp(-(a**2 + b**2) / reach**2)
        out = x.copy()
        out[:, first], out[:, second] = np.cos(turn) * a - np.sin(turn) * b, np.sin(turn) * a + np.cos(turn) * b
        return out

    return swirl


def draw_coupling(size: int, g: Generator) -> Columns:
    """One affine coupling layer (Dinh et al. 2017) with smooth bounded functions of few columns."""
    order = g.permutation(size)
    given, changed = order[: size // 2], order[size // 2 :]
    few = given[: min(len(given), 8)]
    shift = g.normal(size=(len(few), len(changed))) / np.sqrt(len(few))
    scale = g.normal(size=(len(few), len(changed))) / np.sqrt(len(few))
    size_shift, size_scale = g.uniform(0.3, 1.5), g.uniform(0.0, 0.7)

    def couple(x: Array) -> Array:
        out = x.copy()
        stretch = np.exp(size_scale * np.tanh(x[:, few] @ scale))
        out[:, changed] = x[:, changed] * stretch + size_shift * np.sin(x[:, few] @ shift)
        return out

    return couple


LINEAR_MAPS = ("rotation", "mixing")
BLOCK_MAPS = ("rotation", *LINEAR_MAPS, "swirl", "coupling", "rotation and swirl", "coupling twice")


def draw_block_map(size: int, names: Sequence[str], g: Generator) -> tuple[str, Columns]:
    """One of the invertible maps of standardised columns with these names (of BLOCK_MAPS), and its name."""
    kind = pick(g, names)
    if kind == "rotation":
        return kind, draw_rotation(size, g)
    if kind == "mixing":
        return kind, draw_mixing(size, g)
    if kind == "swirl":
        return kind, draw_swirl(size, g)
    first = draw_rotation(size, g) if "rotation" in kind else draw_coupling(size, g)
    second = draw_swirl(size, g) if "rotation" in kind else draw_coupling(size, g)
    return (kind, draw_coupling(size, g)) if kind == "coupling" else (kind, lambda x: second(first(x)))


MONOTONE = ("cubic", "asinh", "exponential", "tails", "uniform", "wiggly", "bent")


def draw_monotone(g: Generator, largest: float) -> tuple[str, Map]:
    """A random increasing map of a standardised column whose `largest` absolute value is about known; its name."""
    kind = "asinh" if largest > 12.0 else pick(g, MONOTONE)  # only compressing maps of heavy tails
    a, b = log_uniform(g, 0.3, 3.0), g.uniform(0.1, 0.95)
    maps: dict[str, Map] = {
        "cubic": lambda z: z**3 / 3 + b * z,
        "asinh": lambda z: np.arcsinh(a * z),
        "exponential": lambda z: np.exp(b * np.arcsinh(z) * 2),
        "tails": lambda z: np.sinh((1 + b) * np.arcsinh(z)),
        "uniform": lambda z: z / (1 + np.abs(z)) if largest > 5 else special.ndtr(z),
        "wiggly": lambda z: z + b / (2 * a) * np.sin(2 * a * z),
        "bent": lambda z: np.where(z > 0, a * z, z),
    }
    return kind, maps[kind]
