"""Processes whose present pair of values is all that the next pair depends on:
nonlinear, counts, events, labels.

The truth of a history of 1 to 3 steps is a sum over a chain of states. Counts and
labels are their own states (counts far above the largest ever seen are left out);
numbers are states on a grid, and the error is the difference between a coarse and a
fine grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infoscope.data.prior.chains import Chain
from infoscope.data.prior.draws import Array, Generator, Map, log_uniform, pick
from infoscope.data.prior.dynamics import Coupling, Dynamics, column, draw_persistence
from infoscope.data.prior.transitions import (
    CountTransition,
    LabelTransition,
    NumberTransition,
    Response,
    Transition,
)
from infoscope.data.prior.windows import NOTHING, Truth

MAX_RATE = 20.0  # of counts
COARSE, FINE = 44, 60  # values of a grid
PARALLEL, BURN_IN = 3_000, 200  # chains of a pilot, and steps before the first value
LONGEST_BURN_IN = 1_500  # steps before the first value of a sample


@dataclass(frozen=True, eq=False)
class ChainPair:
    """x and y by their transitions; `emission` [observed labels, labels of x] hides the
    labels of x.
    """

    x: Transition
    y: Transition
    emission: Array | None = None

    def step(self, x: Array, y: Array, g: Generator) -> tuple[Array, Array]:
        """The next values of x and y."""
        next_x = self.x.draw(x, y, g)
        next_y = self.y.draw(y, x, g)
        return next_x, next_y

    def pilot(self, g: Generator) -> tuple[Array, Array]:
        """The values of many independent pairs after a while."""
        x = y = np.zeros(PARALLEL, int)
        for _ in range(BURN_IN):
            x, y = self.step(x, y, g)
        return x, y

    def chain(self, size: int, pilot: tuple[Array, Array]) -> Chain:
        """The chain of states, with about `size` values of numbers."""
        x = self.x.values(pilot[0], size)
        y = self.y.values(pilot[1], size)
        of_x, of_y = np.meshgrid(x, y, indexing="ij")
        to_x = self.x.weights(x, of_x, of_y)
        to_y = self.y.weights(y, of_y, of_x)
        return Chain(_probabilities(to_x), _probabilities(to_y), self.emission)

    def draw(self, n: int, g: Generator) -> tuple[Array, Array]:
        """n values of x and y after a burn-in."""
        x = y = np.int64(0)
        series_x = np.empty(n)
        series_y = np.empty(n)
        for t in range(-LONGEST_BURN_IN, n):
            x, y = self.step(x, y, g)
            if t >= 0:
                series_x[t] = x
                series_y[t] = y
        if self.emission is not None:
            labels = series_x.astype(int)
            levels = np.cumsum(self.emission, axis=0)
            above = g.random(n) > levels[:-1, labels]
            series_x[:] = above.sum(axis=0)
        return column(series_x), column(series_y)


def _probabilities(weights: Array) -> Array:
    """Weights [next, x, y] with sums of 1 over the next value; equal ones far beyond
    the grid.
    """
    positive = np.maximum(weights, np.finfo(float).tiny)
    return positive / positive.sum(axis=0)


def _dynamics(
    text: str, pair: ChainPair, coupling: Coupling, history: int, g: Generator
) -> Dynamics:
    """The process of a pair with its truth for a history."""
    pilot = pair.pilot(g)
    kinds = (pair.x.kind, pair.y.kind)
    chain = pair.chain(FINE, pilot)
    fine, memory = chain.truth(history)
    transfer = fine.transfer_entropy
    shared = fine.information
    transfer_error = shared_error = 0.0
    if "numbers" in kinds:
        coarse_chain = pair.chain(COARSE, pilot)
        coarse, _ = coarse_chain.truth(history)
        transfer_error = abs(transfer - coarse.transfer_entropy)
        shared_error = abs(shared - coarse.information)
    if coupling.kind == "backward":
        transfer = transfer_error = 0.0
    result = Truth(transfer, shared, transfer_error, shared_error)
    if coupling.kind == "none":
        result = NOTHING

    def truth(_):
        return result

    return Dynamics(text, kinds, history, memory, truth, pair.draw)


def constant(value: float) -> Response:
    """A parameter that does not depend on the present."""

    def parameter(own, other):
        shape = np.broadcast(own, other).shape
        return np.full(shape, value)

    return parameter


def _history(g: Generator) -> int:
    """A history of 1 or 2 steps."""
    return 1 + int(g.random() < 0.3)


# --- numbers ---------------------------------------------------------------------------------------------------------
SHAPES = ("tanh", "square", "sine", "bump", "threshold")


def draw_shape(g: Generator, name: str) -> Map:
    """A function of a number with random parameters."""
    rate = log_uniform(g, 0.5, 2.0)
    sign = g.choice([-1.0, 1.0])
    shapes: dict[str, Map] = {
        "tanh": lambda v: sign * 1.5 * np.tanh(rate * v),
        "square": lambda v: sign * v**2 / (1 + v**2 / 6),
        "sine": lambda v: 1.4 * np.sin(np.pi / 2 * rate * v),
        "bump": lambda v: sign * 2 * np.exp(-((v - sign) ** 2)),
        "threshold": lambda v: np.where(v > 0, sign, -sign),
    }
    return shapes[name]


def _sum(own: Map, other: Map, strength: float) -> Response:
    """The sum of a function of the own present and of `strength` times one of the
    other's.
    """

    def parameter(a, b):
        return own(a) + strength * other(b)

    return parameter


def _autoregressive(g: Generator, other: Map, strength: float) -> NumberTransition:
    """A linear autoregression of order 1 and of variance 1 without the other series,
    which adds to its mean.
    """
    phi = draw_persistence(g)
    scale = np.sqrt(1 - phi**2)
    mean = _sum(lambda v: phi * v, other, strength * scale)
    return NumberTransition(mean, constant(scale))


def threshold(coupling: Coupling, g: Generator) -> Dynamics:
    """Threshold autoregressions: the slope of each series, and how it follows the
    other, depend on signs.
    """

    def regime(strength):
        slope_above = draw_persistence(g)
        slope_below = draw_persistence(g)
        response_above, response_below = g.uniform(-1, 1, size=2)
        jump = g.uniform(0, 0.7)

        def own(v):
            above = slope_above * v - jump
            below = slope_below * v + jump
            return np.where(v > 0, above, below)

        def other(v):
            bounded = 2 * np.tanh(v / 2)
            above = response_above * bounded + 0.5
            below = response_below * bounded - 0.5
            return np.where(v > 0, above, below)

        mean = _sum(own, other, strength)
        return NumberTransition(mean, constant(1.0))

    pair = ChainPair(regime(coupling.onto_x), regime(coupling.onto_y))
    return _dynamics(
        "threshold autoregressions of order 1", pair, coupling, _history(g), g
    )


def nonlinear(coupling: Coupling, g: Generator) -> Dynamics:
    """Nonlinear functions of the own and of the other's present, plus normal noise or
    noise of two modes.
    """
    names = []

    def mapped(strength):
        own_name = pick(g, SHAPES[:4])
        other_name = pick(g, SHAPES)
        names.append(f"{own_name} and {other_name}")
        response = draw_shape(g, own_name)
        effect = draw_shape(g, other_name)
        rate = g.uniform(0.2, 1.0)
        scale = g.uniform(0.4, 1.0)
        gap = 0.0
        if g.random() < 0.3:
            gap = g.uniform(0.8, 1.6)

        def own(v):
            return rate * response(v)

        mean = _sum(own, effect, strength * scale)
        return NumberTransition(mean, constant(scale), gap)

    if g.random() < 0.5:
        x = _autoregressive(g, np.tanh, coupling.onto_x)
    else:
        x = mapped(coupling.onto_x)
    pair = ChainPair(x, mapped(coupling.onto_y))
    text = f"nonlinear maps with noise ({'; '.join(names)})"
    return _dynamics(text, pair, coupling, _history(g), g)


def volatility(coupling: Coupling, g: Generator) -> Dynamics:
    """The scale of the noise of y depends on x, and that of x on y where y drives x;
    the means do not.
    """

    def scaled(strength):
        phi = min(draw_persistence(g), 0.9)
        own_rate = g.uniform(0, 0.3)
        even = g.random() < 0.5

        def mean(own, other):
            return phi * own

        def scale(own, other):
            argument = other
            if even:
                argument = np.abs(other) - 1
            by_own = own_rate * np.tanh(np.abs(own) - 1)
            by_other = 0.7 * strength * np.tanh(argument)
            return np.exp(by_own + by_other)

        return NumberTransition(mean, scale)

    if coupling.onto_x:
        x = scaled(coupling.onto_x)
    else:
        x = _autoregressive(g, np.tanh, 0.0)
    pair = ChainPair(x, scaled(coupling.onto_y))
    return _dynamics(
        "noise whose scale depends on the past", pair, coupling, _history(g), g
    )


# --- counts, events, labels ------------------------------------------------------------------------------------------
def _count_transition(g: Generator, score: Map, strength: float) -> CountTransition:
    """Counts whose log rate follows the own count and a score of the other series."""
    level = g.uniform(-0.7, 1.5)
    phi = g.uniform(0, 0.8)
    shape = np.inf
    if g.random() >= 0.5:
        shape = log_uniform(g, 2.0, 10.0)
    anchor = np.log1p(np.exp(level))

    def rate(own, other):
        bounded = np.minimum(own, 40)
        own_score = np.log1p(bounded) - anchor
        other_score = 0.7 * strength * score(other)
        log_rate = level + phi * own_score + other_score
        return np.minimum(np.exp(log_rate), MAX_RATE)

    return CountTransition(rate, shape)


def counts(coupling: Coupling, g: Generator) -> Dynamics:
    """Poisson or negative binomial counts whose rate follows the past of counts or of
    numbers.
    """

    def score_of_count(count):
        return np.tanh(count - 1)

    def score_of_number(number):
        return 1.3 * np.tanh(number)

    if g.random() < 0.5:
        x: Transition = _autoregressive(g, np.tanh, coupling.onto_x)
        score = score_of_number
    else:
        x = _count_transition(g, score_of_count, coupling.onto_x)
        score = score_of_count
    y = _count_transition(g, score, coupling.onto_y)
    return _dynamics(f"counts after {x.kind}", ChainPair(x, y), coupling, 1, g)


def by_label(table: Array) -> Map:
    """The row of a table for each label."""
    return lambda label: table[np.asarray(label, int)]


def by_number(slopes: Array) -> Map:
    """Slopes times the hyperbolic tangent of each number."""
    return lambda number: slopes * np.tanh(np.asarray(number, float))[..., None]


def label_transition(own: Array, other: Map, strength: float) -> LabelTransition:
    """Labels with logits own[own label] + strength * other(value of the other series)."""
    logits = _sum(by_label(own), other, strength)
    labels = own.shape[1]
    return LabelTransition(logits, labels)


def events(coupling: Coupling, g: Generator) -> Dynamics:
    """Bins of point processes, 0 or 1: the logit of an event follows the last bins, or
    the own bin and a number.
    """
    level = g.uniform(-3.0, 0.0)
    echo = g.uniform(-1.0, 2.0)
    logits = np.array([[0.0, level], [0.0, level + echo]])
    effect = np.array([[0.0, 0.0], [0.0, 2.5]])
    if g.random() < 0.5:
        x: Transition = label_transition(logits, by_label(effect), coupling.onto_x)
        y = label_transition(logits, by_label(effect), coupling.onto_y)
        history = int(g.integers(1, 4))
    else:
        x = _autoregressive(g, lambda v: v - 0.5, coupling.onto_x)
        y = label_transition(logits, by_number(effect[1] / 2), coupling.onto_y)
        history = 1
    return _dynamics(f"events after {x.kind}", ChainPair(x, y), coupling, history, g)


def labels(coupling: Coupling, g: Generator) -> Dynamics:
    """Markov chains of 2 to 4 labels; driven by a hidden chain, x is a noisy
    observation of it.
    """
    sizes = g.integers(2, 5, size=2)
    stay = g.uniform(0, 3)
    own_x = _own_logits(sizes[0], stay, g)
    own_y = _own_logits(sizes[1], stay, g)
    onto_x = 1.5 * g.normal(size=sizes[::-1])
    onto_y = 1.5 * g.normal(size=sizes)
    emission = None
    strength = coupling.onto_y
    if coupling.driven:
        error = g.uniform(0.05, 0.4)
        states = sizes[0]
        emission = (1 - error) * np.eye(states) + error / states
        strength = coupling.strength
    x = label_transition(own_x, by_label(onto_x), coupling.onto_x)
    y = label_transition(own_y, by_label(onto_y), strength)
    history = int(g.integers(1, 4))
    text = f"chains of {sizes[0]} and {sizes[1]} labels"
    return _dynamics(text, ChainPair(x, y, emission), coupling, history, g)


def _own_logits(size: int, stay: float, g: Generator) -> Array:
    """Logits [label, next label] that favour the same label by `stay`."""
    logits = g.normal(0, 0.7, size=(size, size))
    return logits + stay * np.eye(size)


def mixed(coupling: Coupling, g: Generator) -> Dynamics:
    """Labels that move the mean of numbers, or numbers that move the logits of labels;
    also in both directions.
    """
    size = int(g.integers(2, 5))
    logits = _own_logits(size, g.uniform(0, 3), g)
    means = g.normal(size=size)
    slopes = 1.5 * g.normal(size=size)
    numbers_first = g.random() < 0.5
    if numbers_first:
        of_numbers = _autoregressive(g, by_label(means), coupling.onto_x)
        of_labels = label_transition(logits, by_number(slopes), coupling.onto_y)
        pair = ChainPair(of_numbers, of_labels)
    else:
        of_numbers = _autoregressive(g, by_label(means), coupling.onto_y)
        of_labels = label_transition(logits, by_number(slopes), coupling.onto_x)
        pair = ChainPair(of_labels, of_numbers)
    text = f"{size} labels and an autoregression"
    return _dynamics(text, pair, coupling, 1, g)
