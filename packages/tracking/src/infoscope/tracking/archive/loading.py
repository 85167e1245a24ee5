"""A file of finished runs, into a store, where its cells count as done."""

from __future__ import annotations

import itertools
import math
import tempfile
import threading
from base64 import b64decode
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME, MLFLOW_RUN_NOTE, MLFLOW_SOURCE_TYPE
from rich.console import Console
from rich.progress import track

from infoscope.tracking import notes
from infoscope.tracking.archive.lines import Archive, Finished, printable
from infoscope.tracking.checks import NAME_LENGTH, clipped, storable_text
from infoscope.tracking.datasets import inputs
from infoscope.tracking.record import COMPLETE
from infoscope.tracking.sending.publish import by_key_once, withdraw
from infoscope.tracking.sending.signs import SweepBusy, is_own, own_tags
from infoscope.tracking.sending.summaries import summarise, tell_data
from infoscope.tracking.status import declared
from infoscope.tracking.store import ui
from infoscope.tracking.store.store import (
    NO_FIGURES,
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

_AT_ONCE = 8  # runs that are sent to a server
_BATCH = 16  # runs in memory


@dataclass
class Loaded:
    """Numbers of runs added and of cells known already; note: why there are no summaries."""

    archive: Archive
    added: int
    known: int
    note: str = ""

    def __str__(self) -> str:
        told = ", ".join(f"{printable(label)}: {count:,}" for label, count in sorted(self.archive.labels.items()))
        there = f", {self.known:,} were there already" if self.known else ""
        line = f"{self.archive.experiment}: {self.added:,} cells added{there} ({told})"
        return f"{line}\n  {self.note}" if self.note else line


def load(archive: Archive) -> Loaded:
    """Adds each run of a file whose cell is not finished in the tracking store; finished cells get missing labels.

    A repeated call continues an interrupted one and adds nothing twice; a terminal shows how far it is. Raises
    SweepBusy while the sweep runs in this working tree, ValueError for a file that was changed meanwhile,
    StoreUnreachable and MLflow's exceptions when the store does not answer.
    """
    name = archive.experiment
    folder = made_home() / "records"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / f"{name}.lock", timeout=0):
            return _load(archive, Store.open(name, create=True))
    except Timeout:
        raise SweepBusy(f"sweep {name} is running in this working tree; wait for it or stop it first") from None


def _load(archive: Archive, store: Store) -> Loaded:
    held = by_key(store.cells())[0]
    missing = {key for key, (_, outcome, *_) in archive.known.items() if not _is_done(held.get(key), outcome)}
    loaded, sweep, question = Loaded(archive, len(missing), len(archive.known) - len(missing)), None, ""
    for key in archive.known.keys() - missing:
        store.add_labels(held[key], archive.known[key][0])
    try:
        sweep = declared(archive.experiment)
        question = sweep.about.split("\n\n")[0]
    except Exception as error:  # it may ask for its data when it is imported
        loaded.note = f"no means over seeds ({first_line(error)})"
    _Loading(archive, store, question, held, missing).run()
    known = by_key_once(store).values()
    tell_data(store, known)
    if sweep:
        cells = [plain_cell(run.data.tags[CELL]) for run in known]
        ui.describe(store, question, ui.settings(sweep.best, varying(cells)))
        summarise(store, sweep, known)
    gather_statistics(store.uri)
    return loaded


def _is_done(run: Run | None, outcome: str) -> bool:
    """Whether a cell needs no run of this outcome: one that was stopped gives way to one that is complete."""
    if run is None or not is_finished(run):
        return False
    return run.data.tags[OUTCOME] == COMPLETE or outcome != COMPLETE


class _Loading:
    """Adds the missing runs of a file, under one parent for each label."""

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
        workers = 1 if self.store.uri.startswith("sqlite:") else _AT_ONCE  # SQLite takes one at a time
        batches, count = iter(lambda: list(itertools.islice(lines, _BATCH)), []), math.ceil(len(self.missing) / _BATCH)
        with ThreadPoolExecutor(workers) as pool:
            for batch in track(batches, self.archive.experiment, count, console=shown, disable=not shown.is_terminal):
                list(pool.map(self._add, batch))
        for parent in self.parents.values():
            self.store.client.set_terminated(parent, "FINISHED", max(end for *_, end in self.archive.known.values()))

    def _parent(self, label: str, count: int, found: Run | None) -> str:
        """The id of a label's parent; `found`: the one of an earlier attempt, which loses incomplete runs."""
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
        note = notes.of_loaded(self.question, self.archive.name, count, self.store.experiment_id, run_id)
        client.log_batch(run_id, tags=[RunTag(MLFLOW_RUN_NOTE, note), RunTag(CELLS, str(count))])
        return run_id

    def _add(self, run: Finished) -> None:
        """Makes one run. Its key goes last, when all the rest is there: without it it is no cell's."""
        client, label = self.store.client, next(iter(run.labels), "")
        parent = self.parents[label]
        tags = run.tags | {PARENT: parent, OUTCOME: run.outcome, MLFLOW_SOURCE_TYPE: "LOCAL"}
        tags |= {LOADED_FROM: self.archive.name, LOADED_RUN: run.run}
        made = client.create_run(self.store.experiment_id, start_time=run.start, tags=tags)
        run_id = made.info.run_id
        points = [Metric(name, math.nan if value is None else value, run.start + time, step)
                  for name, told in run.metrics.items() for step, time, value in told]  # fmt: skip
        params = [Param(*param) for param in run.params.items()]
        described = [RunTag(MLFLOW_RUN_NOTE, self._note(run, label, parent, points, constants(made)))]
        client.log_batch(run_id, points, params, described)
        if run.files:
            with tempfile.TemporaryDirectory() as folder:
                for name, text in run.files.items():
                    (Path(folder) / name).write_bytes(b64decode(text))
                client.log_artifacts(run_id, folder)
        if run.inputs:
            with self.lock:  # new data sets are made once
                self.store.add_inputs(run_id, inputs(run.inputs))
        client.set_terminated(run_id, "FINISHED", run.end)
        client.set_tag(run_id, KEY, run.key)
        before = self.held.get(run.key)
        if before is not None and before.info.status != "RUNNING":  # else whoever works on it may live
            withdraw([before.info.run_id], self.store)

    def _note(
        self, run: Finished, label: str, parent: str, points: Sequence[Metric], known: Mapping[str, float]
    ) -> str:
        """Its description, as it gets one when it is run: that of a file could hold any link."""
        about = plain_cell(run.tags[CELL]), self.store.experiment_id, parent
        note = notes.of_cell(self.question, self.archive.experiment, label, *about)
        figures = {point.key: point.value for point in points if not point.key.startswith(NO_FIGURES)}
        return storable_text(notes.with_results(note, figures, known, None))
