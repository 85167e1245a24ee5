"""A person's own arrays: read from a .npz, .csv or .parquet file, and typed as the person says."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from infoscope.estimators.variables import Continuous, Discrete

READERS = {".npz": "numpy arrays", ".csv": "a header and columns", ".parquet": "columns"}
MANY_TEXTS = 0.5  # distinct texts a row: beyond it they are names or free text, and no categories


@dataclass(frozen=True, eq=False)
class OwnData:
    """Two sides and groups as `infoscope.estimators.estimate` takes them, and where they come from.

    columns  names of the columns of x and of y
    digest   SHA-256 of the file
    """

    x: Any
    y: Any
    groups: np.ndarray | None
    columns: tuple[tuple[str, ...], tuple[str, ...]]
    n: int
    digest: str


def read(
    path: Path,
    x: Sequence[str] = (),
    y: Sequence[str] = (),
    groups: str = "",
    continuous: Sequence[str] = (),
    discrete: Sequence[str] = (),
) -> OwnData:
    """The data in a file.

    x, y        names of columns, or of arrays of a .npz; without them "y" and "x", and x of a table is what is left
    groups      name of the column whose equal values depend on one another; empty: every row is on its own
    continuous, discrete  names of columns that are numbers, or categories, whatever they look like

    Raises ValueError in one sentence: no such file, another suffix, a file that cannot be read, a name that is not
    there, columns on both sides, texts that are no categories.
    """
    if path.suffix not in READERS:
        raise ValueError(f"DATA must be a file ending in {', '.join(READERS)}, got {str(path)!r}.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"DATA must be a file that can be read, got {str(path)!r}: {error.strerror}.") from None
    frame, arrays = _table_of(path)
    y = list(y) or (["y"] if "y" in arrays else [])
    if not y:
        raise ValueError(f"Y must name what x is measured against, among {_some(arrays)}, got nothing.")
    taken = {*y, groups}
    x = list(x) or (["x"] if "x" in arrays else [] if frame is None else [name for name in arrays if name not in taken])
    for side, names in (("X", x), ("Y", y), ("GROUPS", [groups] if groups else [])):
        for name in names:
            if name not in arrays:
                raise ValueError(f"{side} must name columns among {_some(arrays)}, got {name!r}.")
    if not x or set(x) & {*y, groups}:
        raise ValueError(f"X must name columns that are not in Y or GROUPS, got {', '.join(x) or 'nothing'}.")
    for option, names in (("CONTINUOUS", continuous), ("DISCRETE", discrete)):
        for name in names:
            if name not in (*x, *y):
                raise ValueError(f"{option} must name columns of X or Y, got {name!r}.")
    sides = [_typed(names, arrays, set(continuous), set(discrete)) for names in (x, y)]
    rows = {len(arrays[name]) for name in (*x, *y)}
    if len(rows) != 1:
        raise ValueError(f"X and Y must have one number of rows, got {sorted(rows)}.")
    return OwnData(
        *sides,
        np.asarray(arrays[groups]) if groups else None,
        (tuple(x), tuple(y)),
        rows.pop(),
        hashlib.sha256(content).hexdigest(),
    )


def _table_of(path: Path) -> tuple[pd.DataFrame | None, dict[str, Any]]:
    """The table in a file, None of a .npz, and its columns or arrays by name."""
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as file:
                return None, {name: file[name] for name in file.files}
        frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    except (ValueError, OSError, zipfile.BadZipFile) as error:  # pyarrow's and pandas' errors are ValueErrors
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"DATA must hold {READERS[path.suffix]}, got {str(path)!r}: {said}.") from None
    frame.columns = frame.columns.map(str)
    if not frame.columns.is_unique:
        repeated = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"DATA must have columns of different names, got {repeated!r} twice.")
    return frame, dict(frame.items())


def _typed(names: Sequence[str], arrays: dict[str, Any], continuous: set[str], discrete: set[str]) -> Any:
    """One side: blocks, wrapped where the person says what they are."""
    blocks = [_block(name, arrays[name], continuous, discrete) for name in names]
    if len(blocks) == 1:
        return blocks[0]
    if any(isinstance(block, (Continuous, Discrete)) for block in blocks):
        return blocks
    return pd.concat(blocks, axis=1) if isinstance(blocks[0], pd.Series) else np.column_stack(blocks)


def _block(name: str, values: Any, continuous: set[str], discrete: set[str]) -> Any:
    if name in continuous and name in discrete:
        raise ValueError(f"CONTINUOUS and DISCRETE must name different columns, got {name!r} in both.")
    missing = int(np.sum(pd.isna(values)))
    if missing:
        raise ValueError(f"column {name!r} must have no missing values, got {missing:,} of {np.size(values):,}.")
    if name in continuous:
        return Continuous(values)
    if name in discrete:
        return Discrete(values)
    if not pd.api.types.is_numeric_dtype(values.dtype) and not isinstance(values.dtype, pd.CategoricalDtype):
        distinct = len(np.unique(np.asarray(values, dtype=str)))
        if distinct > MANY_TEXTS * len(values):
            raise ValueError(
                f"column {name!r} must hold numbers or categories, got {distinct:,} different texts in "
                f"{len(values):,} rows: embed them first, or leave the column out."
            )
    return values


def _some(names: dict[str, Any]) -> str:
    shown = list(names)[:12]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")
