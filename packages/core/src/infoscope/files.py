"""Safe reading of files: damaged, truncated, irregular or too large files give one
clear error message.

In memory a file may be up to 200 times as large as on disk (small ones 64 MiB), and at
most 4 GiB. INFOSCOPE_UNPACKED_GB replaces both limits, in gigabytes. The size in memory
is computed from directory and headers before reading.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from infoscope.errors import InfoscopeError, OutOfRange, UnreadableFile

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_LIMIT = "INFOSCOPE_UNPACKED_GB"
_MAX_BYTES = 4 * 2**30
_SMALL_BYTES = 64 * 2**20
_MAX_RATIO = 200
_CELL_BYTES = 8  # of a number in a data frame
_COLUMN_BYTES = 4096  # of a column, in addition to its numbers
# exceptions that readers of damaged files raise
_DAMAGE = (
    # RecursionError: deeply nested lists
    *(ValueError, EOFError, KeyError, MemoryError, RecursionError),
    *(zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, csv.Error),
    *(NotImplementedError, RuntimeError),  # unknown compression, a password
)


@contextlib.contextmanager
def reading(path: Path, what: str, start: str = "") -> Iterator[None]:
    """Converts errors of reading a damaged file into UnreadableFile with one sentence,
    or OutOfRange for its size.

    start: the beginning of the sentence, instead of "PATH must be WHAT, but".
    """
    try:
        yield
    except _DAMAGE as error:
        message = str(error).strip().splitlines()
        reason = message[0] if message else type(error).__name__
        if reason.startswith((str(path), f"{_LIMIT} ")):
            raise
        kind = type(error) if isinstance(error, InfoscopeError) else UnreadableFile
        start = start or f"{path} must be {what}, but"
        raise kind(f"{start}: {reason.rstrip('.')}.") from error


def require_regular(path: Path) -> None:
    """Raises UnreadableFile unless this is a regular file or a link to one,
    FileNotFoundError if it is missing.
    """
    path.stat()
    if not path.is_file():
        raise UnreadableFile("it is a folder, a pipe or a device")


def require_size(path: Path, unpacked: int) -> None:
    """Raises OutOfRange if a file needs more bytes in memory than its limit."""
    limit = _size_limit(path)
    if unpacked > limit:
        raise OutOfRange(
            f"it has {path.stat().st_size:,} bytes and unpacks to over "
            f"{limit / 2**20:.0f} MiB; {_LIMIT} can allow more"
        )


def _size_limit(path: Path) -> int:
    """The largest number of bytes for a file in memory. OutOfRange for an invalid limit
    in the environment.
    """
    setting = os.environ.get(_LIMIT)
    if not setting:
        unpacked = _MAX_RATIO * path.stat().st_size
        return min(_MAX_BYTES, max(_SMALL_BYTES, unpacked))
    with contextlib.suppress(ValueError):
        gigabytes = float(setting)
        if gigabytes > 0:
            return int(gigabytes * 1e9)
    raise OutOfRange(
        f"{_LIMIT} must be a positive number of gigabytes, got {setting!r}."
    )


def read_gzip(path: Path) -> bytes:
    """The content of a gzip file. UnreadableFile if it is damaged or truncated,
    OutOfRange beyond its limit.
    """
    with reading(path, "a complete gzip file"), _Unpacked(path) as file:
        return file.read()


def lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 text, gzipped if its name ends in .gz, without line ends.
    Raises like `read_gzip`.
    """
    with reading(path, "a complete UTF-8 text"), _opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise UnreadableFile(
                    f"{path}, line {number}, must be UTF-8, but: {error}."
                ) from error
            yield text.rstrip("\r\n")


def _opened(path: Path) -> io.BufferedReader:
    """A file for reading its bytes, unpacked if its name ends in .gz."""
    if path.suffix == ".gz":
        return io.BufferedReader(_Unpacked(path))
    return path.open("rb")


def json_object(text: str) -> dict[str, Any]:
    """The JSON object in a text. Raises ValueError for anything else, also for too
    deeply nested JSON.
    """
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError(f"it is no JSON object but a {type(content).__name__}")
    return content


def read_arrays(
    path: Path, names: Sequence[str] = (), start: str = ""
) -> dict[str, np.ndarray]:
    """The arrays of an .npz file with these names, or all. No pickle is read. start: as
    in `reading`.

    Raises FileNotFoundError if the file is missing, UnreadableFile if it is damaged or
    lacks an array, OutOfRange if the arrays exceed the limit.
    """
    what = "a complete .npz file"
    if names:
        what += f" with {', '.join(names)}"
    with reading(path, what, start):
        require_regular(path)
        if not zipfile.is_zipfile(path):
            raise UnreadableFile("it is no archive of numpy.savez, or it is truncated")
        with zipfile.ZipFile(path) as archive:
            members = {
                member.filename.removesuffix(".npy"): member
                for member in archive.infolist()
            }
            lacking = [name for name in names if name not in members]
            if lacking:
                raise UnreadableFile(
                    f"it lacks {', '.join(lacking)} and has "
                    f"{', '.join(members) or 'nothing'}"
                )
            chosen = {name: members[name] for name in names or members}
            require_size(path, sum(member.file_size for member in chosen.values()))
            for name, member in chosen.items():
                _require_whole_array(archive, name, member)
            arrays = {}
            for name, member in chosen.items():
                with archive.open(member) as file:
                    arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
            return arrays


def _require_whole_array(
    archive: zipfile.ZipFile, name: str, member: zipfile.ZipInfo
) -> None:
    """Raises UnreadableFile unless a member of an archive is large enough for the array
    in its header.
    """
    # other compressions have no size limit
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UnreadableFile(f"{name!r} has another compression than numpy.savez uses")
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        header = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = header(file)
        available = member.file_size - file.tell()
    if dtype.hasobject:
        raise UnreadableFile(f"{name!r} is an array of objects: save numbers or texts")
    if math.prod(shape) * max(dtype.itemsize, 1) > available:
        raise UnreadableFile(
            f"{name!r} has shape {shape} of {dtype}, but only {available:,} bytes"
        )


def read_content(path: Path) -> bytes:
    """The content of a regular file, unpacked if its name ends in .gz. Raises like
    `read_gzip`.
    """
    if path.suffix == ".gz":
        return read_gzip(path)
    require_regular(path)
    require_size(path, path.stat().st_size)
    return path.read_bytes()


def require_table_size(path: Path, rows: int, columns: int) -> None:
    """Raises OutOfRange if a table of a file needs more bytes in memory than its limit."""
    require_size(path, columns * (rows * _CELL_BYTES + _COLUMN_BYTES))


def read_parquet(path: Path) -> pa.Table:
    """The columns of a .parquet file, decimals as float64; structures, extensions and
    lists of texts are left out.

    Strings are read as dictionary codes and measured before they are expanded, since
    one long string may occur in every row. Raises like `read_content`, and
    UnreadableFile for a damaged file.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    require_regular(path)
    try:
        with pq.ParquetFile(path) as file:
            metadata = file.metadata
            schema = file.schema_arrow
        unpacked = _bytes_in_memory(metadata)
        require_size(path, unpacked)
        expanded = {"string": pa.large_string(), "binary": pa.large_binary()}
        fields = []
        texts = []
        for field in schema:
            kind = str(field.type).removeprefix("large_").removesuffix("_view")
            if kind in expanded:
                texts.append(field.name)
                fields.append(field.with_type(expanded[kind]))
            elif pa.types.is_decimal(field.type):
                fields.append(field.with_type(pa.float64()))
            elif _is_readable(field.type):
                fields.append(field)
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            table = file.read(columns=[field.name for field in fields])
        for name in texts:
            for chunk in table[name].chunks:
                lengths = pc.take(pc.binary_length(chunk.dictionary), chunk.indices)
                unpacked += pc.sum(lengths).as_py() or 0
        require_size(path, unpacked)
        return table.cast(pa.schema(fields, metadata=schema.metadata))
    except OSError as error:  # from pyarrow, for a damaged file
        raise UnreadableFile(str(error)) from None


def _is_readable(kind: pa.DataType) -> bool:
    """Whether a column of this type can be measured: no structure, extension, or list
    of other than numbers.
    """
    import pyarrow as pa

    if (
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
    ):
        return pa.types.is_integer(kind.value_type) or pa.types.is_floating(
            kind.value_type
        )
    return not (pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType))


def _bytes_in_memory(metadata: pq.FileMetaData) -> int:
    """The bytes of the columns of a .parquet file in memory, from its metadata."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    announced = 0
    row_bytes = 0
    for place in range(metadata.num_columns):
        width = max(_CELL_BYTES, metadata.schema.column(place).length)
        row_bytes += width
        for group in groups:
            chunk = group.column(place)
            announced += max(chunk.num_values * width, chunk.total_uncompressed_size)
    return max(announced, metadata.num_rows * row_bytes)


class _Unpacked(io.RawIOBase):
    """The content of a gzip file; OutOfRange beyond its limit."""

    def __init__(self, path: Path):
        require_regular(path)
        self._path = path
        self._count = 0
        self._limit = _size_limit(path)
        self._file = gzip.open(path)  # noqa: SIM115  # closed by `close`

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer)
        self._count += count
        if self._count > self._limit:
            require_size(self._path, self._count)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
