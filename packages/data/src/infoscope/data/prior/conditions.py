"""The third variable of a triple: its columns, and functions of them by which it moves
other variables.
"""

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
SIMPLE: tuple[Effect, ...] = (lambda z: z, np.tanh, np.square, np.abs)
PILOT_ROWS = 1_000
MAX_SCORE = 5.0  # standard deviations at which columns are cut before a function
MAX_CODES = 400  # of a category column
CUTS = 5  # of functions with jumps


class Conditions:
    """Columns of z, numbers or categories, and standardised scores of them on which x
    and y depend.
    """

    def __init__(self, g: Generator, most: int = MAX_CONDITIONS) -> None:
        if g.random() >= 0.7:
            most = 2
        count = log_uniform_int(g, 1, most)
        some_labels = g.integers(count + 1)
        labels = int(g.choice([0, count, some_labels], p=[0.6, 0.2, 0.2]))
        self.tied = bool(g.random() < 0.3)
        columns = max(count - labels, 1)
        self.draw_numbers, _ = composition.draw_idle_numbers(columns, self.tied, g)
        self.draw_labels = composition.draw_idle_categories(labels, g)
        self.without_numbers = labels == count
        # of each category, by its code
        self.effects = g.normal(size=(labels, MAX_CODES))
        self.name = f"{count} conditions, {labels} of them categories"
        self.middle, self.spread = 0.0, 1.0
        scores = self.draw(PILOT_ROWS, g)[1]
        self.middle = np.median(scores, axis=0)
        self.spread = np.maximum(np.ptp(scores, axis=0) / 6, 0.1)

    def draw(self, n: int, g: Generator) -> tuple[Sample, Array]:
        """The columns of n rows, and their scores [n, m]."""
        columns = self.draw_numbers(n, g)
        if self.without_numbers:
            columns = columns[:, :0]
        samples, scores = [numbers(columns)], [columns]
        if len(self.effects):
            labels = self.draw_labels(n, g)
            samples.append(labels)
            for effect, codes in zip(self.effects, labels.labels.T):
                scores.append(effect[codes][:, None])
        standardised = (np.hstack(scores) - self.middle) / self.spread
        return joined(samples), np.clip(standardised, -MAX_SCORE, MAX_SCORE)


def draw_effect(shape: str, conditions: Conditions, g: Generator) -> Effect:
    """A function of the scores, of about mean 0 and standard deviation 1: a sum,
    products, steps or a maximum.
    """
    pilot = conditions.draw(PILOT_ROWS, g)[1]
    order = g.permutation(pilot.shape[1])
    used = order[: log_uniform_int(g, 1, MAX_USED)]
    size = len(used)
    functions = []
    for _ in range(max(size, 2)):
        if g.random() < SIMPLE_SHARE:
            function = pick(g, SIMPLE)
        else:
            _, function = noise.draw_function(g)
        functions.append(noise.standardised(function))
    weights = g.uniform(0.4, 1.0, size) * g.choice([-1, 1], size)
    columns = g.integers(size, size=CUTS)
    cuts = g.normal(0, 0.7, CUTS)
    heights = g.normal(size=2**CUTS)  # of the cells between cuts
    rate = log_uniform(g, 0.5, 3.0)

    def additive(z):
        terms = zip(weights, functions, z.T)
        return sum(weight * function(column) for weight, function, column in terms)

    def interacting(z):
        first, second = (z[:, column] for column in columns[:2])
        product = functions[0](first) * functions[1](second)
        return product + np.sin(rate * z @ weights)

    def jumps(z):
        above = z[:, columns] > cuts
        return heights[above @ 2 ** np.arange(CUTS)]

    def maxima(z):
        distances = np.abs(z * weights - cuts[0])
        return distances.max(axis=1)

    shapes = dict(zip(SHAPES, (additive, interacting, jumps, maxima)))
    function = shapes[shape]
    values = function(pilot[:, used])
    mean = values.mean()
    spread = max(values.std(), 0.05)
    return lambda scores: (function(scores[:, used]) - mean) / spread


def draw_move(
    shape: str, conditions: Conditions, pilot: Sample, g: Generator
) -> Callable[[Sample, Array], Sample]:
    """A map of columns that is invertible given the scores of z: shifts and scales of
    numbers, turns of categories.

    shape: one of SHAPES, or SCALES.
    """
    kind = pick(g, SHAPES) if shape == SCALES else shape
    shift = draw_effect(kind, conditions, g)
    scale = draw_effect(kind, conditions, g)
    spread = pilot.numbers.std(axis=0)
    middle = np.median(pilot.numbers, axis=0)
    are_whole = (pilot.numbers == np.round(pilot.numbers)).all(axis=0)
    size = spread.size
    strengths = log_uniform(g, 0.2, 2.5) * g.choice([-1, 0.5, 1], size)
    log_scales = np.zeros(size)
    if shape == SCALES:
        strengths = strengths * g.integers(2)
        log_scales = g.uniform(0.3, 1.5, size)
    levels = pilot.labels.max(axis=0, initial=0) + 1
    turns = log_uniform(g, 0.5, 2.0)

    def move(sample, scores):
        by = shift(scores)[:, None]
        moved = by * strengths * spread
        moved = np.where(are_whole, np.round(moved), moved)
        log_factor = scale(scores)[:, None] * log_scales
        factor = np.exp(np.clip(log_factor, -4, 4))
        values = middle + (sample.numbers - middle) * factor + moved
        steps = np.round(turns * by).astype(np.int64)
        turned = (sample.labels + steps) % levels
        labels = np.where(sample.labels < levels, turned, sample.labels)
        return Sample(values, labels)

    return move
