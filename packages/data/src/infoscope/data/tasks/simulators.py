"""Data with a known tree, graph or order, for structure learning (Xu et al. 2020)."""

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
NOISE = 0.3  # of a gene
SPEED = 3.0  # of a moving digit, pixels per frame


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
    """A star: X_0 ~ Beta(1/2, 1/2), X_j ~ N(X_0, (0.1 j)^2) for j = 1..m-1.

    Xu et al. 2020, section 6.1.
    """
    hub = generator.beta(0.5, 0.5, (n, 1))
    noise = 0.1 * generator.normal(size=(n, m - 1))
    leaves = hub + noise * np.arange(1, m)
    return Simulated(np.hstack([hub, leaves]), star(m))


def discrete_star(n: int, m: int, states: int, generator: Generator) -> Simulated:
    """A star of integers [n, m]: X_0 uniform over `states`, X_j by a random table.

    The rows of a table are uniform over the simplex.
    """
    require_int("states", states, 2)
    hub = generator.integers(states, size=n)
    columns = [hub]
    for _ in range(m - 1):
        table = generator.dirichlet(np.ones(states), states)
        columns.append(draw_classes(table[hub], generator))
    return Simulated(np.column_stack(columns), star(m))


def discretised_logistic(
    n: int, m: int, states: int, scale: float, generator: Generator
) -> Simulated:
    """A star of integers [n, m]: X_0 uniform over `states`, X_j rounded logistic.

    The logistic has mean (X_0 + j) mod states; it is rounded to 0..states-1.
    """
    require_number("scale", scale, ends=False)
    require_int("states", states, 2)
    hub = generator.integers(states, size=n)
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
    u = generator.random((len(shares), 1))
    above = u > levels
    return above.sum(axis=1)


def random_graph(m: int, parents: int, generator: Generator) -> Array:
    """A random acyclic graph, bool [m, m] ([i, j]: i acts on j).

    The nodes have a random order; up to `parents` earlier nodes act on each.
    """
    require_int("m", m, 2)
    require_int("parents", parents)
    order = generator.permutation(m)
    adjacency = np.zeros((m, m), dtype=bool)
    for place in range(1, m):
        most = min(parents, place)
        count = generator.integers(1, most + 1)
        regulators = generator.choice(order[:place], count, replace=False)
        adjacency[regulators, order[place]] = True
    return adjacency


def gene_network(
    n: int, generator: Generator, adjacency: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Expression of genes, float64 [n, m], and their acyclic graph, bool [m, m].

    Genes activate or repress one another. Without `adjacency`, 20 genes have one or two
    regulators each (cf. HPN-DREAM; Xu et al. 2020, section 6.2). A gene is the mean of
    Hill functions u^2 / (1 + u^2), or 1 minus them, at u = exp(expression),
    standardised, plus normal noise of NOISE standard deviations.
    """
    if adjacency is None:
        adjacency = random_graph(20, 2, generator)
    graph = np.asarray(adjacency) != 0
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
                effects = np.where(activates, response, 1.0 - response)
                level = effects.mean(axis=1)
                level = (level - level.mean()) / level.std()
                expression[:, gene] *= NOISE
                expression[:, gene] += level
        waiting = [gene for gene in waiting if gene not in ready]
    return expression, graph


def moving_digits(
    images: ArrayLike,
    sequences: int,
    frames: int,
    generator: Generator,
    size: int = 64,
    digits: int = 2,
) -> Array:
    """Videos of images that bounce off the edges: Moving-MNIST (Srivastava et al. 2015).

    images are [k, h, w] in [0, 1]; a video has `digits` of them. The videos are float32
    [sequences, frames, size, size] in [0, 1].
    """
    images = np.asarray(images, dtype=np.float32)
    if images.ndim != 3 or max(images.shape[1:]) > size:
        raise WrongShape(
            f"images must be [k, h, w] of at most {size} pixels a side, got shape "
            f"{list(images.shape)}."
        )
    room = size - np.array(images.shape[1:])
    videos = np.zeros((sequences, frames, size, size), dtype=np.float32)
    for video in videos:
        for _ in range(digits):
            image = images[generator.integers(len(images))]
            angle = generator.uniform(0.0, 2.0 * math.pi)
            direction = [math.sin(angle), math.cos(angle)]
            start = generator.uniform(0.0, room)
            steps = np.outer(np.arange(frames), direction)
            path = start + SPEED * steps
            # Bouncing is a straight walk through mirrored copies of the room. Without
            # room nothing moves.
            period = 2 * np.maximum(room, 1)
            distance = np.abs(path % period - room)
            bounced = np.round(room - distance)
            places = np.where(room > 0, bounced, 0).astype(int)
            height, width = image.shape
            for frame, (top, left) in zip(video, places):
                window = frame[top : top + height, left : left + width]
                np.maximum(window, image, out=window)
    return videos
