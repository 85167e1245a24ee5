"""Invertible maps of x or y (mixing, swirls, coupling layers, monotone maps).

They leave mutual information as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from infoscope.data.prior.draws import Array, Generator, Map, log_uniform, pick

Columns = Callable[[Array], Array]
# columns of a rotation by a random matrix; more are rotated by reflections
MAX_ROTATED = 96
REFLECTIONS = 4
MAX_INPUTS = 8  # columns that a coupling layer depends on
# standard deviations; columns with larger values are only compressed
MAX_EXPANDED = 12.0


def draw_rotation(size: int, g: Generator) -> Columns:
    """A random rotation of `size` columns."""
    if size <= MAX_ROTATED:
        matrix, _ = np.linalg.qr(g.normal(size=(size, size)))
        return lambda x: x @ matrix
    directions = g.normal(size=(REFLECTIONS, size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)

    def reflect(x):
        for direction in directions:
            x = x - 2 * np.outer(x @ direction, direction)
        return x

    return reflect


def draw_mixing(size: int, g: Generator) -> Columns:
    """An invertible linear map: the identity, shared factors, or a rotated spectrum."""
    kind = pick(g, ("none", "factors", "rotated"))
    if size == 1 or kind == "none":
        return lambda x: x
    if kind == "factors":
        factors = int(g.integers(1, 4))
        loadings = g.normal(size=(2, factors, size)) / np.sqrt(size)
        loadings *= log_uniform(g, 0.5, 3.0)
        weights, effects = loadings
        return lambda x: x + (x @ weights.T) @ effects
    decay = g.uniform(0.2, 2.0)
    scales = np.arange(1.0, size + 1) ** -decay
    rotation = draw_rotation(size, g)
    scales = scales[g.permutation(size)]
    return lambda x: rotation(x * scales)


def draw_swirl(size: int, g: Generator) -> Columns:
    """Rotations of pairs of columns by angles that fall with the radius of the pair."""
    order = g.permutation(size)
    pairs = size // 2
    first = order[:pairs]
    second = order[pairs : 2 * pairs]
    angle = g.uniform(0.5, 4.0)
    reach = log_uniform(g, 0.5, 3.0)

    def swirl(x):
        a = x[:, first]
        b = x[:, second]
        radius2 = a**2 + b**2
        turn = angle * np.exp(-radius2 / reach**2)
        cosine = np.cos(turn)
        sine = np.sin(turn)
        turned = x.copy()
        turned[:, first] = cosine * a - sine * b
        turned[:, second] = sine * a + cosine * b
        return turned

    return swirl


def draw_coupling(size: int, g: Generator) -> Columns:
    """One affine coupling layer of smooth functions (Dinh et al. 2017)."""
    order = g.permutation(size)
    half = size // 2
    inputs = order[:half][:MAX_INPUTS]
    changed = order[half:]
    shape = (2, len(inputs), len(changed))
    shift, stretch = g.normal(size=shape) / np.sqrt(len(inputs))
    shift_size = g.uniform(0.3, 1.5)
    stretch_size = g.uniform(0.0, 0.7)

    def couple(x):
        fixed = x[:, inputs]
        factor = np.exp(stretch_size * np.tanh(fixed @ stretch))
        moved = shift_size * np.sin(fixed @ shift)
        coupled = x.copy()
        coupled[:, changed] = x[:, changed] * factor + moved
        return coupled

    return couple


LINEAR_MAPS = ("rotation", "mixing")
BLOCK_MAPS = (
    "rotation",
    *LINEAR_MAPS,
    "swirl",
    "coupling",
    "rotation and swirl",
    "coupling twice",
)
LAYERS = {  # of the maps with these names
    "rotation": (draw_rotation,),
    "mixing": (draw_mixing,),
    "swirl": (draw_swirl,),
    "coupling": (draw_coupling, draw_coupling, draw_coupling),
    "rotation and swirl": (draw_rotation, draw_swirl),
    "coupling twice": (draw_coupling, draw_coupling),
}


def draw_block_map(
    size: int, names: tuple[str, ...], g: Generator
) -> tuple[str, Columns]:
    """Name and map of standardised columns: one of these names (of BLOCK_MAPS)."""
    kind = pick(g, names)
    layers = [draw_layer(size, g) for draw_layer in LAYERS[kind]]
    if kind == "coupling":
        # one layer; the first two keep the random numbers of VERSION
        layers = layers[2:]

    def block_map(x):
        for layer in layers:
            x = layer(x)
        return x

    return kind, block_map


MONOTONE = ("cubic", "asinh", "exponential", "tails", "uniform", "wiggly", "bent")


def draw_monotone(g: Generator, largest: float) -> tuple[str, Map]:
    """Name and function of a random increasing map of a standardised column.

    `largest` is about the largest absolute value of the column.
    """
    kind = "asinh"
    if largest <= MAX_EXPANDED:
        kind = pick(g, MONOTONE)
    a = log_uniform(g, 0.3, 3.0)
    b = g.uniform(0.1, 0.95)

    def monotone(z):
        match kind:
            case "cubic":
                return z**3 / 3 + b * z
            case "asinh":
                return np.arcsinh(a * z)
            case "exponential":
                return np.exp(b * np.arcsinh(z) * 2)
            case "tails":
                return np.sinh((1 + b) * np.arcsinh(z))
            case "uniform":
                if largest > 5:
                    return z / (1 + np.abs(z))
                return special.ndtr(z)
            case "wiggly":
                return z + b / (2 * a) * np.sin(2 * a * z)
            case _:
                return np.where(z > 0, a * z, z)

    return kind, monotone
