"""Distributions of known mutual information whose y is a number: normal columns, copulas, censoring, shared scales."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special, stats

from infoscope.data.information import student_information, table_information
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
    normal_mixture,
    normals,
    response,
    split_columns,
    through_noise,
)  # fmt: skip
from infoscope.data.tasks.noisy import WEIGHTS, X


# --- normal columns ------------------------------------------------------------------------------------------------
def gaussian(dim: int, nats: float) -> Case:
    """x [n, dim] standard normal, y [n] correlated with its first column."""
    correlation = np.sqrt(1 - np.exp(-2 * nats))
    return response(normals(dim), lambda x, g: correlation * x[:, 0] + np.exp(-nats) * g.normal(size=len(x)), nats)


def gaussian_given(dim: int) -> Case:
    """x = z + u, y = sum of z + first of u + noise: given z [n, dim], two normals of correlation sqrt(1/2)."""

    def sample(n: int, g: Generator) -> tuple[NDArray, ...]:
        z, u = g.normal(size=(n, dim)), g.normal(size=(n, dim))
        return z + u, z.sum(axis=1) + u[:, 0] + g.normal(size=n), z

    return known(sample, 0.5 * np.log(2), measure="cmi")


def coupled(dim: int, correlation: float, pairs: int | None = None, then: Callable[[NDArray], NDArray] | None = None):
    """Normal x and y [n, dim], the first `pairs` columns correlated one to one; `then` maps x and y."""
    pairs = dim if pairs is None else pairs

    def sample(n: int, g: Generator) -> Pair:
        x, y = g.normal(size=(n, dim)), g.normal(size=(n, dim))
        y[:, :pairs] = correlation * x[:, :pairs] + np.sqrt(1 - correlation**2) * y[:, :pairs]
        return (x, y) if then is None else (then(x), then(y))

    return known(sample, -0.5 * pairs * np.log1p(-(correlation**2)))


def one_of_several(dim: int, correlation: float) -> Case:
    """The last of `dim` columns of x is correlated with y."""
    return response(
        normals(dim),
        lambda x, g: correlation * x[:, -1] + math.sqrt(1 - correlation**2) * g.normal(size=len(x)),
        -0.5 * math.log1p(-(correlation**2)),
    )


def one_factor(dim_x: int = 6, dim_y: int = 4) -> Case:
    """Every column is a common factor plus noise; the columns of x are cubed."""
    a, b = np.linspace(0.3, 0.9, dim_x), np.linspace(0.8, 0.4, dim_y)

    def sample(n: int, g: Generator) -> Pair:
        f = g.normal(size=(n, 1))
        return (f * a + g.normal(size=(n, dim_x))) ** 3, f * b + g.normal(size=(n, dim_y))

    x, y = (a**2).sum(), (b**2).sum()  # signal-to-noise ratios of the factor in x and in y
    return known(sample, 0.5 * math.log((1 + x) * (1 + y) / (1 + x + y)))


def next_steps(before: int = 5, after: int = 3, kept: float = 0.8) -> Case:
    """x: five successive values of an autoregression; y: the next three, which depend on the last of x alone."""

    def draw(n: int, g: Generator) -> NDArray:
        series = g.normal(size=(n, before + after))
        for step in range(1, before + after):
            series[:, step] = kept * series[:, step - 1] + math.sqrt(1 - kept**2) * series[:, step]
        return series

    return split_columns(draw, before, -0.5 * math.log1p(-(kept**2)))


def patients(rows: int = 10, shared: float = 0.6, correlation: float = 0.7) -> Case:
    """Two correlated normal columns, `rows` per patient; a share `shared` of each variance is between patients."""

    def sample(n: int, g: Generator) -> tuple[NDArray, NDArray, NDArray]:
        patient = np.arange(n) // rows
        parts = [(g.normal(size=(patient[-1] + 1, 2))[patient], shared), (g.normal(size=(n, 2)), 1 - shared)]
        root = np.linalg.cholesky([[1, correlation], [correlation, 1]])
        both = sum(math.sqrt(share) * part @ root.T for part, share in parts)
        return both[:, 0], both[:, 1], patient

    return known(sample, -0.5 * math.log1p(-(correlation**2)), grouped=True)


def repeated_measurements(times: int = 4, between: float = 0.5, noise: float = 0.8) -> Case:
    """Repeated measurements of people: x has a personal part, y is x and noise."""

    def sample(n: int, g: Generator) -> tuple[NDArray, ...]:
        who = np.arange(n) // times
        x = math.sqrt(between) * g.normal(size=who.max() + 1)[who] + math.sqrt(1 - between) * g.normal(size=n)
        return x, x + noise * g.normal(size=n), who

    return known(sample, 0.5 * math.log1p(1 / noise**2), grouped=True)


def moving_correlation(largest: float = 0.95) -> Case:
    """The correlation of y and x1 is 0.95 sin(pi x2), x2 uniform on (-1, 1): I is the mean of -log(1 - r^2) / 2."""

    def sample(n: int, g: Generator) -> Pair:
        x = np.column_stack([g.normal(size=n), g.uniform(-1, 1, n)])
        r = largest * np.sin(np.pi * x[:, 1])
        return x, r * x[:, 0] + np.sqrt(1 - r**2) * g.normal(size=n)

    r = largest * np.sin(np.pi * middles(-1, 1))
    return known(sample, -0.5 * np.log1p(-(r**2)).mean())


def lobes() -> Case:
    """Three normal clouds of different tilt, and margins through the exponential."""
    weights = np.array([0.4, 0.35, 0.25])
    means = np.array([[-1.5, -1.0], [1.5, -0.5], [0.0, 2.0]])
    spreads = np.array([[0.8, 0.5, 0.6], [0.6, 0.9, -0.7], [0.5, 0.5, 0.0]])  # of x, of y, correlation

    def sample(n: int, g: Generator) -> Pair:
        kind = g.choice(3, n, p=weights)
        u, v = g.normal(size=(2, n))
        of_x, of_y, tilt = spreads[kind].T
        x = means[kind, 0] + of_x * u
        y = means[kind, 1] + of_y * (tilt * u + np.sqrt(1 - tilt**2) * v)
        return np.exp(x), y

    def truth() -> float:
        points = np.linspace(-7, 7, 1401)
        grid = np.stack(np.meshgrid(points, points, indexing="ij"), axis=-1)
        joint = np.zeros((1401, 1401))
        for weight, mean, (of_x, of_y, tilt) in zip(weights, means, spreads):
            covariance = [[of_x**2, tilt * of_x * of_y], [tilt * of_x * of_y, of_y**2]]
            joint += weight * stats.multivariate_normal(mean, covariance).pdf(grid)
        return table_information(joint / joint.sum())  # of cells of a hundredth: less by some 1e-4

    return known(sample, truth)


def crossed_corners(apart: float = 2.0) -> Case:
    """x and y near corners (+-2, +-2) with unit noise; only the products of their signs are equal.

    The density ratio is 1 + the product of tanh(2 v) over the four columns; Monte Carlo.
    """

    def draw(n: int, g: Generator) -> NDArray:
        signs = g.choice([-1.0, 1.0], (n, 4))
        signs[:, 3] = signs[:, :3].prod(axis=1)
        return apart * signs + g.normal(size=(n, 4))

    def truth() -> tuple[float, float]:
        return mean_of_draws(np.log1p(np.tanh(apart * draw(DRAWS, np.random.default_rng(7))).prod(axis=1)))

    return split_columns(draw, 2, truth)


# --- sharp edges ---------------------------------------------------------------------------------------------------
def below() -> Case:
    """x uniform on [0, 1], y uniform on [0, x]: I = Euler's constant, as h(y) = -psi(2) and h(y | x) = E ln x = -1."""
    return response(lambda n, g: g.random(n), lambda x, g: x * g.random(len(x)), np.euler_gamma)


def disc() -> Case:
    """The coordinates of a uniform point of a disc, uncorrelated: I = ln pi - 1."""

    def sample(n: int, g: Generator) -> Pair:
        radius, angle = np.sqrt(g.random(n)), 2 * math.pi * g.random(n)
        return radius * np.cos(angle), radius * np.sin(angle)

    return known(sample, math.log(math.pi) - 1)


def in_order() -> Case:
    """The smaller and the larger of two uniform numbers: I = 1 - ln 2."""
    return known(lambda n, g: tuple(np.sort(g.random((2, n)), axis=0)), 1 - math.log(2))


def triangle() -> Case:
    """The larger and the smaller of two uniform numbers, (x, y) uniform on 0 < y < x < 1: I = 1 - ln 2."""
    return known(lambda n, g: tuple(np.sort(g.random((n, 2)), axis=1).T[::-1]), 1 - math.log(2))


def coarse_and_fine(cells: int = 30, kept: float = 0.7, window: float = 0.1) -> Case:
    """x = cell + place; y = cell (sometimes redrawn) + place moved within a window, modulo 1: I of the cells - log
    window.
    """

    def sample(n: int, g: Generator) -> Pair:
        cell, place = g.integers(0, cells, n), g.random(n)
        other = np.where(g.random(n) < kept, cell, g.integers(0, cells, n))
        return cell + place, other + (place + window * g.random(n)) % 1

    joint = (kept * np.eye(cells) + (1 - kept) / cells) / cells
    return known(sample, table_information(joint) - np.log(window))


def rare_event(share: float = 0.02, window: float = 1e-3) -> Case:
    """Independent uniforms, except that x determines y to a thousandth in 2 % of rows: H(share) - share log window."""

    def sample(n: int, g: Generator) -> Pair:
        event, (x, y) = g.random(n) < share, g.random((2, n))
        y = np.where(event, (x + window * y) % 1, y)
        return x + 2 * event, y + 2 * event

    return known(sample, special.entr([share, 1 - share]).sum() - share * np.log(window))


# --- copulas and shares --------------------------------------------------------------------------------------------
def clayton(theta: float = 2.0) -> Case:
    """Clayton's copula with exponential margins; mean log density by Kendall's function (Genest & Rivest 1993)."""

    def sample(n: int, g: Generator) -> Pair:
        u, w = g.random((2, n))
        v = ((w ** (-theta / (1 + theta)) - 1) * u**-theta + 1) ** (-1 / theta)
        return -np.log(u), -np.log(v)

    return known(sample, math.log1p(theta) + 2 * (1 + theta) - (1 + 2 * theta) * (theta + 2) / (theta + 1))


def gamma_frailty(dim_x: int, dim_y: int, theta: float, then: Callable[[NDArray], NDArray]) -> Case:
    """Exponential columns over a shared gamma(1 / theta): the Clayton copula, its survival times through an increasing
    map. Closed form: 1 / (1 + sum) is a beta, so E log c is in digammas; for two columns log(1 + t) - t / (1 + t)."""

    def of_copula(dim: int) -> float:
        log_sum = special.digamma(1 / theta + dim) - special.digamma(1 / theta)
        return np.log1p(theta * np.arange(dim)).sum() + (theta + 1) * dim - (dim + 1 / theta) * log_sum

    draw = lambda n, g: then(g.exponential(size=(n, dim_x + dim_y)) / g.gamma(1 / theta, size=(n, 1)))  # noqa: E731
    return split_columns(draw, dim_x, of_copula(dim_x + dim_y) - of_copula(dim_x) - of_copula(dim_y))


def gumbel_laplace(theta: float = 2.0) -> Case:
    """The Gumbel copula with Laplace margins, by quadrature over a = -log C (a mixture of gammas)."""

    def sample(n: int, g: Generator) -> Pair:
        stable = 0.5 / g.normal(size=(n, 1)) ** 2  # of index 1 / 2
        u = np.exp(-((g.exponential(size=(n, 2)) / stable) ** (1 / theta)))
        return tuple(stats.laplace.ppf(np.clip(u, 1e-300, 1 - 1e-16)).T)

    def truth() -> float:
        density = lambda a: np.exp(-a) * (1 - 1 / theta + a / theta)  # noqa: E731
        shifted = integrate.quad(lambda a: density(a) * np.log(a + theta - 1), 0, np.inf)[0]
        of_log = -np.euler_gamma + 1 / theta
        return 2 - (1 + 1 / theta) - 2 * (theta - 1) * np.euler_gamma + (1 - 2 * theta) * of_log + shifted

    return known(sample, truth)


def frank_draws(n: int, g: Generator, theta: float) -> Pair:
    """Draws of Frank's copula."""
    full = -math.expm1(-theta)
    u, w = g.random((2, n))
    return u, -np.log1p(-w * full / (w + (1 - w) * np.exp(-theta * u))) / theta


def frank_log_density(u: NDArray, v: NDArray, theta: float) -> NDArray:
    """ln c(u, v) of Frank's copula (Nelsen 2006, table 4.1)."""
    of_u, of_v, full = (-np.expm1(-theta * one) for one in (u, v, 1.0))
    return np.log(theta * full) - theta * (u + v) - 2 * np.log(full - of_u * of_v)


def frank_information(theta: float) -> float:
    """The information of Frank's copula, by Gauss-Legendre quadrature of c log c over the square."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    log_density = frank_log_density((nodes[:, None] + 1) / 2, (nodes + 1) / 2, theta)
    return float(weights @ (np.exp(log_density) * log_density) @ weights / 4)


def frank(theta: float, *quantiles: Callable[[NDArray], NDArray]) -> Case:
    """Frank's copula, without tail dependence, with the margins of these quantile functions."""
    return known(
        lambda n, g: tuple(quantile(u) for quantile, u in zip(quantiles, frank_draws(n, g, theta))),
        lambda: frank_information(theta),
    )


def composition(parts: tuple[float, ...] = (2.0, 1.5, 3.0, 1.0), rest: float = 0.7) -> Case:
    """x and y: two parts each of a Dirichlet with five parts; closed form, as sums of parts are Dirichlet."""

    def entropy(some: tuple[float, ...]) -> float:
        return stats.dirichlet([*some, sum(parts) + rest - sum(some)]).entropy()

    draw = lambda n, g: g.dirichlet([*parts, rest], n)[:, :4]  # noqa: E731
    return split_columns(draw, 2, entropy(parts[:2]) + entropy(parts[2:]) - entropy(parts))


# --- angles and circles --------------------------------------------------------------------------------------------
def angles(concentration: float = 3.0, centred: bool = False) -> Case:
    """Two directions, y = x plus von Mises noise, from 0 to 2 pi; centred: from -pi to pi."""

    def sample(n: int, g: Generator) -> Pair:
        if centred:
            x = g.uniform(-np.pi, np.pi, n)
            return x, np.angle(np.exp(1j * (x + g.vonmises(0, concentration, n))))
        x = g.uniform(0, 2 * np.pi, n)
        return x, (x + g.vonmises(0, concentration, n)) % (2 * np.pi)

    ratio = special.i1e(concentration) / special.i0e(concentration)
    return known(sample, concentration * ratio - math.log(special.i0(concentration)))


def circle_draws(n: int, g: Generator, noise: float) -> Pair:
    """The coordinates of points on a circle, each with normal noise."""
    angle = 2 * np.pi * g.random(n)
    return np.cos(angle) + noise * g.normal(size=n), np.sin(angle) + noise * g.normal(size=n)


def circle_information(noise: float) -> float:
    """Twice the entropy of a coordinate less that of the point, whose radius is a Rice variable; quadratures."""
    of_coordinate = through_noise(noise, np.cos(np.pi * middles(0, 1)), 1.0) + NOISE + np.log(noise)
    r = np.linspace(0, 1 + 10 * noise, 20_001)
    scaled = special.ive(0, r / noise**2) * np.exp(-((r - 1) ** 2) / (2 * noise**2)) / (2 * np.pi * noise**2)
    return 2 * of_coordinate + float(np.trapezoid(2 * np.pi * r * special.xlogy(scaled, scaled), r))


def circle(noise: float = 0.2) -> Case:
    """The coordinates of a point on a circle, each with normal noise."""
    return known(lambda n, g: circle_draws(n, g, noise), lambda: circle_information(noise))


def complex_square(noise: float = 0.01) -> Case:
    """x uniform in the unit disc, y = x^2 as a complex number plus noise; quadrature over two radii."""

    def sample(n: int, g: Generator) -> Pair:
        z = np.sqrt(g.random(n)) * np.exp(2j * np.pi * g.random(n))
        x, squared = (np.column_stack([v.real, v.imag]) for v in (z, z**2))
        return x, squared + noise * g.normal(size=(n, 2))

    def truth() -> float:
        modulus, r = middles(0, 1, 600), np.linspace(0, 1 + 9 * noise, 1501)
        density = np.array([
            (special.ive(0, some * modulus / noise**2) * np.exp(-((some - modulus) ** 2) / (2 * noise**2))).mean()
            for some in r
        ]) / (2 * np.pi * noise**2)  # fmt: skip
        entropy = -np.trapezoid(2 * np.pi * r * special.xlogy(density, density), r)
        return entropy - 2 * NOISE - 2 * np.log(noise)

    return known(sample, truth)


def woven(dim: int, pairs: int, pair: Callable[[int, Generator], Pair], truth: Callable[[], float]) -> Case:
    """Independent pairs among independent columns; x and y are rotated. I is the sum over pairs."""
    g = np.random.default_rng([dim, pairs])
    rotations = [np.linalg.qr(g.normal(size=(dim, dim)))[0] for _ in range(2)]

    def sample(n: int, g: Generator) -> Pair:
        drawn = [pair(n, g) for _ in range(dim)]
        x, y = (np.column_stack(side) for side in zip(*drawn))
        y[:, pairs:] = y[g.permutation(n), pairs:]
        return x @ rotations[0], y @ rotations[1]

    return known(sample, lambda: pairs * truth())


# --- shared scales -------------------------------------------------------------------------------------------------
def shared_spread(dim_x: int = 2, dim_y: int = 3, degrees: float = 4.0, correlation: float = 0.4) -> Case:
    """A Student vector whose first columns are correlated."""

    def draw(n: int, g: Generator) -> NDArray:
        z = g.normal(size=(n, dim_x + dim_y))
        z[:, dim_x] = correlation * z[:, 0] + math.sqrt(1 - correlation**2) * z[:, dim_x]
        return z / np.sqrt(g.chisquare(degrees, (n, 1)) / degrees)

    return split_columns(draw, dim_x, student_information(dim_x, dim_y, degrees) - 0.5 * math.log1p(-(correlation**2)))


def shared_volatility(dim: int, spread: float) -> Case:
    """Uncorrelated normal columns times one lognormal number per row; entropies from the density of the length."""

    def entropy(columns: int) -> float:
        logs = np.linspace(-8, 8, 1601) * spread
        weights = stats.norm.pdf(logs, scale=spread)
        weights /= weights.sum()
        length = np.exp(np.linspace(-12, 12, 6001))
        others = weights * np.exp(-(columns - 1) * (logs + 0.5 * math.log(2 * math.pi)))  # of all columns but one
        density = others.sum() * normal_mixture(length, 0.0, others, np.exp(logs))
        surface = math.log(2) + columns / 2 * math.log(math.pi) - special.gammaln(columns / 2)
        shells = np.exp(surface + columns * np.log(length))
        return float(-np.trapezoid(shells * special.xlogy(density, density), np.log(length)))

    draw = lambda n, g: np.exp(spread * g.normal(size=(n, 1))) * g.normal(size=(n, 2 * dim))  # noqa: E731
    return split_columns(draw, dim, lambda: 2 * entropy(dim) - entropy(2 * dim))


# --- rounding, censoring, counts -----------------------------------------------------------------------------------
def rounded_gaussian(nats: float = 0.5, grid: float = 0.5) -> Case:
    """Two correlated normals, rounded to a grid (in standard deviations)."""
    correlation, noise = np.sqrt(1 - np.exp(-2 * nats)), np.exp(-nats)

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=n)
        y = correlation * x + noise * g.normal(size=n)
        return np.round(x / grid) * grid, np.round(y / grid) * grid

    def truth() -> float:
        cells = np.arange(-16, 17) * grid
        nodes, weights = np.polynomial.legendre.leggauss(20)
        x = cells[:, None] + nodes * grid / 2
        density = stats.norm.pdf(x) * weights * grid / 2
        edges = np.append(cells - grid / 2, cells[-1] + grid / 2)
        given = np.diff(stats.norm.cdf((edges - correlation * x[..., None]) / noise), axis=-1)
        return table_information((density[..., None] * given).sum(axis=1))

    return known(sample, truth)


def numbered_cells(levels: int = 6) -> Case:
    """Two independent categories given as numbers: nearly every row has k others at distance 0."""
    return known(lambda n, g: tuple(g.integers(0, levels, (2, n)) + 0.5), 0.0)


def censored(kept: float = 0.7) -> Case:
    """y is correlated with x and recorded as 0 where it is negative."""
    rest = math.sqrt(1 - kept**2)

    def truth() -> float:
        x, y = np.linspace(-8, 8, 4001), np.linspace(0, 9, 3001)
        none = special.ndtr(-kept * x / rest)
        seen = np.array([entropy_of(y, stats.norm.pdf(y, kept * one, rest)) for one in x])
        left = float(np.trapezoid(stats.norm.pdf(x) * (special.entr(none) + seen), x))
        return float(special.entr(0.5)) + entropy_of(y, stats.norm.pdf(y)) - left

    return response(normals(), lambda x, g: np.maximum(kept * x + rest * g.normal(size=len(x)), 0.0), truth)


def both_censored(kept: float = 0.8, limit: float = 0.0) -> Case:
    """Two correlated normals, each recorded as the limit where it is below; quadrature over parts of the plane."""
    rest = math.sqrt(1 - kept**2)

    def sample(n: int, g: Generator) -> Pair:
        x, z = g.normal(size=(2, n))
        return np.maximum(x, limit), np.maximum(kept * x + rest * z, limit)

    def truth() -> float:
        nodes, weights = np.polynomial.legendre.leggauss(200)
        v, weights = limit + (nodes + 1) * (9 - limit) / 2, weights * (9 - limit) / 2
        below = stats.norm.cdf(limit)
        given = stats.norm.cdf((limit - kept * v) / rest)  # the other is below, given v
        ratio = stats.norm.logpdf(v[:, None], kept * v, rest) - stats.norm.logpdf(v)[:, None]
        inside = weights * stats.norm.pdf(v)
        joint = np.exp(ratio) * np.outer(inside, inside)
        one = inside @ special.xlogy(given, given / below)
        both = below - inside @ given
        return float((joint * ratio).sum() + 2 * one + both * np.log(both / below**2))

    return known(sample, truth)


def clipped(kept: float = 0.8, end: float = 1.0) -> Case:
    """y is correlated with x and clipped at both ends, in a third of the rows."""
    rest = math.sqrt(1 - kept**2)

    def truth() -> float:
        y = np.linspace(-end, end, 2001)
        below, above = (special.ndtr((-end - sign * kept * X) / rest) for sign in (1, -1))
        within = np.array([entropy_of(y, stats.norm.pdf(y, kept * x, rest)) for x in X])
        left = float(WEIGHTS @ (special.entr(below) + special.entr(above) + within))
        return 2 * float(special.entr(special.ndtr(-end))) + entropy_of(y, stats.norm.pdf(y)) - left

    return response(normals(), lambda x, g: np.clip(kept * x + rest * g.normal(size=len(x)), -end, end), truth)


def amounts(steepness: float = 1.5, slope: float = 0.5, noise: float = 0.7) -> Case:
    """y is 0 in half of the rows and else lognormal; probability and mean depend on x."""

    def sample(n: int, g: Generator) -> Pair:
        x, z = g.normal(size=(2, n))
        return x, np.where(g.random(n) < special.expit(steepness * x), np.exp(slope * x + noise * z), 0.0)

    def truth() -> float:
        share = special.expit(steepness * X)
        spent = math.log(2) - float(WEIGHTS @ (special.entr(share) + special.entr(1 - share)))
        return spent + 0.5 * through_noise(noise, slope * X, WEIGHTS * share, np.linspace(-12, 12, 4801))

    return known(sample, truth)


def gamma_counts(shape: float = 2.0, scale: float = 2.0) -> Case:
    """x is a gamma variable, y a Poisson count of that rate, taken as a number."""

    def truth() -> float:
        y = np.arange(120)
        of_y = stats.nbinom.pmf(y, shape, 1 / (1 + scale))
        x = stats.gamma.ppf((np.arange(4000) + 0.5) / 4000, shape, scale=scale)
        given = stats.poisson.pmf(y, x[:, None])
        return float(special.entr(of_y).sum() - special.entr(given).sum(axis=1).mean())

    return response(lambda n, g: g.gamma(shape, scale, n), lambda x, g: g.poisson(x).astype(float), truth)


def counts_of_one(dim: int = 3, slope: float = 0.8) -> Case:
    """Poisson counts, as numbers, with the exponential of one of three columns as rate."""

    def truth() -> float:
        given = stats.poisson.pmf(np.arange(900), np.exp(slope * X)[:, None])
        return float(special.entr(WEIGHTS @ given).sum() - WEIGHTS @ special.entr(given).sum(axis=1))

    return response(normals(dim), lambda x, g: g.poisson(np.exp(slope * x[:, 0])).astype(float), truth)


def zero_inflated_poisson(zeros: float = 0.15) -> Case:
    """x exponential, y zero with probability `zeros`, else Poisson of mean x (Gao et al. 2017; by quadrature)."""

    def truth() -> float:
        x, weights = np.polynomial.legendre.leggauss(400)
        x, weights = 20 * (x + 1), 20 * weights
        given = (1 - zeros) * stats.poisson.pmf(np.arange(80), x[:, None])
        given[:, 0] += zeros
        joint = (weights * np.exp(-x))[:, None] * given
        of_y = joint.sum(axis=0)
        return float((joint * np.log(np.maximum(given, 1e-300) / np.maximum(of_y, 1e-300))).sum())

    return response(
        lambda n, g: g.exponential(size=n),
        lambda x, g: np.where(g.random(len(x)) < zeros, 0, g.poisson(x)),
        truth,
        "counts",
    )


def grades(dim: int = 6, useful: int = 3, kept: float = 0.8) -> Case:
    """Seven ordered grades, as numbers, of the mean of three of six columns plus noise."""
    cuts = np.array([-1.5, -0.9, -0.3, 0.3, 0.9, 1.5])

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, dim))
        behind = kept * x[:, :useful].sum(axis=1) / math.sqrt(useful) + math.sqrt(1 - kept**2) * g.normal(size=n)
        return x, np.digitize(behind, cuts).astype(float)

    def truth() -> float:
        points = np.linspace(-8, 8, 4001)
        ends = np.concatenate([[-np.inf], cuts, [np.inf]])
        given = np.diff(special.ndtr((ends - kept * points[:, None]) / math.sqrt(1 - kept**2)), axis=1)
        left = float(np.trapezoid(stats.norm.pdf(points) * special.entr(given).sum(axis=1), points))
        return float(special.entr(np.diff(special.ndtr(ends))).sum()) - left

    return known(sample, truth)


# --- independent ---------------------------------------------------------------------------------------------------
def nothing(dim: int = 6) -> Case:
    """Columns that depend on one another within x and within y; x and y are independent."""

    def sample(n: int, g: Generator) -> Pair:
        x, y = (g.normal(size=(n, dim)) + g.normal(size=(n, 1)) for _ in range(2))
        return x, np.exp(y)

    return known(sample, 0.0)


def clouds_and_tails(dim_x: int = 4, dim_y: int = 3) -> Case:
    """x in two clusters, y with heavy tails, independent."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.choice([-2.0, 2.0], (n, 1)) + g.normal(size=(n, dim_x))
        return x, g.normal(size=(n, dim_y)) / np.sqrt(g.chisquare(2, (n, 1)) / 2)

    return known(sample, 0.0)


def tails_and_amounts() -> Case:
    """x with heavy tails, y with many zeros, independent."""
    return response(
        lambda n, g: g.normal(size=(n, 2)) / np.sqrt(g.chisquare(2, (n, 1)) / 2),
        lambda x, g: np.where(g.random(len(x)) < 0.4, np.exp(g.normal(size=len(x))), 0.0),
        0.0,
    )
