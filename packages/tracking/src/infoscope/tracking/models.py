"""Models in MLflow: safetensors weights and a typed configuration, never a pickle.

A model is a `torch.nn.Module` of the `infoscope` namespace with a `config` of plain
values, from which its class and `load_state_dict` rebuild it. `load_model` executes
only that class of the installed packages. MLflow's own loader (with `_load_pyfunc`)
imports the module that MLmodel names: only use it for models of people you trust.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import json
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from mlflow import MlflowClient
from mlflow.entities import LoggedModel, LoggedModelOutput, Metric, Run

from infoscope.tracking.datasets import DataSet
from infoscope.tracking.environment import variables
from infoscope.tracking.store import Store, connect, tracking_uri
from infoscope.tracking.tags import SYSTEM
from infoscope.tracking.weights import EXAMPLE, OUTPUT, predict, read_model

FLAVOR = "infoscope"


def load_model(run_or_uri: str, name: str | None = None) -> Any:
    """A logged model in evaluation mode, a `torch.nn.Module` of the class that was
    logged.

    Executes the constructor of an infoscope class only.

    Parameters
    ----------
    run_or_uri
        The id of a run, an MLflow URI, NAME@ALIAS of a registered model, or a folder.
    name
        The name of the model, if the run has several.

    Raises
    ------
    LookupError
        When the run has no such model.
    TypeError
        For a model that is not infoscope's.
    """
    with downloaded(run_or_uri, name) as folder:
        return read_model(model_files(folder))


@contextlib.contextmanager
def downloaded(run_or_uri: str, name: str | None) -> Iterator[Path]:
    """While inside, the folder of a logged model, found as by `load_model`. Nothing of
    it is executed.
    """
    from mlflow.artifacts import download_artifacts

    if Path(run_or_uri).is_dir():
        yield Path(run_or_uri)
        return
    if ":/" in run_or_uri or "@" in run_or_uri:
        uri = address_of(run_or_uri)
    else:
        uri = f"models:/{logged_model(run_or_uri, name).model_id}"
    with tempfile.TemporaryDirectory() as folder:
        # which MLflow reads for models
        with variables({"MLFLOW_TRACKING_URI": tracking_uri()}):
            path = download_artifacts(uri, dst_path=folder)
        yield Path(path)


def address_of(name: str) -> str:
    """NAME@ALIAS of a registered model as an MLflow URI; other addresses unchanged."""
    if "@" in name and ":/" not in name:
        return f"models:/{name}"
    return name


def model_files(folder: Path) -> Path:
    """The folder with the files of `write_model` in a model's folder. TypeError for a
    model that is not infoscope's.
    """
    files = folder / "model" if (folder / "MLmodel").exists() else folder
    if not (files / "model.json").exists():
        raise TypeError(
            "this model has no model.json: it was not logged by infoscope, and "
            "loading it could execute code; if you "
            "trust its author, use mlflow.pytorch.load_model"
        )
    return files


def outputs(run: Run) -> list[LoggedModelOutput]:
    """The model outputs of a run, complete or not."""
    return run.outputs.model_outputs if run.outputs else []


def is_ready(model: LoggedModel) -> bool:
    """Whether a model was uploaded completely."""
    return str(model.status) == "READY"


def ready_models(run: Run, client: MlflowClient) -> list[LoggedModel]:
    """The complete models of a run."""
    models = [client.get_logged_model(output.model_id) for output in outputs(run)]
    return [model for model in models if is_ready(model)]


def newest_model(
    run: Run, client: MlflowClient, name: str | None = None
) -> LoggedModel | None:
    """The newest complete model of a run, with this name; None if there is none."""
    models = ready_models(run, client)
    if name is not None:
        models = [model for model in models if model.name == name]
    return max(models, key=lambda model: model.creation_timestamp, default=None)


def logged_model(run_id: str, name: str | None = None) -> LoggedModel:
    """The newest model of a run with this name (None: with its only name). LookupError
    if there is none.
    """
    uri = tracking_uri()
    file = uri.removeprefix("sqlite:///")
    if file != uri and not Path(file).exists():  # MLflow would create it
        raise LookupError(
            f"there is no store of runs at {file}; change the folder or "
            "MLFLOW_TRACKING_URI"
        )
    client = connect(uri)
    run = client.get_run(run_id)
    names = sorted({model.name for model in ready_models(run, client)})
    chosen = names[0] if name is None and len(names) == 1 else name
    if chosen not in names:
        advice = f"give the name of one: {', '.join(names)}" if names else "it has none"
        raise LookupError(
            f"run {run_id} has no model {name or 'that is its only one'}; {advice}"
        )
    newest = newest_model(run, client, chosen)
    assert newest is not None
    return newest


def log_model(folder: Path, name: str, run_id: str, store: Store) -> None:
    """Logs a folder of `write_model` as an MLflow model of a run, and adds the metrics
    of the run to it.

    A repeated call completes an interrupted one.
    """
    client = store.client
    begun = client.search_logged_models(
        [store.experiment_id], f"source_run_id = '{run_id}'", max_results=100
    )
    for model in begun:
        if model.name != name:
            continue
        if is_ready(model):
            link(model.model_id, client.get_run(run_id), store)
            return
        client.delete_logged_model(model.model_id)
    model = client.create_logged_model(
        store.experiment_id, name=name, source_run_id=run_id, model_type=FLAVOR
    )
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "model"
        _save_flavor(path, model, run_id, folder)
        client.log_model_artifacts(model.model_id, str(path))
    run = client.get_run(run_id)
    link(model.model_id, run, store)
    _copy_metrics(model.model_id, run, store)
    client.finalize_logged_model(model.model_id, "READY")


def link(model_id: str, run: Run, store: Store) -> None:
    """Adds a model to the outputs of a run, once."""
    if not any(output.model_id == model_id for output in outputs(run)):
        store.client.log_outputs(
            run.info.run_id, models=[LoggedModelOutput(model_id, step=0)]
        )


def _copy_metrics(model_id: str, run: Run, store: Store) -> None:
    """Adds the metrics of a run to a model, without curves and the load of the machine."""
    copies = []
    for metric in run.to_proto().data.metrics:
        if metric.step == 0 and not metric.key.startswith(SYSTEM):
            dataset = _measured_on(metric.key, run)
            copies.append(
                Metric(
                    metric.key,
                    metric.value,
                    metric.timestamp,
                    0,
                    model_id=model_id,
                    **dataset,
                )
            )
    if copies:
        store.client.log_batch(run.info.run_id, metrics=copies)


def _measured_on(metric: str, run: Run) -> dict[str, str]:
    """The data set of a metric: the only one, or the one whose context is in the
    metric's name, or the training data.

    Empty if there are several of these, as for pairs of an image and a text.
    """
    datasets = run.inputs.dataset_inputs if run.inputs else []
    for context in (metric.partition("/")[0], DataSet.context):
        if len(datasets) > 1:
            matching = [
                data
                for data in datasets
                if any(tag.value == context for tag in data.tags)
            ]
            datasets = matching or datasets
    if len(datasets) != 1:
        return {}
    dataset = datasets[0].dataset
    return {"dataset_name": dataset.name, "dataset_digest": dataset.digest}


def _save_flavor(target: Path, model: LoggedModel, run_id: str, source: Path) -> None:
    """Writes a folder for `mlflow.pyfunc.load_model` from one of `write_model`."""
    from mlflow import pyfunc
    from mlflow.models import Model, ModelSignature, infer_signature
    from mlflow.models.utils import _save_example
    from mlflow.types import Schema, TensorSpec

    shutil.copytree(source, target / "model", ignore=shutil.ignore_patterns(EXAMPLE))
    with np.load(source / EXAMPLE, allow_pickle=False) as stored:
        example = {key: stored[key] for key in stored.files}
    output = json.loads((source / "model.json").read_text())["output"]
    if "dtype" in output:  # of a model without blocks
        output = {None: output}
    specs = []
    for name, array in output.items():
        specs.append(
            TensorSpec(np.dtype(array["dtype"]), (-1,) * array["dimensions"], name)
        )
    mlmodel = Model(
        artifact_path=model.artifact_location,
        run_id=run_id,
        model_uuid=model.model_id,
        model_id=model.model_id,
    )
    mlmodel.signature = ModelSignature(infer_signature(example).inputs, Schema(specs))
    _save_example(mlmodel, example, str(target))
    mlmodel.add_flavor(FLAVOR, data="model", code=None)
    pyfunc.add_to_model(
        mlmodel, loader_module=__name__, data="model", python_env="python_env.yaml"
    )
    # without infoscope's own packages, which are in no package index
    libraries = ("mlflow", "numpy", "safetensors", "torch")
    requirements = [f"{library}=={_version(library)}" for library in libraries]
    (target / "requirements.txt").write_text("\n".join(requirements) + "\n")
    python = {
        "python": platform.python_version(),
        "dependencies": ["-r requirements.txt"],
    }
    (target / "python_env.yaml").write_text(yaml.safe_dump(python))
    mlmodel.save(str(target / "MLmodel"))


_version = functools.cache(importlib.metadata.version)  # it reads files


def _load_pyfunc(path: str) -> _LoadedModel:
    return _LoadedModel(Path(path))


class _LoadedModel:
    """The model that `mlflow.pyfunc.load_model` wraps: from arrays by argument name to
    the module's output.

    A model with latent blocks returns `output`, such as class probabilities, and the
    means of the blocks by name, if they are in its signature.
    """

    def __init__(self, folder: Path):
        self.module = read_model(folder)
        self.single = (
            "dtype" in json.loads((folder / "model.json").read_text())["output"]
        )

    def predict(
        self, inputs: Mapping[str, np.ndarray], params: Mapping[str, Any] | None = None
    ) -> np.ndarray | dict[str, np.ndarray]:
        predicted = predict(self.module, inputs)
        return predicted[OUTPUT] if self.single else predicted
