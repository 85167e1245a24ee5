"""What stands in for a Report where a trial runs without Ray and MLflow."""

import torch

from infoscope.tracking import Report
from infoscope.tracking.sweep import plain


class Recorder(Report):
    """Keeps what a trial reports, by the values of the cell that are named in `by`."""

    def __init__(self, *by):
        self.by, self.finals, self.tables, self.models, self.decided = by, {}, {}, [], []

    def key(self, cell):
        values = plain(cell)
        return tuple(values.get(name) for name in self.by)

    def save(self, state):
        state()

    def progress(self, fraction, **metrics):
        self.decided.append(metrics)

    def metrics(self, cell, values, step=0):
        self.finals.setdefault(self.key(cell), {}).update(values)

    def curve(self, cell, values, step):
        self.metrics(cell, values, step)

    def constants(self, cell, values):
        self.metrics(cell, values)

    def table(self, cell, name, columns):
        self.tables[self.key(cell)] = columns

    def model(self, cells, name, module, example):
        scores = module(**{name: torch.from_numpy(value) for name, value in example.items()})
        self.models.append((len(cells), scores.shape))
