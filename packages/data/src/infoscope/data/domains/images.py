"""Sources of images: an array in memory, files read on demand, or another source.

Each is a callable that takes row numbers, int64 [b], and gives uint8 (0 to 255) or
float32 (0 to 1) [b, C, H, W].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from infoscope.errors import UnreadableFile, WrongShape

Images = Callable[[np.ndarray], Tensor]


@dataclass(frozen=True, eq=False)
class ImagesInMemory:
    """The rows of an array: uint8 or float32 [n, C, H, W], or features, float32 [n, p]."""

    values: Tensor

    def __call__(self, rows: np.ndarray) -> Tensor:
        return self.values[torch.from_numpy(rows)]


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Image files of one size (height, width), read with Pillow as RGB on every call.

    FileNotFoundError for a missing file, WrongShape for another size, UnreadableFile
    for a file without an image.
    """

    root: Path
    paths: Sequence[str]
    size: tuple[int, int]

    @classmethod
    def of(cls, root: Path, paths: Sequence[str]) -> ImageFiles:
        """The files, of the size of the first."""
        with open_image(root / paths[0]) as first:
            return cls(root, paths, (first.height, first.width))

    def __call__(self, rows: np.ndarray) -> Tensor:
        images = np.empty((len(rows), *self.size, 3), np.uint8)
        for image, row in zip(images, rows):
            image[:] = self._read(self.paths[int(row)])
        return torch.from_numpy(images).movedim(3, 1)

    def _read(self, path: str) -> np.ndarray:
        """The pixels of a file, uint8 [height, width, 3]."""
        with open_image(self.root / path) as stored:
            try:
                pixels = np.asarray(stored.convert("RGB"))
            # Pillow raises SyntaxError for a damaged PNG
            except (OSError, ValueError, SyntaxError) as error:
                raise UnreadableFile(
                    f"{self.root / path} must be a whole image, but: {error}."
                ) from error
        if pixels.shape[:2] != self.size:
            first = " x ".join(map(str, self.size))
            size = " x ".join(map(str, pixels.shape[:2]))
            raise WrongShape(
                f"{self.root / path} must have the {first} pixels of the first image, "
                f"got {size}."
            )
        return pixels


@dataclass(frozen=True, eq=False)
class ResizedImages:
    """The images of another source, resized bicubic and antialiased to (height, width)."""

    of: Images
    size: tuple[int, int]

    def __call__(self, rows: np.ndarray) -> Tensor:
        images = self.of(rows)
        resized = torch.nn.functional.interpolate(
            images, self.size, mode="bicubic", antialias=True
        )
        if images.dtype == torch.uint8:
            return resized
        return resized.clamp_(0.0, 1.0)  # bicubic overshoots


def open_image(path: Path) -> Image.Image:
    """An open image file; FileNotFoundError without it, UnreadableFile if no image."""
    try:
        return Image.open(path)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"the image {path} is not there.") from error
    except (UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise UnreadableFile(
            f"{path} must be an image that Pillow can read."
        ) from error
