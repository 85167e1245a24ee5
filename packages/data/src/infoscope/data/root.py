"""The folder of real data."""

from __future__ import annotations

import os
from pathlib import Path

DATA_VARIABLE = "INFOSCOPE_DATA"


def data_root(root: Path | str | None = None) -> Path | None:
    """Folder of real data, or None where no folder is named.

    Parameters
    ----------
    root : str or Path, optional
        The folder; by default the folder that the environment variable INFOSCOPE_DATA
        names.

    Returns
    -------
    Path or None

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    """
    argument = "root"
    if root is None:
        argument = DATA_VARIABLE
        root = os.environ.get(DATA_VARIABLE)
    if not root:
        return None
    folder = Path(root).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{argument} names the folder {str(root)!r}, which does not exist."
        )
    return folder


def required_root(root: Path | str | None, content: str) -> Path:
    """The folder of `data_root`; FileNotFoundError where no folder is named."""
    folder = data_root(root)
    if folder is None:
        raise FileNotFoundError(
            f"{DATA_VARIABLE} must name the folder that holds {content}."
        )
    return folder
