"""Data sets of images with known discrete factors, on which disentanglement is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from numbers import Integral

import numpy as np
import torch
from numpy.typing import ArrayLike

from infoscope.checks import require_int
from infoscope.data.checks import check_size
from infoscope.errors import (
    Conflict,
    InvalidInput,
    MissingValues,
    OutOfRange,
    TooFew,
    UnknownName,
    WrongLength,
    WrongShape,
    WrongType,
)  # fmt: skip

Reader = Callable[[np.ndarray], torch.Tensor]


class FactorDataset:
    """N images, each with the values of K discrete ground-truth factors.

    images         uint8, bool or floating in [0, 1], [N, H, W] or [N, C, H, W] with C = 1 or 3, or a function of int64
                   indices [b] -> float32 tensor [b, C, H, W] in [0, 1]
    factors        labels [N, K] of any sortable kind, re-coded 0..size-1 in their order
    factor_values  what the codes mean, a sequence per factor; with it `factors` must hold the codes themselves
    name           recorded by runs; `synthetic` marks generated items

    uint8 values are 0..255, or 0 and 1 where none is larger. Arrays are not copied. ValueError when a shape, a type or
    a value is not as stated.
    """

    def __init__(
        self,
        images: ArrayLike | Reader,
        factors: ArrayLike,
        factor_names: Sequence[str],
        *,
        factor_values: Sequence[Sequence] | None = None,
        name: str = "unnamed",
        synthetic: bool = False,
    ) -> None:
        labels = np.asarray(factors)
        self.factor_names = tuple(factor_names)
        if labels.ndim != 2 or labels.size == 0:
            raise WrongShape(f"factors must be non-empty [N, K], got shape {list(labels.shape)}.")
        if len(set(self.factor_names)) != len(self.factor_names) or len(self.factor_names) != labels.shape[1]:
            raise WrongLength(
                f"factor_names must be {labels.shape[1]} different names, one per factor, got {list(factor_names)}."
            )
        if factor_values is None:
            columns = [_recoded(name, column) for name, column in zip(self.factor_names, labels.T)]
            self.factors = np.stack([codes for codes, _ in columns], axis=1)
            self.factor_values = tuple(values for _, values in columns)
        else:
            self.factor_values = tuple(np.asarray(values) for values in factor_values)
            self._check_codes(labels)
            self.factors = labels.astype(np.int64, copy=False)
        self.factor_sizes = tuple(len(values) for values in self.factor_values)
        self.name, self.synthetic = name, synthetic
        self._read = images if callable(images) else _array_reader(images, len(self))
        self.image_shape = _checked_shape(self._read(np.zeros(1, np.int64)))

    def __len__(self) -> int:
        return len(self.factors)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {size}" for name, size in zip(self.factor_names, self.factor_sizes))
        return f"FactorDataset({self.name!r}, {len(self)} images {self.image_shape}, {sizes})"

    def images(self, index: ArrayLike) -> torch.Tensor:
        """The images at these places, integers [b]: float32 [b, C, H, W] in [0, 1].

        Raises ValueError when an index is not a whole number of 0..N-1.
        """
        index = self._checked_index(index)
        images = self._read(index)
        expected = (len(index), *self.image_shape)
        if images.dtype != torch.float32 or images.shape != expected:
            raise WrongShape(
                f"images must give float32 of shape {list(expected)} for {len(index)} indices, "
                f"got {images.dtype} of shape {list(images.shape)}."
            )
        return images

    def subset(self, factor: str | int, value: int) -> np.ndarray:
        """The indices, int64 and rising, at which a factor, by name or number, has this code.

        Raises ValueError for a factor or a code the data set does not have.
        """
        k = self._number(factor)
        size = self.factor_sizes[k]
        if not isinstance(value, Integral) or not 0 <= value < size:
            raise OutOfRange(f"value must be a code 0..{size - 1} of {self.factor_names[k]!r}, got {value!r}.")
        return np.flatnonzero(self.factors[:, k] == value)

    def sample(self, n: int, generator: torch.Generator) -> np.ndarray:
        """n indices drawn independently and uniformly, with replacement: int64 [n]."""
        require_int("n", n)
        return torch.randint(len(self), (n,), generator=generator, device=generator.device).cpu().numpy()

    @property
    def is_grid(self) -> bool:
        """Whether every combination of codes is there exactly once, so that the factors are independent and uniform."""
        return self._place is not None

    def index_of(self, values: ArrayLike) -> np.ndarray:
        """The places int64 [b] of combinations of codes, integers [b, K], in a grid.

        Raises ValueError when the data set is not a grid or a code is not one of its factor's.
        """
        if self._place is None:
            raise InvalidInput(
                f"index_of needs a grid, but {self.name!r} does not have every combination exactly once."
            )
        codes = np.asarray(values)
        sizes = np.array(self.factor_sizes)
        if codes.dtype.kind not in "iu" or codes.ndim != 2 or codes.shape[1] != len(sizes):
            raise WrongShape(
                f"values must be whole numbers [b, {len(sizes)}], got {codes.dtype} of shape {list(codes.shape)}."
            )
        outside = ((codes < 0) | (codes >= sizes)).any(axis=1)
        if outside.any():
            raise OutOfRange(f"values must be codes below {list(self.factor_sizes)}, got {codes[outside][0].tolist()}.")
        return self._place[np.ravel_multi_index(codes.T, self.factor_sizes)]

    def thinned(self, every: Mapping[str | int, int]) -> FactorDataset:
        """Only the first of every so many values of some factors, such as {"orientation": 4, "posX": 2}; a grid stays
        one.

        ValueError for an unknown factor, a step that is not a positive whole number, or when no image is left.
        """
        steps = np.ones(len(self.factor_sizes), np.int64)
        for factor, step in every.items():
            steps[self._number(factor)] = require_int(f"every[{factor!r}]", step)
        kept = np.flatnonzero((self.factors % steps == 0).all(axis=1))
        if not len(kept):
            raise TooFew(f"every must leave some image of {self.name!r}, but {dict(every)} leaves none.")
        thinning = "".join(f" {name}/{step}" for name, step in zip(self.factor_names, steps) if step > 1)
        values = [values[::step] for values, step in zip(self.factor_values, steps)]
        return self._with(
            lambda index: self._read(kept[index]), self.name + thinning, self.factors[kept] // steps, values
        )

    def resized(self, size: int | tuple[int, int]) -> FactorDataset:
        """The same data set at a smaller size, a side or (height, width) in pixels, by averaging over the area of each
        new pixel; done when images are asked for. Raises ValueError when size is not smaller or equal.
        """
        height, width = check_size(size)
        channels, old_height, old_width = self.image_shape
        if height > old_height or width > old_width:
            raise OutOfRange(f"size must be at most {(old_height, old_width)}, the size of the images, got {size!r}.")
        down, across = _area_weights(old_height, height), _area_weights(old_width, width)

        def read(index: np.ndarray) -> torch.Tensor:
            # The weights of a pixel add up to one only within rounding, which could leave [0, 1].
            return (down @ self._read(index) @ across.T).clamp_(0.0, 1.0)

        return self._with(read, f"{self.name} at {height} x {width}", self.factors, self.factor_values)

    def _with(self, read: Reader, name: str, factors: np.ndarray, values: Sequence[Sequence]) -> FactorDataset:
        """Other images and codes of the same factors."""
        return FactorDataset(
            read, factors, self.factor_names, factor_values=values, name=name, synthetic=self.synthetic
        )

    @cached_property
    def _place(self) -> np.ndarray | None:
        """The index of each combination of codes in row-major order, int64 [N]; None where this is not a grid."""
        if prod(self.factor_sizes) != len(self):
            return None
        place = np.full(len(self), -1)
        place[np.ravel_multi_index(self.factors.T, self.factor_sizes)] = np.arange(len(self))
        return None if (place < 0).any() else place

    def _number(self, factor: str | int) -> int:
        if isinstance(factor, Integral) and 0 <= factor < len(self.factor_names):
            return int(factor)
        if factor not in self.factor_names:
            raise UnknownName(f"factor must be one of {list(self.factor_names)} or its number, got {factor!r}.")
        return self.factor_names.index(factor)

    def _checked_index(self, index: ArrayLike) -> np.ndarray:
        places = torch.as_tensor(index).cpu().numpy()
        if places.ndim != 1 or places.dtype.kind not in "iu":
            raise WrongShape(f"index must be whole numbers [b], got {places.dtype} of shape {list(places.shape)}.")
        if len(places) and not 0 <= places.min() <= places.max() < len(self):
            raise OutOfRange(f"index must be in 0..{len(self) - 1}, got {places.min()} to {places.max()}.")
        return places.astype(np.int64, copy=False)

    def _check_codes(self, codes: np.ndarray) -> None:
        if len(self.factor_values) != codes.shape[1]:
            raise WrongLength(f"factor_values must be {codes.shape[1]} sequences, got {len(self.factor_values)}.")
        if codes.dtype.kind not in "iu":
            raise WrongType(f"factors must be codes, whole numbers, where there are factor_values, got {codes.dtype}.")
        for name, column, values in zip(self.factor_names, codes.T, self.factor_values):
            if column.min() < 0 or column.max() >= len(values):
                raise OutOfRange(
                    f"factors must be codes 0..{len(values) - 1} of {name!r}, which has {len(values)} factor_values, "
                    f"got {column.min()} to {column.max()}."
                )


def _recoded(name: str, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes int64 [N] and the label of each code."""
    try:
        if labels.dtype == object and any(label is None or label != label for label in labels):
            raise MissingValues(f"factors must have a label for every image, but {name!r} has None or NaN.")
        values, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise Conflict(f"factors must have labels of one kind per factor, but those of {name!r} differ.") from error
    if (values != values).any():
        raise MissingValues(f"factors must have a label for every image, but {name!r} has NaN.")
    return codes.astype(np.int64), values


def _array_reader(images: ArrayLike, n: int) -> Reader:
    array = np.asarray(images)
    if array.ndim not in (3, 4) or len(array) != n or array.size == 0:
        raise WrongShape(
            f"images must be non-empty [N, H, W] or [N, C, H, W] with N = {n}, got shape {list(array.shape)}."
        )
    if array.dtype.kind == "f":
        low, high = array.min(), array.max()
        if not (low >= 0 and high <= 1):  # also when either is NaN
            raise OutOfRange(f"images must be in [0, 1] where they are floating, got {low} to {high}.")
    elif array.dtype not in (np.uint8, np.bool_):
        raise WrongType(f"images must be uint8, bool or floating, got {array.dtype}.")
    white = 255 if array.dtype == np.uint8 and array.max() > 1 else 1

    def read(index: np.ndarray) -> torch.Tensor:
        images = torch.from_numpy(array[index].astype(np.float32))
        return (images if images.ndim == 4 else images[:, None]).div_(white)

    return read


def _checked_shape(first: torch.Tensor) -> tuple[int, int, int]:
    """The shape of the images, from what the reader gives for a single index."""
    if first.ndim != 4 or len(first) != 1 or first.shape[1] not in (1, 3) or first.numel() == 0:
        raise WrongShape(
            f"images must be [b, C, H, W] with C = 1 or 3 channels before the pixels, got {list(first.shape)}."
        )
    if first.dtype != torch.float32 or not (first.min() >= 0 and first.max() <= 1):
        raise OutOfRange(
            f"images must be float32 in [0, 1], got {first.dtype} from {first.min().item()} to {first.max().item()}."
        )
    return tuple(first.shape[1:])


def _area_weights(old: int, new: int) -> torch.Tensor:
    """The share of each old pixel in each new one along an axis: float32 [new, old], rows adding up to one."""
    edges = torch.arange(new + 1, dtype=torch.float64) * (old / new)
    pixel = torch.arange(old, dtype=torch.float64)
    overlap = torch.minimum(edges[1:, None], pixel + 1) - torch.maximum(edges[:-1, None], pixel)
    return (overlap.clamp_(min=0.0) * (new / old)).float()
