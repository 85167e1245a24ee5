"""A run with a model and items, as a sweep leaves it in a scratch store."""

from infoscope.tracking.scheduling.worker import Assignment, RecordedReport
from infoscope.tracking.sending.publish import header_tags, publish


def log(store, folder, cell, kept, name, module, example, profile="laptop", version="1", damage=None):
    """Logs the cell's arrays `kept` and its model under `name`, where there are some; damage: of the model's folder."""
    key = f"{cell['model']}-{cell['seed']}" + (f"-{version}" if version != "1" else "")
    assignment = Assignment({key: cell}, {key: {}}, store, folder, "cpu", 1.0)
    report = RecordedReport(assignment, lambda told: None)
    (record,) = report.records
    tags = {"infoscope.profile": profile, "infoscope.version": version}
    record.begin(cell, header_tags(key, cell, tags))
    if kept:
        report.arrays(cell, "evaluation", kept)
    if module is not None:
        report.model([cell], name, module, example)
    if damage:
        damage(record.model_folder(name))
    record.end("complete")
    publish(record, store)
