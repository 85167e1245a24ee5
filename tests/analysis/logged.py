"""A run with a model and items, as a sweep leaves it in a scratch store."""

from infoscope.tracking.checkpoint import Checkpoint
from infoscope.tracking.publishing import publish
from infoscope.tracking.report import RecordedReport
from infoscope.tracking.tags import PROFILE, VERSION
from tests.tracking.cells import begun


def log(
    store,
    folder,
    cell,
    kept,
    name,
    module,
    example,
    profile="laptop",
    version="1",
    damage=None,
):
    """Logs the cell's arrays `kept` and its model under `name`, where there are some;
    damage: of the model's folder.
    """
    key = f"{cell['model']}-{cell['seed']}" + (f"-{version}" if version != "1" else "")
    made = begun(folder, key, cell, **{PROFILE: profile, VERSION: version})
    report = RecordedReport(
        {key: cell}, {key: made}, Checkpoint(str(folder), "x", [key]), lambda told: None
    )
    if kept:
        report.arrays(cell, "evaluation", kept)
    if module is not None:
        report.model([cell], name, module, example)
    if damage:
        damage(made.model(name))
    made.end("complete")
    publish(made, store)
