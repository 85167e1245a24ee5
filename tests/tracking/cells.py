"""Cells as workers and drivers see them: assignments, records, and what their runs hold."""

import platform

from infoscope.tracking.record import Record
from infoscope.tracking.scheduling.worker import Assignment
from infoscope.tracking.sending.flush import header_tags


class Killed(BaseException):
    """The process is gone: nothing that handles errors runs any more."""


def assigned(store, folder, cells, host=None, **tags):
    """A trial's cells by key, their records in a folder of this machine, or of one that is not the driver's `host`."""
    folder.mkdir(parents=True, exist_ok=True)
    each = {key: {"infoscope.profile": "smoke", "mlflow.runName": key, **tags} for key in cells}
    return Assignment(cells, {}, each, store, folder, "cpu", host or platform.node(), 1.0)


def begun(folder, key="one", cell=None, run_id=None, **tags):
    """The record of a cell that has begun."""
    record, cell = Record(folder / key), {"name": key} if cell is None else cell
    record.begin(cell, header_tags(key, cell, {}) | {"infoscope.profile": "smoke"} | tags, run_id)
    return record


def history(store, run_id, name="level"):
    """(step, value) of every point of a metric."""
    return [(point.step, point.value) for point in store.client.get_metric_history(run_id, name)]
