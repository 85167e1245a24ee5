"""Camelyon17 as WILDS cuts it: patches of lymph nodes from five hospitals, with and without tumour."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from infoscope.checks import one_of
from infoscope.data.domains.dataset import DomainDataset
from infoscope.data.domains.folders import image_files, read_columns
from infoscope.data.domains.labels import coded, numbers_or_text
from infoscope.data.pools.loaders import DATA_VARIABLE, root_or_default
from infoscope.errors import OutOfRange, WrongType

_SPLITS = {"train": 0, "id_val": 1, "test": 2, "val": 3}  # the codes of WILDS
_DOMAINS = tuple(f"hospital {number}" for number in range(5))
_OUT_OF_DOMAIN = {1: "val", 2: "test"}  # hospitals, which the table does not tell from the others
FOLDER = "camelyon17_v1.0"
_PATCH = ("patient", "node", "x_coord", "y_coord")
_NUMBERS = ("tumor", "slide", "center", "split")


def camelyon17(root: Path | str | None = None, split: str | None = "train", group: str = "slide") -> DomainDataset:
    """455,954 patches of 96 x 96 RGB pixels; y is 1 where the central 32 x 32 hold tumour (Koh et al. 2021, WILDS).

    Domains are the hospitals 0 to 4. split: "train" (hospitals 0, 3, 4), "id_val" (other patches of the same slides),
    "val" (hospital 1), "test" (hospital 2), as officially; None: all. group: "slide" (50) or "patient"; both are in
    extra.

    Reads <root>/camelyon17_v1.0/metadata.csv and the patches on demand; root None is the folder of INFOSCOPE_DATA (10
    GB from WILDS, CC0). FileNotFoundError: a missing folder, table or patch; ValueError: another split or group, a
    damaged table.
    """
    if split is not None:
        one_of("split", split, _SPLITS)
    one_of("group", group, ("slide", "patient"))
    root = root_or_default(root)
    if root is None:
        raise FileNotFoundError(f"root or {DATA_VARIABLE} must name the folder that holds {FOLDER}, made by WILDS.")
    folder = root / FOLDER
    table = folder / "metadata.csv"
    cells = read_columns(table, (*_PATCH, *_NUMBERS))
    numbers = {key: _whole_numbers(table, key, cells[key]) for key in _NUMBERS}
    hospital, official = numbers["center"], numbers["split"]
    _check_codes(table, "center", hospital, len(_DOMAINS))
    _check_codes(table, "tumor", numbers["tumor"], 2)
    _check_codes(table, "split", official, len(_SPLITS))
    for out_of_domain, name in _OUT_OF_DOMAIN.items():
        official = np.where(hospital == out_of_domain, _SPLITS[name], official)
    n = len(hospital)
    labels = {"patient": coded("patient", cells["patient"], n), "slide": coded("slide", numbers["slide"], n)}
    files = image_files(folder, _patches(cells), None, channels=3)
    data = DomainDataset(
        source=files,
        rows=np.arange(n),
        y=numbers["tumor"],
        d=hospital,
        groups=labels[group][0],
        class_names=("normal", "tumor"),
        domain_names=_DOMAINS,
        image_shape=(3, *files.size),
        name="camelyon17",
        extra={key: codes for key, (codes, _) in labels.items()} | {"split": official},
        extra_names={key: names for key, (_, names) in labels.items()} | {"split": tuple(_SPLITS)},
    )
    return data if split is None else data.subset(official == _SPLITS[split], split)


def _patches(cells: dict[str, list[str]]) -> list[str]:
    columns = (cells[key] for key in _PATCH)
    return [
        f"patches/patient_{patient}_node_{node}/patch_patient_{patient}_node_{node}_x_{x}_y_{y}.png"
        for patient, node, x, y in zip(*columns)
    ]


def _whole_numbers(table: Path, column: str, cells: list[str]) -> np.ndarray:
    values = numbers_or_text(cells)
    if values.dtype.kind != "i":
        raise WrongType(f"{table} must have whole numbers in column {column}, got text.")
    return values


def _check_codes(table: Path, column: str, values: np.ndarray, count: int) -> None:
    found = np.unique(values)
    if found[0] < 0 or found[-1] >= count:
        raise OutOfRange(f"{table} must have numbers 0 to {count - 1} in column {column}, got {found.tolist()}.")
