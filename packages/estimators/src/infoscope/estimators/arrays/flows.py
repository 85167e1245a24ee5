"""Normalising flows of x and y, after which their dependence is a few correlations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log, pi
from typing import ClassVar

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor, nn
from torch.nn import functional

from infoscope.estimators.arrays.fitting import (
    Chain,
    Schedule,
    Split,
    evaluated,
    prepared_tensor,
    splits,
    torch_generator,
)  # fmt: skip
from infoscope.estimators.arrays.protocol import NUMBERS, Described
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.result import Estimate, mean_of

_SPLINE_REACH = 4.0  # standard deviations from 0 beyond which a spline is the identity
_MIN_PIECE = 1e-3  # least width, height and slope of a piece of a spline
_MAX_CORRELATION = 1.0 - 1e-6  # a correlation of 1 has no density


class Spline(nn.Module):
    """Monotone rational quadratic pieces of each column (Durkan et al. 2019, section 3.1), at first the identity."""

    def __init__(self, columns: int, pieces: int) -> None:
        super().__init__()
        self.widths, self.heights = (nn.Parameter(torch.zeros(columns, pieces)) for _ in range(2))
        self.slopes = nn.Parameter(torch.zeros(columns, pieces - 1))

    def forward(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """The values [m, d] moved, and log of the derivative of the whole map [m]."""
        wide, left = _pieces(self.widths)
        high, low = _pieces(self.heights)
        start = np.log(np.expm1(1.0 - _MIN_PIECE))
        slopes = functional.pad(_MIN_PIECE + functional.softplus(self.slopes + start), (1, 1), value=1.0)
        columns = values.T.contiguous()
        place = torch.searchsorted(left[:, 1:].contiguous(), columns.clamp(-_SPLINE_REACH, _SPLINE_REACH).detach())
        wide, left, high, low, before, after = (
            of.gather(1, place) for of in (wide, left, high, low, slopes[:, :-1], slopes[:, 1:])
        )
        inside = columns.abs() < _SPLINE_REACH
        share = torch.where(inside, (columns - left) / wide, 0.5)
        rest, rise = share * (1 - share), high / wide
        below = rise + (before + after - 2 * rise) * rest
        moved = low + high * (rise * share**2 + before * rest) / below
        slope = rise**2 * (after * share**2 + 2 * rise * rest + before * (1 - share) ** 2) / below**2
        return torch.where(inside, moved, columns).T, torch.where(inside, slope.log(), 0.0).sum(0)


def _pieces(free: Tensor) -> tuple[Tensor, Tensor]:
    """Sizes of pieces [d, p] that fill the reach, and where each begins."""
    sizes = 2 * _SPLINE_REACH * (_MIN_PIECE + (1 - _MIN_PIECE * free.shape[1]) * free.softmax(1))
    return sizes, functional.pad(sizes.cumsum(1)[:, :-1], (1, 0)) - _SPLINE_REACH


class Flow(nn.Module):
    """Invertible map of columns [m, d], at first the identity: splines, and affine steps given earlier columns."""

    def __init__(self, columns: int, blocks: int, width: int, pieces: int, generator: torch.Generator) -> None:
        super().__init__()
        self.splines = nn.ModuleList(Spline(columns, pieces) for _ in range(blocks + 1))
        self.steps = nn.ModuleList(Chain(columns, 2, width, generator) for _ in range(blocks))
        for step in self.steps:
            nn.init.zeros_(step.out)

    def forward(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """The values moved [m, d], and log of the Jacobian [m]."""
        values, logs = self.splines[0](values)
        for step, spline in zip(self.steps, self.splines[1:]):
            shift, scale = step(values).unbind(2)
            scale = 2.0 * torch.tanh(scale / 2.0)
            values, more = spline((values - shift) * scale.exp())
            logs = logs + scale.sum(1) + more
            values = values.flip(1)
        return values, logs


class Coupled(nn.Module):
    """Flows of x and y, rotations of their values, and correlations of the leading pairs of columns behind them."""

    def __init__(self, flows: tuple[Flow, Flow], columns: tuple[int, int]) -> None:
        super().__init__()
        self.flows = nn.ModuleList(flows)
        self.rotations = [torch.eye(count) for count in columns]
        self.free = nn.Parameter(torch.empty(0))

    @property
    def correlations(self) -> Tensor:
        return torch.tanh(self.free)

    def couple(self, base: tuple[Tensor, Tensor], stopping: tuple[Tensor, Tensor]) -> None:
        """Rotates x and y to singular vectors of their cross-covariance; keeps the pairs that hold on `stopping`."""
        u, v = (columns - columns.mean(0) for columns in base)
        left, values, right = torch.linalg.svd(u.T @ v / len(u))
        self.rotations = [left, right.T]
        values = values.clamp(max=_MAX_CORRELATION)
        pairs = [columns @ turn[:, : len(values)] for columns, turn in zip(stopping, self.rotations)]
        gains = torch.stack([log_ratio(*(columns[:, :count] for columns in pairs), values[:count]).mean()
                             for count in range(len(values) + 1)])  # fmt: skip
        self.free = nn.Parameter(torch.atanh(values[: int(gains.argmax())]))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The normal columns of x and y, rotated, and log of the Jacobian of both maps [m]."""
        (u, of_x), (v, of_y) = (flow(columns) for flow, columns in zip(self.flows, (x, y)))
        return u @ self.rotations[0], v @ self.rotations[1], of_x + of_y

    def ratio(self, x: Tensor, y: Tensor, slope: float = 1.0) -> Tensor:
        """log of the joint density over the product of the margins [m], by the base's correlations times a slope."""
        u, v, _ = self(x, y)
        count = len(self.free)
        return log_ratio(u[:, :count], v[:, :count], slope * self.correlations)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """-log of the joint density [m]."""
        u, v, logs = self(x, y)
        count = len(self.free)
        return _minus_log_normal(u) + _minus_log_normal(v) - logs - log_ratio(
            u[:, :count], v[:, :count], self.correlations
        )  # fmt: skip


def log_ratio(u: Tensor, v: Tensor, correlations: Tensor) -> Tensor:
    """log of the normal joint density of pairs of columns u, v [m, p] over the product of standard normal ones [m]."""
    left = 1 - correlations**2
    quadratic = correlations**2 * (u**2 + v**2) - 2 * correlations * u * v
    return (-0.5 * left.log() - 0.5 * quadratic / left).sum(1)


def _minus_log_normal(values: Tensor) -> Tensor:
    return (0.5 * values**2 + 0.5 * log(2 * pi)).sum(1)


@dataclass(frozen=True)
class Mienf(Described):
    """MIENF: flows of both variables to normal columns, and I = -1/2 log det(I - C C^T) of their correlations C.

    Flows are fitted alone first, then jointly. The value is the mean of the log-ratio over held-out rows; kept pairs of
    columns and the slope of their correlations are chosen on the rows that stop the training.

    blocks  affine steps; none in one column
    width   units of a hidden layer
    pieces  of a spline
    """

    blocks: int = 2
    width: int = 64
    pieces: int = 8
    folds: int = 4
    schedule: Schedule = field(default_factory=lambda: Schedule(learning_rate=3e-3))

    name: ClassVar[str] = "mienf"
    takes: ClassVar[str] = NUMBERS
    limit: ClassVar[str] = "lower bound, if x and y become normal; I if they become jointly normal"
    cost: ClassVar[str] = "n times epochs; 10 s"
    source: ClassVar[str] = "Butakov et al. 2024, normalising flows of both margins"
    least: ClassVar[Mapping[str, int]] = {"blocks": 0, "pieces": 2}

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        values, kept = np.empty(pairs.n), []
        for split in splits(pairs, self.folds, generator):
            values[split.held], correlations = self._fold(pairs, split, torch_generator(generator))
            kept.append(str(correlations))
        settings = f"{' or '.join(dict.fromkeys(kept))} correlations, {self.folds} folds"
        return mean_of(values, pairs.groups, method="MIENF", settings=settings)

    def _fold(self, pairs: Pairs, split: Split, draw: torch.Generator) -> tuple[np.ndarray, int]:
        """The log ratio of every held-out row [m], nats, and how many correlations are kept."""
        x, y = (prepared_tensor(variable, split.training, "rank") for variable in (pairs.x, pairs.y))
        coupled = self._fitted(x, y, split, draw)
        slope = _slope(coupled, x, y, split)
        return evaluated(lambda rows: coupled.ratio(x[rows], y[rows], slope), split.held).numpy(), len(coupled.free)

    def _fitted(self, x: Tensor, y: Tensor, split: Split, draw: torch.Generator) -> Coupled:
        flows = []
        for columns in (x, y):
            count = columns.shape[1]
            flow = Flow(count, self.blocks if count > 1 else 0, self.width, self.pieces, draw)

            def loss(rows: Tensor, flow: Flow = flow, columns: Tensor = columns) -> Tensor:
                values, logs = flow(columns[rows])
                return _minus_log_normal(values) - logs

            self.schedule.fit(flow, loss, split.training, split.stopping, draw)
            flows.append(flow)
        coupled = Coupled(tuple(flows), (x.shape[1], y.shape[1]))
        with torch.no_grad():
            base, stopping = (
                tuple(flow(columns[rows])[0] for flow, columns in zip(flows, (x, y)))
                for rows in (split.training, split.stopping)
            )
            coupled.couple(base, stopping)
        self.schedule.fit(coupled, lambda rows: coupled.loss(x[rows], y[rows]), split.training, split.stopping, draw)
        return coupled


def _slope(coupled: Coupled, x: Tensor, y: Tensor, split: Split) -> float:
    """The factor in [0, 1] on all correlations with the least loss on the rows that stop the training."""
    if not len(coupled.free):
        return 1.0

    def loss(slope: float) -> float:
        return -float(evaluated(lambda rows: coupled.ratio(x[rows], y[rows], slope), split.stopping).mean())

    found = minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-3})
    return 1.0 if loss(1.0) <= found.fun else float(found.x)


METHODS: tuple[Described, ...] = (Mienf(),)
