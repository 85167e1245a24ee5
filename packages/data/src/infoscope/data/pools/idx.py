"""Reader of IDX files, the format of MNIST: bytes with their shape in front (LeCun, Cortes and Burges 1998)."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import torch

from infoscope.errors import UnreadableFile
from infoscope.files import read_gzip

_UNSIGNED_BYTE = 0x08


def read_idx(path: Path) -> torch.Tensor:
    """Reads a file of unsigned bytes, as it is or straight from `<path>.gz`: uint8 of the stored shape.

    Raises FileNotFoundError when neither file is there, ValueError when the content is not a whole IDX file of bytes.
    """
    zipped = path.with_name(path.name + ".gz")
    if path.is_file():
        content = path.read_bytes()
    elif zipped.is_file():
        content = read_gzip(zipped)
    else:
        raise FileNotFoundError(f"neither {path} nor {zipped.name} beside it is there.")
    return _parse(content, path)


def _parse(content: bytes, path: Path) -> torch.Tensor:
    """Header: two zero bytes, the type, the number of axes, then each length as a big-endian uint32."""
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _UNSIGNED_BYTE:
        raise UnreadableFile(f"{path} must be an IDX file of unsigned bytes, got one that begins with {content[:4]!r}.")
    axes = content[3]
    start = 4 + 4 * axes
    shape = struct.unpack(f">{axes}I", content[4:start]) if len(content) >= start else ()
    values = np.frombuffer(content, np.uint8)[start:]
    if not shape or values.size != math.prod(shape):
        raise UnreadableFile(f"{path} must hold as many bytes as its header states (shape {shape}), got {values.size}.")
    return torch.from_numpy(values.reshape(shape).copy())
