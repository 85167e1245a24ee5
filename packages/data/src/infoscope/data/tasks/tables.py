"""Tables of mixed columns whose information about a target, and about each other, is known.

A table has independent uniform sources. Each column is the output of a channel with one source as its input: an
increasing map, noise, levels, a count, a category or an angle. The target is a sum of functions of some sources, and
noise. Columns of these sources are relevant, the others are not; several columns may have the same source. I of any
pair is that of the two channels on a grid of the source, summed over the other sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

Generator = np.random.Generator
Values = NDArray[np.float64]
GRID = np.linspace(0, 1, 401)[:-1] + 1 / 800  # a source, in cells of equal probability
NUMBER_CELLS = 500  # of the grid of a number
NOISE_RANGE = 6.0  # standard deviations of noise that a grid covers
MAX_COUNT = 60
GROUP_SHARE = 0.3  # of the variance of a source's normal score that is common to a group


@dataclass(frozen=True)
class Channel:
    """A channel from a source u to a column: its draws, and its probabilities [GRID, cells]; None: invertible.

    kind  number, whole number, category or angle (of period 360)
    """

    kind: str
    draw: Callable[[Values, Generator], NDArray]
    cells: Callable[[Values], Values] | None


def invertible(form: Callable[[Values], Values], kind: str = "number") -> Channel:
    """The source itself, under an increasing map."""
    return Channel(kind, lambda u, g: form(u), None)


def with_noise(sd: float) -> Channel:
    """The normal score of the source, and normal noise."""

    def cells(u: Values) -> Values:
        centres = special.ndtri(u)
        points = np.linspace(-3.2 - NOISE_RANGE * sd, 3.2 + NOISE_RANGE * sd, NUMBER_CELLS)
        return _normal(points - centres[:, None], sd)

    return Channel("number", lambda u, g: special.ndtri(u) + sd * g.normal(size=len(u)), cells)


def in_levels(ends: tuple[float, ...]) -> Channel:
    """Whole numbers 1, 2, ...: the interval between the ends in which the source lies."""
    return Channel(
        "whole number",
        lambda u, g: 1 + np.searchsorted(ends, u),
        lambda u: np.eye(len(ends) + 1)[np.searchsorted(ends, u)],
    )


def counted(scale: float, level: float) -> Channel:
    """A Poisson count whose rate is lognormal in the source."""

    def rate(u: Values) -> Values:
        return np.exp(scale * special.ndtri(u) + level)

    return Channel(
        "whole number",
        lambda u, g: g.poisson(rate(u)),
        lambda u: stats.poisson.pmf(np.arange(MAX_COUNT), rate(u)[:, None]),
    )


def labelled(classes: int, sharpness: float) -> Channel:
    """A category with probabilities softmax(sharpness cos(2 pi u + phase)): no order."""

    def chances(u: Values) -> Values:
        phases = 2 * np.pi * np.arange(classes) / classes
        return special.softmax(sharpness * np.cos(2 * np.pi * u[:, None] + phases), axis=1)

    return Channel("category", lambda u, g: np.array(list("abcdefghij"))[_drawn(chances(u), g)], chances)


def _drawn(chances: Values, generator: Generator) -> NDArray[np.intp]:
    return (chances.cumsum(axis=1) < generator.random(len(chances))[:, None]).sum(axis=1)


def _normal(away: Values, sd: float) -> Values:
    density = np.exp(-((away / sd) ** 2) / 2)
    return density / density.sum(axis=1, keepdims=True)


CHANNELS: Mapping[str, Channel] = {
    "normal": invertible(special.ndtri),
    "skewed": invertible(lambda u: np.exp(special.ndtri(u))),
    "tails": invertible(lambda u: stats.t.ppf(u, 2)),
    "noisy": with_noise(0.5),
    "blurred": with_noise(1.0),
    "levels": in_levels((0.1, 0.3, 0.6, 0.85)),
    "halves": in_levels((0.75,)),
    "counts": counted(0.8, -0.2),
    "spikes": counted(0.7, 1.5),
    "labels": labelled(4, 2.0),
    "sites": labelled(8, 1.5),
    "angle": invertible(lambda u: 360 * u, "angle"),
}
EFFECTS: Mapping[str, Callable[[Values], Values]] = {
    "line": special.ndtri,
    "square": lambda u: (special.ndtri(u) ** 2 - 1) / np.sqrt(2),
    "wave": lambda u: np.sqrt(2) * np.sin(4 * np.pi * u),
    "round": lambda u: np.sqrt(2) * np.cos(2 * np.pi * u),
    "step": lambda u: np.where(u > 0.7, np.sqrt(7 / 3), -np.sqrt(3 / 7)),
}
"""Functions of a source, of mean 0 and variance 1."""


def _target_given_sum(total: Values, target: str) -> Values:
    """Probabilities [len(total), cells] of the target at each sum of effects."""
    if target in ("number", "levels"):
        points = np.linspace(total[0] - NOISE_RANGE, total[-1] + NOISE_RANGE, NUMBER_CELLS)
        cells = _normal(points - total[:, None], 1.0)
        if target == "number":
            return cells
        return np.stack([cells[:, level == np.searchsorted(LEVELS, points)].sum(axis=1) for level in range(5)], axis=1)
    if target == "count":
        return stats.poisson.pmf(np.arange(MAX_COUNT), np.exp(0.6 * total + 0.5)[:, None])
    chance = special.expit(1.5 * total)
    return np.stack([1 - chance, chance], axis=1)


LEVELS = (-1.2, -0.3, 0.4, 1.5)


def _target(total: Values, target: str, generator: Generator) -> NDArray:
    if target == "label":
        return np.where(generator.random(len(total)) < special.expit(1.5 * total), "yes", "no")
    if target == "count":
        return generator.poisson(np.exp(0.6 * total + 0.5))
    noisy = total + generator.normal(size=len(total))
    return 1 + np.searchsorted(LEVELS, noisy) if target == "levels" else np.exp(noisy / 2)


@dataclass(frozen=True)
class KnownTable:
    """sample(generator) -> a table with the column `target`, and its groups [n] or None; information() -> I, nats, by
    pairs of names, 0 where a pair is not in it.

    columns  name -> (source, channel); effects: source -> (function, weight); target: number, levels, count or label
    n        rows; grouped: groups of five dependent rows; missing: share of missing values
    """

    name: str
    n: int
    columns: Mapping[str, tuple[int, str]]
    effects: Mapping[int, tuple[str, float]]
    target: str
    grouped: bool = False
    missing: float = 0.0

    @property
    def relevant(self) -> list[str]:
        """Columns that depend on the target."""
        return [name for name, (source, _) in self.columns.items() if source in self.effects]

    @property
    def spare(self) -> list[str]:
        """Relevant columns that add nothing to another column, an invertible map of their source."""
        whole = {source for source, channel in self.columns.values() if CHANNELS[channel].cells is None}
        return [name for name in self.relevant if self.columns[name][0] in whole and self.cells(name) is not None]

    def cells(self, name: str) -> Callable[[Values], Values] | None:
        return CHANNELS[self.columns[name][1]].cells

    @property
    def angles(self) -> dict[str, float]:
        """Columns that are angles, with their period."""
        return {name: 360.0 for name, (_, channel) in self.columns.items() if CHANNELS[channel].kind == "angle"}

    def sample(self, generator: Generator) -> tuple[pd.DataFrame, NDArray[np.int64] | None]:
        sources = 1 + max(source for source, _ in self.columns.values())
        scores = generator.normal(size=(self.n, sources))
        groups = np.arange(self.n) // 5 if self.grouped else None  # 5 rows per group
        if groups is not None:
            common = generator.normal(size=(groups.max() + 1, sources))[groups]
            scores = np.sqrt(GROUP_SHARE) * common + np.sqrt(1 - GROUP_SHARE) * scores
        u = np.clip(special.ndtr(scores), 1e-12, 1 - 1e-12)
        total = sum(weight * EFFECTS[form](u[:, source]) for source, (form, weight) in self.effects.items())
        table = pd.DataFrame(
            {name: CHANNELS[channel].draw(u[:, source], generator) for name, (source, channel) in self.columns.items()}
        )
        if self.missing:
            table = table.mask(generator.random(table.shape) < self.missing)
        return table.assign(target=_target(total, self.target, generator)), groups

    def information(self) -> dict[tuple[str, str], float]:
        """I of every dependent pair of columns, and of relevant columns and the target, nats."""
        found = {}
        of_target = {source: self._target_given(source) for source in self.effects}
        for name in self.relevant:
            found[name, "target"] = information_of(self.cells(name), of_target[self.columns[name][0]])
        for one, other in combinations(self.columns, 2):
            if self.columns[one][0] == self.columns[other][0]:
                first, second = sorted((self.cells(one), self.cells(other)), key=lambda cells: cells is not None)
                found[one, other] = np.inf if second is None else information_of(first, second(GRID))
        return found

    def _target_given(self, source: int) -> Values:
        """Probabilities [GRID, cells] of the target given a source."""
        effects = {each: weight * EFFECTS[form](GRID) for each, (form, weight) in self.effects.items()}
        own = effects.pop(source)
        low = sum(values.min() for values in effects.values())
        high = sum(values.max() for values in effects.values())
        step = max((high + own.max() - low - own.min()) / 2_000, 1e-6)  # 2,000 steps
        rest = np.ones(1)
        for values in effects.values():  # the distribution of the others' sum, in steps
            place = np.round((values - values.min()) / step).astype(int)
            rest = np.convolve(rest, np.bincount(place) / len(place))
        total = low + own.min() + step * np.arange(len(rest) + int((own.max() - own.min()) / step) + 2)
        of_sum = _target_given_sum(total, self.target)
        place = np.round((own - own.min()) / step).astype(int)
        distinct, of_place = np.unique(place, return_inverse=True)
        given = np.array([rest @ of_sum[start : start + len(rest)] for start in distinct])
        return given[of_place]


def information_of(first: Callable[[Values], Values] | None, second: Values) -> float:
    """I, nats, of two channels of one source: the first as a function (None: the source itself), the second as
    probabilities [GRID, cells].
    """
    cells = np.eye(len(GRID)) if first is None else first(GRID)
    joint = cells.T @ second / len(GRID)
    margins = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return float(special.rel_entr(joint, margins).sum())


def _table(
    name: str, n: int, target: str, effects: str, relevant: str, noise: str, copies: int = 1, **settings: bool | float
) -> KnownTable:
    """A table. effects: function and weight of each source of the target; relevant: channels of these sources in turn;
    noise: channels of other sources, `copies` successive ones of each.
    """
    words = effects.split()
    forms = {place: (form, float(weight)) for place, (form, weight) in enumerate(zip(words[::2], words[1::2]))}
    columns = {f"r{place}": (place % len(forms), channel) for place, channel in enumerate(relevant.split())}
    for place, channel in enumerate(noise.split()):
        columns[f"x{place}"] = (len(forms) + place // copies, channel)
    return KnownTable(name, n, columns, forms, target, **settings)


_MIXED = "normal levels labels counts skewed noisy sites tails halves spikes blurred angle "
_ONE, _TWO, _ALIKE = _MIXED + "normal normal levels counts", _MIXED * 2, "normal noisy blurred levels " * 5
_FORMS, _FOUR = "line .6 square .6 wave .7 step .6", "normal skewed tails normal "
_ALL = (
    _table("lines", 500, "number", "line .5 line .3 line .2", "normal normal normal", "normal " * 30),
    _table("forms", 1000, "number", _FORMS, _FOUR, _TWO),
    _table("forms-small", 300, "number", _FORMS, _FOUR, _ONE),
    _table("weak", 2000, "number", "line .25 " * 4, "normal skewed levels counts", _TWO),
    _table("weak-large", 5000, "number", "line .12 " * 4, "normal skewed levels labels", _TWO),
    _table("redundant", 1000, "number", "line .7 line .5", "normal normal noisy blurred levels counts", _ALIKE, 4),
    _table("redundant-small", 300, "number", "line .9 square .7", "normal skewed noisy noisy levels levels", _ALIKE, 4),
    _table("redundant-large", 5000, "number", _FORMS, _FOUR + "noisy noisy blurred spikes", _TWO, 2),
    _table("grouped", 1000, "number", "line .6 square .6", "normal levels noisy counts", _TWO, grouped=True),
    _table("grouped-labels", 2000, "label", "line .8 line .5", "normal labels levels counts", _TWO, grouped=True),
    _table("two-classes", 500, "label", "line 1 step .7 line .5", "normal skewed counts", _TWO),
    _table("two-classes-large", 5000, "label", "line .3 square .3 wave .4", "normal tails normal", _TWO),
    _table("spikes", 1000, "count", "round .8 line .5", "angle spikes", _TWO),
    _table("spikes-small", 300, "count", "round 1 line .6", "angle normal", _ONE),
    _table("survey", 1000, "levels", "line .6 line .4 round .5", "levels levels labels", "levels " * 20 + _MIXED),
    _table("survey-missing", 2000, "levels", "line .5 step .5", "levels normal counts skewed", _TWO, missing=0.05),
    _table("counts", 2000, "count", "line .4 " * 3, "counts spikes halves", "counts " * 15 + "spikes " * 15),
    _table("sites", 1000, "number", "round .6 round .4", "labels sites sites labels", "sites " * 10 + _MIXED),
    _table("nothing", 500, "number", "line 0", "", _TWO),
    _table("half", 1000, "number", "line .3 " * 12, _MIXED, _MIXED),
)
TABLES: Mapping[str, KnownTable] = {table.name: table for table in _ALL}
