"""Twenty-nine distributions of known information, held out until the reading was fixed.

The first half is easy for nearest neighbours, the second half hard. Truths and draws
must not change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special, stats

from infoscope.data.information import table_information
from infoscope.data.tasks.cases import (
    DRAWS,
    NOISE,
    Case,
    Draw,
    Generator,
    Map,
    Pair,
    mean_of_draws,
    middles,
    normal_mixture,
    normals,
    plus_noise,
    response,
    split_columns,
    through_noise,
    with_truth,
)  # fmt: skip
from infoscope.data.tasks.everyday import parity_of_signs


# --- a function and noise ------------------------------------------------------------------------------------------
def normal_noise(
    draw: Draw, signal: Map, noise: float, values: NDArray, weights: NDArray
) -> Case:
    """y = signal(x) + noise * normal, with the weighted values of the signal."""

    def truth():
        return through_noise(noise, values, weights)

    return response(draw, plus_noise(signal, noise), truth)


def squared_length(dim: int) -> Case:
    """y = |x|^2 + noise, x of `dim` normal columns."""
    noise = 1.0
    values = middles(0, 12 * dim)
    weights = stats.chi2.pdf(values, dim)

    def signal(x):
        return (x**2).sum(axis=1)

    return normal_noise(normals(dim), signal, noise, values, weights)


def largest_of(dim: int) -> Case:
    """y = the largest of `dim` exponential columns + noise."""
    noise = 0.1
    values = middles(0, 30)
    below = -np.expm1(-values)
    others_below = below ** (dim - 1)
    weights = np.exp(-values) * others_below

    def draw(n, g):
        return g.exponential(size=(n, dim))

    def signal(x):
        return x.max(axis=1)

    return normal_noise(draw, signal, noise, values, weights)


def surface(noise: float = 0.005) -> Case:
    """x uniform in the cube, y = x1 x2 + x3 + little noise.

    P(x1 x2 < p) = p (1 - log p).
    """
    values = middles(0, 2, 2000)
    ends = np.clip([values, values - 1], 0, 1)
    below_upper, below_lower = ends - special.xlogy(ends, ends)
    weights = below_upper - below_lower

    def draw(n, g):
        return g.random((n, 3))

    def signal(x):
        x1, x2, x3 = x.T
        return x1 * x2 + x3

    return normal_noise(draw, signal, noise, values, weights)


def zero_or_gamma() -> Case:
    """x is 0 with probability 0.4 and else gamma of shape 2; y = x + normal / 2."""
    zeros = 0.4
    noise = 0.5
    x = middles(0, 30)
    density = stats.gamma.pdf(x, 2)
    of_positive = (1 - zeros) * density / density.sum()
    weights = np.append(of_positive, zeros)
    values = np.append(x, 0)

    def draw(n, g):
        positive = g.random(n) >= zeros
        return positive * g.gamma(2, size=n)

    return normal_noise(draw, np.asarray, noise, values, weights)


def product_among(dim: int) -> Case:
    """y = x1 x2 + noise, of `dim` normal columns.

    Given x1 alone, y is normal of variance x1^2 + noise^2.
    """
    noise = 0.3
    x1 = middles(-8, 8)
    spread = np.hypot(x1, noise)

    def signal(x):
        return x[:, 0] * x[:, 1]

    def truth():
        return through_noise(noise, 0.0, stats.norm.pdf(x1), spread)

    return response(normals(dim), plus_noise(signal, noise), truth)


def growing_noise() -> Case:
    """x uniform on (0, 3), y = x + (0.1 + x / 2) normal."""

    def spread(x):
        return 0.1 + x / 2

    def draw(n, g):
        return 3 * g.random(n)

    def respond(x, g):
        return x + spread(x) * g.normal(size=len(x))

    def truth():
        x = middles(0, 3)
        mean_spread = stats.gmean(spread(x))
        return through_noise(mean_spread, x, 1.0, spread(x))

    return response(draw, respond, truth)


def product_noise() -> Case:
    """y = x * normal, x normal: y has density K0(|y|) / pi."""

    def entropy_at(y):
        return special.entr(special.k0(y) / np.pi)

    def truth():
        near, _ = integrate.quad(entropy_at, 0, 1)
        far, _ = integrate.quad(entropy_at, 1, 300)
        entropy = 2 * (near + far)
        mean_log_size = -(np.euler_gamma + np.log(2)) / 2  # E log |x|
        return entropy - NOISE - mean_log_size

    def respond(x, g):
        return x * g.normal(size=len(x))

    return response(normals(), respond, truth)


# --- normal columns ------------------------------------------------------------------------------------------------
def moving_correlation() -> Case:
    """The correlation r of y and x1 is 0.95 sin(pi x2), x2 uniform on (-1, 1).

    I is the mean of -log(1 - r^2) / 2.
    """

    def correlation(x2):
        return 0.95 * np.sin(np.pi * x2)

    def sample(n, g):
        x1 = g.normal(size=n)
        x2 = g.uniform(-1, 1, n)
        r = correlation(x2)
        scale = np.sqrt(1 - r**2)
        y = r * x1 + scale * g.normal(size=n)
        return np.column_stack([x1, x2]), y

    r = correlation(middles(-1, 1))
    logs = np.log1p(-(r**2))
    return with_truth(sample, -0.5 * logs.mean())


def crossed_corners() -> Case:
    """x and y near corners (+-2, +-2) with unit noise; products of signs are equal.

    The density ratio is 1 + the product of tanh(2 v) over the four columns; its mean
    logarithm is by Monte Carlo.
    """
    corner = 2.0

    def draw(n, g):
        signs = g.choice([-1.0, 1.0], (n, 4))
        signs[:, 3] = signs[:, :3].prod(axis=1)
        return corner * signs + g.normal(size=(n, 4))

    def truth():
        g = np.random.default_rng(7)
        values = draw(DRAWS, g)
        agreement = np.tanh(corner * values).prod(axis=1)
        return mean_of_draws(np.log1p(agreement))

    return split_columns(draw, 2, truth)


def both_censored() -> Case:
    """Two correlated normals, recorded as the limit where below it; by quadrature."""
    correlation = 0.8
    limit = -0.5
    noise = math.sqrt(1 - correlation**2)

    def sample(n, g):
        x, z = g.normal(size=(2, n))
        y = correlation * x + noise * z
        return np.maximum(x, limit), np.maximum(y, limit)

    def truth():
        nodes, weights = np.polynomial.legendre.leggauss(200)
        half = (9 - limit) / 2
        v = limit + (nodes + 1) * half
        above = half * weights * stats.norm.pdf(v)
        below = stats.norm.cdf(limit)
        mean = correlation * v  # of the other, given v
        other_below = stats.norm.cdf((limit - mean) / noise)
        log_given_other = stats.norm.logpdf(v[:, None], mean, noise)
        log_density = stats.norm.logpdf(v)
        log_ratio = log_given_other - log_density[:, None]
        joint = np.exp(log_ratio) * np.outer(above, above)
        of_none = (joint * log_ratio).sum()
        terms = special.xlogy(other_below, other_below / below)
        of_one = above @ terms
        both_below = below - above @ other_below
        ratio = both_below / below**2
        of_both = both_below * np.log(ratio)
        return of_none + 2 * of_one + of_both

    return with_truth(sample, truth)


def shared_volatility(dim: int, spread: float) -> Case:
    """Uncorrelated normal columns times one lognormal number per row.

    Entropies come from the density of the length of a row.
    """

    def entropy(columns):
        logs = np.linspace(-8, 8, 1601) * spread
        weights = stats.norm.pdf(logs, scale=spread)
        weights /= weights.sum()
        length = np.exp(np.linspace(-12, 12, 6001))
        log_scale = logs + 0.5 * math.log(2 * math.pi)
        log_heights = -(columns - 1) * log_scale  # of all columns but one
        others = weights * np.exp(log_heights)
        mixture = normal_mixture(length, 0.0, others, np.exp(logs))
        density = others.sum() * mixture
        half = columns / 2
        log_surface = math.log(2) + half * math.log(math.pi)
        log_surface -= special.gammaln(half)
        log_length = np.log(length)
        shells = np.exp(log_surface + columns * log_length)
        terms = special.entr(density)
        return np.trapezoid(shells * terms, log_length)

    def draw(n, g):
        logs = spread * g.normal(size=(n, 1))
        volatility = np.exp(logs)
        return volatility * g.normal(size=(n, 2 * dim))

    def truth():
        return 2 * entropy(dim) - entropy(2 * dim)

    return split_columns(draw, dim, truth)


# --- copulas and shares --------------------------------------------------------------------------------------------
def gamma_frailty(dim_x: int, dim_y: int, theta: float, then: Map) -> Case:
    """Survival times of a Clayton copula after an increasing map.

    The times are exponential columns over a shared gamma(1 / theta). As 1 / (1 + sum)
    is a beta variable, E log c is in digammas; for two columns it is log(1 + t) - t /
    (1 + t).
    """
    shape = 1 / theta
    columns = dim_x + dim_y

    def of_copula(dim):
        log_sum = special.digamma(shape + dim) - special.digamma(shape)
        log_factors = np.log1p(theta * np.arange(dim))
        linear = (theta + 1) * dim
        return log_factors.sum() + linear - (dim + shape) * log_sum

    def draw(n, g):
        hazards = g.exponential(size=(n, columns))
        frailty = g.gamma(shape, size=(n, 1))
        return then(hazards / frailty)

    truth = of_copula(columns) - of_copula(dim_x) - of_copula(dim_y)
    return split_columns(draw, dim_x, truth)


def gumbel_laplace() -> Case:
    """The Gumbel copula with Laplace margins, by quadrature.

    It is over a = -log C, whose distribution is a mixture of gammas.
    """
    theta = 2.0

    def sample(n, g):
        stable = 0.5 / g.normal(size=(n, 1)) ** 2  # of index 1 / 2
        ratio = g.exponential(size=(n, 2)) / stable
        u = np.exp(-(ratio ** (1 / theta)))
        inside = np.clip(u, 1e-300, 1 - 1e-16)
        x, y = stats.laplace.ppf(inside).T
        return x, y

    def term(a):
        factor = 1 - 1 / theta + a / theta
        density = np.exp(-a) * factor
        return density * np.log(a + theta - 1)

    def truth():
        shifted, _ = integrate.quad(term, 0, np.inf)
        of_log = -np.euler_gamma + 1 / theta
        of_a = 1 + 1 / theta
        of_margins = 2 * (theta - 1) * np.euler_gamma
        of_density = (1 - 2 * theta) * of_log
        return 2 - of_a - of_margins + of_density + shifted

    return with_truth(sample, truth)


def frank_draws(n: int, g: Generator, theta: float) -> Pair:
    """Draws of Frank's copula."""
    full = -math.expm1(-theta)
    u, w = g.random((2, n))
    decay = np.exp(-theta * u)
    scale = w + (1 - w) * decay
    logs = np.log1p(-w * full / scale)
    return u, -logs / theta


def frank_log_density(u: NDArray, v: NDArray, theta: float) -> NDArray:
    """ln c(u, v) of Frank's copula (Nelsen 2006, table 4.1)."""
    of_u = -np.expm1(-theta * u)
    of_v = -np.expm1(-theta * v)
    full = -np.expm1(-theta)
    log_numerator = np.log(theta * full) - theta * (u + v)
    return log_numerator - 2 * np.log(full - of_u * of_v)


def frank_information(theta: float) -> float:
    """Information of Frank's copula, nats: quadrature of c log c over the square."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    v = (nodes + 1) / 2
    log_density = frank_log_density(v[:, None], v, theta)
    terms = np.exp(log_density) * log_density
    integral = weights @ terms @ weights
    return float(integral / 4)


def frank(theta: float, quantile_x: Map, quantile_y: Map) -> Case:
    """Frank's copula, without tail dependence, and margins by quantile functions."""

    def sample(n, g):
        u, v = frank_draws(n, g, theta)
        return quantile_x(u), quantile_y(v)

    return with_truth(sample, lambda: frank_information(theta))


def composition() -> Case:
    """x and y are two parts each of a Dirichlet with five parts.

    The information is a closed form, as sums of parts are Dirichlet too.
    """
    weights = (2.0, 1.5, 3.0, 1.0)
    other_weight = 0.7

    def entropy(of_parts):
        remainder = sum(weights) + other_weight - sum(of_parts)
        return stats.dirichlet([*of_parts, remainder]).entropy()

    def draw(n, g):
        parts = g.dirichlet([*weights, other_weight], n)
        return parts[:, :4]

    of_x = entropy(weights[:2])
    of_y = entropy(weights[2:])
    truth = of_x + of_y - entropy(weights)
    return split_columns(draw, 2, truth)


# --- angles and circles --------------------------------------------------------------------------------------------
def angles() -> Case:
    """Two directions from -pi to pi, y = x plus von Mises noise."""
    concentration = 3.0

    def sample(n, g):
        x = g.uniform(-np.pi, np.pi, n)
        turned = x + g.vonmises(0, concentration, n)
        return x, np.angle(np.exp(1j * turned))

    ratio = special.i1e(concentration) / special.i0e(concentration)
    log_norm = math.log(special.i0(concentration))
    return with_truth(sample, concentration * ratio - log_norm)


def circle_draws(n: int, g: Generator, noise: float) -> Pair:
    """The coordinates of points on a circle, each with normal noise."""
    angle = 2 * np.pi * g.random(n)
    noise_x, noise_y = noise * g.normal(size=(2, n))
    return np.cos(angle) + noise_x, np.sin(angle) + noise_y


def circle_information(noise: float) -> float:
    """Information, nats: twice the entropy of a coordinate less the entropy of the point.

    The radius of the point is a Rice variable; the entropies are by quadrature.
    """
    variance = noise**2
    coordinates = np.cos(np.pi * middles(0, 1))
    nats = through_noise(noise, coordinates, 1.0)
    of_coordinate = nats + NOISE + np.log(noise)
    r = np.linspace(0, 1 + 10 * noise, 20_001)
    squared_distance = (r - 1) ** 2
    near = np.exp(-squared_distance / (2 * variance))
    bessel = special.ive(0, r / variance)
    density = bessel * near / (2 * np.pi * variance)
    of_point = radial_integral(special.entr(density), r)
    return 2 * of_coordinate - of_point


def radial_integral(values: NDArray, radii: NDArray) -> float:
    """The integral over the plane of a function of the radius."""
    shells = 2 * np.pi * radii * values
    return float(np.trapezoid(shells, radii))


def circle() -> Case:
    """The coordinates of a point on a circle, each with normal noise."""
    noise = 0.2

    def sample(n, g):
        return circle_draws(n, g, noise)

    return with_truth(sample, lambda: circle_information(noise))


def coordinates(z: NDArray) -> NDArray:
    """Real and imaginary parts [n, 2] of complex numbers [n]."""
    return np.column_stack([np.real(z), np.imag(z)])


def complex_square(noise: float = 0.01) -> Case:
    """x uniform in the unit disc, y = x^2 as a complex number, plus noise.

    The truth is by quadrature over two radii.
    """

    def sample(n, g):
        modulus = np.sqrt(g.random(n))
        angle = 2j * np.pi * g.random(n)
        x = modulus * np.exp(angle)
        y = noise * g.normal(size=(n, 2))
        y += coordinates(x**2)
        return coordinates(x), y

    def truth():
        variance = noise**2
        modulus = middles(0, 1, 600)
        radii = np.linspace(0, 1 + 9 * noise, 1501)
        means = []
        for radius in radii:
            squared_distance = (radius - modulus) ** 2
            near = np.exp(-squared_distance / (2 * variance))
            bessel = special.ive(0, radius * modulus / variance)
            means.append((bessel * near).mean())
        density = np.array(means) / (2 * np.pi * variance)
        entropy = radial_integral(special.entr(density), radii)
        return entropy - 2 * NOISE - 2 * np.log(noise)

    return with_truth(sample, truth)


def woven(dim: int, pairs: int, pair: Draw, truth: Callable[[], float]) -> Case:
    """Dependent pairs of columns among independent columns; x and y are rotated.

    I is the sum over the pairs.
    """
    draws = np.random.default_rng([dim, pairs])
    matrices = draws.normal(size=(2, dim, dim))
    rotation_x, rotation_y = np.linalg.qr(matrices).Q

    def sample(n, g):
        columns = np.array([pair(n, g) for _ in range(dim)])
        x, y = np.moveaxis(columns, 0, 2)
        order = g.permutation(n)
        y[:, pairs:] = y[order, pairs:]
        return x @ rotation_x, y @ rotation_y

    return with_truth(sample, lambda: pairs * truth())


# --- sharp edges ---------------------------------------------------------------------------------------------------
def coarse_and_fine() -> Case:
    """x = cell + place; y = cell (sometimes redrawn) + place moved within a window.

    Places are modulo 1. I is the information of the cells less log window.
    """
    cells = 30
    copied = 0.7
    window = 0.1

    def sample(n, g):
        cell = g.integers(0, cells, n)
        place = g.random(n)
        is_copied = g.random(n) < copied
        redrawn = g.integers(0, cells, n)
        other = np.where(is_copied, cell, redrawn)
        shift = window * g.random(n)
        moved = (place + shift) % 1
        return cell + place, other + moved

    other_given_cell = copied * np.eye(cells) + (1 - copied) / cells
    of_cells = table_information(other_given_cell / cells)
    return with_truth(sample, of_cells - np.log(window))


def rare_event() -> Case:
    """Independent uniforms; in 2 % of rows x determines y to a thousandth.

    I = H(share) - share log window.
    """
    share = 0.02
    window = 0.001

    def sample(n, g):
        event = g.random(n) < share
        x, y = g.random((2, n))
        near_x = (x + window * y) % 1
        y = np.where(event, near_x, y)
        return x + 2 * event, y + 2 * event

    entropy = special.entr([share, 1 - share]).sum()
    return with_truth(sample, entropy - share * np.log(window))


# --- labels --------------------------------------------------------------------------------------------------------
def classes_on_a_ring() -> Case:
    """Three classes of von Mises angles, a third of a turn apart; radii are noise."""
    concentration = 4.0

    def sample(n, g):
        y = g.integers(0, 3, n)
        deviation = g.vonmises(0, concentration, n)
        angle = deviation + 2 * np.pi * y / 3
        radius = 1 + 0.1 * g.normal(size=n)
        x = radius * np.array([np.cos(angle), np.sin(angle)])
        return x.T, y

    angle = middles(0, 2 * np.pi)
    centres = 2 * np.pi * np.arange(3) / 3
    cosine = np.cos(angle[:, None] - centres)
    joint = np.exp(concentration * cosine)
    return with_truth(sample, table_information(joint / joint.sum()), "labels")


def label_of_score(
    weights: tuple[float, ...], cuts: tuple[float, ...], curve: Map
) -> Case:
    """An ordered label of normal columns x: P(y <= j) = curve(cut j - weights x).

    I = H(y) - H(y | score), by quadrature.
    """

    def below(score):
        return curve(np.array(cuts) - score[:, None])

    def label(x, g):
        levels = below(x @ np.array(weights))
        above = g.random((len(x), 1)) > levels
        return above.sum(axis=1)

    def truth():
        z = middles(-9, 9)
        scores = np.linalg.norm(weights) * z
        levels = below(scores)
        shares = np.diff(levels, axis=1, prepend=0, append=1)
        density = stats.norm.pdf(z)
        joint = shares * density[:, None]
        return table_information(joint / joint.sum())

    return response(normals(len(weights)), label, truth, "labels")


def successes() -> Case:
    """x is a beta probability, y the number of successes in ten trials.

    I is H(y) of the beta-binomial less E H(y | x), by quadrature.
    """
    trials = 10
    shape = 0.7

    def truth():
        counts = np.arange(trials + 1)
        of_y = stats.betabinom.pmf(counts, trials, shape, shape)
        x = stats.beta.ppf(middles(0, 1, 20_000), shape, shape)
        of_y_given_x = stats.binom.pmf(counts, trials, x[:, None])
        entropies = special.entr(of_y_given_x).sum(axis=1)
        entropy = special.entr(of_y).sum()
        return entropy - entropies.mean()

    def draw(n, g):
        return g.beta(shape, shape, n)

    def respond(x, g):
        return g.binomial(trials, x)

    return response(draw, respond, truth, "labels")


def small_circle(n: int, g: Generator) -> Pair:
    """The coordinates of a point on a circle with little noise."""
    return circle_draws(n, g, 0.1)


def logistic_frank(n: int, g: Generator) -> Pair:
    """Draws of Frank's copula with logistic margins."""
    u, v = frank_draws(n, g, 10.0)
    return special.logit(u), special.logit(v)


UNSEEN: Mapping[str, Case] = {
    "clayton-exponential": gamma_frailty(1, 1, 2.0, lambda v: np.log1p(v) / 2),
    "weibull-frailty-2-1": gamma_frailty(2, 1, 1.5, lambda v: v ** (1 / 3)),
    "gumbel-laplace": gumbel_laplace(),
    "frank-gamma": frank(6.0, stats.gamma(0.5).ppf, stats.gamma(3).ppf),
    "growing-noise": growing_noise(),
    "circle": circle(),
    "crossed-corners": crossed_corners(),
    "moving-correlation": moving_correlation(),
    "probit-label-2": label_of_score((1.5, -1.0), (0.0,), stats.norm.cdf),
    "ordinal-label-4": label_of_score(
        (1.0, 1.0, -1.0, 0.5), (-2.0, -0.5, 0.5, 2.5), special.expit
    ),
    "classes-on-a-ring": classes_on_a_ring(),
    "zero-or-gamma": zero_or_gamma(),
    "both-censored-below": both_censored(),
    "centred-angles": angles(),
    "composition": composition(),
    "successes": successes(),
    "product-noise": product_noise(),
    "surface-3": surface(),
    "complex-square": complex_square(),
    "shared-volatility-2": shared_volatility(2, 0.75),
    "pareto-3": gamma_frailty(3, 3, 1.0, lambda v: v),
    "product-among-4": product_among(4),
    "sign-parity-3-of-6": parity_of_signs(6, signs=3, wrong=0.05),
    "coarse-and-fine": coarse_and_fine(),
    "rare-event": rare_event(),
    "woven-frank-6": woven(6, 3, logistic_frank, lambda: frank_information(10.0)),
    "woven-circles-10": woven(10, 4, small_circle, lambda: circle_information(0.1)),
    "squared-length-8": squared_length(8),
    "largest-of-6": largest_of(6),
}
