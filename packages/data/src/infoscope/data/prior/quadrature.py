"""Pairs in which y depends on x through one score: their observation and their
information by quadrature.

Observation destroys information: rounding, repeated values at a limit, censoring,
ordered levels.
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
    """A non-decreasing map of one column: values between edges[i - 1] and edges[i]
    become values[i] where atoms[i].
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
        """The number of the interval of every observed value; the value of an atom may
        lie on its edge.
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
    cuts = np.quantile(pilot, [below / 1.5, 1 - above])
    values = np.array([cuts[0], 0.0, cuts[1]])
    name = f"censored {below / 1.5:.0%} below, {above:.0%} above"
    return Observation(name, cuts, np.array([True, False, True]), values)


def _draw_rounding(g: Generator, pilot: Array) -> Observation:
    """Rounding to the multiples of a random width."""
    low, high = np.quantile(pilot, [0.01, 0.99])
    width = (high - low) / log_uniform(g, *CELLS)
    least = max(pilot.min(), low - 3 * (high - low))
    largest = min(pilot.max(), high + 3 * (high - low))
    lowest = np.floor(least / width) - MARGIN_CELLS
    highest = np.ceil(largest / width) + MARGIN_CELLS
    values = np.arange(lowest, highest + 1) * width
    edges = (values[1:] + values[:-1]) / 2
    return Observation("rounded", edges, np.ones(len(values), bool), values)


def _draw_limit(g: Generator, pilot: Array, share: float) -> Observation:
    """A lower or an upper limit that takes the place of a share of the values."""
    if g.random() < 0.7:
        cut = np.quantile(pilot, [share])
        is_atom = np.array([True, False])
        return Observation(
            f"{share:.0%} at a lower limit", cut, is_atom, np.append(cut, 0.0)
        )
    cut = np.quantile(pilot, [1 - share])
    is_atom = np.array([False, True])
    return Observation(
        f"{share:.0%} at an upper limit", cut, is_atom, np.append(0.0, cut)
    )


def draw_levels(g: Generator, pilot: Array, levels: int | None = None) -> Observation:
    """Ordered levels 1, 2, ... of random shares."""
    least, largest = LEVELS
    levels = levels or int(g.integers(least, largest + 1))
    concentration = log_uniform(g, 1.0, 20.0)
    shares = g.dirichlet(np.full(levels, concentration)) + 0.01
    cumulated = np.cumsum(shares / shares.sum())
    edges = np.unique(np.quantile(pilot, cumulated[:-1]))
    values = np.arange(1.0, len(edges) + 2)
    return Observation(
        f"{len(values)} levels", edges, np.ones(len(values), bool), values
    )


# --- quadrature ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class ScoredPair:
    """x with its score, and y given the score: its cumulative distribution function and
    its draws.

    `lattice` where y takes whole numbers 0 to `lattice` - 1 only; `about_zero` where
    the scale of y about 0 varies.
    """

    predictor: Predictor
    # edges [m], score [k, 1] -> P(y <= edge | score) [k, m]
    cdf: Callable[[Array, Array], Array]
    draw: Callable[[Array, Generator], Array]  # score [n], generator -> y [n]
    lattice: int = 0
    about_zero: bool = False


def information(
    pair: ScoredPair,
    x_seen: Observation | None,
    y_seen: Observation | None,
    pilot_y: Array,
) -> float:
    """I(observed x; observed y) in nats; refined until nodes and cells no longer
    matter, NaN where they do.
    """
    nodes, cells = FINE
    for _ in range(REFINEMENTS):
        joint, x_free, y_free = _joint(pair, x_seen, y_seen, pilot_y, (nodes, cells))
        nats = table_information(joint)
        nodes_error = _nodes_error(joint, x_free, nats)
        correction = 0.0
        cells_error = 0.0
        if y_free.sum() > 4:
            fall, ratio = _convergence(joint, y_free, nats)
            correction = fall / (ratio - 1)
            cells_error = 0.3 * fall / (ratio - 1)
        nats += correction
        if max(nodes_error, cells_error) <= max(TOLERANCE[0], TOLERANCE[1] * nats):
            return max(nats, 0.0)
        if nodes_error > cells_error / 2:
            nodes = 2 * nodes
        cells = 2 * cells
    return float("nan")


def _nodes_error(joint: Array, x_free: NDArray[np.bool_], nats: float) -> float:
    """The error of the information by the nodes of x, from a third of its change where
    every second one is left out.
    """
    if x_free.sum() <= 2:
        return 0.0
    doubled = np.where(np.cumsum(x_free) % 2 == 1, 2.0, 0.0)
    halved = joint * np.where(x_free, doubled, 1.0)[:, None]
    return abs(nats - table_information(halved / halved.sum())) / 3


def _convergence(
    joint: Array, y_free: NDArray[np.bool_], nats: float
) -> tuple[float, float]:
    """The fall of the information with cells of y merged in pairs, and its ratio to the
    one before.

    The ratio is 4 for smooth densities and 2 for densities with jumps.
    """
    half, half_free = _merged(joint, y_free)
    quarter, _ = _merged(half, half_free)
    nats_of_half = table_information(half)
    fall = nats - nats_of_half
    fall_of_half = nats_of_half - table_information(quarter)
    return fall, np.clip(fall_of_half / max(fall, 1e-12), 2, 4)


def _joint(
    pair: ScoredPair,
    x_seen: Observation | None,
    y_seen: Observation | None,
    pilot_y: Array,
    sizes: tuple[int, int],
) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """The joint table of score and y, and which of its rows and columns are of
    continuous values.
    """
    nodes, cells = sizes
    z_edges = np.linspace(-MAX_SCORE, MAX_SCORE, nodes + 1)[1:-1]
    x_cuts = np.zeros(0)
    if x_seen is not None:
        x_cuts = score_of(pair.predictor, x_seen.edges)
        z_edges = np.union1d(z_edges, x_cuts[np.abs(x_cuts) < MAX_SCORE])
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
    joint, x_free = _grouped(joint, x_seen, np.searchsorted(x_cuts, middles))
    joint, y_free = _grouped(joint.T, y_seen, np.searchsorted(y_cuts, y_middles))
    if pair.lattice:
        y_free = np.zeros_like(y_free)
    return joint.T, x_free, y_free


def _cells(
    pair: ScoredPair, seen: Observation | None, pilot: Array, cells: int
) -> tuple[Array, Array]:
    """Edges of the cells of y, and those among them where an observation changes."""
    cuts = np.zeros(0) if seen is None else seen.edges
    if pair.lattice:
        return np.arange(pair.lattice - 1) + 0.5, cuts
    if seen is not None and seen.atoms.all():
        return cuts, cuts
    if pair.about_zero:
        middle = 0.0
        # cells are alike up to the 1 % quantile of |y|
        width = np.quantile(np.abs(pilot), 0.01)
    else:
        middle = np.median(pilot)
        deviation = np.median(np.abs(pilot - middle))
        width = max(deviation, 0.1 * pilot.std())
    low = np.arcsinh((pilot.min() - middle) / width)
    high = np.arcsinh((pilot.max() - middle) / width)
    mesh = np.linspace(OVERHANG * low, OVERHANG * high, cells - 1)
    edges = middle + width * np.sinh(mesh)
    return np.union1d(edges, cuts), cuts


def _grouped(
    joint: Array, seen: Observation | None, interval: NDArray
) -> tuple[Array, NDArray[np.bool_]]:
    """Rows of one atom summed; and which of the rows then are continuous."""
    if seen is None:
        return joint, np.ones(len(joint), bool)
    is_atom = seen.atoms[interval]
    is_first = np.ones(len(joint), bool)
    changes = np.diff(interval) != 0
    is_first[1:] = changes | ~is_atom[1:]
    starts = np.flatnonzero(is_first)
    return np.add.reduceat(joint, starts, axis=0), ~is_atom[starts]


def _merged(joint: Array, free: NDArray[np.bool_]) -> tuple[Array, NDArray[np.bool_]]:
    """Neighbouring continuous columns summed in pairs."""
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
        return ~(predictor.quantile(special.ndtr(score)) > values)

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
    """The subsystem of a score and y; `build(strength)` is calibrated within
    `strengths` to the requested nats.

    Where ties or categories are requested, the columns are observed (as few ordered
    levels if `levels`); `decode` makes columns of coded y.
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
        is_label = pair.lattice and request.y == "categories"
        return x, categories(y) if is_label else numbers(y)

    def truth(g):
        return information(pair, x_seen, y_seen, pilot), 0.0

    x_has_ties = x_seen is not None and request.x != "categories"
    y_has_ties = (y_seen is not None or pair.lattice > 0) and request.y != "categories"
    return Part(family, text, draw, truth, (x_has_ties, y_has_ties))


def _draw_requested(
    g: Generator, pilot: Array, kind: str, tied: bool, levels: bool
) -> Observation | None:
    """Levels for categories; else, with ties, any observation."""
    if kind == "categories":
        least, largest = CATEGORIES
        return draw_levels(g, pilot, int(g.integers(least, largest + 1)))
    if not tied:
        return None
    return draw_observation(g, pilot, "levels" if levels else None)


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
    """The strength at which the information is about `nats`: bisection of its
    logarithm.
    """

    def below(log_strength):
        pair = build(float(np.exp(log_strength)))
        pilot = pair.draw(score[:400], g)
        joint, _, _ = _joint(pair, None, None, pilot, COARSE)
        return table_information(joint) < nats

    low, high = bisected(below, *np.log(strengths), 9)
    return float(np.exp((low + high) / 2))
