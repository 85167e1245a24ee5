"""The logged models that a run has put out, as MLflow tells them: nothing is loaded."""

from __future__ import annotations

from mlflow import MlflowClient
from mlflow.entities import LoggedModel, LoggedModelOutput, Run


def outputs(run: Run) -> list[LoggedModelOutput]:
    """What a run says that it has put out, whole or not."""
    return run.outputs.model_outputs if run.outputs else []


def is_ready(model: LoggedModel) -> bool:
    """Whether a model was uploaded whole."""
    return str(model.status) == "READY"


def ready_models(run: Run, client: MlflowClient) -> list[LoggedModel]:
    """The models that a run put out and that were uploaded whole."""
    models = [client.get_logged_model(output.model_id) for output in outputs(run)]
    return [model for model in models if is_ready(model)]


def newest_model(run: Run, client: MlflowClient, name: str | None = None) -> LoggedModel | None:
    """The model, of a name, that a run has put out whole, the newest of several; None if there is none."""
    models = [model for model in ready_models(run, client) if name in (None, model.name)]
    return max(models, key=lambda model: model.creation_timestamp, default=None)
