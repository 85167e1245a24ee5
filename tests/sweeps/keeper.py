"""A Recorder that keeps tables and arrays by their names, models, and lets what a
member raises through.
"""

from tests.sweeps.recorder import Recorder


class Keeper(Recorder):
    def __init__(self, *by):
        super().__init__(*by)
        self.arrays_of = {}
        self.modules = {}
        self.fractions = []

    def table(self, cell, name, columns):
        self.tables[*self.key(cell), name] = columns

    def arrays(self, cell, name, arrays):
        self.arrays_of[*self.key(cell), name] = arrays

    def progress(self, fraction, **metrics):
        super().progress(fraction, **metrics)
        self.fractions.append(fraction)

    def model(self, cells, name, module, example):
        super().model(cells, name, module, example)
        self.modules[self.key(cells[0])] = module
