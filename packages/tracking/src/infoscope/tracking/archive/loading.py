"""Loads a file of finished runs into a store, where its cells count as done."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlflow.entities import Run
from rich.console import Console
from rich.progress import track

from infoscope.tracking.archive.format import Archive, FinishedRun, ascii_text
from infoscope.tracking.cell_folder import COMPLETE, CellFolder
from infoscope.tracking.driver import locked, own_tag
from infoscope.tracking.publishing import publish
from infoscope.tracking.recorded import constants_of
from infoscope.tracking.renamed import present_names
from infoscope.tracking.store import (
    Store,
    by_key,
    gather_statistics,
    is_finished,
    plain_cell,
)
from infoscope.tracking.sync import open_parent
from infoscope.tracking.tags import (
    CELL,
    CONSTANTS,
    KEY,
    LOADED_FROM,
    LOADED_RUN,
    OUTCOME,
    PARENT,
)


@dataclass
class Loaded:
    """The numbers of runs added and of cells recorded before."""

    archive: Archive
    added: int
    known: int

    def __str__(self) -> str:
        counts = [
            f"{ascii_text(label)}: {count:,}"
            for label, count in sorted(self.archive.labels.items())
        ]
        recorded = f", {self.known:,} already recorded" if self.known else ""
        return (
            f"{self.archive.experiment}: {self.added:,} cells added{recorded} "
            f"({', '.join(counts)})"
        )


def load(archive: Archive) -> Loaded:
    """Adds each run of a file whose cell is not finished in the tracking store;
    finished cells get missing labels.

    A repeated call continues an interrupted one and adds nothing twice. Raises
    SweepBusy while the sweep runs in this working folder, StoreUnreachable and MLflow's
    exceptions when the store does not answer.
    """
    with locked(archive.experiment) as folder:
        store = Store.open(archive.experiment, create=True)
        recorded = by_key(store.cells())
        missing = []
        for run in archive.runs:
            if _is_done(recorded.get(run.key), run.outcome):
                store.add_labels(recorded[run.key], run.labels)
            else:
                missing.append(run)
        _load(archive, store, missing, folder)
        gather_statistics(store.uri)
    return Loaded(archive, len(missing), len(archive.runs) - len(missing))


def _is_done(run: Run | None, outcome: str) -> bool:
    """Whether a cell needs no run of this outcome: a complete run replaces one that was
    stopped early.
    """
    if run is None or not is_finished(run):
        return False
    return run.data.tags[OUTCOME] == COMPLETE or outcome != COMPLETE


def _load(
    archive: Archive, store: Store, missing: Sequence[FinishedRun], folder: Path
) -> None:
    """Publishes the missing runs, under one parent run for each label."""
    by_label: dict[str, list[FinishedRun]] = defaultdict(list)
    for run in missing:
        label = run.labels[0] if run.labels else ""
        by_label[label].append(run)
    console = Console(stderr=True)
    for label, runs in by_label.items():
        parent = open_parent(
            store, label, len(runs), archive.name, {LOADED_FROM: archive.name}
        )
        for run in track(
            runs,
            f"{archive.experiment} {label}",
            console=console,
            disable=not console.is_terminal,
        ):
            cell = _cell_folder(run, archive, parent, folder)
            publish(cell, store)
            cell.remove()
        store.client.set_terminated(parent, "FINISHED", max(run.end for run in runs))


def _cell_folder(
    run: FinishedRun, archive: Archive, parent: str, folder: Path
) -> CellFolder:
    """The folder of a finished cell, as the worker that computed it would have left it."""
    constants: dict[str, float] = {}
    tags: dict[str, str] = {}
    for tag, text in run.tags.items():
        if tag.startswith(CONSTANTS):
            constants |= constants_of(tag, text)
        else:
            tags[tag] = text
    tags |= {
        **own_tag(),
        KEY: run.key,
        PARENT: parent,
        LOADED_FROM: archive.name,
        LOADED_RUN: run.run,
    }
    cell = CellFolder(folder / run.key)
    cell.begin(plain_cell(run.tags[CELL]), tags, run.start)
    lines: list[dict[str, Any]] = [{"time": run.start, "datasets": run.inputs}]
    if constants:
        lines.append(
            {
                "time": run.start,
                "constants": present_names(archive.experiment, constants),
            }
        )
    for name, points in present_names(archive.experiment, run.metrics).items():
        for step, delay, value in points:
            number = math.nan if value is None else value
            lines.append(
                {"time": run.start + delay, "step": step, "metrics": {name: number}}
            )
    cell.append(*lines)
    cell.end(run.outcome, at=run.end)
    return cell
