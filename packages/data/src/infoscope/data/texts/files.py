"""Readers of labelled texts: JSON lines, tab-separated tables, or a download by `datasets`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from infoscope.data.root import DATA_VARIABLE
from infoscope.errors import TooFew, UnreadableFile
from infoscope.files import json_object, lines


def first_file(folder: Path, names: Sequence[str]) -> Path:
    """The first of the files that is there; FileNotFoundError if none is."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"{' or '.join(str(folder / name) for name in names)} is not there.")


def read_json_lines(path: Path, fields: Mapping[str, Callable[[Any], Any]]) -> list[dict[str, Any]]:
    """The objects of a gzipped file, one a line, with the named fields converted.

    FileNotFoundError when the file is not there, ValueError for a line that has no such object.
    """
    rows = []
    for number, line in enumerate(lines(first_file(path.parent, [path.name])), 1):
        try:
            row = json_object(line)
            rows.append(row | {name: convert(row[name]) for name, convert in fields.items()})
        except (KeyError, TypeError, ValueError) as error:
            raise UnreadableFile(f"{path}, line {number}, is not an object with {' and '.join(fields)}.") from error
    return _some(path, rows)


def read_table(path: Path, columns: Sequence[str], header: bool) -> list[dict[str, str]]:
    """The rows of a tab-separated file without quoting, gzipped if so named, by column name.

    Raises FileNotFoundError when the file is not there, ValueError for another header or number of columns.
    """
    path = first_file(path.parent, [path.name])
    rows = [line.split("\t") for line in lines(path)]
    _some(path, rows)
    first = 1 if header else 0
    if header and rows[:1] != [list(columns)]:
        raise UnreadableFile(
            f"{path}, line 1, must be the header {' '.join(columns)}, got {' '.join(rows[0])[:100]!r}."
        )
    for number, row in enumerate(rows[first:], first + 1):
        if len(row) != len(columns):
            raise UnreadableFile(f"{path}, line {number}, must have the {len(columns)} columns {', '.join(columns)}.")
    return [dict(zip(columns, row)) for row in rows[first:]]


def _some(path: Path, rows: list) -> list:
    if not rows:
        raise TooFew(f"{path} must have at least one line, but is empty.")
    return rows


def label_of(value: str, path: Path, number: int, valid: Sequence[str]) -> int:
    """The place of a label among the valid ones; ValueError, with where it was read, for another."""
    if value not in valid:
        raise UnreadableFile(f"{path}, line {number}, must have a label of {', '.join(valid)}, got {value!r}.")
    return valid.index(value)


def downloaded(folder: str, source: str, split: str, configuration: str | None = None) -> Any:
    """A split of a data set of the Hugging Face hub, columns by name; `folder` is what INFOSCOPE_DATA could hold.

    Raises FileNotFoundError when `datasets` is not installed or the hub is not reached.
    """
    try:
        from datasets import load_dataset  # only to download
    except ImportError as error:
        raise FileNotFoundError(
            f"{DATA_VARIABLE} must name a folder that holds {folder}, or `datasets` be installed."
        ) from error
    try:
        return load_dataset(source, configuration, split=split)
    except (OSError, ConnectionError) as error:
        raise FileNotFoundError(
            f"{source} could not be downloaded; {DATA_VARIABLE} can name a folder that holds {folder}."
        ) from error
