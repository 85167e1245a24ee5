"""The folder of real data."""

from __future__ import annotations

import os
from pathlib import Path

DATA_VARIABLE = "INFOSCOPE_DATA"


def data_root(root: Path | str | None = None) -> Path | None:
    """The folder `root`, for None that which INFOSCOPE_DATA names, or None. FileNotFoundError unless it exists."""
    named, by = (os.environ.get(DATA_VARIABLE), DATA_VARIABLE) if root is None else (root, "root")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"{by} names the folder {str(named)!r}, which does not exist.")
    return folder


def required_root(root: Path | str | None, content: str) -> Path:
    """The folder as of `data_root`, for data that are not downloaded; FileNotFoundError where none is named."""
    found = data_root(root)
    if found is None:
        raise FileNotFoundError(f"{DATA_VARIABLE} must name the folder that holds {content}.")
    return found
