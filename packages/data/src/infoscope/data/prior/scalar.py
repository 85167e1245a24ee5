"""Families in which y depends on x through one score.

y is the score with noise, one of several branches, a copula, a count, a label, levels
or a time.
"""

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

NOISE_STRENGTHS = (0.02, 60.0)  # range of signal-to-noise ratios
MAX_COUNTS = 400  # larger counts are one value
MAX_SCORE = 7.5  # standard deviations of a margin of a copula
NORMAL_X = single_column("normal x", special.ndtri, NORMAL.sample)


def _draw_predictor(request: Request, g: Generator) -> Predictor:
    """A predictor of x; it has one column if x is tied or a category."""
    if request.tied[0] or request.x == "categories":
        return plain_predictor(g)
    return draw_predictor(g, request.columns[0])


def standardised_on(predictor: Predictor, function: Map) -> Map:
    """`function` of the predictor's score, with mean 0 and standard deviation 1."""
    scores = predictor.quantile(special.ndtr(SCORES))
    return standardised(function, scores)


def about(
    predictor: Predictor, noise: Noise, signal: Map
) -> Callable[[float | Array], ScoredPair]:
    """A function that builds y = signal(score) + noise / strength for a strength."""

    def build(strength):
        def cdf(edges, score):
            return noise.cdf((edges - signal(score)) * strength)

        def draw(score, g):
            deviations = noise.sample(len(score), g) / strength
            return signal(score) + deviations

        return ScoredPair(predictor, cdf, draw)

    return build


def additive_noise(request: Request, g: Generator) -> Part:
    """y = f(score) + noise."""
    predictor = _draw_predictor(request, g)
    return noisy_part("additive_noise", request, g, predictor)


def noisy_part(
    family: str,
    request: Request,
    g: Generator,
    predictor: Predictor,
    levels: bool = False,
) -> Part:
    """y is a function of the predictor's score plus noise."""
    noise = draw_noise(g)
    name, function = draw_function(g)
    signal = standardised_on(predictor, function)
    build = about(predictor, noise, signal)
    text = f"{name} + {noise.name} noise"
    return scored_part(
        family, text, request, g, predictor, build, NOISE_STRENGTHS, levels=levels
    )


def multiplied_noise(request: Request, g: Generator) -> Part:
    """y = exp(a f(score)) x noise, sometimes with a trend."""
    predictor = _draw_predictor(request, g)
    noise = draw_noise(g)
    name, function = draw_function(g)
    signal = standardised_on(predictor, function)
    trend = 0.0
    if g.random() < 0.4:
        trend = g.choice([0.0, 0.5, 1.0])

    def build(strength):
        def scale(score):
            log_scale = np.clip(strength * signal(score), -12, 12)
            return np.exp(log_scale)

        def cdf(edges, score):
            return noise.cdf(edges / scale(score) - trend)

        def draw(score, g):
            values = noise.sample(len(score), g) + trend
            return scale(score) * values

        return ScoredPair(predictor, cdf, draw, about_zero=True)

    text = f"{noise.name} noise of a scale exp({name}), trend {trend:g},"
    return scored_part(
        "multiplied_noise", text, request, g, predictor, build, (0.05, 2.2)
    )


def branches(request: Request, g: Generator) -> Part:
    """y lies on one of 2 to 4 functions of the score, plus noise."""
    predictor = _draw_predictor(request, g)
    noise = draw_noise(g)
    functions = []
    for _ in range(g.integers(2, 5)):
        _, function = draw_function(g)
        functions.append(standardised_on(predictor, function))
    if g.random() < 0.5:
        first = functions[0]
        functions = [first, lambda score: -first(score)]
    weights = g.dirichlet(np.full(len(functions), 5.0))
    levels = np.cumsum(weights)[:-1]

    def build(strength):
        def cdf(edges, score):
            total = np.zeros(np.broadcast(edges, score).shape)
            for weight, function in zip(weights, functions):
                deviations = edges - function(score)
                total += weight * noise.cdf(deviations * strength)
            return total

        def draw(score, g):
            branch = np.searchsorted(levels, g.random(len(score)))
            signals = [function(score) for function in functions]
            signal = np.choose(branch, signals)
            deviations = noise.sample(len(score), g) / strength
            return signal + deviations

        return ScoredPair(predictor, cdf, draw)

    text = f"{len(functions)} branches + {noise.name} noise"
    return scored_part("branches", text, request, g, predictor, build, NOISE_STRENGTHS)


def interactions(request: Request, g: Generator) -> Part:
    """y depends on 2 to 4 columns that inform mostly or only together.

    The score is their parity, signed value, product or sum modulo 1.
    """
    predictor = interaction_predictor(g)
    return _joint_part("parity_and_interactions", request, g, predictor)


def hidden_mechanisms(request: Request, g: Generator) -> Part:
    """y depends on columns that are informative only together.

    The score is of thresholds, codes of cells or a signed smallest value.
    """
    predictor = hidden_predictor(g)
    return _joint_part("hidden_mechanism", request, g, predictor)


def _joint_part(
    family: str, request: Request, g: Generator, predictor: Predictor
) -> Part:
    """y is the predictor's score plus noise, or a label of the score."""
    if request.y == "categories":
        classes = int(g.integers(2, 5))
        return label_part(family, request, g, predictor, classes)
    noise = draw_noise(g)
    build = about(predictor, noise, lambda score: score)
    text = f"{noise.name} noise about the value"
    return scored_part(family, text, request, g, predictor, build, NOISE_STRENGTHS)


# --- copulas ---------------------------------------------------------------------------------------------------------
def _clayton(v: Array, u: Array, theta: float) -> Array:
    a = -theta * np.log(u)
    b = -theta * np.log(v)
    largest = np.maximum(a, b)
    sum_of_powers = np.exp(a - largest) + np.exp(b - largest)
    total = largest + np.log(sum_of_powers - np.exp(-largest))
    return np.exp((1 + 1 / theta) * (a - total))


def _gumbel(v: Array, u: Array, excess: float) -> Array:
    theta = 1 + excess
    a = np.log(-np.log(u))
    b = np.log(-np.log(v))
    log_sum = np.logaddexp(theta * a, theta * b)  # of (-log u)^theta and (-log v)^theta
    log_level = (1 / theta - 1) * log_sum - np.exp(log_sum / theta)
    log_level += (theta - 1) * a
    return np.exp(log_level - np.log(u))


def _frank(v: Array, u: Array, theta: float) -> Array:
    above = np.expm1(-theta * (1 - v))
    below = -np.expm1(-theta * v)
    odds = np.exp(theta * (u - v)) * above / below
    return 1 / (1 - odds)


def _joe(v: Array, u: Array, excess: float) -> Array:
    theta = 1 + excess
    a = (1 - u) ** theta
    b = (1 - v) ** theta
    survival = a + b - a * b
    of_u = survival ** (1 / theta - 1) * (1 - u) ** (theta - 1)
    return of_u * (1 - b)


def _amh(v: Array, u: Array, theta: float) -> Array:
    denominator = 1 - theta * (1 - u) * (1 - v)
    numerator = v * (1 - theta * (1 - v))
    return numerator / denominator**2


def _fgm(v: Array, u: Array, theta: float) -> Array:
    return v + theta * v * (1 - v) * (1 - 2 * u)


# P(V <= v | u) (Nelsen 2006, chapters 3 and 4), and the range of the parameter
COPULAS = {
    "Clayton": (_clayton, (0.03, 25.0)),
    "Gumbel": (_gumbel, (0.02, 15.0)),
    "Frank": (_frank, (0.1, 40.0)),
    "Joe": (_joe, (0.02, 20.0)),
    "AMH": (_amh, (0.05, 0.999)),
    "FGM": (_fgm, (0.05, 1.0)),
}


def copulas(request: Request, g: Generator) -> Part:
    """A one-parameter copula with normal margins, sometimes reflected; or a t copula."""
    if g.random() < 0.15:
        dof = log_uniform(g, 1.0, 8.0)
        return normal_scores(request, g, "copulas", dof)
    name = pick(g, sorted(COPULAS))
    conditional, strengths = COPULAS[name]
    flip_u, flip_v = g.random(2) < 0.5

    def uniform(score, flip):
        if flip:
            score = -score
        return np.clip(special.ndtr(score), 1e-14, 1 - 1e-14)

    def build(strength):
        def cdf(edges, score):
            v = uniform(edges, flip_v)
            u = uniform(score, flip_u)
            below = np.clip(conditional(v, u, strength), 0, 1)
            if flip_v:
                return 1 - below
            return below

        def draw(score, g):
            """y at which the distribution function reaches uniform levels."""
            levels = open_uniform(len(score), g)

            def below(y):
                return ~(cdf(y, score) > levels)

            end = np.full(len(score), MAX_SCORE)
            low, high = bisected(below, -end, end, 40)
            return (low + high) / 2

        return ScoredPair(NORMAL_X, cdf, draw)

    text = f"{name} copula"
    if flip_u:
        text += " u reflected"
    if flip_v:
        text += " v reflected"
    return scored_part("copulas", text, request, g, NORMAL_X, build, strengths)


def normal_scores(
    request: Request,
    g: Generator,
    family: str,
    dof: float = np.inf,
    levels: bool = False,
) -> Part:
    """Two columns of a normal or Student distribution.

    The strength is rho / sqrt(1 - rho^2).
    """
    sign = g.choice([-1.0, 1.0])
    is_normal = np.isinf(dof)
    predictor = NORMAL_X
    noise = NORMAL
    text = "normal"

    def quantile(u):
        return special.stdtrit(dof, u)

    if not is_normal:
        text = f"t({dof:.2g})"
        noise = student(dof + 1)
        predictor = single_column(f"{text} x", quantile, student(dof).sample)

    def build(strength):
        rho = sign * strength / np.hypot(1, strength)
        spread = 1 / np.hypot(1, strength)

        def scale(score):
            if is_normal:
                return spread
            variance = (dof + score**2) / (dof + 1)
            return spread * np.sqrt(variance)

        def cdf(edges, score):
            deviations = edges - rho * score
            return noise.cdf(deviations / scale(score))

        def draw(score, g):
            deviations = scale(score) * noise.sample(len(score), g)
            return rho * score + deviations

        return ScoredPair(predictor, cdf, draw)

    text = f"1 + 1 {text}"
    limits = (0.05, 40.0)
    return scored_part(
        family, text, request, g, predictor, build, limits, levels=levels
    )


# --- counts, labels, times -------------------------------------------------------------------------------------------
def counts(request: Request, g: Generator) -> Part:
    """Counts of a rate that depends on the score, sometimes with more zeros.

    The counts are Poisson or negative binomial.
    """
    predictor = _draw_predictor(request, g)
    name, function = draw_function(g)
    signal = standardised_on(predictor, function)
    mean = log_uniform(g, 0.3, 40.0)
    zeros = 0.0
    if g.random() < 0.35:
        zeros = g.uniform(0.05, 0.6)
    size = np.inf  # of the negative binomial; inf: Poisson
    if g.random() < 0.5:
        size = log_uniform(g, 0.5, 10.0)

    def build(strength):
        def rate(score):
            log_factor = np.clip(strength * signal(score), -6, 2.0)
            return mean * np.exp(log_factor)

        def cdf(edges, score):
            k = np.floor(edges)
            rates = rate(score)
            if np.isinf(size):
                level = special.pdtr(k, rates)
            else:
                level = special.betainc(size, k + 1, size / (size + rates))
            return zeros + (1 - zeros) * level

        def draw(score, g):
            rates = rate(score)
            if np.isfinite(size):
                factors = g.gamma(size, size=len(score))
                rates = rates * factors / size
            is_zero = g.random(len(score)) < zeros
            counts = g.poisson(rates)
            counts[is_zero] = 0
            return np.minimum(counts, MAX_COUNTS - 1.0)

        return ScoredPair(predictor, cdf, draw, lattice=MAX_COUNTS)

    kind = "Poisson" if np.isinf(size) else f"negative binomial({size:.2g})"
    text = f"{kind} counts, mean {mean:.2g}, {zeros:.0%} more zeros, rate exp({name})"
    return scored_part("counts", text, request, g, predictor, build, (0.05, 2.0))


def label_of_numbers(request: Request, g: Generator) -> Part:
    """A label whose probabilities depend on the score."""
    predictor = _draw_predictor(request, g)
    classes = int(g.integers(2, 9))
    return label_part("label_of_numbers", request, g, predictor, classes)


def label_part(
    family: str, request: Request, g: Generator, predictor: Predictor, classes: int
) -> Part:
    """A label whose probabilities depend on the predictor's score.

    Thresholds cut the noisy score, a softmax gives probabilities, or a class is rare.
    """
    kind = pick(g, ("thresholds", "softmax", "rare class"))
    name, function = "linear", lambda score: score
    if family in ("label_of_numbers", "wide_signal"):
        name, function = draw_function(g)
    signal = standardised_on(predictor, function)
    if kind == "rare class":
        classes = 2
        shares = np.array([1 - log_uniform(g, 0.005, 0.1)])
    else:
        of_classes = g.dirichlet(np.full(classes, 4.0))
        shares = np.cumsum(of_classes)[:-1]
    levels = (np.arange(400) + 0.5) / 400
    pilot = signal(predictor.quantile(levels))
    cuts = np.quantile(pilot, shares)
    slopes = g.normal(size=classes)
    offsets = g.normal(0, 0.5, classes)
    order = g.permutation(classes)

    def build(strength):
        def probabilities(score):
            """Probabilities [k, classes] for scores [k, 1]."""
            if kind == "softmax":
                logits = strength * slopes * signal(score) + offsets
                return special.softmax(logits, axis=1)
            deviations = cuts - signal(score)
            level = special.ndtr(deviations * strength)
            return np.diff(level, axis=1, prepend=0.0, append=1.0)

        def cdf(edges, score):
            ordered = probabilities(score)[:, order]
            cumulated = np.cumsum(ordered, axis=1)
            return cumulated[:, :-1]

        def draw(score, g):
            chances = g.random((len(score), 1))
            above = chances > cdf(cuts, score[:, None])
            return above.sum(axis=1).astype(float)

        return ScoredPair(predictor, cdf, draw, lattice=classes)

    text = f"{classes} classes by {kind} of {name}"
    return scored_part(family, text, request, g, predictor, build, (0.05, 40.0))


def ordered_levels(request: Request, g: Generator) -> Part:
    """Ordered levels (Likert items, genotypes) of y, or of x and y."""
    tied_x = g.random() < 0.6
    request = replace(request, columns=(1, 1), tied=(tied_x, True))
    if g.random() < 0.5:
        return normal_scores(request, g, "ordered_levels", levels=True)
    predictor = _draw_predictor(request, g)
    return noisy_part("ordered_levels", request, g, predictor, levels=True)


def censored_times(request: Request, g: Generator) -> Part:
    """Weibull times of a hazard that depends on the score, censored at random.

    y is coded as the time, negative if it is censored. Kind both has the time and
    whether the event occurred, kind numbers the time alone.
    """
    predictor = _draw_predictor(request, g)
    name, function = draw_function(g)
    signal = standardised_on(predictor, function)
    shape = log_uniform(g, 0.6, 3.0)
    censoring = log_uniform(g, 0.05, 1.5)
    both = request.y == "both"

    def build(strength):
        def hazard(score):
            log_hazard = np.clip(strength * signal(score), -9, 9)
            return np.exp(log_hazard)

        def cdf(edges, score):
            rate = hazard(score)
            total = rate + censoring
            # P(no end before |edge|)
            survival = np.exp(-total * np.abs(edges) ** shape)
            ended = np.where(edges < 0, 0.0, 1 - survival)
            if not both:
                return ended
            censored = np.where(edges < 0, survival, 1.0)
            return censoring / total * censored + rate / total * ended

        def draw(score, g):
            rate = hazard(score)
            total = rate + censoring
            exponential = g.exponential(size=len(score))
            time = (exponential / total) ** (1 / shape)
            event = g.random(len(score)) < rate / total
            if both:
                return np.where(event, time, -time)
            return time

        return ScoredPair(predictor, cdf, draw, about_zero=True)

    def decode(y):
        events = (y > 0).astype(np.int64)
        return Sample(np.abs(y)[:, None], events[:, None])

    text = (
        f"Weibull({shape:.2g}) times, hazard exp({name}), censoring rate "
        f"{censoring:.2g},"
    )
    decoded = decode if both else None
    return scored_part(
        "censored_times", text, request, g, predictor, build, (0.05, 4.0), decoded
    )
