"""The checkpoint of a pack: a local file and, where the tracking store is a server, a copy at the run of its first
cell.

The copy is sent after everything reported before it; a tag with its digest, written last, marks it complete.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from mlflow.entities import Run

from infoscope.errors import InvalidInput
from infoscope.tracking.record import Record
from infoscope.tracking.store.store import KEY, Store, first_line

log = logging.getLogger(__name__)

STORED_SECONDS = float(os.environ.get("INFOSCOPE_STORED_CHECKPOINT_SECONDS", 180))
STORED_MEGABYTES = float(os.environ.get("INFOSCOPE_STORED_CHECKPOINT_MB", 200))
PATIENCE_SECONDS = 300.0
TAG, FOLDER = "infoscope.checkpoint", "checkpoint"
FILE = re.compile(r"[0-9a-f]{16}-([01])\.checkpoint")


class Checkpoint:
    """path: the local file, named by the pack. record: of the pack's first cell; run_id: its earlier run in MLflow."""

    def __init__(self, path: Path, store: Store, record: Record, run_id: str | None):
        self.path, self.store, self.record, self._run_id = path, store, record, run_id
        self._lock, self._removed, self._copied = threading.Lock(), False, False
        self._tried, self._slot, self._sent = time.monotonic(), 0, 0
        self._travels = not store.uri.startswith("sqlite:")

    def save(self, state: Mapping[str, Any], records: Iterable[Record]) -> None:
        """Replaces the last checkpoint once this one and its records are on the disk; kept if there is no room."""
        for record in records:
            record.secure()
        temporary = self.path.with_suffix(".tmp")
        try:
            with open(temporary, "wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except (OSError, RuntimeError) as error:  # torch tells of a full disk by a RuntimeError
            temporary.unlink(missing_ok=True)
            log.warning("no checkpoint in %s (%s); the last one stays", self.path.parent, first_line(error))

    def restore(self) -> Mapping[str, Any] | None:
        """The newest that can be read, of this machine or of the store; None when there is none. Executes no code."""
        if self._travels:
            self._fetch_patiently()
        if not self.path.exists():
            return None
        try:
            return torch.load(self.path, weights_only=True, map_location="cpu")
        except Exception as error:  # whatever a damaged file makes torch raise: the work is done again, not refused
            log.warning("the checkpoint %s cannot be read (%s); starting afresh", self.path, first_line(error))
            return None

    def _fetch_patiently(self) -> None:
        """A store that does not answer is worth some waiting where there was an earlier attempt, and nothing here."""
        deadline = time.monotonic() + (PATIENCE_SECONDS if self._run_id and not self.path.exists() else 0.0)
        while True:
            try:
                return self._fetch()
            except Exception as error:  # whatever a store of artifacts raises: without a copy the work is done again
                if time.monotonic() >= deadline or self.store.answers():
                    log.warning("no checkpoint from the store (%s)", first_line(error))
                    return
            time.sleep(1.0)

    def _fetch(self) -> None:
        run = self.store.run(self._run_id)
        if run is None or KEY not in run.data.tags:  # another attempt has replaced it
            run = self.store.run_of(self.record.key)
        told = _told(run)
        if told is None:
            return
        self._copied, self._slot = True, 1 - int(FILE.fullmatch(told["file"])[1])
        if not told["file"].startswith(f"{self.path.stem}-"):
            return
        if self.path.exists() and _saved(self.path) >= told["time"]:
            return
        with tempfile.TemporaryDirectory() as folder:
            found = self.store.client.download_artifacts(run.info.run_id, f"{FOLDER}/{told['file']}", folder)
            if _digest(Path(found)) != told["sha256"]:
                raise ValueError(f"the copy at run {run.info.run_id} is not the one that its tag names")
            temporary = self.path.with_suffix(".tmp")
            shutil.copyfile(found, temporary)
            os.utime(temporary, ns=(told["time"] * 10**6,) * 2)
            temporary.replace(self.path)

    @contextlib.contextmanager
    def due(self) -> Iterator[Path | None]:
        """The checkpoint as it is now, under the name that its copy is to have; None when it is too early for one."""
        now = time.monotonic()
        early = now - self._tried < STORED_SECONDS
        if early or not self._travels or not self.path.exists() or _saved(self.path) <= self._sent:
            yield None
            return
        self._tried = now
        with tempfile.TemporaryDirectory(dir=self.path.parent, prefix="copy-") as folder:
            copy = Path(folder) / f"{self.path.stem}-{self._slot}.checkpoint"
            try:
                os.link(self.path, copy)  # the file itself is replaced at the next save
            except OSError:
                shutil.copyfile(self.path, copy)
                shutil.copystat(self.path, copy)
            yield copy

    def put(self, copy: Path, run_id: str) -> None:
        """Sends what `due` gave to the store, where the last one stays until this one is whole."""
        megabytes = copy.stat().st_size / 1e6
        if megabytes > STORED_MEGABYTES:
            log.warning("a checkpoint of %.0f MB is not copied to the store: the limit is %g MB "
                        "(INFOSCOPE_STORED_CHECKPOINT_MB)", megabytes, STORED_MEGABYTES)  # fmt: skip
            return
        with self._lock:
            if self._removed:
                return
            self._copied = True
            self.store.client.log_artifact(run_id, str(copy), FOLDER)
            told = {"file": copy.name, "sha256": _digest(copy), "time": _saved(copy)}
            self.store.client.set_tag(run_id, TAG, json.dumps(told))
            self._slot, self._sent = 1 - self._slot, told["time"]

    def remove(self, run_id: str | None) -> None:
        """The pack has ended: nobody goes on from here. run_id: of the first cell, if it is known."""
        self.path.unlink(missing_ok=True)
        with self._lock:  # waits for a copy that is on its way
            self._removed = True
            if run_id and self._copied:
                forget(run_id, self.store)


def forget(run_id: str, store: Store) -> None:
    """Deletes the copy of a checkpoint that lies at a run. When that fails it stays, in nobody's way."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    try:
        where = store.client.get_run(run_id).info.artifact_uri
        store.client.ask(get_artifact_repository(where, tracking_uri=store.uri).delete_artifacts, FOLDER)
        store.client.delete_tag(run_id, TAG)
    except Exception as error:  # whatever a store of artifacts raises where deleting is not allowed
        log.warning("the checkpoint at run %s is not deleted (%s)", run_id, first_line(error))


def _told(run: Run | None) -> dict[str, Any] | None:
    if run is None or TAG not in run.data.tags:
        return None
    told = json.loads(run.data.tags[TAG])
    if not (isinstance(told, dict) and FILE.fullmatch(str(told.get("file"))) and isinstance(told.get("time"), int)):
        raise InvalidInput(f"tag {TAG} of run {run.info.run_id} is {run.data.tags[TAG]!r}, which names no checkpoint")
    return told


def _saved(path: Path) -> int:
    """When a checkpoint was saved, in ms."""
    return path.stat().st_mtime_ns // 10**6


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
