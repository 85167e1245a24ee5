"""Sixteen distributions of the kinds on which the first reading was wrong or wide; held out from every reader.

Columns that are computed from columns, on both sides; two angles; weak tables; and signals in many columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import special

from infoscope.data.information import bisected, table_information
from infoscope.data.tasks.cases import DRAWS, Case, Generator, Pair, entropy_of, mean_of_draws, with_truth

Map = Callable[[NDArray], NDArray]
WEAK_ROWS = 1000  # rows for which a weak table has its stated 2 n I


# --- columns computed from columns -----------------------------------------------------------------------------------
def derived(correlation: float, columns: int, of_x: Map, of_y: Map) -> Case:
    """Functions of normal x and y [n, columns], correlated one to one, that keep all information about them."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, columns))
        noise = g.normal(size=(n, columns))
        y = correlation * x + math.sqrt(1 - correlation**2) * noise
        return of_x(x), of_y(y)

    return with_truth(sample, -0.5 * columns * math.log1p(-(correlation**2)))


def with_squares(v: NDArray) -> NDArray:
    """Columns and their squares."""
    return np.hstack([v, v**2])


def saturated(v: NDArray) -> NDArray:
    """A saturated sensor, and the square and exponential of the same columns."""
    return np.hstack([np.tanh(v), v**2, np.exp(v)])


def shares(v: NDArray) -> NDArray:
    """Shares of a whole: one more than columns, with sum 1."""
    return special.softmax(np.hstack([v, np.zeros((len(v), 1))]), axis=1)


def with_total(v: NDArray) -> NDArray:
    """Positive amounts and their sum."""
    amounts = np.exp(v)
    return np.hstack([amounts, amounts.sum(axis=1, keepdims=True)])


def angles(degrees: float) -> Case:
    """A uniform angle, and the same angle with normal noise of some degrees; each as cosine and sine."""
    noise = math.radians(degrees)

    def sample(n: int, g: Generator) -> Pair:
        x = g.uniform(0, 2 * np.pi, n)
        y = x + noise * g.normal(size=n)
        return np.column_stack([np.cos(x), np.sin(x)]), np.column_stack([np.cos(y), np.sin(y)])

    def truth() -> float:
        points = np.linspace(-np.pi, np.pi, 20_001)
        turns = 2 * np.pi * np.arange(-6, 7)
        density = np.exp(-(((points[:, None] + turns) / noise) ** 2) / 2).sum(axis=1)
        density /= noise * math.sqrt(2 * np.pi)
        return math.log(2 * np.pi) - entropy_of(points, density)

    return with_truth(sample, truth)


# --- weak tables -----------------------------------------------------------------------------------------------------
def weak_table(strength: float) -> Case:
    """Two labels of two values with information strength / (2 WEAK_ROWS): the excess of the test's statistic."""
    independent = np.outer([0.3, 0.7], [0.4, 0.6])
    apart = np.array([[1, -1], [-1, 1]])

    def too_weak(shift: float) -> bool:
        return table_information(independent + shift * apart) < strength / (2 * WEAK_ROWS)

    shift = float(bisected(too_weak, 0.0, 0.1, 60)[0])
    joint = independent + shift * apart

    def sample(n: int, g: Generator) -> Pair:
        cell = g.choice(4, n, p=joint.ravel())
        return (cell // 2).astype(str), (cell % 2).astype(str)

    return with_truth(sample, table_information(joint), "categories")


# --- signals in many columns -----------------------------------------------------------------------------------------
def embeddings(columns_x: int, columns_y: int, factors: int, seed: int) -> Case:
    """Normal x and y: random mixtures of some common factors, and noise of variance 1 in every column."""
    g = np.random.default_rng(seed)
    loadings = g.normal(size=(columns_x + columns_y, factors)) * math.sqrt(2 / factors)
    covariance = loadings @ loadings.T + np.eye(columns_x + columns_y)

    def sample(n: int, g: Generator) -> Pair:
        values = g.normal(size=(n, factors)) @ loadings.T + g.normal(size=(n, columns_x + columns_y))
        return values[:, :columns_x], values[:, columns_x:]

    def truth() -> float:
        parts = covariance[:columns_x, :columns_x], covariance[columns_x:, columns_x:]
        log_x, log_y, log_both = (np.linalg.slogdet(part)[1] for part in (*parts, covariance))
        return (log_x + log_y - log_both) / 2

    return with_truth(sample, truth)


def score(columns: int, explained: float, seed: int) -> Case:
    """y is a weighted sum of normal columns, and noise; the sum explains a share of its variance."""
    weights = np.random.default_rng(seed).normal(size=columns)
    weights *= math.sqrt(explained / (weights**2).sum())

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, columns))
        return x, x @ weights + math.sqrt(1 - explained) * g.normal(size=n)

    return with_truth(sample, -0.5 * math.log1p(-explained))


def labelled(columns: int, classes: int, apart: float, seed: int) -> Case:
    """A balanced label, and normal columns about the centre of its class; centres are about `apart` from their mean."""
    centres = np.random.default_rng(seed).normal(size=(classes, columns)) * apart / math.sqrt(columns)

    def sample(n: int, g: Generator) -> Pair:
        label = g.integers(0, classes, n)
        return centres[label] + g.normal(size=(n, columns)), label

    def truth() -> tuple[float, float]:
        x, label = sample(DRAWS // 4, np.random.default_rng(0))
        log_densities = x @ centres.T - (centres**2).sum(axis=1) / 2
        log_chances = special.log_softmax(log_densities, axis=1)
        return mean_of_draws(math.log(classes) + log_chances[np.arange(len(x)), label])

    return with_truth(sample, truth, "labels")


DIFFICULT: Mapping[str, Case] = {
    "value-and-square": derived(0.9, 1, with_squares, with_squares),
    "saturated-sensor": derived(0.8, 1, saturated, with_squares),
    "two-compositions": derived(0.7, 2, shares, shares),
    "totals-beside-parts": derived(0.8, 2, with_total, with_total),
    **{f"two-angles-{degrees}": angles(degrees) for degrees in (5, 10, 20, 30)},
    **{f"weak-table-{strength}": weak_table(strength) for strength in (1, 3, 8, 20)},
    "embeddings-32-32": embeddings(32, 32, 3, seed=5),
    "embeddings-128-16": embeddings(128, 16, 2, seed=6),
    "score-of-64": score(64, 0.8, seed=3),
    "label-of-50-columns": labelled(50, 5, 3.0, seed=4),
}
