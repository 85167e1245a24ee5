"""The third variable z of a triple: its columns, and how they move x and y."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from infoscope.data.prior import composition, noise
from infoscope.data.prior.draws import (
    Array,
    Generator,
    log_uniform,
    log_uniform_int,
    pick,
)
from infoscope.data.prior.parts import Sample, joined, numbers

Effect = Callable[[Array], Array]  # scores [n, m] -> [n]
MAX_CONDITIONS = 20  # columns
MAX_USED = 4  # columns that a function depends on
# of functions of several columns
SHAPES = ("additive", "interacting", "jumps", "maxima")
SCALES = "scales"
SIMPLE_SHARE = 0.6  # functions of one column that are of SIMPLE
SIMPLE = (lambda z: z, np.tanh, np.square, np.abs)
PILOT_ROWS = 1_000
MAX_SCORE = 5.0  # standard deviations at which columns are cut before a function
MAX_CODES = 400  # of a category column
CUTS = 5  # of functions with jumps


class Conditions:
    """Columns of z, numbers or categories, with the scores on which x and y depend."""

    def __init__(self, g: Generator, most: int = MAX_CONDITIONS) -> None:
        if g.random() >= 0.7:
            most = 2
        count = log_uniform_int(g, 1, most)
        some_labels = int(g.integers(count + 1))
        labels = g.choice([0, count, some_labels], p=[0.6, 0.2, 0.2])
        self.tied = g.random() < 0.3
        columns = max(count - labels, 1)
        self.draw_numbers, _ = composition.draw_idle_numbers(columns, self.tied, g)
        self.draw_labels = composition.draw_idle_categories(labels, g)
        self.without_numbers = labels == count
        # of each category, by its code
        self.effects = g.normal(size=(labels, MAX_CODES))
        self.name = f"{count} conditions, {labels} of them categories"
        self.middle = 0.0
        self.spread = 1.0
        _, scores = self.draw(PILOT_ROWS, g)
        self.middle = np.median(scores, axis=0)
        deviations = np.ptp(scores, axis=0) / 6
        self.spread = np.maximum(deviations, 0.1)

    def draw(self, n: int, g: Generator) -> tuple[Sample, Array]:
        """The columns of n rows, and their scores [n, m]."""
        columns = self.draw_numbers(n, g)
        if self.without_numbers:
            columns = columns[:, :0]
        samples = [numbers(columns)]
        scores = [columns]
        if len(self.effects):
            labels = self.draw_labels(n, g)
            samples.append(labels)
            for effect, codes in zip(self.effects, labels.labels.T):
                score = effect[codes]
                scores.append(score[:, None])
        deviations = np.hstack(scores) - self.middle
        standardised = deviations / self.spread
        return joined(samples), np.clip(standardised, -MAX_SCORE, MAX_SCORE)


def draw_effect(shape: str, conditions: Conditions, g: Generator) -> Effect:
    """A function of the scores, of about mean 0 and standard deviation 1.

    shape: one of SHAPES: sums, products, steps or the maximum of functions of a column.
    """
    _, pilot = conditions.draw(PILOT_ROWS, g)
    order = g.permutation(pilot.shape[1])
    used = order[: log_uniform_int(g, 1, MAX_USED)]
    size = len(used)
    functions = []
    for _ in range(max(size, 2)):
        if g.random() < SIMPLE_SHARE:
            function = SIMPLE[g.integers(len(SIMPLE))]
        else:
            _, function = noise.draw_function(g)
        functions.append(noise.standardised(function))
    weights = g.uniform(0.4, 1.0, size)
    weights *= g.choice([-1, 1], size)
    columns = g.integers(size, size=CUTS)
    cuts = g.normal(0, 0.7, CUTS)
    heights = g.normal(size=2**CUTS)  # of the cells between cuts
    rate = log_uniform(g, 0.5, 3.0)

    def additive(z):
        total = np.zeros(len(z))
        for weight, function, column in zip(weights, functions, z.T):
            total += weight * function(column)
        return total

    def interacting(z):
        first = functions[0](z[:, columns[0]])
        second = functions[1](z[:, columns[1]])
        waves = np.sin(rate * z @ weights)
        return first * second + waves

    def jumps(z):
        above = z[:, columns] > cuts
        cells = above @ 2 ** np.arange(CUTS)
        return heights[cells]

    def maxima(z):
        distances = np.abs(z * weights - cuts[0])
        return distances.max(axis=1)

    shapes = {
        "additive": additive,
        "interacting": interacting,
        "jumps": jumps,
        "maxima": maxima,
    }
    effect = shapes[shape]
    values = effect(pilot[:, used])
    mean = values.mean()
    spread = max(values.std(), 0.05)
    return lambda scores: (effect(scores[:, used]) - mean) / spread


def draw_move(
    shape: str, conditions: Conditions, pilot: Sample, g: Generator
) -> Callable[[Sample, Array], Sample]:
    """A map of columns by the scores of z; given z, it is invertible.

    It shifts and scales numbers and turns categories. shape: one of SHAPES, or SCALES.
    """
    kind = shape
    if shape == SCALES:
        kind = pick(g, SHAPES)
    shift = draw_effect(kind, conditions, g)
    scale = draw_effect(kind, conditions, g)
    spread = pilot.numbers.std(axis=0)
    middle = np.median(pilot.numbers, axis=0)
    rounded = np.round(pilot.numbers)
    are_whole = (pilot.numbers == rounded).all(axis=0)
    size = spread.size
    strength = log_uniform(g, 0.2, 2.5)
    strengths = strength * g.choice([-1, 0.5, 1], size)
    log_scales = np.zeros(size)
    if shape == SCALES:
        strengths *= g.integers(2)
        log_scales = g.uniform(0.3, 1.5, size)
    levels = pilot.labels.max(axis=0, initial=0) + 1
    turns = log_uniform(g, 0.5, 2.0)

    def move(sample, scores):
        shifts = shift(scores)[:, None]
        steps = shifts * strengths * spread
        steps = np.where(are_whole, np.round(steps), steps)
        log_factors = scale(scores)[:, None] * log_scales
        bounded = np.clip(log_factors, -4, 4)
        deviations = sample.numbers - middle
        values = middle + deviations * np.exp(bounded) + steps
        labels = sample.labels
        turn = np.round(turns * shifts).astype(np.int64)
        turned = (labels + turn) % levels
        return Sample(values, np.where(labels < levels, turned, labels))

    return move
