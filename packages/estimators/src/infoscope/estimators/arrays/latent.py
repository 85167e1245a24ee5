"""KSG in few columns, for variables with many columns that depend through few.

Encoders are fitted to some rows and KSG is applied to others; principal components are those of all rows. Intervals
are of sampling error only, by half-samples. `estimate(x, y)` without a method gives one for the true value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from infoscope.estimators.arrays.fitting import (
    Preparation,
    Schedule,
    Split,
    prepared_tensor,
    splits,
    torch_generator,
)  # fmt: skip
from infoscope.estimators.arrays.neighbours import with_half_samples
from infoscope.estimators.arrays.protocol import ANY, Described
from infoscope.estimators.families.networks import fully_connected
from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.result import Estimate, root_sum_squares
from infoscope.estimators.variables import Variable, of_kept

_NUMBERS_IN_NOTES = re.compile(r"[-+]?\d[\d.,]*")
_CODES = "The interval is for the information of the learned codes; what they leave out of x and y is not included."
_COMPONENTS = "The interval is for the leading components; what the other components share is not included."


def reduced(variable: Variable, columns: NDArray[np.float64], rows: NDArray) -> Variable:
    """Rows of a variable with other columns [n, p] in the place of its numbers, its categories kept."""
    return replace(variable, continuous=np.ascontiguousarray(columns), notes=()).take(rows)


def rotated(
    pairs: Pairs, folds: Sequence[tuple[NDArray, Variable, Variable]], k: int, generator: np.random.Generator,
    method: str, settings: str,
) -> Estimate:  # fmt: skip
    """KSG of the held-out rows of each fold (indices, x, y) in its own columns, and the mean over all rows.

    Errors are those of new rows in the same columns (`with_half_samples`), not of other columns.
    """
    local, found, units = np.full(pairs.n, np.nan), [], []
    for held, x, y in folds:
        part = Pairs(x, y, of_kept(pairs.groups, held))
        one = knn.mutual_information(x, y, k, margins="given", groups=part.groups, local=True)
        one = with_half_samples(one, part, generator, k, "given")
        local[held] = one.local
        found.append(one)
        units.append(np.unique(pairs.units[held[~np.isnan(one.local)]]))
    mean = _mean_over_folds(found, np.argsort(np.concatenate(units)))
    return replace(mean, n=pairs.n, local=local, method=method, settings=settings)


def _mean_over_folds(found: Sequence[Estimate], order: NDArray[np.intp]) -> Estimate:
    """The mean over all rows of estimates on different rows, weighted by rows; `order` is that of their units."""
    if len(found) == 1:
        return found[0]
    shares = np.array([one.n for one in found]) / sum(one.n for one in found)
    value = float(shares @ [one.value for one in found])
    error, degrees = root_sum_squares(shares * [one.standard_error for one in found]), sum(one.degrees for one in found)
    error = max(error, float(np.std(found, ddof=1)) / sqrt(len(found)))  # each fold has its own columns
    return replace(
        found[0],
        value=value,
        standard_error=error,
        degrees=degrees,
        notes=tuple(
            {_NUMBERS_IN_NOTES.sub("", note): note for one in found for note in one.notes}.values()
        ),  # one of each kind
        units=len(order),
        influence=np.concatenate([share * one.influence for share, one in zip(shares, found)])[order],
    )


@dataclass(frozen=True)
class ReducedKsg(Described):
    """KSG on leading principal components of x and of y, found without the other variable, all on one scale.

    components  of each; None: as many as hold `variance` (a share), at most `most`
    margins     scaled, rank, given or auto (`Preparation.fit`) before the rotation; given suits columns of one unit
    k           neighbours
    """

    components: int | None = None
    margins: str = "scaled"
    k: int = 5
    variance: float = 0.95
    most: int = 8

    name: ClassVar[str] = "reduced-ksg"
    takes: ClassVar[str] = ANY
    limit: ClassVar[str] = "lower bound: I of the components"
    cost: ClassVar[str] = "n² in at most 8 columns; 1 s"
    source: ClassVar[str] = "Kraskov et al. 2004, eq. 8, after principal components"

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        x, y = (self._columns(variable) for variable in (pairs.x, pairs.y))
        every = np.arange(pairs.n)
        settings = f"{x.shape[1]} and {y.shape[1]} components, k = {self.k}"
        fold = every, reduced(pairs.x, x, every), reduced(pairs.y, y, every)
        found = rotated(pairs, [fold], self.k, generator, "KSG 1 on principal components", settings)
        if x.shape[1] + y.shape[1] == pairs.x.dim + pairs.y.dim:
            return found
        return replace(found, notes=(*found.notes, _COMPONENTS))

    def _columns(self, variable: Variable) -> NDArray[np.float64]:
        """The leading components [n, p] of the numbers of one variable."""
        if not variable.dim:
            return np.empty((variable.n, 0))
        bare, wanted = replace(variable, codes=None, categories=1), self.components or variable.dim
        columns = Preparation.fit(bare, slice(None), self.margins, wanted)(bare)
        if self.components is None:
            held = np.cumsum(columns.var(axis=0))
            columns = columns[:, : min(1 + int(np.searchsorted(held, self.variance * held[-1])), self.most)]
        return columns / columns.std(axis=0).max()


class CrossPredictor(nn.Module):
    """Encoders of x and y, and decoders from each code to both (Gowri et al. 2024)."""

    def __init__(self, x: int, y: int, size: int, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(fully_connected([one, width, width, size], generator) for one in (x, y))
        self.decoders = nn.ModuleList(fully_connected([size, width, width, x + y], generator) for _ in range(2))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The codes [m, size] of x and y."""
        return self.encoders[0](x), self.encoders[1](y)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """[m]: mean squared errors of x and y from each code, with equal weights for any widths."""
        both, wide = torch.cat([x, y], 1), x.shape[1]
        errors = [(decoder(code) - both) ** 2 for decoder, code in zip(self.decoders, self(x, y))]
        return sum(error[:, :wide].mean(1) + error[:, wide:].mean(1) for error in errors)


@dataclass(frozen=True)
class Latent(Described):
    """LMI: x and y are encoded so that both can be predicted from each code; KSG of the codes of held-out rows.

    size        numbers of a code
    components  principal components of wide variables that are encoded
    width       units of a hidden layer
    margins     scaled, rank, given or auto (`Preparation.fit`)
    k           neighbours
    folds       each is measured by encoders trained on the others, a third of which stopped them
    """

    size: int = 8
    components: int = 64
    width: int = 64
    margins: str = "auto"
    k: int = 5
    folds: int = 2
    schedule: Schedule = field(default_factory=lambda: Schedule(learning_rate=3e-3))

    name: ClassVar[str] = "lmi"
    takes: ClassVar[str] = ANY
    limit: ClassVar[str] = "lower bound: I of the codes"
    cost: ClassVar[str] = "n times epochs; 1 s"
    source: ClassVar[str] = "Gowri et al. 2024, with a third part that stops the training"

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        folds = []
        for split in splits(pairs, self.folds, generator):
            x, y = self._codes(pairs, split, torch_generator(generator))
            folds.append((split.held, reduced(pairs.x, x, split.held), reduced(pairs.y, y, split.held)))
        settings = f"{self.size} latent columns, k = {self.k}, {self.folds} folds"
        found = rotated(pairs, folds, self.k, generator, "LMI", settings)
        return replace(found, notes=(*found.notes, _CODES))

    def _codes(self, pairs: Pairs, split: Split, draw: torch.Generator) -> list[NDArray[np.float64]]:
        """The codes of x and y for all rows [n, size], at standard deviation 1; none for categories alone."""
        columns = [
            prepared_tensor(variable, split.training, self.margins, self.components if variable.dim else None)
            for variable in (pairs.x, pairs.y)
        ]
        # of unit variance as a whole, not in each: a component is weighted by what it explains
        x, y = (each / each[split.training].var(0).mean().sqrt() for each in columns)
        network = CrossPredictor(x.shape[1], y.shape[1], self.size, self.width, draw)
        self.schedule.fit(network, lambda rows: network.loss(x[rows], y[rows]), split.training, split.stopping, draw)
        codes = []
        for encoder, each, variable in zip(network.encoders, (x, y), (pairs.x, pairs.y)):
            if not variable.dim:
                codes.append(np.empty((pairs.n, 0)))
                continue
            with torch.no_grad():
                found = encoder(each).double().numpy()
            spread = found[split.training].std(axis=0)
            codes.append(found / np.where(spread > 0.0, spread, 1.0))
        return codes


METHODS: tuple[Described, ...] = (Latent(), ReducedKsg())
