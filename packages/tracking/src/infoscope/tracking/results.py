"""Adds later results to runs: files, tables in descriptions, metrics. Records runs that
belong to no sweep.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.entities import DatasetInput, Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME, MLFLOW_RUN_NOTE
from PIL import Image

from infoscope.errors import InvalidInput
from infoscope.tracking import notes
from infoscope.tracking.cell_folder import milliseconds, storable
from infoscope.tracking.checks import (
    TAG_LENGTH,
    clipped,
    first_line,
    metric_name,
    require_free_name,
    storable_text,
)
from infoscope.tracking.datasets import inputs
from infoscope.tracking.driver import locked, own_tag
from infoscope.tracking.environment import code_tags
from infoscope.tracking.models import newest_model
from infoscope.tracking.recorded import parents
from infoscope.tracking.store import (
    Store,
    connect,
    describe,
    reached,
    refused,
    tracking_uri,
    values,
)
from infoscope.tracking.tags import CELL, PARENT

FOLDER = "analysis"
_SMALL = 520, 1560  # largest width and height of a picture in a description, pixels
_MAX_LENGTH = 500  # characters of a parameter
Table = tuple[str, Sequence[str], Sequence[Sequence[str]], str]


def publish(
    experiment: str,
    profile: str,
    cells: pd.DataFrame,
    tables: Sequence[Table],
    paths: Iterable[Path],
) -> str:
    """The address of the page of the newest invocation with a label, to which files,
    tables and pictures were added.

    Earlier additions are replaced.

    Parameters
    ----------
    experiment, profile
        The name of a sweep, and a label.
    cells
        The analysed rows of `runs`; without an invocation with the label, the newest of
        theirs is used.
    tables
        Name, header, rows and caption of each table.
    paths
        Files, among them pictures (.png).

    Raises
    ------
    ValueError
        For a path that is no file.
    LookupError
        When there is no invocation.
    """
    paths = _files(paths)
    makers = {tags.get(PARENT) for tags in cells["tags"]}
    run = _invocation(experiment, profile, makers)
    client = connect(tracking_uri())
    pictures = _add_files(client, run.info.run_id, paths)
    earlier = run.data.tags.get(MLFLOW_RUN_NOTE, "")
    note = notes.add_tables(earlier, tables, pictures)
    client.set_tag(run.info.run_id, MLFLOW_RUN_NOTE, note)
    return notes.run_page(run.info.experiment_id, run.info.run_id)


def attach(
    experiment: str, profile: str, paths: Iterable[str | Path], folder: str = FOLDER
) -> str:
    """The run id of the newest ended invocation with a label, to which files were added
    as artifacts.

    Parameters
    ----------
    experiment, profile
        The name of a sweep, and a label.
    paths
        The files.
    folder
        The folder of the artifacts.

    Raises
    ------
    ValueError
        For a path that is no file.
    LookupError
        When no invocation has ended.
    """
    paths = _files(paths)
    run_id = _invocation(experiment, profile).info.run_id
    client = connect(tracking_uri())
    for path in paths:
        client.log_artifact(run_id, str(path), folder)
    return run_id


def _invocation(
    experiment: str, profile: str, makers: Iterable[str | None] = ()
) -> Run:
    """The newest finished invocation with a label; else one that ended with failures,
    or the newest of `makers`.
    """
    invocations = parents(experiment, profile)
    for status in ("FINISHED", "FAILED"):
        for run in invocations:
            if run.info.status == status:
                return run
    store = Store.open(experiment)
    runs = [store.run(run_id) for run_id in sorted(filter(None, makers))]
    present = [run for run in runs if run is not None]
    if not present:
        raise LookupError(
            f"no invocation of {experiment!r} under profile {profile!r} has ended"
        )
    return max(present, key=lambda run: run.info.start_time)


def _files(paths: Iterable[str | Path]) -> list[Path]:
    paths = [Path(path) for path in paths]
    for path in paths:
        if not path.is_file():
            raise InvalidInput(f"{path} must be a file to be attached to a run")
    return paths


def _add_files(
    client: MlflowClient, run_id: str, paths: Iterable[Path]
) -> dict[str, str]:
    """Adds files as artifacts, and small copies of pictures; returns the addresses of
    these copies by name.
    """
    shown = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            client.log_artifact(run_id, str(path), FOLDER)
            if path.suffix == ".png":
                small = Path(folder) / path.name
                with Image.open(path) as picture:
                    picture.thumbnail(_SMALL)
                    picture.save(small)
                client.log_artifact(run_id, str(small), f"{FOLDER}/small")
                shown[path.stem] = notes.picture(run_id, f"{FOLDER}/small/{path.name}")
    return shown


def log_results(
    run_id: str,
    metrics: Mapping[str, float],
    paths: Iterable[str | Path],
    folder: str,
    data: DatasetInput | None = None,
    model_metrics: Collection[str] | None = None,
) -> None:
    """Adds metrics and files of a later evaluation to a cell's run, replacing earlier
    ones.

    Parameters
    ----------
    run_id
        The id of a cell's run.
    metrics
        Values by name.
    paths, folder
        Files, and the folder of their artifacts.
    data
        The data set on which the run's only (or newest) model was evaluated; the
        metrics are then also added to the model, and the data set to the inputs of the
        run.
    model_metrics
        Names of the model's metrics (None: all).

    Raises
    ------
    ValueError
        For a path that is no file, for the name of a field and for a name that MLflow
        would reject.
    """
    paths = _files(paths)
    client = connect(tracking_uri())
    run = client.get_run(run_id)
    fields = values(run) if CELL in run.data.tags else ()
    for name in metrics:
        require_free_name("the name of a metric", metric_name(name), fields)
    recorded: dict[tuple[str, str | None], float] = {
        (name, None): value for name, value in run.data.metrics.items()
    }
    evaluation: dict[str, Any] = {}
    model = newest_model(run, client) if data else None
    if model and data:
        digest = data.dataset.digest
        evaluation = {
            "model_id": model.model_id,
            "dataset_name": data.dataset.name,
            "dataset_digest": digest,
        }
        for point in sorted(model.metrics or (), key=lambda point: point.timestamp):
            if point.dataset_digest == digest:
                recorded[point.key, model.model_id] = point.value
    now = milliseconds()
    points = []
    for name, value in metrics.items():
        of_model = evaluation if model_metrics is None or name in model_metrics else {}
        point = Metric(name, storable(float(value)), now, 0, **of_model)
        if recorded.get((point.key, point.model_id)) != point.value:
            points.append(point)
    if points and data:
        client.log_inputs(run_id, datasets=[data])
    if points:
        client.log_batch(run_id, metrics=points)
    for path in paths:
        client.log_artifact(run_id, str(path), folder)


def record_run(
    experiment: str,
    name: str,
    params: Mapping[str, object],
    metrics: Mapping[str, float],
    tables: Sequence[Table],
    paths: Iterable[str | Path],
    question: str,
    data: Mapping[str, str],
    tags: Mapping[str, str],
) -> str:
    """Records a finished run that belongs to no sweep: parameters, finite metrics,
    tables, pictures and files.

    Returns the address of its page. The experiment is created if missing, with the
    question as its description. data: the data set, as in `DataSet.entry`. tags:
    further ones. Raises StoreUnreachable when the server does not answer, ValueError
    for a path that is no file or a name that MLflow rejects.
    """
    paths = _files(paths)
    now = milliseconds()
    points = [
        Metric(metric_name(key), value, now, 0)
        for key, value in metrics.items()
        if math.isfinite(value)
    ]
    store = Store.open(experiment, create=True)
    run_id = ""
    try:
        # `make sweep-sync` closes open runs from here whose process has ended
        with locked(experiment, timeout=-1), reached():
            about = {
                **code_tags(),
                **own_tag(),
                MLFLOW_RUN_NAME: clipped(storable_text(name), _MAX_LENGTH),
            }
            run_id = store.client.create_run(
                store.experiment_id, tags=about
            ).info.run_id
            pictures = _add_files(store.client, run_id, paths)
            note = notes.add_tables("", tables, pictures)
            run_params = [
                Param(key, clipped(storable_text(str(value)), _MAX_LENGTH))
                for key, value in params.items()
            ]
            texts = {MLFLOW_RUN_NOTE: note}
            for key, text in tags.items():
                texts[key] = clipped(storable_text(text), TAG_LENGTH)
            run_tags = [RunTag(key, text) for key, text in texts.items()]
            store.client.log_batch(run_id, points, run_params, run_tags)
            store.add_inputs(run_id, inputs([data]))
            store.end(run_id, "FINISHED")
            describe(store, question)
    except BaseException as error:
        # if the server is down, `make sweep-sync` closes the run
        with contextlib.suppress(Exception):
            store.end(run_id, "FAILED")
        cause = error.__cause__
        if isinstance(cause, MlflowException) and refused(cause):
            raise InvalidInput(
                f"MLflow rejects this run ({first_line(cause)})"
            ) from cause
        raise
    return notes.run_page(store.experiment_id, run_id)
