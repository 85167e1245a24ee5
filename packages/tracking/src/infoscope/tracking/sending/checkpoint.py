"""The checkpoint of a pack: the state of its trial and everything reported before it, in one file.

If the tracking store is a server, a copy is kept at the run of the pack's first cell, for other machines. A tag with
its digest, written last, marks it as complete.
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
from infoscope.tracking.store.store import Store, first_line, warn_skipped

log = logging.getLogger(__name__)

COPY_SECONDS = float(os.environ.get("INFOSCOPE_STORED_CHECKPOINT_SECONDS", 180))  # between two copies
MAX_COPY_MEGABYTES = float(os.environ.get("INFOSCOPE_STORED_CHECKPOINT_MB", 200))
PATIENCE_SECONDS = 300.0  # for which a copy is awaited while the store does not answer
TAG, FOLDER = "infoscope.checkpoint", "checkpoint"
FILE = re.compile(r"[0-9a-f]{16}-([01])\.checkpoint")


class Checkpoint:
    """path: the local file, named by the pack. again: whether the pack was attempted before."""

    def __init__(self, path: Path, store: Store, again: bool):
        self.path, self.store, self._again = path, store, again
        self._tried, self._slot, self._sent, self._copied = time.monotonic(), 0, 0, set[str]()
        self._travels = not store.uri.startswith("sqlite:")

    def save(self, state: Mapping[str, Any], reported: Mapping[str, Mapping[str, bytes]]) -> None:
        """Replaces the last checkpoint once the new one is on the disk; a full disk keeps the last one.

        reported: by cell and path, see `Record.packed`.
        """
        import torch

        packed = {
            key: {name: torch.from_numpy(np.frombuffer(bytearray(data), np.uint8)) for name, data in files.items()}
            for key, files in reported.items()
        }
        temporary = self.path.with_suffix(".tmp")
        try:
            with open(temporary, "wb") as file:
                torch.save({"state": state, "reported": packed}, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except (OSError, RuntimeError) as error:  # torch raises RuntimeError on a full disk
            temporary.unlink(missing_ok=True)
            log.warning("no new checkpoint in %s (%s); the last one is kept", self.path.parent, first_line(error))

    def restore(self) -> tuple[Mapping[str, Any], dict[str, dict[str, bytes]]] | None:
        """The latest checkpoint on this machine or in the store; None if there is none. Executes no code."""
        if self._travels:
            self._fetch_patiently()
        if not self.path.exists():
            return None
        import torch

        try:
            kept = torch.load(self.path, weights_only=True, map_location="cpu")
            reported = {key: {require_record_path(name): bytes(data.numpy()) for name, data in files.items()}
                        for key, files in kept["reported"].items()}  # fmt: skip
            return kept["state"], reported
        except Exception as error:  # torch raises many types for a damaged file: the work is done again
            log.warning("the checkpoint %s cannot be read (%s); starting again", self.path, first_line(error))
            return None

    def _fetch_patiently(self) -> None:
        """Fetches the copy; waits for a store that does not answer if there is no local checkpoint."""
        deadline = time.monotonic() + PATIENCE_SECONDS * (self._again and not self.path.exists())
        while True:
            try:
                return self._fetch()
            except Exception as error:  # artifact stores raise many types: without a copy the work is done again
                if time.monotonic() >= deadline or self.store.answers():
                    log.warning("the checkpoint in the store cannot be fetched (%s)", first_line(error))
                    return
            time.sleep(1.0)

    def _fetch(self) -> None:
        found = [(copy, run) for run in self.store.search(f"tags.`{TAG}` LIKE '%{self.path.stem}-%'")
                 if (copy := _copy_at(run)) and copy["file"].startswith(f"{self.path.stem}-")]  # fmt: skip
        if not found:
            return
        newest, run = max(found, key=lambda one: one[0]["time"])
        self._copied |= {run.info.run_id for _, run in found}
        if self.path.exists() and _saved(self.path) >= newest["time"]:
            return
        with tempfile.TemporaryDirectory() as folder:
            copy = self.store.client.download_artifacts(run.info.run_id, f"{FOLDER}/{newest['file']}", folder)
            if _digest(Path(copy)) != newest["sha256"]:
                raise ValueError(f"the copy at run {run.info.run_id} has another digest than its tag")
            temporary = self.path.with_suffix(".tmp")
            shutil.copyfile(copy, temporary)
            os.utime(temporary, ns=(newest["time"] * 10**6,) * 2)
            temporary.replace(self.path)

    def copy(self, run_id: str) -> None:
        """Sends the present checkpoint to a run, at intervals; the last copy is kept until this one is complete."""
        now = time.monotonic()
        early = now - self._tried < COPY_SECONDS
        if early or not self._travels or not self.path.exists() or _saved(self.path) <= self._sent:
            return
        self._tried, megabytes = now, self.path.stat().st_size / 1e6
        if megabytes > MAX_COPY_MEGABYTES:
            log.warning("a checkpoint of %.0f MB is not copied to the store: the limit is %g MB "
                        "(INFOSCOPE_STORED_CHECKPOINT_MB)", megabytes, MAX_COPY_MEGABYTES)  # fmt: skip
            return
        with tempfile.TemporaryDirectory(dir=self.path.parent, prefix="copy-") as folder:
            copy = Path(folder) / f"{self.path.stem}-{self._slot}.checkpoint"
            shutil.copy2(self.path, copy)  # the file itself is replaced at the next save
            self._copied.add(run_id)
            self.store.client.log_artifact(run_id, str(copy), FOLDER)
            about = {"file": copy.name, "sha256": _digest(copy), "time": _saved(copy)}
            self.store.client.set_tag(run_id, TAG, json.dumps(about))
            self._slot, self._sent = 1 - self._slot, about["time"]

    def discard(self) -> None:
        """Deletes the checkpoint and its copies: the pack has ended, or starts again."""
        self.path.unlink(missing_ok=True)
        for run_id in self._copied:
            delete_copy(run_id, self.store)


def require_record_path(name: str) -> str:
    """`name`, a path relative to a record. Raises ValueError if it is outside of the record or is its run id."""
    if Path(name).is_absolute() or ".." in Path(name).parts or name == RUN:
        raise ValueError(f"it contains the path {name!r}, which must not be in a record")
    return name


def delete_copy(run_id: str, store: Store) -> None:
    """Deletes the copy of a checkpoint at a run, if possible."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    try:
        run = store.client.get_run(run_id)
        if TAG in run.data.tags:
            where = get_artifact_repository(run.info.artifact_uri, tracking_uri=store.uri)
            store.client.ask(where.delete_artifacts, FOLDER)
            with contextlib.suppress(Exception):  # the run may be deleted
                store.client.delete_tag(run_id, TAG)
    except Exception as error:  # artifact stores raise many types if deleting is not permitted
        log.warning("the checkpoint at run %s cannot be deleted (%s)", run_id, first_line(error))


def _copy_at(run: Run) -> dict[str, Any] | None:
    """File name, digest and time (ms) of the copy at a run; None if its tag is invalid."""
    try:
        about = json.loads(run.data.tags[TAG])
        if FILE.fullmatch(about["file"]) and isinstance(about["time"], int) and isinstance(about["sha256"], str):
            return about
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    warn_skipped(run, f"its tag {TAG} describes no checkpoint")
    return None


def _saved(path: Path) -> int:
    """The time at which a checkpoint was saved, in ms."""
    return path.stat().st_mtime_ns // 10**6


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
