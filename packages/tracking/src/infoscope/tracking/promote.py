"""Registers a logged model under an alias, with a model card;
`load_model("NAME@ALIAS")` loads it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from infoscope.tracking import notes
from infoscope.tracking.checks import plain_name, storable_text
from infoscope.tracking.environment import variables
from infoscope.tracking.models import downloaded, logged_model, model_files
from infoscope.tracking.store import connect, tracking_uri, values
from infoscope.tracking.tags import DATA, NOT_RESULTS

_NORMAL_QUANTILE = 1.959964  # of a 95 % interval
_ERROR = "_error"


def promote(
    run_id: str, alias: str, model: str | None = None, name: str | None = None
) -> str:
    """Registers a model of a run with a card and an alias; returns its address,
    `models:/NAME@ALIAS`.

    model: its name, if the run has several. name: of the registered model (None:
    EXPERIMENT-MODEL). Repeated calls update the card; an existing alias is moved.
    Raises LookupError when the run has no such model, TypeError for a model that is not
    infoscope's, ValueError for an invalid name or alias.
    """
    client = connect(tracking_uri())
    plain_name("an alias", alias)
    run = client.get_run(run_id)
    logged = logged_model(run_id, model)
    experiment = client.get_experiment(run.info.experiment_id).name
    name = plain_name(
        "the name of a registered model", name or f"{experiment}-{logged.name}"
    )
    source = f"models:/{logged.model_id}"
    with downloaded(source, None) as folder:
        description = json.loads((model_files(folder) / "model.json").read_text())
    text = card(experiment, logged.name, run, description)
    try:
        client.create_registered_model(
            name, description=f"Promoted models of the sweep {experiment}."
        )
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    versions = client.search_model_versions(f"name = '{name}'")
    version = next((version for version in versions if version.source == source), None)
    if version is None:
        with variables({"MLFLOW_TRACKING_URI": tracking_uri()}):
            version = client.create_model_version(
                name, source, run_id, model_id=logged.model_id
            )
    client.update_model_version(name, version.version, text)
    client.set_registered_model_alias(name, alias, version.version)
    return f"models:/{name}@{alias}"


def card(experiment: str, model: str, run: Run, description: Mapping[str, Any]) -> str:
    """The model card in Markdown: model, data, results, and what loading executes.
    description: its model.json.
    """
    kind = f"{description['module']}.{description['class']}"
    cell = ", ".join(notes.code(f"{key}={value}") for key, value in values(run).items())
    page = notes.run_page(run.info.experiment_id, run.info.run_id)
    code = run.data.tags.get("infoscope.code", "unknown code version")
    data = []
    for data_input in run.inputs.dataset_inputs if run.inputs else []:
        dataset = data_input.dataset
        contexts = ", ".join(tag.value for tag in data_input.tags)
        data.append(
            f"- {notes.escape(dataset.name)} ({contexts}), digest {dataset.digest}"
        )
    if not data:
        data = [notes.escape(run.data.tags.get(DATA, "not recorded"))]
    text = (
        f"**{notes.escape(model)}** of the sweep {notes.escape(experiment)}, trained "
        f"by [this run]({page}) "
        f"({notes.escape(code)}).\n\nClass {notes.code(kind)}; settings of the "
        f"training: {cell}.\n\n**Data**\n\n"
        + "\n".join(data)
        + "\n\n**Loading** calls the constructor of this class in the installed infoscope and reads numbers from a "
        "safetensors file. It executes no code and no pickle from the store. "
        "`mlflow.pyfunc.load_model` imports the "
        "module that MLmodel names.\n\n**Results** of this training (95 %: value ± "
        "1.96 standard errors)\n\n"
    )
    return storable_text(notes.append_rows(text, results(run.data.metrics)))


def results(metrics: Mapping[str, float]) -> list[str]:
    """A Markdown table of the metrics, without curves and the load of the machine."""
    rows = ["| | value | 95 % interval |", "|---|---:|---:|"]
    for name, value in sorted(metrics.items()):
        if name.endswith(_ERROR) or name.startswith(NOT_RESULTS):
            continue
        interval = ""
        half_width = _NORMAL_QUANTILE * metrics.get(name + _ERROR, math.nan)
        if math.isfinite(half_width):
            interval = (
                f"{notes.number(value - half_width)} to "
                f"{notes.number(value + half_width)}"
            )
        rows.append(f"| {notes.escape(name)} | {notes.number(value)} | {interval} |")
    return rows
