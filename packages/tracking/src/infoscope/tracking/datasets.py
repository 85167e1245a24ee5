"""The data of runs as MLflow data sets: name, source and digest of the content (names,
types, shapes, bytes).

Samples from a distribution have the digest of its settings.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from infoscope.errors import TooFew
from infoscope.tracking.checks import clipped, storable_text

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput  # an offline run does not import MLflow

CONTEXT = "mlflow.data.context"  # MLflow's tag of an input: training, test and so on
DIGEST_LENGTH = 16  # hexadecimal digits
_NAME_LENGTH = 500  # characters that MLflow stores of a name
_PROFILE_LENGTH = 10_000  # and of a profile
# of a recorded data set
FIELDS = ("name", "digest", "source_type", "source", "schema", "profile", "context")


@dataclass(frozen=True)
class DataSet:
    """The data of a cell.

    source: in words, without paths. content: () -> arrays [n, ...] (or iterators of
    blocks of rows), lists of strings and plain values by name; called on the worker.
    context: such as "training" or "test". endless: samples are drawn from a
    distribution, and the content is its settings.
    """

    name: str
    source: str
    content: Callable[[], Mapping[str, Any]]
    context: str = "training"
    endless: bool = False

    @property
    def input(self) -> DatasetInput:
        """The data set as an MLflow input."""
        return inputs([self.entry])[0]

    @functools.cached_property
    def entry(self) -> dict[str, str]:
        """The recorded fields: the fields of an MLflow data set, and the context."""
        content = self.content()
        specs = []
        rows = 0
        elements = 0
        hash_of_all = hashlib.sha256()
        for name in sorted(content):
            digest, spec, shape = _described(content[name])
            hash_of_all.update(f"{name} {digest}\n".encode())
            if shape is not None:
                specs.append({"type": "tensor", "name": name, "tensor-spec": spec})
                rows = max(rows, shape[0])
                elements += math.prod(shape)
        if self.endless:
            profile: dict[str, Any] = {"samples": "drawn without end", **content}
        else:
            profile = {"num_rows": rows, "num_elements": elements}
        schema = (
            {"mlflow_tensorspec": {"features": json.dumps(specs), "targets": None}}
            if specs
            else {}
        )
        return {
            "name": clipped(storable_text(self.name), _NAME_LENGTH),
            "digest": hash_of_all.hexdigest()[:DIGEST_LENGTH],
            "source_type": "distribution" if self.endless else "data",
            "source": json.dumps({"url": storable_text(self.source)}),
            "schema": json.dumps(schema),
            "profile": clipped(json.dumps(profile, default=str), _PROFILE_LENGTH),
            "context": self.context,
        }


def inputs(entries: Any) -> list[DatasetInput]:
    """MLflow inputs from results of `DataSet.entry`; ValueError for anything else."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    datasets = []
    try:
        for entry in entries:
            *fields, context = (str(entry[name]) for name in FIELDS)
            datasets.append(
                DatasetInput(Dataset(*fields), [InputTag(CONTEXT, context)])
            )
    except (TypeError, KeyError) as error:
        raise ValueError(
            f"the inputs must be a list of data sets ({type(error).__name__}: {error})"
        ) from None
    return datasets


def entry_of(data: DatasetInput) -> dict[str, str]:
    """The fields of an MLflow input, as in `DataSet.entry`."""
    recorded = data.dataset.to_dictionary()
    entry = {name: recorded.get(name) or "" for name in FIELDS}
    for tag in data.tags:
        if tag.key == CONTEXT:
            entry["context"] = tag.value
    return entry


def _described(value: Any) -> tuple[str, dict[str, Any], tuple[int, ...] | None]:
    """The digest of a value; for an array or a list of strings also MLflow's
    description of its type, and its shape.
    """
    digest = hashlib.sha256()
    if (
        isinstance(value, list | tuple)
        and value
        and isinstance(value[0], str | tuple | list)
    ):
        digest.update(json.dumps(value).encode())
        shape = (
            (len(value),) if isinstance(value[0], str) else (len(value), len(value[0]))
        )
        return digest.hexdigest(), {"dtype": "str", "shape": [-1, *shape[1:]]}, shape
    if not isinstance(value, Iterator) and not hasattr(value, "__array__"):
        digest.update(json.dumps(value, sort_keys=True).encode())
        return digest.hexdigest(), {}, None
    blocks = value if isinstance(value, Iterator) else [value]
    rows = 0
    first = None
    for block in map(np.asarray, blocks):
        if block.dtype.kind in "OU":
            return _described(block.tolist())
        if first is None:
            first = block
            digest.update(
                f"{block.dtype.kind}{block.dtype.itemsize} {list(block.shape[1:])}\n".encode()
            )
        rows += len(block)
        little_endian = np.ascontiguousarray(block, block.dtype.newbyteorder("<"))
        digest.update(little_endian.data)
    if first is None:
        raise TooFew("the content of a data set must have at least one block of rows")
    digest.update(f"{rows}".encode())
    item = first.shape[1:]
    return (
        digest.hexdigest(),
        {"dtype": str(first.dtype), "shape": [-1, *item]},
        (rows, *item),
    )
