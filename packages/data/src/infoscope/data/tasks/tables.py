"""Tables of mixed columns whose information about a target is known.

A table has independent uniform sources. Each column is the output of a channel with one
source as its input: an increasing map, noise, levels, a count, a category or an angle.
The target is a sum of functions of some sources, plus noise. Columns of these sources
are relevant, other columns are not; several columns may have the same source. The
information of a column about the target is computed on a grid of its source, and summed
over the other sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from infoscope.data.information import table_information

Generator = np.random.Generator
Values = NDArray[np.float64]
GRID = np.linspace(0, 1, 401)[:-1] + 1 / 800  # a source, in cells of equal probability
NUMBER_CELLS = 500  # of the grid of a number
NOISE_RANGE = 6.0  # standard deviations of noise that a grid covers
MAX_COUNT = 60
# of the variance of a source's normal score that is common to a group
GROUP_SHARE = 0.3
STEPS = 2_000  # of the grid of a sum of effects


@dataclass(frozen=True)
class Channel:
    """A channel from a source u to a column.

    draw   u, generator -> the column
    cells  u -> probabilities [len(u), cells]; None for an invertible map
    """

    draw: Callable[[Values, Generator], NDArray]
    cells: Callable[[Values], Values] | None = None


def with_noise(sd: float) -> Channel:
    """The normal score of the source, and normal noise."""

    def draw(u, g):
        noise = sd * g.normal(size=len(u))
        return special.ndtri(u) + noise

    def cells(u):
        centres = special.ndtri(u)
        end = 3.2 + NOISE_RANGE * sd
        points = np.linspace(-end, end, NUMBER_CELLS)
        deviations = points - centres[:, None]
        return normal_cells(deviations, sd)

    return Channel(draw, cells)


def in_levels(*ends: float) -> Channel:
    """Whole numbers 1, 2, ...: the interval between the ends in which the source lies."""

    def draw(u, g):
        return 1 + np.searchsorted(ends, u)

    def cells(u):
        certain = np.eye(len(ends) + 1)
        return certain[np.searchsorted(ends, u)]

    return Channel(draw, cells)


def counted(scale: float, level: float) -> Channel:
    """A Poisson count whose rate is lognormal in the source."""

    def rate(u):
        return np.exp(scale * special.ndtri(u) + level)

    def draw(u, g):
        return g.poisson(rate(u))

    def cells(u):
        counts = np.arange(MAX_COUNT)
        return stats.poisson.pmf(counts, rate(u)[:, None])

    return Channel(draw, cells)


def labelled(classes: int, sharpness: float) -> Channel:
    """An unordered category with probabilities softmax(sharpness cos(2 pi u + phase))."""
    names = np.array(list("abcdefgh"))

    def chances(u):
        phases = 2 * np.pi * np.arange(classes) / classes
        angles = 2 * np.pi * u[:, None] + phases
        return special.softmax(sharpness * np.cos(angles), axis=1)

    def draw(u, g):
        levels = chances(u).cumsum(axis=1)
        below = levels < g.random((len(u), 1))
        return names[below.sum(axis=1)]

    return Channel(draw, chances)


def in_steps(values: Values, step: float) -> NDArray[np.int64]:
    """The distance of each value from the smallest, in whole steps."""
    distances = values - values.min()
    return np.round(distances / step).astype(int)


def normal_cells(deviations: Values, sd: float) -> Values:
    """Probabilities of cells at these deviations from the mean."""
    density = np.exp(-((deviations / sd) ** 2) / 2)
    return density / density.sum(axis=1, keepdims=True)


CHANNELS: Mapping[str, Channel] = {
    "normal": Channel(lambda u, g: special.ndtri(u)),
    "skewed": Channel(lambda u, g: np.exp(special.ndtri(u))),
    "tails": Channel(lambda u, g: stats.t.ppf(u, 2)),
    "angle": Channel(lambda u, g: 360 * u),
    "noisy": with_noise(0.5),
    "blurred": with_noise(1.0),
    "levels": in_levels(0.1, 0.3, 0.6, 0.85),
    "halves": in_levels(0.75),
    "counts": counted(0.8, -0.2),
    "spikes": counted(0.7, 1.5),
    "labels": labelled(4, 2.0),
    "sites": labelled(8, 1.5),
}
EFFECTS: Mapping[str, Callable[[Values], Values]] = {
    "line": special.ndtri,
    "square": lambda u: (special.ndtri(u) ** 2 - 1) / np.sqrt(2),
    "wave": lambda u: np.sqrt(2) * np.sin(4 * np.pi * u),
    "step": lambda u: np.where(u > 0.7, np.sqrt(7 / 3), -np.sqrt(3 / 7)),
}
"""Functions of a source, of mean 0 and variance 1."""


@dataclass(frozen=True)
class KnownTable:
    """A table of n rows whose columns have a known information about the target.

    columns  name -> (source, channel)
    effects  source -> (function, weight)
    label    whether the target is yes or no, else it is a positive number
    grouped  whether there are groups of five dependent rows
    """

    n: int
    columns: Mapping[str, tuple[int, str]]
    effects: Mapping[int, tuple[str, float]]
    label: bool = False
    grouped: bool = False

    @property
    def relevant(self) -> list[str]:
        """Columns that depend on the target."""
        names = []
        for name, (source, _) in self.columns.items():
            if source in self.effects:
                names.append(name)
        return names

    @property
    def spare(self) -> list[str]:
        """Relevant columns that add nothing, as another column determines their source."""
        copied = set()
        noisy = {}
        for name, (source, channel) in self.columns.items():
            if CHANNELS[channel].cells is None:
                copied.add(source)
            else:
                noisy[name] = source
        return [name for name in self.relevant if noisy.get(name) in copied]

    @property
    def angles(self) -> dict[str, float]:
        """Columns that are angles, with their period."""
        periods = {}
        for name, (_, channel) in self.columns.items():
            if channel == "angle":
                periods[name] = 360.0
        return periods

    def sample(
        self, generator: Generator
    ) -> tuple[pd.DataFrame, NDArray[np.int64] | None]:
        """A table with the column `target`, and its groups [n] or None."""
        sources = 1 + max(source for source, _ in self.columns.values())
        scores = generator.normal(size=(self.n, sources))
        groups = None
        if self.grouped:
            groups = np.arange(self.n) // 5
            common = generator.normal(size=(groups.max() + 1, sources))
            scores *= np.sqrt(1 - GROUP_SHARE)
            scores += np.sqrt(GROUP_SHARE) * common[groups]
        u = np.clip(special.ndtr(scores), 1e-12, 1 - 1e-12)
        total = np.zeros(self.n)
        for source, (form, weight) in self.effects.items():
            effect = EFFECTS[form](u[:, source])
            total += weight * effect
        table = {}
        for name, (source, channel) in self.columns.items():
            table[name] = CHANNELS[channel].draw(u[:, source], generator)
        table["target"] = self._target(total, generator)
        return pd.DataFrame(table), groups

    def _target(self, total: Values, generator: Generator) -> NDArray:
        """Draws of the target for every sum of effects."""
        if self.label:
            chance = special.expit(1.5 * total)
            is_yes = generator.random(len(total)) < chance
            return np.where(is_yes, "yes", "no")
        noisy = total + generator.normal(size=len(total))
        return np.exp(noisy / 2)

    def information(self) -> dict[str, float]:
        """I of every relevant column and the target, nats."""
        of_target = {source: self._target_given(source) for source in self.effects}
        information = {}
        for name in self.relevant:
            source, channel = self.columns[name]
            cells = CHANNELS[channel].cells
            of_column = np.eye(len(GRID))
            if cells is not None:
                of_column = cells(GRID)
            joint = of_column.T @ of_target[source]
            information[name] = table_information(joint / len(GRID))
        return information

    def _target_given(self, source: int) -> Values:
        """Probabilities [GRID, cells] of the target given a source."""
        effects = {}
        for place, (form, weight) in self.effects.items():
            effects[place] = weight * EFFECTS[form](GRID)
        effect = effects.pop(source)
        others = effects.values()
        low = sum(values.min() for values in others)
        high = sum(values.max() for values in others)
        span = high + effect.max() - low - effect.min()
        step = max(span / STEPS, 1e-6)
        of_others = np.ones(1)
        for values in others:  # the distribution of the sum of the others, in steps
            counts = np.bincount(in_steps(values, step))
            of_others = np.convolve(of_others, counts / len(values))
        width = len(of_others)
        size = width + int(np.ptp(effect) / step) + 2
        sums = low + effect.min() + step * np.arange(size)
        of_sum = self._target_cells(sums)
        starts, inverse = np.unique(in_steps(effect, step), return_inverse=True)
        of_start = []
        for start in starts:
            of_start.append(of_others @ of_sum[start : start + width])
        return np.array(of_start)[inverse]

    def _target_cells(self, total: Values) -> Values:
        """Probabilities [len(total), cells] of the target at each sum of effects."""
        if self.label:
            chance = special.expit(1.5 * total)
            return np.stack([1 - chance, chance], axis=1)
        low = total[0] - NOISE_RANGE
        high = total[-1] + NOISE_RANGE
        points = np.linspace(low, high, NUMBER_CELLS)
        return normal_cells(points - total[:, None], 1.0)


def known_table(
    n: int,
    effects: str,
    relevant: str,
    noise: str,
    copies: int = 1,
    label: bool = False,
    grouped: bool = False,
) -> KnownTable:
    """A known table of n rows.

    effects   function and weight of each source of the target
    relevant  channels of these sources in turn
    noise     channels of other sources
    copies    successive columns of each of the other sources
    """
    words = effects.split()
    weights = map(float, words[1::2])
    forms = dict(enumerate(zip(words[::2], weights)))
    columns = {}
    for place, channel in enumerate(relevant.split()):
        columns[f"r{place}"] = (place % len(forms), channel)
    for place, channel in enumerate(noise.split()):
        columns[f"x{place}"] = (len(forms) + place // copies, channel)
    return KnownTable(n, columns, forms, label, grouped)


_MIXED = (
    "normal levels labels counts skewed noisy sites tails halves spikes blurred angle "
)
_ALIKE = "normal noisy blurred levels " * 5
_FORMS = "line .6 square .6 wave .7 step .6"
TABLES: Mapping[str, KnownTable] = {
    "lines": known_table(500, "line .5 line .3 line .2", "normal " * 3, "normal " * 30),
    "forms-small": known_table(
        300,
        _FORMS,
        "normal skewed tails normal",
        _MIXED + "normal normal levels counts",
    ),
    "redundant-small": known_table(
        300, "line .9 square .7", "normal skewed noisy noisy levels levels", _ALIKE, 4
    ),
    "grouped": known_table(
        1000,
        "line .6 square .6",
        "normal levels noisy counts",
        _MIXED * 2,
        grouped=True,
    ),
    "two-classes": known_table(
        500, "line 1 step .7 line .5", "normal skewed counts", _MIXED * 2, label=True
    ),
    "nothing": known_table(500, "line 0", "", _MIXED * 2),
}
