"""How the next value of a series depends on its present value and on that of another:
numbers, counts, labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from infoscope.data.prior.draws import Array, Generator

# present value, present value of the other series -> a parameter
Response = Callable[[Array, Array], Array]
GRID_MARGIN = 0.25  # of the range of a pilot, added on each side of a grid


@dataclass(frozen=True, eq=False)
class NumberTransition:
    """A mean plus noise of a scale, both functions of the present; noise is normal or a
    mixture of two normals.

    gap   distance of the two normals from 0, in standard deviations of each; 0: normal
    """

    mean: Response
    scale: Response
    gap: float = 0.0
    kind = "numbers"

    def draw(self, own: Array, other: Array, g: Generator) -> Array:
        """Next values of the shape of the present ones."""
        noise = g.normal(size=np.shape(own))
        if self.gap:
            signs = 2 * g.integers(2, size=np.shape(own)) - 1
            noise = noise + self.gap * signs
        return self.mean(own, other) + self.scale(own, other) * noise

    def weights(self, values: Array, own: Array, other: Array) -> Array:
        """Densities [next, ...] of next values, up to a constant."""
        following = values.reshape(-1, *(1,) * np.broadcast(own, other).ndim)
        score = (following - self.mean(own, other)) / self.scale(own, other)
        upper = np.exp(-0.5 * (score - self.gap) ** 2)
        lower = np.exp(-0.5 * (score + self.gap) ** 2)
        return upper + lower

    def values(self, pilot: Array, size: int) -> Array:
        """About `size` equally spaced values around those of a pilot; 0 lies between
        two of them.
        """
        low, high = pilot.min(), pilot.max()
        margin = GRID_MARGIN * (high - low)
        step = (high - low + 2 * margin) / size
        lowest = np.floor((low - margin) / step)
        highest = np.ceil((high + margin) / step)
        return step * (np.arange(lowest, highest) + 0.5)


@dataclass(frozen=True, eq=False)
class CountTransition:
    """Poisson counts of a rate, or negative binomial ones of a finite shape (the
    variance is rate + rate^2 / shape).
    """

    rate: Response
    shape: float = np.inf
    kind = "counts"

    def draw(self, own: Array, other: Array, g: Generator) -> Array:
        """Next counts of the shape of the present ones."""
        rate = self.rate(own, other)
        if np.isfinite(self.shape):
            factor = g.gamma(self.shape, 1 / self.shape, size=np.shape(own))
            rate = rate * factor
        return g.poisson(rate)

    def weights(self, values: Array, own: Array, other: Array) -> Array:
        """Probabilities [next, ...] of next counts."""
        rate = self.rate(own, other)
        following = values.reshape(-1, *(1,) * np.ndim(rate))
        if np.isfinite(self.shape):
            chance = self.shape / (self.shape + rate)
            return stats.nbinom.pmf(following, self.shape, chance)
        return stats.poisson.pmf(following, rate)

    def values(self, pilot: Array, size: int) -> Array:
        """All counts to well above the largest of a pilot."""
        return np.arange(int(1.6 * pilot.max()) + 8)


@dataclass(frozen=True, eq=False)
class LabelTransition:
    """Labels with probabilities by softmax of logits [..., labels]."""

    logits: Response
    labels: int
    kind = "labels"

    def draw(self, own: Array, other: Array, g: Generator) -> Array:
        """Next labels of the shape of the present ones: the largest of logits with
        Gumbel noise.
        """
        logits = self.logits(own, other)
        noise = g.gumbel(size=logits.shape)
        return np.argmax(logits + noise, axis=-1)

    def weights(self, values: Array, own: Array, other: Array) -> Array:
        """Probabilities [next, ...] of next labels."""
        probabilities = special.softmax(self.logits(own, other), axis=-1)
        return np.moveaxis(probabilities, -1, 0)

    def values(self, pilot: Array, size: int) -> Array:
        """All labels."""
        return np.arange(self.labels)


Transition = NumberTransition | CountTransition | LabelTransition
