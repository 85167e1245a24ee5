"""Labelled items of several domains, as the domain models are trained and evaluated on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch
from torch import Tensor

from infoscope.errors import OutOfRange, WrongShape
from infoscope.models.domain.base import Batch, DomainModel


class DomainItems(Protocol):
    """N items with classes y, domains d and groups (what belongs together: base image, slide), int64 [N] each, and
    `images(index)`, the items of int64 indices [b] as floats. `DomainData` is one; so is any data set of this shape."""

    y: Any
    d: Any
    groups: Any

    def __len__(self) -> int: ...

    def images(self, index: Any) -> Any: ...


class DomainData:
    """Items as arrays or tensors: x [n, ...], floats or uint8 (shares of 255), or a function of int64 indices [b]; y
    and d int64 [n], y -1 where unknown; groups int64 [n] or None. ValueError for other lengths or types, y below -1, d
    below 0.
    """

    def __init__(self, x: Any | Callable[[Tensor], Any], y: Any, d: Any, groups: Any | None = None) -> None:
        self._x = x if callable(x) else torch.as_tensor(x)
        self.y = labels("y", y, None if callable(x) else len(self._x), -1)
        self.d = labels("d", d, len(self.y), 0)
        self.groups = None if groups is None else labels("groups", groups, len(self.y), None)

    def __len__(self) -> int:
        return len(self.y)

    def images(self, index: Tensor) -> Tensor:
        """The items of int64 indices [b]: float [b, ...]."""
        x = torch.as_tensor(self._x(index) if callable(self._x) else self._x[index])
        return x / 255.0 if x.dtype == torch.uint8 else x


def labels(name: str, values: Any, count: int | None, least: int | None) -> Tensor:
    """Labels as int64 [count] (None: any number but 0) of at least `least`, on the CPU; ValueError otherwise."""
    values = torch.as_tensor(values).cpu()
    whole = not (values.is_floating_point() or values.is_complex() or values.dtype == torch.bool)
    if not whole or values.dim() != 1 or not len(values) or count not in (None, len(values)):
        raise WrongShape(
            f"{name} must be whole numbers of shape [{'n' if count is None else count}], got {values.dtype} of shape "
            f"{list(values.shape)}."
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
    """ValueError unless the labels suit the model: as many as items, of classes and (in training) domains that it has,
    every class known unless the model takes unknown ones in training."""
    y = labels(f"{name}.y", data.y, len(data), -1)
    d = labels(f"{name}.d", data.d, len(data), 0)
    settings = model.settings
    if y.max() >= settings.classes:
        raise OutOfRange(f"{name}.y must be below the model's {settings.classes} classes, got {y.max().item()}.")
    if train and d.max() >= settings.domains:
        raise OutOfRange(f"{name}.d must be below the model's {settings.domains} domains, got {d.max().item()}.")
    if train and not model.takes_unlabelled and y.min() < 0:
        raise OutOfRange(f"{name}.y must be known (at least 0) for {type(model).__name__}, got -1.")


class Minibatches:
    """An endless order of items, in passes without repetition: over all items, or over those of each domain
    separately when balanced. Draws from `generator`; `state` continues it exactly."""

    def __init__(self, d: Tensor, batch: int, balanced: bool, generator: torch.Generator) -> None:
        domains = [d == domain for domain in d.unique()] if balanced else [torch.ones_like(d, dtype=torch.bool)]
        self._members = [torch.nonzero(of_domain)[:, 0] for of_domain in domains]
        self._batch, self._generator = batch, generator
        self.state = [members[:0] for members in self._members]  # what is left of each pass

    def __iter__(self) -> Iterator[Tensor]:
        while True:
            yield torch.cat([self._take(stream) for stream in range(len(self._members))])

    def _take(self, stream: int) -> Tensor:
        """The next `batch` of one stream; a new pass begins where one ends."""
        order, members = self.state[stream], self._members[stream]
        while len(order) < self._batch:
            order = torch.cat([order, members[torch.randperm(len(members), generator=self._generator)]])
        self.state[stream] = order[self._batch :]
        return order[: self._batch]
