"""Distributions of known mutual information whose y is a label or a category, and co-information of bits."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from infoscope.data.information import table_information
from infoscope.data.tasks.cases import (
    DRAWS,
    NOISE,
    Case,
    Generator,
    Pair,
    entropy_of,
    known,
    mean_of_draws,
    middles,
    normals,
    response,
)  # fmt: skip
from infoscope.data.tasks.noisy import WEIGHTS, X

CLASSES = 10
SPREADS = {2: 1.5, 12: 0.5, 24: 0.4}  # of the class centres, by dimension: 0.7 to 1.4 nats, far from 0 and from log 10
ROWS_AT_ONCE = 20_000  # of Monte Carlo truths


# --- labels and numbers --------------------------------------------------------------------------------------------
@functools.cache
def centres(dim: int, domains: int = 1) -> NDArray:
    """The centre of every class in every domain [domains, CLASSES, dim]; the domains shift and mix them."""
    g = np.random.default_rng([dim, domains])
    return (g.normal(size=(1, CLASSES, dim)) + g.normal(size=(domains, CLASSES, dim)) * (domains > 1)) * SPREADS[dim]


def mixture(dim: int, domains: int = 1) -> Case:
    """Ten normal classes, I(x; y); with domains that move them, I(x; y | d). Mean of log p(x | y, d) / p(x | d)."""

    def draw(n: int, g: Generator) -> tuple[NDArray, ...]:
        y, d = g.integers(0, CLASSES, n), g.integers(0, domains, n)
        return centres(dim, domains)[d, y] + g.normal(size=(n, dim)), y, d

    def truth() -> tuple[float, float]:
        g, values = np.random.default_rng(1), []
        for _ in range(DRAWS // ROWS_AT_ONCE):
            x, y, d = draw(ROWS_AT_ONCE, g)
            logs = np.empty((ROWS_AT_ONCE, CLASSES))
            for domain in range(domains):
                of = centres(dim, domains)[domain]
                logs[d == domain] = x[d == domain] @ of.T - 0.5 * (of**2).sum(axis=1)
            values.append(logs[np.arange(ROWS_AT_ONCE), y] - np.logaddexp.reduce(logs, axis=1) + np.log(CLASSES))
        return mean_of_draws(np.concatenate(values))

    variables = 2 if domains == 1 else 3
    return known(lambda n, g: draw(n, g)[:variables], truth, "labels", "mi" if domains == 1 else "cmi")


def uniform_beside_label(classes: int = 5) -> Case:
    """x uniform on [y, y + 2] for a label y: log m - (m - 1) / m log 2 (Gao et al. 2017)."""

    def sample(n: int, g: Generator) -> Pair:
        y = g.integers(0, classes, n)
        return y + 2 * g.random(n), y

    return known(sample, np.log(classes) - (classes - 1) / classes * np.log(2), "labels")


def parity_of_signs(columns: int, signs: int = 2, wrong: float = 0.1) -> Case:
    """y is the sign of a product of normal columns, sometimes wrong; fewer columns have no information."""
    entropy = -wrong * math.log(wrong) - (1 - wrong) * math.log1p(-wrong)
    return response(
        normals(columns),
        lambda x, g: ((x[:, :signs].prod(axis=1) > 0) ^ (g.random(len(x)) < wrong)).astype(int),
        math.log(2) - entropy,
        "labels",
    )


def label_of_one_of(dim: int, apart: float = 1.5) -> Case:
    """A balanced label moves one of `dim` normal columns."""

    def sample(n: int, g: Generator) -> Pair:
        y, x = g.integers(0, 2, n), g.normal(size=(n, dim))
        x[:, 0] += apart * y
        return x, y

    def truth() -> float:
        points = np.linspace(-9, 9 + apart, 20_001)
        return entropy_of(points, (stats.norm.pdf(points) + stats.norm.pdf(points - apart)) / 2) - NOISE

    return known(sample, truth, "labels")


def five_classes(dim: int = 8, apart: float = 0.9) -> Case:
    """Five classes of unequal shares, normal in eight columns; Monte Carlo."""
    shares = np.array([0.35, 0.25, 0.2, 0.12, 0.08])
    of_class = apart * np.random.default_rng(5).normal(size=(5, dim))

    def sample(n: int, g: Generator) -> Pair:
        y = g.choice(5, n, p=shares)
        return of_class[y] + g.normal(size=(n, dim)), y

    def truth() -> tuple[float, float]:
        x, y = sample(DRAWS, np.random.default_rng(55))
        logs = x @ of_class.T - 0.5 * (of_class**2).sum(axis=1)
        return mean_of_draws(logs[np.arange(DRAWS), y] - special.logsumexp(logs + np.log(shares), axis=1))

    return known(sample, truth, "labels")


def four_clouds(dim: int = 8, away: float = 1.2) -> Case:
    """Four classes at the corners of a square; six of eight columns are irrelevant."""

    def sample(n: int, g: Generator) -> Pair:
        corner = g.integers(0, 2, (n, 2))
        x = g.normal(size=(n, dim))
        x[:, :2] += away * (2 * corner - 1)
        return x, 2 * corner[:, 0] + corner[:, 1]

    lost = WEIGHTS @ np.logaddexp(0, -2 * away * (X + away))
    return known(sample, 2 * (math.log(2) - lost), "labels")


def rings(noise: float = 0.35) -> Case:
    """The label is one of three rings with a common centre."""
    radii = np.array([1.5, 2.5, 3.5])

    def sample(n: int, g: Generator) -> Pair:
        y = g.integers(0, 3, n)
        radius, angle = radii[y] + noise * g.normal(size=n), g.uniform(0, 2 * np.pi, n)
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), y

    points = np.linspace(-1, 6, 7001)  # less than nothing has a share of 1e-5
    density = stats.norm.pdf(points[:, None], radii, noise).mean(axis=1)
    return known(sample, entropy_of(points, density) - NOISE - math.log(noise), "labels")


def classes_on_a_ring(concentration: float = 4.0) -> Case:
    """Three classes a third of a turn apart, von Mises angles, radius 1 +- 0.1 (uninformative)."""

    def sample(n: int, g: Generator) -> Pair:
        y = g.integers(0, 3, n)
        angle, radius = g.vonmises(0, concentration, n) + 2 * np.pi * y / 3, 1 + 0.1 * g.normal(size=n)
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y

    angle = middles(0, 2 * np.pi)
    joint = np.exp(concentration * np.cos(angle[:, None] - 2 * np.pi * np.arange(3) / 3))
    return known(sample, table_information(joint / joint.sum()), "labels")


def label_of_score(weights: tuple[float, ...], cuts: tuple[float, ...], curve: Callable[[NDArray], NDArray]) -> Case:
    """An ordered label of normal columns x: P(y <= j) = curve(cut j - weights x); H(y) - H(y | score), quadrature."""

    def below(score: NDArray) -> NDArray:
        return np.column_stack([curve(cut - score) for cut in cuts])

    def truth() -> float:
        z = middles(-9, 9)
        shares = np.diff(below(float(np.linalg.norm(weights)) * z), axis=1, prepend=0, append=1)
        joint = shares * stats.norm.pdf(z)[:, None]
        return table_information(joint / joint.sum())

    return response(
        normals(len(weights)),
        lambda x, g: (g.random((len(x), 1)) > below(x @ np.array(weights))).sum(axis=1),
        truth,
        "labels",
    )


def product_label(dim: int = 5, steepness: float = 2.0) -> Case:
    """A label with log odds x1 x2 + x3; two more columns are irrelevant."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, dim))
        odds = steepness * x[:, 0] * x[:, 1] + x[:, 2]
        return x, (g.random(n) < special.expit(odds)).astype(int)

    def truth() -> float:
        points = np.linspace(-6, 6, 161)
        weights = stats.norm.pdf(points)
        weights /= weights.sum()
        a, b, c = np.meshgrid(points, points, points, indexing="ij")
        share = special.expit(steepness * a * b + c)
        left = special.entr(share) + special.entr(1 - share)
        return math.log(2) - float(np.einsum("ijk,i,j,k->", left, weights, weights, weights))

    return known(sample, truth, "labels")


def successes(trials: int = 10, shape: float = 0.7) -> Case:
    """x a beta probability, y the successes in ten trials: H(y) of the beta-binomial less E H(y | x), quadrature."""

    def truth() -> float:
        marginal = stats.betabinom.pmf(np.arange(trials + 1), trials, shape, shape)
        x = stats.beta.ppf(middles(0, 1, 20_000), shape, shape)
        given = stats.binom.pmf(np.arange(trials + 1), trials, x[:, None])
        return special.entr(marginal).sum() - special.entr(given).sum(axis=1).mean()

    return response(lambda n, g: g.beta(shape, shape, n), lambda x, g: g.binomial(trials, x), truth, "labels")


# --- two categories ------------------------------------------------------------------------------------------------
def sparse_table(levels: int = 40, kept: float = 0.5) -> Case:
    """Two categories of `levels` values of uneven shares, of which one is a relabelled copy of the other, or drawn
    anew: 1,600 cells, so that most hold a row or none."""
    shares = 1 / np.arange(1, levels + 1)
    shares /= shares.sum()
    moved = np.random.default_rng(40).permutation(levels)

    def sample(n: int, g: Generator) -> Pair:
        x = g.choice(levels, n, p=shares)
        y = np.where(g.random(n) < kept, x, g.choice(levels, n, p=shares))
        return x.astype(str), moved[y].astype(str)

    joint = (1 - kept) * np.outer(shares, shares) + kept * np.diag(shares)
    return known(sample, table_information(joint), "categories")


def table_of(joint: NDArray, x_names: NDArray, y_names: NDArray) -> Case:
    """Two categories of a table of probabilities [a, b] and the names of their values."""

    def sample(n: int, g: Generator) -> Pair:
        x, y = np.divmod(g.choice(joint.size, n, p=joint.ravel()), joint.shape[1])
        return x_names[x], y_names[y]

    return known(sample, table_information(joint), "categories")


def confusion(classes: int = 8, right: float = 0.6) -> Case:
    """Classes of decreasing shares and noisy readings of them: right, else mostly one of the next two."""
    shares = 0.8 ** np.arange(classes)
    taken = np.full((classes, classes), 0.1 / classes)
    for one in range(classes):
        taken[one, one] += right
        for step in (1, 2):
            taken[one, (one + step) % classes] += (0.9 - right) / 2
    joint = (shares / shares.sum())[:, None] * taken
    names = np.arange(classes).astype(str)
    return table_of(joint / joint.sum(), names, names)


def survey(kept: float = 0.5) -> Case:
    """Answers to two unordered questions with five and seven options."""
    rest = math.sqrt(1 - kept**2)
    first, second = np.array([-1.2, -0.3, 0.4, 1.3]), np.array([-1.6, -1.0, -0.4, 0.1, 0.8, 1.5])
    inner = np.diff(special.ndtr((np.r_[-np.inf, second, np.inf] - kept * X[:, None]) / rest), axis=1)
    inside = [place == np.digitize(X, first) for place in range(5)]
    joint = np.array([WEIGHTS[rows] @ inner[rows] for rows in inside])
    return table_of(joint, np.array(list("dbace")), np.array(list("gfaedbc")))


def questionnaire(correlation: float = 0.6) -> Case:
    """Two answers on scales of five and four, from one bivariate normal, treated as categories."""
    cuts = np.array([-1.2, -0.4, 0.3, 1.1]), np.array([-0.8, 0.2, 1.0])

    def sample(n: int, g: Generator) -> Pair:
        u, v = g.normal(size=(2, n))
        v = correlation * u + math.sqrt(1 - correlation**2) * v
        return np.digitize(u, cuts[0]).astype(str), np.digitize(v, cuts[1]).astype(str)

    def truth() -> float:
        both = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
        ends = [np.concatenate([[-9.0], one, [9.0]]) for one in cuts]
        below = np.array([[both.cdf([a, b]) for b in ends[1]] for a in ends[0]])
        joint = np.diff(np.diff(below, axis=0), axis=1)
        return table_information(np.maximum(joint, 0) / joint.sum())

    return known(sample, truth, "categories")


# --- co-information ------------------------------------------------------------------------------------------------
def gate(operation: Callable[[NDArray, NDArray], NDArray]) -> Case:
    """Two independent fair bits and the output of a gate: co-information from the truth table."""

    def sample(n: int, g: Generator) -> tuple[NDArray, NDArray, NDArray]:
        a, b = g.integers(0, 2, n), g.integers(0, 2, n)
        return a, b, operation(a, b)

    a, b = np.divmod(np.arange(4), 2)
    joint = np.zeros((2, 2, 2))
    np.add.at(joint, (a, b, operation(a, b)), 0.25)
    both = table_information(joint.reshape(4, 2))
    nats = table_information(joint.sum(1)) + table_information(joint.sum(0)) - both
    return known(sample, nats, "labels", "co-information")


def copied() -> Case:
    """The same fair bit three times: all information is redundant."""

    def sample(n: int, g: Generator) -> tuple[NDArray, NDArray, NDArray]:
        bit = g.integers(0, 2, n)
        return bit, bit.copy(), bit.copy()

    return known(sample, np.log(2), "labels", "co-information")
