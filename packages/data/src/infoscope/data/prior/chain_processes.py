"""Processes whose next pair of values depends on the present pair alone.

The values are numbers, counts, events or labels. The truth for a history of 1 to 3
steps is a sum over a chain of states. Counts and labels are states themselves, except
counts far above the largest of a pilot. Numbers are states on a grid; the error of the
truth is the difference between a coarse and a fine grid.
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

Values = tuple[Array, Array]  # of x and y
MAX_RATE = 20.0  # of counts
COARSE = 44  # values of a coarse grid
FINE = 60  # values of a fine grid
PARALLEL = 3_000  # independent chains of a pilot
BURN_IN = 200  # steps before the values of a pilot
LONGEST_BURN_IN = 1_500  # steps before the first value of a sample


@dataclass(frozen=True, eq=False)
class ChainPair:
    """x and y by their transitions.

    emission   [observed labels, labels of x], probabilities of what is observed of x
    """

    x: Transition
    y: Transition
    emission: Array | None = None

    def step(self, x: Array, y: Array, g: Generator) -> Values:
        """The next values of x and y."""
        next_x = self.x.draw(x, y, g)
        next_y = self.y.draw(y, x, g)
        return next_x, next_y

    def pilot(self, g: Generator) -> Values:
        """Values of many independent pairs after a burn-in."""
        x = y = np.zeros(PARALLEL)
        for _ in range(BURN_IN):
            x, y = self.step(x, y, g)
        return x, y

    def chain(self, size: int, pilot: Values) -> Chain:
        """The chain of states; numbers have about `size` of them."""
        pilot_x, pilot_y = pilot
        x = self.x.values(pilot_x, size)
        y = self.y.values(pilot_y, size)
        of_x, of_y = np.meshgrid(x, y, indexing="ij")
        to_x = self.x.weights(x, of_x, of_y)
        to_y = self.y.weights(y, of_y, of_x)
        probabilities_x = _probabilities(to_x)
        probabilities_y = _probabilities(to_y)
        return Chain(probabilities_x, probabilities_y, self.emission)

    def draw(self, n: int, g: Generator) -> Values:
        """n values of x and y after a burn-in."""
        x = y = np.zeros(())
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
    """Weights [next, x, y] over their sum; all 0 far beyond the grid become equal."""
    tiny = np.finfo(float).tiny
    positive = np.maximum(weights, tiny)
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

    def parameter(present, other):
        shape = np.broadcast(present, other).shape
        return np.full(shape, value)

    return parameter


# --- numbers ---------------------------------------------------------------------------------------------------------
SHAPES = ("tanh", "square", "sine", "bump", "threshold")


def draw_shape(g: Generator, name: str) -> Map:
    """A function of a number with random parameters."""
    rate = log_uniform(g, 0.5, 2.0)
    sign = g.choice([-1.0, 1.0])
    shapes = {
        "tanh": lambda v: sign * 1.5 * np.tanh(rate * v),
        "square": lambda v: sign * v**2 / (1 + v**2 / 6),
        "sine": lambda v: 1.4 * np.sin(np.pi / 2 * rate * v),
        "bump": lambda v: sign * 2 * np.exp(-((v - sign) ** 2)),
        "threshold": lambda v: np.where(v > 0, sign, -sign),
    }
    return shapes[name]


def _sum(recurrence: Map, influence: Map, strength: float) -> Response:
    """The recurrence of a series plus `strength` times the influence of the other."""

    def parameter(present, other):
        return recurrence(present) + strength * influence(other)

    return parameter


def _autoregressive(g: Generator, influence: Map, strength: float) -> NumberTransition:
    """A linear autoregression of order 1 whose mean the other series influences.

    Its variance is 1 without the other series.
    """
    phi = draw_persistence(g)
    scale = np.sqrt(1 - phi**2)

    def recurrence(v):
        return phi * v

    mean = _sum(recurrence, influence, strength * scale)
    return NumberTransition(mean, constant(scale))


def threshold(coupling: Coupling, g: Generator) -> Dynamics:
    """Threshold autoregressions: slopes and responses depend on the signs of values."""

    def regime(strength):
        slope_above = draw_persistence(g)
        slope_below = draw_persistence(g)
        response_above, response_below = g.uniform(-1, 1, size=2)
        jump = g.uniform(0, 0.7)

        def recurrence(v):
            above = slope_above * v - jump
            below = slope_below * v + jump
            return np.where(v > 0, above, below)

        def influence(v):
            bounded = 2 * np.tanh(v / 2)
            above = response_above * bounded + 0.5
            below = response_below * bounded - 0.5
            return np.where(v > 0, above, below)

        mean = _sum(recurrence, influence, strength)
        return NumberTransition(mean, constant(1.0))

    x = regime(coupling.onto_x)
    y = regime(coupling.onto_y)
    text = "threshold autoregressions of order 1"
    history = 1 + (g.random() < 0.3)
    return _dynamics(text, ChainPair(x, y), coupling, history, g)


def nonlinear(coupling: Coupling, g: Generator) -> Dynamics:
    """Nonlinear functions of both present values plus normal or bimodal noise."""
    names = []

    def mapped(strength):
        name = pick(g, SHAPES[:4])
        name_of_influence = pick(g, SHAPES)
        names.append(f"{name} and {name_of_influence}")
        shape = draw_shape(g, name)
        influence = draw_shape(g, name_of_influence)
        rate = g.uniform(0.2, 1.0)
        scale = g.uniform(0.4, 1.0)
        gap = 0.0
        if g.random() < 0.3:
            gap = g.uniform(0.8, 1.6)

        def recurrence(v):
            return rate * shape(v)

        mean = _sum(recurrence, influence, strength * scale)
        return NumberTransition(mean, constant(scale), gap)

    if g.random() < 0.5:
        x = _autoregressive(g, np.tanh, coupling.onto_x)
    else:
        x = mapped(coupling.onto_x)
    y = mapped(coupling.onto_y)
    text = f"nonlinear maps with noise ({'; '.join(names)})"
    history = 1 + (g.random() < 0.3)
    return _dynamics(text, ChainPair(x, y), coupling, history, g)


def volatility(coupling: Coupling, g: Generator) -> Dynamics:
    """Noise of y whose scale depends on x; the means do not depend on the other series.

    Where y drives x, the scale of the noise of x depends on y.
    """

    def scaled(strength):
        phi = min(draw_persistence(g), 0.9)
        rate = g.uniform(0, 0.3)
        even = g.random() < 0.5

        def mean(present, other):
            return phi * present

        def scale(present, other):
            if even:
                other = np.abs(other) - 1
            size = np.abs(present) - 1
            of_present = rate * np.tanh(size)
            of_other = 0.7 * strength * np.tanh(other)
            return np.exp(of_present + of_other)

        return NumberTransition(mean, scale)

    if coupling.onto_x:
        x = scaled(coupling.onto_x)
    else:
        x = _autoregressive(g, np.tanh, 0.0)
    y = scaled(coupling.onto_y)
    text = "noise whose scale depends on the past"
    history = 1 + (g.random() < 0.3)
    return _dynamics(text, ChainPair(x, y), coupling, history, g)


# --- counts, events, labels ------------------------------------------------------------------------------------------
def _count_transition(g: Generator, score: Map, strength: float) -> CountTransition:
    """Counts whose log rate follows the present count and the other series."""
    level = g.uniform(-0.7, 1.5)
    phi = g.uniform(0, 0.8)
    shape = np.inf
    if g.random() >= 0.5:
        shape = log_uniform(g, 2.0, 10.0)
    anchor = np.log1p(np.exp(level))

    def rate(present, other):
        bounded = np.minimum(present, 40)
        of_present = np.log1p(bounded) - anchor
        of_other = 0.7 * strength * score(other)
        log_rate = level + phi * of_present + of_other
        return np.minimum(np.exp(log_rate), MAX_RATE)

    return CountTransition(rate, shape)


def counts(coupling: Coupling, g: Generator) -> Dynamics:
    """Poisson or negative binomial counts that depend on past counts or numbers."""

    def score_of_count(count):
        return np.tanh(count - 1)

    def score_of_number(number):
        return 1.3 * np.tanh(number)

    if g.random() < 0.5:
        x = _autoregressive(g, np.tanh, coupling.onto_x)
        score = score_of_number
    else:
        x = _count_transition(g, score_of_count, coupling.onto_x)
        score = score_of_count
    y = _count_transition(g, score, coupling.onto_y)
    text = f"counts after {x.kind}"
    return _dynamics(text, ChainPair(x, y), coupling, 1, g)


def by_label(table: Array) -> Map:
    """The function that takes the row of a table for each label."""
    return lambda label: table[np.asarray(label, int)]


def by_number(slopes: Array) -> Map:
    """The function that multiplies slopes by the hyperbolic tangent of each number."""

    def influence(number):
        bounded = np.tanh(number)
        return slopes * bounded[..., None]

    return influence


def label_transition(logits: Array, influence: Map, strength: float) -> LabelTransition:
    """Labels with logits [label, next label] plus the influence of the other series."""
    response = _sum(by_label(logits), influence, strength)
    return LabelTransition(response, len(logits))


def events(coupling: Coupling, g: Generator) -> Dynamics:
    """Bins of point processes, 0 or 1.

    The logit of an event follows the last bins of both, or the own bin and a number.
    """
    level = g.uniform(-3.0, 0.0)
    echo = g.uniform(-1.0, 2.0)
    after_nothing = [0.0, level]
    after_event = [0.0, level + echo]
    logits = np.array([after_nothing, after_event])
    effect = np.diag([0.0, 2.5])
    if g.random() < 0.5:
        influence = by_label(effect)
        x = label_transition(logits, influence, coupling.onto_x)
        history = int(g.integers(1, 4))
    else:
        influence = by_number(effect[1] / 2)
        x = _autoregressive(g, lambda v: v - 0.5, coupling.onto_x)
        history = 1
    y = label_transition(logits, influence, coupling.onto_y)
    text = f"events after {x.kind}"
    return _dynamics(text, ChainPair(x, y), coupling, history, g)


def labels(coupling: Coupling, g: Generator) -> Dynamics:
    """Markov chains of 2 to 4 labels.

    With a hidden driver, the driver is a chain, and x is a noisy observation of it.
    """
    size_x, size_y = g.integers(2, 5, size=2)
    stay = g.uniform(0, 3)
    logits_x = _draw_logits(size_x, stay, g)
    logits_y = _draw_logits(size_y, stay, g)
    effects_of_y = g.normal(size=(size_y, size_x))
    effects_of_x = g.normal(size=(size_x, size_y))
    onto_x = by_label(1.5 * effects_of_y)
    onto_y = by_label(1.5 * effects_of_x)
    emission = None
    strength = coupling.onto_y
    if coupling.driven:
        error = g.uniform(0.05, 0.4)
        emission = (1 - error) * np.eye(size_x)
        emission += error / size_x
        strength = coupling.strength
    x = label_transition(logits_x, onto_x, coupling.onto_x)
    y = label_transition(logits_y, onto_y, strength)
    pair = ChainPair(x, y, emission)
    history = int(g.integers(1, 4))
    text = f"chains of {size_x} and {size_y} labels"
    return _dynamics(text, pair, coupling, history, g)


def _draw_logits(size: int, stay: float, g: Generator) -> Array:
    """Logits [label, next label] that favour the same label by `stay`."""
    logits = g.normal(0, 0.7, size=(size, size))
    return logits + stay * np.eye(size)


def mixed(coupling: Coupling, g: Generator) -> Dynamics:
    """Labels that move the mean of numbers, or numbers that move the logits of labels.

    A coupling in both directions has both effects.
    """
    size = int(g.integers(2, 5))
    stay = g.uniform(0, 3)
    logits = _draw_logits(size, stay, g)
    means = g.normal(size=size)
    slopes = 1.5 * g.normal(size=size)
    numbers_first = g.random() < 0.5
    onto_numbers = coupling.onto_y
    onto_labels = coupling.onto_x
    if numbers_first:
        onto_numbers, onto_labels = onto_labels, onto_numbers
    of_numbers = _autoregressive(g, by_label(means), onto_numbers)
    of_labels = label_transition(logits, by_number(slopes), onto_labels)
    pair = ChainPair(of_labels, of_numbers)
    if numbers_first:
        pair = ChainPair(of_numbers, of_labels)
    text = f"{size} labels and an autoregression"
    return _dynamics(text, pair, coupling, 1, g)
