"""Gzip-compressed file of an experiment's finished runs: JSON, a header and then a line for each run.

    {"format": "infoscope runs", "version": 1, "experiment": "toy", "runs": 2, "curves": false, "tables": false}
    {"key": ..., "run": ..., "outcome": "complete", "start": ..., "end": ..., "tags": {...}, "params": {...},
     "metrics": {NAME: [[step, time, value], ...]}, "inputs": [...], "files": {NAME: base64}}

start and end: ms since 1970; time of a point: ms after the start; a value of null: NaN. The same runs give the same
bytes. Everything is checked on reading and nothing is executed. Machine, folder and user names are removed from tags.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import tempfile
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_RUN_NAME, MLFLOW_SOURCE_NAME
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from infoscope.errors import Conflict, InvalidInput, OutOfRange, UnreadableFile, WrongType
from infoscope.files import lines, read_arrays, read_parquet, reading
from infoscope.tracking.checks import (
    NAME_LENGTH,
    PARAM_LENGTH,
    clipped,
    entity_name,
    metric_name,
    plain_name,
    shown,
    stored_tags,
    stored_text,
)
from infoscope.tracking.store.client import without_password
from infoscope.tracking.store.store import labels, plain_cell
from infoscope.tracking.tags import CELL, CONSTANTS, DATA, PROFILE, VERSION

SUFFIX = ".jsonl.gz"
_WHOLE = "a file of runs as `make runs-save` writes it"
FILE_BYTES = 256 << 10  # of a table or arrays
_LATEST = 2**53  # ms, and steps
_SIZES = {"name": 500, "digest": 36, "source_type": 36, "source": 65535, "schema": 65535, "profile": 65535,
          "context": 500}  # fmt: skip  # characters that MLflow takes of a data set
_OF_MLFLOW = {MLFLOW_RUN_NAME, MLFLOW_SOURCE_NAME, MLFLOW_GIT_COMMIT, CELL, CONSTANTS}
_OF_OURS = {PROFILE, VERSION, DATA, "infoscope.code", "infoscope.device"}
_PART = r"[^\s/\\\"'<>|,;:()]+"
_FOLDERS = re.compile(rf"(?<![\w.:/\\])(?:file:)?(?:~|[A-Za-z]:)?[/\\]+(?:{_PART}[/\\]+)+")
_LOCAL = re.compile(r"(?:file:|~?/|~?\\|[A-Za-z]:[/\\])(?:.*[/\\])?([^/\\]+)[/\\]*", re.DOTALL)

Found = TypeVar("Found")


def _tags(tags: dict[str, str]) -> dict[str, str]:
    for name in stored_tags(tags):
        if not carried(name):
            raise InvalidInput(f"its tag {name} is none that a file of runs holds")
    for name in plain_cell(tags.get(CELL, "")):
        entity_name("the name of a cell's field", name)
    stored_text("its run's name", tags.get(MLFLOW_RUN_NAME, ""), NAME_LENGTH)
    return tags


def _input(entry: dict[str, str]) -> dict[str, str]:
    if entry.keys() != _SIZES.keys():
        raise WrongType(f"an input must be a data set with {', '.join(_SIZES)}, got {shown(entry)}")
    return {name: stored_text(f"the {name} of a data set", entry[name], size) for name, size in _SIZES.items()}


def _files(files: dict[str, str]) -> dict[str, str]:
    for name, text in files.items():
        try:
            data = b64decode(text, validate=True)
        except ValueError:
            raise InvalidInput(f"file {shown(name)} is no base64") from None
        check_file(name, data)
    return files


Milliseconds = Annotated[int, Field(ge=0, le=_LATEST)]
Whole = Annotated[int, Field(ge=-_LATEST, le=_LATEST)]
Param = Annotated[str, AfterValidator(partial(entity_name, "the name of a param"))]
Setting = Annotated[str, AfterValidator(lambda value: stored_text("a param", value, PARAM_LENGTH))]
Value = Annotated[float, Field(allow_inf_nan=False)] | None
Point = tuple[Whole, Whole, Value]


class Finished(BaseModel):
    """A finished run. metrics: name -> points (step, ms after the start, value); files: tables and arrays in base64."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    key: Annotated[str, AfterValidator(partial(plain_name, "its key"))]
    run: Annotated[str, AfterValidator(partial(plain_name, "the id of its run"))]
    outcome: Literal["complete", "stopped"]
    start: Milliseconds
    end: Milliseconds
    tags: Annotated[dict[str, str], AfterValidator(_tags)]
    params: dict[Param, Setting]
    metrics: dict[Annotated[str, AfterValidator(metric_name)], Annotated[list[Point], Field(min_length=1)]]
    inputs: list[Annotated[dict[str, str], AfterValidator(_input)]]
    files: Annotated[dict[str, str], AfterValidator(_files)]

    @model_validator(mode="after")
    def _check_times(self) -> Finished:
        for name, points in self.metrics.items():
            if not all(0 <= self.start + time <= _LATEST for _, time, _ in points):
                raise OutOfRange(f"the times of metric {name} must be from 1970 to 2**53 ms after it")
        return self

    @property
    def labels(self) -> list[str]:
        """Of the profiles that it belongs to; the first is that under which it was run."""
        return labels(self.tags.get(PROFILE, ""))

    @property
    def line(self) -> bytes:
        """As it stands in a file."""
        return json.dumps(vars(self), sort_keys=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"


class Header(BaseModel):
    """The first line of a file."""

    model_config = ConfigDict(strict=True)

    format: Literal["infoscope runs"]
    version: Literal[1]
    experiment: Annotated[str, AfterValidator(partial(plain_name, "its experiment"))]
    runs: Annotated[int, Field(ge=0)]
    curves: bool
    tables: bool


def checked(kind: Callable[[Any], Found], given: Any) -> Found:
    """What pydantic makes of JSON or fields. Raises ValueError, in one sentence, for what does not fit."""
    try:
        return kind(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        own = first.get("ctx", {}).get("error")
        if isinstance(own, ValueError):
            raise own from None
        place = f"its {' '.join(map(str, first['loc']))}: " if first["loc"] else ""
        raise InvalidInput(f"{place}{first['msg']}, got {shown(first['input'])}") from None


@dataclass(frozen=True)
class Archive:
    """A file that was read through and is whole. known: by key the labels, outcome, start and end of its runs."""

    path: Path
    header: Header
    digest: str
    known: Mapping[str, tuple[Sequence[str], str, int, int]]

    @property
    def experiment(self) -> str:
        return self.header.experiment

    @property
    def name(self) -> str:
        """The file's name and the beginning of its SHA-256, to be read and compared."""
        return f"{clipped(printable(self.path.name), 100)} {self.digest}"

    @property
    def labels(self) -> Counter[str]:
        """How many of its runs belong to each profile."""
        return Counter(label for labels, *_ in self.known.values() for label in labels)

    def runs(self) -> Iterator[Finished]:
        """Its runs, in the order of their keys. Raises ValueError where it is not what it was any more."""
        with reading(self.path, _WHOLE):
            yield from _through(self.path)[1]


def opened(path: Path) -> Archive:
    """A file of runs, read and checked. Raises ValueError if it is damaged, of another format or a later version."""
    if not path.is_file():
        raise UnreadableFile(f"{path} is no file; give {_WHOLE}")
    with reading(path, _WHOLE):
        header, runs = _through(path)
        known = {run.key: (run.labels, run.outcome, run.start, run.end) for run in runs}
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    return Archive(path, header, digest, known)


def write(path: Path, experiment: str, runs: Sequence[Finished], curves: bool, tables: bool) -> None:
    """Writes a file of runs, whole or not at all. Raises ValueError for one that could not be read again."""
    about = {"format": "infoscope runs", "version": 1, "experiment": experiment, "runs": len(runs)}
    header = checked(Header.model_validate, about | {"curves": curves, "tables": tables})
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".unfinished-{path.name}")
    try:
        with open(temporary, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
            packed.write(json.dumps(header.model_dump()).encode() + b"\n")
            for run in sorted(runs, key=lambda run: run.key):
                packed.write(run.line)
        opened(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _through(path: Path) -> tuple[Header, Iterator[Finished]]:
    found = lines(path)
    header = checked(Header.model_validate_json, next(found, "{}"))
    return header, _runs(found, header.runs)


def _runs(found: Iterable[str], count: int) -> Iterator[Finished]:
    last, number = "", 0
    for number, line in enumerate(found, 1):
        try:
            run = checked(Finished.model_validate_json, line)
        except ValueError as error:
            raise InvalidInput(f"its run {number}: {error}") from None
        if run.key <= last:
            raise Conflict(f"its run {number}: cell {run.key} is there twice, or not in its place")
        last = run.key
        yield run
    if number != count:
        raise InvalidInput(f"it has {number} runs, and its header says {count}")


def carried(name: str) -> bool:
    """Whether a tag of this name is carried: of MLflow's and ours some, and all that a sweep or a person has added."""
    if name.startswith("mlflow."):
        return name in _OF_MLFLOW or name.startswith(f"{CONSTANTS} ")
    return name in _OF_OURS if name.startswith("infoscope.") else True


def portable_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Of the tags of a run those that are carried, as they are carried."""
    return {
        name: value if name.startswith((CELL, CONSTANTS)) else portable(value)
        for name, value in tags.items()
        if carried(name)
    }


def portable(text: str) -> str:
    """A text without folders of a machine and without users and passwords of addresses."""
    return _FOLDERS.sub("", without_password(text))


def portable_source(source: str) -> str:
    """The source of a data set, JSON with an address, without the folders of this machine."""
    try:
        told = json.loads(source)
    except ValueError:
        told = None
    if not (isinstance(told, dict) and all(isinstance(value, str) for value in told.values())):
        return portable(source)
    local = {name: _LOCAL.fullmatch(value) for name, value in told.items()}
    return json.dumps({name: found[1] if found else portable(told[name]) for name, found in local.items()})


def printable(text: str) -> str:
    """A text of a file as a terminal may show it: in ASCII, nothing of it is a control character."""
    return text.encode("unicode_escape").decode()


def names_folder(cell: Mapping[str, Any]) -> bool:
    """Whether a cell has the path of a machine among its values."""
    return any(isinstance(value, str) and portable(value) != value for value in cell.values())


def check_file(name: str, data: bytes) -> None:
    """Raises ValueError for a file that is no table or arrays of a `Report`, or too large, as it is or in memory."""
    stem, _, suffix = name.rpartition(".")
    plain_name("the name of a table", stem)
    if len(data) > FILE_BYTES:
        raise UnreadableFile(f"file {name} has {len(data):,} bytes, of at most {FILE_BYTES:,}")
    if suffix not in ("parquet", "npz"):
        raise UnreadableFile(f"file {name} is neither .parquet nor .npz")
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        start, path = f"file {name} must be a whole .{suffix} file, but", Path(file.name)
        if suffix == "npz":
            read_arrays(path, start=start)
        else:
            with reading(path, "", start):
                read_parquet(path)
