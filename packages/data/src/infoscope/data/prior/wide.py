"""Signals in 12 to 1,000 columns: a score or a label of components, and shared factors.

Columns are normal with covariances like those of embeddings, spectra and measurements
along a line. Where y depends on one normal score, the information is computed as for a
pair of numbers, by quadrature.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from infoscope.data.prior import linear, maps, scalar
from infoscope.data.prior.draws import (
    Array,
    Generator,
    log_uniform,
    log_uniform_int,
    pick,
)
from infoscope.data.prior.emissions import draw_emission, exact_labels, latent_part
from infoscope.data.prior.noise import Predictor
from infoscope.data.prior.parts import Part, Request

FAMILY = "wide_signal"
COLUMNS = (12, 1000)  # of one variable
FACTOR_COLUMNS = (12, 500)  # of each of two variables


def score_of_many(request: Request, g: Generator) -> Part:
    """y is a function of one direction of many columns plus noise, or a label of it."""
    predictor = draw_predictor(g)
    if request.y == "categories":
        classes = int(g.integers(2, 9))
        return scalar.label_part(FAMILY, request, g, predictor, classes)
    return scalar.noisy_part(FAMILY, request, g, predictor)


def draw_predictor(g: Generator) -> Predictor:
    """Many normal columns, and a score: a direction of their independent components."""
    columns = log_uniform_int(g, *COLUMNS)
    spectrum, scales = _draw_scales(columns, g)
    signal, direction = _draw_direction(columns, g)
    mixing, mix = _draw_mixing(columns, g)

    def sample(n, g):
        components = g.normal(size=(n, columns))
        score = components @ direction
        return mix(components * scales), score

    name = f"{signal} of {columns} {mixing} columns, {spectrum}"
    return Predictor(name, special.ndtri, sample, columns)


def _draw_scales(columns: int, g: Generator) -> tuple[str, Array]:
    """Standard deviations of the components, the largest first."""
    kind = pick(g, ("equal spectrum", "decaying spectrum", "few large components"))
    if kind == "decaying spectrum":
        decay = g.uniform(0.3, 1.5)
        return kind, np.arange(1.0, columns + 1) ** -decay
    scales = np.ones(columns)
    if kind == "few large components":
        largest = log_uniform(g, 2.0, 20.0)
        count = int(g.integers(1, 9))
        scales[:count] = largest
    return kind, scales


def _draw_direction(columns: int, g: Generator) -> tuple[str, Array]:
    """A unit vector of one to five large or random components, of small ones, or of all."""
    size = pick(g, ("large", "small", "few", "all"))
    kind = f"{size} components"
    count = int(g.integers(1, 6))
    direction = g.normal(size=columns)
    if size == "large":
        direction[count:] = 0
    elif size == "small":
        direction[: columns * 3 // 4] = 0
    elif size == "few":
        direction[g.permutation(columns)[count:]] = 0
    return kind, direction / np.linalg.norm(direction)


def _draw_mixing(columns: int, g: Generator) -> tuple[str, maps.Columns]:
    """An invertible map of components: the identity, a rotation, or a running sum."""
    kind = pick(g, ("separate", "rotated", "neighbouring"))
    if kind == "separate":
        return kind, lambda z: z
    if kind == "rotated":
        return kind, maps.draw_rotation(columns, g)
    memory = g.uniform(0.5, 0.97)
    return kind, lambda z: _along_line(z, memory)


def _along_line(values: Array, memory: float) -> Array:
    """Columns [n, p] each of which has a share of the one before it."""
    line = values.copy()
    for column in range(1, values.shape[1]):
        line[:, column] += memory * line[:, column - 1]
    return line


def classes_of_many(request: Request, g: Generator) -> Part:
    """A class label that moves the means of a few of many columns, or of all of them."""
    columns = log_uniform_int(g, *COLUMNS)
    classes = int(g.integers(2, 9))
    centres = g.normal(size=(classes, columns))
    if g.random() < 0.6:
        order = g.permutation(columns)
        informative = int(g.integers(1, 11))
        centres[:, order[informative:]] = 0
    concentration = log_uniform(g, 0.8, 20.0)
    weights = np.full(classes, concentration)
    prior = g.dirichlet(weights) + 0.01
    x = draw_emission(g, "numbers", centres, request.nats, False)
    table = np.diag(prior / prior.sum())
    return latent_part(FAMILY, "classes", table, x, exact_labels(classes))


def factors_of_many(request: Request, g: Generator) -> Part:
    """Two noisy linear images of the same few factors, each in many columns."""
    p = log_uniform_int(g, *FACTOR_COLUMNS)
    q = log_uniform_int(g, *FACTOR_COLUMNS)
    return linear.factors_part(FAMILY, p, q, request.nats, g)
