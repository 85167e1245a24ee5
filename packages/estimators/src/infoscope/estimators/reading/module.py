"""A reader as a torch module, which MLflow stores like other models: safetensors and a
JSON text, no code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from infoscope.errors import OutOfRange
from infoscope.estimators.reading.reader import Reader, of_parts, parts_of

_DOTS = "__"  # for the slashes in names of arrays, which buffers may not have


class ReaderModule(nn.Module):
    """A reader for figures [m, p] of one type of pair.

    `type(module)(**module.config)` and `load_state_dict` rebuild it. text: the reader's
    factors and card as JSON; shapes: name -> shape and numpy type of its arrays.
    """

    def __init__(self, text: str, shapes: Mapping[str, Any]) -> None:
        super().__init__()
        stored = {name: [list(shape), kind] for name, (shape, kind) in shapes.items()}
        self.config = {"text": text, "shapes": stored}
        for name, (shape, kind) in shapes.items():
            zeros = torch.from_numpy(np.zeros(shape, kind))
            self.register_buffer(name.replace("/", _DOTS), zeros)

    @classmethod
    def of(cls, reader: Reader) -> ReaderModule:
        """The module of a reader."""
        text, arrays = parts_of(reader)
        shapes = {}
        state = {}
        for name, value in arrays.items():
            shapes[name] = (value.shape, value.dtype.name)
            state[name.replace("/", _DOTS)] = torch.from_numpy(np.array(value))
        module = cls(text, shapes)
        module.load_state_dict(state)
        return module

    @property
    def reader(self) -> Reader:
        """The reader of this module. UnreadableFile: figures of another version."""
        arrays = {}
        for name, value in self.state_dict().items():
            arrays[name.replace(_DOTS, "/")] = value.cpu().numpy()
        return of_parts(self.config["text"], arrays)

    def forward(self, figures: Tensor, type: Tensor) -> Tensor:
        """Value, low and high in nats [m, 3] of figures [m, p].

        type  index [] of the type among the types of the reader's card
        """
        types = json.loads(self.config["text"])["card"]["types"]
        place = int(type.reshape(-1)[0])
        if not 0 <= place < len(types):
            raise OutOfRange(
                f"type must be the index of one of {', '.join(types)}, got {place}."
            )
        reader = self.reader
        limits = []
        for row in figures.double().numpy():
            reading = reader.read(row, types[place])
            limits.append([reading.value, reading.low, reading.high])
        return torch.tensor(limits, dtype=torch.float64)
