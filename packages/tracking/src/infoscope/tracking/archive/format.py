"""Gzip-compressed file of an experiment's finished runs: JSON lines, a header and then one line per run.

    {"format": "infoscope runs", "version": 1, "experiment": "toy", "runs": 2, "curves": false, "tables": false}
    {"key": ..., "run": ..., "outcome": "complete", "start": ..., "end": ..., "tags": {...}, "params": {...},
     "metrics": {NAME: [[step, time, value], ...]}, "inputs": [...], "files": {}}

start and end: ms since 1970; time of a point: ms after the start; value: null for NaN. The same runs give the same
bytes. Everything is checked on reading and nothing is executed. Tags contain no machine, folder and user names.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_RUN_NAME, MLFLOW_SOURCE_NAME
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from infoscope.errors import Conflict, InvalidInput, OutOfRange, UnreadableFile, WrongType
from infoscope.files import lines, reading
from infoscope.tracking.checks import (
    NAME_LENGTH,
    PARAM_LENGTH,
    clipped,
    entity_name,
    metric_name,
    plain_name,
    require_tags,
    require_text,
    shown,
    without_password,
)
from infoscope.tracking.store import labels, plain_cell
from infoscope.tracking.tags import CELL, CONSTANTS, DATA, PROFILE, VERSION

SUFFIX = ".jsonl.gz"
_DESCRIPTION = "a file of runs as `make runs-save` writes it"
MIN_POINTS, MAX_POINT_RATIO = 100_000, 0.25  # points that any file may have, and for each of its bytes; ours have 0.1
_LATEST = 2**53  # the largest time (ms) and step
_DATA_SET_LENGTHS = {"name": 500, "digest": 36, "source_type": 36, "source": 65535, "schema": 65535, "profile": 65535,
                     "context": 500}  # fmt: skip  # characters that MLflow stores of a data set
_MLFLOW_TAGS = {MLFLOW_RUN_NAME, MLFLOW_SOURCE_NAME, MLFLOW_GIT_COMMIT, CELL, CONSTANTS}  # that a file holds
_OWN_TAGS = {PROFILE, VERSION, DATA, "infoscope.code", "infoscope.device"}
_PART = r"[^\s/\\\"'<>|,;:()]+"
_FOLDERS = re.compile(rf"(?<![\w.:/\\])(?:file:)?(?:~|[A-Za-z]:)?[/\\]+(?:{_PART}[/\\]+)+")
_LOCAL_PATH = re.compile(r"(?:file:|~?/|~?\\|[A-Za-z]:[/\\])(?:.*[/\\])?([^/\\]+)[/\\]*", re.DOTALL)

Found = TypeVar("Found")


def _tags(tags: dict[str, str]) -> dict[str, str]:
    for name in require_tags(tags):
        if not is_carried(name):
            raise InvalidInput(f"its tag {name} must not be in a file of runs")
    for name in plain_cell(tags.get(CELL, "")):
        entity_name("the name of a cell's field", name)
    require_text("its run's name", tags.get(MLFLOW_RUN_NAME, ""), NAME_LENGTH)
    return tags


def _input(entry: dict[str, str]) -> dict[str, str]:
    if entry.keys() != _DATA_SET_LENGTHS.keys():
        raise WrongType(f"an input must be a data set with {', '.join(_DATA_SET_LENGTHS)}, got {shown(entry)}")
    return {
        name: require_text(f"the {name} of a data set", entry[name], length)
        for name, length in _DATA_SET_LENGTHS.items()
    }


Milliseconds = Annotated[int, Field(ge=0, le=_LATEST)]
Integer = Annotated[int, Field(ge=-_LATEST, le=_LATEST)]
Param = Annotated[str, AfterValidator(partial(entity_name, "the name of a param"))]
Setting = Annotated[str, AfterValidator(lambda value: require_text("a param", value, PARAM_LENGTH))]
Value = Annotated[float, Field(allow_inf_nan=False)] | None
Point = tuple[Integer, Integer, Value]


class FinishedRun(BaseModel):
    """A finished run. metrics: name -> points (step, ms after the start, value). files: tables, not loaded."""

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
    files: dict[str, str]

    @model_validator(mode="after")
    def _check_times(self) -> FinishedRun:
        for name, points in self.metrics.items():
            if not all(0 <= self.start + time <= _LATEST for _, time, _ in points):
                raise OutOfRange(f"the times of metric {name} must be from 1970 to 2**53 ms after it")
        return self

    @property
    def labels(self) -> list[str]:
        """The profiles it belongs to; the first is the one it was run under."""
        return labels(self.tags.get(PROFILE, ""))

    @property
    def line(self) -> bytes:
        """Its line in a file."""
        return json.dumps(vars(self), sort_keys=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"


class Header(BaseModel):
    """The first line of a file. curves: whether metrics may have several points; tables: whether runs have files."""

    model_config = ConfigDict(strict=True)

    format: Literal["infoscope runs"]
    version: Literal[1]
    experiment: Annotated[str, AfterValidator(partial(plain_name, "its experiment"))]
    runs: Annotated[int, Field(ge=0)]
    curves: bool
    tables: bool


def validated(kind: Callable[[Any], Found], given: Any) -> Found:
    """What pydantic makes of JSON or fields. Raises ValueError with one sentence for invalid ones."""
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
    """A file that was read completely and is valid. known: key -> labels, outcome, start and end of its run."""

    path: Path
    header: Header
    digest: str
    known: Mapping[str, tuple[Sequence[str], str, int, int]]

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
        return Counter(label for labels, *_ in self.known.values() for label in labels)

    def runs(self) -> Iterator[FinishedRun]:
        """Its runs, ordered by key. Raises ValueError if the file has changed since it was read."""
        with reading(self.path, _DESCRIPTION):
            yield from _read(self.path)[1]


def read_archive(path: Path) -> Archive:
    """Reads and checks a file of runs. Raises ValueError if it is damaged, of another format or a later version."""
    if not path.is_file():
        raise UnreadableFile(f"{path} must be {_DESCRIPTION}, but there is no such file")
    with reading(path, _DESCRIPTION):
        header, runs = _read(path)
        known = {run.key: (run.labels, run.outcome, run.start, run.end) for run in runs}
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    return Archive(path, header, digest, known)


def write_archive(path: Path, experiment: str, runs: Sequence[FinishedRun]) -> None:
    """Writes a file of runs, completely or not at all. Raises ValueError if it could not be read again."""
    about = {"format": "infoscope runs", "version": 1, "experiment": experiment, "runs": len(runs)}
    header = validated(Header.model_validate, about | {"curves": False, "tables": False})
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".unfinished-{path.name}")
    try:
        with open(temporary, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
            packed.write(json.dumps(header.model_dump()).encode() + b"\n")
            for run in sorted(runs, key=lambda run: run.key):
                packed.write(run.line)
        read_archive(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _read(path: Path) -> tuple[Header, Iterator[FinishedRun]]:
    found = lines(path)
    header = validated(Header.model_validate_json, next(found, "{}"))
    points = max(MIN_POINTS, int(MAX_POINT_RATIO * path.stat().st_size))
    return header, _runs(found, header, points)


def _runs(found: Iterable[str], header: Header, points: int) -> Iterator[FinishedRun]:
    """The runs of a file with at most so many points. A small file could otherwise fill a store."""
    last, number = "", 0
    for number, line in enumerate(found, 1):
        try:
            run = validated(FinishedRun.model_validate_json, line)
        except ValueError as error:
            raise InvalidInput(f"its run {number}: {error}") from None
        if run.key <= last:
            raise Conflict(f"its run {number}: cell {run.key} is repeated or out of order")
        _check_header(run, header)
        points -= sum(map(len, run.metrics.values()))
        if points < 0:
            raise OutOfRange(f"its runs up to {number} have more points than a file of its size may have")
        last = run.key
        yield run
    if number != header.runs:
        raise InvalidInput(f"it has {number} runs, but its header announces {header.runs}")


def _check_header(run: FinishedRun, header: Header) -> None:
    """Raises Conflict for a run with files or curves that the header does not announce."""
    has_curves = any(len(points) > 1 for points in run.metrics.values())
    if run.files and not header.tables or has_curves and not header.curves:
        raise Conflict(f"its run {run.key} has files or curves that its header does not announce")


def is_carried(name: str) -> bool:
    """Whether a file holds tags of this name: some of MLflow's and ours, and all that a sweep or a user has added."""
    if name.startswith("mlflow."):
        return name in _MLFLOW_TAGS or name.startswith(f"{CONSTANTS} ")
    return name in _OWN_TAGS if name.startswith("infoscope.") else True


def portable_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags of a run that a file holds, without folder names and passwords."""
    return {
        name: value if name.startswith((CELL, CONSTANTS)) else without_folders(value)
        for name, value in tags.items()
        if is_carried(name)
    }


def without_folders(text: str) -> str:
    """A text without the folders of a machine, and without users and passwords in addresses."""
    return _FOLDERS.sub("", without_password(text))


def portable_source(source: str) -> str:
    """The source of a data set, JSON with an address, without the folders of a machine."""
    try:
        fields = json.loads(source)
    except ValueError:
        fields = None
    if not (isinstance(fields, dict) and all(isinstance(value, str) for value in fields.values())):
        return without_folders(source)
    local = {name: _LOCAL_PATH.fullmatch(value) for name, value in fields.items()}
    return json.dumps({name: path[1] if path else without_folders(fields[name]) for name, path in local.items()})


def ascii_text(text: str) -> str:
    """A text in ASCII without control characters, safe to print on a terminal."""
    return text.encode("unicode_escape").decode()
