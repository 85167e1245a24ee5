"""Brings the folder of a cell to MLflow: one run for each cell. Nothing else writes
cells to MLflow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException

from infoscope.tracking import models
from infoscope.tracking.cell_folder import (
    COMPLETE,
    FAILED,
    STOPPED,
    CellFolder,
    storable,
)
from infoscope.tracking.checks import (
    ERROR_LENGTH,
    PARAM_LENGTH,
    clipped,
    metric_name,
    metric_step,
    metric_value,
    require_tags,
    storable_text,
)
from infoscope.tracking.datasets import inputs
from infoscope.tracking.store import Store
from infoscope.tracking.sweep import text
from infoscope.tracking.tags import CONSTANTS, ERROR, OUTCOME, PARENT

STATUS = {COMPLETE: "FINISHED", STOPPED: "FINISHED", FAILED: "FAILED"}


def publish(folder: CellFolder, store: Store, parent: str = "") -> str:
    """Brings the run of a cell up to its folder, and closes it once the cell has ended;
    returns the id of the run.

    A repeated call changes nothing. parent: the id of the parent run of a cell that was
    computed offline.

    Raises MLflow's exceptions when the store does not answer, LookupError if a model
    that the cell shares is not logged yet, ValueError for what MLflow would reject.
    """
    run_id = folder.run_id or _create_run(folder, store, parent)
    ending = folder.ending()
    entries = folder.entries()
    new = entries[folder.sent :]
    for entry in new:
        if entry.get("datasets"):
            store.add_inputs(run_id, inputs(entry["datasets"]))
    tags = {}
    if any("constants" in entry for entry in new):
        tags = _constants(entries)
    if ending:
        tags[OUTCOME] = ending["outcome"]
        if ending["error"]:
            tags[ERROR] = clipped(ending["error"], ERROR_LENGTH)
    points = list(_points(new))
    # the first time with the parameters: each request costs more than what it brings
    if points or tags:
        params = []
        if not any("metrics" in entry for entry in entries[: folder.sent]):
            params = parameters(folder.header()["cell"])
        run_tags = [RunTag(name, value) for name, value in require_tags(tags).items()]
        store.client.log_batch(run_id, points, params, run_tags)
    if new:
        folder.note_sent(len(entries))
    if ending:
        _send_files(folder, entries, run_id, store)
        store.client.set_terminated(run_id, STATUS[ending["outcome"]], ending["time"])
    return run_id


def _create_run(folder: CellFolder, store: Store, parent: str) -> str:
    """Opens the run of a cell; returns its id."""
    header = folder.header()
    if not header:
        raise ValueError(f"{folder.path} must have a readable cell.json")
    tags = require_tags(header["tags"])
    if parent:
        tags[PARENT] = parent
    run_id = store.client.create_run(
        store.experiment_id, start_time=header["began"], tags=tags
    ).info.run_id
    folder.note_run(run_id)
    return run_id


def _constants(entries: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The tags of numbers that are known without training, as JSON: one for each place
    of names PLACE/NAME.
    """
    by_place: dict[str, dict[str, float]] = {}
    for entry in entries:
        for name, value in entry.get("constants", {}).items():
            place, _, leaf = name.rpartition("/")
            by_place.setdefault(place, {})[leaf] = value
    return {
        f"{CONSTANTS} {place}".strip(): json.dumps(values)
        for place, values in by_place.items()
    }


def parameters(cell: Mapping[str, Any]) -> list[Param]:
    """The fields of a cell, or the settings of a profile, as parameters of a run."""
    params = []
    for name, value in cell.items():
        shown = clipped(storable_text(text(value)), PARAM_LENGTH)
        params.append(Param(name, shown))
    return params


def _points(entries: Iterable[Mapping[str, Any]]) -> Iterator[Metric]:
    """The points of metrics in the lines of a folder. Raises ValueError for what MLflow
    would reject.
    """
    for entry in entries:
        for name, value in entry.get("metrics", {}).items():
            number = storable(metric_value(metric_name(name), value))
            yield Metric(name, number, entry["time"], metric_step(entry["step"]))


def _send_files(
    folder: CellFolder, entries: Sequence[Mapping[str, Any]], run_id: str, store: Store
) -> None:
    """Sends the models and artifacts of a cell that has ended."""
    for entry in entries:
        if "model" in entry:
            _send_model(folder, entry, run_id, store)
    if any(folder.files.iterdir()):
        store.client.log_artifacts(run_id, str(folder.files))


def _send_model(
    folder: CellFolder, entry: Mapping[str, Any], run_id: str, store: Store
) -> None:
    owner = entry["owner"]
    name = entry["model"]
    if owner == folder.key:
        models.log_model(folder.model(name), name, run_id, store)
        return
    owner_folder = CellFolder(folder.path.with_name(owner))
    run = store.run(owner_folder.run_id) or store.run_of(owner)
    model = models.newest_model(run, store.client, name) if run else None
    if model is None:
        raise LookupError(
            f"the model {name} that cell {folder.key} shares with cell {owner} is not "
            "logged yet"
        )
    models.link(model.model_id, store.client.get_run(run_id), store)


def publish_all(
    folders: Iterable[CellFolder], store: Store, parent: str = ""
) -> tuple[dict[CellFolder, str], dict[CellFolder, Exception]]:
    """Publishes several cells: the ids of their runs, and the errors of those that are
    not in MLflow yet.

    After a store has not answered, the rest is not tried. A cell that shares the model
    of a later one is tried again.
    """
    queue = list(folders)
    published: dict[CellFolder, str] = {}
    unsent: dict[CellFolder, Exception] = {}
    away: MlflowException | None = None
    for folder in queue:
        if away is not None:
            unsent[folder] = away
            continue
        try:
            published[folder] = publish(folder, store, parent)
            unsent.pop(folder, None)
        except LookupError as error:
            if folder not in unsent:
                queue.append(folder)
            unsent[folder] = error
        except MlflowException as error:
            unsent[folder] = error
            if not store.answers():
                away = error
        except Exception as error:  # one damaged folder must not block the others
            unsent[folder] = error
    return published, unsent
