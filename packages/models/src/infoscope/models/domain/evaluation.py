"""Labelled items of several domains, and a domain model's accuracy and blocks on them."""

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
    """N items with classes y, domains d and groups of dependent items (base image,
    slide), int64 [N] each.

    `images(index)` returns the items of int64 indices [b] as floats. `DomainData` is
    one implementation.
    """

    y: Any
    d: Any
    groups: Any

    def __len__(self) -> int: ...

    def images(self, index: Any) -> Any: ...


class DomainData:
    """Items as arrays or tensors.

    Parameters
    ----------
    x
        Items [n, ...], floats or uint8 (shares of 255).
    y, d
        Classes (-1 where unknown) and domains (from 0), int64 [n].
    groups
        Groups of dependent items, int64 [n]; None: all items are independent.

    Raises
    ------
    ValueError
        For other lengths or types, y below -1, d below 0.

    Examples
    --------
    >>> data = DomainData([[0.1], [0.2], [0.3]], y=[0, 1, -1], d=[0, 0, 1])
    >>> len(data)
    3
    """

    def __init__(self, x: Any, y: Any, d: Any, groups: Any | None = None) -> None:
        self._x = torch.as_tensor(x)
        self.y = labels("y", y, len(self._x), -1)
        self.d = labels("d", d, len(self.y), 0)
        self.groups = None
        if groups is not None:
            self.groups = labels("groups", groups, len(self.y), None)

    def __len__(self) -> int:
        return len(self.y)

    def images(self, index: Tensor) -> Tensor:
        """The items of int64 indices [b]: float [b, ...]."""
        x = self._x[index]
        if x.dtype == torch.uint8:
            return x / 255.0
        return x


def labels(name: str, values: Any, count: int, least: int | None) -> Tensor:
    """Labels as int64 [count] of at least `least`, on the CPU; ValueError otherwise."""
    values = torch.as_tensor(values).cpu()
    fractional = (
        values.is_floating_point() or values.is_complex() or values.dtype == torch.bool
    )
    if fractional or values.shape != (count,) or count == 0:
        raise WrongShape(
            f"{name} must be whole numbers of shape [{count}], got {values.dtype} of "
            f"shape {list(values.shape)}."
        )
    if least is not None and values.min() < least:
        raise OutOfRange(f"{name} must be at least {least}, got {values.min().item()}.")
    return values.long()


def fetch(data: DomainItems, index: Tensor, model: DomainModel) -> Batch:
    """The items of int64 indices [b] on the model's device and in its precision."""
    parameter = next(model.parameters())
    x = torch.as_tensor(data.images(index)).to(parameter.device, parameter.dtype)
    y = torch.as_tensor(data.y)[index].to(parameter.device)
    d = torch.as_tensor(data.d)[index].to(parameter.device)
    return Batch(x, y, d)


def check_items(name: str, data: DomainItems, model: DomainModel, train: bool) -> None:
    """Raises ValueError unless the labels suit the model.

    Classes and, in training, domains must be below the model's numbers of them. In
    training all classes must be known, unless the model takes unknown ones.
    """
    y = labels(f"{name}.y", data.y, len(data), -1)
    d = labels(f"{name}.d", data.d, len(data), 0)
    settings = model.settings
    if y.max() >= settings.classes:
        raise OutOfRange(
            f"{name}.y must be below the model's {settings.classes} classes, got "
            f"{y.max().item()}."
        )
    if train and d.max() >= settings.domains:
        raise OutOfRange(
            f"{name}.d must be below the model's {settings.domains} domains, got "
            f"{d.max().item()}."
        )
    if train and not model.takes_unlabelled and y.min() < 0:
        raise OutOfRange(
            f"{name}.y must be known (at least 0) to train a {type(model).__name__}, "
            "got -1."
        )


@dataclass(frozen=True)
class Accuracy:
    """A share of n items in [0, 1] and its standard error over `clusters` independent
    groups of items (one: NaN).
    """

    value: float
    standard_error: float
    n: int
    clusters: int


@dataclass(frozen=True)
class Accuracies:
    """Accuracy over all items, its mean over domains, by domain, and by slice (class,
    domain).

    The accuracies of worst_domain and worst_slice are biased downwards.
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


def accuracies(
    model: DomainModel, data: DomainItems, of: str = "class", batch: int = 512
) -> Accuracies:
    """Accuracies of the model's most probable class or domain, overall and by domain.

    Standard errors are robust to the groups of the data.

    Parameters
    ----------
    model
        A trained model.
    data
        Items with labels; items of unknown class are left out of the accuracy of
        classes.
    of
        "class" or "domain".
    batch
        Largest number of items, all of one domain, in one pass through the model.

    Raises
    ------
    ValueError
        If no item has a label, for labels that do not suit the model, and for a model
        without domain logits.
    """
    one_of("of", of, ("class", "domain"))
    check_items("data", data, model, train=False)
    y = torch.as_tensor(data.y).long()
    d = torch.as_tensor(data.d).long()
    index = torch.arange(len(d))
    if of == "class":
        index = torch.nonzero(y >= 0)[:, 0]
    if not len(index):
        raise OutOfRange(
            "data.y must have known classes (at least 0) for an accuracy, got -1."
        )
    order = d[index].argsort(stable=True)
    index = index[order]
    y = y[index]
    d = d[index]
    correct = _correct(model, data, index, d, of, require_int("batch", batch))
    clusters = index
    groups = getattr(data, "groups", None)
    if groups is not None:
        clusters = labels("data.groups", groups, len(data), None)[index]
    of_domains = {}
    for domain in d.unique().tolist():
        rows = d == domain
        of_domains[domain] = _accuracy(correct[rows], clusters[rows])
    of_slices = {}
    slices = torch.stack([y, d], 1).unique(dim=0)
    for label, domain in slices.tolist():
        rows = (y == label) & (d == domain)
        of_slices[label, domain] = _accuracy(correct[rows], clusters[rows])
    return Accuracies(
        overall=_accuracy(correct, clusters),
        average=_accuracy(correct, clusters, d),
        by_domain=of_domains,
        by_slice=of_slices,
        worst_domain=_worst(of_domains),
        worst_slice=_worst(of_slices),
    )


def posteriors(
    model: DomainModel, data: Any, batch: int = 512, progress: Progress | None = None
) -> dict[str, Block]:
    """Means and scales [n, dim] of all items in each block, on the CPU.

    Parameters
    ----------
    model
        A trained model.
    data
        Items x [n, *shape], or a data set with a length and `images(index)`.
    batch
        Largest number of items in one pass through the model.
    progress
        progress(done, n) is called after every batch.

    Raises
    ------
    ValueError
        For no items or items of another shape.
    """
    if not len(data):
        raise TooFew("data must have one item or more, got none.")
    if hasattr(data, "images"):
        images = data.images
    else:
        images = torch.as_tensor(data).__getitem__
    parameter = next(model.parameters())
    means: dict[str, list[Tensor]] = {}
    scales: dict[str, list[Tensor]] = {}
    with evaluating(model):
        for rows in torch.arange(len(data)).split(require_int("batch", batch)):
            x = torch.as_tensor(images(rows)).to(parameter.device, parameter.dtype)
            for name, block in model.blocks(x).items():
                means.setdefault(name, []).append(block.mean.cpu())
                if block.scale is not None:
                    scales.setdefault(name, []).append(block.scale.cpu())
            if progress is not None:
                progress(int(rows[-1]) + 1, len(data))
    blocks = {}
    for name, parts in means.items():
        scale = torch.cat(scales[name]) if name in scales else None
        blocks[name] = Block(torch.cat(parts), scale)
    return blocks


def extract_blocks(
    model: DomainModel,
    data: Any,
    batch: int = 512,
    generator: torch.Generator | None = None,
) -> dict[str, Tensor]:
    """The values of every block, [n, dim] on the CPU.

    Parameters
    ----------
    model, data, batch
        As in `posteriors`, also the errors.
    generator
        A CPU generator of one draw for every item; None: the means of the posteriors.
    """
    blocks = posteriors(model, data, batch)
    if generator is None:
        return {name: block.mean for name, block in blocks.items()}
    return {name: block.draw(generator) for name, block in blocks.items()}


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


def _correct(
    model: DomainModel, data: DomainItems, index: Tensor, d: Tensor, of: str, most: int
) -> Tensor:
    """1 correct, 0 wrong, NaN where a logit is not finite: float64 [index].

    Batches have at most `most` items, all of one domain.
    """
    counts = d.unique_consecutive(return_counts=True)[1].tolist()
    parts = []
    with evaluating(model):
        for of_domain in index.split(counts):
            batches = math.ceil(len(of_domain) / most)
            for rows in of_domain.tensor_split(batches):
                batch = fetch(data, rows, model)
                if of == "class":
                    truth = batch.y
                    logits = model.class_logits(batch.x)
                else:
                    truth = batch.d
                    logits = model.domain_logits(batch.x)
                if logits is None:
                    name = type(model).__name__
                    raise Conflict(
                        f"of must be class for {name}, which has no domain logits, "
                        f"got {of!r}."
                    )
                correct = (logits.argmax(1) == truth).double()
                undefined = ~logits.isfinite().all(1)
                parts.append(correct.masked_fill(undefined, math.nan).cpu())
    return torch.cat(parts)


def _worst(accuracies_of: dict[Any, Accuracy]) -> Any:
    """The key of the lowest accuracy; NaN is lower than any number."""

    def rank(key: Any) -> tuple[bool, float]:
        value = accuracies_of[key].value
        return not math.isnan(value), value

    return min(accuracies_of, key=rank)


def _accuracy(
    correct: Tensor, clusters: Tensor, strata: Tensor | None = None
) -> Accuracy:
    """The share of correct items, or the mean of this share over strata.

    The error is robust to clusters, which may have items of several strata.
    """
    if strata is None:
        strata = torch.zeros_like(clusters)
    stratum = strata.unique(return_inverse=True)[1]
    sizes = stratum.bincount()
    shares = torch.zeros(len(sizes), dtype=correct.dtype)
    shares.index_add_(0, stratum, correct)
    shares /= sizes
    deviations = correct - shares[stratum]
    residuals = deviations / (sizes[stratum] * len(sizes))
    present, cluster = clusters.unique(return_inverse=True)
    count = len(present)
    sums = torch.zeros(count, dtype=correct.dtype)
    sums.index_add_(0, cluster, residuals)
    variance = math.nan
    if count > 1:
        variance = count / (count - 1) * sums.square().sum().item()
    value = sum(shares.tolist()) / len(sizes)
    return Accuracy(value, math.sqrt(variance), len(correct), count)
