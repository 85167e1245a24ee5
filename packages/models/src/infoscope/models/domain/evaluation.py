"""Labelled items of several domains, the accuracy of a domain model on them, and the values of its blocks."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from infoscope.checks import one_of, require_int
from infoscope.errors import Conflict, OutOfRange, TooFew, WrongShape
from infoscope.models.blocks import Block
from infoscope.models.domain.base import Batch, DomainModel

Progress = Callable[[int, int], None]


class DomainItems(Protocol):
    """N items with classes y, domains d and groups of dependent items (base image, slide), int64 [N] each, and
    `images(index)`, the items of int64 indices [b] as floats, such as `DomainData`."""

    y: Any
    d: Any
    groups: Any

    def __len__(self) -> int: ...

    def images(self, index: Any) -> Any: ...


class DomainData:
    """Items as arrays or tensors: x [n, ...], floats or uint8 (shares of 255); y and d int64 [n], y -1 where unknown;
    groups int64 [n] or None. ValueError for other lengths or types, y below -1, d below 0.
    """

    def __init__(self, x: Any, y: Any, d: Any, groups: Any | None = None) -> None:
        self._x = torch.as_tensor(x)
        self.y = labels("y", y, len(self._x), -1)
        self.d = labels("d", d, len(self.y), 0)
        self.groups = None if groups is None else labels("groups", groups, len(self.y), None)

    def __len__(self) -> int:
        return len(self.y)

    def images(self, index: Tensor) -> Tensor:
        """The items of int64 indices [b]: float [b, ...]."""
        x = self._x[index]
        return x / 255.0 if x.dtype == torch.uint8 else x


def labels(name: str, values: Any, count: int, least: int | None) -> Tensor:
    """Labels as int64 [count] of at least `least`, on the CPU; ValueError otherwise."""
    values = torch.as_tensor(values).cpu()
    whole = not (values.is_floating_point() or values.is_complex() or values.dtype == torch.bool)
    if not whole or values.shape != (count,) or not count:
        raise WrongShape(
            f"{name} must be whole numbers of shape [{count}], got {values.dtype} of shape {list(values.shape)}."
        )
    if least is not None and values.min() < least:
        raise OutOfRange(f"{name} must be at least {least}, got {values.min().item()}.")
    return values.long()


def fetch(data: DomainItems, index: Tensor, model: DomainModel) -> Batch:
    """The items of int64 indices [b] on the model's device and in its precision."""
    parameter = next(model.parameters())
    x = torch.as_tensor(data.images(index)).to(parameter.device, parameter.dtype)
    y, d = (torch.as_tensor(values)[index].to(parameter.device) for values in (data.y, data.d))
    return Batch(x, y, d)


def check_items(name: str, data: DomainItems, model: DomainModel, train: bool) -> None:
    """ValueError unless the labels suit the model: one per item, classes and (in training) domains within its numbers;
    in training all classes known, unless the model takes unknown ones.
    """
    y = labels(f"{name}.y", data.y, len(data), -1)
    d = labels(f"{name}.d", data.d, len(data), 0)
    settings = model.settings
    if y.max() >= settings.classes:
        raise OutOfRange(f"{name}.y must be below the model's {settings.classes} classes, got {y.max().item()}.")
    if train and d.max() >= settings.domains:
        raise OutOfRange(f"{name}.d must be below the model's {settings.domains} domains, got {d.max().item()}.")
    if train and not model.takes_unlabelled and y.min() < 0:
        raise OutOfRange(f"{name}.y must be known (at least 0) to train a {type(model).__name__}, got -1.")


@dataclass(frozen=True)
class Accuracy:
    """A share of items in [0, 1] and its standard error over `clusters` independent groups of the items (one: NaN)."""

    value: float
    standard_error: float
    n: int
    clusters: int


@dataclass(frozen=True)
class Accuracies:
    """Accuracy over all items, mean over domains, by domain, and by slice (class, domain). The accuracies of
    worst_domain and worst_slice are biased downwards.
    """

    overall: Accuracy
    average: Accuracy
    by_domain: dict[int, Accuracy]
    by_slice: dict[tuple[int, int], Accuracy]
    worst_domain: int
    worst_slice: tuple[int, int]

    @property
    def worst(self) -> Accuracy:
        """The accuracy of the worst domain."""
        return self.by_domain[self.worst_domain]


def accuracies(model: DomainModel, data: DomainItems, of: str = "class", batch: int = 512) -> Accuracies:
    """Accuracy of the model's most probable class (or domain, `of`), computed in batches of one domain.

    Items of unknown class are left out. Standard errors are robust to the groups of `data`. ValueError when no item has
    a label, for labels that do not suit the model, and for a model without domain logits.
    """
    one_of("of", of, ("class", "domain"))
    check_items("data", data, model, train=False)
    d = torch.as_tensor(data.d)
    index = torch.nonzero(torch.as_tensor(data.y) >= 0)[:, 0] if of == "class" else torch.arange(len(d))
    if not len(index):
        raise OutOfRange("data.y must have known classes (at least 0) for an accuracy, got -1.")
    index = index[d[index].argsort(stable=True)]
    d = d[index]
    counts = d.unique_consecutive(return_counts=True)[1].tolist()
    batch = require_int("batch", batch)
    with evaluating(model):
        correct = torch.cat([
            _correct(model, data, rows, of)
            for of_domain in index.split(counts)
            for rows in of_domain.tensor_split(math.ceil(len(of_domain) / batch))
        ])  # fmt: skip
    groups = getattr(data, "groups", None)
    clusters = index if groups is None else labels("data.groups", groups, len(data), None)[index]
    by_domain = {key: _accuracy(correct[rows], clusters[rows]) for (key,), rows in _slices(d)}
    classes = torch.as_tensor(data.y)[index]
    by_slice = {key: _accuracy(correct[rows], clusters[rows]) for key, rows in _slices(classes, d)}
    return Accuracies(
        overall=_accuracy(correct, clusters),
        average=_accuracy(correct, clusters, d),
        by_domain=by_domain,
        by_slice=by_slice,
        worst_domain=_worst(by_domain),
        worst_slice=_worst(by_slice),
    )


def posteriors(model: DomainModel, data: Any, batch: int = 512, progress: Progress | None = None) -> dict[str, Block]:
    """Means and scales [n, dim] of all items in each block of the model, on the CPU, without gradients.

    data: items x [n, *shape], or a data set with `images(index)`. progress(done, n) is called after every batch.
    ValueError for no items or items of another shape.
    """
    if not len(data):
        raise TooFew("data must have one item or more, got none.")
    x = data.images if hasattr(data, "images") else torch.as_tensor(data).__getitem__
    parameter = next(model.parameters())
    parts: list[dict[str, list[Tensor | None]]] = []
    with evaluating(model):
        for rows in torch.arange(len(data)).split(require_int("batch", batch)):
            blocks = model.blocks(torch.as_tensor(x(rows)).to(parameter.device, parameter.dtype))
            parts.append(
                {
                    name: [part if part is None else part.cpu() for part in (block.mean, block.scale)]
                    for name, block in blocks.items()
                }
            )
            if progress is not None:
                progress(int(rows[-1]) + 1, len(data))
    return {
        name: Block(*(None if some[0] is None else torch.cat(some) for some in zip(*(part[name] for part in parts))))
        for name in parts[0]
    }


def extract_blocks(
    model: DomainModel, data: Any, batch: int = 512, generator: torch.Generator | None = None
) -> dict[str, Tensor]:
    """The values of every block, [n, dim] on the CPU: the posterior means, or, with a CPU generator, one draw for every
    item. data and errors as in `posteriors`.
    """
    blocks = posteriors(model, data, batch)
    return {name: block.mean if generator is None else block.draw(generator) for name, block in blocks.items()}


@contextlib.contextmanager
def evaluating(model: DomainModel) -> Iterator[None]:
    """Evaluation mode without gradients; restores the mode of the model."""
    mode = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(mode)


def _correct(model: DomainModel, data: DomainItems, rows: Tensor, of: str) -> Tensor:
    """1 correct, 0 wrong, NaN where a logit is not finite: float64 [rows]."""
    batch = fetch(data, rows, model)
    logits = model.class_logits(batch.x) if of == "class" else model.domain_logits(batch.x)
    if logits is None:
        raise Conflict(f"of must be class for {type(model).__name__}, which has no domain logits, got {of!r}.")
    right = (logits.argmax(1) == (batch.y if of == "class" else batch.d)).double()
    return right.masked_fill(~logits.isfinite().all(1), math.nan).cpu()


def _slices(*labels: Tensor) -> Iterator[tuple[tuple[int, ...], Tensor]]:
    """Each combination of labels, with a mask of its items."""
    present, place = torch.stack([one.long() for one in labels], 1).unique(dim=0, return_inverse=True)
    yield from ((tuple(key), place == number) for number, key in enumerate(present.tolist()))


def _worst(accuracies_of: dict[Any, Accuracy]) -> Any:
    return min(accuracies_of, key=lambda key: (not math.isnan(accuracies_of[key].value), accuracies_of[key].value))


def _accuracy(correct: Tensor, clusters: Tensor, strata: Tensor | None = None) -> Accuracy:
    """The share of correct items, or the mean of this share over strata; the error is robust to clusters, which may
    have items of several strata.
    """
    place = torch.zeros_like(clusters) if strata is None else strata.unique(return_inverse=True)[1]
    counts = place.bincount()
    shares = torch.zeros(len(counts), dtype=correct.dtype).index_add_(0, place, correct) / counts
    residuals = (correct - shares[place]) / (counts[place] * len(counts))
    present, owner = clusters.unique(return_inverse=True)
    sums = torch.zeros(len(present), dtype=correct.dtype).index_add_(0, owner, residuals)
    factor = len(present) / (len(present) - 1) if len(present) > 1 else math.nan
    error = math.sqrt(factor * sums.square().sum().item())
    return Accuracy(sum(shares.tolist()) / len(counts), error, len(correct), len(present))
