"""Masked networks: outputs for each column that depend on the columns before it alone (MADE, Germain et al. 2015).

A context added to a network starts with no effect.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional

from infoscope.estimators.families.networks import fully_connected


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
    """What a context [m, c] adds to the layers of a `Chain`: linear and by two hidden layers; nothing at first."""

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
