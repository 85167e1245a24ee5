"""What the MLflow UI shows of an experiment first."""

import base64
import json
import zlib

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import BAD_REQUEST

from infoscope.tracking.store import ui
from infoscope.tracking.store.store import Store


def test_an_experiment_is_described_once_and_linked(own_folder):
    """What a person has written since stays."""
    store = Store.open("demo", create=True)
    ui.describe(store, "Which one?", {"orderByAsc": True})
    store.client.set_experiment_tag(store.experiment_id, "mlflow.note.content", "of the paper")
    ui.describe(store, "Which one?", {"orderByAsc": False})
    tags = store.client.get_experiment(store.experiment_id).tags
    assert tags["mlflow.note.content"] == "of the paper"
    packed = tags["mlflow.sharedViewState.infoscope"].removeprefix("deflate;")
    assert json.loads(zlib.decompress(base64.b64decode(packed))) == {"orderByAsc": True}
    found = list(ui.links(store.client.search_experiments(), "http://127.0.0.1:5000"))
    page = f"http://127.0.0.1:5000/#/experiments/{store.experiment_id}/runs"
    assert found == [("demo", f"{page}?workflowType=machine_learning&viewStateShareKey=infoscope")]


def test_two_drivers_that_describe_an_experiment_at_once_both_go_on(own_folder, monkeypatch):
    """The store refuses the second row of a tag that neither has found."""
    store, asked = Store.open("demo", create=True), []
    set_tag = store.client.set_experiment_tag

    def beside_another(experiment, name, value):
        asked.append(name)
        if len(asked) == 1:
            set_tag(experiment, name, "the other's")
            raise MlflowException("UNIQUE constraint failed", BAD_REQUEST)
        set_tag(experiment, name, value)

    monkeypatch.setattr(store.client, "set_experiment_tag", beside_another)
    ui.describe(store, "Which one?", {})
    assert store.client.get_experiment(store.experiment_id).tags["mlflow.note.content"] == "Which one?"


def test_a_page_is_given_by_its_whole_address(own_folder, monkeypatch):
    assert ui.shown_at("#/a") == "http://127.0.0.1:5000/#/a (while `make ui` runs)"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://me:secret@mlflow.example/")
    assert ui.shown_at("#/a") == "https://mlflow.example/#/a"
