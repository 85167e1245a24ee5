"""Files of others, read whole or refused in a sentence that names the file: damaged, cut short, or packed so that they
grow without end.

A packed file may unpack to 200 times its own size (64 MiB for small ones), and to 4 GiB; INFOSCOPE_UNPACKED_GB replaces
both limits by one of so many gigabytes.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

_LIMIT = "INFOSCOPE_UNPACKED_GB"
_MOST, _MINIMUM, _TIMES = 4 * 2**30, 64 * 2**20, 200
# what a damaged file makes its reader raise
_DAMAGE = (
    *(ValueError, EOFError, KeyError, MemoryError, RecursionError),  # RecursionError: of lists in lists in lists
    *(zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, csv.Error),
    *(NotImplementedError, RuntimeError),  # a way of packing that zipfile does not know, a password
)


@contextlib.contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Makes a ValueError that names the file, and says what it must be, of whatever a damaged one raises inside."""
    try:
        yield
    except _DAMAGE as error:
        told = str(error).strip().splitlines() or [type(error).__name__]
        if told[0].startswith(str(path)):
            raise
        raise ValueError(f"{path} must be {what}, but: {told[0]}.") from error


def _unpacked_limit(path: Path) -> int:
    """How many bytes a packed file may unpack to. Raises ValueError for a limit in the environment that is none."""
    given = os.environ.get(_LIMIT)
    if not given:
        return min(_MOST, max(_MINIMUM, _TIMES * path.stat().st_size))
    with contextlib.suppress(ValueError):
        if float(given) > 0:
            return int(float(given) * 1e9)
    raise ValueError(f"{_LIMIT} must be a positive number of gigabytes, got {given!r}.")


def read_gzip(path: Path) -> bytes:
    """The content of a gzip file. ValueError when it is none, is cut short, or unpacks to more than its limit."""
    with reading(path, "a whole gzip file"), _Unpacked(path) as file:
        return file.read()


def lines(path: Path) -> Iterator[str]:
    """The lines of a text in UTF-8, gzipped if so named, without their ends. Errors as of `read_gzip`, and ValueError
    for a line that is not UTF-8.
    """
    number = 0
    with reading(path, "a whole text in UTF-8"), _Unpacked(path) if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(io.BufferedReader(file) if path.suffix == ".gz" else file, 1):
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise ValueError(f"{path}, line {number}, must be UTF-8, but: {error}.") from error
            yield text.rstrip("\r\n")


def json_object(text: str) -> dict[str, Any]:
    """A JSON object. Raises ValueError for anything else, also for one too deep to read."""
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError(f"it is a {type(found).__name__} and no object")
    return found


def read_arrays(path: Path, names: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """The arrays of these names, or all, of an .npz file. No pickle is read.

    Raises FileNotFoundError when it is not there, ValueError when it is no whole .npz file, lacks one of them, or
    unpacks to more than its limit.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there.")
    with reading(path, "a whole .npz file" + (f" with {', '.join(names)}" if names else "")):
        _check_archive(path, names)
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in names or stored.files}


def _check_archive(path: Path, names: Sequence[str] = ()) -> None:
    """Raises ValueError, and what zipfile raises, unless these arrays, or all, are in an .npz file and not too large to
    be held.
    """
    if not zipfile.is_zipfile(path):
        raise ValueError("it is empty, cut short, or something else")
    with zipfile.ZipFile(path) as archive:
        sizes = {member.filename.removesuffix(".npy"): member.file_size for member in archive.infolist()}
    if lacking := [name for name in names if name not in sizes]:
        raise ValueError(f"it lacks {', '.join(lacking)} and has {', '.join(sizes) or 'nothing'}")
    _check_size(path, sum(sizes[name] for name in names or sizes))


def _check_size(path: Path, unpacked: int) -> None:
    limit = _unpacked_limit(path)
    if unpacked > limit:
        raise ValueError(
            f"it has {path.stat().st_size} bytes and unpacks to over {limit / 2**20:.0f} MiB; {_LIMIT} can allow more"
        )


class _Unpacked(io.RawIOBase):
    """The content of a gzip file, up to its limit; ValueError beyond."""

    def __init__(self, path: Path):
        self._path, self._count, self._limit = path, 0, _unpacked_limit(path)
        self._file = gzip.open(path)  # noqa: SIM115  # closed by `close`

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer)
        self._count += count
        if self._count > self._limit:
            _check_size(self._path, self._count)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
