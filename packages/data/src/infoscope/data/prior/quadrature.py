"""Mutual information by quadrature where y depends on x through one score and is coded in one number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from infoscope.data.prior.noise import Array, Generator, Predictor
from infoscope.data.prior.observation import Observation

COARSE, FINE = (64, 120), (400, 900)  # nodes of the score, cells of y
SMALL = 0.01  # quantile of |y| below which cells are alike where the scale of y varies
REFINEMENTS = 2  # doublings of nodes and cells
PILOT = 2_000  # draws that set the range of y and the cells of observation
REACH = 6.0  # normal scores between which the nodes lie
OVERHANG = 1.25  # cells extend so much further (in asinh) than the pilot draws
TOLERANCE = (0.0008, 0.004)  # nats, or share of the result: allowed error of a quadrature


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


def table_information(joint: Array) -> float:
    """Mutual information of a joint table [a, b], nats."""
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    return float(special.rel_entr(joint, expected).sum())


def pilot_draws(pair: ScoredPair, g: Generator) -> tuple[Array, Array]:
    """Some draws of score and y."""
    score = pair.predictor.sample(PILOT, g)[1]
    return score, pair.draw(score, g)


def coarse_information(pair: ScoredPair, pilot_y: Array) -> float:
    """A quick approximation, for choosing parameters."""
    return table_information(_joint(pair, None, None, pilot_y, COARSE)[0])


def information(pair: ScoredPair, x_seen: Observation | None, y_seen: Observation | None, pilot_y: Array) -> float:
    """I(observed x; observed y) in nats; refined until nodes and cells no longer matter, NaN where they do."""
    sizes = FINE
    for _ in range(REFINEMENTS + 1):
        joint, x_free, y_free = _joint(pair, x_seen, y_seen, pilot_y, sizes)
        nats = table_information(joint)
        nodes_error = 0.0
        if x_free.sum() > 2:
            halved = joint * _every_second(x_free)[:, None]
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
    """The joint table of score and y, and which of its rows and columns stand for continuous values."""
    z_edges = np.linspace(-REACH, REACH, sizes[0] + 1)[1:-1]
    x_cuts = np.zeros(0)
    if x_seen is not None:
        x_cuts = score_of(pair.predictor, x_seen.edges)
        z_edges = np.union1d(z_edges, x_cuts[np.abs(x_cuts) < REACH])
    ends = np.concatenate([[-REACH], z_edges, [REACH]])
    masses = np.diff(special.ndtr(np.concatenate([[-np.inf], z_edges, [np.inf]])))
    middles = (ends[1:] + ends[:-1]) / 2
    score = pair.predictor.quantile(special.ndtr(middles))
    y_edges, y_cuts = _cells(pair, y_seen, pilot_y, sizes[1])
    given = np.diff(pair.cdf(y_edges, score[:, None]), axis=1, prepend=0.0, append=1.0)
    joint = masses[:, None] * np.maximum(given, 0.0)
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
    width = np.quantile(away, SMALL) if pair.about_zero else max(np.median(away), 0.1 * pilot.std())
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


def _every_second(free: NDArray[np.bool_]) -> Array:
    """Weights (0, 1 or 2) of rows that leave out every second continuous one."""
    return np.where(free, np.where(np.cumsum(free) % 2 == 1, 2.0, 0.0), 1.0)


def score_of(predictor: Predictor, values: Array) -> Array:
    """The normal scores at which the predictor's quantile function reaches `values`, by bisection."""
    low, high = np.full(len(values), -8.0), np.full(len(values), 8.0)
    for _ in range(60):
        middle = (low + high) / 2
        above = predictor.quantile(special.ndtr(middle)) > values
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return (low + high) / 2
