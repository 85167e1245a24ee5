"""Pairs in which y depends on x through one score: their observation and their information by quadrature.

Observation destroys information: rounding, repeated values at a limit, censoring, ordered levels.
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
MARGIN_CELLS = 8  # of a rounded column beyond the range of the pilot values
COARSE, FINE = (64, 120), (400, 900)  # nodes of the score, cells of y
PILOT_ROWS = 2_000  # for the range of y and the cells of observations
MAX_SCORE = 6.0  # normal score up to which there are nodes
OVERHANG = 1.25  # range of the cells over that of the pilot values, after asinh
TOLERANCE = (0.0008, 0.004)  # nats, or share of the result: allowed error of a truth


# --- observation ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Observation:
    """A non-decreasing map of one column: values between edges[i - 1] and edges[i] become values[i] where atoms[i]."""

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
    """A random observation of a column; `pilot` has some draws of the column."""
    kind = kind or pick(g, KINDS)
    if kind == "levels":
        return draw_levels(g, pilot)
    low, high = np.quantile(pilot, [0.01, 0.99])
    if kind == "rounding":
        width = (high - low) / log_uniform(g, 4, 60)  # cells within the central 98 %
        first = np.floor(max(pilot.min(), low - 3 * (high - low)) / width) - MARGIN_CELLS
        last = np.ceil(min(pilot.max(), high + 3 * (high - low)) / width) + MARGIN_CELLS
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


# --- quadrature ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class ScoredPair:
    """x with its score, and y given the score: its cumulative distribution function and its draws.

    `lattice` where y takes whole numbers 0 to `lattice` - 1 only; `about_zero` where the scale of y about 0 varies.
    """

    predictor: Predictor
    cdf: Callable[[Array, Array], Array]  # edges [m], score [k, 1] -> P(y <= edge | score) [k, m]
    draw: Callable[[Array, Generator], Array]  # score [n], generator -> y [n]
    lattice: int = 0
    about_zero: bool = False


def information(pair: ScoredPair, x_seen: Observation | None, y_seen: Observation | None, pilot_y: Array) -> float:
    """I(observed x; observed y) in nats; refined until nodes and cells no longer matter, NaN where they do."""
    sizes = FINE
    for _ in range(3):  # nodes and cells are doubled twice
        joint, x_free, y_free = _joint(pair, x_seen, y_seen, pilot_y, sizes)
        nats = table_information(joint)
        nodes_error = 0.0
        if x_free.sum() > 2:
            weights = np.where(x_free, np.where(np.cumsum(x_free) % 2 == 1, 2.0, 0.0), 1.0)  # every second node
            halved = joint * weights[:, None]
            nodes_error = abs(nats - table_information(halved / halved.sum())) / 3
        cells_error = 0.0
        if y_free.sum() > 4:
            half = _merged(joint, y_free)
            quarter = _merged(half[0], half[1])
            first, second = nats - table_information(half[0]), table_information(half[0])
            second -= table_information(quarter[0])
            ratio = np.clip(second / max(first, 1e-12), 2, 4)  # 4: smooth densities; 2: densities with jumps
            cells_error = 0.3 * first / (ratio - 1)
            nats += first / (ratio - 1)
        if max(nodes_error, cells_error) <= max(TOLERANCE[0], TOLERANCE[1] * nats):
            return max(nats, 0.0)
        sizes = (2 * sizes[0] if nodes_error > cells_error / 2 else sizes[0], 2 * sizes[1])
    return float("nan")


def _joint(
    pair: ScoredPair, x_seen: Observation | None, y_seen: Observation | None, pilot_y: Array, sizes: tuple[int, int]
) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """The joint table of score and y, and which of its rows and columns are of continuous values."""
    z_edges = np.linspace(-MAX_SCORE, MAX_SCORE, sizes[0] + 1)[1:-1]
    x_cuts = np.zeros(0)
    if x_seen is not None:
        x_cuts = score_of(pair.predictor, x_seen.edges)
        z_edges = np.union1d(z_edges, x_cuts[np.abs(x_cuts) < MAX_SCORE])
    ends = np.concatenate([[-MAX_SCORE], z_edges, [MAX_SCORE]])
    probabilities = np.diff(special.ndtr(np.concatenate([[-np.inf], z_edges, [np.inf]])))
    middles = (ends[1:] + ends[:-1]) / 2
    score = pair.predictor.quantile(special.ndtr(middles))
    y_edges, y_cuts = _cells(pair, y_seen, pilot_y, sizes[1])
    given = np.diff(pair.cdf(y_edges, score[:, None]), axis=1, prepend=0.0, append=1.0)
    joint = probabilities[:, None] * np.maximum(given, 0.0)
    y_ends = np.concatenate([y_edges[:1] - 1, y_edges]) if len(y_edges) else np.zeros(1)
    y_middles = (y_ends + np.concatenate([y_edges, y_edges[-1:] + 1])) / 2
    joint, x_free = _grouped(joint, x_seen, np.searchsorted(x_cuts, middles))
    joint, y_free = _grouped(joint.T, y_seen, np.searchsorted(y_cuts, y_middles))
    if pair.lattice:
        y_free = np.zeros_like(y_free)
    return joint.T, x_free, y_free


def _cells(pair: ScoredPair, seen: Observation | None, pilot: Array, cells: int) -> tuple[Array, Array]:
    """Edges of the cells of y, and those among them where an observation changes."""
    cuts = seen.edges if seen is not None else np.zeros(0)
    if pair.lattice:
        return np.arange(pair.lattice - 1) + 0.5, cuts
    if seen is not None and seen.atoms.all():
        return cuts, cuts
    middle = 0.0 if pair.about_zero else np.median(pilot)
    away = np.abs(pilot - middle)
    # about zero, cells are alike up to the 1 % quantile of |y|
    width = np.quantile(away, 0.01) if pair.about_zero else max(np.median(away), 0.1 * pilot.std())
    low, high = np.arcsinh((pilot.min() - middle) / width), np.arcsinh((pilot.max() - middle) / width)
    mesh = middle + width * np.sinh(np.linspace(OVERHANG * low, OVERHANG * high, cells - 1))
    return np.union1d(mesh, cuts), cuts


def _grouped(joint: Array, seen: Observation | None, interval: NDArray) -> tuple[Array, NDArray[np.bool_]]:
    """Rows of one atom summed; and which rows are left continuous."""
    if seen is None:
        return joint, np.ones(len(joint), bool)
    atom = seen.atoms[interval]
    new = np.ones(len(joint), bool)
    new[1:] = (interval[1:] != interval[:-1]) | ~atom[1:]
    starts = np.flatnonzero(new)
    return np.add.reduceat(joint, starts, axis=0), ~atom[starts]


def _merged(joint: Array, free: NDArray[np.bool_]) -> tuple[Array, NDArray[np.bool_]]:
    """Neighbouring continuous columns summed in pairs."""
    order = np.cumsum(free) - 1
    new = np.ones(len(free), bool)
    new[1:] = ~(free[1:] & free[:-1] & (order[1:] % 2 == 1))
    starts = np.flatnonzero(new)
    return np.add.reduceat(joint, starts, axis=1), free[starts]


def score_of(predictor: Predictor, values: Array) -> Array:
    """The normal scores at which the predictor's quantile function reaches `values`."""
    ends = np.full(len(values), -8.0), np.full(len(values), 8.0)
    return sum(bisected(lambda score: ~(predictor.quantile(special.ndtr(score)) > values), *ends, 60)) / 2


# --- subsystems ----------------------------------------------------------------------------------------------------
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
    """The subsystem of a score and y; `build(strength)` is calibrated within `strengths` to the requested nats.

    Where ties or categories are requested, the columns are observed (as few ordered levels if `levels`); `decode`
    makes columns of coded y.
    """
    score = predictor.sample(PILOT_ROWS, g)[1]
    strength = calibrated(build, score, request.nats, strengths, g)
    pair = build(strength)
    pilot = pair.draw(score, g)
    (x_kind, _, x_tied), (y_kind, _, y_tied) = request.sides
    x_seen = _requested(g, score, x_kind, x_tied, levels) if predictor.columns == 1 else None
    y_seen = _requested(g, pilot, y_kind, y_tied, levels) if decode is None and not pair.lattice else None
    text = f"{name} of {predictor.name}, strength {strength:.3g}"
    text += "".join(f", {side} {seen.name}" for side, seen in (("x", x_seen), ("y", y_seen)) if seen is not None)

    def draw(n: int, g: Generator) -> tuple[Sample, Sample]:
        columns, score = predictor.sample(n, g)
        y = pair.draw(score, g)
        x_side = numbers(columns) if x_seen is None else observed(columns[:, 0], x_seen, request.x)
        if decode is not None:
            return x_side, decode(y)
        if pair.lattice:
            return x_side, categories(y) if request.y == "categories" else numbers(y)
        return x_side, numbers(y) if y_seen is None else observed(y, y_seen, request.y)

    def truth(_: Generator) -> tuple[float, float]:
        return information(pair, x_seen, y_seen, pilot), 0.0

    tied = (x_seen is not None and request.x != "categories", y_seen is not None or pair.lattice > 0)
    return Part(family, text, draw, truth, (tied[0], tied[1] and request.y != "categories"))


def _requested(g: Generator, pilot: Array, kind: str, tied: bool, levels: bool) -> Observation | None:
    """Levels for categories; else, with ties, any observation."""
    if kind == "categories":
        return draw_levels(g, pilot, int(g.integers(2, 9)))
    return draw_observation(g, pilot, "levels" if levels else None) if tied else None


def observed(column: Array, seen: Observation, kind: str) -> Sample:
    """An observed column: as a category or as numbers."""
    return categories(seen.level(column)) if kind == "categories" else numbers(seen.apply(column))


def calibrated(
    build: Callable[[float], ScoredPair], score: Array, nats: float, strengths: tuple[float, float], g: Generator
) -> float:
    """The strength at which the information is about `nats`: bisection of its logarithm."""

    def below(log_strength: Array) -> bool:
        pair = build(float(np.exp(log_strength)))
        return table_information(_joint(pair, None, None, pair.draw(score[:400], g), COARSE)[0]) < nats

    return float(np.exp(sum(bisected(below, *np.log(strengths), 9)) / 2))
