"""Distributions held out when written (`censored` has since informed a rule of `advise`, removed)."""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import special, stats

from infoscope.data.tasks.known_truth import Case, discrete_information, normal_mixture
from infoscope.data.tasks.late_laws import NOISE, Generator, Pair, entropy_of


def triangle() -> Case:
    """Uniform on 0 < y < x < 1: an edge from corner to corner."""

    def sample(n: int, g: Generator) -> Pair:
        both = np.sort(g.random((n, 2)), axis=1)
        return both[:, 1], both[:, 0]

    return Case("mi", "numbers", sample, lambda: (1 - math.log(2), 0.0))


def clayton(theta: float = 2.0) -> Case:
    """Clayton's copula with exponential margins; mean log density by Kendall's function (Genest & Rivest 1993)."""

    def sample(n: int, g: Generator) -> Pair:
        u, w = g.random((2, n))
        v = ((w ** (-theta / (1 + theta)) - 1) * u**-theta + 1) ** (-1 / theta)
        return -np.log(u), -np.log(v)

    nats = math.log1p(theta) + 2 * (1 + theta) - (1 + 2 * theta) * (theta + 2) / (theta + 1)
    return Case("mi", "numbers", sample, lambda: (nats, 0.0))


def crossed(noise: float = 0.5) -> Case:
    """y is x or -x, as a coin falls, and noise."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=n)
        return x, g.choice([-1.0, 1.0], n) * x + noise * g.normal(size=n)

    @functools.cache
    def truth() -> tuple[float, float]:
        y, x = np.linspace(-10, 10, 4001), np.linspace(-6, 6, 1201)
        given = (stats.norm.pdf(y, x[:, None], noise) + stats.norm.pdf(y, -x[:, None], noise)) / 2
        left = np.array([entropy_of(y, one) for one in given])
        whole = 0.5 * math.log(1 + noise**2) + NOISE
        return whole - float(np.trapezoid(stats.norm.pdf(x) * left, x)), 0.0

    return Case("mi", "numbers", sample, truth)


def angles(concentration: float = 3.0) -> Case:
    """Two directions, y that of x and von Mises noise, as numbers from 0 to 2 pi that go round."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.uniform(0, 2 * np.pi, n)
        return x, (x + g.vonmises(0, concentration, n)) % (2 * np.pi)

    ratio = special.i1e(concentration) / special.i0e(concentration)
    nats = concentration * ratio - math.log(special.i0(concentration))
    return Case("mi", "numbers", sample, lambda: (float(nats), 0.0))


def next_steps(before: int = 5, after: int = 3, kept: float = 0.8) -> Case:
    """Five values of an autoregression, and the next three: all that they share is in the last."""

    def sample(n: int, g: Generator) -> Pair:
        series = g.normal(size=(n, before + after))
        for step in range(1, before + after):
            series[:, step] = kept * series[:, step - 1] + math.sqrt(1 - kept**2) * series[:, step]
        return series[:, :before], series[:, before:]

    return Case("mi", "numbers", sample, lambda: (-0.5 * math.log1p(-(kept**2)), 0.0))


def product_label(dim: int = 5, steepness: float = 2.0) -> Case:
    """A label whose log odds are the product of two columns and a third; two more are idle."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, dim))
        odds = steepness * x[:, 0] * x[:, 1] + x[:, 2]
        return x, (g.random(n) < special.expit(odds)).astype(int)

    @functools.cache
    def truth() -> tuple[float, float]:
        points = np.linspace(-6, 6, 161)
        weights = stats.norm.pdf(points)
        weights /= weights.sum()
        a, b, c = np.meshgrid(points, points, points, indexing="ij")
        share = special.expit(steepness * a * b + c)
        left = special.entr(share) + special.entr(1 - share)
        return math.log(2) - float(np.einsum("ijk,i,j,k->", left, weights, weights, weights)), 0.0

    return Case("mi", "labels", sample, truth)


def grades(dim: int = 6, useful: int = 3, kept: float = 0.8) -> Case:
    """Seven ordered grades, taken as numbers, of the mean of three of six columns and noise."""
    cuts = np.array([-1.5, -0.9, -0.3, 0.3, 0.9, 1.5])

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, dim))
        behind = kept * x[:, :useful].sum(axis=1) / math.sqrt(useful) + math.sqrt(1 - kept**2) * g.normal(size=n)
        return x, np.digitize(behind, cuts).astype(float)

    @functools.cache
    def truth() -> tuple[float, float]:
        points = np.linspace(-8, 8, 4001)
        ends = np.concatenate([[-np.inf], cuts, [np.inf]])
        given = np.diff(special.ndtr((ends - kept * points[:, None]) / math.sqrt(1 - kept**2)), axis=1)
        left = float(np.trapezoid(stats.norm.pdf(points) * special.entr(given).sum(axis=1), points))
        return float(special.entr(np.diff(special.ndtr(ends))).sum()) - left, 0.0

    return Case("mi", "numbers", sample, truth)


def shared_volatility(dim: int = 3, spread: float = 0.8) -> Case:
    """Uncorrelated normal columns, all times one lognormal number of the row."""

    def sample(n: int, g: Generator) -> Pair:
        z = np.exp(spread * g.normal(size=(n, 1))) * g.normal(size=(n, 2 * dim))
        return z[:, :dim], z[:, dim:]

    @functools.cache
    def entropy(columns: int) -> float:
        """By the density of the length."""
        logs = np.linspace(-8, 8, 1601) * spread
        weights = stats.norm.pdf(logs, scale=spread)
        weights /= weights.sum()
        length = np.exp(np.linspace(-12, 12, 6001))
        others = weights * np.exp(-(columns - 1) * (logs + 0.5 * math.log(2 * math.pi)))  # of all columns but one
        density = others.sum() * normal_mixture(length, 0.0, others, np.exp(logs))
        surface = math.log(2) + columns / 2 * math.log(math.pi) - special.gammaln(columns / 2)
        shells = np.exp(surface + columns * np.log(length))
        return float(-np.trapezoid(shells * special.xlogy(density, density), np.log(length)))

    return Case("mi", "numbers", sample, lambda: (2 * entropy(dim) - entropy(2 * dim), 0.0))


def square_of_one(dim: int = 12, noise: float = 0.5) -> Case:
    """y is the square of one of twelve columns, and noise."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, dim))
        return x, x[:, dim // 2] ** 2 + noise * g.normal(size=n)

    @functools.cache
    def truth() -> tuple[float, float]:
        x, y = np.linspace(-6, 6, 2401), np.linspace(-4, 40, 8801)
        density = normal_mixture(y, x**2, stats.norm.pdf(x), noise)
        return entropy_of(y, density) - NOISE - math.log(noise), 0.0

    return Case("mi", "numbers", sample, truth)


def confusion(classes: int = 8, right: float = 0.6) -> Case:
    """Classes of falling shares and what somebody takes them for: right, else mostly one of the next two."""
    shares = 0.8 ** np.arange(classes)
    taken = np.full((classes, classes), 0.1 / classes)
    for one in range(classes):
        taken[one, one] += right
        for step in (1, 2):
            taken[one, (one + step) % classes] += (0.9 - right) / 2
    joint = (shares / shares.sum())[:, None] * taken

    def sample(n: int, g: Generator) -> Pair:
        cells = g.choice(classes**2, n, p=joint.ravel() / joint.sum())
        return tuple(one.astype(str) for one in np.divmod(cells, classes))

    return Case("mi", "categories", sample, lambda: (discrete_information(joint / joint.sum()), 0.0))


def unlike_and_apart(dim_x: int = 4, dim_y: int = 3) -> Case:
    """Columns in two clouds in x, heavy tails in y, independent."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.choice([-2.0, 2.0], (n, 1)) + g.normal(size=(n, dim_x))
        return x, g.normal(size=(n, dim_y)) / np.sqrt(g.chisquare(2, (n, 1)) / 2)

    return Case("mi", "numbers", sample, lambda: (0.0, 0.0))


def censored(kept: float = 0.7) -> Case:
    """y is correlated with x, and 0 where it would be less: half of the rows."""
    rest = math.sqrt(1 - kept**2)

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=n)
        return x, np.maximum(kept * x + rest * g.normal(size=n), 0.0)

    @functools.cache
    def truth() -> tuple[float, float]:
        x, y = np.linspace(-8, 8, 4001), np.linspace(0, 9, 3001)
        none = special.ndtr(-kept * x / rest)
        seen = np.array([entropy_of(y, stats.norm.pdf(y, kept * one, rest)) for one in x])
        left = float(np.trapezoid(stats.norm.pdf(x) * (special.entr(none) + seen), x))
        return float(special.entr(0.5)) + entropy_of(y, stats.norm.pdf(y)) - left, 0.0

    return Case("mi", "numbers", sample, truth)


LAWS: dict[str, Case] = {
    "triangle": triangle(),
    "clayton-2": clayton(),
    "crossed": crossed(),
    "angles": angles(),
    "next-steps-5-3": next_steps(),
    "product-label-5": product_label(),
    "grades-3-of-6": grades(),
    "shared-volatility-3-3": shared_volatility(),
    "square-of-1-of-12": square_of_one(),
    "confusion-of-8": confusion(),
    "unlike-and-apart-4-3": unlike_and_apart(),
    "censored": censored(),
}
