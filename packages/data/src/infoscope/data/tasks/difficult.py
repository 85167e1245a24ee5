"""Sixteen distributions like those on which the first reading was wrong or wide.

Every reader was made without them: columns computed from columns, in x and in y; two
angles; weak tables; signals in many columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import special

from infoscope.data.information import bisected, normal_information, table_information
from infoscope.data.tasks.cases import (
    DRAWS,
    Case,
    coupled,
    entropy_of,
    mean_of_draws,
    normals,
    plus_noise,
    response,
    split_columns,
    with_truth,
)  # fmt: skip

WEAK_ROWS = 1000  # rows for which a weak table has its stated 2 n I


# --- columns computed from columns -----------------------------------------------------------------------------------
def with_squares(v: NDArray) -> NDArray:
    """Columns and their squares."""
    squares = v**2
    return np.hstack([v, squares])


def saturated(v: NDArray) -> NDArray:
    """A saturated sensor, and the square and exponential of the same columns."""
    sensor = np.tanh(v)
    return np.hstack([sensor, v**2, np.exp(v)])


def shares(v: NDArray) -> NDArray:
    """Shares of a whole, of sum 1: one share more than columns."""
    scores = np.pad(v, ((0, 0), (0, 1)))
    return special.softmax(scores, axis=1)


def with_total(v: NDArray) -> NDArray:
    """Positive amounts and their sum."""
    amounts = np.exp(v)
    total = amounts.sum(axis=1, keepdims=True)
    return np.hstack([amounts, total])


def on_circle(angle: NDArray) -> NDArray:
    """The cosine and the sine of an angle."""
    return np.column_stack([np.cos(angle), np.sin(angle)])


def angles(degrees: float) -> Case:
    """A uniform angle and the angle plus normal noise, each as cosine and sine."""
    noise = math.radians(degrees)

    def sample(n, g):
        x = g.uniform(0, 2 * np.pi, n)
        deviation = noise * g.normal(size=n)
        return on_circle(x), on_circle(x + deviation)

    def truth():
        points = np.linspace(-np.pi, np.pi, 20_001)
        turns = 2 * np.pi * np.arange(-6, 7)
        deviations = (points[:, None] + turns) / noise
        density = np.exp(-(deviations**2) / 2).sum(axis=1)
        density /= noise * math.sqrt(2 * np.pi)
        return math.log(2 * np.pi) - entropy_of(points, density)

    return with_truth(sample, truth)


# --- weak tables -----------------------------------------------------------------------------------------------------
def weak_table(strength: float) -> Case:
    """Two labels of two values that have information strength / (2 WEAK_ROWS), nats.

    At WEAK_ROWS rows, `strength` is the excess of the statistic of the G-test.
    """
    independent = np.outer([0.3, 0.7], [0.4, 0.6])
    excess = np.array([[1, -1], [-1, 1]])
    nats = strength / (2 * WEAK_ROWS)

    def below(shift):
        return table_information(independent + shift * excess) < nats

    shift, _ = bisected(below, 0.0, 0.1, 60)
    joint = independent + shift * excess

    def sample(n, g):
        cell = g.choice(4, n, p=joint.ravel())
        x, y = np.divmod(cell, 2)
        return x.astype(str), y.astype(str)

    return with_truth(sample, table_information(joint), "categories")


# --- signals in many columns -----------------------------------------------------------------------------------------
def embeddings(columns_x: int, columns_y: int, factors: int, seed: int) -> Case:
    """Normal x and y: mixtures of common factors, with unit noise in every column."""
    columns = columns_x + columns_y
    g = np.random.default_rng(seed)
    directions = g.normal(size=(columns, factors))
    loadings = directions * math.sqrt(2 / factors)

    def draw(n, g):
        signal = g.normal(size=(n, factors)) @ loadings.T
        return signal + g.normal(size=(n, columns))

    def truth():
        covariance = loadings @ loadings.T + np.eye(columns)
        return normal_information(covariance, columns_x)

    return split_columns(draw, columns_x, truth)


def score(columns: int, explained: float, seed: int) -> Case:
    """y is a weighted sum, which explains a share of its variance, plus noise."""
    g = np.random.default_rng(seed)
    weights = g.normal(size=columns)
    squares = weights**2
    weights *= math.sqrt(explained / squares.sum())
    noise = math.sqrt(1 - explained)
    respond = plus_noise(lambda x: x @ weights, noise)
    nats = -0.5 * math.log1p(-explained)
    return response(normals(columns), respond, nats)


def labelled(columns: int, classes: int, apart: float, seed: int) -> Case:
    """A balanced label, and normal columns about the centre of its class.

    The distance of a centre from the mean of all centres is about `apart`.
    """
    g = np.random.default_rng(seed)
    directions = g.normal(size=(classes, columns))
    centres = directions * apart / math.sqrt(columns)

    def sample(n, g):
        label = g.integers(0, classes, n)
        noise = g.normal(size=(n, columns))
        return centres[label] + noise, label

    def truth():
        g = np.random.default_rng(0)
        x, label = sample(DRAWS // 4, g)
        squares = (centres**2).sum(axis=1)
        log_densities = x @ centres.T - squares / 2
        log_shares = special.log_softmax(log_densities, axis=1)
        log_share = log_shares[np.arange(len(x)), label]
        return mean_of_draws(math.log(classes) + log_share)

    return with_truth(sample, truth, "labels")


DIFFICULT: Mapping[str, Case] = {
    "value-and-square": coupled(1, 0.9, 1, with_squares, with_squares),
    "saturated-sensor": coupled(1, 0.8, 1, saturated, with_squares),
    "two-compositions": coupled(2, 0.7, 2, shares, shares),
    "totals-beside-parts": coupled(2, 0.8, 2, with_total, with_total),
    "two-angles-5": angles(5),
    "two-angles-10": angles(10),
    "two-angles-20": angles(20),
    "two-angles-30": angles(30),
    "weak-table-1": weak_table(1),
    "weak-table-3": weak_table(3),
    "weak-table-8": weak_table(8),
    "weak-table-20": weak_table(20),
    "embeddings-32-32": embeddings(32, 32, 3, seed=5),
    "embeddings-128-16": embeddings(128, 16, 2, seed=6),
    "score-of-64": score(64, 0.8, seed=3),
    "label-of-50-columns": labelled(50, 5, 3.0, seed=4),
}
