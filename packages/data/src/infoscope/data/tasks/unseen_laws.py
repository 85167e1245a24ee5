"""Held-out distributions: easy ones for nearest neighbours in the first half, hard ones in the second.

Closed forms or quadrature (to 1e-4 nats), once Monte Carlo over the exact density ratio.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import integrate, special, stats

from infoscope.data.tasks.known_truth import Case, discrete_information, normal_mixture

DRAWS = 400_000  # of the Monte Carlo truth
NORMAL = 0.5 * np.log(2 * np.pi * np.e)  # entropy of the standard normal, nats
Generator = np.random.Generator
Pair = tuple[NDArray, NDArray]
Truth = Callable[[], float]


def _law(sample: Callable[[int, Generator], Pair], truth: Truth, y: str = "numbers") -> Case:
    exact = functools.cache(truth)
    return Case("mi", y, sample, lambda: (float(exact()), 0.0))


def _entropy(points: NDArray, density: NDArray) -> float:
    return float(-np.trapezoid(special.xlogy(density, density), points))


def _through_noise(values: ArrayLike, weights: ArrayLike, noise: ArrayLike, of: ArrayLike | None = None) -> float:
    """I(x; y), nats, of y = v + noise * normal for a v given x, on weighted nodes; `of`: scale of the noise given x."""
    reach = 9 * np.max(noise)
    points = np.linspace(np.min(values) - reach, np.max(values) + reach, 3001)
    if of is None:
        weights = np.broadcast_to(weights, np.shape(values))
        of = np.exp(weights @ np.log(np.broadcast_to(noise, np.shape(values))) / weights.sum())
    return _entropy(points, normal_mixture(points, values, weights, noise)) - NORMAL - float(np.log(of))


def _middles(low: float, high: float, count: int = 1500) -> NDArray:
    return low + (np.arange(count) + 0.5) * (high - low) / count


# --- where neighbours should do well ---


def gamma_frailty(dim_x: int, dim_y: int, theta: float, then: Callable[[NDArray], NDArray]) -> Case:
    """Exponential columns over a shared gamma(1 / theta): the Clayton copula, its survival times through an increasing
    map. Closed form: 1 / (1 + sum) is a beta, so E log c is in digammas; for two columns log(1 + t) - t / (1 + t)."""

    def sample(n: int, g: Generator) -> Pair:
        both = then(g.exponential(size=(n, dim_x + dim_y)) / g.gamma(1 / theta, size=(n, 1)))
        return both[:, :dim_x], both[:, dim_x:]

    def of_copula(dim: int) -> float:
        log_sum = special.digamma(1 / theta + dim) - special.digamma(1 / theta)
        return np.log1p(theta * np.arange(dim)).sum() + (theta + 1) * dim - (dim + 1 / theta) * log_sum

    return _law(sample, lambda: of_copula(dim_x + dim_y) - of_copula(dim_x) - of_copula(dim_y))


def gumbel_laplace() -> Case:
    """The Gumbel copula of theta 2 with Laplace margins, by quadrature over a = -log C (a mixture of gammas)."""
    theta = 2.0

    def sample(n: int, g: Generator) -> Pair:
        stable = 0.5 / g.normal(size=(n, 1)) ** 2  # of index 1 / 2
        u = np.exp(-((g.exponential(size=(n, 2)) / stable) ** (1 / theta)))
        x, y = stats.laplace.ppf(np.clip(u, 1e-300, 1 - 1e-16)).T
        return x, y

    def truth() -> float:
        density = lambda a: np.exp(-a) * (1 - 1 / theta + a / theta)  # noqa: E731
        shifted = integrate.quad(lambda a: density(a) * np.log(a + theta - 1), 0, np.inf)[0]
        of_log = -np.euler_gamma + 1 / theta
        return 2 - (1 + 1 / theta) - 2 * (theta - 1) * np.euler_gamma + (1 - 2 * theta) * of_log + shifted

    return _law(sample, truth)


def _frank(n: int, g: Generator, theta: float) -> Pair:
    u, level = g.random((2, n))
    v = -np.log1p(level * np.expm1(-theta) / (level + (1 - level) * np.exp(-theta * u))) / theta
    return u, v


def _frank_information(theta: float) -> float:
    """The information of Frank's copula, by Gauss-Legendre quadrature of c log c over the square."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    u, weights = (nodes + 1) / 2, weights / 2
    e = np.exp(-theta * u)
    below = -np.expm1(-theta)
    density = theta * below * np.outer(e, e) / (below - np.outer(1 - e, 1 - e)) ** 2
    return weights @ (density * np.log(density)) @ weights


def frank_gamma(theta: float = 6.0) -> Case:
    """The Frank copula with gamma margins of shape 0.5 and 3; quadrature."""

    def sample(n: int, g: Generator) -> Pair:
        u, v = _frank(n, g, theta)
        return stats.gamma.ppf(u, 0.5), stats.gamma.ppf(v, 3)

    return _law(sample, lambda: _frank_information(theta))


def growing_noise() -> Case:
    """x uniform on (0, 3), y = x + (0.1 + x / 2) normal; quadrature."""

    def sample(n: int, g: Generator) -> Pair:
        x = 3 * g.random(n)
        return x, x + (0.1 + x / 2) * g.normal(size=n)

    x = _middles(0, 3)
    return _law(sample, lambda: _through_noise(x, 1.0, 0.1 + x / 2))


def _circle(n: int, g: Generator, noise: float) -> Pair:
    angle = 2 * np.pi * g.random(n)
    return np.cos(angle) + noise * g.normal(size=n), np.sin(angle) + noise * g.normal(size=n)


def _circle_information(noise: float) -> float:
    """Twice the entropy of a coordinate less that of the point, whose radius is a Rice variable; quadratures."""
    values = np.cos(np.pi * _middles(0, 1))
    of_coordinate = _through_noise(values, 1.0, noise) + NORMAL + np.log(noise)
    r = np.linspace(0, 1 + 10 * noise, 20_001)
    scaled = special.ive(0, r / noise**2) * np.exp(-((r - 1) ** 2) / (2 * noise**2)) / (2 * np.pi * noise**2)
    return 2 * of_coordinate + float(np.trapezoid(2 * np.pi * r * special.xlogy(scaled, scaled), r))


def circle(noise: float = 0.2) -> Case:
    """The two coordinates of a point of a circle, each with normal noise."""
    return _law(lambda n, g: _circle(n, g, noise), lambda: _circle_information(noise))


def crossed_corners(apart: float = 2.0) -> Case:
    """x and y near corners (+-2, +-2) with unit noise; the signs of x multiply to the same as those of y, and nothing
    else is shared. The density ratio is 1 + the product of tanh(2 v) over the four columns; Monte Carlo."""

    def sample(n: int, g: Generator) -> Pair:
        signs = g.choice([-1.0, 1.0], (n, 4))
        signs[:, 3] = signs[:, :3].prod(axis=1)
        both = apart * signs + g.normal(size=(n, 4))
        return both[:, :2], both[:, 2:]

    @functools.cache
    def truth() -> tuple[float, float]:
        ratios = np.log1p(np.tanh(apart * np.hstack(sample(DRAWS, np.random.default_rng(7)))).prod(axis=1))
        return float(ratios.mean()), float(ratios.std() / np.sqrt(DRAWS))

    return Case("mi", "numbers", sample, truth)


def moving_correlation(largest: float = 0.95) -> Case:
    """y's correlation with the first column of x is 0.95 sin(pi v) of the second, uniform on (-1, 1); y is normal
    given v, so I is the mean of -log(1 - r^2) / 2 over v; quadrature."""

    def sample(n: int, g: Generator) -> Pair:
        x = np.column_stack([g.normal(size=n), g.uniform(-1, 1, n)])
        r = largest * np.sin(np.pi * x[:, 1])
        return x, r * x[:, 0] + np.sqrt(1 - r**2) * g.normal(size=n)

    r = largest * np.sin(np.pi * _middles(-1, 1))
    return _law(sample, lambda: -0.5 * np.log1p(-(r**2)).mean())


def label_of_score(weights: tuple[float, ...], cuts: tuple[float, ...], curve: Callable[[NDArray], NDArray]) -> Case:
    """An ordered label of normal columns x: P(y <= j) = curve(cut j - weights x); H(y) - H(y | score), quadrature."""
    scale = float(np.linalg.norm(weights))

    def below(score: NDArray) -> NDArray:
        return np.column_stack([curve(cut - score) for cut in cuts])

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, len(weights)))
        return x, (g.random((n, 1)) > below(x @ np.array(weights))).sum(axis=1)

    def truth() -> float:
        z = _middles(-9, 9)
        shares = np.diff(below(scale * z), axis=1, prepend=0, append=1)
        joint = shares * stats.norm.pdf(z)[:, None]
        return discrete_information(joint / joint.sum())

    return _law(sample, truth, "labels")


def classes_on_a_ring(concentration: float = 4.0) -> Case:
    """Three classes a third of a turn apart, von Mises angles, radius 1 +- 0.1 (uninformative); quadrature."""

    def sample(n: int, g: Generator) -> Pair:
        y = g.integers(0, 3, n)
        angle, radius = g.vonmises(0, concentration, n) + 2 * np.pi * y / 3, 1 + 0.1 * g.normal(size=n)
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y

    def truth() -> float:
        angle = _middles(0, 2 * np.pi)
        joint = np.exp(concentration * np.cos(angle[:, None] - 2 * np.pi * np.arange(3) / 3))
        return discrete_information(joint / joint.sum())

    return _law(sample, truth, "labels")


def zero_or_gamma(zeros: float = 0.4) -> Case:
    """x is 0 with probability 0.4 and else gamma of shape 2; y = x + normal / 2; quadrature."""

    def sample(n: int, g: Generator) -> Pair:
        x = (g.random(n) >= zeros) * g.gamma(2, size=n)
        return x, x + g.normal(size=n) / 2

    def truth() -> float:
        x = _middles(0, 30)
        density = stats.gamma.pdf(x, 2)
        return _through_noise(np.append(x, 0), np.append((1 - zeros) * density / density.sum(), zeros), 0.5)

    return _law(sample, truth)


def censored(correlation: float = 0.8, limit: float = -0.5) -> Case:
    """Two normals, below a limit of detection both recorded as that limit; quadrature over the parts of the plane."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=n)
        y = correlation * x + np.sqrt(1 - correlation**2) * g.normal(size=n)
        return np.maximum(x, limit), np.maximum(y, limit)

    def truth() -> float:
        nodes, weights = np.polynomial.legendre.leggauss(200)
        v, weights = limit + (nodes + 1) * (9 - limit) / 2, weights * (9 - limit) / 2
        residual, below = np.sqrt(1 - correlation**2), stats.norm.cdf(limit)
        given = stats.norm.cdf((limit - correlation * v) / residual)  # the other is below, given v
        ratio = stats.norm.logpdf(v[:, None], correlation * v, residual) - stats.norm.logpdf(v)[:, None]
        inside = weights * stats.norm.pdf(v)
        joint = np.exp(ratio) * np.outer(inside, inside)
        one = inside @ special.xlogy(given, given / below)
        both = below - inside @ given
        return float((joint * ratio).sum() + 2 * one + both * np.log(both / below**2))

    return _law(sample, truth)


def angles(concentration: float = 3.0) -> Case:
    """A uniform angle and the same plus a von Mises error, both in (-pi, pi]: k I1(k) / I0(k) - log I0(k)."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.uniform(-np.pi, np.pi, n)
        return x, np.angle(np.exp(1j * (x + g.vonmises(0, concentration, n))))

    k = concentration
    return _law(sample, lambda: k * special.i1(k) / special.i0(k) - np.log(special.i0(k)))


def composition(parts: tuple[float, ...] = (2.0, 1.5, 3.0, 1.0), rest: float = 0.7) -> Case:
    """Shares of a whole: two and two more of five of a Dirichlet; closed form, as its parts are Dirichlet."""

    def sample(n: int, g: Generator) -> Pair:
        shares = g.dirichlet([*parts, rest], n)
        return shares[:, :2], shares[:, 2:4]

    def entropy(some: tuple[float, ...]) -> float:
        a = np.array([*some, sum(parts) + rest - sum(some)])
        total, digamma = a.sum(), special.digamma
        return (special.gammaln(a).sum() - special.gammaln(total) + (total - len(a)) * digamma(total)
                - ((a - 1) * digamma(a)).sum())  # fmt: skip

    return _law(sample, lambda: entropy(parts[:2]) + entropy(parts[2:]) - entropy(parts))


def successes(trials: int = 10, shape: float = 0.7) -> Case:
    """x a beta probability, y the successes in ten trials: H(y) of the beta-binomial less E H(y | x), quadrature."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.beta(shape, shape, n)
        return x, g.binomial(trials, x)

    def truth() -> float:
        marginal = stats.betabinom.pmf(np.arange(trials + 1), trials, shape, shape)
        x = stats.beta.ppf(_middles(0, 1, 20_000), shape, shape)
        given = stats.binom.pmf(np.arange(trials + 1), trials, x[:, None])
        return special.entr(marginal).sum() - special.entr(given).sum(axis=1).mean()

    return _law(sample, truth, "labels")


# --- where neighbours must fail or be doubted ---


def product_noise() -> Case:
    """y = x * normal, x normal: y has density K0(|y|) / pi; quadrature of its entropy."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=n)
        return x, x * g.normal(size=n)

    def truth() -> float:
        density = lambda y: special.k0(y) / np.pi  # noqa: E731
        inner = lambda y: special.xlogy(density(y), density(y))  # noqa: E731
        half = integrate.quad(inner, 0, 1)[0] + integrate.quad(inner, 1, 300)[0]
        return -2 * half - NORMAL + (np.euler_gamma + np.log(2)) / 2

    return _law(sample, truth)


def surface(noise: float = 0.005) -> Case:
    """x uniform in the cube, y = x1 x2 + x3 with hardly any noise; P(x1 x2 < p) = p (1 - log p), then quadrature."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.random((n, 3))
        return x, x[:, 0] * x[:, 1] + x[:, 2] + noise * g.normal(size=n)

    def below(p: NDArray) -> NDArray:
        p = np.clip(p, 0, 1)
        return p - special.xlogy(p, p)

    def truth() -> float:
        values = _middles(0, 2, 2000)
        return _through_noise(values, below(values) - below(values - 1), noise)

    return _law(sample, truth)


def complex_square(noise: float = 0.01) -> Case:
    """x uniform in the unit disk, y its square as a complex number, with noise in both coordinates; the modulus of the
    square is uniform and its angle as well, which leaves a quadrature over two radii."""

    def sample(n: int, g: Generator) -> Pair:
        z = np.sqrt(g.random(n)) * np.exp(2j * np.pi * g.random(n))
        x, squared = (np.column_stack([v.real, v.imag]) for v in (z, z**2))
        return x, squared + noise * g.normal(size=(n, 2))

    def truth() -> float:
        modulus, r = _middles(0, 1, 600), np.linspace(0, 1 + 9 * noise, 1501)
        density = np.array([
            (special.ive(0, some * modulus / noise**2) * np.exp(-((some - modulus) ** 2) / (2 * noise**2))).mean()
            for some in r
        ]) / (2 * np.pi * noise**2)  # fmt: skip
        entropy = -np.trapezoid(2 * np.pi * r * special.xlogy(density, density), r)
        return entropy - 2 * NORMAL - 2 * np.log(noise)

    return _law(sample, truth)


def shared_volatility(dim: int = 2, spread: float = 1.5) -> Case:
    """x and y normal with a common lognormal variance: radial quadratures of the entropies of scale mixtures."""

    def sample(n: int, g: Generator) -> Pair:
        both = np.exp(spread * g.normal(size=(n, 1)) / 2) * g.normal(size=(n, 2 * dim))
        return both[:, :dim], both[:, dim:]

    def entropy(columns: int) -> float:
        z = _middles(-9, 9, 200)
        r = np.exp(_middles(-14, 10, 2000))
        inner = -(r[:, None] ** 2) / 2 * np.exp(-spread * z) - columns / 2 * (np.log(2 * np.pi) + spread * z)
        log_density = special.logsumexp(inner, axis=1, b=stats.norm.pdf(z) * 18 / 200)
        surface = np.log(2) + columns / 2 * np.log(np.pi) - special.gammaln(columns / 2)
        return -(np.exp(log_density + surface + columns * np.log(r)) * log_density).sum() * 24 / 2000

    return _law(sample, lambda: 2 * entropy(dim) - entropy(2 * dim))


def product_among(dim: int, noise: float = 0.3) -> Case:
    """y = x1 x2 + noise, of `dim` normal columns: normal given x1 alone, of variance x1^2 + noise^2; quadrature."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, dim))
        return x, x[:, 0] * x[:, 1] + noise * g.normal(size=n)

    z = _middles(-8, 8)
    return _law(sample, lambda: _through_noise(0.0, stats.norm.pdf(z), np.hypot(z, noise), noise))


def sign_parity(signs: int, dim: int, wrong: float = 0.05) -> Case:
    """The sign of the product of some of `dim` normal columns, flipped now and then: log 2 - H(wrong)."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, dim))
        return x, ((x[:, :signs].prod(axis=1) > 0) ^ (g.random(n) < wrong)).astype(int)

    return _law(sample, lambda: np.log(2) - special.entr([wrong, 1 - wrong]).sum(), "labels")


def coarse_and_fine(cells: int = 30, kept: float = 0.7, window: float = 0.1) -> Case:
    """x = cell + place, y = cell, redrawn now and then, + place moved within a window of a tenth, wrapped in the cell:
    I of the cells - log window."""

    def sample(n: int, g: Generator) -> Pair:
        cell, place = g.integers(0, cells, n), g.random(n)
        other = np.where(g.random(n) < kept, cell, g.integers(0, cells, n))
        return cell + place, other + (place + window * g.random(n)) % 1

    joint = (kept * np.eye(cells) + (1 - kept) / cells) / cells
    return _law(sample, lambda: discrete_information(joint) - np.log(window))


def rare_event(share: float = 0.02, window: float = 1e-3) -> Case:
    """Independent uniforms, but in 2 % of rows x determines y to a thousandth: H(share) - share log window."""

    def sample(n: int, g: Generator) -> Pair:
        event, (x, y) = g.random(n) < share, g.random((2, n))
        y = np.where(event, (x + window * y) % 1, y)
        return x + 2 * event, y + 2 * event

    return _law(sample, lambda: special.entr([share, 1 - share]).sum() - share * np.log(window))


def woven(dim: int, pairs: int, pair: Callable[[int, Generator], Pair], truth: Truth) -> Case:
    """Independent pairs among independent columns, x and y each behind a rotation: the sum over pairs."""
    g = np.random.default_rng([dim, pairs])
    rotations = [np.linalg.qr(g.normal(size=(dim, dim)))[0] for _ in range(2)]

    def sample(n: int, g: Generator) -> Pair:
        drawn = [pair(n, g) for _ in range(dim)]
        x, y = (np.column_stack(side) for side in zip(*drawn))
        y[:, pairs:] = y[g.permutation(n), pairs:]
        return x @ rotations[0], y @ rotations[1]

    return _law(sample, lambda: pairs * truth())


def squared_length(dim: int, noise: float = 1.0) -> Case:
    """y = |x|^2 + normal, x of `dim` normal columns: a chi-squared through noise; quadrature."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.normal(size=(n, dim))
        return x, (x**2).sum(axis=1) + noise * g.normal(size=n)

    values = _middles(0, 12 * dim)
    return _law(sample, lambda: _through_noise(values, stats.chi2.pdf(values, dim), noise))


def largest_of(dim: int, noise: float = 0.1) -> Case:
    """y = the largest of `dim` exponential columns + normal / 10; quadrature."""

    def sample(n: int, g: Generator) -> Pair:
        x = g.exponential(size=(n, dim))
        return x, x.max(axis=1) + noise * g.normal(size=n)

    values = _middles(0, 30)
    density = np.exp(-values) * (-np.expm1(-values)) ** (dim - 1)
    return _law(sample, lambda: _through_noise(values, density, noise))


def _logistic_frank(n: int, g: Generator) -> Pair:
    return tuple(special.logit(side) for side in _frank(n, g, 10.0))


LAWS: dict[str, Case] = {
    "clayton-exponential": gamma_frailty(1, 1, 2.0, lambda v: np.log1p(v) / 2),
    "weibull-frailty-2-1": gamma_frailty(2, 1, 1.5, lambda v: v ** (1 / 3)),
    "gumbel-laplace": gumbel_laplace(),
    "frank-gamma": frank_gamma(),
    "growing-noise": growing_noise(),
    "circle": circle(),
    "crossed-corners": crossed_corners(),
    "moving-correlation": moving_correlation(),
    "probit-label-2": label_of_score((1.5, -1.0), (0.0,), stats.norm.cdf),
    "ordinal-label-4": label_of_score((1.0, 1.0, -1.0, 0.5), (-2.0, -0.5, 0.5, 2.5), special.expit),
    "classes-on-a-ring": classes_on_a_ring(),
    "zero-or-gamma": zero_or_gamma(),
    "censored": censored(),
    "angles": angles(),
    "composition": composition(),
    "successes": successes(),
    "product-noise": product_noise(),
    "surface-3": surface(),
    "complex-square": complex_square(),
    "shared-volatility-2": shared_volatility(),
    "pareto-3": gamma_frailty(3, 3, 1.0, lambda v: v),
    "product-among-4": product_among(4),
    "sign-parity-3-of-6": sign_parity(3, 6),
    "coarse-and-fine": coarse_and_fine(),
    "rare-event": rare_event(),
    "woven-frank-6": woven(6, 3, _logistic_frank, lambda: _frank_information(10.0)),
    "woven-circles-10": woven(10, 4, lambda n, g: _circle(n, g, 0.1), lambda: _circle_information(0.1)),
    "squared-length-8": squared_length(8),
    "largest-of-6": largest_of(6),
}
