"""The checkpoint of a pack: its trial's state with all that was reported before it, in one file.

Where the tracking store is a server, a copy lies at the run of the pack's first cell, for another machine. A tag with
its digest, written last, says that it is whole.
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
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from mlflow.entities import Run

from infoscope.tracking.record import RUN
from infoscope.tracking.store.store import Store, first_line, skipped

log = logging.getLogger(__name__)

STORED_SECONDS = float(os.environ.get("INFOSCOPE_STORED_CHECKPOINT_SECONDS", 180))
STORED_MEGABYTES = float(os.environ.get("INFOSCOPE_STORED_CHECKPOINT_MB", 200))
PATIENCE_SECONDS = 300.0
TAG, FOLDER = "infoscope.checkpoint", "checkpoint"
FILE = re.compile(r"[0-9a-f]{16}-([01])\.checkpoint")


class Checkpoint:
    """path: the local file, named by the pack. again: whether there was an earlier attempt at it."""

    def __init__(self, path: Path, store: Store, again: bool):
        self.path, self.store, self._again = path, store, again
        self._tried, self._slot, self._sent, self._copied = time.monotonic(), 0, 0, set[str]()
        self._travels = not store.uri.startswith("sqlite:")

    def save(self, state: Mapping[str, Any], reported: Mapping[str, Mapping[str, bytes]]) -> None:
        """Replaces the last checkpoint once this one is on the disk; kept if there is no room. reported: by cell and
        path, see `Record.packed`.
        """
        import torch

        packed = {
            key: {name: torch.from_numpy(np.frombuffer(bytearray(data), np.uint8)) for name, data in of.items()}
            for key, of in reported.items()
        }
        temporary = self.path.with_suffix(".tmp")
        try:
            with open(temporary, "wb") as file:
                torch.save({"state": state, "reported": packed}, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except (OSError, RuntimeError) as error:  # torch tells of a full disk by a RuntimeError
            temporary.unlink(missing_ok=True)
            log.warning("no checkpoint in %s (%s); the last one stays", self.path.parent, first_line(error))

    def restore(self) -> tuple[Mapping[str, Any], dict[str, dict[str, bytes]]] | None:
        """What was saved last, of this machine or of the store; None when there is none. Executes no code."""
        if self._travels:
            self._fetch_patiently()
        if not self.path.exists():
            return None
        import torch

        try:
            kept = torch.load(self.path, weights_only=True, map_location="cpu")
            reported = {key: {require_record_path(name): bytes(data.numpy()) for name, data in of.items()}
                        for key, of in kept["reported"].items()}  # fmt: skip
            return kept["state"], reported
        except Exception as error:  # whatever a damaged file makes torch raise: the work is done again, not refused
            log.warning("the checkpoint %s cannot be read (%s); starting afresh", self.path, first_line(error))
            return None

    def _fetch_patiently(self) -> None:
        """A store that does not answer is worth some waiting where nothing lies here."""
        deadline = time.monotonic() + PATIENCE_SECONDS * (self._again and not self.path.exists())
        while True:
            try:
                return self._fetch()
            except Exception as error:  # whatever a store of artifacts raises: without a copy the work is done again
                if time.monotonic() >= deadline or self.store.answers():
                    log.warning("no checkpoint from the store (%s)", first_line(error))
                    return
            time.sleep(1.0)

    def _fetch(self) -> None:
        found = [(told, run) for run in self.store.search(f"tags.`{TAG}` LIKE '%{self.path.stem}-%'")
                 if (told := _told(run)) and told["file"].startswith(f"{self.path.stem}-")]  # fmt: skip
        if not found:
            return
        told, run = max(found, key=lambda one: one[0]["time"])
        self._copied |= {run.info.run_id for _, run in found}
        if self.path.exists() and _saved(self.path) >= told["time"]:
            return
        with tempfile.TemporaryDirectory() as folder:
            copy = self.store.client.download_artifacts(run.info.run_id, f"{FOLDER}/{told['file']}", folder)
            if _digest(Path(copy)) != told["sha256"]:
                raise ValueError(f"the copy at run {run.info.run_id} is not the one that its tag names")
            temporary = self.path.with_suffix(".tmp")
            shutil.copyfile(copy, temporary)
            os.utime(temporary, ns=(told["time"] * 10**6,) * 2)
            temporary.replace(self.path)

    def copy(self, run_id: str) -> None:
        """Sends the checkpoint as it is now to a run, now and then; the last copy stays until this one is whole."""
        now = time.monotonic()
        early = now - self._tried < STORED_SECONDS
        if early or not self._travels or not self.path.exists() or _saved(self.path) <= self._sent:
            return
        self._tried, megabytes = now, self.path.stat().st_size / 1e6
        if megabytes > STORED_MEGABYTES:
            log.warning("a checkpoint of %.0f MB is not copied to the store: the limit is %g MB "
                        "(INFOSCOPE_STORED_CHECKPOINT_MB)", megabytes, STORED_MEGABYTES)  # fmt: skip
            return
        with tempfile.TemporaryDirectory(dir=self.path.parent, prefix="copy-") as folder:
            copy = Path(folder) / f"{self.path.stem}-{self._slot}.checkpoint"
            shutil.copy2(self.path, copy)  # the file itself is replaced at the next save
            self._copied.add(run_id)
            self.store.client.log_artifact(run_id, str(copy), FOLDER)
            told = {"file": copy.name, "sha256": _digest(copy), "time": _saved(copy)}
            self.store.client.set_tag(run_id, TAG, json.dumps(told))
            self._slot, self._sent = 1 - self._slot, told["time"]

    def discard(self) -> None:
        """Nobody goes on from here: the pack has ended, or has begun afresh."""
        self.path.unlink(missing_ok=True)
        for run_id in self._copied:
            forget(run_id, self.store)


def require_record_path(name: str) -> str:
    """`name`, the path of a file relative to its record. Raises ValueError if it leaves the record or is its run id."""
    if Path(name).is_absolute() or ".." in Path(name).parts or name == RUN:
        raise ValueError(f"it contains the path {name!r}, which is not allowed in a record")
    return name


def forget(run_id: str, store: Store) -> None:
    """Deletes the copy of a checkpoint that lies at a run. When that fails it stays, in nobody's way."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    try:
        run = store.client.get_run(run_id)
        if TAG in run.data.tags:
            where = get_artifact_repository(run.info.artifact_uri, tracking_uri=store.uri)
            store.client.ask(where.delete_artifacts, FOLDER)
            with contextlib.suppress(Exception):  # of a run that is deleted
                store.client.delete_tag(run_id, TAG)
    except Exception as error:  # whatever a store of artifacts raises where deleting is not allowed
        log.warning("the checkpoint at run %s is not deleted (%s)", run_id, first_line(error))


def _told(run: Run) -> dict[str, Any] | None:
    try:
        told = json.loads(run.data.tags[TAG])
        if FILE.fullmatch(told["file"]) and isinstance(told["time"], int) and isinstance(told["sha256"], str):
            return told
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    skipped(run, f"its tag {TAG} names no checkpoint")
    return None


def _saved(path: Path) -> int:
    """When a checkpoint was saved, in ms."""
    return path.stat().st_mtime_ns // 10**6


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
