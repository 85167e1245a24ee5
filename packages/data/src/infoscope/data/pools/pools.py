"""Pools of labelled items, from which pairs of images and of texts are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Generator, Tensor

from infoscope.checks import require_int, require_number
from infoscope.data.pools.canvas import Canvas
from infoscope.errors import (
    Conflict,
    InvalidInput,
    MissingValues,
    WrongLength,
    WrongShape,
)


class _Pool:
    """Common part of pools of images and of embeddings."""

    labels: Tensor
    name: str
    _items: str  # the name of the field that holds the items
    __dataclass_fields__: ClassVar[dict]  # every pool is a dataclass

    @property
    def classes(self) -> tuple[int, ...]:
        """The distinct labels, in rising order."""
        return tuple(self.labels.unique().tolist())

    def restrict(self, classes: Sequence[int]) -> Self:
        """Pool of the items of some classes, in their order; its name ends in the
        classes.

        Parameters
        ----------
        classes : sequence of int
            Labels to keep.

        Returns
        -------
        ImagePool or EmbeddingPool
            The type of this pool.

        Raises
        ------
        InvalidInput
            If the pool lacks a class.
        """
        wanted = sorted(set(classes))
        if not wanted or not set(wanted) <= set(self.classes):
            raise InvalidInput(
                f"classes must be some of {list(self.classes)} of {self.name!r}, got "
                f"{list(classes)}."
            )
        labels = torch.tensor(wanted, device=self.labels.device)
        members = torch.isin(self.labels, labels)
        names = ",".join(map(str, wanted))
        return self._part(members, f"[{names}]")

    def split(self, fraction: float, generator: Generator) -> tuple[Self, Self]:
        """Two random parts, to train on and to hold out; equal items stay together.

        Parameters
        ----------
        fraction : float
            Share of every class to hold out, inside (0, 1).
        generator : torch.Generator
            Random numbers.

        Returns
        -------
        training, held_out : ImagePool or EmbeddingPool
            The type of this pool.

        Raises
        ------
        OutOfRange, Conflict
            If fraction is not inside (0, 1) or leaves a part without a class of the
            pool.
        """
        require_number("fraction", fraction, most=1, ends=False)
        held_out = self._places(generator) < fraction
        training_name = f" training {100 * (1 - fraction):g}%"
        names = (training_name, f" held out {100 * fraction:g}%")
        return self._parts("fraction", fraction, held_out, names)

    def folds(self, count: int, generator: Generator) -> list[tuple[Self, Self]]:
        """Parts for cross-fitting; the held-out parts make up the whole pool.

        Parameters
        ----------
        count : int
            Number of folds, at least 2.
        generator : torch.Generator
            Random numbers.

        Returns
        -------
        list of tuple
            `count` times the two parts of `split`.

        Raises
        ------
        OutOfRange, Conflict
            If count is not a whole number of at least 2 or leaves a part without a
            class of the pool.
        """
        require_int("count", count, least=2)
        fold = (self._places(generator) * count).long()
        pairs = []
        for number in range(count):
            name = f"fold {number + 1} of {count}"
            names = (f" without {name}", f" {name}")
            pairs.append(self._parts("count", count, fold == number, names))
        return pairs

    def _part(self, members: Tensor, suffix: str) -> Self:
        """The pool of the marked items, with a longer name."""
        members = members.to(self.labels.device)
        items = {self._items: getattr(self, self._items)[members]}
        labels = self.labels[members]
        return replace(self, **items, labels=labels, name=self.name + suffix)

    def _parts(
        self, argument: str, value: float, held_out: Tensor, names: tuple[str, str]
    ) -> tuple[Self, Self]:
        """Training and held-out items; Conflict unless both have every class."""
        parts = (~held_out, held_out)
        classes = []
        for members in parts:
            labels = self.labels[members.to(self.labels.device)]
            classes.append(labels.unique().tolist())
        if classes != [list(self.classes)] * 2:
            raise Conflict(
                f"{argument} must leave items of every class in both parts, but "
                f"{value!r} leaves classes {classes[0]} "
                f"and {classes[1]} of {list(self.classes)}."
            )
        training, testing = map(self._part, parts, names)
        return training, testing

    def _places(self, generator: Generator) -> Tensor:
        """A random place in (0, 1) for every item, float64 [n] on the CPU.

        Each class is spread evenly; equal items have the same place.
        """
        group, first = _equal_items(getattr(self, self._items))
        order = torch.randperm(len(first), generator=generator, device=generator.device)
        order = order.cpu().numpy()
        places = np.empty(len(group))
        labels = self.labels.cpu().numpy()
        for label in self.classes:
            members = np.flatnonzero(labels == label)
            ranks = order[group[members]]
            members = members[ranks.argsort(kind="stable")]
            places[members] = (np.arange(len(members)) + 0.5) / len(members)
        return torch.from_numpy(places[first[group]])


@dataclass(frozen=True, eq=False)
class ImagePool(_Pool):
    """Images of one size, grey or RGB, with labels.

    Parameters
    ----------
    images : torch.Tensor
        uint8 [n, h, w] or [n, h, w, 3].
    labels : torch.Tensor
        int64 [n].
    name : str
        Recorded by runs as the data set.
    synthetic : bool
        Marks generated items.

    Raises
    ------
    WrongShape, WrongLength
        If a type or a shape is not as stated, or the pool is empty.

    Examples
    --------
    >>> pool = ImagePool(torch.zeros(2, 8, 8, dtype=torch.uint8), torch.tensor([3, 7]), "example")
    >>> pool.classes
    (3, 7)
    """

    images: Tensor
    labels: Tensor
    name: str
    synthetic: bool = False
    _at_size: dict[tuple, Tensor] = field(default_factory=dict, init=False, repr=False)
    _items = "images"

    def __post_init__(self) -> None:
        shape = self.images.shape
        fits = len(shape) == 3 or (len(shape) == 4 and shape[3] == 3)
        layout = "[n, h, w] or [n, h, w, 3]"
        _check_values("images", self.images, torch.uint8, layout, fits)
        _check_labels(self.labels, len(self.images))

    def resized(
        self, height: int, width: int, device: torch.device | str = "cpu"
    ) -> Tensor:
        """Images at another size, rounded as by Pillow (bicubic) and kept.

        Parameters
        ----------
        height, width : int
            Pixels.
        device : torch.device or str
            Where the images are put.

        Returns
        -------
        torch.Tensor
            uint8 [n, channels, height, width].
        """
        device = torch.device(device)
        key = (height, width, device)
        if key not in self._at_size:
            self._at_size[key] = self._resized(height, width).to(device)
        return self._at_size[key]

    def _resized(self, height: int, width: int) -> Tensor:
        """Each channel is an image of a single patch."""
        planes = self.images
        if planes.ndim == 4:
            planes = planes.movedim(3, 1)
        old_height, old_width = planes.shape[-2:]
        canvas = Canvas((old_height, old_width), (1, 1, 1), (height, width))
        planes = planes.reshape(-1, old_height * old_width)
        numbers = torch.arange(len(planes), device=planes.device)
        resized = []
        for batch in numbers.split(512):
            levels = canvas.compose(planes, batch[:, None])
            resized.append(levels.byte())
        return torch.cat(resized).view(len(self.images), -1, height, width)


@dataclass(frozen=True, eq=False)
class EmbeddingPool(_Pool):
    """Embedding vectors with labels.

    Parameters
    ----------
    vectors : torch.Tensor
        float32 [n, d].
    labels : torch.Tensor
        int64 [n].
    name : str
        Recorded by runs as the data set.
    synthetic : bool
        Marks generated items.

    Raises
    ------
    WrongShape, WrongLength, MissingValues
        If a type or a shape is not as stated, the pool is empty, or a value is not
        finite.

    Examples
    --------
    >>> pool = EmbeddingPool(torch.eye(4), torch.tensor([0, 0, 1, 1]), "example")
    >>> pool.restrict([1]).name
    'example[1]'
    """

    vectors: Tensor
    labels: Tensor
    name: str
    synthetic: bool = False
    _items = "vectors"

    def __post_init__(self) -> None:
        fits = self.vectors.ndim == 2
        _check_values("vectors", self.vectors, torch.float32, "[n, d]", fits)
        _check_labels(self.labels, len(self.vectors))
        is_finite = self.vectors.isfinite().all(1)
        bad = int((~is_finite).sum())
        if bad:
            raise MissingValues(
                f"vectors must be finite, but {bad} of the {len(self.vectors)} rows "
                "are not."
            )


def _equal_items(items: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The group of equal items of each item, and the first item of each group."""
    # turns -0.0 into 0.0, which is equal and has other bytes
    rows = items.flatten(1).cpu().numpy() + 0
    numbers: dict[bytes, int] = {}
    group = [numbers.setdefault(row.tobytes(), len(numbers)) for row in rows]
    _, first = np.unique(group, return_index=True)
    return np.array(group), first


def _check_values(
    name: str, values: Tensor, dtype: torch.dtype, layout: str, fits: bool
) -> None:
    """WrongShape unless the items have this type, and a shape that fits the layout."""
    if values.dtype != dtype or not fits or values.numel() == 0:
        raise WrongShape(
            f"{name} must be a non-empty {dtype} {layout}, got {values.dtype} "
            f"{list(values.shape)}."
        )


def _check_labels(labels: Tensor, n: int) -> None:
    """WrongLength unless the labels are int64 [n]."""
    if labels.dtype != torch.int64 or labels.shape != (n,):
        raise WrongLength(
            f"labels must be torch.int64 [{n}], got {labels.dtype} "
            f"{list(labels.shape)}."
        )
