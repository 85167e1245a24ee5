"""Reads what runs of an experiment have recorded: a table of cells, constants, curves,
tables, arrays, invocations.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from infoscope.errors import InvalidInput
from infoscope.tracking.cell_folder import COMPLETE
from infoscope.tracking.checks import first_line
from infoscope.tracking.renamed import present_name, present_names
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
from infoscope.tracking.tags import (
    CELLS,
    CONSTANTS,
    CURVES,
    KEY,
    OUTCOME,
    PROFILE,
    SYSTEM,
    VERSION,
)

Content = TypeVar("Content")
# by MLflow, every minute or two
SAMPLED = "system/cpu_utilization_percentage"


def runs(
    experiment: str, profile: str | None = None, finished: bool = True
) -> pd.DataFrame:
    """The cells of an experiment, a row for each (see `by_key`).

    Parameters
    ----------
    experiment
        The name of a sweep.
    profile
        Only cells with this label; None: all.
    finished
        Only completed cells.

    Returns
    -------
    DataFrame
        Columns: run_id, key, profile (all, joined by "; "), version, outcome, status,
        start (UTC), seconds (first start to end), tags (a dict), then fields and
        metrics (None where missing).

    Raises
    ------
    LookupError
        When the experiment does not exist or has no such runs.
    """
    cells = by_key(Store.open(experiment).cells()).values()
    chosen = []
    for run in cells:
        if not finished or is_finished(run) and run.data.tags[OUTCOME] == COMPLETE:
            chosen.append(run)
    if with_label(cells, profile) and not with_label(chosen, profile):
        raise LookupError(
            f"no run of {experiment!r} under {profile or 'any profile'} has finished; "
            "their runs in MLflow show why"
        )
    return frame_of(require_under(chosen, experiment, profile), experiment)


def frame_of(runs: Sequence[Run], experiment: str) -> pd.DataFrame:
    """A table with a row for each run: columns of every run, the fields of its cell,
    its constants and metrics.
    """
    rows = []
    fields: set[str] = set()
    for run in runs:
        cell = values(run)
        fields.update(cell)
        measured = present_names(experiment, constants(run) | _metrics(run))
        rows.append(_row(run) | cell | measured)
    frame = pd.DataFrame(rows)
    for name in fields:
        # a field that only some cells have: keep its type
        if frame[name].isna().to_numpy().any():
            frame[name] = pd.Series([row.get(name) for row in rows], dtype=object)
    return frame


def _row(run: Run) -> dict[str, Any]:
    tags = run.data.tags
    info = run.info
    start = info.start_time or 0
    end = info.end_time or start
    return {
        "run_id": info.run_id,
        "key": tags[KEY],
        "profile": tags.get(PROFILE, ""),
        "version": tags.get(VERSION, ""),
        "outcome": tags.get(OUTCOME, ""),
        "status": info.status,
        "start": pd.Timestamp(start, unit="ms", tz="UTC"),
        "seconds": (end - start) / 1000,
        "tags": dict(tags),
    }


def constants(run: Run) -> dict[str, float]:
    """The constants of a run's cell, known without any training, by name."""
    numbers = {}
    for tag, text in run.data.tags.items():
        if tag == CONSTANTS or tag.startswith(f"{CONSTANTS} "):
            try:
                numbers |= constants_of(tag, text)
            except ValueError as error:
                warn_skipped(run.info.run_id, str(error))
    return numbers


def constants_of(tag: str, text: str) -> dict[str, float]:
    """The constants in one tag, by name. Raises ValueError for a tag that contains no
    numbers.
    """
    try:
        numbers = {name: float(value) for name, value in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise InvalidInput(
            f"its tag {tag} is {text[:60]!r}, which contains no numbers"
        ) from None
    place = tag.removeprefix(CONSTANTS).strip()
    if not place:
        return numbers
    return {f"{place}/{name}": value for name, value in numbers.items()}


def _metrics(run: Run) -> dict[str, float]:
    """The metrics of a run, without the load of its machine; curves without their
    prefix.
    """
    metrics: dict[str, float] = {}
    curves: dict[str, float] = {}
    for name, value in run.data.metrics.items():
        if name.startswith(CURVES):
            curves[name.removeprefix(CURVES)] = value
        elif not name.startswith(SYSTEM):
            metrics[name] = value
    return metrics | curves  # a curve replaces a metric of its name


def table(run_id: str, name: str) -> pd.DataFrame:
    """A table reported with `report.table`.

    Parameters
    ----------
    run_id
        The id of a cell's run.
    name
        The name of the table.

    Raises
    ------
    LookupError
        If the run has no such table.
    ValueError
        If the file is damaged.
    """
    return _artifact(run_id, "table", f"{name}.parquet", pd.read_parquet)


def arrays(run_id: str, name: str) -> dict[str, np.ndarray]:
    """Arrays by name, reported with `report.arrays`; no pickle is read.

    Parameters
    ----------
    run_id
        The id of a cell's run.
    name
        The name under which they were reported.

    Raises
    ------
    LookupError
        If the run has no such arrays.
    ValueError
        If the file is damaged.
    """

    def read(path: str) -> dict[str, np.ndarray]:
        with np.load(path, allow_pickle=False) as file:
            return dict(file)

    return _artifact(run_id, "arrays", f"{name}.npz", read)


def _artifact(
    run_id: str, kind: str, file: str, read: Callable[[str], Content]
) -> Content:
    client = connect(tracking_uri())
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = client.download_artifacts(run_id, file, folder)
        except (MlflowException, FileNotFoundError) as error:
            raise LookupError(
                f"run {run_id} has no {kind} {Path(file).stem!r}, like all runs that "
                "were loaded from a file: "
                f"{first_line(error)}"
            ) from None
        try:
            return read(path)
        except (
            ValueError,
            OSError,
            EOFError,
            MemoryError,
            zipfile.BadZipFile,
            zlib.error,
        ) as error:  # pyarrow's, too
            raise ValueError(
                f"{file} of run {run_id} cannot be read: {first_line(error)}"
            ) from None


def curve(run_id: str, name: str) -> pd.Series:
    """The values of a metric by step.

    Parameters
    ----------
    run_id
        The id of a cell's run.
    name
        The present name of the metric, without the prefix of curves.
    """
    client = connect(tracking_uri())
    history = client.get_metric_history(run_id, CURVES + name)
    history = history or client.get_metric_history(run_id, name)
    if not history:
        history = client.get_metric_history(run_id, _older_name(client, run_id, name))
    points = sorted(history, key=lambda point: (point.step, point.timestamp))
    values = {point.step: point.value for point in points}  # the newest of each step
    return pd.Series(values, name=name, dtype=float).rename_axis("step")


def sample_times(run_id: str) -> list[pd.Timestamp]:
    """Times (UTC) at which MLflow sampled the machine while a run was under way; none
    of a run from an archive.
    """
    history = connect(tracking_uri()).get_metric_history(run_id, SAMPLED)
    stamps = sorted(point.timestamp for point in history)
    return [pd.Timestamp(stamp, unit="ms", tz="UTC") for stamp in stamps]


def _older_name(client: MlflowClient, run_id: str, name: str) -> str:
    """The older name under which a run has recorded a metric, as a curve where there is
    one; `name` if there is none.
    """
    run = client.get_run(run_id)
    experiment = client.get_experiment(run.info.experiment_id).name
    for prefix in (CURVES, ""):
        for metric in run.data.metrics:
            older = metric.removeprefix(prefix)
            if metric.startswith(prefix) and present_name(experiment, older) == name:
                return metric
    return name


def parents(experiment: str, profile: str | None = None) -> list[Run]:
    """The runs of a sweep's invocations, newest first.

    Parameters
    ----------
    experiment
        The name of a sweep.
    profile
        Only invocations with this label; None: all.

    Raises
    ------
    LookupError
        For an unknown experiment.
    """
    invocations = Store.open(experiment).search(f"tags.`{CELLS}` != ''")
    if profile is not None:
        invocations = [
            run for run in invocations if run.data.tags.get(PROFILE) == profile
        ]
    return sorted(invocations, key=lambda run: run.info.start_time, reverse=True)
