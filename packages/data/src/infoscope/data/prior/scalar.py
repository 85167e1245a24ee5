"""Families in which y depends on x through one score: noise, branches, interactions, copulas, counts, labels, times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import special

from infoscope.data.information import bisected
from infoscope.data.prior.draws import Array, Generator, Map, log_uniform, pick
from infoscope.data.prior.noise import (
    NORMAL,
    SCORES,
    Noise,
    Predictor,
    draw_function,
    draw_noise,
    draw_predictor,
    hidden_predictor,
    interaction_predictor,
    open_uniform,
    plain_predictor,
    single_column,
    standardised,
    student,
)
from infoscope.data.prior.parts import Part, Request, Sample
from infoscope.data.prior.quadrature import ScoredPair, scored_part

NOISE_STRENGTHS = (0.02, 60.0)  # signal-to-noise ratio of the standard deviations
MAX_COUNTS = 400  # larger counts are one value
NORMAL_X = single_column("normal x", special.ndtri, lambda n, g: g.normal(size=n))


def _predictor(request: Request, g: Generator) -> Predictor:
    """A predictor with one column where x is observed."""
    return plain_predictor(g) if request.tied[0] or request.x == "categories" else draw_predictor(g, request.columns[0])


def standardised_on(predictor: Predictor, function: Map) -> Map:
    """`function` of the predictor's score, with mean 0 and standard deviation 1."""
    return standardised(function, predictor.quantile(special.ndtr(SCORES)))


def about(predictor: Predictor, noise: Noise, signal: Map) -> Callable[[float], ScoredPair]:
    """y = signal(score) + noise / strength, by strength."""
    return lambda strength: ScoredPair(
        predictor,
        lambda edges, score: noise.cdf((edges - signal(score)) * strength),
        lambda score, g: signal(score) + noise.sample(len(score), g) / strength,
    )


def additive_noise(request: Request, g: Generator, levels: bool = False) -> Part:
    """y = f(score) + noise."""
    return noisy_part("additive_noise", request, g, _predictor(request, g), levels)


def noisy_part(family: str, request: Request, g: Generator, predictor: Predictor, levels: bool = False) -> Part:
    """y is a function of the predictor's score plus noise."""
    noise, (name, function) = draw_noise(g), draw_function(g)
    build = about(predictor, noise, standardised_on(predictor, function))
    text = f"{name} + {noise.name} noise"
    return scored_part(family, text, request, g, predictor, build, NOISE_STRENGTHS, levels=levels)


def multiplied_noise(request: Request, g: Generator) -> Part:
    """y = score x noise, or y = exp(a f(score)) x noise, sometimes with a trend."""
    predictor, noise = _predictor(request, g), draw_noise(g)
    name, function = draw_function(g)
    signal = standardised_on(predictor, function)
    trend = g.choice([0.0, 0.5, 1.0]) if g.random() < 0.4 else 0.0

    def build(strength: float) -> ScoredPair:
        def scale(score: Array) -> Array:
            return np.exp(np.clip(strength * signal(score), -12, 12))

        return ScoredPair(
            predictor,
            lambda edges, score: noise.cdf(edges / scale(score) - trend),
            lambda score, g: scale(score) * (noise.sample(len(score), g) + trend),
            about_zero=True,
        )

    text = f"{noise.name} noise of a scale exp({name}), trend {trend:g},"
    return scored_part("multiplied_noise", text, request, g, predictor, build, (0.05, 2.2))


def branches(request: Request, g: Generator) -> Part:
    """y lies on one of 2 to 4 functions of the score, plus noise."""
    predictor, noise, count = _predictor(request, g), draw_noise(g), int(g.integers(2, 5))
    functions = [standardised_on(predictor, draw_function(g)[1]) for _ in range(count)]
    if g.random() < 0.5:
        functions = [functions[0], lambda s, f=functions[0]: -f(s)]
    weights = g.dirichlet(np.full(len(functions), 5.0))
    cumulated = np.cumsum(weights)[:-1]

    def build(strength: float) -> ScoredPair:
        def cdf(edges: Array, score: Array) -> Array:
            return sum(w * noise.cdf((edges - f(score)) * strength) for w, f in zip(weights, functions))

        def draw(score: Array, g: Generator) -> Array:
            branch = np.searchsorted(cumulated, g.random(len(score)))
            signal = np.choose(branch, [f(score) for f in functions])
            return signal + noise.sample(len(score), g) / strength

        return ScoredPair(predictor, cdf, draw)

    text = f"{len(functions)} branches + {noise.name} noise"
    return scored_part("branches", text, request, g, predictor, build, NOISE_STRENGTHS)


def interactions(request: Request, g: Generator) -> Part:
    """y depends on the parity, product or sum modulo 1 of 2 to 4 columns, none of which informs alone."""
    return _together("parity_and_interactions", request, g, interaction_predictor(g))


def hidden_mechanisms(request: Request, g: Generator) -> Part:
    """y depends on columns that inform only together: thresholds, codes of cells, a signed smallest value."""
    return _together("hidden_mechanism", request, g, hidden_predictor(g))


def _together(family: str, request: Request, g: Generator, predictor: Predictor) -> Part:
    if request.y == "categories":
        return label_part(family, request, g, predictor, int(g.integers(2, 5)))
    noise = draw_noise(g)
    build = about(predictor, noise, lambda score: score)
    text = f"{noise.name} noise about the value"
    return scored_part(family, text, request, g, predictor, build, NOISE_STRENGTHS)


# --- copulas -------------------------------------------------------------------------------------------------------
def _clayton(v: Array, u: Array, theta: float) -> Array:
    a, b = -theta * np.log(u), -theta * np.log(v)
    most = np.maximum(a, b)
    total = most + np.log(np.exp(a - most) + np.exp(b - most) - np.exp(-most))
    return np.exp((1 + 1 / theta) * (a - total) + np.zeros_like(v))


def _gumbel(v: Array, u: Array, more: float) -> Array:
    theta, a, b = 1 + more, np.log(-np.log(u)), np.log(-np.log(v))
    total = np.logaddexp(theta * a, theta * b)  # log of (-log u)^theta + (-log v)^theta
    return np.exp(-np.exp(total / theta) + (1 / theta - 1) * total + (theta - 1) * a - np.log(u))


def _frank(v: Array, u: Array, theta: float) -> Array:
    return 1 / (1 - np.exp(theta * (u - v)) * np.expm1(-theta * (1 - v)) / -np.expm1(-theta * v))


def _joe(v: Array, u: Array, more: float) -> Array:
    theta = 1 + more
    a, b = (1 - u) ** theta, (1 - v) ** theta
    return (a + b - a * b) ** (1 / theta - 1) * (1 - u) ** (theta - 1) * (1 - b)


COPULAS = {  # conditional distribution function of v given u (Nelsen 2006, chapters 3 and 4), range of the parameter
    "Clayton": (_clayton, (0.03, 25.0)),
    "Gumbel": (_gumbel, (0.02, 15.0)),
    "Frank": (_frank, (0.1, 40.0)),
    "Joe": (_joe, (0.02, 20.0)),
    "AMH": (lambda v, u, theta: v * (1 - theta * (1 - v)) / (1 - theta * (1 - u) * (1 - v)) ** 2, (0.05, 0.999)),
    "FGM": (lambda v, u, theta: v + theta * v * (1 - v) * (1 - 2 * u), (0.05, 1.0)),
}


def copulas(request: Request, g: Generator) -> Part:
    """A copula of one parameter with normal margins, rotated by 0, 90, 180 or 270 degrees; or a t copula."""
    if g.random() < 0.15:
        return normal_scores(request, g, "copulas", dof=log_uniform(g, 1.0, 8.0))
    name = pick(g, sorted(COPULAS))
    conditional, strengths = COPULAS[name]
    flip_u, flip_v = (bool(flip) for flip in g.random(2) < 0.5)

    def build(strength: float) -> ScoredPair:
        def cdf(edges: Array, score: Array) -> Array:
            u, v = special.ndtr(-score if flip_u else score), special.ndtr(-edges if flip_v else edges)
            u, v = np.clip(u, 1e-14, 1 - 1e-14), np.clip(v, 1e-14, 1 - 1e-14)
            level = np.clip(conditional(v, u, strength), 0, 1)
            return 1 - level if flip_v else level

        return ScoredPair(NORMAL_X, cdf, lambda score, g: _inverse(cdf, score, open_uniform(len(score), g)))

    text = f"{name} copula{' u reflected' * flip_u}{' v reflected' * flip_v}"
    return scored_part("copulas", text, request, g, NORMAL_X, build, strengths)


def _inverse(cdf: Callable[[Array, Array], Array], score: Array, level: Array) -> Array:
    """y at which cdf(y, score) reaches `level`, within 7.5 standard deviations."""
    ends = np.full(len(score), -7.5), np.full(len(score), 7.5)
    return sum(bisected(lambda y: ~(cdf(y, score) > level), *ends, 40)) / 2


def normal_scores(request: Request, g: Generator, family: str, dof: float = np.inf, levels: bool = False) -> Part:
    """Two columns of a normal or Student distribution; strength is rho / sqrt(1 - rho^2)."""
    sign = g.choice([-1.0, 1.0])
    predictor, noise, text = NORMAL_X, NORMAL, "normal"
    if np.isfinite(dof):
        text, noise = f"t({dof:.2g})", student(dof + 1)
        predictor = single_column(f"{text} x", lambda u: special.stdtrit(dof, u), student(dof).sample)

    def build(strength: float) -> ScoredPair:
        rho, spread = sign * strength / np.hypot(1, strength), 1 / np.hypot(1, strength)

        def scale(score: Array) -> Array:
            return spread * np.sqrt((dof + score**2) / (dof + 1)) if np.isfinite(dof) else spread

        return ScoredPair(
            predictor,
            lambda edges, score: noise.cdf((edges - rho * score) / scale(score)),
            lambda score, g: rho * score + scale(score) * noise.sample(len(score), g),
        )

    return scored_part(family, f"1 + 1 {text}", request, g, predictor, build, (0.05, 40.0), levels=levels)


# --- counts, labels, times -----------------------------------------------------------------------------------------
def counts(request: Request, g: Generator) -> Part:
    """Poisson or negative binomial counts of a rate that depends on the score, sometimes with more zeros."""
    predictor, (name, function) = _predictor(request, g), draw_function(g)
    signal = standardised_on(predictor, function)
    mean, zeros = log_uniform(g, 0.3, 40.0), g.uniform(0.05, 0.6) if g.random() < 0.35 else 0.0
    size = log_uniform(g, 0.5, 10.0) if g.random() < 0.5 else np.inf  # of the negative binomial

    def build(strength: float) -> ScoredPair:
        def rate(score: Array) -> Array:
            return mean * np.exp(np.clip(strength * signal(score), -6, 2.0))

        def cdf(edges: Array, score: Array) -> Array:
            k, rates = np.floor(edges), rate(score)
            level = special.pdtr(k, rates) if np.isinf(size) else special.betainc(size, k + 1, size / (size + rates))
            return zeros + (1 - zeros) * level

        def draw(score: Array, g: Generator) -> Array:
            rates = rate(score)
            rates = rates if np.isinf(size) else rates * g.gamma(size, size=len(score)) / size
            return np.minimum(np.where(g.random(len(score)) < zeros, 0, g.poisson(rates)), MAX_COUNTS - 1.0)

        return ScoredPair(predictor, cdf, draw, lattice=MAX_COUNTS)

    kind = "Poisson" if np.isinf(size) else f"negative binomial({size:.2g})"
    text = f"{kind} counts, mean {mean:.2g}, {zeros:.0%} more zeros, rate exp({name})"
    return scored_part("counts", text, request, g, predictor, build, (0.05, 2.0))


def label_of_numbers(request: Request, g: Generator) -> Part:
    """A label whose probabilities depend on the score: thresholds (ordinal), softmax, or a rare class."""
    return label_part("label_of_numbers", request, g, _predictor(request, g), int(g.integers(2, 9)))


def label_part(family: str, request: Request, g: Generator, predictor: Predictor, classes: int) -> Part:
    """A label whose probabilities depend on the predictor's score."""
    kind = pick(g, ("thresholds", "softmax", "rare class"))
    classes = 2 if kind == "rare class" else classes
    is_bent = family in ("label_of_numbers", "wide_signal")
    name, function = draw_function(g) if is_bent else ("linear", lambda s: s)
    signal = standardised_on(predictor, function)
    if kind == "rare class":
        shares = np.array([1 - log_uniform(g, 0.005, 0.1)])
    else:
        shares = np.cumsum(g.dirichlet(np.full(classes, 4.0)))[:-1]
    cuts = np.quantile(signal(predictor.quantile((np.arange(400) + 0.5) / 400)), shares)
    slopes, offsets = g.normal(size=classes), g.normal(0, 0.5, classes)
    order = g.permutation(classes)

    def build(strength: float) -> ScoredPair:
        def probabilities(score: Array) -> Array:
            """[k, classes]."""
            if kind == "softmax":
                return special.softmax(strength * slopes * signal(score) + offsets, axis=1)
            level = special.ndtr((cuts - signal(score)) * strength)
            return np.diff(level, axis=1, prepend=0.0, append=1.0)

        def cdf(edges: Array, score: Array) -> Array:
            return np.cumsum(probabilities(score)[:, order], axis=1)[:, :-1]

        def draw(score: Array, g: Generator) -> Array:
            return (g.random((len(score), 1)) > cdf(cuts, score[:, None])).sum(axis=1).astype(float)

        return ScoredPair(predictor, cdf, draw, lattice=classes)

    text = f"{classes} classes by {kind} of {name}"
    return scored_part(family, text, request, g, predictor, build, (0.05, 40.0))


def ordered_levels(request: Request, g: Generator) -> Part:
    """Ordered levels (Likert items, genotypes) of a pair of numbers, in x, y or both."""
    request = replace(request, columns=(1, 1), tied=(g.random() < 0.6, True))
    if g.random() < 0.5:
        return normal_scores(request, g, "ordered_levels", levels=True)
    return replace(additive_noise(request, g, levels=True), family="ordered_levels")


def censored_times(request: Request, g: Generator) -> Part:
    """Weibull times of a hazard that depends on the score, censored at random.

    y is coded as time, negative where censored; kind both has the time and whether the event occurred, kind numbers
    the time alone.
    """
    predictor, (name, function) = _predictor(request, g), draw_function(g)
    signal = standardised_on(predictor, function)
    shape, censoring = log_uniform(g, 0.6, 3.0), log_uniform(g, 0.05, 1.5)
    both = request.y == "both"

    def build(strength: float) -> ScoredPair:
        def hazard(score: Array) -> Array:
            return np.exp(np.clip(strength * signal(score), -9, 9))

        def cdf(edges: Array, score: Array) -> Array:
            rate = hazard(score)
            total = rate + censoring
            beyond = np.exp(-total * np.abs(edges) ** shape)  # P(no end before |edge|)
            if not both:
                return np.where(edges < 0, 0.0, 1 - beyond)
            censored = censoring / total * np.where(edges < 0, beyond, 1.0)
            return censored + rate / total * np.where(edges < 0, 0.0, 1 - beyond)

        def draw(score: Array, g: Generator) -> Array:
            rate = hazard(score)
            time = (g.exponential(size=len(score)) / (rate + censoring)) ** (1 / shape)
            event = g.random(len(score)) < rate / (rate + censoring)
            return np.where(event | (not both), time, -time)

        return ScoredPair(predictor, cdf, draw, about_zero=True)

    def decode(y: Array) -> Sample:
        return Sample(np.abs(y)[:, None], (y > 0).astype(np.int64)[:, None])

    text = f"Weibull({shape:.2g}) times, hazard exp({name}), censoring rate {censoring:.2g},"
    strengths, decoded = (0.05, 4.0), decode if both else None
    return scored_part("censored_times", text, request, g, predictor, build, strengths, decoded)
