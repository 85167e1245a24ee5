"""Density networks q(y | x) and q(y).

    ba      mean log q(y|x) + H(y)                                   Barber & Agakov 2003
    doe     mean log q(y|x) - mean log q(y)                          McAllester & Stratos 2020
    club    mean log q(y|x) - mean log q(y|x') of other rows' x'     Cheng et al. 2020
    l1out   mean of log q(y|x) - log of the mean q(y|x')             Poole et al. 2019
    njee    doe of columns cut into bins, each by a classifier       Shalev, Painsky & Ben-Gal 2022

Columns are a chain: each, given x and those before it, is a mixture of Gaussians or a table of bins, categories first.
q(y|x) starts as the fitted q(y). Means are over held-out rows.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import log, pi
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from infoscope.errors import InvalidInput, TooFew
from infoscope.estimators.arrays.fitting import Chain, Preparation, Schedule, Split, evaluated, splits, torch_generator
from infoscope.estimators.arrays.protocol import ANY, Described
from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.result import Estimate, mean_of
from infoscope.estimators.variables import Variable

_PSEUDOCOUNT = 0.5  # rows added to every category, so that none has probability 0


class Mixtures(nn.Module):
    """log density of numbers: a mixture of Gaussians for each column, given those before it."""

    def __init__(self, before: int, columns: int, components: int, width: int, draw: torch.Generator):
        super().__init__()
        self.before, self.components = before, components
        means = torch.linspace(-1.0, 1.0, components) if components > 1 else torch.zeros(1)
        start = torch.cat([torch.zeros(components), means, torch.full((components,), 0.5), torch.zeros(2)])
        self.shifts = [len(start) - 2]  # among the outputs
        self.chain = Chain(before + columns, len(start), width, draw)
        self.chain.biases[2].data.copy_(start.repeat(self.chain.columns))

    def forward(self, first: Tensor, numbers: Tensor, context: Tensor | None) -> Tensor:
        """[m] of what comes before [m, b], numbers [m, d] and a context [m, c]."""
        found = self.chain(torch.cat([first, numbers], 1), context)[:, self.before :]  # [m, d, outputs]
        size = self.components
        logits, means, scales, shift, stretch = found.split([size, size, size, 1, 1], 2)
        stretch = 2.0 * torch.tanh(stretch / 2.0)
        values = (numbers[:, :, None] - shift) * (-stretch).exp()
        parts = _log_normal(values, means, scales)
        return ((logits.log_softmax(2) + parts).logsumexp(2) - stretch[:, :, 0]).sum(1)


def _log_normal(values: Tensor, means: Tensor, scales: Tensor) -> Tensor:
    """log density of a normal distribution whose standard deviation is 0.001 + softplus of `scales`."""
    scales = 1e-3 + functional.softplus(scales)
    return -0.5 * ((values - means) / scales) ** 2 - scales.log() - 0.5 * log(2 * pi)


class Bins(nn.Module):
    """log probability of the bin of each column, given the columns before it: a chain of classifiers."""

    def __init__(self, before: int, counts: NDArray, width: int, draw: torch.Generator):
        super().__init__()
        self.before = before
        self.chain = Chain(before + len(counts), counts.shape[1], width, draw)
        frequencies = np.where(counts > 0, counts, _PSEUDOCOUNT)
        start = np.log(frequencies / frequencies.sum(1, keepdims=True))
        self.chain.biases[2].data.view(self.chain.columns, -1)[before:] = torch.as_tensor(start, dtype=torch.float32)
        self.chain.out.data.mul_(0.1)  # near the frequencies at first

    def forward(self, first: Tensor, scores: Tensor, bins: Tensor, context: Tensor | None) -> Tensor:
        """[m] of what comes before [m, b], the scores and numbers of the bins [m, d], and a context [m, c]."""
        found = self.chain(torch.cat([first, scores], 1), context)[:, self.before :].log_softmax(2)
        return found.gather(2, bins[:, :, None]).sum((1, 2))


class Labels(nn.Module):
    """log probability of categories, which begins at their frequencies."""

    def __init__(self, counts: NDArray, width: int, draw: torch.Generator) -> None:
        super().__init__()
        self.chain = Chain(1, len(counts), width, draw)
        frequencies = torch.as_tensor(counts + _PSEUDOCOUNT, dtype=torch.float32)
        self.chain.biases[2].data.copy_((frequencies / frequencies.sum()).log())
        nn.init.zeros_(self.chain.out)

    def forward(self, codes: Tensor, context: Tensor | None) -> Tensor:
        """[m] of codes [m] and a context [m, c]."""
        found = self.chain(torch.zeros(len(codes), 1), context)[:, 0].log_softmax(1)
        return found.gather(1, codes[:, None])[:, 0]


@dataclass(frozen=True, eq=False)
class Sample:
    """Context [n, c]; of the predicted variable numbers [n, d], their bins, codes [n] and one-hot codes [n, b]."""

    context: Tensor
    numbers: Tensor
    bins: Tensor | None
    codes: Tensor | None
    first: Tensor


class Density(nn.Module):
    """log q of the categories and numbers of one variable, given the other or not."""

    def __init__(self, labels: Labels | None, numbers: Mixtures | Bins | None) -> None:
        super().__init__()
        self.labels, self.numbers = labels, numbers

    def given(self, inputs: int, draw: torch.Generator) -> Density:
        """A copy that takes a context and does not use it yet."""
        copied = copy.deepcopy(self)
        for part in (copied.labels, copied.numbers):
            if part is not None:
                part.chain = part.chain.given(inputs, draw, part.shifts if isinstance(part, Mixtures) else None)
        return copied

    def forward(self, sample: Sample, rows: Tensor, others: Tensor | None = None) -> Tensor:
        """log q [m], nats, of `rows` given their own context, or that of the rows `others`."""
        conditional = any(part is not None and part.chain.context is not None for part in (self.labels, self.numbers))
        context = sample.context[rows if others is None else others] if conditional else None
        found = 0.0 if self.labels is None else self.labels(sample.codes[rows], context)
        if isinstance(self.numbers, Bins):
            found = found + self.numbers(sample.first[rows], sample.numbers[rows], sample.bins[rows], context)
        elif self.numbers is not None:
            found = found + self.numbers(sample.first[rows], sample.numbers[rows], context)
        return found


@dataclass(frozen=True)
class Densities(Described):
    """Base: fits q(y) and q(y|x) on the training rows of each fold and evaluates them on the held-out ones; y is the
    variable of categories alone, else of fewer columns.

    components  Gaussians of a mixture
    width       units of a hidden layer
    margins     scaled, rank, given or auto (`Preparation.fit`)
    """

    components: int = 4
    width: int = 64
    folds: int = 4
    margins: str = "auto"
    schedule: Schedule = field(default_factory=lambda: Schedule(learning_rate=2e-3))

    takes: ClassVar[str] = ANY
    called: ClassVar[str]
    noted: ClassVar[tuple[str, ...]] = ()

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        predicted, target = min(("y", pairs.y), ("x", pairs.x), key=lambda one: (one[1].dim > 0, one[1].dim))
        seen = pairs.x if predicted == "y" else pairs.y
        values = np.empty(pairs.n)
        for split in splits(pairs, self.folds, generator):
            own = np.random.default_rng(int(generator.integers(2**63)))
            sample, counts, numbers = self._sample(seen, target, split)
            marginal, conditional = self._fitted(sample, counts, numbers, split, torch_generator(own))
            values[split.held] = self._values(sample, marginal, conditional, pairs, split, own)
        return mean_of(
            values, pairs.groups, method=self.called, settings=f"q of {predicted}, {self.folds} folds", notes=self.noted
        )

    def _sample(self, seen: Variable, target: Variable, split: Split) -> tuple[Sample, NDArray | None, NDArray | None]:
        """All rows, prepared by the training rows; their counts by category; those by column and bin where cut."""
        context = Preparation.fit(seen, split.training, self.margins)(seen)
        bare = replace(target, codes=None, categories=1)
        numbers = Preparation.fit(bare, split.training, self.margins)(bare)
        first, codes, counts = np.empty((target.n, 0)), None, None
        if target.codes is not None:
            first = np.eye(target.categories)[target.codes]
            counts = np.bincount(target.codes[split.training], minlength=target.categories)
            codes = torch.as_tensor(target.codes, dtype=torch.int64)
        numbers, bins, of_bins = self._cut(numbers, split)
        as_floats = (torch.as_tensor(part, dtype=torch.float32) for part in (context, numbers, first))
        context, numbers, first = as_floats
        return Sample(context, numbers, bins, codes, first), counts, of_bins

    def _cut(self, numbers: NDArray, split: Split) -> tuple[NDArray, Tensor | None, NDArray | None]:
        """The numbers [n, d] as they are modelled, their bins, and how many training rows each column has in each."""
        return numbers, None, None

    def _fitted(
        self, sample: Sample, counts: NDArray | None, of_bins: NDArray | None, split: Split, draw: torch.Generator
    ) -> tuple[Density, Density]:
        """q(y) and q(y|x)."""
        labels = None if counts is None else Labels(counts, self.width, draw)
        columns, before, numbers = sample.numbers.shape[1], sample.first.shape[1], None
        if of_bins is not None and columns:
            numbers = Bins(before, of_bins, self.width, draw)
        elif columns:
            numbers = Mixtures(before, columns, self.components, self.width, draw)
        marginal = Density(labels, numbers)
        if columns and not (isinstance(numbers, Bins) and columns == 1 and not before):  # else frequencies are the fit
            self.schedule.fit(marginal, lambda rows: -marginal(sample, rows), split.training, split.stopping, draw)
        conditional = marginal.given(sample.context.shape[1], draw)
        for name, parameter in conditional.named_parameters():
            parameter.requires_grad_(name.endswith("direct"))
        for _ in range(2):  # linear shifts first: in many columns the rest fits noise first
            self.schedule.fit(
                conditional, lambda rows: -conditional(sample, rows), split.training, split.stopping, draw
            )
            conditional.requires_grad_(True)
        return marginal, conditional

    def _values(self, sample, marginal, conditional, pairs, split, generator) -> NDArray[np.float64]:
        """The value of every held-out row [m], nats."""
        raise NotImplementedError


def _log_q(density: Density, sample: Sample, rows: NDArray) -> NDArray[np.float64]:
    return evaluated(lambda some: density(sample, some), rows).numpy()


@dataclass(frozen=True)
class DifferenceOfEntropies(Densities):
    """Cross-entropy of q(y) less that of q(y|x)."""

    name: ClassVar[str] = "doe"
    limit: ClassVar[str] = "I, if the density family contains the distribution"
    cost: ClassVar[str] = "n times epochs; 15 s"
    source: ClassVar[str] = "McAllester & Stratos 2020, difference of entropies"
    called: ClassVar[str] = "DoE"

    def _values(self, sample, marginal, conditional, pairs, split, generator):
        return _log_q(conditional, sample, split.held) - _log_q(marginal, sample, split.held)


@dataclass(frozen=True)
class BarberAgakov(Densities):
    """H(y) by Kozachenko-Leonenko or counts, less the cross-entropy of q(y|x). Numbers repeat at most `k` times."""

    k: int = 5

    name: ClassVar[str] = "ba"
    limit: ClassVar[str] = "lower bound if H(y) by nearest neighbours is right, as in few columns"
    cost: ClassVar[str] = "n times epochs; 16 s"
    source: ClassVar[str] = "Barber & Agakov 2003, lower bound; Kozachenko & Leonenko 1987 for H(y)"
    called: ClassVar[str] = "Barber-Agakov"
    noted: ClassVar[tuple[str, ...]] = (
        "A lower bound only up to the error of the entropy by neighbours or counts, which grows with the columns.",
    )

    def _values(self, sample, marginal, conditional, pairs, split, generator):
        codes = None if sample.codes is None else sample.codes.numpy().astype(np.intp)
        target = Variable(sample.numbers.double().numpy(), codes, 1 if codes is None else int(codes.max()) + 1)
        try:
            found = knn.entropy(target, self.k, margins="given", groups=pairs.groups, local=True)
        except ValueError as error:
            raise InvalidInput(f"method must fit x and y: {self.name} needs an entropy; {error}") from None
        entropy = found.local[split.held]
        entropy[np.isnan(entropy)] = np.nanmean(found.local)  # of rows alone in their category
        return _log_q(conditional, sample, split.held) + entropy


@dataclass(frozen=True)
class Club(Densities):
    """Contrastive log-ratio: log q of each row's pair less the mean over the x of `others` other rows of its fold."""

    others: int = 64

    name: ClassVar[str] = "club"
    limit: ClassVar[str] = "upper bound, if q is right"
    cost: ClassVar[str] = "n times epochs, n times others; 19 s, l1out 26 s"
    source: ClassVar[str] = "Cheng et al. 2020, vCLUB"
    called: ClassVar[str] = "vCLUB"
    noted: ClassVar[tuple[str, ...]] = ("An upper bound only if the fitted q(y|x) is right.",)

    def _values(self, sample, marginal, conditional, pairs, split, generator):
        logs = self._of_others(sample, conditional, pairs, split, generator)
        return _log_q(conditional, sample, split.held) - np.nanmean(logs, axis=0)

    def _of_others(
        self, sample: Sample, conditional: Density, pairs: Pairs, split: Split, generator: np.random.Generator
    ) -> NDArray[np.float64]:
        """log q(y | x') [others, m] of held-out rows, nan within a group. TooFew: a row without other groups."""
        order = generator.permutation(len(split.held))
        mates = np.empty_like(order)
        logs = np.full((min(self.others, len(order) - 1), len(order)), np.nan)
        for shift, log_q in enumerate(logs, 1):
            mates[order] = np.roll(order, shift)
            apart = pairs.units[split.held[mates]] != pairs.units[split.held]
            if apart.any():
                rows = (torch.as_tensor(split.held[some][apart]) for some in (slice(None), mates))
                with torch.no_grad():
                    log_q[apart] = conditional(sample, *rows).double().numpy()
        if np.isnan(logs).all(axis=0).any():
            raise TooFew(f"groups must be at least two in every fold for {self.name}, got one; use fewer folds.")
        return logs


@dataclass(frozen=True)
class LeaveOneOut(Club):
    """log q of each row's own pair less the log of the mean q over other rows' x. Settings as those of `Club`."""

    others: int = 256

    name: ClassVar[str] = "l1out"
    source: ClassVar[str] = "Poole et al. 2019, leave-one-out upper bound"
    called: ClassVar[str] = "L1Out"

    def _values(self, sample, marginal, conditional, pairs, split, generator):
        logs = self._of_others(sample, conditional, pairs, split, generator)
        compared = (~np.isnan(logs)).sum(axis=0)
        mean = np.logaddexp.reduce(np.where(np.isnan(logs), -np.inf, logs), axis=0) - np.log(compared)
        return _log_q(conditional, sample, split.held) - mean


@dataclass(frozen=True)
class JointEntropies(DifferenceOfEntropies):
    """The same of y in `bins` of equally many training rows, by chains of classifiers; about the bins, for numbers."""

    bins: int = 16

    name: ClassVar[str] = "njee"
    limit: ClassVar[str] = "I of the bins; lower bound where the predicted variable is categories or one column"
    cost: ClassVar[str] = "n times epochs; 3 s"
    source: ClassVar[str] = "Shalev, Painsky & Ben-Gal 2022, joint and conditional entropy"
    called: ClassVar[str] = "NJEE"
    least: ClassVar[Mapping[str, int]] = {"bins": 2}

    def _cut(self, numbers, split):
        if not numbers.shape[1]:
            return numbers, None, None
        bins, scores = np.empty(numbers.shape, np.int64), np.empty_like(numbers)
        counts = np.zeros((numbers.shape[1], self.bins), np.int64)
        shares = np.arange(1, self.bins) / self.bins
        for place, column in enumerate(numbers.T):
            edges = np.unique(np.quantile(column[split.training], shares, method="inverted_cdf"))
            bins[:, place] = np.searchsorted(edges, column)
            counts[place] = np.bincount(bins[split.training, place], minlength=self.bins)
            scores[:, place] = (2 * bins[:, place] - len(edges)) / max(len(edges), 1)
        return scores * np.sqrt(3.0), torch.as_tensor(bins), counts


METHODS: tuple[Described, ...] = (
    BarberAgakov(), DifferenceOfEntropies(), Club(), LeaveOneOut(), JointEntropies(),
)  # fmt: skip
