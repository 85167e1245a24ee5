"""The local record of one cell, an append-only file in a folder named by the cell's key.

record.jsonl    one JSON object a line: a header per attempt, whether it goes on from a checkpoint, then metrics,
                models and at last the outcome
files/          what becomes the run's artifacts
models/NAME/    a model as configuration and weights
sent.json       how far the record has been carried to MLflow (written by `flush`)
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from infoscope.tracking.checks import PLAIN, plain_name, storable_text

ASIDE = "set-aside.jsonl"  # among a record's files: what MLflow has refused, one JSON object a line
SYSTEM = "system/"  # before the names of what is told of the machine, not of the cell
COMPLETE, STOPPED, FAILED = "complete", "stopped", "failed"


class RecordUnwritable(OSError):
    """A record cannot be written: the disk is full, a quota reached, the folder gone."""


@dataclass(frozen=True)
class Record:
    folder: Path

    @property
    def key(self) -> str:
        return self.folder.name

    @property
    def files(self) -> Path:
        return self.folder / "files"

    def model_folder(self, name: str) -> Path:
        """Raises ValueError for a name that is no plain file name: it may come from another machine's record."""
        return self.folder / "models" / plain_name("the name of a model", name)

    def has_models(self) -> bool:
        return (self.folder / "models").is_dir()

    def exists(self) -> bool:
        return (self.folder / "record.jsonl").exists()

    def lock(self) -> FileLock:
        """Held by whoever sends the record, so that a worker and the driver never send it at once."""
        return FileLock(self.folder.with_suffix(".lock"))

    def begin(self, cell: Mapping[str, Any], tags: Mapping[str, str], run_id: str | None, joins: bool = False) -> None:
        """Starts an attempt, independent of earlier ones unless `resume` follows. Raises RecordUnwritable on a full
        disk.

        run_id: the cell's run from an earlier attempt. joins: this ends an attempt that has its record elsewhere.
        """
        with self._writing():
            if self.folder.is_dir() and not self.exists():  # what a removal that was cut short has left
                shutil.rmtree(self.folder)
            self.files.mkdir(parents=True, exist_ok=True)
        self._mend()
        header = {"cell": dict(cell), "tags": dict(tags), "run_id": run_id, "writer": writer(), "joins": joins}
        self.append(header | {"attempt": _attempt(), "time": milliseconds()})

    def resume(self, state: Mapping[str, Any]) -> None:
        """The attempt goes on from a checkpoint. state: what had been reported then, as `Report` keeps it: `steps`, by
        metric the last step and its value, `files` and `models`, their names. Files that came later go.
        """
        with self._writing():
            for path in self.files.iterdir():
                if path.name not in state["files"]:
                    path.unlink()
        self.append({"resumed": dict(state)})

    def clear(self) -> None:
        """Removes the files and models that an earlier attempt has left here."""
        with self._writing():
            for folder in (self.files, self.folder / "models"):
                if folder.is_dir():
                    shutil.rmtree(folder)
            self.files.mkdir(parents=True, exist_ok=True)

    def since_resumed(self) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """With what the last attempt went on, as `resume` was told (None when it began afresh), and its entries."""
        state, entries = None, []
        for entry, _ in self.entries():
            if "cell" in entry:
                state, entries = None, []
            elif "resumed" in entry:
                state = entry["resumed"]
            else:
                entries.append(entry)
        return state, entries

    def aside(self) -> int:
        """How many entries MLflow has refused, which are in the file `ASIDE` instead."""
        path = self.files / ASIDE
        return len(path.read_text().splitlines()) if path.exists() else 0

    def metrics(self, values: Mapping[str, float], step: int) -> None:
        self.append({"step": step, "metrics": {name: float(value) for name, value in values.items()}})

    def end(self, outcome: str, error: str | None = None) -> None:
        self._mend()
        self.append({"outcome": outcome, "error": error and storable_text(error), "time": milliseconds()})

    def append(self, entry: Mapping[str, Any]) -> None:
        """Adds an entry, or nothing: a line that does not go in whole is taken out again."""
        line = json.dumps(entry).encode() + b"\n"
        with self._writing(), open(self.folder / "record.jsonl", "ab", buffering=0) as file:
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
        with self._writing():
            try:
                yield temporary
                temporary.replace(self.files / name)
            finally:
                temporary.unlink(missing_ok=True)

    def secure(self) -> None:
        """Returns when what was reported so far would survive a loss of power."""
        with self._writing(), open(self.folder / "record.jsonl", "rb") as file:
            os.fsync(file.fileno())

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RecordUnwritable(
                f"the record of cell {self.key} cannot be written in {self.folder.parent} "
                f"({error.strerror or error}); make room there, then the same command goes on from here"
            ) from error

    def _mend(self) -> None:
        path = self.folder / "record.jsonl"
        with self._writing():
            if not path.exists() or not path.stat().st_size:
                return
            with open(path, "rb") as file:
                file.seek(-1, os.SEEK_END)
                torn = file.read(1) != b"\n"
            if torn:
                with open(path, "ab", buffering=0) as file:
                    file.write(b"\n")

    def entries(self, offset: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
        """The entries after a byte offset, each with the offset behind it; torn lines are skipped, a torn last line is
        left.
        """
        with open(self.folder / "record.jsonl", "rb") as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                offset += len(line)
                with contextlib.suppress(ValueError, RecursionError):  # no JSON, or zeros, after a loss of power
                    entry = json.loads(line)
                    if isinstance(entry, dict):
                        yield entry, offset

    def ending(self) -> dict[str, Any] | None:
        """The entry of the last attempt's end (`outcome`, `time`); None while it has not ended."""
        ending = None
        for entry, _ in self.entries():
            if "cell" in entry:
                ending = None
            elif "outcome" in entry:
                ending = entry
        return ending

    def written_by(self) -> dict[str, Any]:
        """The process of the last attempt, as `writer` gives it; empty when the record does not tell."""
        headers = [entry for entry, _ in self.entries() if "cell" in entry]
        return headers[-1].get("writer", {}) if headers else {}

    def writer_lives(self) -> bool:
        """Whether that process still runs on this machine; of other machines nothing is known."""
        return _lives(self.written_by())

    def sent(self) -> dict[str, Any]:
        """The last note of `note_sent`; empty when there is no such note."""
        try:
            return json.loads((self.folder / "sent.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):  # torn by a loss of power: then everything is sent again
            return {}

    def note_sent(self, note: Mapping[str, Any]) -> None:
        temporary = self.folder / "sent.tmp"
        temporary.write_text(json.dumps(note))
        temporary.replace(self.folder / "sent.json")

    def waiting(self) -> bool:
        """Whether something in it has not been carried to MLflow yet; False when it is removed meanwhile."""
        try:
            size = (self.folder / "record.jsonl").stat().st_size
        except FileNotFoundError:
            return False
        return self.sent().get("offset", 0) < size

    def remove(self) -> None:
        """The caller holds the lock, which goes as well."""
        (self.folder / "record.jsonl").unlink(missing_ok=True)  # from here on it does not exist
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.with_suffix(".lock").unlink(missing_ok=True)


def sweeps_in(folder: Path, others: Iterable[str]) -> list[str]:
    """The names of a folder of sweeps like `runs/records`, and others; what cannot be a sweep's name is left out."""
    here = {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()
    return sorted(name for name in here.union(others) if PLAIN.fullmatch(name))


def records(folder: Path) -> list[Record]:
    """The records that lie in a folder, those of dead processes included."""
    return [record for path in sorted(folder.glob("*")) if (record := Record(path)).exists()] if folder.is_dir() else []


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


def _attempt() -> str:
    return f"{time.time_ns() // 1000:016d}-{secrets.token_hex(4)}"


def milliseconds() -> int:
    """Now, as MLflow counts time."""
    return int(time.time() * 1000)


def storable(value: float) -> float:
    """MLflow turns infinities into the largest double; a diverged value is stored as NaN instead."""
    return value if math.isfinite(value) else math.nan
