"""Adds later results to runs: files, tables in descriptions, metrics. Records runs that belong to no sweep."""

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
from infoscope.tracking.checks import TAG_LENGTH, clipped, first_line, metric_name, require_free_name, storable_text
from infoscope.tracking.datasets import inputs
from infoscope.tracking.environment import code_tags
from infoscope.tracking.models import newest_model
from infoscope.tracking.recorded import parents
from infoscope.tracking.store import Store, connect, describe, reached, refused, tracking_uri, values
from infoscope.tracking.tags import CELL, PARENT

FOLDER = "analysis"
_SMALL = 520, 1560  # largest width and height of a picture in a description, pixels
_MAX_LENGTH = 500  # characters of a parameter
Table = tuple[str, Sequence[str], Sequence[Sequence[str]], str]


def publish(experiment: str, profile: str, cells: pd.DataFrame, tables: Sequence[Table], paths: Iterable[Path]) -> str:
    """Adds files, tables and pictures to the newest invocation with a label; returns the address of its page.

    cells: the analysed rows of `runs`; without an invocation with the label, the newest of theirs is used. Earlier
    additions are replaced. Raises ValueError for a path that is no file, LookupError when there is no invocation.
    """
    paths = _files(paths)
    run = _invocation(experiment, profile, {tags.get(PARENT) for tags in cells["tags"]})
    client = connect(tracking_uri())
    pictures = _add_files(client, run.info.run_id, paths)
    note = notes.add_tables(run.data.tags.get(MLFLOW_RUN_NOTE, ""), tables, pictures)
    client.set_tag(run.info.run_id, MLFLOW_RUN_NOTE, note)
    return notes.run_page(run.info.experiment_id, run.info.run_id)


def attach(experiment: str, profile: str, paths: Iterable[str | Path], folder: str = FOLDER) -> str:
    """Adds files to the newest ended invocation with a label, as artifacts in `folder`; returns its run id.

    Raises ValueError for a path that is no file, LookupError when no invocation has ended.
    """
    paths = _files(paths)
    run_id = _invocation(experiment, profile).info.run_id
    for path in paths:
        connect(tracking_uri()).log_artifact(run_id, str(path), folder)
    return run_id


def _invocation(experiment: str, profile: str, makers: Iterable[str | None] = ()) -> Run:
    """The newest finished invocation with a label; else one that ended with failures, or the newest of `makers`."""
    known = parents(experiment, profile)
    for status in ("FINISHED", "FAILED"):
        for run in known:
            if run.info.status == status:
                return run
    store = Store.open(experiment)
    found = [run for run in map(store.run, sorted(filter(None, makers))) if run is not None]
    if not found:
        raise LookupError(f"no invocation of {experiment!r} under profile {profile!r} has ended")
    return max(found, key=lambda run: run.info.start_time)


def _files(paths: Iterable[str | Path]) -> list[Path]:
    paths = [Path(path) for path in paths]
    for path in paths:
        if not path.is_file():
            raise InvalidInput(f"{path} must be a file to be attached to a run")
    return paths


def _add_files(client: MlflowClient, run_id: str, paths: Iterable[Path]) -> dict[str, str]:
    """Adds files as artifacts, and small copies of pictures; returns the addresses of these copies by name."""
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
    """Adds metrics and files (artifacts in `folder`) of a later evaluation to a cell's run, replacing earlier ones.

    data: the data set on which the run's only (or newest) model was evaluated; the metrics are then also added to the
    model, and the data set to the inputs of the run. model_metrics: names of the model's metrics (None: all). Raises
    ValueError for a path that is no file, for the name of a field and for a name that MLflow would reject.
    """
    paths = _files(paths)
    client, now = connect(tracking_uri()), milliseconds()
    run = client.get_run(run_id)
    fields = values(run) if CELL in run.data.tags else ()
    for name in metrics:
        require_free_name("the name of a metric", metric_name(name), fields)
    model = newest_model(run, client) if data else None
    held, evaluation = {(name, None): value for name, value in run.data.metrics.items()}, dict[str, Any]()
    if model:
        evaluation = dict(model_id=model.model_id, dataset_name=data.dataset.name, dataset_digest=data.dataset.digest)
        for point in sorted(model.metrics or (), key=lambda point: point.timestamp):
            if point.dataset_digest == data.dataset.digest:
                held[point.key, model.model_id] = point.value
    shared = metrics if model_metrics is None else model_metrics
    found = [
        Metric(name, storable(float(value)), now, 0, **(evaluation if name in shared else {}))
        for name, value in metrics.items()
    ]
    found = [metric for metric in found if held.get((metric.key, metric.model_id)) != metric.value]
    if found and data:
        client.log_inputs(run_id, datasets=[data])
    if found:
        client.log_batch(run_id, metrics=found)
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
    """Records a finished run that belongs to no sweep: parameters, finite metrics, tables, pictures and files.

    Returns the address of its page. The experiment is created if missing, with the question as its description. data:
    the data set, as in `DataSet.entry`. tags: further ones. Raises StoreUnreachable when the server does not answer,
    ValueError for a path that is no file or a name that MLflow rejects.
    """
    paths = _files(paths)
    now = milliseconds()
    figures = [Metric(metric_name(key), value, now, 0) for key, value in metrics.items() if math.isfinite(value)]
    store = Store.open(experiment, create=True)
    run_id = ""
    try:
        with reached():
            about = {**code_tags(), MLFLOW_RUN_NAME: clipped(storable_text(name), _MAX_LENGTH)}
            run_id = store.client.create_run(store.experiment_id, tags=about).info.run_id
            note = notes.add_tables("", tables, _add_files(store.client, run_id, paths))
            given = [Param(key, clipped(storable_text(str(value)), _MAX_LENGTH)) for key, value in params.items()]
            texts = {MLFLOW_RUN_NOTE: note}
            texts |= {key: clipped(storable_text(text), TAG_LENGTH) for key, text in tags.items()}
            store.client.log_batch(run_id, figures, given, [RunTag(*text) for text in texts.items()])
            store.add_inputs(run_id, inputs([data]))
            store.end(run_id, "FINISHED")
            describe(store, question)
    except BaseException as error:
        with contextlib.suppress(Exception):  # if the server is down, `make sweep-sync` closes the run
            store.end(run_id, "FAILED")
        cause = error.__cause__
        if isinstance(cause, MlflowException) and refused(cause):
            raise InvalidInput(f"MLflow rejects this run ({first_line(cause)})") from cause
        raise
    return notes.run_page(store.experiment_id, run_id)
