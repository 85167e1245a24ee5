"""Distributions of the next value of a series given the present values of two series.

The series holds numbers, counts or labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from infoscope.data.prior.draws import Array, Generator

# present values of the series and of the other series -> a parameter
Response = Callable[[Array, Array], Array]
GRID_MARGIN = 0.25  # share of a pilot's range by which a grid extends beyond each end


@dataclass(frozen=True)
class NumberTransition:
    """A mean plus noise of a scale; both depend on the present values.

    gap   distance of the two normals of the noise from 0, in their standard deviations;
          0: the noise is normal
    """

    mean: Response
    scale: Response
    gap: float = 0.0
    kind = "numbers"

    def draw(self, present: Array, other: Array, g: Generator) -> Array:
        """Next values, in the shape of the present ones."""
        shape = np.shape(present)
        noise = g.normal(size=shape)
        if self.gap:
            sides = g.integers(2, size=shape)
            signs = 2 * sides - 1
            noise += self.gap * signs
        mean = self.mean(present, other)
        scale = self.scale(present, other)
        return mean + scale * noise

    def weights(self, values: Array, present: Array, other: Array) -> Array:
        """Densities [next value, ...] of next values, up to a constant."""
        mean = self.mean(present, other)
        scale = self.scale(present, other)
        deviations = np.subtract.outer(values, mean)
        scores = deviations / scale
        from_upper = scores - self.gap
        from_lower = scores + self.gap
        upper = np.exp(-0.5 * from_upper**2)
        lower = np.exp(-0.5 * from_lower**2)
        return upper + lower

    def values(self, pilot: Array, size: int) -> Array:
        """About `size` equally spaced values around a pilot; 0 lies between two."""
        width = np.ptp(pilot)
        margin = GRID_MARGIN * width
        step = (width + 2 * margin) / size
        low = pilot.min() - margin
        high = pilot.max() + margin
        first = np.floor(low / step)
        end = np.ceil(high / step)
        middles = np.arange(first, end) + 0.5
        return step * middles


@dataclass(frozen=True)
class CountTransition:
    """Poisson counts of a rate; with a finite shape, negative binomial counts.

    The variance of negative binomial counts is rate + rate^2 / shape.
    """

    rate: Response
    shape: float = np.inf
    kind = "counts"

    def draw(self, present: Array, other: Array, g: Generator) -> NDArray:
        """Next counts, in the shape of the present ones."""
        rate = self.rate(present, other)
        if np.isfinite(self.shape):
            scale = 1 / self.shape
            factor = g.gamma(self.shape, scale, size=rate.shape)
            rate = rate * factor
        return g.poisson(rate)

    def weights(self, values: Array, present: Array, other: Array) -> Array:
        """Probabilities [next count, ...] of next counts."""
        rate = self.rate(present, other)
        axes = (1,) * rate.ndim
        counts = values.reshape(-1, *axes)
        if np.isinf(self.shape):
            return stats.poisson.pmf(counts, rate)
        total = self.shape + rate
        success = self.shape / total
        return stats.nbinom.pmf(counts, self.shape, success)

    def values(self, pilot: Array, size: int) -> NDArray:
        """All counts up to 1.6 times the largest one of a pilot, and 7 more."""
        largest = int(1.6 * pilot.max())
        return np.arange(largest + 8)


@dataclass(frozen=True)
class LabelTransition:
    """Labels whose probabilities are the softmax of logits [..., labels]."""

    logits: Response
    labels: int
    kind = "labels"

    def draw(self, present: Array, other: Array, g: Generator) -> NDArray:
        """Next labels, in the shape of the present ones, by the Gumbel-max method."""
        logits = self.logits(present, other)
        noise = g.gumbel(size=logits.shape)
        return np.argmax(logits + noise, axis=-1)

    def weights(self, values: Array, present: Array, other: Array) -> Array:
        """Probabilities [next label, ...] of next labels."""
        logits = self.logits(present, other)
        probabilities = special.softmax(logits, axis=-1)
        return np.moveaxis(probabilities, -1, 0)

    def values(self, pilot: Array, size: int) -> NDArray:
        """All labels."""
        return np.arange(self.labels)


Transition = NumberTransition | CountTransition | LabelTransition
