"""The local record of one cell: an append-only file that is written before anything is sent anywhere.

A record is a folder named by the cell's key:

    record.jsonl    one JSON object a line: a header per attempt, then metrics, models and at last the outcome
    files/          what becomes the run's artifacts
    models/NAME/    a model as configuration and weights
    sent.json       how far the record has been carried to MLflow (written by `flush`)
"""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

COMPLETE, STOPPED, FAILED = "complete", "stopped", "failed"


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
        return self.folder / "models" / name

    def exists(self) -> bool:
        return (self.folder / "record.jsonl").exists()

    def lock(self) -> FileLock:
        """Held by whoever sends the record, so that a worker and the driver never send it at once."""
        return FileLock(self.folder.with_suffix(".lock"))

    def begin(self, cell: Mapping[str, Any], tags: Mapping[str, str], run_id: str | None) -> None:
        """Starts an attempt. `run_id`: the cell's run when MLflow holds one from an earlier attempt."""
        self.files.mkdir(parents=True, exist_ok=True)
        if not self.exists():
            (self.folder / "sent.json").unlink(missing_ok=True)
        self._mend()
        self.append({"cell": dict(cell), "tags": dict(tags), "run_id": run_id, "time": milliseconds()})

    def metrics(self, values: Mapping[str, float], step: int) -> None:
        self.append({"step": step, "metrics": {name: float(value) for name, value in values.items()}})

    def end(self, outcome: str, error: str | None = None) -> None:
        self._mend()
        self.append({"outcome": outcome, "error": error, "time": milliseconds()})

    def append(self, entry: Mapping[str, Any]) -> None:
        with open(self.folder / "record.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def _mend(self) -> None:
        """Ends the line at which an earlier writer died, so that what follows stays readable."""
        path = self.folder / "record.jsonl"
        if path.exists() and not path.read_bytes().endswith(b"\n"):
            with open(path, "a", encoding="utf-8") as file:
                file.write("\n")

    def entries(self, offset: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
        """The whole entries after a byte offset, each with the offset behind it.

        A torn last line is left for later; a torn line that others follow was written by a process that died, and is
        passed over.
        """
        with open(self.folder / "record.jsonl", "rb") as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                offset += len(line)
                with contextlib.suppress(json.JSONDecodeError):
                    yield json.loads(line), offset

    def ending(self) -> dict[str, Any] | None:
        """The entry of the last attempt's end (`outcome`, `time`); None while it has not ended."""
        ending = None
        for entry, _ in self.entries():
            if "cell" in entry:
                ending = None
            elif "outcome" in entry:
                ending = entry
        return ending

    def remove(self) -> None:
        with self.lock():
            (self.folder / "record.jsonl").unlink(missing_ok=True)  # from here on it does not exist
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.with_suffix(".lock").unlink(missing_ok=True)


def records(folder: Path) -> list[Record]:
    """The records that lie in a folder, those of dead processes included."""
    return [record for path in sorted(folder.glob("*")) if (record := Record(path)).exists()] if folder.is_dir() else []


def milliseconds() -> int:
    """Now, as MLflow counts time."""
    return int(time.time() * 1000)


def storable(value: float) -> float:
    """MLflow turns infinities into the largest double; a diverged value is stored as NaN instead."""
    return value if math.isfinite(value) else math.nan
