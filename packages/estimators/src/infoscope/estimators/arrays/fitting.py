"""Shared by methods that are trained: splits, columns prepared on training rows alone, masked networks, a schedule."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor, nn
from torch.nn import functional

from infoscope.checks import one_of, require_int, require_number
from infoscope.errors import OutOfRange
from infoscope.estimators.families.networks import fully_connected
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.scales import MARGINS, heavy_tails
from infoscope.estimators.threads import threads_for
from infoscope.estimators.variables import Variable

Rows = NDArray[np.intp] | Tensor  # indices


@dataclass(frozen=True)
class Schedule:
    """Settings of a training; patience: epochs without progress on the validation rows after which it stops."""

    learning_rate: float = 5e-3
    batch: int = 256
    epochs: int = 60
    patience: int = 6
    weight_decay: float = 1e-2

    def __post_init__(self) -> None:
        for setting in ("batch", "epochs", "patience"):
            require_int(setting, getattr(self, setting), 1)
        require_number("learning_rate", self.learning_rate, ends=False)
        require_number("weight_decay", self.weight_decay)

    def fit(
        self,
        network: nn.Module,
        loss: Callable[[Tensor], Tensor],
        training: Rows,
        stopping: Rows,
        generator: torch.Generator,
        check: Callable[[Tensor], Tensor] | None = None,
    ) -> float:
        """Trains in place and keeps the weights with the least mean loss on `stopping`, the first included; that loss.

        `loss` maps rows (indices) to losses [m]; `check` is what is averaged over `stopping`, None: the loss.
        ValueError where none was finite.
        """
        check, training = loss if check is None else check, torch.as_tensor(training)
        trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
        optimiser = torch.optim.AdamW(trained, lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)
        with threads_for(self.batch * sum(parameter.numel() for parameter in trained)):
            best, since = float(evaluated(check, stopping).mean()), 0
            best = best if np.isfinite(best) else float("inf")
            kept = copy.deepcopy(network.state_dict())
            for _ in range(self.epochs):
                for rows in training[torch.randperm(len(training), generator=generator)].split(self.batch):
                    optimiser.zero_grad()
                    loss(rows).mean().backward()
                    optimiser.step()
                value, since = float(evaluated(check, stopping).mean()), since + 1
                if value < best:
                    best, kept, since = value, copy.deepcopy(network.state_dict()), 0
                if since >= self.patience:
                    break
        if not np.isfinite(best):
            raise OutOfRange("learning_rate must be low enough for a finite loss, got one that never was.")
        network.load_state_dict(kept)
        return best


def evaluated(values: Callable[[Tensor], Tensor], rows: Rows, at_once: int = 4096) -> Tensor:
    """values(rows) float64 [m] of many rows, some at a time, without gradients."""
    with torch.no_grad():
        return torch.cat([values(some).double() for some in torch.as_tensor(rows).split(at_once)])


class Chain(nn.Module):
    """y [m, d] -> [m, d, outputs]: two hidden layers and a linear path, masked; a context [m, c] for all columns."""

    def __init__(self, columns: int, outputs: int, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.columns, self.outputs, self.width = columns, outputs, width
        place = torch.arange(columns)
        degree = torch.arange(width) * columns // width  # how many leading columns a hidden unit may see
        into, between, out = (place < degree[:, None]), (degree <= degree[:, None]), (degree <= place[:, None])
        out = out.repeat_interleave(outputs, 0)
        past = (place < place[:, None]).repeat_interleave(outputs, 0)
        for name, mask in (("into", into), ("between", between), ("out", out), ("past", past)):
            self.register_buffer(f"{name}_mask", mask.float(), persistent=False)
            limit = sqrt(1 / mask.shape[1]) if name != "past" else 0.0
            weight = torch.empty(mask.shape).uniform_(-limit, limit, generator=generator)
            self.register_parameter(name, nn.Parameter(weight))
        self.biases = nn.ParameterList(torch.zeros(rows) for rows in (width, width, columns * outputs))
        self.context: Context | None = None

    def given(self, inputs: int, generator: torch.Generator, direct: Sequence[int] | None = None) -> Chain:
        """A copy that takes a context, unused at first; `direct`: outputs with a linear part (None: all)."""
        copied = copy.deepcopy(self)
        every = torch.arange(self.columns * self.outputs).view(self.columns, self.outputs)
        direct = every if direct is None else every[:, list(direct)]
        sizes = (self.width, self.width, every.numel())
        copied.context = Context(inputs, self.width, sizes, direct.flatten(), generator)
        return copied

    def forward(self, y: Tensor, context: Tensor | None = None) -> Tensor:
        added = (0.0, 0.0, 0.0) if self.context is None else self.context(context)
        first, second, last = self.biases
        h = functional.linear(y, self.into * self.into_mask, first) + added[0]
        h = functional.linear(functional.relu(h), self.between * self.between_mask, second) + added[1]
        found = functional.linear(functional.relu(h), self.out * self.out_mask, last) + added[2]
        if self.columns > 1:
            found = found + functional.linear(y, self.past * self.past_mask)
        return found.unflatten(1, (self.columns, self.outputs))


class Context(nn.Module):
    """Terms that a context [m, c] adds to the layers of a `Chain`: linear and by two hidden layers; 0 initially."""

    def __init__(
        self, inputs: int, width: int, sizes: tuple[int, ...], places: Tensor, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.register_buffer("places", places, persistent=False)
        self.sizes = sizes
        self.hidden = fully_connected([inputs, width, width], generator)
        self.direct = nn.Parameter(torch.zeros(len(places), inputs))
        self.last = nn.Parameter(torch.zeros(sum(sizes), inputs + width))

    def forward(self, context: Tensor) -> tuple[Tensor, ...]:
        h = functional.relu(self.hidden(context))
        *before, last = functional.linear(torch.cat([context, h], 1), self.last).split(self.sizes, 1)
        return (*before, last.index_add(1, self.places, functional.linear(context, self.direct)))


@dataclass(frozen=True, eq=False)
class Split:
    """Rows (indices) of one fold: what a network is trained on, what stops it early, and what is estimated from."""

    training: NDArray[np.intp]
    stopping: NDArray[np.intp]
    held: NDArray[np.intp]

    @property
    def seen(self) -> NDArray[np.intp]:
        """The rows that are not held out."""
        return np.concatenate([self.training, self.stopping])


def splits(pairs: Pairs, folds: int, generator: np.random.Generator) -> Iterator[Split]:
    """One split for every fold; a fifth of the training units stop. OutOfRange: fewer than two such units."""
    fold_of = pairs.folds(folds, generator)
    for fold in range(folds):
        outside = generator.permutation(np.unique(pairs.units[fold_of != fold]))
        if len(outside) < 2:
            raise OutOfRange(f"groups must be at least 2 outside each of {folds} folds, to train and to stop, got 1.")
        stops = np.isin(pairs.units, outside[: max(1, round(0.2 * len(outside)))])
        held = fold_of == fold
        yield Split(*(np.flatnonzero(rows) for rows in (~held & ~stops, stops, held)))


def torch_generator(generator: np.random.Generator) -> torch.Generator:
    """A generator for torch, seeded by the next number of `generator`."""
    return torch.Generator().manual_seed(int(generator.integers(2**63)))


def prepared_tensor(variable: Variable, rows: NDArray, margins: str = "auto", components: int | None = None) -> Tensor:
    """All rows of a variable as `Preparation.fit(variable, rows, ...)` makes them, float32 [n, d]."""
    return torch.from_numpy(Preparation.fit(variable, rows, margins, components)(variable).astype(np.float32))


@dataclass(frozen=True, eq=False)
class Preparation:
    """A map from rows of a variable to numbers [m, d], fitted to some of its rows: `Preparation.fit`.

    centre, scale  [c] of the numeric columns; scale 1 for a constant one
    knots          values and normal scores, ascending, of each ranked column; else None
    rotation       [c, p] leading principal components; None: the columns themselves
    categories     how many categories follow as columns of 0 and 1
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    knots: tuple[tuple[NDArray[np.float64], NDArray[np.float64]] | None, ...]
    rotation: NDArray[np.float64] | None = None
    categories: int = 0

    @classmethod
    def fit(
        cls, variable: Variable, rows: NDArray, margins: str = "auto", components: int | None = None
    ) -> Preparation:
        """Fitted to `rows` (indices or a mask) of the variable.

        margins     as in `scales.prepared`; given: centred only
        components  how many principal components of the numeric columns are kept at most; None: the columns as they are

        ValueError: another word, or no row.
        """
        one_of("margins", margins, MARGINS)
        numbers = variable.continuous[rows]
        if not len(numbers):
            raise OutOfRange("rows must be at least one, got none.")
        ranked = np.full(variable.dim, margins == "rank")
        if margins == "auto" and variable.dim:
            varies = np.ptp(numbers, axis=0) > 0
            ranked[varies] = heavy_tails(numbers[:, varies])
        knots = tuple(_normal_scores(column) if rank else None for column, rank in zip(numbers.T, ranked))
        plain = cls(np.zeros(variable.dim), np.ones(variable.dim), knots)._numbers(numbers)
        centre = plain.mean(axis=0)
        scale = np.ones(variable.dim) if margins == "given" else (plain - centre).std(axis=0)
        scale[scale <= 1e-12 * np.abs(centre)] = 1.0
        scale[scale == 0.0] = 1.0
        rotation = None if components is None else _leading((plain - centre) / scale, components)
        return cls(centre, scale, knots, rotation, 0 if variable.codes is None else variable.categories)

    def __call__(self, variable: Variable, rows: NDArray | slice = slice(None)) -> NDArray[np.float64]:
        """Rows of a variable of the same columns as float64 [m, d]: its numbers, then its categories as 0 and 1."""
        moved = (self._numbers(variable.continuous[rows]) - self.centre) / self.scale
        if self.rotation is not None:
            moved = moved @ self.rotation
        if not self.categories:
            return moved
        return np.hstack([moved, np.eye(self.categories)[variable.codes[rows]]])

    def _numbers(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Columns [m, c] with scores in the place of values where knots are."""
        if all(knots is None for knots in self.knots):
            return numbers
        columns = (column if knots is None else _scored(column, *knots) for column, knots in zip(numbers.T, self.knots))
        return np.column_stack(list(columns))


def _normal_scores(column: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The distinct values of a column [m], ascending, and the normal quantile of (mean rank / (m + 1)) of each."""
    values, counts = np.unique(column, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return values, ndtri(ranks / (len(column) + 1))


def _scored(
    column: NDArray[np.float64], values: NDArray[np.float64], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Scores of new values [m]: linear between neighbours; beyond the ends d score = d log(distance) / score."""
    found = np.interp(column, values, scores)
    if len(values) < 2:
        return found + column - values[0]  # it did not vary: nothing is known of its scale
    centre = np.interp(0.0, scores, values)
    for end, beyond in ((0, column < values[0]), (-1, column > values[-1])):
        reach = abs(values[end] - centre) or values[-1] - values[0]
        excess = np.log1p(np.abs(column[beyond] - values[end]) / reach)
        found[beyond] += np.copysign(excess / max(abs(scores[end]), 1.0), 1 if end else -1)
    return found


def _leading(columns: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The leading principal components [c, p] of centred columns [m, c], p the least of count, m - 1 and c."""
    m, wide = columns.shape
    count = max(1, min(count, m - 1, wide))
    if wide <= m:
        vectors = np.linalg.eigh(columns.T @ columns)[1][:, ::-1][:, :count]
    else:
        vectors = np.linalg.svd(columns, full_matrices=False)[2][:count].T
    sizes = np.abs(vectors)
    # the first of equal ones, whatever their rounding
    largest = (sizes > (1 - 1e-6) * sizes.max(axis=0)).argmax(axis=0)
    return vectors * np.sign(vectors[largest, np.arange(count)])  # else signs are the library's choice
