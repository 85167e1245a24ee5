"""What stands in for a Report where a trial runs without Ray and MLflow, and the cells
of a sweep.
"""

import torch

from infoscope.tracking import Pack, Report
from infoscope.tracking.sweep import plain


def planned(sweep, profile="smoke", **overrides):
    """The cells of a profile with other settings."""
    return list(sweep.plan(sweep.profiles[profile].override(overrides)).values())


class Recorder(Report):
    """Keeps what a trial reports, by the values of the cell that are named in `by`."""

    def __init__(self, *by):
        self.by = by
        self.finals = {}
        self.tables = {}
        self.models = []
        self.decided = []

    @classmethod
    def ran(cls, trial, cells, *by):
        """What a trial of one pack reports."""
        recorder = cls(*by)
        trial(Pack(tuple(cells)), recorder)
        return recorder

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
        scores = module(
            **{name: torch.from_numpy(value) for name, value in example.items()}
        )
        self.models.append((len(cells), scores.shape))
