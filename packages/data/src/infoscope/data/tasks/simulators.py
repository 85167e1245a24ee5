"""Data with a known tree, graph or order (Xu et al. 2020, section 6), for structure
learning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from infoscope.checks import require_int, require_number
from infoscope.data.tasks.cases import Generator
from infoscope.errors import InvalidInput, WrongShape

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Simulated:
    """Variables [n, m] of a known tree: parents [m], -1 for the root."""

    variables: Array
    parents: Array


def star(m: int) -> Array:
    """The parents of the tree in which node 0 is the parent of all others."""
    parents = np.zeros(require_int("m", m, 2), dtype=int)
    parents[0] = -1
    return parents


def gaussian_hub(n: int, m: int, generator: Generator) -> Simulated:
    """Xu et al. 2020, section 6.1: X_0 ~ Beta(1/2, 1/2), X_j ~ N(X_0, (0.1 j)^2) for j
    = 1..m-1.
    """
    hub = generator.beta(0.5, 0.5, (n, 1))
    noise = generator.normal(size=(n, m - 1))
    noise = noise * 0.1 * np.arange(1, m)
    return Simulated(np.hstack([hub, hub + noise]), star(m))


def discrete_star(n: int, m: int, states: int, generator: Generator) -> Simulated:
    """X_0 uniform over `states`; X_j given X_0 by a table whose rows are uniform over
    the simplex; integers [n, m].
    """
    hub = generator.integers(require_int("states", states, 2), size=n)
    columns = [hub]
    for _ in range(m - 1):
        table = generator.dirichlet(np.ones(states), states)
        columns.append(draw_classes(table[hub], generator))
    return Simulated(np.column_stack(columns), star(m))


def discretised_logistic(
    n: int, m: int, states: int, scale: float, generator: Generator
) -> Simulated:
    """X_0 uniform over `states`; X_j logistic of mean (X_0 + j) mod states, rounded to
    0..states-1; integers [n, m].
    """
    require_number("scale", scale, ends=False)
    hub = generator.integers(require_int("states", states, 2), size=n)
    edges = np.arange(states - 1) + 0.5
    columns = [hub]
    for j in range(1, m):
        mean = (hub + j) % states
        below = expit((edges - mean[:, None]) / scale)
        shares = np.diff(below, axis=1, prepend=0.0, append=1.0)
        columns.append(draw_classes(shares, generator))
    return Simulated(np.column_stack(columns), star(m))


def draw_classes(shares: Array, generator: Generator) -> Array:
    """One class from every distribution [n, classes], int64 [n]."""
    levels = shares[:, :-1].cumsum(axis=1)
    above = generator.random((len(shares), 1)) > levels
    return above.sum(axis=1)


def random_graph(m: int, parents: int, generator: Generator) -> Array:
    """A random acyclic graph, bool [m, m] ([i, j]: i acts on j): up to `parents`
    earlier nodes in a random order.
    """
    order = generator.permutation(require_int("m", m, 2))
    most = require_int("parents", parents, 1)
    adjacency = np.zeros((m, m), dtype=bool)
    for place in range(1, m):
        count = generator.integers(1, min(most, place) + 1)
        regulators = generator.choice(order[:place], count, replace=False)
        adjacency[regulators, order[place]] = True
    return adjacency


def gene_network(
    n: int, generator: Generator, adjacency: ArrayLike | None = None, noise: float = 0.3
) -> tuple[Array, Array]:
    """Expression of genes that activate or repress one another, float64 [n, m], and the
    acyclic graph, bool [m, m].

    adjacency None: 20 genes (cf. HPN-DREAM; Xu et al. 2020, section 6.2) with one or
    two regulators. A gene is the mean of Hill functions u^2 / (1 + u^2), or 1 minus
    them, at u = exp(expression), standardised, plus noise.
    """
    graph = (
        random_graph(20, 2, generator)
        if adjacency is None
        else np.asarray(adjacency) != 0
    )
    if graph.ndim != 2 or len(graph) != graph.shape[1]:
        raise WrongShape(
            f"adjacency must be a square matrix, got shape {list(graph.shape)}."
        )
    expression = generator.normal(size=(n, len(graph)))
    waiting = list(range(len(graph)))
    while waiting:
        ready = [gene for gene in waiting if not graph[waiting, gene].any()]
        if not ready:
            raise InvalidInput(
                f"adjacency must be acyclic, but genes {waiting} regulate one another."
            )
        for gene in ready:
            regulators = np.flatnonzero(graph[:, gene])
            if len(regulators):
                # the Hill function of exp, with exponent 2
                response = expit(2.0 * expression[:, regulators])
                activates = generator.random(len(regulators)) < 0.5
                level = np.where(activates, response, 1.0 - response).mean(axis=1)
                standardised = (level - level.mean()) / level.std()
                expression[:, gene] = standardised + noise * expression[:, gene]
        waiting = [gene for gene in waiting if gene not in ready]
    return expression, graph


def moving_digits(
    images: ArrayLike,
    sequences: int,
    frames: int,
    generator: Generator,
    size: int = 64,
    digits: int = 2,
    speed: float = 3.0,
) -> Array:
    """Videos of images that bounce off the edges, float32 [sequences, frames, size,
    size] in [0, 1].

    images [k, h, w] in [0, 1] (Moving-MNIST, Srivastava et al. 2015); speed in pixels
    per frame.
    """
    images = np.asarray(images, dtype=np.float32)
    if images.ndim != 3 or max(images.shape[1:]) > size:
        raise WrongShape(
            f"images must be [k, h, w] of at most {size} pixels a side, got shape {list(images.shape)}."
        )
    room = size - np.array(images.shape[1:])
    videos = np.zeros((sequences, frames, size, size), dtype=np.float32)
    for video in videos:
        for _ in range(digits):
            image = images[generator.integers(len(images))]
            angle = generator.uniform(0.0, 2.0 * math.pi)
            direction = [math.sin(angle), math.cos(angle)]
            start = generator.uniform(0.0, room)
            path = start + speed * np.outer(np.arange(frames), direction)
            # Bouncing is a straight walk through mirrored copies of the room; without
            # room nothing moves.
            folded = path % (2 * np.maximum(room, 1))
            bounced = np.round(room - np.abs(folded - room))
            places = np.where(room > 0, bounced, 0).astype(int)
            height, width = image.shape
            for frame, (top, left) in zip(video, places):
                window = frame[top : top + height, left : left + width]
                np.maximum(window, image, out=window)
    return videos
