"""Camelyon17 of WILDS: patches of lymph nodes, with or without tumour, by hospital."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from infoscope.checks import one_of
from infoscope.data.domains.dataset import DomainDataset, coded
from infoscope.data.domains.images import ImageFiles
from infoscope.data.root import required_root
from infoscope.errors import OutOfRange, TooFew, UnreadableFile, WrongType
from infoscope.files import reading

_SPLITS = {"train": 0, "id_val": 1, "test": 2, "val": 3}  # the codes of WILDS
_DOMAINS = tuple(f"hospital {number}" for number in range(5))
_OUT_OF_DOMAIN = {1: "val", 2: "test"}  # hospitals, which the table does not mark
FOLDER = "camelyon17_v1.0"
_PATCH = ("patient", "node", "x_coord", "y_coord")
_NUMBERS = ("tumor", "slide", "center", "split")


def camelyon17(
    root: Path | str | None = None, split: str | None = "train", group: str = "slide"
) -> DomainDataset:
    """Camelyon17: 455,954 patches of 96 x 96 RGB pixels (Koh et al. 2021, WILDS).

    y is 1 if there is tumour in the central 32 x 32 pixels. Domains are the hospitals 0
    to 4. Reads <root>/camelyon17_v1.0/metadata.csv, and the patches on demand (10 GB
    from WILDS, CC0).

    Parameters
    ----------
    root : str or Path, optional
        Folder of real data; by default the folder that INFOSCOPE_DATA names.
    split : {"train", "id_val", "val", "test"}, optional
        Official split: train (hospitals 0, 3, 4), id_val (other patches of the same
        slides), val (hospital 1), test (hospital 2); None: all.
    group : {"slide", "patient"}
        The groups: 50 slides, or patients; both are in `extra`.

    Returns
    -------
    DomainDataset
        Classes normal and tumor.

    Raises
    ------
    UnknownName
        If there is no such split or group.
    UnreadableFile, WrongType, OutOfRange, TooFew
        If the table is damaged.
    FileNotFoundError
        If the folder, the table or a patch does not exist.
    """
    if split is not None:
        one_of("split", split, _SPLITS)
    one_of("group", group, ("slide", "patient"))
    folder = required_root(root, f"{FOLDER}, made by WILDS") / FOLDER
    table = folder / "metadata.csv"
    cells = read_columns(table, (*_PATCH, *_NUMBERS))
    numbers = {key: _whole_numbers(table, key, cells[key]) for key in _NUMBERS}
    hospital = numbers["center"]
    official = numbers["split"]
    _check_codes(table, "center", hospital, len(_DOMAINS))
    _check_codes(table, "tumor", numbers["tumor"], 2)
    _check_codes(table, "split", official, len(_SPLITS))
    for out_of_domain, name in _OUT_OF_DOMAIN.items():
        official = np.where(hospital == out_of_domain, _SPLITS[name], official)
    n = len(hospital)
    patients, patient_names = coded("patient", cells["patient"], n)
    slides, slide_names = coded("slide", numbers["slide"], n)
    files = ImageFiles.of(folder, _patches(cells))
    data = DomainDataset(
        source=files,
        rows=np.arange(n),
        y=numbers["tumor"],
        d=hospital,
        groups=slides if group == "slide" else patients,
        class_names=("normal", "tumor"),
        domain_names=_DOMAINS,
        image_shape=(3, *files.size),
        name="camelyon17",
        extra={"patient": patients, "slide": slides, "split": official},
        extra_names={
            "patient": patient_names,
            "slide": slide_names,
            "split": tuple(_SPLITS),
        },
    )
    if split is None:
        return data
    return data.subset(official == _SPLITS[split], split)


def _patches(cells: dict[str, list[str]]) -> list[str]:
    """The paths of the patches, below the folder."""
    columns = [cells[key] for key in _PATCH]
    paths = []
    for patient, node, x, y in zip(*columns):
        part = f"patient_{patient}_node_{node}"
        paths.append(f"patches/{part}/patch_{part}_x_{x}_y_{y}.png")
    return paths


def _whole_numbers(table: Path, column: str, cells: list[str]) -> np.ndarray:
    """The cells as int64 [n]; WrongType for text."""
    try:
        return np.array(cells, dtype=str).astype(np.int64)
    except (ValueError, OverflowError):
        raise WrongType(
            f"{table} must have whole numbers in column {column}, got text."
        ) from None


def _check_codes(table: Path, column: str, values: np.ndarray, count: int) -> None:
    """OutOfRange unless all values are in 0..count-1."""
    codes = np.unique(values)
    if codes[0] < 0 or codes[-1] >= count:
        raise OutOfRange(
            f"{table} must have numbers 0 to {count - 1} in column {column}, got "
            f"{codes.tolist()}."
        )


def read_columns(path: Path, columns: Sequence[str]) -> dict[str, list[str]]:
    """The cells of these columns of a CSV file with a header.

    FileNotFoundError without the file, UnreadableFile without a column or for a short
    row, TooFew without rows.
    """
    if not path.is_file():
        raise FileNotFoundError(f"the table {path} is not there.")
    with (
        reading(path, "a table in UTF-8"),
        path.open(newline="", encoding="utf-8-sig") as file,
    ):
        reader = csv.reader(file)
        header = next(reader, [])
        lacking = sorted(set(columns) - set(header))
        if lacking:
            raise UnreadableFile(
                f"{path} must have the columns {lacking}, got {header}."
            )
        rows = [row for row in reader if row]
    if not rows:
        raise TooFew(f"{path} must have at least one row.")
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise UnreadableFile(
                f"{path} must have rows of {len(header)} cells, but row {number} has "
                f"{len(row)}."
            )
    cells = {}
    for column in columns:
        place = header.index(column)
        cells[column] = [row[place] for row in rows]
    return cells
