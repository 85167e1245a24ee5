"""Loads a file of finished runs into a store, where its cells count as done."""

from __future__ import annotations

import itertools
import math
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from filelock import FileLock, Timeout
from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME, MLFLOW_RUN_NOTE, MLFLOW_SOURCE_TYPE
from rich.console import Console
from rich.progress import track

from infoscope.tracking import notes
from infoscope.tracking.archive.format import Archive, FinishedRun, ascii_text
from infoscope.tracking.checks import NAME_LENGTH, clipped, storable_text
from infoscope.tracking.datasets import inputs
from infoscope.tracking.record import COMPLETE
from infoscope.tracking.sending.heartbeat import SweepBusy, is_own, own_tags
from infoscope.tracking.sending.publish import delete_unfinished, unique_runs
from infoscope.tracking.sending.summaries import add_data_sets, summarise
from infoscope.tracking.status import sweep_named
from infoscope.tracking.store import ui
from infoscope.tracking.store.store import (
    NOT_RESULTS,
    Store,
    by_key,
    constants,
    first_line,
    gather_statistics,
    is_finished,
    made_home,
    plain_cell,
)
from infoscope.tracking.sweep import varying
from infoscope.tracking.tags import CELL, CELLS, KEY, LOADED_FROM, LOADED_RUN, OUTCOME, PARENT, PROFILE

_CONNECTIONS = 8  # runs sent to a server at a time
_BATCH = 16  # runs in memory


@dataclass
class Loaded:
    """The numbers of runs added and of cells known before. note: why there are no summaries."""

    archive: Archive
    added: int
    known: int
    note: str = ""

    def __str__(self) -> str:
        counts = ", ".join(f"{ascii_text(label)}: {count:,}" for label, count in sorted(self.archive.labels.items()))
        known = f", {self.known:,} already recorded" if self.known else ""
        line = f"{self.archive.experiment}: {self.added:,} cells added{known} ({counts})"
        return f"{line}\n  {self.note}" if self.note else line


def load(archive: Archive) -> Loaded:
    """Adds each run of a file whose cell is not finished in the tracking store; finished cells get missing labels.

    A repeated call continues an interrupted one and adds nothing twice. Raises SweepBusy while the sweep runs in this
    working folder, ValueError for a file that was changed meanwhile, StoreUnreachable and MLflow's exceptions when the
    store does not answer.
    """
    name = archive.experiment
    folder = made_home() / "records"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / f"{name}.lock", timeout=0):
            return _load(archive, Store.open(name, create=True))
    except Timeout:
        raise SweepBusy(f"sweep {name} is running in this working folder; wait for it or stop it first") from None


def _load(archive: Archive, store: Store) -> Loaded:
    held = by_key(store.cells())[0]
    missing = {key for key, (_, outcome, *_) in archive.known.items() if not _is_done(held.get(key), outcome)}
    loaded, sweep, question = Loaded(archive, len(missing), len(archive.known) - len(missing)), None, ""
    for key in archive.known.keys() - missing:
        store.add_labels(held[key], archive.known[key][0])
    try:
        sweep = sweep_named(archive.experiment)
        question = sweep.about.split("\n\n")[0]
    except Exception as error:  # importing it may need data
        loaded.note = f"no means over seeds: {first_line(error)}"
    _Loading(archive, store, question, held, missing).run()
    known = unique_runs(store).values()
    add_data_sets(store, known)
    if sweep:
        cells = [plain_cell(run.data.tags[CELL]) for run in known]
        ui.describe(store, question, ui.settings(sweep.best, varying(cells)))
        summarise(store, sweep, known)
    gather_statistics(store.uri)
    return loaded


def _is_done(run: Run | None, outcome: str) -> bool:
    """Whether a cell needs no run of this outcome: a complete run replaces one that was stopped early."""
    if run is None or not is_finished(run):
        return False
    return run.data.tags[OUTCOME] == COMPLETE or outcome != COMPLETE


class _Loading:
    """Adds the missing runs of a file, under one parent run for each label."""

    def __init__(self, archive: Archive, store: Store, question: str, held: Mapping[str, Run], missing: set[str]):
        self.archive, self.store, self.question, self.held, self.missing = archive, store, question, held, missing
        self.lock = threading.Lock()
        found = store.search(f"tags.`{LOADED_FROM}` != '' and tags.`{CELLS}` != ''")
        ours = [run for run in found if run.data.tags[LOADED_FROM] == archive.name and is_own(run)]
        before = {run.data.tags.get(PROFILE, ""): run for run in ours}
        self.parents = {label: run.info.run_id for label, run in before.items() if run.info.status == "RUNNING"}
        for label, count in Counter(next(iter(archive.known[key][0]), "") for key in missing).items():
            self.parents[label] = self._parent(label, count, before.get(label))

    def run(self) -> None:
        """Raises MLflow's exceptions when the store does not answer."""
        lines, shown = (run for run in self.archive.runs() if run.key in self.missing), Console(stderr=True)
        workers = 1 if self.store.uri.startswith("sqlite:") else _CONNECTIONS  # SQLite writes one at a time
        batches, count = iter(lambda: list(itertools.islice(lines, _BATCH)), []), math.ceil(len(self.missing) / _BATCH)
        with ThreadPoolExecutor(workers) as pool:
            for batch in track(batches, self.archive.experiment, count, console=shown, disable=not shown.is_terminal):
                list(pool.map(self._add, batch))
        for parent in self.parents.values():
            self.store.client.set_terminated(parent, "FINISHED", max(end for *_, end in self.archive.known.values()))

    def _parent(self, label: str, count: int, found: Run | None) -> str:
        """The id of a label's parent run. found: that of an earlier attempt, whose incomplete runs are deleted."""
        client, name = self.store.client, self.archive.experiment
        if found is None:
            tags = own_tags() | {PROFILE: label, LOADED_FROM: self.archive.name, MLFLOW_SOURCE_TYPE: "LOCAL"}
            tags |= {MLFLOW_RUN_NAME: clipped(f"{name} {label}, loaded", NAME_LENGTH), CELLS: str(count)}
            start = min(start for *_, start, _ in self.archive.known.values())
            run_id = client.create_run(self.store.experiment_id, start_time=start, tags=tags).info.run_id
        else:
            run_id = found.info.run_id
            client.update_run(run_id, status="RUNNING")
            for run in list(self.store.search(f"tags.`{PARENT}` = '{run_id}'")):
                if KEY in run.data.tags:
                    count += 1
                else:
                    client.delete_run(run.info.run_id)
        note = notes.loaded_note(self.question, self.archive.name, count, self.store.experiment_id, run_id)
        client.log_batch(run_id, tags=[RunTag(MLFLOW_RUN_NOTE, note), RunTag(CELLS, str(count))])
        return run_id

    def _add(self, run: FinishedRun) -> None:
        """Adds one run. Its key is set last, when everything else is there: until then it counts as no cell."""
        client, label = self.store.client, next(iter(run.labels), "")
        parent = self.parents[label]
        tags = run.tags | {PARENT: parent, OUTCOME: run.outcome, MLFLOW_SOURCE_TYPE: "LOCAL"}
        tags |= {LOADED_FROM: self.archive.name, LOADED_RUN: run.run}
        made = client.create_run(self.store.experiment_id, start_time=run.start, tags=tags)
        run_id = made.info.run_id
        points = [Metric(name, math.nan if value is None else value, run.start + time, step)
                  for name, values in run.metrics.items() for step, time, value in values]  # fmt: skip
        params = [Param(*param) for param in run.params.items()]
        described = [RunTag(MLFLOW_RUN_NOTE, self._note(run, label, parent, points, constants(made)))]
        client.log_batch(run_id, points, params, described)
        if run.inputs:
            with self.lock:  # so that a new data set is created once
                self.store.add_inputs(run_id, inputs(run.inputs))
        client.set_terminated(run_id, "FINISHED", run.end)
        client.set_tag(run_id, KEY, run.key)
        before = self.held.get(run.key)
        if before is not None and before.info.status != "RUNNING":  # otherwise a driver may be working on it
            delete_unfinished([before.info.run_id], self.store)

    def _note(
        self, run: FinishedRun, label: str, parent: str, points: Sequence[Metric], known: Mapping[str, float]
    ) -> str:
        """The description of a run, made anew: one from a file could contain any link."""
        about = plain_cell(run.tags[CELL]), self.store.experiment_id, parent
        note = notes.cell_note(self.question, self.archive.experiment, label, *about)
        results = {point.key: point.value for point in points if not point.key.startswith(NOT_RESULTS)}
        return storable_text(notes.add_results(note, results, known, None))
