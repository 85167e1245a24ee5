"""The sweep of screens: its cells, what is counted of a table, and what packages are handed."""

import numpy as np
import pytest

from infoscope.data.tasks.cases import draws
from infoscope.data.tasks.tables import TABLES
from infoscope.metrics import screen
from infoscope.tracking import Pack
from sweeps.sample_estimators import screening
from sweeps.sample_estimators.screening import METHODS, PROFILES, SWEEP, package_metrics, trial
from sweeps.sample_estimators.settings import SCREEN
from tests.sweeps.recorder import Recorder

NAME = "forms-small"


def cells_of(profile="smoke", **overrides):
    return list(SWEEP.plan(PROFILES[profile].override(overrides)).values())


def test_every_table_meets_every_method():
    cells = cells_of("laptop")
    assert {(cell["table"], cell["method"]) for cell in cells} == {(table, one) for table in TABLES for one in METHODS}
    assert all(cell["n"] == TABLES[cell["table"]].n for cell in cells)


def test_a_cell_is_the_screen_of_its_table():
    recorder = Recorder("table", "method")
    trial(Pack(tuple(cells_of(tables=NAME))), recorder)
    final, known = recorder.finals[NAME, SCREEN], TABLES[NAME]
    table, _ = known.sample(draws(0, NAME, known.n))
    found = screen(table, "target", angles=known.angles)
    assert final["found"] + final["false"] == len(found.relevant) and final["dependent"] == 4
    assert final["found"] == len({*found.relevant} & {*known.relevant})
    assert final["intervals"] == len(known.columns) and 0 <= final["held"] <= final["intervals"]


@pytest.mark.parametrize("name", ["survey-missing", "spikes-small", "two-classes"])
def test_packages_get_numbers_codes_and_circles_without_missing_rows(monkeypatch, name):
    known, asked = TABLES[name], {}

    class Package:
        def select(self, x, y, categories, labels, seed):
            asked.update(x=x, y=y, categories=categories, labels=labels)
            return [0, x.shape[1] - 1], 1.0

    monkeypatch.setattr(screening, "SELECTIONS", {"package": Package()})
    table, _ = known.sample(draws(0, name, known.n))
    found = package_metrics("package", known, table, 0)
    assert asked["x"].shape == (len(table.dropna()), len(known.columns) + len(known.angles))
    assert np.isfinite(asked["x"]).all() and asked["labels"] == (known.target == "label")
    codes = asked["x"][:, asked["categories"]]
    assert (codes == codes.astype(int)).all() and codes.shape[1] == table.select_dtypes(["str", "object"]).shape[1] - (
        known.target == "label"
    )
    relevant = {0, len(known.columns) - 1} & {list(known.columns).index(one) for one in known.relevant}
    assert (found["found"], found["false"]) == (len(relevant), 2 - len(relevant))
