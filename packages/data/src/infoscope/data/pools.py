"""Pools of labelled items: what pairs of images and of texts are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True, eq=False)
class ImagePool:
    """Grey images of one size: images uint8 [n, h, w], labels int64 [n].

    `name` is what a run records as its data set; `synthetic` marks generated items.
    Raises ValueError when a type or a shape is not as stated, or when the pool is empty.
    """

    images: torch.Tensor
    labels: torch.Tensor
    name: str
    synthetic: bool = False

    def __post_init__(self) -> None:
        _check_values("images", self.images, torch.uint8, "[n, h, w]")
        _check_labels(self.labels, len(self.images))

    @property
    def classes(self) -> tuple[int, ...]:
        """The distinct labels, in rising order."""
        return tuple(self.labels.unique().tolist())

    def restrict(self, classes: Sequence[int]) -> ImagePool:
        """The items of these classes, in their order; the name says which. ValueError for a class the pool lacks."""
        kept, name = _selection(self, classes)
        return ImagePool(self.images[kept], self.labels[kept], name, self.synthetic)


@dataclass(frozen=True, eq=False)
class EmbeddingPool:
    """Embedding vectors: vectors float32 [n, d], labels int64 [n].

    `name` is what a run records as its data set; `synthetic` marks generated items.
    Raises ValueError when a type or a shape is not as stated, the pool is empty, or a value is not finite.
    """

    vectors: torch.Tensor
    labels: torch.Tensor
    name: str
    synthetic: bool = False

    def __post_init__(self) -> None:
        _check_values("vectors", self.vectors, torch.float32, "[n, d]")
        _check_labels(self.labels, len(self.vectors))
        bad = int((~self.vectors.isfinite().all(1)).sum())
        if bad:
            raise ValueError(f"vectors must be finite, but {bad} of the {len(self.vectors)} rows are not.")

    @property
    def classes(self) -> tuple[int, ...]:
        """The distinct labels, in rising order."""
        return tuple(self.labels.unique().tolist())

    def restrict(self, classes: Sequence[int]) -> EmbeddingPool:
        """The items of these classes, in their order; the name says which. ValueError for a class the pool lacks."""
        kept, name = _selection(self, classes)
        return EmbeddingPool(self.vectors[kept], self.labels[kept], name, self.synthetic)


def _check_values(name: str, values: torch.Tensor, dtype: torch.dtype, layout: str) -> None:
    if values.dtype != dtype or values.ndim != layout.count(",") + 1 or values.numel() == 0:
        raise ValueError(
            f"{name} must be a non-empty {dtype} tensor {layout}, not {values.dtype} of shape {list(values.shape)}."
        )


def _check_labels(labels: torch.Tensor, n: int) -> None:
    if labels.dtype != torch.int64 or labels.shape != (n,):
        raise ValueError(
            f"labels must be torch.int64 of shape [{n}], one per item, "
            f"not {labels.dtype} of shape {list(labels.shape)}."
        )


def _selection(pool: ImagePool | EmbeddingPool, classes: Sequence[int]) -> tuple[torch.Tensor, str]:
    wanted = sorted(set(classes))
    if not wanted or not set(wanted) <= set(pool.classes):
        raise ValueError(f"classes must be some of {list(pool.classes)} of {pool.name!r}, not {list(classes)}.")
    kept = torch.isin(pool.labels, torch.tensor(wanted, device=pool.labels.device))
    return kept, f"{pool.name}[{','.join(map(str, wanted))}]"
