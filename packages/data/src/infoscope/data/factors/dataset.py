"""Images with known discrete factors, on which disentanglement is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from infoscope.checks import one_of, require_int
from infoscope.data.checks import check_size
from infoscope.errors import OutOfRange, TooFew, WrongLength, WrongShape

Reader = Callable[[np.ndarray], Tensor]


class FactorDataset:
    """N images, each with the values of K discrete ground-truth factors.

    Parameters
    ----------
    images : torch.Tensor or callable
        float32 [N, C, H, W] in [0, 1], or a function of int64 indices [b] that returns
        such a tensor.
    factors : array_like
        Codes 0..size-1 [N, K].
    factor_names : sequence of str
        K names.
    factor_values : sequence of sequences, optional
        What the codes of each factor mean; by default the codes themselves.
    name : str
        Recorded by runs.
    synthetic : bool
        Marks generated items.

    Raises
    ------
    WrongShape, WrongLength, OutOfRange
        If a shape, a type or a code is not as stated.

    Examples
    --------
    >>> data = FactorDataset(torch.zeros(4, 1, 8, 8), [[0, 0], [0, 1], [1, 0], [1, 1]], ["shape", "size"])
    >>> data
    FactorDataset('unnamed', 4 images (1, 8, 8), shape 2, size 2)
    """

    def __init__(
        self,
        images: Tensor | Reader,
        factors: ArrayLike,
        factor_names: Sequence[str],
        *,
        factor_values: Sequence[ArrayLike] | None = None,
        name: str = "unnamed",
        synthetic: bool = False,
    ) -> None:
        codes = np.asarray(factors)
        self.factor_names = tuple(factor_names)
        if codes.ndim != 2 or codes.size == 0 or codes.dtype.kind not in "iu":
            raise WrongShape(
                f"factors must be whole numbers [N, K], got {codes.dtype} of shape "
                f"{list(codes.shape)}."
            )
        columns = codes.shape[1]
        if not len(set(self.factor_names)) == len(self.factor_names) == columns:
            raise WrongLength(
                f"factor_names must be {columns} different names, got "
                f"{list(factor_names)}."
            )
        sizes = codes.max(axis=0) + 1
        values = map(np.arange, sizes) if factor_values is None else factor_values
        self.factor_values = tuple(map(np.asarray, values))
        self._check_codes(codes)
        self.factors = codes.astype(np.int64, copy=False)
        self.factor_sizes = tuple(map(len, self.factor_values))
        self.name = name
        self.synthetic = synthetic
        if callable(images):
            self._read = images
        else:
            if len(images) != len(codes):
                raise WrongLength(
                    f"images must be {len(codes)}, one for each row of factors, got "
                    f"{len(images)}."
                )
            self._read = _reader(images)
        first = self._read(np.zeros(1, np.int64))
        self.image_shape = tuple(first.shape[1:])

    def __len__(self) -> int:
        return len(self.factors)

    def __repr__(self) -> str:
        factors = zip(self.factor_names, self.factor_sizes)
        sizes = ", ".join(f"{name} {size}" for name, size in factors)
        return (
            f"FactorDataset({self.name!r}, {len(self)} images {self.image_shape}, "
            f"{sizes})"
        )

    def images(self, index: ArrayLike) -> Tensor:
        """Images at some places.

        Parameters
        ----------
        index : array_like
            Whole numbers [b] from 0 to N-1.

        Returns
        -------
        torch.Tensor
            float32 [b, C, H, W] in [0, 1].

        Raises
        ------
        WrongShape, OutOfRange
            If an index is not a whole number of 0..N-1.
        """
        places = torch.as_tensor(index).cpu().numpy()
        if places.ndim != 1 or places.dtype.kind not in "iu":
            raise WrongShape(
                f"index must be whole numbers [b], got {places.dtype} of shape "
                f"{list(places.shape)}."
            )
        if len(places) and not 0 <= places.min() <= places.max() < len(self):
            raise OutOfRange(
                f"index must be in 0..{len(self) - 1}, got {places.min()} to "
                f"{places.max()}."
            )
        return self._read(places.astype(np.int64, copy=False))

    def sample(self, n: int, generator: torch.Generator) -> np.ndarray:
        """Indices drawn independently and uniformly, with replacement.

        Parameters
        ----------
        n : int
            Number of indices.
        generator : torch.Generator
            Random numbers.

        Returns
        -------
        numpy.ndarray
            int64 [n].
        """
        size = (require_int("n", n),)
        device = generator.device
        places = torch.randint(len(self), size, generator=generator, device=device)
        return places.cpu().numpy()

    def thinned(self, every: Mapping[str, int]) -> FactorDataset:
        """Data set with every k-th value of some factors; a grid stays a grid.

        Parameters
        ----------
        every : mapping of str to int
            Steps by factor, such as {"posX": 2}.

        Returns
        -------
        FactorDataset
            Fewer images with fewer codes.

        Raises
        ------
        UnknownName, OutOfRange, TooFew
            If a factor is unknown, a step is not a positive whole number, or no image
            is left.
        """
        steps = np.ones(len(self.factor_sizes), np.int64)
        for factor, step in every.items():
            step = require_int(f"every[{factor!r}]", step)
            one_of("factor", factor, self.factor_names)
            steps[self.factor_names.index(factor)] = step
        rows = np.flatnonzero((self.factors % steps == 0).all(axis=1))
        if not len(rows):
            raise TooFew(
                f"every must leave some image of {self.name!r}, but {dict(every)} "
                "leaves none."
            )
        name = self.name
        values = []
        for factor, all_values, step in zip(
            self.factor_names, self.factor_values, steps
        ):
            if step > 1:
                name += f" {factor}/{step}"
            values.append(all_values[::step])

        def read(index):
            return self._read(rows[index])

        return self._with(read, name, self.factors[rows] // steps, values)

    def resized(self, size: int | tuple[int, int]) -> FactorDataset:
        """Data set of smaller images: averages over the area of each new pixel.

        They are computed on demand.

        Parameters
        ----------
        size : int or tuple of int
            Side, or height and width, in pixels.

        Returns
        -------
        FactorDataset
            The same items.

        Raises
        ------
        OutOfRange
            If size is not smaller or equal.
        """
        height, width = check_size(size)
        channels, old_height, old_width = self.image_shape
        if height > old_height or width > old_width:
            raise OutOfRange(
                f"size must be at most {(old_height, old_width)}, the size of the "
                f"images, got {size!r}."
            )
        down = _area_weights(old_height, height)
        across = _area_weights(old_width, width)

        def read(index):
            images = down @ self._read(index) @ across.T
            # the weights of a pixel add up to one only within rounding
            return images.clamp_(0.0, 1.0)

        name = f"{self.name} at {height} x {width}"
        return self._with(read, name, self.factors, self.factor_values)

    def _with(
        self, read: Reader, name: str, factors: np.ndarray, values: Sequence[ArrayLike]
    ) -> FactorDataset:
        """Other images and codes of the same factors."""
        return FactorDataset(
            read,
            factors,
            self.factor_names,
            factor_values=values,
            name=name,
            synthetic=self.synthetic,
        )

    def _check_codes(self, codes: np.ndarray) -> None:
        """WrongLength or OutOfRange unless every code [N, K] has a value."""
        if len(self.factor_values) != codes.shape[1]:
            raise WrongLength(
                f"factor_values must be {codes.shape[1]} sequences, got "
                f"{len(self.factor_values)}."
            )
        for name, column, values in zip(self.factor_names, codes.T, self.factor_values):
            if column.min() < 0 or column.max() >= len(values):
                got = f"{column.min()} to {column.max()}"
                raise OutOfRange(
                    f"factors must be codes 0..{len(values) - 1} of {name!r}, got "
                    f"{got}."
                )


def _reader(images: Tensor) -> Reader:
    """A function of indices that returns their images."""
    return lambda index: images[torch.from_numpy(index)]


def _area_weights(old: int, new: int) -> Tensor:
    """Share of each old pixel in each new pixel along an axis: float32 [new, old]."""
    edges = torch.arange(new + 1, dtype=torch.float64) * (old / new)
    pixel = torch.arange(old, dtype=torch.float64)
    ends = torch.minimum(edges[1:, None], pixel + 1)
    starts = torch.maximum(edges[:-1, None], pixel)
    overlap = (ends - starts).clamp_(min=0.0)
    return (overlap * (new / old)).float()
