"""dSprites, whole or in part, and the factor data set that is there in any case."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import torch

from infoscope.checks import one_of
from infoscope.data.factors.dataset import FactorDataset, Reader
from infoscope.data.factors.sprites import FACTORS, SHAPES, sprites
from infoscope.data.root import data_root, required_root
from infoscope.errors import UnreadableFile
from infoscope.files import read_arrays, reading

_FILES = {
    "grid": "dsprites_downsampled.npz",
    "subset": "dsprites_subset.npz",
    "full": "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz",
}
_SOURCES = {
    "grid": "the neuromatch_ssl_tutorial on GitHub (the full file of google-deepmind/dsprites-dataset serves as well)",
    "subset": "the neuromatch_ssl_tutorial on GitHub",
    "full": "google-deepmind/dsprites-dataset on GitHub",
}
_GRID = {"orientation": 4, "posX": 2, "posY": 2}  # how the grid thins the full set
_BYTES_AT_ONCE = 2**24


def dsprites(root: Path | str | None = None, part: str = "grid") -> FactorDataset:
    """dSprites: binary sprites of 64 x 64 pixels with the factors shape, scale,
    orientation, posX and posY.

    Published by Matthey, Higgins, Hassabis and Lerchner 2017 (Apache 2.0). Reads
    <root>/dsprites. The first and the last of the 40 orientations look the same.

    Parameters
    ----------
    root : str or Path, optional
        Folder of real data; by default the folder that INFOSCOPE_DATA names.
    part : {"grid", "full", "subset"}
        full: all 737,280 images, the grid 3 x 6 x 40 x 32 x 32; grid: 46,080 of them,
        the grid 3 x 6 x 10 x 16 x 16; subset: 20,000 drawn at random without
        replacement, which are no grid.

    Returns
    -------
    FactorDataset
        Images float32 [b, 1, 64, 64] and five factors.

    Raises
    ------
    UnknownName
        If there is no such part.
    UnreadableFile
        If the file is damaged.
    FileNotFoundError
        If the folder or the file does not exist.
    """
    file = _FILES[one_of("part", part, _FILES)]
    content = f"dsprites/{file}, from {_SOURCES[part]}"
    folder = required_root(root, content) / "dsprites"
    path = folder / file
    if path.is_file():
        return _read(path, f"dsprites-{part}")
    if part == "grid" and (folder / _FILES["full"]).is_file():
        return _read(folder / _FILES["full"], "dsprites-full").thinned(_GRID)
    raise FileNotFoundError(
        f"{path} is not there; it can be obtained from {_SOURCES[part]}."
    )


def factor_data(root: Path | str | None = None) -> FactorDataset:
    """Grid of dSprites where it is installed, else 46,080 generated sprites.

    The generated sprites have the same factors and are marked as synthetic.

    Parameters
    ----------
    root : str or Path, optional
        Folder of real data; by default the folder that INFOSCOPE_DATA names.

    Returns
    -------
    FactorDataset
        Images float32 [b, 1, 64, 64] and five factors.

    Raises
    ------
    FileNotFoundError
        If a named folder does not exist, or `root` does not have the grid.
    """
    folder = data_root(root)
    if root is not None:
        return dsprites(root)
    for part in ("grid", "full"):
        if folder is not None and (folder / "dsprites" / _FILES[part]).is_file():
            return dsprites()
    return sprites()


def _read(path: Path, name: str) -> FactorDataset:
    """The data set of a published file."""
    with reading(path, "an undamaged file of dSprites"):
        stored = read_arrays(path, ("latents_classes", "latents_values"))
        codes = stored["latents_classes"][:, -len(FACTORS) :]
        values = stored["latents_values"][:, -len(FACTORS) :]
        images = _bit_reader(path, len(codes))
    of_code = [np.array(SHAPES)]
    for codes_of_factor, values_of_factor in zip(codes.T[1:], values.T[1:]):
        _, first = np.unique(codes_of_factor, return_index=True)
        of_code.append(values_of_factor[first])
    return FactorDataset(images, codes, FACTORS, factor_values=of_code, name=name)


def _bit_reader(path: Path, n: int) -> Reader:
    """A reader of the n images, which are kept as bits (as bytes they take 3 GB).

    The file has a pixel, 0 or 1, in a byte; it is read a piece at a time.
    """
    with zipfile.ZipFile(path) as archive, archive.open("imgs.npy") as stream:
        version = np.lib.format.read_magic(stream)
        readers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        shape, by_column, dtype = readers[version](stream)
        if by_column or dtype != np.uint8 or len(shape) != 3 or shape[0] != n:
            raise UnreadableFile(
                f"imgs is {dtype} {list(shape)}{', by column' * by_column}, not uint8 "
                f"[{n}, H, W] by row"
            )
        _, height, width = shape
        area = height * width
        bits = np.empty((n, -(-area // 8)), np.uint8)
        at_once = max(1, _BYTES_AT_ONCE // area)
        for start in range(0, n, at_once):
            count = min(at_once, n - start)
            content = stream.read(count * area)
            pixels = np.frombuffer(content, np.uint8).reshape(count, area)
            if pixels.max() > 1:
                raise UnreadableFile(
                    f"imgs must contain only 0 and 1, got {pixels.max()}"
                )
            bits[start : start + count] = np.packbits(pixels, axis=1)

    def read(index):
        pixels = np.unpackbits(bits[index], axis=1, count=area)
        return torch.from_numpy(pixels).float().view(-1, 1, height, width)

    return read
