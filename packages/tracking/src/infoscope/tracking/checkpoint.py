"""The checkpoint of a pack: the state of its trial and everything that its cells have
reported before it, in one file.

It lies next to the folders of the cells, or under INFOSCOPE_STORAGE, a folder or an
address such as s3://bucket/path that all machines of a cluster can reach. Without that
a cell begins anew when it moves to another machine.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow.fs import FileSystem, FileType

from infoscope.errors import InvalidInput
from infoscope.tracking.checks import first_line, without_password

log = logging.getLogger(__name__)

STORAGE = "INFOSCOPE_STORAGE"


def require_storage() -> None:
    """Raises InvalidInput unless INFOSCOPE_STORAGE, where it is set, is a place that
    can be written to.

    On a cluster nothing is checked: its machines may have access that the driver's does
    not have.
    """
    place = os.environ.get(STORAGE)
    if not place or os.environ.get("RAY_ADDRESS"):
        return
    try:
        files, root = FileSystem.from_uri(place)
        files.create_dir(root)
    except (
        OSError,
        ValueError,
    ) as error:  # pyarrow's errors of an address are ValueErrors
        raise InvalidInput(
            f"{STORAGE} must be a folder or an address, such as s3://bucket/path, "
            "that can be written to, got "
            f"{without_password(place)}: {first_line(error)}"
        ) from None


class Checkpoint:
    """place: a folder or an address. keys: of the cells; an interrupted pack has the
    same ones again.
    """

    def __init__(self, place: str, sweep: str, keys: Iterable[str]):
        name = hashlib.sha256("|".join(keys).encode()).hexdigest()[:16]
        self._files, root = FileSystem.from_uri(place)
        self._folder = f"{root}/{sweep}"
        self._path = f"{self._folder}/{name}.checkpoint"

    def save(
        self, state: Mapping[str, Any], reported: Mapping[str, Mapping[str, bytes]]
    ) -> None:
        """Replaces the last checkpoint; where that fails, the last one is kept.

        reported: key -> path -> content, see `CellFolder.packed`.
        """
        import torch

        tensors = {}
        for key, files in reported.items():
            tensors[key] = {name: _tensor(content) for name, content in files.items()}
        buffer = io.BytesIO()
        torch.save({"state": state, "reported": tensors}, buffer)
        try:
            self._files.create_dir(self._folder)
            with self._files.open_output_stream(f"{self._path}.unfinished") as stream:
                stream.write(buffer.getbuffer())
            self._files.move(f"{self._path}.unfinished", self._path)
        except OSError as error:
            log.warning(
                "no new checkpoint in %s (%s); the last one is kept",
                self._folder,
                error,
            )

    def restore(self) -> tuple[Mapping[str, Any], dict[str, dict[str, bytes]]] | None:
        """The state and the reports of the last checkpoint; None if there is none.
        Executes no code.
        """
        if self._files.get_file_info(self._path).type != FileType.File:
            return None
        import torch

        try:
            with self._files.open_input_stream(self._path) as stream:
                content = torch.load(
                    io.BytesIO(stream.read()), weights_only=True, map_location="cpu"
                )
            reported = {}
            for key, files in content["reported"].items():
                reported[key] = {
                    require_inside(name): bytes(tensor.numpy())
                    for name, tensor in files.items()
                }
            return content["state"], reported
        except Exception as error:  # torch raises many types for a damaged file: the work is done again
            log.warning(
                "the checkpoint %s cannot be read (%s); starting again",
                self._path,
                error,
            )
            return None

    def discard(self) -> None:
        """Deletes the checkpoint: the pack has ended, or starts again."""
        if self._files.get_file_info(self._path).type == FileType.File:
            self._files.delete_file(self._path)


def _tensor(content: bytes) -> Any:
    import torch

    array = np.frombuffer(bytearray(content), np.uint8)
    return torch.from_numpy(array)


def require_inside(name: str) -> str:
    """`name`, a path relative to the folder of a cell. Raises ValueError for a path
    outside of it.
    """
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError(
            f"it contains the path {name!r}, which must lie in the folder of a cell"
        )
    return name
