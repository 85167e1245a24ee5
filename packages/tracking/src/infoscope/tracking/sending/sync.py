"""Sends the records of ended processes and closes their runs, without running anything."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout
from mlflow.entities import Run

from infoscope.errors import OutOfRange, UnreadableFile
from infoscope.tracking import models
from infoscope.tracking.checks import plain_name
from infoscope.tracking.record import Record, home, made_home, records, sweeps_in
from infoscope.tracking.sending.heartbeat import is_dead, is_own
from infoscope.tracking.sending.publish import publish_all
from infoscope.tracking.store.store import Store, first_line, is_finished, warn_skipped
from infoscope.tracking.tags import CELLS, KEY, PARENT

WRITER_SECONDS = 15.0  # for which workers of a killed driver may still write


@dataclass
class Synced:
    """What was sent and closed.

    records: records sent; unended: of cells that had not ended; killed: runs closed as KILLED; models: incomplete
    models deleted; left: by key, why a record stays; busy: the sweep is running and was skipped.
    """

    sweep: str
    records: int = 0
    unended: int = 0
    killed: int = 0
    models: int = 0
    left: dict[str, str] = field(default_factory=dict)
    busy: bool = False

    def __str__(self) -> str:
        if self.busy:
            return f"{self.sweep}: skipped, it is running"
        done = [f"{self.records} records sent"] if self.records else []
        done += [f"{self.unended} of them for cells that had not ended"] if self.unended else []
        done += [f"{self.killed} runs without a record closed as KILLED"] if self.killed else []
        done += [f"{self.models} incomplete models deleted"] if self.models else []
        left = [f"  not sent: the record of cell {key}: {reason}" for key, reason in self.left.items()]
        return "\n".join([f"{self.sweep}: {', '.join(done) or 'nothing to send'}", *left])


def sync(sweeps: Sequence[str] = (), folder: Path | None = None) -> list[Synced]:
    """Sends local records and closes abandoned runs of all sweeps or those named, except running sweeps.

    folder: of records on a worker's own disk; only these are sent then, except those of processes still running here.
    Raises ValueError for an invalid name or a folder without records, StoreUnreachable when the store does not answer.
    """
    given, folder = folder is not None, folder or home() / "records"
    if given and not folder.is_dir():
        raise UnreadableFile(f"{folder} must be a folder that contains a folder of records for every sweep")
    if given and records(folder):
        raise OutOfRange(f"{folder} is the folder of one sweep; give the folder above it")
    names = sorted(set(sweeps)) or sweeps_in(folder, () if given else Store.names(running=True))
    return [_sync(plain_name("the name of a sweep", name), folder / name, given) for name in names]


def _sync(name: str, folder: Path, given: bool) -> Synced:
    if given and not folder.is_dir():
        raise ValueError(f"there are no records of sweep {name} in {folder.parent}")
    if folder.parents[1] == home():
        made_home()
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(f"{folder}.lock", timeout=0):
            try:
                store = Store.open(name, create=bool(records(folder)))
            except LookupError:
                return Synced(name)
            except ValueError as error:  # the experiment is deleted; go on with the other sweeps
                return Synced(name, left={record.key: first_line(error) for record in records(folder)})
            if given:
                return close_records(store, folder)
            done = close_leftovers(store, folder)
            done.models = _discard_models(store)
            return done
    except Timeout:
        return Synced(name, busy=True)


def close_leftovers(store: Store, folder: Path) -> Synced:
    """Sends records and closes runs of ended drivers. The caller holds the sweep's lock, so none is alive here."""
    found = records(folder)
    _await_writers(found)
    done = _close(store, found)
    for run in _abandoned(store):
        status = _true_status(run, store)
        store.end(run.info.run_id, status)
        done.killed += status == "KILLED"
    for path in [*folder.glob("copy-*"), *folder.glob("*.tmp")]:  # of an unfinished checkpoint
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return done


def _discard_models(store: Store) -> int:
    found = [model for model in models.search(f"model_type = '{models.FLAVOR}'", store) if not models.is_ready(model)]
    running = {run.info.run_id for run in store.search("attributes.status = 'RUNNING'")} if found else set()
    return models.discard([model for model in found if model.source_run_id not in running], store)


def _await_writers(found: Sequence[Record]) -> None:
    """Waits for workers, which may write for some seconds after their driver was killed."""
    deadline = time.monotonic() + WRITER_SECONDS
    writing = [record for record in found if not record.written_here()]
    while (writing := [record for record in writing if record.writer_lives()]) and time.monotonic() < deadline:
        time.sleep(0.2)


def _abandoned(store: Store) -> list[Run]:
    """Open runs on which nobody works: those of dead or closed invocations, and own ones without an invocation."""
    running = list(store.search("attributes.status = 'RUNNING'"))
    parents = {run.info.run_id: is_dead(run) for run in running if CELLS in run.data.tags}
    found = []
    for run in running:
        parent = run.data.tags.get(PARENT)
        if run.info.run_id in parents:
            abandoned = parents[run.info.run_id]
        elif parent in parents:
            abandoned = parents[parent]
        else:
            abandoned = KEY in run.data.tags and (is_own(run) or _is_closed(parent, run, store))
        found += [run] if abandoned else []
    return found


def _is_closed(parent: str | None, run: Run, store: Store) -> bool:
    known = store.run(parent)
    if parent and known is None:
        warn_skipped(run, f"its parent {parent} does not exist")
    return known is not None and CELLS in known.data.tags and known.info.status != "RUNNING"


def close_records(store: Store, folder: Path) -> Synced:
    """Sends records that may be those of another machine's workers, which may not all have ended."""
    found = records(folder)
    rejected = {record: reason for record in found if (reason := _rejection(record))}
    done = _close(store, [record for record in found if record not in rejected])
    done.left |= {record.key: reason for record, reason in rejected.items()}
    return done


def _close(store: Store, found: list[Record]) -> Synced:
    unended = {record.key for record in found if record.ending() is None}
    _, left = publish_all(found, store)
    return Synced(
        store.experiment,
        records=len(found) - len(left),
        unended=len(unended - left.keys()),
        left={key: first_line(error) for key, error in left.items()},
    )


def _rejection(record: Record) -> str | None:
    if record.folder.is_symlink() or any(path.is_symlink() for path in record.folder.rglob("*")):
        return "it contains a symbolic link, which could point to any file"
    if record.writer_lives():
        return "the process that writes it is still running"
    return None


def _true_status(run: Run, store: Store) -> str:
    if CELLS not in run.data.tags:
        return "KILLED"
    finished = [is_finished(cell) for cell in store.cells(f"tags.`{PARENT}` = '{run.info.run_id}'")]
    return "FINISHED" if all(finished) and str(len(finished)) == run.data.tags[CELLS] else "KILLED"
