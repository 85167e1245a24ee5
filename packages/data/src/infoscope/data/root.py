"""The folder of real data."""

from __future__ import annotations

import os
from pathlib import Path

DATA_VARIABLE = "INFOSCOPE_DATA"


def data_root() -> Path | None:
    """The folder that INFOSCOPE_DATA names, or None when it is unset. FileNotFoundError when it does not exist."""
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        return None
    root = Path(named).expanduser()
    if not root.is_dir():
        raise FileNotFoundError(f"{DATA_VARIABLE} names the folder {named!r}, which does not exist.")
    return root
