"""What a trial may report, and what is refused at once."""

import numpy as np
import pytest

from infoscope.tracking.checkpoint import Checkpoint
from infoscope.tracking.checks import COLUMNS
from infoscope.tracking.report import JUDGED, RecordedReport
from infoscope.tracking.sweep import Pack
from tests.tracking.cells import begun

CELL = {"seed": 0}


@pytest.fixture
def folder(tmp_path):
    return begun(tmp_path, "one", CELL)


@pytest.fixture
def heard():
    return []


@pytest.fixture
def report(folder, heard, tmp_path):
    """The report of a search whose metric is "done"."""
    return RecordedReport(
        {"one": CELL},
        {"one": folder},
        Checkpoint(str(tmp_path), "x", ["one"]),
        heard.append,
        "done",
    )


def metric(name="a", value=1.0, step=0):
    return lambda report: report.metrics(CELL, {name: value}, step)


def arrays(name):
    return lambda report: report.arrays(CELL, "x", {name: [1]})


NO_NAMES = ("", "loss%", "../a", "x" * 251)
REFUSED = {
    **{f"a metric {name!r}"[:20]: (metric(name), "name") for name in NO_NAMES},
    "a metric of a curve": (metric("Curves/loss"), "report.curve("),
    "a metric of the machine": (metric("system/memory"), "'system/'"),
    "a metric of a search": (metric("progress/loss"), "report.progress"),
    **{f"a metric {name}": (metric(name), f"'{name}'") for name in ("seed", *COLUMNS)},
    "values without names": (lambda report: report.metrics(CELL, 0.5), "dict"),
    "a pack for a cell": (
        lambda report: report.metrics(Pack((CELL,)), {"a": 1.0}),
        "pack.cells",
    ),
    "a curve": (lambda report: report.curve(CELL, {"a(b)": 1.0}, 1), "'a(b)'"),
    "a step of 71 bits": (metric(step=2**70), "11805"),
    "a step of truth": (metric(step=True), "True"),
    "a value of text": (metric(value="1"), "'1'"),
    "a large integer": (metric(value=2**53 + 1), "9007199254740993"),
    "a constant": (lambda report: report.constants(CELL, {"a(b)": 1.0}), "'a(b)'"),
    "two arrays, one name": (arrays("a.npy"), "'a.npy'"),
    "no cell": (lambda report: report.metrics({"seed": 7}, {"a": 1.0}), "{'seed': 7}"),
    "an array called file": (arrays("file"), "'file'"),
    "a column of no text": (
        lambda report: report.table(CELL, "x", {"\ud800": [1]}),
        "table x",
    ),
    "no metric of the search": (lambda report: report.progress(0.5), "'done'"),
    "a fraction above 1": (lambda report: report.progress(1.5), "1.5"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_values_that_cannot_be_stored_are_refused_at_once(report, folder, what):
    """With a sentence, and nothing of it is in the folder: not when everything is done,
    and can never be sent.
    """
    bad, word = REFUSED[what]
    with pytest.raises(ValueError) as refused:
        bad(report)
    assert word in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert folder.entries() == []
    assert not any(folder.files.iterdir())


def test_an_array_of_objects_is_refused(report):
    with pytest.raises(TypeError, match="'y' of more"):
        report.arrays(CELL, "more", {"y": np.array([None])})


@pytest.mark.parametrize("value", [np.float32(0.1), np.int64(3), np.True_, 2**60])
def test_numbers_of_any_kind_are_recorded_as_they_are(report, folder, value):
    report.metrics(dict(CELL), {"value": value}, np.int64(2))  # a copy is the same cell
    (line,) = folder.entries()
    assert line["metrics"] == {"value": float(value)}
    assert line["step"] == 2


def test_equal_values_of_other_types_are_other_cells(tmp_path):
    """1, 1.0 and True are equal in Python; their cells have keys of their own, and so
    must what they report.
    """
    cells = {
        "whole": {"alpha": 1},
        "real": {"alpha": 1.0},
        "truth": {"alpha": True},
        "list": {"alpha": [1]},
    }
    folders = {key: begun(tmp_path, key, cell) for key, cell in cells.items()}
    report = RecordedReport(
        cells, folders, Checkpoint(str(tmp_path), "x", cells), print
    )
    for number, cell in enumerate(cells.values()):
        report.metrics(dict(cell), {"number": number})
    numbers = []
    for folder in folders.values():
        (entry,) = folder.entries()
        numbers.append(entry["metrics"]["number"])
    assert numbers == [0, 1, 2, 3]


def test_a_search_receives_every_hundredth_of_the_progress_except_the_end(
    report, heard
):
    """At the end nothing may stop the trial any more: its last metric goes with the end
    of the pack.
    """
    for step in range(1, 1001):
        report.progress(step / 1000, done=1 / step, other=2.0)
    fractions = [message["fraction"] for message in heard]
    assert 90 <= len(fractions) <= 100
    for fraction in fractions:
        assert fraction < 1
    for earlier, later in zip(fractions, fractions[1:]):
        assert later - earlier >= 0.01
    assert report.judged == {"fraction": 1.0, JUDGED: 1 / 1000}
