"""Writes the finished cells of an experiment to a file."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from mlflow.entities import Run

from infoscope.errors import InvalidInput, OutOfRange
from infoscope.files import reading
from infoscope.tracking.archive.format import (
    FinishedRun,
    read_archive,
    validated,
    write_archive,
)
from infoscope.tracking.archive.portable import portable_source, portable_tags
from infoscope.tracking.checks import plain_name
from infoscope.tracking.datasets import entry_of
from infoscope.tracking.store import Store, by_key, is_finished, require_under
from infoscope.tracking.tags import KEY, LOADED_RUN, OUTCOME, SYSTEM


@dataclass
class Saved:
    """What was saved. labels: number of runs by profile."""

    path: Path
    experiment: str
    runs: int = 0
    labels: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        counts = [f"{label}: {count:,}" for label, count in sorted(self.labels.items())]
        size = self.path.stat().st_size
        return (
            f"{self.path}: {self.runs:,} finished cells of {self.experiment} "
            f"({', '.join(counts)}), {size:,} bytes"
        )


def save(experiment: str, path: Path, profile: str | None = None) -> Saved:
    """Writes the finished cells of an experiment to a file, one run for each (see
    `by_key`) with all its labels.

    Of each metric the newest point is saved; tables, arrays and models are not.
    profile: only cells with this label.

    Raises LookupError when there are none, ValueError for a run that cannot be saved,
    and when an existing file has cells that the new one would lack; nothing is written
    then.
    """
    store = Store.open(plain_name("the name of an experiment", experiment))
    finished = [run for run in by_key(store.cells()).values() if is_finished(run)]
    runs = [
        _finished_run(run, path) for run in require_under(finished, experiment, profile)
    ]
    if path.exists():
        _require_no_loss(path, experiment, {run.key for run in runs})
    write_archive(path, experiment, runs)
    saved = Saved(path, experiment, len(runs))
    for run in runs:
        saved.labels.update(run.labels)
    return saved


def _require_no_loss(path: Path, experiment: str, keys: set[str]) -> None:
    """Raises ValueError if a file has cells, curves or tables that a new one would
    lack: it may be the only record of them.
    """
    existing = read_archive(path)
    if existing.experiment != experiment:
        raise InvalidInput(
            f"{path} must hold runs of {experiment}, but it holds runs of "
            f"{existing.experiment}"
        )
    lost = {run.key for run in existing.runs} - keys
    if lost:
        raise OutOfRange(
            f"{path} has {len(lost)} cells that would be lost; load it first (`make "
            f"runs-load ARGS={path}`) or move it"
        )
    for content in ("curves", "tables"):
        if getattr(existing.header, content):
            raise InvalidInput(
                f"{path} has {content} that would be lost: save to another folder, or "
                "remove it"
            )


def _finished_run(run: Run, path: Path) -> FinishedRun:
    tags = run.data.tags
    start = run.info.start_time or 0
    metrics = {}
    # with steps and times, which `run.data.metrics` lacks, and which would cost one
    # request per metric
    for point in run.data._metric_objs:
        if not point.key.startswith(SYSTEM):
            value = point.value if math.isfinite(point.value) else None
            metrics[point.key] = [(point.step, point.timestamp - start, value)]
    inputs = []
    for data in run.inputs.dataset_inputs if run.inputs else ():
        entry = entry_of(data)
        entry["source"] = portable_source(entry["source"])
        inputs.append(entry)
    fields = {
        "key": tags[KEY],
        "run": tags.get(LOADED_RUN, run.info.run_id),
        "outcome": tags[OUTCOME],
        "start": start,
        "end": run.info.end_time or start,
        "tags": portable_tags(tags),
        "params": dict(run.data.params),
        "metrics": metrics,
        "inputs": sorted(
            inputs, key=lambda entry: (entry["name"], entry["digest"], entry["context"])
        ),
        "files": {},
    }
    with reading(path, "", f"run {fields['run']} cannot be saved to a file"):
        return validated(FinishedRun.model_validate, fields)
