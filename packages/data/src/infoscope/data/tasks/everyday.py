"""Twelve distributions like everyday data, of known information; used in development."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from infoscope.data.information import table_information
from infoscope.data.tasks import resampled
from infoscope.data.tasks.cases import (
    NOISE,
    Case,
    coupled,
    entropy_of,
    normals,
    response,
    with_truth,
)


# --- numbers -------------------------------------------------------------------------------------------------------
def zero_inflated_poisson() -> Case:
    """x exponential; y zero, or Poisson of mean x (Gao et al. 2017); quadrature."""
    zeros = 0.15

    def count(x, g):
        is_zero = g.random(len(x)) < zeros
        return np.where(is_zero, 0, g.poisson(x))

    def truth():
        nodes, weights = np.polynomial.legendre.leggauss(400)
        x = 20 * (nodes + 1)
        of_x = 20 * weights * np.exp(-x)
        of_counts = stats.poisson.pmf(np.arange(80), x[:, None])
        of_y_given_x = (1 - zeros) * of_counts
        of_y_given_x[:, 0] += zeros
        joint = of_x[:, None] * of_y_given_x
        of_y = np.maximum(joint.sum(axis=0), 1e-300)
        ratio = np.maximum(of_y_given_x, 1e-300) / of_y
        return (joint * np.log(ratio)).sum()

    def draw(n, g):
        return g.exponential(size=n)

    return response(draw, count, truth, "counts")


def without_mean(v: NDArray) -> NDArray:
    """An increasing map of normal values to values without a mean."""
    return np.sign(v) * np.expm1(v**2)


def rounded_gaussian() -> Case:
    """Two correlated normals, rounded to a grid (in standard deviations)."""
    nats = 0.5
    grid = 0.5
    correlation = np.sqrt(1 - np.exp(-2 * nats))
    noise = np.exp(-nats)

    def sample(n, g):
        x = g.normal(size=n)
        y = correlation * x + noise * g.normal(size=n)
        steps_x = np.round(x / grid)
        steps_y = np.round(y / grid)
        return steps_x * grid, steps_y * grid

    def truth():
        cells = np.arange(-16, 17) * grid
        nodes, weights = np.polynomial.legendre.leggauss(20)
        x = cells[:, None] + nodes * grid / 2
        density = stats.norm.pdf(x) * weights * grid / 2
        edges = np.append(cells - grid / 2, cells[-1] + grid / 2)
        mean = correlation * x[..., None]
        below = stats.norm.cdf((edges - mean) / noise)
        of_y_given_x = np.diff(below, axis=-1)
        joint = density[..., None] * of_y_given_x
        return table_information(joint.sum(axis=1))

    return with_truth(sample, truth)


def patients() -> Case:
    """Two correlated normal columns; a share of each variance is between patients."""
    rows = 10  # per patient
    shared = 0.6
    correlation = 0.7
    root = np.linalg.cholesky([[1, correlation], [correlation, 1]])

    def sample(n, g):
        patient = np.arange(n) // rows
        effects = g.normal(size=(patient[-1] + 1, 2))
        between = math.sqrt(shared) * effects[patient] @ root.T
        within = math.sqrt(1 - shared) * g.normal(size=(n, 2)) @ root.T
        x, y = (between + within).T
        return x, y, patient

    nats = -0.5 * math.log1p(-(correlation**2))
    return with_truth(sample, nats, grouped=True)


def mixed_columns() -> Case:
    """x is a category and a number, y the sum of their effects plus noise."""
    means = np.array([-2.0, 0.0, 1.5])
    slope = 0.8
    noise = 0.7

    def sample(n, g):
        kind = g.integers(0, len(means), n)
        size = g.normal(size=n)
        signal = means[kind] + slope * size
        y = signal + noise * g.normal(size=n)
        return {"kind": np.array(list("abc"))[kind], "size": size}, y

    spread = math.hypot(slope, noise)
    margin = 9 * spread
    low = means.min() - margin
    high = means.max() + margin
    points = np.linspace(low, high, 20_001)
    densities = stats.norm.pdf(points[:, None], means, spread)
    entropy = entropy_of(points, densities.mean(axis=1))
    return with_truth(sample, entropy - NOISE - math.log(noise))


# --- labels and categories -----------------------------------------------------------------------------------------
def uniform_beside_label() -> Case:
    """x uniform on [y, y + 2], y one of m labels (Gao et al. 2017).

    I = log m - (m - 1) / m log 2.
    """
    classes = 5

    def sample(n, g):
        y = g.integers(0, classes, n)
        return y + 2 * g.random(n), y

    overlap = (classes - 1) / classes
    nats = np.log(classes) - overlap * np.log(2)
    return with_truth(sample, nats, "labels")


def label_of_one_of(dim: int) -> Case:
    """A balanced label moves one of `dim` normal columns."""
    apart = 1.5

    def sample(n, g):
        y = g.integers(0, 2, n)
        x = g.normal(size=(n, dim))
        x[:, 0] += apart * y
        return x, y

    def truth():
        points = np.linspace(-9, 9 + apart, 20_001)
        of_0 = stats.norm.pdf(points)
        of_1 = stats.norm.pdf(points - apart)
        density = (of_0 + of_1) / 2
        return entropy_of(points, density) - NOISE

    return with_truth(sample, truth, "labels")


def parity_of_signs(columns: int, signs: int = 2, wrong: float = 0.1) -> Case:
    """y is the sign of a product of normal columns; `wrong` is the share of errors.

    Without one of the factors, the columns have no information.
    """
    entropy = -wrong * math.log(wrong) - (1 - wrong) * math.log1p(-wrong)
    nats = math.log(2) - entropy

    def label(x, g):
        positive = x[:, :signs].prod(axis=1) > 0
        flipped = g.random(len(x)) < wrong
        return (positive ^ flipped).astype(int)

    return response(normals(columns), label, nats, "labels")


def sparse_table() -> Case:
    """Two categories of uneven shares; y is a relabelled copy of x, or independent.

    Of the 1,600 cells of the table, most have one row or none.
    """
    levels = 40
    copied = 0.5
    shares = 1 / np.arange(1, levels + 1)
    shares /= shares.sum()
    moved = np.random.default_rng(40).permutation(levels)

    def sample(n, g):
        x = g.choice(levels, n, p=shares)
        is_copied = g.random(n) < copied
        independent = g.choice(levels, n, p=shares)
        y = np.where(is_copied, x, independent)
        return x.astype(str), moved[y].astype(str)

    joint = (1 - copied) * np.outer(shares, shares)
    joint += copied * np.diag(shares)
    return with_truth(sample, table_information(joint), "categories")


# read from INFOSCOPE_DATA
POOLS: Mapping[str, str] = {
    "images-by-label": "mnist-0-1",
    "texts-by-label": "imdb-bert",
}
EVERYDAY: Mapping[str, Case] = {
    "images-by-label": resampled.case("mnist-0-1", bits=0.5),
    "texts-by-label": resampled.case("imdb-bert", bits=0.5),
    "zero-inflated-poisson": zero_inflated_poisson(),
    "uniform-beside-label": uniform_beside_label(),
    "mixed-columns": mixed_columns(),
    "three-pairs-of-30": coupled(30, 0.7, 3),
    "label-of-one-of-40": label_of_one_of(40),
    "monstrous-tails-3": coupled(3, 0.7, 3, without_mean, without_mean),
    "parity-of-signs": parity_of_signs(10),
    "rounded-gaussian": rounded_gaussian(),
    "sparse-table": sparse_table(),
    "patients": patients(),
}
