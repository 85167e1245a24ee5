"""Diffusion estimators: information from denoising one variable with and without the other.

With y' = a y + s e, a² + s² = 1, e standard normal, level = log(a² / s²), and e(.) the best estimate of the noise:

    minde  I = 1/2 ∫ E |e(y') - e(y' | x)|² d level
    mmg    I = 1/2 ∫ E |e - e(y')|² - E |e - e(y' | x)|² d level

Differences between the networks' errors add to minde, never negative; that of the conditional one lowers mmg.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from infoscope.errors import OutOfRange, WrongType
from infoscope.estimators.arrays.fitting import (
    Schedule,
    Split,
    evaluated,
    prepared_tensor,
    splits,
    torch_generator,
)  # fmt: skip
from infoscope.estimators.arrays.protocol import ANY, Described
from infoscope.estimators.families.networks import fully_connected
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.result import Estimate, mean_of
from infoscope.estimators.variables import Variable


class Denoiser(nn.Module):
    """The noise in columns [m, d] at levels [m, 1], given a context [m, c] or none: s y' + a f(y', level, context).

    At the start f = 0, right for standard normal columns; the context adds a network of its own.
    """

    def __init__(self, columns: int, context: int, width: int, generator: torch.Generator, waves: int = 8) -> None:
        super().__init__()
        self.register_buffer("waves", torch.arange(1, waves + 1) * pi / 2)
        inputs = columns + 2 * waves
        self.alone = _perceptron(inputs, width, columns, generator)
        self.added = _perceptron(inputs + context, width, columns, generator)

    def forward(self, noised: Tensor, levels: Tensor, context: Tensor | None) -> Tensor:
        signal, noise = torch.sigmoid(levels).sqrt(), torch.sigmoid(-levels).sqrt()
        angle = self.waves * torch.tanh(levels / 4.0)
        seen = torch.cat([noised, angle.sin(), angle.cos()], 1)
        found = self.alone(seen)
        if context is not None:
            found = found + self.added(torch.cat([seen, context], 1))
        return noise * noised + signal * found


def _perceptron(inputs: int, width: int, outputs: int, generator: torch.Generator) -> nn.Sequential:
    found = fully_connected([inputs, width, width, outputs], generator, nn.SiLU)
    for parameter in found[-1].parameters():
        nn.init.zeros_(parameter)
    return found


@dataclass(frozen=True, eq=False)
class _Noise:
    """Levels [n, draws] and noise [n, draws, d] of every evaluated row, drawn once."""

    levels: Tensor
    noise: Tensor


@dataclass(frozen=True)
class Minde(Described):
    """MINDE-c: squared differences of conditional and unconditional scores of one variable, over all noise levels.

    Levels are drawn evenly in log(signal / noise), the paper's importance sampling. Categories are columns of 0 and 1.
    The variable with noise is the one without categories, then that of fewer columns.

    span     lowest and highest log(signal / noise), in variances; information beyond is not included
    draws    noised copies of every evaluated row
    width    units of a hidden layer
    margins  scaled, rank, given or auto (`Preparation.fit`)
    """

    span: tuple[float, float] = (-7.0, 9.0)
    draws: int = 32
    width: int = 128
    folds: int = 2
    margins: str = "auto"
    schedule: Schedule = field(default_factory=lambda: Schedule(learning_rate=2e-3, epochs=60))

    name: ClassVar[str] = "minde"
    takes: ClassVar[str] = ANY
    limit: ClassVar[str] = "I, within the span of noise; errors of the scores add to it"
    cost: ClassVar[str] = "n times epochs; 8 s"
    source: ClassVar[str] = "Franzese et al. 2024, MINDE-c"
    called: ClassVar[str] = "MINDE"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.span[0] < self.span[1]:
            raise OutOfRange(f"span must be a lower and a higher level, got {self.span!r}.")

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        given = {"y": (pairs.y, pairs.x), "x": (pairs.x, pairs.y)}
        noised = min(
            given, key=lambda name: (not given[name][0].dim, given[name][0].codes is not None, given[name][0].dim)
        )
        target, seen = given[noised]
        if not target.dim:
            raise WrongType(f"method must fit the types of x and y: {self.name} needs numbers, got categories in both.")
        values = np.empty(pairs.n)
        for split in splits(pairs, self.folds, generator):
            values[split.held] = self._fold(seen, target, split, torch_generator(generator))
        settings = f"{noised} noised, {self.draws} draws, {self.folds} folds"
        return mean_of(values, pairs.groups, method=self.called, settings=settings)

    def _fold(self, seen: Variable, target: Variable, split: Split, draw: torch.Generator) -> np.ndarray:
        context, columns = (prepared_tensor(variable, split.training, self.margins) for variable in (seen, target))
        network = Denoiser(columns.shape[1], context.shape[1], self.width, draw)
        # noise is new every time: at least 30 steps between two looks at the rows that stop the training
        often = torch.as_tensor(split.training).repeat(-(-30 * self.schedule.batch // len(split.training)))
        fixed = self._drawn(len(columns), columns.shape[1], draw)  # the same noise after every epoch, and for both

        def errors(rows: Tensor, given: Tensor | None) -> Tensor:
            levels = self._levels(torch.rand(len(rows), 1, generator=draw))
            noise = torch.randn(len(rows), columns.shape[1], generator=draw)
            guess = network(_noised(columns[rows], levels, noise), levels, None if given is None else given[rows])
            return ((noise - guess) ** 2).sum(1)

        for given, fixed_part in ((None, network.added), (context, network.alone)):
            network.requires_grad_(True)
            fixed_part.requires_grad_(False)
            self.schedule.fit(
                network,
                lambda rows, given=given: errors(rows, given),
                often,
                split.stopping,
                draw,
                lambda rows, given=given: self._each(network, columns, given, rows, fixed)[0],
            )

        def values(rows: Tensor) -> Tensor:
            alone, guess = self._each(network, columns, None, rows, fixed)
            informed, better = self._each(network, columns, context, rows, fixed)
            return 0.5 * (self.span[1] - self.span[0]) * self._gain(alone, informed, guess, better)

        return evaluated(values, split.held).numpy()

    def _gain(self, alone: Tensor, informed: Tensor, guess: Tensor, better: Tensor) -> Tensor:
        """The value of a row at a noise level [m], from squared errors and guesses without and with context."""
        return ((guess - better) ** 2).sum(2).mean(1)

    def _drawn(self, rows: int, columns: int, draw: torch.Generator) -> _Noise:
        """Stratified: the draws of one row share the span evenly."""
        shares = (torch.arange(self.draws) + torch.rand(rows, self.draws, generator=draw)) / self.draws
        return _Noise(self._levels(shares), torch.randn(rows, self.draws, columns, generator=draw))

    def _levels(self, shares: Tensor) -> Tensor:
        return self.span[0] + (self.span[1] - self.span[0]) * shares

    def _each(
        self, network: Denoiser, columns: Tensor, context: Tensor | None, rows: Tensor, fixed: _Noise
    ) -> tuple[Tensor, Tensor]:
        """Mean squared errors [m] of guesses and the guesses [m, draws, d] of the fixed noise of `rows`."""
        levels, noise = fixed.levels[rows].flatten()[:, None], fixed.noise[rows].flatten(0, 1)
        repeated = rows.repeat_interleave(self.draws)
        noised = _noised(columns[repeated], levels, noise)
        guess = network(noised, levels, None if context is None else context[repeated])
        errors = ((noise - guess) ** 2).sum(1).unflatten(0, (len(rows), self.draws)).mean(1)
        return errors, guess.unflatten(0, (len(rows), self.draws))


def _noised(columns: Tensor, levels: Tensor, noise: Tensor) -> Tensor:
    return torch.sigmoid(levels).sqrt() * columns + torch.sigmoid(-levels).sqrt() * noise


@dataclass(frozen=True)
class Mmg(Minde):
    """MMG: the drop of the squared error of denoising by the other variable. Settings as `Minde`."""

    name: ClassVar[str] = "mmg"
    limit: ClassVar[str] = "I, within the span of noise; too low where the network with both variables is poor"
    source: ClassVar[str] = "Guo, Shamai & Verdu 2005, by denoising networks"
    called: ClassVar[str] = "MMSE gap"

    def _gain(self, alone: Tensor, informed: Tensor, guess: Tensor, better: Tensor) -> Tensor:
        return alone - informed


METHODS: tuple[Described, ...] = (Minde(), Mmg())
