"""Cells as workers and drivers see them: assignments, records, and what their runs hold."""

from infoscope.tracking.record import Record
from infoscope.tracking.scheduling.worker import INVOCATION, Assignment
from infoscope.tracking.sending.publish import header_tags, publish


class Killed(BaseException):
    """The process is gone: nothing that handles errors runs any more."""


def assigned(store, folder, cells, here=True, **tags):
    """A trial's cells by key; their records in a folder on the driver's disk (`here`), or on another machine's."""
    folder.mkdir(parents=True, exist_ok=True)
    each = {key: {"infoscope.profile": "smoke", "mlflow.runName": key, **tags} for key in cells}
    if here:
        (folder / INVOCATION).write_text("parent")
    return Assignment(cells, each, store, folder, "cpu", 1.0, invocation="parent")


def begun(folder, key="one", cell=None, **tags):
    """The record of a cell that has begun."""
    record, cell = Record.of(folder, key), {"name": key} if cell is None else cell
    record.begin(cell, header_tags(key, cell, {}) | {"infoscope.profile": "smoke"} | tags)
    return record


def closed(record, store, outcome="complete"):
    """The id of the run of a cell that has ended."""
    record.end(outcome, "RuntimeError: boom" if outcome == "failed" else None)
    return publish(record, store)


def history(store, run_id, name="level"):
    """(step, value) of every point of a metric."""
    return [(point.step, point.value) for point in store.client.get_metric_history(run_id, name)]
