"""The local record of one attempt at a cell: a folder named by the cell's key and the attempt.

record.jsonl    JSON lines: a header, then metrics, data sets, tags and models, at the end the outcome
files/          the artifacts of the run
models/NAME/    a model as configuration and weights
run             the id of the run in MLflow, if there is one

The record is the original; a run in MLflow is its publication (`sending.publish`). Attempts share nothing: one that
continues from a checkpoint begins with a copy of everything reported before.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infoscope.tracking.checks import PLAIN, plain_name, storable_text

SYSTEM = "system/"  # prefix of metrics of the machine
COMPLETE, STOPPED, FAILED = "complete", "stopped", "failed"
LINES, RUN = "record.jsonl", "run"
RECORD_NAME = re.compile(r"[^@]*@([0-9]{16})-[0-9a-f]{8}")  # key, microseconds, random digits


def home() -> Path:
    """The folder of everything that sweeps write: `runs` in the working folder."""
    return Path.cwd() / "runs"


def made_home() -> Path:
    """The folder `home`, created if missing and closed to other users; a folder of another user is not changed."""
    folder = home()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if hasattr(os, "geteuid") and found.st_uid == os.geteuid() and found.st_mode & 0o077:
        with contextlib.suppress(PermissionError):  # on a file system without such permissions
            folder.chmod(stat.S_IMODE(found.st_mode) & 0o700)
    return folder


class RecordUnwritable(OSError):
    """A record cannot be written: the disk is full, a quota is reached, or the folder is gone."""


@dataclass(frozen=True)
class Record:
    folder: Path

    @classmethod
    def of(cls, records: Path, key: str) -> Record:
        """The record of a new attempt, named so that it sorts after earlier ones even if the clock was set back."""
        before = (RECORD_NAME.fullmatch(path.name) for path in records.glob(f"{key}@*"))
        now = max([time.time_ns() // 1000, *(int(found[1]) + 1 for found in before if found)])
        return cls(records / f"{key}@{now:016d}-{secrets.token_hex(4)}")

    @property
    def key(self) -> str:
        return self.folder.name.partition("@")[0]

    @property
    def files(self) -> Path:
        return self.folder / "files"

    def model_folder(self, name: str) -> Path:
        """The folder of a model. Raises ValueError if its name is no plain file name, as in a record from elsewhere."""
        return self.folder / "models" / plain_name("the name of a model", name)

    def exists(self) -> bool:
        return (self.folder / LINES).exists()

    def begin(self, cell: Mapping[str, Any], tags: Mapping[str, str]) -> None:
        """Writes the header. Raises RecordUnwritable on a full disk."""
        with self.writing():
            self.files.mkdir(parents=True, exist_ok=True)
        self.append({"cell": dict(cell), "tags": dict(tags), "writer": writer(), "time": milliseconds()})

    def packed(self) -> dict[str, bytes]:
        """The present files of the record, for a checkpoint: contents by path."""
        paths = [path for path in self.folder.rglob("*") if path.is_file() and "unfinished-" not in path.name]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in paths if path.name != RUN}

    def continue_from(self, packed: Mapping[str, bytes]) -> None:
        """Takes over the files that another attempt has `packed`, with this one's header and the first one's start."""
        (header, _), *_ = self.entries()
        before, *lines = packed[LINES].splitlines(keepends=True)
        header["time"] = json.loads(before)["time"]
        with self.writing():
            for name, content in packed.items():
                if name == LINES:
                    continue
                path = self.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            temporary = self.folder / "unfinished-record"
            temporary.write_bytes(b"".join([json.dumps(header).encode() + b"\n", *lines]))
            temporary.replace(self.folder / LINES)

    def metrics(self, values: Mapping[str, float], step: int) -> None:
        self.append({"step": step, "metrics": {name: float(value) for name, value in values.items()}})

    def end(self, outcome: str, error: str | None = None) -> None:
        self._end_line()
        self.append({"outcome": outcome, "error": error and storable_text(error), "time": milliseconds()})

    def append(self, entry: Mapping[str, Any]) -> None:
        """Appends an entry; a line that cannot be written completely is removed again."""
        line = json.dumps(entry).encode() + b"\n"
        with self.writing(), open(self.folder / LINES, "ab", buffering=0) as file:
            before = file.tell()
            try:
                while line:
                    line = line[file.write(line) :]
            except OSError:
                file.truncate(before)
                raise

    @contextlib.contextmanager
    def file(self, name: str) -> Iterator[Path]:
        """A path for writing an artifact, which is moved to `files` when it is complete."""
        temporary = self.folder / f"unfinished-{name}"
        with self.writing():
            try:
                yield temporary
                temporary.replace(self.files / name)
            finally:
                temporary.unlink(missing_ok=True)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Converts OSError into RecordUnwritable."""
        try:
            yield
        except OSError as error:
            raise RecordUnwritable(
                f"the record of cell {self.key} cannot be written in {self.folder.parent} "
                f"({error.strerror or error}); free some space there, then the same command continues from here"
            ) from error

    def _end_line(self) -> None:
        """Ends a line that a killed process has left incomplete."""
        path = self.folder / LINES
        with self.writing():
            if path.exists() and path.stat().st_size and path.read_bytes()[-1:] != b"\n":
                with open(path, "ab", buffering=0) as file:
                    file.write(b"\n")

    def entries(self, offset: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
        """The entries after a byte offset, each with the offset behind it; incomplete lines are skipped."""
        with open(self.folder / LINES, "rb") as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                offset += len(line)
                with contextlib.suppress(ValueError, RecursionError):  # no JSON, such as zeros after a power failure
                    entry = json.loads(line)
                    if isinstance(entry, dict):
                        yield entry, offset

    def header(self) -> dict[str, Any]:
        """The first entry; empty if it is incomplete, and with it the record."""
        first = next(self.entries(), ({}, 0))[0]
        return first if {"cell", "tags", "time"} <= first.keys() else {}

    def ending(self) -> dict[str, Any] | None:
        """The last entry (`outcome`, `error`, `time`); None if the attempt has not ended."""
        return next((entry for entry, _ in reversed(list(self.entries())) if "outcome" in entry), None)

    def written_here(self) -> bool:
        """Whether this process writes the record."""
        return self.header().get("writer") == writer()

    def writer_lives(self) -> bool:
        """Whether the process that writes the record is alive on this machine; False if it is on another machine."""
        return _is_alive(self.header().get("writer", {}))

    @property
    def run_id(self) -> str:
        """The id of the run in MLflow; empty if there is none."""
        try:
            run_id = (self.folder / RUN).read_bytes()
        except FileNotFoundError:
            return ""
        return run_id.decode() if re.fullmatch(rb"[0-9a-f]{32}", run_id) else ""  # zeros after a power failure

    def note_run(self, run_id: str) -> None:
        temporary = self.folder / "unfinished-run"
        temporary.write_text(run_id)
        temporary.replace(self.folder / RUN)

    def remove(self) -> None:
        (self.folder / LINES).unlink(missing_ok=True)  # without it the record does not exist
        shutil.rmtree(self.folder, ignore_errors=True)


def sweeps_in(folder: Path, others: Iterable[str]) -> list[str]:
    """The names of sweeps in a folder like `runs/records`, and others, as far as they are valid names."""
    here = {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()
    return sorted(name for name in here.union(others) if PLAIN.fullmatch(name))


def records(folder: Path, key: str | None = None) -> list[Record]:
    """The records in a folder (of a cell), including those of ended processes, earlier attempts first."""
    found = [Record(path) for path in sorted(folder.glob("*@*"))] if folder.is_dir() else []
    return [one for one in found if one.exists() and (one.key == key if key is not None else PLAIN.fullmatch(one.key))]


def writer() -> dict[str, Any]:
    """This process: host, id and start time, since ids are used again."""
    return {"host": platform.node(), "pid": os.getpid(), "began": _start_time(os.getpid())}


def _is_alive(process: Mapping[str, Any]) -> bool:
    if process.get("host") != platform.node():
        return False
    try:
        os.kill(process["pid"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it belongs to another user
    return process["began"] == _start_time(process["pid"])


def _start_time(pid: int) -> str | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[19] if fields[0] != "Z" else None


def milliseconds() -> int:
    """The present time as in MLflow."""
    return int(time.time() * 1000)


def storable(value: float) -> float:
    """The value, or NaN for infinities, which MLflow would turn into the largest double."""
    return value if math.isfinite(value) else math.nan
