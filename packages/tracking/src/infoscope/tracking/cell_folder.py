"""The folder of a cell, from its first report until MLflow has its run.

cell.json       its values, the tags of its run, when it began, which attempt this is
reported.jsonl  a line for every report: metrics with their step and time, tags, data sets, models
files/          tables and arrays
models/NAME/    a model as configuration and weights
end.json        outcome, error and time; written last
run, sent       the id of its MLflow run, and how many lines MLflow has
left            an empty file of a left cell: Ray Tune has ended its trial, and it has no end.json
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from infoscope.tracking.checks import PLAIN, plain_name, storable_text
from infoscope.tracking.tags import PARENT

COMPLETE = "complete"
STOPPED = "stopped"
FAILED = "failed"
_CELL = "cell.json"
_REPORTED = "reported.jsonl"
_END = "end.json"
_RUN = "run"
_SENT = "sent"
_LEFT = "left"


class Superseded(Exception):
    """Another process computes the cell by now, because this one's driver was killed."""


class CellFolder:
    """The folder at `path`, named by the key of its cell."""

    def __init__(self, path: Path):
        self.path = path
        self._token = ""
        self._last_time = 0

    @property
    def key(self) -> str:
        return self.path.name

    @property
    def files(self) -> Path:
        """The folder of the artifacts of the run."""
        return self.path / "files"

    def model(self, name: str) -> Path:
        """The folder of a model. Raises ValueError unless its name is a plain file
        name.
        """
        return self.path / "models" / plain_name("the name of a model", name)

    def begin(
        self, cell: Mapping[str, Any], tags: Mapping[str, str], began: int | None = None
    ) -> int:
        """Empties the folder and writes cell.json; returns the number of this attempt
        in the same invocation.
        """
        earlier = self.header()
        parent = tags.get(PARENT)
        attempt = 1
        if earlier and parent and earlier["tags"].get(PARENT) == parent:
            attempt = earlier["attempt"] + 1
        shutil.rmtree(self.path, ignore_errors=True)
        self.files.mkdir(parents=True)
        self._token = secrets.token_hex(8)
        header = {
            "cell": dict(cell),
            "tags": dict(tags),
            "began": milliseconds() if began is None else began,
            "attempt": attempt,
            "token": self._token,
        }
        self._write(_CELL, json.dumps(header))
        return attempt

    def header(self) -> dict[str, Any]:
        """The content of cell.json; empty where there is none."""
        return self._json(_CELL)

    def ending(self) -> dict[str, Any]:
        """`outcome`, `error` and `time`; empty if the cell has not ended."""
        return self._json(_END)

    def metrics(self, values: Mapping[str, float], step: int) -> None:
        """Adds the values of metrics at a step."""
        metrics = {name: float(value) for name, value in values.items()}
        self.append({"step": step, "metrics": metrics})

    def require_current(self) -> None:
        """Raises Superseded if another attempt has begun in this folder."""
        if self._token and self.header().get("token") != self._token:
            raise Superseded(f"cell {self.key} is computed by another process")

    def append(self, *entries: Mapping[str, Any]) -> None:
        """Adds lines with increasing times; an entry with a `time` keeps it.

        Raises Superseded, as do `file`, `end`, `leave`, `packed` and `unpack`.
        """
        self.require_current()
        lines = []
        for entry in entries:
            self._last_time = max(milliseconds(), self._last_time + 1)
            line = json.dumps({"time": self._last_time, **entry})
            lines.append(line + "\n")
        with open(self.path / _REPORTED, "a", encoding="utf-8") as file:
            file.write("".join(lines))

    def entries(self) -> list[dict[str, Any]]:
        """All complete lines; a killed process may have written a line in part."""
        path = self.path / _REPORTED
        if not path.exists():
            return []
        entries = []
        for line in path.read_text(encoding="utf-8").split("\n"):
            with contextlib.suppress(ValueError):
                entries.append(json.loads(line))
        return entries

    @contextlib.contextmanager
    def file(self, name: str) -> Iterator[Path]:
        """A path for writing an artifact, which is moved to `files` when it is
        complete.
        """
        self.require_current()
        unfinished = self.path / f"unfinished-{name}"
        try:
            yield unfinished
            unfinished.replace(self.files / name)
        finally:
            unfinished.unlink(missing_ok=True)

    def end(self, outcome: str, error: str = "", at: int | None = None) -> None:
        """Writes the outcome."""
        self.require_current()
        ended_at = milliseconds() if at is None else at
        ending = {"outcome": outcome, "error": storable_text(error), "time": ended_at}
        self._write(_END, json.dumps(ending))

    def leave(self) -> None:
        """Marks the cell as left: its trial has ended, and writes nothing more."""
        self.require_current()
        self._write(_LEFT, "")

    def is_left(self) -> bool:
        return (self.path / _LEFT).exists()

    def packed(self) -> dict[str, bytes]:
        """The contents of all reports by path, for a checkpoint."""
        self.require_current()
        models = self.path / "models"
        contents = {}
        for path in (self.path / _REPORTED, *self.files.rglob("*"), *models.rglob("*")):
            if path.is_file():
                contents[str(path.relative_to(self.path))] = path.read_bytes()
        return contents

    def unpack(self, packed: Mapping[str, bytes]) -> None:
        """Writes the reports of an earlier attempt, from `packed`."""
        self.require_current()
        for name, content in packed.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    @property
    def run_id(self) -> str:
        """The id of the run in MLflow; empty if there is none."""
        text = self._text(_RUN)
        return text if re.fullmatch("[0-9a-f]{32}", text) else ""

    def note_run(self, run_id: str) -> None:
        self._write(_RUN, run_id)

    @property
    def sent(self) -> int:
        """The number of lines that MLflow has."""
        text = self._text(_SENT)
        return int(text) if text.isdecimal() else 0

    def note_sent(self, lines: int) -> None:
        self._write(_SENT, str(lines))

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def _write(self, name: str, text: str) -> None:
        unfinished = self.path / f"unfinished-{name}"
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(self.path / name)

    def _text(self, name: str) -> str:
        try:
            return (self.path / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def _json(self, name: str) -> dict[str, Any]:
        try:
            content = json.loads(self._text(name) or "{}")
        except ValueError:  # as zeros after a power failure
            return {}
        return content if isinstance(content, dict) else {}


def cell_folders(folder: Path) -> Sequence[CellFolder]:
    """The cells in the folder of a sweep, by key."""
    if not folder.is_dir():
        return []
    cells = []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and PLAIN.fullmatch(path.name):
            cells.append(CellFolder(path))
    return cells


def milliseconds() -> int:
    """The present time as in MLflow."""
    return int(time.time() * 1000)


def storable(value: float) -> float:
    """The value, or NaN for infinities, which MLflow would turn into the largest
    double.
    """
    return value if math.isfinite(value) else math.nan
