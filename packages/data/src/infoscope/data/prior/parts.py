"""Independent subsystems: what is asked of one, what one is, and how one is made of a pair with a score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infoscope.data.prior import quadrature
from infoscope.data.prior.noise import Array, Generator, Predictor
from infoscope.data.prior.observation import Observation, draw_levels, draw_observation
from infoscope.data.prior.quadrature import ScoredPair

CALIBRATION_STEPS = 9  # halvings of the range of a parameter
EXCHANGED = " (x and y exchanged)"  # end of a description
CATEGORIES = (2, 9)  # categories that a number is cut into


@dataclass(frozen=True, eq=False)
class Sample:
    """One side of a sample: numbers [n, p] and category codes [n, q]; p or q may be 0."""

    numbers: NDArray[np.float64]
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class Request:
    """What a subsystem should be: kinds are numbers, categories or both; `columns` are the most number columns."""

    x: str
    y: str
    nats: float
    columns: tuple[int, int]
    tied: tuple[bool, bool]


@dataclass(frozen=True, eq=False)
class Part:
    """A subsystem: its draws, its mutual information (nats, standard error), and which number columns have ties."""

    family: str
    description: str
    draw: Callable[[int, Generator], tuple[Sample, Sample]]
    truth: Callable[[Generator], tuple[float, float]]
    tied: tuple[bool, bool] = (False, False)  # of all number columns of x and y

    def exchanged(self) -> Part:
        """The same subsystem with x and y exchanged."""
        plain = self.description.removesuffix(EXCHANGED)
        text = plain if plain != self.description else plain + EXCHANGED
        return Part(self.family, text, lambda n, g: self.draw(n, g)[::-1], self.truth, self.tied[::-1])


def numbers(columns: Array) -> Sample:
    """A side of numbers alone; [n] is one column."""
    columns = columns[:, None] if columns.ndim == 1 else columns
    return Sample(np.ascontiguousarray(columns, dtype=float), np.empty((len(columns), 0), np.int64))


def categories(codes: NDArray) -> Sample:
    """A side of categories alone; [n] is one column."""
    codes = codes[:, None] if codes.ndim == 1 else codes
    return Sample(np.empty((len(codes), 0)), codes.astype(np.int64))


def joined(samples: list[Sample]) -> Sample:
    """Columns of several samples of the same rows side by side."""
    return Sample(np.concatenate([s.numbers for s in samples], 1), np.concatenate([s.labels for s in samples], 1))


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
    score = predictor.sample(quadrature.PILOT, g)[1]
    strength = calibrated(build, score, request.nats, strengths, g)
    pair = build(strength)
    pilot = pair.draw(score, g)
    x_seen = y_seen = None
    if predictor.columns == 1 and request.x == "categories":
        x_seen = draw_levels(g, score, int(g.integers(*CATEGORIES)))
    elif predictor.columns == 1 and request.tied[0]:
        x_seen = draw_observation(g, score, "levels" if levels else None)
    if decode is None and request.y == "categories" and not pair.lattice:
        y_seen = draw_levels(g, pilot, int(g.integers(*CATEGORIES)))
    elif decode is None and request.tied[1] and not pair.lattice:
        y_seen = draw_observation(g, pilot, "levels" if levels else None)
    text = f"{name} of {predictor.name}, strength {strength:.3g}"
    text += "".join(f", {side} {seen.name}" for side, seen in (("x", x_seen), ("y", y_seen)) if seen is not None)

    def draw(n: int, g: Generator) -> tuple[Sample, Sample]:
        columns, score = predictor.sample(n, g)
        y = pair.draw(score, g)
        x_side = numbers(columns) if x_seen is None else _observed(columns[:, 0], x_seen, request.x)
        if decode is not None:
            return x_side, decode(y)
        if pair.lattice:
            return x_side, categories(y) if request.y == "categories" else numbers(y)
        return x_side, numbers(y) if y_seen is None else _observed(y, y_seen, request.y)

    def truth(_: Generator) -> tuple[float, float]:
        return quadrature.information(pair, x_seen, y_seen, pilot), 0.0

    tied = (x_seen is not None and request.x != "categories", y_seen is not None or pair.lattice > 0)
    return Part(family, text, draw, truth, (tied[0], tied[1] and request.y != "categories"))


def _observed(column: Array, seen: Observation, kind: str) -> Sample:
    return categories(seen.level(column)) if kind == "categories" else numbers(seen.apply(column))


def calibrated(
    build: Callable[[float], ScoredPair], score: Array, nats: float, strengths: tuple[float, float], g: Generator
) -> float:
    """The strength at which the information is about `nats`: bisection of its logarithm."""
    low, high = np.log(strengths)
    few = score[:400]
    for _ in range(CALIBRATION_STEPS):
        pair = build(float(np.exp((low + high) / 2)))
        if quadrature.coarse_information(pair, pair.draw(few, g)) < nats:
            low = (low + high) / 2
        else:
            high = (low + high) / 2
    return float(np.exp((low + high) / 2))
