"""The first view of an experiment in the MLflow UI: cells sorted by a metric, with the fields in which they differ.

MLflow reads it from a tag of the experiment: JSON, zlib, base64.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping

from mlflow.entities import Experiment
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE

from infoscope.tracking.notes import VIEW
from infoscope.tracking.store.client import without_password
from infoscope.tracking.store.store import Store, retry_if_refused, tracking_uri

NAME = "infoscope"
LOCAL = "http://127.0.0.1:5000"  # of `make ui` with its default port
_TAG = f"mlflow.sharedViewState.{NAME}"
_MAX_COLUMNS = 8  # of fields, so that the metric stays visible


def address() -> str:
    """The address of the UI: the tracking server, or that of `make ui`."""
    uri = tracking_uri()
    return without_password(uri).rstrip("/") if uri.startswith(("http://", "https://")) else LOCAL


def shown_at(page: str) -> str:
    """The complete address of a page, and what must run to see it."""
    return f"{address()}/{page}" + (" (while `make ui` runs)" if address() == LOCAL else "")


def settings(best: tuple[str, str] | None, fields: Iterable[str]) -> dict[str, object]:
    """The view with these fields, sorted by the metric `best` (its name, and "min" or "max")."""
    metric = [f"metrics.`{best[0]}`"] if best else []
    columns = [
        "attributes.`Created`",
        "attributes.`Dataset`",
        *metric,
        *(f"params.`{name}`" for name in list(fields)[:_MAX_COLUMNS]),
    ]
    chosen: dict[str, object] = {"selectedColumns": [*columns, "attributes.`Duration`"]}
    return chosen | ({"orderByKey": metric[0], "orderByAsc": best[1] == "min"} if best else {})


def describe(store: Store, note: str, view: Mapping[str, object]) -> None:
    """Sets the description and the view of an experiment, unless it has others."""
    packed = base64.b64encode(zlib.compress(json.dumps(view).encode())).decode()
    experiment = store.experiment_id
    known = store.client.get_experiment(experiment).tags
    for name, value in {MLFLOW_RUN_NOTE: note, _TAG: f"deflate;{packed}"}.items():
        if name not in known:
            retry_if_refused(lambda name=name, value=value: store.client.set_experiment_tag(experiment, name, value))


def links(experiments: Iterable[Experiment], address: str) -> Iterator[tuple[str, str]]:
    """The name and the page of every experiment that has a view, in the UI at an address."""
    for experiment in experiments:
        if _TAG in experiment.tags:
            page = f"{address}/#/experiments/{experiment.experiment_id}/runs"
            yield experiment.name, f"{page}?{VIEW}&viewStateShareKey={NAME}"
