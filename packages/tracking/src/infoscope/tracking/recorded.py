"""Reads what runs of an experiment have recorded: a table of cells, constants, curves, tables, arrays, invocations."""

from __future__ import annotations

import json
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from mlflow.entities import Metric, Run
from mlflow.exceptions import MlflowException

from infoscope.errors import InvalidInput
from infoscope.tracking.cell_folder import COMPLETE
from infoscope.tracking.checks import first_line
from infoscope.tracking.renamed import present_names
from infoscope.tracking.store import (
    Store,
    by_key,
    connect,
    is_finished,
    require_under,
    tracking_uri,
    values,
    warn_skipped,
    with_label,
)
from infoscope.tracking.tags import CELLS, CONSTANTS, CURVES, KEY, OUTCOME, PROFILE, SYSTEM, VERSION

Content = TypeVar("Content")


def runs(experiment: str, profile: str | None = None, finished: bool = True) -> pd.DataFrame:
    """The cells of an experiment, one row each (see `by_key`).

    Columns: run_id, key, profile (all, joined by "; "), version, outcome, status, start (UTC), seconds (first start to
    end), tags (a dict), then fields and metrics (None where missing).

    finished: only completed cells. Raises LookupError when the experiment does not exist or has no such runs.
    """
    everything = list(by_key(Store.open(experiment).cells()).values())
    ended = [run for run in everything if not finished or is_finished(run) and run.data.tags[OUTCOME] == COMPLETE]
    if with_label(everything, profile) and not with_label(ended, profile):
        raise LookupError(
            f"no run of {experiment!r} under {profile or 'any profile'} has finished; their runs in MLflow show why"
        )
    return frame_of(require_under(ended, experiment, profile), experiment)


def frame_of(runs: Sequence[Run], experiment: str) -> pd.DataFrame:
    """A table with one row per run: columns of every run, the fields of its cell, its constants and metrics."""
    rows = []
    for run in runs:
        measured = present_names(experiment, constants(run) | _metrics(run))
        rows.append(_row(run) | values(run) | measured)
    frame = pd.DataFrame(rows)
    fields = {name for run in runs for name in values(run)}
    for name in fields:
        if frame[name].isna().any():  # a field that only some cells have: keep its type
            frame[name] = pd.Series([row.get(name) for row in rows], dtype=object)
    return frame


def _row(run: Run) -> dict[str, Any]:
    tags, info = run.data.tags, run.info
    start = info.start_time or 0
    return {
        "run_id": info.run_id,
        "key": tags[KEY],
        "profile": tags.get(PROFILE, ""),
        "version": tags.get(VERSION, ""),
        "outcome": tags.get(OUTCOME, ""),
        "status": info.status,
        "start": pd.Timestamp(start, unit="ms", tz="UTC"),
        "seconds": ((info.end_time or start) - start) / 1000,
        "tags": dict(tags),
    }


def constants(run: Run) -> dict[str, float]:
    """The constants of a run's cell, known without any training, by name."""
    found = {}
    for tag, text in run.data.tags.items():
        if tag == CONSTANTS or tag.startswith(f"{CONSTANTS} "):
            try:
                found |= constants_of(tag, text)
            except ValueError as error:
                warn_skipped(run, str(error))
    return found


def constants_of(tag: str, text: str) -> dict[str, float]:
    """The constants in one tag, by name. Raises ValueError for a tag that contains no numbers."""
    place = tag.removeprefix(CONSTANTS).strip()
    try:
        found = {name: float(value) for name, value in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise InvalidInput(f"its tag {tag} is {text[:60]!r}, which contains no numbers") from None
    return {f"{place}/{name}" if place else name: value for name, value in found.items()}


def _metrics(run: Run) -> dict[str, float]:
    """The metrics of a run without those of its machine; curves without their prefix."""
    names = [name for name in run.data.metrics if not name.startswith(SYSTEM)]
    ordered = sorted(names, key=lambda name: name.startswith(CURVES))  # a curve replaces a metric of its name
    return {name.removeprefix(CURVES): run.data.metrics[name] for name in ordered}


def table(run_id: str, name: str) -> pd.DataFrame:
    """A table reported with `report.table`. Raises LookupError if missing, ValueError if damaged."""
    return _artifact(run_id, "table", f"{name}.parquet", pd.read_parquet)


def arrays(run_id: str, name: str) -> dict[str, np.ndarray]:
    """Arrays reported with `report.arrays`; no pickle is read. Raises LookupError if missing, ValueError if damaged."""

    def read(path: str) -> dict[str, np.ndarray]:
        with np.load(path, allow_pickle=False) as file:
            return dict(file)

    return _artifact(run_id, "arrays", f"{name}.npz", read)


def _artifact(run_id: str, kind: str, file: str, read: Callable[[str], Content]) -> Content:
    client = connect(tracking_uri())
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = client.download_artifacts(run_id, file, folder)
        except (MlflowException, FileNotFoundError) as error:
            raise LookupError(
                f"run {run_id} has no {kind} {Path(file).stem!r}, as all runs that were loaded from a file: "
                f"{first_line(error)}"
            ) from None
        try:
            return read(path)
        except (ValueError, OSError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error) as error:  # pyarrow's, too
            raise ValueError(f"{file} of run {run_id} cannot be read: {first_line(error)}") from None


def newest(history: Iterable[Metric]) -> dict[int, Metric]:
    """The newest point of each step of a metric; a cell may have reported several ."""
    return {point.step: point for point in sorted(history, key=lambda point: (point.step, point.timestamp))}


def curve(run_id: str, name: str) -> pd.Series:
    """The values of a metric by step."""
    client = connect(tracking_uri())
    points = newest(client.get_metric_history(run_id, CURVES + name) or client.get_metric_history(run_id, name))
    return pd.Series({step: point.value for step, point in points.items()}, name=name, dtype=float).rename_axis("step")


def parents(experiment: str, profile: str | None = None) -> list[Run]:
    """The runs of a sweep's invocations (with a label), newest first. Raises LookupError for an unknown experiment."""
    found = Store.open(experiment).search(f"tags.`{CELLS}` != ''")
    chosen = [run for run in found if profile is None or run.data.tags.get(PROFILE) == profile]
    return sorted(chosen, key=lambda run: run.info.start_time, reverse=True)
