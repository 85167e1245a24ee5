"""One trial: computes its packs of cells in this process, one after another.

Ray Tune calls `run_bundle` on a worker. `offline` calls `run_pack`, without Ray and
MLflow.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from infoscope.tracking.cell_folder import COMPLETE, FAILED, CellFolder, Superseded
from infoscope.tracking.checkpoint import STORAGE, Checkpoint
from infoscope.tracking.checks import TAG_LENGTH, clipped, first_line, storable_text
from infoscope.tracking.environment import machine_tags
from infoscope.tracking.report import RecordedReport
from infoscope.tracking.sweep import AnyCell, Pack, Sweep, plain
from infoscope.tracking.tags import CELL, KEY, PARENT, RUN_NAME

if TYPE_CHECKING:
    from infoscope.tracking.store import Store

log = logging.getLogger(__name__)

PUBLISH_SECONDS = 15.0  # between two updates of a running cell in MLflow
MAX_ATTEMPTS = 2  # of a pack that ends its worker
MAX_REPORT_SECONDS = 3600  # between two reports of a trial


@dataclass(frozen=True)
class Job:
    """The settings that all trials of an invocation share.

    tags: tags of every cell's run. store: None for an offline invocation.
    """

    sweep: Sweep
    folder: Path
    device: str
    tags: Mapping[str, str]
    store: Store | None = None

    def checkpoint(self, keys: Sequence[str]) -> Checkpoint:
        """The checkpoint of the pack with these cells."""
        place = os.environ.get(STORAGE) or str(self.folder.parent)
        names = [self.device, *keys]
        return Checkpoint(place, self.sweep.name, names)


@dataclass(frozen=True)
class Bundle:
    """The work of a trial. packs: cells by key. names: short names of cells by key."""

    packs: Sequence[Mapping[str, AnyCell]]
    names: Mapping[str, str]

    @property
    def cells(self) -> dict[str, AnyCell]:
        cells: dict[str, AnyCell] = {}
        for pack in self.packs:
            cells.update(pack)
        return cells


class Ended(NamedTuple):
    """The end of a cell, as it is sent to the driver. error: empty for a cell that has
    not failed.
    """

    key: str
    outcome: str
    error: str


def run_bundle(
    bundle: Bundle, job: Job, send: Callable[[dict[str, Any]], None]
) -> None:
    """Computes the packs of a trial and publishes their cells.

    Tune repeats a trial whose worker has died: packs that have ended are sent again,
    but not computed again.
    """
    if job.device == "cpu":
        _use_one_thread()
    # a trial that is stopped early ends at its next report; Ray waits so long for it,
    # by default 2 s, and then fails
    os.environ.setdefault("TUNE_FUNCTION_THREAD_TIMEOUT_S", str(MAX_REPORT_SECONDS))
    published: list[CellFolder] = []
    for pack in bundle.packs:
        folders = {key: CellFolder(job.folder / key) for key in pack}
        judged: Mapping[str, float] = {}
        if not all(_has_ended(folder, job) for folder in folders.values()):
            judged = run_pack(pack, folders, bundle.names, job, send)
        sent, unsent = _publish(folders, job)
        published += sent
        ended = tuple(_ended(folder) for folder in folders.values())
        send({**judged, "fraction": 1.0, "ended": ended, "unsent": tuple(unsent)})
    for folder in published:
        folder.remove()


def run_pack(
    pack: Mapping[str, AnyCell],
    folders: Mapping[str, CellFolder],
    names: Mapping[str, str],
    job: Job,
    send: Callable[[dict[str, Any]], None],
) -> Mapping[str, float]:
    """Computes the cells of a pack and writes their outcomes; returns the last report of
    the metric of a search.

    Raises SystemExit where Tune ends the trial, and Superseded where another process
    computes a cell by now. These cells have no outcome.
    """
    search = job.sweep.search
    metric = search.metric if search else None
    checkpoint = job.checkpoint(list(pack))
    live = LiveUpdates(folders.values(), job.store)
    report = RecordedReport(pack, folders, checkpoint, send, metric, live)
    attempts = [
        _begin(folders[key], cell, names[key], job) for key, cell in pack.items()
    ]
    try:
        if max(attempts) > MAX_ATTEMPTS:
            raise RuntimeError(
                f"the worker process ended {MAX_ATTEMPTS} times while it computed "
                "this cell"
            )
        for key, cell in pack.items():
            datasets = [data.entry for data in job.sweep.data(cell)]
            folders[key].append({"datasets": datasets})
        live.send()
        job.sweep.trial(Pack(tuple(pack.values()), job.device), report)
        if metric and not report.judged:
            raise ValueError(
                f"the trial never called report.progress with the metric {metric!r} "
                "of the search"
            )
    except SystemExit:
        live.send()
        for folder in folders.values():
            folder.leave()
        raise
    except Superseded:
        raise
    except Exception as error:
        for key in folders.keys() - report.errors.keys():
            report.fail(folders[key], error)
    for key, folder in folders.items():
        error = report.errors.get(key, "")
        folder.end(FAILED if error else COMPLETE, error)
    checkpoint.discard()
    return report.judged


def _begin(folder: CellFolder, cell: AnyCell, name: str, job: Job) -> int:
    """Begins a cell; the run of an attempt that was interrupted is deleted. Returns the
    number of this attempt.
    """
    interrupted = folder.run_id
    if interrupted and job.store:
        from infoscope.tracking.store import impatient

        # it is superfluous, not wrong
        with contextlib.suppress(Exception), impatient():
            job.store.client.delete_run(interrupted)
    values = plain(cell)
    tags = {
        **job.tags,
        **job.sweep.tags_of(cell),
        **machine_tags(job.device),
        RUN_NAME: name,
        KEY: folder.key,
    }
    for tag, text in tags.items():
        tags[tag] = clipped(storable_text(text), TAG_LENGTH)
    tags[CELL] = json.dumps(values, sort_keys=True)
    return folder.begin(values, tags)


def _has_ended(folder: CellFolder, job: Job) -> bool:
    """Whether an earlier attempt of the same run has ended a cell."""
    header = folder.header()
    return bool(folder.ending()) and header["tags"].get(PARENT) == job.tags.get(PARENT)


def _ended(folder: CellFolder) -> Ended:
    ending = folder.ending()
    return Ended(folder.key, ending["outcome"], ending["error"])


def _publish(
    folders: Mapping[str, CellFolder], job: Job
) -> tuple[list[CellFolder], list[str]]:
    """Publishes the cells of a pack; returns the folders of published cells, and the
    keys of unsent ones.
    """
    from infoscope.tracking.publishing import publish_all

    assert job.store is not None
    published, unsent = publish_all(list(folders.values()), job.store)
    for folder, error in unsent.items():
        log.warning("not in MLflow yet: cell %s (%s)", folder.key, first_line(error))
    return list(published), [folder.key for folder in unsent]


class LiveUpdates:
    """Sends the reports of running cells to MLflow at intervals. After a failure, the
    end of the cell sends them.
    """

    def __init__(self, folders: Iterable[CellFolder], store: Store | None):
        self._folders = list(folders)
        self._store = store
        self._due = time.monotonic() + PUBLISH_SECONDS

    def __call__(self) -> None:
        if time.monotonic() >= self._due:
            self.send()

    def send(self) -> None:
        if self._store is None:
            return
        from infoscope.tracking.publishing import publish
        from infoscope.tracking.store import impatient

        try:
            with impatient():
                for folder in self._folders:
                    folder.require_current()
                    publish(folder, self._store)
        except Superseded:
            raise
        except Exception as error:  # a server that is away: the folder keeps everything
            log.warning(
                "running cells are not updated in MLflow (%s)", first_line(error)
            )
        self._due = time.monotonic() + PUBLISH_SECONDS


def _use_one_thread() -> None:
    """Limits a trial to one thread, because there are as many trials as cores."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):  # of libraries imported later
        os.environ[name] = "1"
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
