"""Gzip-compressed file of an experiment's finished runs: JSON, a header and then a line for each run.

    {"format": "infoscope runs", "version": 1, "experiment": "toy", "runs": 2, "curves": false, "tables": false}
    {"key": ..., "run": ..., "outcome": "complete", "start": ..., "end": ..., "tags": {...}, "params": {...},
     "metrics": {NAME: [[step, time, value], ...]}, "inputs": [...], "files": {NAME: base64}}

start and end: ms since 1970; time of a point: ms after the start; a value of null: NaN. The same runs give the same
bytes. Everything is checked on reading and nothing is executed. Machine, folder and user names are removed from tags.
"""

from __future__ import annotations

import binascii
import gzip
import hashlib
import io
import json
import math
import re
import zipfile
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_RUN_NAME, MLFLOW_SOURCE_NAME

from infoscope.errors import Conflict, InvalidInput, MissingValues, OutOfRange, UnreadableFile, WrongType
from infoscope.tracking.checks import (
    NAME_LENGTH,
    PARAM_LENGTH,
    clipped,
    entity_name,
    metric_name,
    metric_step,
    metric_value,
    plain_name,
    shown,
    stored_tags,
    stored_text,
    undamaged,
)
from infoscope.tracking.record import COMPLETE, STOPPED
from infoscope.tracking.store.client import without_password
from infoscope.tracking.store.store import labels, plain_cell
from infoscope.tracking.tags import CELL, CONSTANTS, DATA, PROFILE, VERSION

SUFFIX = ".jsonl.gz"
FORMAT, NEWEST = "infoscope runs", 1
_WHOLE = "a file of runs as `make runs-save` writes it"
FILE_BYTES, UNPACKED_BYTES = 256 << 10, 64 << 20  # of a table or arrays, as a file and in memory
_LINE_BYTES, _ALL_BYTES = 16 << 20, 4 << 30  # unpacked
_LATEST = 2**53  # ms
_SIZES = {"name": 500, "digest": 36, "source_type": 36, "source": 65535, "schema": 65535, "profile": 65535,
          "context": 500}  # fmt: skip  # characters that MLflow takes of a data set
_OF_MLFLOW = {MLFLOW_RUN_NAME, MLFLOW_SOURCE_NAME, MLFLOW_GIT_COMMIT, CELL, CONSTANTS}
_OF_OURS = {PROFILE, VERSION, DATA, "infoscope.code", "infoscope.device"}
_EXACT = (CELL, CONSTANTS)
_PART = r"[^\s/\\\"'<>|,;:()]+"
_FOLDERS = re.compile(rf"(?<![\w.:/\\])(?:file:)?(?:~|[A-Za-z]:)?[/\\]+(?:{_PART}[/\\]+)+")
_LOCAL = re.compile(r"(?:file:|~?/|~?\\|[A-Za-z]:[/\\])(?:.*[/\\])?([^/\\]+)[/\\]*", re.DOTALL)


@dataclass(frozen=True)
class Finished:
    """A finished run. metrics: name -> points (step, ms after the start, value); files: tables and arrays."""

    key: str
    run: str
    outcome: str
    start: int
    end: int
    tags: dict[str, str]
    params: dict[str, str]
    metrics: dict[str, list[tuple[int, int, float]]]
    inputs: list[dict[str, str]]
    files: dict[str, bytes]

    @property
    def labels(self) -> list[str]:
        """Of the profiles that it belongs to; the first is that under which it was run."""
        return labels(self.tags.get(PROFILE, ""))

    @property
    def line(self) -> bytes:
        """As it stands in a file. Raises ValueError for what a file does not take."""
        told = {**vars(self)}
        told["metrics"] = {
            name: [[step, time, value if math.isfinite(value) else None] for step, time, value in points]
            for name, points in self.metrics.items()
        }
        told["files"] = {name: b64encode(data).decode() for name, data in self.files.items()}
        line = json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        try:
            if len(line) > _LINE_BYTES:
                raise ValueError(f"it takes {len(line):,} bytes, of at most {_LINE_BYTES:,}")
            run_of(line)
        except ValueError as error:
            raise ValueError(f"run {self.run} cannot be in a file: {error}") from None
        return line


@dataclass(frozen=True)
class Archive:
    """A file that was read through and is whole. known: by key the labels, outcome, start and end of its runs."""

    path: Path
    experiment: str
    curves: bool
    tables: bool
    digest: str
    known: Mapping[str, tuple[Sequence[str], str, int, int]]

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
        with undamaged(self.path, _WHOLE):
            yield from _through(self.path)[1]


def opened(path: Path) -> Archive:
    """A file of runs, read and checked. Raises ValueError if it is damaged, of another format or a later version."""
    if not path.is_file():
        raise UnreadableFile(f"{path} is no file; give {_WHOLE}")
    known: dict[str, tuple[Sequence[str], str, int, int]] = {}
    with undamaged(path, _WHOLE):
        header, runs = _through(path)
        for run in runs:
            known[run.key] = (run.labels, run.outcome, run.start, run.end)
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    return Archive(path, header["experiment"], header["curves"], header["tables"], digest, known)


def write(path: Path, experiment: str, runs: Sequence[Finished], curves: bool, tables: bool) -> None:
    """Writes a file of runs, whole or not at all. Raises ValueError for a run that a file does not take."""
    about = {"format": FORMAT, "version": NEWEST, "experiment": experiment, "runs": len(runs)}
    header = json.dumps(about | {"curves": curves, "tables": tables}).encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with open(temporary, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
            packed.write(header)
            for run in sorted(runs, key=lambda run: run.key):
                packed.write(run.line)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _through(path: Path) -> tuple[dict[str, Any], Iterator[Finished]]:
    lines = _lines(path)
    header = _header(next(lines, b"{}"))
    return header, _runs(lines, header["runs"])


def _runs(lines: Iterable[bytes], count: int) -> Iterator[Finished]:
    last, number = "", 0
    for number, line in enumerate(lines, 1):
        try:
            run = run_of(line)
            if run.key <= last:
                raise Conflict(f"cell {run.key} is there twice, or not in its place")
        except (ValueError, RecursionError) as error:
            raise ValueError(f"its run {number}: {error}") from None
        last = run.key
        yield run
    if number != count:
        raise ValueError(f"it has {number} runs, and its header says {count}")


def _lines(path: Path) -> Iterator[bytes]:
    whole = 0
    try:
        with gzip.open(path) as file:
            while line := file.readline(_LINE_BYTES + 1):
                whole += len(line)
                if len(line) > _LINE_BYTES or whole > _ALL_BYTES:
                    raise ValueError(f"it unpacks to lines of more than {_LINE_BYTES:,} or {_ALL_BYTES:,} bytes in all")
                yield line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"it cannot be unpacked ({error})") from None


def _header(line: bytes) -> dict[str, Any]:
    told = json.loads(line.decode())
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise ValueError(f"its first line is not the header of {FORMAT}")
    if told.get("version") != NEWEST:
        raise ValueError(f"its version is {shown(told.get('version'))}; this infoscope reads version {NEWEST}")
    plain_name("its experiment", told.get("experiment"))
    if not (isinstance(told.get("curves"), bool) and isinstance(told.get("tables"), bool)):
        raise ValueError("its header does not say whether it has curves and tables")
    _whole("the number of its runs", told.get("runs"))
    return told


def run_of(line: bytes) -> Finished:
    """The run of a line, checked. Raises ValueError for what is none, RecursionError for one nested too deeply."""
    told = json.loads(line.decode(), parse_constant=_refused)
    if not isinstance(told, dict) or told.keys() != Finished.__annotations__.keys():
        raise ValueError(f"it must be a run with {', '.join(Finished.__annotations__)}, got {shown(told)}")
    start, end = _whole("its start", told["start"]), _whole("its end", told["end"])
    if told["outcome"] not in (COMPLETE, STOPPED):
        raise ValueError(f"its outcome must be {COMPLETE} or {STOPPED}, got {shown(told['outcome'])}")
    return Finished(
        key=plain_name("its key", told["key"]),
        run=plain_name("the id of its run", told["run"]),
        outcome=told["outcome"],
        start=start,
        end=end,
        tags=_tags(told["tags"]),
        params={
            entity_name("the name of a param", name): stored_text(f"param {name}", value, PARAM_LENGTH)
            for name, value in _dict("params", told["params"]).items()
        },
        metrics={
            metric_name(name): _points(name, points, start)
            for name, points in _dict("metrics", told["metrics"]).items()
        },
        inputs=[_input(one) for one in _list("inputs", told["inputs"])],
        files={name: _file(name, data) for name, data in _dict("files", told["files"]).items()},
    )


def _tags(told: Any) -> dict[str, str]:
    tags = stored_tags(_dict("tags", told))
    for name in tags:
        if not carried(name):
            raise ValueError(f"its tag {name} is none that a file of runs holds")
    for name in plain_cell(tags.get(CELL, "")):
        entity_name("the name of a cell's field", name)
    stored_text("its run's name", tags.get(MLFLOW_RUN_NAME, ""), NAME_LENGTH)
    return tags


def carried(name: str) -> bool:
    """Whether a tag of this name is carried: of MLflow's and ours some, and all that a sweep or a person has added."""
    if name.startswith("mlflow."):
        return name in _OF_MLFLOW or name.startswith(f"{CONSTANTS} ")
    return name in _OF_OURS if name.startswith("infoscope.") else True


def portable_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Of the tags of a run those that are carried, as they are carried."""
    return {
        name: value if name.startswith(_EXACT) else portable(value) for name, value in tags.items() if carried(name)
    }


def portable(text: str) -> str:
    """A text without folders of a machine and without users and passwords of addresses."""
    return _FOLDERS.sub("", without_password(text))


def portable_source(source: str) -> str:
    """The source of a data set without the folders of this machine."""
    try:
        told = json.loads(source)
    except ValueError:
        return portable(source)
    if not isinstance(told, dict):
        return portable(source)

    def cut(value: Any) -> Any:
        local = isinstance(value, str) and _LOCAL.fullmatch(value)
        return local[1] if local else portable(value) if isinstance(value, str) else value

    return json.dumps({name: cut(value) for name, value in told.items()})


def printable(text: str) -> str:
    """A text of a file as a terminal may show it: in ASCII, nothing of it is a control character."""
    return text.encode("unicode_escape").decode()


def names_folder(cell: Mapping[str, Any]) -> bool:
    """Whether a cell has the path of a machine among its values."""
    return any(isinstance(value, str) and portable(value) != value for value in cell.values())


def _points(name: str, told: Any, start: int) -> list[tuple[int, int, float]]:
    points = []
    for point in _list(f"metric {name}", told):
        if not (isinstance(point, list) and len(point) == 3):
            raise InvalidInput(f"a point of metric {name} must be its step, time and value, got {shown(point)}")
        step, time, value = point
        if isinstance(value, bool):
            raise WrongType(f"metric {name} must be a number or null, got {shown(value)}")
        _whole(f"the time of metric {name}", start + metric_step(time))
        points.append((metric_step(step), time, math.nan if value is None else _finite(name, value)))
    if not points:
        raise InvalidInput(f"metric {name} has no point")
    return points


def _finite(name: str, value: Any) -> float:
    number = metric_value(name, value)
    if not math.isfinite(number):  # such as 1e999
        raise MissingValues(f"metric {name} must be finite or null, got {shown(value)}")
    return number


def _input(told: Any) -> dict[str, str]:
    if _dict("an input", told).keys() != _SIZES.keys():
        raise WrongType(f"an input must be a data set with {', '.join(_SIZES)}, got {shown(told)}")
    return {name: stored_text(f"the {name} of a data set", told[name], size) for name, size in _SIZES.items()}


def _file(name: str, told: Any) -> bytes:
    try:
        data = b64decode(told, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise InvalidInput(f"file {shown(name)} is no base64") from None
    check_file(name, data)
    return data


def check_file(name: str, data: bytes) -> None:
    """Raises ValueError for a file that is no table or arrays of a `Report`, or too large; contents are not read."""
    stem, _, suffix = name.rpartition(".")
    plain_name("the name of a table", stem)
    if len(data) > FILE_BYTES:
        raise UnreadableFile(f"file {name} has {len(data):,} bytes, of at most {FILE_BYTES:,}")
    if suffix == "parquet":
        unpacked = _parquet_bytes(name, data)
    elif suffix == "npz":
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                unpacked = sum(member.file_size for member in packed.infolist())
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise UnreadableFile(f"file {name} is no npz ({error})") from None
    else:
        raise UnreadableFile(f"file {name} is neither .parquet nor .npz")
    if unpacked > UNPACKED_BYTES:
        raise ValueError(f"file {name} unpacks to {unpacked:,} bytes, of at most {UNPACKED_BYTES:,}")


def _parquet_bytes(name: str, data: bytes) -> int:
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    try:
        told = read_metadata(io.BytesIO(data))
    except (ArrowException, OSError, ValueError) as error:
        raise UnreadableFile(f"file {name} is no Parquet ({str(error).splitlines()[0]})") from None
    groups = [told.row_group(number) for number in range(told.num_row_groups)]
    return max(sum(group.total_byte_size for group in groups), told.num_rows * told.num_columns)


def _dict(what: str, told: Any) -> dict[str, Any]:
    if not isinstance(told, dict):
        raise WrongType(f"{what} must be names and what they have, got {shown(told)}")
    return told


def _list(what: str, told: Any) -> list[Any]:
    if not isinstance(told, list):
        raise WrongType(f"{what} must be a list, got {shown(told)}")
    return told


def _whole(what: str, told: Any) -> int:
    if not isinstance(told, int) or isinstance(told, bool) or not 0 <= told <= _LATEST:
        raise OutOfRange(f"{what} must be a whole number from 0 to 2**53, got {shown(told)}")
    return told


def _refused(constant: str) -> Any:
    raise InvalidInput(f"{constant} is no value; no number is written null")
