"""Gzip-compressed file of an experiment's finished runs: JSON lines, a header and then
one line per run.

    {"format": "infoscope runs", "version": 1, "experiment": "toy", "runs": 2, "curves":
    false, "tables": false} {"key": ..., "run": ..., "outcome": "complete", "start":
    ..., "end": ..., "tags": {...}, "params": {...},
     "metrics": {NAME: [[step, time, value], ...]}, "inputs": [...], "files": {}}

start and end: ms since 1970; time of a point: ms after the start; value: null for NaN.
params: as the UI shows the cell; loading derives them from the cell in the tags.
The same runs give the same bytes. Everything is checked on reading and nothing is
executed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from typing_extensions import TypedDict

from infoscope.errors import InvalidInput, UnreadableFile
from infoscope.files import lines, reading
from infoscope.tracking.archive.portable import is_carried
from infoscope.tracking.checks import (
    clipped,
    entity_name,
    metric_name,
    plain_name,
    require_tags,
    shown,
)
from infoscope.tracking.datasets import FIELDS
from infoscope.tracking.store import labels, plain_cell
from infoscope.tracking.tags import CELL, PROFILE

SUFFIX = ".jsonl.gz"
_DESCRIPTION = "a file of runs as `make runs-save` writes it"
_LATEST = 2**53  # the largest time (ms) and step

Content = TypeVar("Content")


def _tags(tags: dict[str, str]) -> dict[str, str]:
    for name in require_tags(tags):
        if not is_carried(name):
            raise InvalidInput(f"its tag {name} must not be in a file of runs")
    for name in plain_cell(tags.get(CELL, "")):
        entity_name("the name of a cell's field", name)
    return tags


Milliseconds = Annotated[int, Field(ge=0, le=_LATEST)]
Step = Annotated[int, Field(ge=-_LATEST, le=_LATEST)]
Value = Annotated[float, Field(allow_inf_nan=False)] | None
Points = Annotated[list[tuple[Step, Step, Value]], Field(min_length=1)]
DataFields = TypedDict("DataFields", dict.fromkeys(FIELDS, str))


class FinishedRun(BaseModel):
    """A finished run. metrics: name -> points (step, ms after the start, value). files:
    tables, not loaded.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    key: Annotated[str, AfterValidator(partial(plain_name, "its key"))]
    run: Annotated[str, AfterValidator(partial(plain_name, "the id of its run"))]
    outcome: Literal["complete", "stopped"]
    start: Milliseconds
    end: Milliseconds
    tags: Annotated[dict[str, str], AfterValidator(_tags)]
    params: dict[str, str]
    metrics: dict[Annotated[str, AfterValidator(metric_name)], Points]
    inputs: list[DataFields]
    files: dict[str, str]

    @property
    def labels(self) -> list[str]:
        """The profiles it belongs to; the first is the one it was run under."""
        return labels(self.tags.get(PROFILE, ""))

    @property
    def line(self) -> bytes:
        """Its line in a file."""
        return (
            json.dumps(
                vars(self), sort_keys=True, separators=(",", ":"), allow_nan=False
            ).encode()
            + b"\n"
        )


class Header(BaseModel):
    """The first line of a file. curves: whether metrics may have several points;
    tables: whether runs have files.
    """

    model_config = ConfigDict(strict=True)

    format: Literal["infoscope runs"]
    version: Literal[1]
    experiment: Annotated[str, AfterValidator(partial(plain_name, "its experiment"))]
    runs: int
    curves: bool
    tables: bool


def validated(kind: Callable[[Any], Content], fields: Any) -> Content:
    """What pydantic makes of JSON or fields. Raises ValueError with one sentence for
    invalid ones.
    """
    try:
        return kind(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = " ".join(map(str, first["loc"]))
        raise InvalidInput(
            f"its {place}: {first['msg']}, got {shown(first['input'])}"
        ) from None


@dataclass(frozen=True)
class Archive:
    """A file that was read completely and is valid. runs: ordered by key; digest: of
    the file.
    """

    path: Path
    header: Header
    digest: str
    runs: Sequence[FinishedRun]

    @property
    def experiment(self) -> str:
        return self.header.experiment

    @property
    def name(self) -> str:
        """The file's name and the first digits of its SHA-256."""
        return f"{clipped(ascii_text(self.path.name), 100)} {self.digest}"

    @property
    def labels(self) -> Counter[str]:
        """The number of runs by profile."""
        counts: Counter[str] = Counter()
        for run in self.runs:
            counts.update(run.labels)
        return counts


def read_archive(path: Path) -> Archive:
    """Reads and checks a file of runs. Raises ValueError if it is damaged, of another
    format or a later version.
    """
    if not path.is_file():
        raise UnreadableFile(
            f"{path} must be {_DESCRIPTION}, but there is no such file"
        )
    with reading(path, _DESCRIPTION):
        content = lines(path)
        header = validated(Header.model_validate_json, next(content, "{}"))
        runs = [validated(FinishedRun.model_validate_json, line) for line in content]
        keys = {run.key for run in runs}
        if len(runs) != header.runs or len(keys) != header.runs:
            raise InvalidInput(
                f"it has {len(runs)} runs of {len(keys)} cells, but its header "
                f"announces {header.runs} of each"
            )
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return Archive(path, header, digest, runs)


def write_archive(path: Path, experiment: str, runs: Sequence[FinishedRun]) -> None:
    """Writes a file of runs, completely or not at all. Raises ValueError if it could
    not be read again.
    """
    header = {
        "format": "infoscope runs",
        "version": 1,
        "experiment": experiment,
        "runs": len(runs),
        "curves": False,
        "tables": False,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".unfinished-{path.name}")
    try:
        with (
            open(temporary, "wb") as file,
            gzip.GzipFile("", "wb", 9, file, mtime=0) as packed,
        ):
            packed.write(json.dumps(header).encode() + b"\n")
            for run in sorted(runs, key=lambda run: run.key):
                packed.write(run.line)
        read_archive(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def ascii_text(text: str) -> str:
    """A text in ASCII without control characters, safe to print on a terminal."""
    return text.encode("unicode_escape").decode()
