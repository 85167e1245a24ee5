"""One run that belongs to no sweep: an answer about data that a person has brought."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME, MLFLOW_RUN_NOTE

from infoscope.errors import InvalidInput, StoreUnreachable
from infoscope.tracking import notes
from infoscope.tracking.checks import clipped, metric_name
from infoscope.tracking.record import milliseconds
from infoscope.tracking.store.publish import Table, add_files
from infoscope.tracking.store.store import Store, files, first_line, refused
from infoscope.tracking.store.ui import describe, settings

_LONGEST = 500  # characters of a parameter
_UNSEEN = {"sha256", "seed"}  # parameters that take the place of others in a list of runs


def record_run(
    experiment: str,
    name: str,
    params: Mapping[str, object],
    metrics: Mapping[str, float],
    tables: Sequence[Table],
    paths: Iterable[str | Path],
    asked: str = "",
) -> str:
    """Records a finished run with parameters, finite metrics, tables, pictures and files; returns its page's address.

    The experiment is created if missing. Raises StoreUnreachable when the server does not answer, ValueError for a path
    that is no file, or a name that MLflow refuses.
    """
    paths = files(paths)
    now = milliseconds()
    values = [Metric(metric_name(key), value, now, 0) for key, value in metrics.items() if math.isfinite(value)]
    store = Store.open(experiment, create=True)
    run_id = ""
    try:
        run_id = store.client.create_run(store.experiment_id, tags={MLFLOW_RUN_NAME: name}).info.run_id
        note = notes.with_tables("", tables, add_files(store.client, run_id, paths))
        given = [Param(key, clipped(str(value), _LONGEST)) for key, value in params.items()]
        told = [RunTag(MLFLOW_RUN_NOTE, note), RunTag("infoscope.experiment", experiment)]
        store.client.log_batch(run_id, values, given, told)
        store.end(run_id, "FINISHED")
        describe(store, asked, settings(None, (key for key in params if key not in _UNSEEN)))
    except BaseException as error:
        with contextlib.suppress(Exception):  # if the server is down, `make sweep-sync` closes the run
            store.end(run_id, "FAILED")
        if not isinstance(error, MlflowException):
            raise
        if refused(error):
            raise InvalidInput(f"MLflow refuses this run ({first_line(error)})") from error
        raise StoreUnreachable(f"the MLflow tracking store does not answer ({first_line(error)})") from error
    return notes.run_page(store.experiment_id, run_id)
