"""The local record of one attempt at a cell: a folder, named by the cell's key and the attempt.

record.jsonl    one JSON object a line: a header, then metrics, data sets, tags, models, and at last the outcome
files/          what becomes the run's artifacts
models/NAME/    a model as configuration and weights
run             the id of the run in MLflow, once there is one

The record is the truth, and a run in MLflow its publication (`sending.publish`). Attempts share nothing: one that goes
on from a checkpoint begins with a copy of what had been reported then.
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

SYSTEM = "system/"  # before the names of what is told of the machine, not of the cell
COMPLETE, STOPPED, FAILED = "complete", "stopped", "failed"
LINES, RUN = "record.jsonl", "run"
RECORD_NAME = re.compile(r"[^@]*@([0-9]{16})-[0-9a-f]{8}")  # key, microseconds, random digits


def home() -> Path:
    """The folder of everything that runs leave behind: `runs` in the working tree."""
    return Path.cwd() / "runs"


def made_home() -> Path:
    """That folder, created if missing and closed to other users of the machine; one of another user stays as it is."""
    folder = home()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if hasattr(os, "geteuid") and found.st_uid == os.geteuid() and found.st_mode & 0o077:
        with contextlib.suppress(PermissionError):  # where a file system has no such permissions
            folder.chmod(stat.S_IMODE(found.st_mode) & 0o700)
    return folder


class RecordUnwritable(OSError):
    """A record cannot be written: the disk is full, a quota reached, the folder gone."""


@dataclass(frozen=True)
class Record:
    folder: Path

    @classmethod
    def of(cls, records: Path, key: str) -> Record:
        """The record of a new attempt; its name sorts after earlier ones, even if the clock was set back."""
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
        """Raises ValueError for a name that is no plain file name: it may come from another machine's record."""
        return self.folder / "models" / plain_name("the name of a model", name)

    def exists(self) -> bool:
        return (self.folder / LINES).exists()

    def begin(self, cell: Mapping[str, Any], tags: Mapping[str, str]) -> None:
        """Writes the header. Raises RecordUnwritable on a full disk."""
        with self.writing():
            self.files.mkdir(parents=True, exist_ok=True)
        self.append({"cell": dict(cell), "tags": dict(tags), "writer": writer(), "time": milliseconds()})

    def packed(self) -> dict[str, bytes]:
        """What the record holds now, for a checkpoint: contents by path."""
        paths = [path for path in self.folder.rglob("*") if path.is_file() and "unfinished-" not in path.name]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in paths if path.name != RUN}

    def take_up(self, packed: Mapping[str, bytes]) -> None:
        """Goes on from what another attempt had `packed`, under this one's header; it began when the first did."""
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
        self._mend()
        self.append({"outcome": outcome, "error": error and storable_text(error), "time": milliseconds()})

    def append(self, entry: Mapping[str, Any]) -> None:
        """Adds an entry, or nothing: a line that does not go in whole is taken out again."""
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
        """The path for a file that becomes an artifact; it takes its name in `files` only when it is whole."""
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
                f"({error.strerror or error}); make room there, then the same command goes on from here"
            ) from error

    def _mend(self) -> None:
        """Ends a line that a process which died has left torn."""
        path = self.folder / LINES
        with self.writing():
            if path.exists() and path.stat().st_size and path.read_bytes()[-1:] != b"\n":
                with open(path, "ab", buffering=0) as file:
                    file.write(b"\n")

    def entries(self, offset: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
        """The entries after a byte offset, each with the offset behind it; torn lines are skipped, a torn last line is
        left.
        """
        with open(self.folder / LINES, "rb") as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                offset += len(line)
                with contextlib.suppress(ValueError, RecursionError):  # no JSON, or zeros, after a loss of power
                    entry = json.loads(line)
                    if isinstance(entry, dict):
                        yield entry, offset

    def header(self) -> dict[str, Any]:
        """The first entry; empty where it is torn, and the record tells nothing."""
        first = next(self.entries(), ({}, 0))[0]
        return first if {"cell", "tags", "time"} <= first.keys() else {}

    def ending(self) -> dict[str, Any] | None:
        """The entry of the end (`outcome`, `error`, `time`); None while it has not ended."""
        return next((entry for entry, _ in reversed(list(self.entries())) if "outcome" in entry), None)

    def written_here(self) -> bool:
        """Whether this process writes it."""
        return self.header().get("writer") == writer()

    def writer_lives(self) -> bool:
        """Whether the process that writes it still runs on this machine; of other machines nothing is known."""
        return _lives(self.header().get("writer", {}))

    @property
    def run_id(self) -> str:
        """The run in MLflow; empty while there is none."""
        try:
            told = (self.folder / RUN).read_bytes()
        except FileNotFoundError:
            return ""
        return told.decode() if re.fullmatch(rb"[0-9a-f]{32}", told) else ""  # it may hold zeros after a power failure

    def note_run(self, run_id: str) -> None:
        temporary = self.folder / "unfinished-run"
        temporary.write_text(run_id)
        temporary.replace(self.folder / RUN)

    def remove(self) -> None:
        (self.folder / LINES).unlink(missing_ok=True)  # from here on it does not exist
        shutil.rmtree(self.folder, ignore_errors=True)


def sweeps_in(folder: Path, others: Iterable[str]) -> list[str]:
    """The names of a folder of sweeps like `runs/records`, and others; what cannot be a sweep's name is left out."""
    here = {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()
    return sorted(name for name in here.union(others) if PLAIN.fullmatch(name))


def records(folder: Path, key: str | None = None) -> list[Record]:
    """The records that lie in a folder (of a cell), those of dead processes included, earlier attempts first."""
    found = [Record(path) for path in sorted(folder.glob("*@*"))] if folder.is_dir() else []
    return [one for one in found if one.exists() and (one.key == key if key is not None else PLAIN.fullmatch(one.key))]


def writer() -> dict[str, Any]:
    """This process, such that another one of the same number is not taken for it."""
    return {"host": platform.node(), "pid": os.getpid(), "began": _began(os.getpid())}


def _lives(process: Mapping[str, Any]) -> bool:
    if process.get("host") != platform.node():
        return False
    try:
        os.kill(process["pid"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's, but there
    return process["began"] == _began(process["pid"])


def _began(pid: int) -> str | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[19] if fields[0] != "Z" else None


def milliseconds() -> int:
    """Now, as MLflow counts time."""
    return int(time.time() * 1000)


def storable(value: float) -> float:
    """MLflow turns infinities into the largest double; a diverged value is stored as NaN instead."""
    return value if math.isfinite(value) else math.nan
