"""Observation that destroys information: rounding, repeated values at a limit, censoring, ordered levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infoscope.data.prior.noise import Array, Generator, log_uniform, pick

KINDS = ("rounding", "limit", "censoring", "levels")
LEVELS = (3, 12)  # ordered levels of one column
CELLS = (4, 60)  # rounded cells within the central 98 %
LIMIT = (0.05, 0.65)  # share of values at a detection limit
MARGIN = 8  # rounded cells beyond the outermost pilot values


@dataclass(frozen=True, eq=False)
class Observation:
    """A non-decreasing map of one column: constant within `atom` intervals of `edges`, the identity in others.

    atoms[i] tells whether the values between edges[i - 1] and edges[i] become one value, values[i].
    """

    name: str
    edges: Array  # [m], increasing
    atoms: NDArray[np.bool_]  # [m + 1]
    values: Array  # [m + 1]

    def apply(self, column: Array) -> Array:
        """The observed column."""
        cell = np.searchsorted(self.edges, column)
        return np.where(self.atoms[cell], self.values[cell], column)

    def level(self, column: Array) -> NDArray[np.int64]:
        """The number of the interval of every value, 0 to m."""
        return np.searchsorted(self.edges, column).astype(np.int64)

    def interval(self, observed: Array) -> NDArray[np.int64]:
        """The number of the interval of every observed value; the value of an atom may lie on its edge."""
        if self.atoms.all():
            return np.searchsorted(self.values, observed)
        interval = np.searchsorted(self.edges, observed)
        for atom in np.flatnonzero(self.atoms):
            interval[observed == self.values[atom]] = atom
        return interval


def draw_observation(g: Generator, pilot: Array, kind: str | None = None) -> Observation:
    """A random observation of a column of which `pilot` has some draws."""
    kind = kind or pick(g, KINDS)
    if kind == "levels":
        return draw_levels(g, pilot)
    low, high = np.quantile(pilot, [0.01, 0.99])
    if kind == "rounding":
        width = (high - low) / log_uniform(g, *CELLS)
        first = np.floor(max(pilot.min(), low - 3 * (high - low)) / width) - MARGIN
        last = np.ceil(min(pilot.max(), high + 3 * (high - low)) / width) + MARGIN
        values = np.arange(first, last + 1) * width
        return Observation("rounded", (values[1:] + values[:-1]) / 2, np.ones(len(values), bool), values)
    below, above = log_uniform(g, *LIMIT), log_uniform(g, *LIMIT) / 2
    if kind == "limit":
        cut = _between(pilot, below)
        if g.random() < 0.7:
            return Observation(f"{below:.0%} at a lower limit", cut, np.array([True, False]), np.array([cut[0], 0.0]))
        cut = _between(pilot, 1 - below)
        return Observation(f"{below:.0%} at an upper limit", cut, np.array([False, True]), np.array([0.0, cut[0]]))
    cuts = np.concatenate([_between(pilot, below / 1.5), _between(pilot, 1 - above)])
    name = f"censored {below / 1.5:.0%} below, {above:.0%} above"
    return Observation(name, cuts, np.array([True, False, True]), np.array([cuts[0], 0.0, cuts[1]]))


def draw_levels(g: Generator, pilot: Array, levels: int | None = None) -> Observation:
    """Ordered levels 1, 2, ... of random shares."""
    levels = levels or int(g.integers(LEVELS[0], LEVELS[1] + 1))
    shares = g.dirichlet(np.full(levels, log_uniform(g, 1.0, 20.0))) + 0.01
    edges = np.unique(np.quantile(pilot, np.cumsum(shares / shares.sum())[:-1]))
    values = np.arange(1.0, len(edges) + 2)
    return Observation(f"{len(values)} levels", edges, np.ones(len(values), bool), values)


def _between(pilot: Array, share: float) -> Array:
    """A cut below which `share` of the pilot lies [1]."""
    return np.array([np.quantile(pilot, share)])
