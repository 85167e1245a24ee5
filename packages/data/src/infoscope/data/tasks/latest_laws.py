"""Held-out distributions: point masses, copulas, regimes, surveys; closed forms and quadratures."""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import special, stats

from infoscope.data.tasks.known_truth import Case, discrete_information, normal_mixture
from infoscope.data.tasks.late_laws import NOISE, Generator, Pair, entropy_of

_X = np.linspace(-8, 8, 1601)  # of a standard normal variable
_WEIGHTS = stats.norm.pdf(_X) / stats.norm.pdf(_X).sum()


def clipped(kept: float = 0.8, end: float = 1.0) -> Case:
    """y is correlated with x and cut off at both ends, as a sensor would: a third of the rows."""
    rest = math.sqrt(1 - kept**2)

    def sample(n: int, g: Generator) -> Pair:
        x, z = g.normal(size=(2, n))
        return x, np.clip(kept * x + rest * z, -end, end)

    @functools.cache
    def truth() -> tuple[float, float]:
        y = np.linspace(-end, end, 2001)
        below, above = (special.ndtr((-end - sign * kept * _X) / rest) for sign in (1, -1))
        within = np.array([entropy_of(y, stats.norm.pdf(y, kept * x, rest)) for x in _X])
        left = float(_WEIGHTS @ (special.entr(below) + special.entr(above) + within))
        return 2 * float(special.entr(special.ndtr(-end))) + entropy_of(y, stats.norm.pdf(y)) - left, 0.0

    return Case("mi", "numbers", sample, truth)


def both_censored(kept: float = 0.8) -> Case:
    """Two correlated numbers, each 0 where it would be less."""
    rest = math.sqrt(1 - kept**2)

    def sample(n: int, g: Generator) -> Pair:
        x, z = g.normal(size=(2, n))
        return np.maximum(x, 0.0), np.maximum(kept * x + rest * z, 0.0)

    @functools.cache
    def truth() -> tuple[float, float]:
        none = 0.25 + math.asin(kept) / (2 * math.pi)
        u = np.linspace(0, 8, 1601)
        missing = special.ndtr(-kept * u / rest)
        one = np.trapezoid(stats.norm.pdf(u) * special.rel_entr(missing, 0.5), u)
        given = stats.norm.pdf(u, kept * u[:, None], rest)
        both = np.trapezoid(np.trapezoid(special.rel_entr(given, stats.norm.pdf(u)), u, axis=1) * stats.norm.pdf(u), u)
        return float(none * math.log(4 * none) + 2 * one + both), 0.0

    return Case("mi", "numbers", sample, truth)


def amounts(steepness: float = 1.5, slope: float = 0.5, noise: float = 0.7) -> Case:
    """What is spent: nothing by half of the people, else a lognormal amount; both depend on x."""

    def sample(n: int, g: Generator) -> Pair:
        x, z = g.normal(size=(2, n))
        return x, np.where(g.random(n) < special.expit(steepness * x), np.exp(slope * x + noise * z), 0.0)

    @functools.cache
    def truth() -> tuple[float, float]:
        share = special.expit(steepness * _X)
        spent = math.log(2) - float(_WEIGHTS @ (special.entr(share) + special.entr(1 - share)))
        y = np.linspace(-12, 12, 4801)
        density = normal_mixture(y, slope * _X, _WEIGHTS * share, noise)
        return spent + 0.5 * (entropy_of(y, density) - NOISE - math.log(noise)), 0.0

    return Case("mi", "numbers", sample, truth)


def counts_of(dim: int = 3, slope: float = 0.8) -> Case:
    """Poisson counts, as numbers, whose rate is the exponential of one of three columns."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, dim))
        return x, g.poisson(np.exp(slope * x[:, 0])).astype(float)

    @functools.cache
    def truth() -> tuple[float, float]:
        given = stats.poisson.pmf(np.arange(900), np.exp(slope * _X)[:, None])
        return float(special.entr(_WEIGHTS @ given).sum() - _WEIGHTS @ special.entr(given).sum(axis=1)), 0.0

    return Case("mi", "numbers", sample, truth)


def frank(theta: float = 8.0) -> Case:
    """Frank's copula, no tails, one margin heavy and one even."""
    full = -math.expm1(-theta)

    def sample(n: int, g: Generator) -> Pair:
        u, w = g.random((2, n))
        v = -np.log1p(-w * full / (w + (1 - w) * np.exp(-theta * u))) / theta
        return stats.t.ppf(u, 3), v

    @functools.cache
    def truth() -> tuple[float, float]:
        nodes, weights = np.polynomial.legendre.leggauss(200)
        log_density = frank_log_density((nodes[:, None] + 1) / 2, (nodes + 1) / 2, theta)
        return float(weights @ (np.exp(log_density) * log_density) @ weights / 4), 0.0

    return Case("mi", "numbers", sample, truth)


def frank_log_density(u: np.ndarray, v: np.ndarray, theta: float) -> np.ndarray:
    """ln c(u, v) of Frank's copula (Nelsen 2006, table 4.1)."""
    of_u, of_v, full = (-np.expm1(-theta * one) for one in (u, v, 1.0))
    return np.log(theta * full) - theta * (u + v) - 2 * np.log(full - of_u * of_v)


def regimes(dim: int = 5, noise: float = 0.5) -> Case:
    """Which of two columns y follows is decided by a third; two more are idle."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, dim))
        return x, np.where(x[:, 0] > 0, 1.5 * x[:, 1], 0.5 * x[:, 2]) + noise * g.normal(size=n)

    @functools.cache
    def truth() -> tuple[float, float]:
        y = np.linspace(-14, 14, 5601)
        density = sum(stats.norm.pdf(y, 0, math.hypot(slope, noise)) for slope in (1.5, 0.5)) / 2
        return entropy_of(y, density) - NOISE - math.log(noise), 0.0

    return Case("mi", "numbers", sample, truth)


def four_clouds(dim: int = 8, away: float = 1.2) -> Case:
    """Four classes at the corners of a square; six of eight columns are idle."""

    def sample(n: int, g: Generator) -> Pair:
        corner = g.integers(0, 2, (n, 2))
        x = g.normal(size=(n, dim))
        x[:, :2] += away * (2 * corner - 1)
        return x, 2 * corner[:, 0] + corner[:, 1]

    lost = float(_WEIGHTS @ np.logaddexp(0, -2 * away * (_X + away)))
    return Case("mi", "labels", sample, lambda: (2 * (math.log(2) - lost), 0.0))


def survey(kept: float = 0.5) -> Case:
    """Answers to two questions, five and seven of them, unordered."""
    rest = math.sqrt(1 - kept**2)
    cuts = [np.array([-1.2, -0.3, 0.4, 1.3]), np.array([-1.6, -1.0, -0.4, 0.1, 0.8, 1.5])]
    inner = np.diff(special.ndtr((np.r_[-np.inf, cuts[1], np.inf] - kept * _X[:, None]) / rest), axis=1)
    joint = np.array([_WEIGHTS[place == np.digitize(_X, cuts[0])] @ inner[place == np.digitize(_X, cuts[0])]
                      for place in range(5)])  # fmt: skip

    def sample(n: int, g: Generator) -> Pair:
        cells = g.choice(joint.size, n, p=joint.ravel())
        x, y = np.divmod(cells, joint.shape[1])
        return np.array(list("dbace"))[x], np.array(list("gfaedbc"))[y]

    return Case("mi", "categories", sample, lambda: (discrete_information(joint), 0.0))


def radius(dim: int = 3, noise: float = 0.3) -> Case:
    """y is how far a normal point is from the middle, and noise."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, dim))
        return x, np.linalg.norm(x, axis=1) + noise * g.normal(size=n)

    @functools.cache
    def truth() -> tuple[float, float]:
        lengths, y = np.linspace(0, 9, 1801), np.linspace(-3, 12, 3001)
        density = normal_mixture(y, lengths, stats.chi.pdf(lengths, dim), noise)
        return entropy_of(y, density) - NOISE - math.log(noise), 0.0

    return Case("mi", "numbers", sample, truth)


def changing_scale(slope: float = 0.7) -> Case:
    """The spread of y, and nothing else of it, depends on x."""

    def sample(n: int, g: Generator) -> Pair:
        x, z = g.normal(size=(2, n))
        return x, np.exp(slope * x) * z

    @functools.cache
    def truth() -> tuple[float, float]:
        logs = np.linspace(-40, 12, 20_801)
        y = np.exp(logs)
        density = normal_mixture(y, 0.0, _WEIGHTS, np.exp(slope * _X))
        return 2 * float(np.trapezoid(y * special.entr(density), logs)) - NOISE, 0.0

    return Case("mi", "numbers", sample, truth)


def idle_amounts() -> Case:
    """Heavy tails in x, amounts with many zeros in y, independent."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, 2)) / np.sqrt(g.chisquare(2, (n, 1)) / 2)
        return x, np.where(g.random(n) < 0.4, np.exp(g.normal(size=n)), 0.0)

    return Case("mi", "numbers", sample, lambda: (0.0, 0.0))


def reported_ages(slope: float = 0.9) -> Case:
    """Ages in years, of which a third of the people round theirs to tens, and a measurement that rises with them."""
    ages = np.arange(18, 91)
    shares = np.zeros(101)
    np.add.at(shares, ages, 0.65 / len(ages))
    np.add.at(shares, (ages + 5) // 10 * 10, 0.35 / len(ages))

    def sample(n: int, g: Generator) -> Pair:
        x = g.choice(101, n, p=shares)
        return x.astype(float), slope * (x - 54) / 20 + g.normal(size=n)

    @functools.cache
    def truth() -> tuple[float, float]:
        y = np.linspace(-10, 10, 4001)
        density = normal_mixture(y, slope * (np.arange(101) - 54) / 20, shares, 1.0)
        return entropy_of(y, density) - NOISE, 0.0

    return Case("mi", "numbers", sample, truth)


LAWS: dict[str, Case] = {
    "clipped": clipped(),
    "both-censored": both_censored(),
    "amounts": amounts(),
    "counts-of-1-of-3": counts_of(),
    "frank-8": frank(),
    "regimes-of-5": regimes(),
    "four-clouds-of-8": four_clouds(),
    "survey": survey(),
    "radius-of-3": radius(),
    "changing-scale": changing_scale(),
    "idle-amounts": idle_amounts(),
    "reported-ages": reported_ages(),
}
