"""Pairs in which y depends on x through one score, and their information by quadrature.

An observation of a column destroys information: rounding, repeated values at a limit,
censoring, or ordered levels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from infoscope.data.information import bisected, table_information
from infoscope.data.prior.draws import Array, Generator, log_uniform, pick
from infoscope.data.prior.noise import Predictor
from infoscope.data.prior.parts import Part, Request, Sample, categories, numbers

Mask = NDArray[np.bool_]
KINDS = ("rounding", "limit", "censoring", "levels")
LEVELS = (3, 12)  # ordered levels of one column
LIMIT = (0.05, 0.65)  # share of values at a detection limit
CELLS = (4, 60)  # of a rounded column within the central 98 %
CATEGORIES = (2, 8)  # of one column
MARGIN_CELLS = 8  # of a rounded column beyond the range of the pilot values
COARSE, FINE = (64, 120), (400, 900)  # nodes of the score, cells of y
PILOT_ROWS = 2_000  # for the range of y and the cells of observations
MAX_SCORE = 6.0  # normal score up to which there are nodes
OVERHANG = 1.25  # range of the cells over that of the pilot values, after asinh
REFINEMENTS = 3  # sets of nodes and cells, each finer than the one before
TOLERANCE = (0.0008, 0.004)  # nats, or share of the result: allowed error of a truth


# --- observation ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Observation:
    """A non-decreasing map of one column, constant (an atom) in some intervals.

    If atoms[i], all values between edges[i - 1] and edges[i] become values[i].
    """

    name: str
    edges: Array  # [m], increasing
    atoms: Mask  # [m + 1]
    values: Array  # [m + 1]

    def apply(self, column: Array) -> Array:
        """The observed column."""
        cell = np.searchsorted(self.edges, column)
        return np.where(self.atoms[cell], self.values[cell], column)

    def level(self, column: Array) -> NDArray[np.int64]:
        """The number of the interval of every value, 0 to m."""
        return np.searchsorted(self.edges, column).astype(np.int64)

    def interval(self, observed: Array) -> NDArray[np.int64]:
        """The number of the interval of every observed value.

        The value of an atom may lie on an edge of its interval.
        """
        if self.atoms.all():
            return np.searchsorted(self.values, observed)
        interval = np.searchsorted(self.edges, observed)
        for atom in np.flatnonzero(self.atoms):
            interval[observed == self.values[atom]] = atom
        return interval


def draw_observation(
    g: Generator, pilot: Array, kind: str | None = None
) -> Observation:
    """A random observation of a column; `pilot` has some draws of the column."""
    kind = kind or pick(g, KINDS)
    if kind == "levels":
        return draw_levels(g, pilot)
    if kind == "rounding":
        return _draw_rounding(g, pilot)
    below = log_uniform(g, *LIMIT)
    above = log_uniform(g, *LIMIT) / 2
    if kind == "limit":
        return _draw_limit(g, pilot, below)
    below /= 1.5
    cuts = np.quantile(pilot, [below, 1 - above])
    values = np.insert(cuts, 1, 0.0)
    is_atom = np.array([True, False, True])
    name = f"censored {below:.0%} below, {above:.0%} above"
    return Observation(name, cuts, is_atom, values)


def _draw_rounding(g: Generator, pilot: Array) -> Observation:
    """Rounding to the multiples of a random width."""
    low, high = np.quantile(pilot, [0.01, 0.99])
    spread = high - low
    width = spread / log_uniform(g, *CELLS)
    least = max(pilot.min(), low - 3 * spread)
    largest = min(pilot.max(), high + 3 * spread)
    lowest = np.floor(least / width) - MARGIN_CELLS
    highest = np.ceil(largest / width) + MARGIN_CELLS
    values = np.arange(lowest, highest + 1) * width
    edges = (values[1:] + values[:-1]) / 2
    is_atom = np.ones(len(values), bool)
    return Observation("rounded", edges, is_atom, values)


def _draw_limit(g: Generator, pilot: Array, share: float) -> Observation:
    """A lower or an upper limit that takes the place of a share of the values."""
    is_atom = np.array([True, False])
    side = "a lower"
    level = share
    if g.random() >= 0.7:
        is_atom = ~is_atom
        side = "an upper"
        level = 1 - share
    cut = np.quantile(pilot, [level])
    values = np.where(is_atom, cut, 0.0)
    return Observation(f"{share:.0%} at {side} limit", cut, is_atom, values)


def draw_levels(g: Generator, pilot: Array, levels: int | None = None) -> Observation:
    """Ordered levels 1, 2, ... of random shares."""
    least, largest = LEVELS
    levels = levels or int(g.integers(least, largest + 1))
    concentration = log_uniform(g, 1.0, 20.0)
    shares = g.dirichlet(np.full(levels, concentration)) + 0.01
    cumulated = np.cumsum(shares / shares.sum())
    edges = np.unique(np.quantile(pilot, cumulated[:-1]))
    count = len(edges) + 1
    values = np.arange(1.0, count + 1)
    is_atom = np.ones(count, bool)
    return Observation(f"{count} levels", edges, is_atom, values)


# --- quadrature ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class ScoredPair:
    """x with its score, and y given the score.

    cdf         edges [m], score [k, 1] -> P(y <= edge | score) [k, m]
    draw        score [n], generator -> y [n]
    lattice     y is a whole number from 0 to lattice - 1; 0 for a continuous y
    about_zero  whether the scale of y about 0 varies
    """

    predictor: Predictor
    cdf: Callable[[Array, Array], Array]
    draw: Callable[[Array, Generator], Array]
    lattice: int = 0
    about_zero: bool = False


def information(
    pair: ScoredPair,
    x_seen: Observation | None,
    y_seen: Observation | None,
    pilot_y: Array,
) -> float:
    """I(observed x; observed y), nats; NaN if it depends on the finest nodes and cells."""
    nodes, cells = FINE
    tolerance, share = TOLERANCE
    for _ in range(REFINEMENTS):
        joint, x_free, y_free = _joint(pair, x_seen, y_seen, pilot_y, (nodes, cells))
        nats = table_information(joint)
        nodes_error = _nodes_error(joint, x_free, nats)
        cells_error = 0.0
        if y_free.sum() > 4:
            fall, ratio = _convergence(joint, y_free, nats)
            cells_error = 0.3 * fall / (ratio - 1)
            nats += fall / (ratio - 1)
        error = max(nodes_error, cells_error)
        if error <= max(tolerance, share * nats):
            return max(nats, 0.0)
        if nodes_error > cells_error / 2:
            nodes = 2 * nodes
        cells = 2 * cells
    return float("nan")


def _nodes_error(joint: Array, x_free: Mask, nats: float) -> float:
    """Error of the information, nats, due to the nodes of x.

    It is a third of the change when every second node is left out.
    """
    if x_free.sum() <= 2:
        return 0.0
    is_odd = np.cumsum(x_free) % 2 == 1
    weights = np.where(x_free, 2.0 * is_odd, 1.0)
    halved = joint * weights[:, None]
    nats_of_half = table_information(halved / halved.sum())
    return abs(nats - nats_of_half) / 3


def _convergence(joint: Array, y_free: Mask, nats: float) -> tuple[float, float]:
    """Fall of the information when cells of y merge in pairs, and a ratio of falls.

    The ratio is the fall at the second merger over the first fall: 4 for smooth
    densities, 2 for densities with jumps.
    """
    half, half_free = _merged(joint, y_free)
    quarter, _ = _merged(half, half_free)
    nats_of_half = table_information(half)
    fall = nats - nats_of_half
    fall_of_half = nats_of_half - table_information(quarter)
    ratio = fall_of_half / max(fall, 1e-12)
    return fall, float(np.clip(ratio, 2, 4))


def _joint(
    pair: ScoredPair,
    x_seen: Observation | None,
    y_seen: Observation | None,
    pilot_y: Array,
    sizes: tuple[int, int],
) -> tuple[Array, Mask, Mask]:
    """Joint table of score and y; which of its rows, and columns, are continuous."""
    nodes, cells = sizes
    z_edges = np.linspace(-MAX_SCORE, MAX_SCORE, nodes + 1)[1:-1]
    x_cuts = np.zeros(0)
    if x_seen is not None:
        x_cuts = score_of(pair.predictor, x_seen.edges)
        is_inside = np.abs(x_cuts) < MAX_SCORE
        z_edges = np.union1d(z_edges, x_cuts[is_inside])
    ends = np.r_[-MAX_SCORE, z_edges, MAX_SCORE]
    of_x = np.diff(special.ndtr(z_edges), prepend=0.0, append=1.0)
    middles = (ends[1:] + ends[:-1]) / 2
    score = pair.predictor.quantile(special.ndtr(middles))
    y_edges, y_cuts = _cells(pair, y_seen, pilot_y, cells)
    levels = pair.cdf(y_edges, score[:, None])
    of_y_given_x = np.diff(levels, axis=1, prepend=0.0, append=1.0)
    joint = of_x[:, None] * np.maximum(of_y_given_x, 0.0)
    lower = np.append(y_edges[0] - 1, y_edges)
    upper = np.append(y_edges, y_edges[-1] + 1)
    y_middles = (lower + upper) / 2
    x_intervals = np.searchsorted(x_cuts, middles)
    y_intervals = np.searchsorted(y_cuts, y_middles)
    joint, x_free = _grouped(joint, x_seen, x_intervals)
    joint, y_free = _grouped(joint.T, y_seen, y_intervals)
    if pair.lattice:
        y_free = np.zeros_like(y_free)
    return joint.T, x_free, y_free


def _cells(
    pair: ScoredPair, seen: Observation | None, pilot: Array, cells: int
) -> tuple[Array, Array]:
    """Edges of the cells of y, and those among them where an observation changes."""
    cuts = np.zeros(0)
    all_atoms = False
    if seen is not None:
        cuts = seen.edges
        all_atoms = seen.atoms.all()
    if pair.lattice:
        return np.arange(0.5, pair.lattice - 1), cuts
    if all_atoms:
        return cuts, cuts
    middle = 0.0 if pair.about_zero else np.median(pilot)
    distances = np.abs(pilot - middle)
    if pair.about_zero:
        # cells have similar widths up to the 1 % quantile of |y|
        width = np.quantile(distances, 0.01)
    else:
        width = max(np.median(distances), 0.1 * pilot.std())
    ends = np.array([pilot.min(), pilot.max()])
    low, high = OVERHANG * np.arcsinh((ends - middle) / width)
    mesh = np.linspace(low, high, cells - 1)
    edges = middle + width * np.sinh(mesh)
    return np.union1d(edges, cuts), cuts


def _grouped(
    joint: Array, seen: Observation | None, interval: NDArray
) -> tuple[Array, Mask]:
    """Table with the rows of each atom summed, and which of its rows are continuous."""
    if seen is None:
        return joint, np.ones(len(joint), bool)
    is_atom = seen.atoms[interval]
    is_first = np.ones(len(joint), bool)
    changes = np.diff(interval) != 0
    is_first[1:] = changes | ~is_atom[1:]
    starts = np.flatnonzero(is_first)
    return np.add.reduceat(joint, starts, axis=0), ~is_atom[starts]


def _merged(joint: Array, free: Mask) -> tuple[Array, Mask]:
    """Table with neighbouring continuous columns summed in pairs, and which these are."""
    # the second, fourth, ... of the continuous columns
    is_even = np.cumsum(free) % 2 == 0
    both_free = free[1:] & free[:-1]
    is_first = np.ones(len(free), bool)
    is_first[1:] = ~(both_free & is_even[1:])
    starts = np.flatnonzero(is_first)
    return np.add.reduceat(joint, starts, axis=1), free[starts]


def score_of(predictor: Predictor, values: Array) -> Array:
    """The normal scores at which the predictor's quantile function reaches `values`."""

    def below(score):
        level = special.ndtr(score)
        return ~(predictor.quantile(level) > values)

    end = np.full(len(values), 8.0)
    low, high = bisected(below, -end, end, 60)
    return (low + high) / 2


# --- subsystems ------------------------------------------------------------------------------------------------------
def scored_part(
    family: str,
    name: str,
    request: Request,
    g: Generator,
    predictor: Predictor,
    build: Callable[[float], ScoredPair],
    strengths: tuple[float, float],
    decode: Callable[[Array], Sample] | None = None,
    levels: bool = False,
) -> Part:
    """The subsystem of a score and y with about the requested information.

    build      strength -> the pair; the strength is searched between `strengths`
    decode     codes of y -> columns
    levels     whether observations are always ordered levels

    Where ties or categories are requested, the columns are observed.
    """
    _, score = predictor.sample(PILOT_ROWS, g)
    strength = calibrated(build, score, request.nats, strengths, g)
    pair = build(strength)
    pilot = pair.draw(score, g)
    tied_x, tied_y = request.tied
    x_seen = y_seen = None
    text = f"{name} of {predictor.name}, strength {strength:.3g}"
    if predictor.columns == 1:
        x_seen = _draw_requested(g, score, request.x, tied_x, levels)
    if decode is None and not pair.lattice:
        y_seen = _draw_requested(g, pilot, request.y, tied_y, levels)
    if x_seen is not None:
        text += f", x {x_seen.name}"
    if y_seen is not None:
        text += f", y {y_seen.name}"

    def draw(n, g):
        columns, score = predictor.sample(n, g)
        y = pair.draw(score, g)
        x = numbers(columns)
        if x_seen is not None:
            x = observed(columns[:, 0], x_seen, request.x)
        if decode is not None:
            return x, decode(y)
        if y_seen is not None:
            return x, observed(y, y_seen, request.y)
        if pair.lattice and request.y == "categories":
            return x, categories(y)
        return x, numbers(y)

    def truth(g):
        return information(pair, x_seen, y_seen, pilot), 0.0

    x_has_ties = request.x != "categories" and x_seen is not None
    y_has_ties = request.y != "categories"
    y_has_ties &= y_seen is not None or pair.lattice > 0
    return Part(family, text, draw, truth, (x_has_ties, y_has_ties))


def _draw_requested(
    g: Generator, pilot: Array, kind: str, tied: bool, levels: bool
) -> Observation | None:
    """Ordered levels for categories, any observation for ties, else None."""
    if kind == "categories":
        least, largest = CATEGORIES
        count = int(g.integers(least, largest + 1))
        return draw_levels(g, pilot, count)
    if not tied:
        return None
    if levels:
        return draw_levels(g, pilot)
    return draw_observation(g, pilot)


def observed(column: Array, observation: Observation, kind: str) -> Sample:
    """An observed column: as a category or as numbers."""
    if kind == "categories":
        return categories(observation.level(column))
    return numbers(observation.apply(column))


def calibrated(
    build: Callable[[float], ScoredPair],
    score: Array,
    nats: float,
    strengths: tuple[float, float],
    g: Generator,
) -> float:
    """Strength at which the information is about `nats`, by bisection of its logarithm."""

    def below(log_strength):
        pair = build(float(np.exp(log_strength)))
        pilot = pair.draw(score[:400], g)
        joint, _, _ = _joint(pair, None, None, pilot, COARSE)
        return table_information(joint) < nats

    least, largest = np.log(strengths)
    low, high = bisected(below, least, largest, 9)
    return float(np.exp((low + high) / 2))
