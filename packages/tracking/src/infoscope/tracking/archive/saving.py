"""The finished cells of an experiment, into a file."""

from __future__ import annotations

import contextlib
import math
import tempfile
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mlflow.entities import Metric, Run

from infoscope.errors import InvalidInput, OutOfRange
from infoscope.files import reading
from infoscope.tracking.archive.lines import (
    FILE_BYTES,
    Finished,
    check_file,
    checked,
    names_folder,
    opened,
    portable_source,
    portable_tags,
    write,
)
from infoscope.tracking.checks import plain_name
from infoscope.tracking.datasets import entry_of
from infoscope.tracking.record import SYSTEM
from infoscope.tracking.store.store import Store, by_key, is_finished, newest, require_under, values
from infoscope.tracking.tags import KEY, LOADED_RUN, OUTCOME


@dataclass
class Saved:
    """labels: runs by profile; left_out: tables and arrays too large; folders: keys of cells that hold a path."""

    path: Path
    experiment: str
    runs: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    folders: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = ", ".join(f"{label}: {count:,}" for label, count in sorted(self.labels.items()))
        size = self.path.stat().st_size
        lines = [f"{self.path}: {self.runs:,} finished cells of {self.experiment} ({told}), {size:,} bytes"]
        if self.left_out:
            names = ", ".join(f"{name} of {count:,} runs" for name, count in sorted(self.left_out.items()))
            lines.append(f"  left out, for they have more than {FILE_BYTES:,} bytes: {names}")
        if self.folders:
            named = ", ".join(self.folders[:3]) + (", ..." if len(self.folders) > 3 else "")
            lines.append(f"  {len(self.folders)} cells name a folder of a machine among their values ({named})")
        return "\n".join(lines)


def save(experiment: str, path: Path, profile: str | None = None, tables: bool = False, curves: bool = False) -> Saved:
    """Writes the finished cells of an experiment into a file: one run for each (see `by_key`), with all its labels, no
    models.

    profile: only those under this label. tables: include tables and arrays of at most FILE_BYTES each. curves: all
    points of the metrics, not only the newest.

    Raises LookupError when there are none, ValueError for a run that a file does not take, and where the file that
    is there holds anything that the new one would not; nothing is written then.
    """
    store = Store.open(plain_name("the name of an experiment", experiment))
    ended = [run for run in by_key(store.cells())[0].values() if is_finished(run)]
    chosen = require_under(ended, experiment, profile)
    saved = Saved(path, experiment)
    runs = [_finished(run, store, tables, curves, saved) for run in chosen]
    if path.exists():
        _check_held(path, experiment, {run.key for run in runs}, curves, tables)
    write(path, experiment, runs, curves, tables)
    saved.runs = len(runs)
    saved.labels.update(label for run in runs for label in run.labels)
    saved.folders = sorted(run.key for run, made in zip(runs, chosen, strict=True) if names_folder(values(made)))
    return saved


def _check_held(path: Path, experiment: str, keys: set[str], curves: bool, tables: bool) -> None:
    """Raises ValueError where a file holds what one with these cells would not: it may be the only record of that."""
    held = opened(path)
    if held.experiment != experiment:
        raise InvalidInput(f"{path} holds runs of {held.experiment}; give another folder for {experiment}")
    if lost := held.known.keys() - keys:
        raise OutOfRange(
            f"{path} holds {len(lost)} cells that would be lost: load it first (`make runs-load ARGS={path}`), or "
            "remove it to have fewer"
        )
    for what, there, given in (("curves", held.header.curves, curves), ("tables", held.header.tables, tables)):
        if there and not given:
            raise InvalidInput(
                f"{path} holds {what}, which would be lost: give --{what}, too, or remove it to have none"
            )


def _finished(run: Run, store: Store, tables: bool, curves: bool, saved: Saved) -> Finished:
    tags, start = run.data.tags, run.info.start_time or 0
    fields = {
        "key": tags[KEY],
        "run": tags.get(LOADED_RUN, run.info.run_id),
        "outcome": tags[OUTCOME],
        "start": start,
        "end": run.info.end_time or start,
        "tags": portable_tags(tags),
        "params": dict(run.data.params),
        "metrics": {
            name: [
                (point.step, point.timestamp - start, point.value if math.isfinite(point.value) else None)
                for point in points
            ]
            for name, points in _metrics(run, store, curves).items()
        },
        "inputs": _inputs(run),
        "files": _files(run, store, saved) if tables else {},
    }
    with reading(saved.path, "", f"run {fields['run']} cannot be in a file"):
        return checked(Finished.model_validate, fields)


def _metrics(run: Run, store: Store, curves: bool) -> dict[str, Sequence[Metric]]:
    """The newest point of every metric of a cell, or all of them, each step once."""
    # with steps and times, which `run.data.metrics` has not and a request for each metric would take minutes for
    last = {point.key: point for point in run.data._metric_objs if not point.key.startswith(SYSTEM)}
    if not curves:
        return {name: [point] for name, point in last.items()}
    return {name: list(newest(store.client.get_metric_history(run.info.run_id, name)).values()) for name in last}


def _inputs(run: Run) -> list[dict[str, str]]:
    given = map(entry_of, run.inputs.dataset_inputs if run.inputs else ())
    cut = [one | {"source": portable_source(one["source"])} for one in given]
    return sorted(cut, key=lambda one: (one["name"], one["digest"], one["context"]))


def _files(run: Run, store: Store, saved: Saved) -> dict[str, str]:
    client, run_id, found = store.client, run.info.run_id, {}
    with tempfile.TemporaryDirectory() as folder:
        for file in client.list_artifacts(run_id):
            if file.is_dir or not file.path.endswith((".parquet", ".npz")):
                continue
            if (file.file_size or 0) > FILE_BYTES:
                saved.left_out[file.path] += 1
                continue
            data = Path(client.download_artifacts(run_id, file.path, folder)).read_bytes()
            with contextlib.suppress(ValueError):  # somebody's own, of such a name
                check_file(file.path, data)
                found[file.path] = b64encode(data).decode()
    return found
