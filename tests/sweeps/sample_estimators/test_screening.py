"""The sweep of screens: its cells, and what is counted of a table."""

from functools import partial

from infoscope.data.tasks.cases import draws
from infoscope.data.tasks.tables import TABLES
from infoscope.metrics import screen
from sweeps.sample_estimators.screening import SWEEP, trial
from tests.sweeps.recorder import Recorder, planned

NAME = "redundant-small"


cells_of = partial(planned, SWEEP)


def test_every_table_is_screened():
    cells = cells_of("laptop")
    assert [cell.table for cell in cells] == [name for name in TABLES for _ in range(2)]
    for cell in cells:
        assert cell.n == TABLES[cell.table].n


def test_a_cell_is_the_screen_of_its_table():
    recorder = Recorder.ran(trial, cells_of(tables=NAME), "table", "method")
    final = recorder.finals[NAME, "screen"]
    described = TABLES[NAME]
    table, _ = described.sample(draws(0, NAME, described.n))
    screened = screen(table, "target", angles=described.angles)
    assert final["true_discoveries"] + final["false_discoveries"] == len(
        screened.relevant
    )
    assert final["dependent_columns"] == 6
    assert final["true_discoveries"] == len(
        {*screened.relevant} & {*described.relevant}
    )
    assert final["intervals"] == len(described.columns)
    assert 0 <= final["covering_intervals"] <= final["intervals"]
    assert (
        final["redundant_chosen"]
        <= final["redundant_found"]
        == len({*screened.relevant} & {*described.spare})
    )
