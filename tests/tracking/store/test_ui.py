"""What the MLflow UI shows of an experiment first."""

import base64
import json
import zlib

from infoscope.tracking.store import ui
from infoscope.tracking.store.store import Store
from infoscope.tracking.sweep import varying


def test_a_view_has_the_metric_and_what_the_cells_differ_in():
    cells = [{"bound": bound, "seed": seed, "steps": 3} for bound in ("dv", "js") for seed in (0, 1)]
    made = ui.settings(("mse", "min"), varying([*cells, {"bound": "dv", "rows": 2}]))
    assert made["selectedColumns"] == [
        "attributes.`Created`", "attributes.`Dataset`", "metrics.`mse`",
        "params.`bound`", "params.`seed`", "attributes.`Duration`",
    ]  # fmt: skip
    assert (made["orderByKey"], made["orderByAsc"]) == ("metrics.`mse`", True)
    assert ui.settings(("score", "max"), [])["orderByAsc"] is False
    assert ui.settings(None, varying(cells)) == {
        "selectedColumns": [
            "attributes.`Created`",
            "attributes.`Dataset`",
            "params.`bound`",
            "params.`seed`",
            "attributes.`Duration`",
        ]
    }


def test_an_experiment_is_described_once_and_linked(tmp_path, empty_store, monkeypatch):
    """What a person has written since stays."""
    empty_store(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    store = Store.open("demo", create=True)
    ui.describe(store, "Which one?", {"orderByAsc": True})
    store.client.set_experiment_tag(store.experiment_id, "mlflow.note.content", "the one for the paper")
    ui.describe(store, "Which one?", {"orderByAsc": False})
    tags = store.client.get_experiment(store.experiment_id).tags
    assert tags["mlflow.note.content"] == "the one for the paper"
    packed = tags["mlflow.sharedViewState.infoscope"].removeprefix("deflate;")
    assert json.loads(zlib.decompress(base64.b64decode(packed))) == {"orderByAsc": True}
    found = list(ui.links(store.client.search_experiments(), "http://127.0.0.1:5000"))
    page = f"http://127.0.0.1:5000/#/experiments/{store.experiment_id}/runs"
    assert found == [("demo", f"{page}?workflowType=machine_learning&viewStateShareKey=infoscope")]
