"""One pack on a worker, without Ray: outcomes cell by cell, and what a scheduler is told."""

import platform
from pathlib import Path

import numpy as np
import pytest
import torch

from infoscope.tracking import runs
from infoscope.tracking.scheduling.worker import JUDGED, RecordedReport, work
from infoscope.tracking.store.store import Store
from infoscope.tracking.sweep import Pack
from tests.tracking.cells import assigned, history


@pytest.fixture
def assignment(own_folder):
    """Two cells in one trial, their records in the folder `records`, on the driver's own machine."""
    store = Store.open("worked", create=True)
    return assigned(store, own_folder / "records", {"one": {"seed": 0}, "two": {"seed": 1}})


def worked(trial, assignment, metric=None):
    """All that a driver is told of a trial."""
    told = []
    work(trial, assignment, told.append, metric)
    return told


def outcomes():
    """By key, the outcome and the error of every cell in the store."""
    frame = runs("worked", finished=False).set_index("key")
    return {key: (row["outcome"], row["tags"].get("infoscope.error")) for key, row in frame.iterrows()}


def traces(assignment, tmp_path):
    """The tracebacks of all cells that have one, by key."""
    client, found = assignment.store.client, {}
    for run in assignment.store.cells():
        if "traceback.txt" in {file.path for file in client.list_artifacts(run.info.run_id)}:
            path = client.download_artifacts(run.info.run_id, "traceback.txt", str(tmp_path))
            found[run.data.tags["infoscope.key"]] = Path(path).read_text()
    return found


def test_a_cell_that_fails_on_its_own_leaves_the_others(assignment, tmp_path):
    def trial(pack, report):
        for cell in pack.cells:
            with report.member(cell):
                if cell["seed"] == 1:
                    raise ArithmeticError("no result")
                report.metrics(cell, {"level": 1.0})

    end = worked(trial, assignment)[-1]
    assert outcomes() == {"one": ("complete", None), "two": ("failed", "ArithmeticError: no result")}
    assert end["failed"] and end["errors"] == {"two": "ArithmeticError: no result"}
    assert "level" not in end["final"].get("two", {}) and end["final"]["one"] == {"level": 1.0}
    ((key, trace),) = traces(assignment, tmp_path).items()
    assert key == "two" and "ArithmeticError" in trace and not list(assignment.records.glob("*@*"))


def test_an_error_outside_of_any_cell_fails_all_cells(assignment):
    def trial(pack, report):
        with report.member(pack.cells[1]):
            raise ArithmeticError("no result")
        raise RuntimeError("no memory")

    worked(trial, assignment)
    found = outcomes()
    assert found["two"] == ("failed", "ArithmeticError: no result") and found["one"][0] == "failed"
    assert found["one"][1].startswith("RuntimeError: no memory") and "2 cells" in found["one"][1]


def test_an_error_tells_no_password(assignment, tmp_path):
    """MLflow's own errors hold the address that they asked."""
    asked = "http://ann:hush@tracking/api"

    def trial(pack, report):
        with report.member(pack.cells[1]):
            raise ConnectionError(asked)
        raise ConnectionError(asked)

    worked(trial, assignment)
    told = [error for _, error in outcomes().values()] + [*traces(assignment, tmp_path).values()]
    assert len(told) == 4 and all("http://tracking/api" in text and "hush" not in text for text in told)


def test_a_cell_with_an_error_without_text_is_sent(assignment, tmp_path):
    def trial(pack, report):
        raise OSError("absent \udcff\0.npz")

    end = worked(trial, assignment)[-1]
    for outcome, error in outcomes().values():
        assert outcome == "failed" and error.startswith(r"OSError: absent \udcff\x00.npz")
    assert set(end["run_ids"]) == set(assignment.cells) == set(outcomes())
    assert all("\\udcff" in trace for trace in traces(assignment, tmp_path).values())


@pytest.mark.parametrize("name", ["a b/c: d.é-f", ".a"])
def test_names_that_mlflow_takes_are_taken(assignment, name):
    assert not worked(lambda pack, report: report.metrics(pack.cells[0], {name: 1.0}), assignment)[-1]["errors"]
    assert runs("worked").set_index("key").loc["one", name] == 1.0


def metric(name="a", value=1.0, step=0):
    return lambda cell, to: to.metrics(cell, {name: value}, step)


NO_NAMES = ("", "loss%", "/a", "a//b", "a/", "../a", "a/./b", ".", "..", "a\n", "x" * 251)
REFUSED = {
    **{f"a metric {name!r}"[:20]: (metric(name), "name") for name in NO_NAMES},
    "a metric of a curve": (metric("Curves/loss"), "report.curve(cell, {'loss': value}, step)"),
    "a metric of the machine": (metric("system/memory"), "'system/'"),
    "a metric of a search": (metric("progress/loss"), "report.progress"),
    "values without names": (lambda cell, to: to.metrics(cell, 0.5), "dict"),
    "a pack for a cell": (lambda cell, to: to.metrics(Pack((cell,)), {"a": 1.0}), "pack.cells"),
    "a curve": (lambda cell, to: to.curve(cell, {"a(b)": 1.0}, 1), "'a(b)'"),
    "a constant": (lambda cell, to: to.constants(cell, {"a(b)": 1.0}), "'a(b)'"),
    "a step of 71 bits": (metric(step=2**70), "11805"),
    "a step of text": (metric(step="3"), "'3'"),
    "a step of half": (metric(step=0.5), "whole number"),
    "a step of truth": (metric(step=True), "True"),
    "a value of text": (metric(value="1"), "'1'"),
    "no value": (metric(value=None), "None"),
    "a complex value": (metric(value=1j), "1j"),
    "several values": (metric(value=np.ones(2)), "array"),
    "a large integer": (metric(value=2**53 + 1), "9007199254740993"),
    "no cell": (lambda cell, to: to.metrics({"seed": 7}, {"a": 1.0}), "{'seed': 7}"),
    "an array called file": (lambda cell, to: to.arrays(cell, "x", {"file": [1]}), "'file'"),
    "two arrays, one name": (lambda cell, to: to.arrays(cell, "x", {"a.npy": [1]}), "'a.npy'"),
    "an array of no text": (lambda cell, to: to.arrays(cell, "x", {"\ud800": [1]}), "surrogates"),
    "a column of no text": (lambda cell, to: to.table(cell, "x", {"\ud800": [1]}), "table x"),
    "a fraction of nothing": (lambda cell, to: to.progress(float("nan")), "nan"),
    "a fraction of text": (lambda cell, to: to.progress("half"), "'half'"),
    "no metric of the search": (lambda cell, to: to.progress(0.5), "**{'done': value}"),
    "a fraction above 1": (lambda cell, to: to.progress(1.5), "1.5"),
    "a progress of text": (lambda cell, to: to.progress(0.5, done="low"), "'low'"),
}


def test_values_that_cannot_be_stored_are_refused_at_once(assignment):
    """With a sentence, and nothing of it is in the record: not when everything is done, and can never be sent."""
    report = RecordedReport(assignment, lambda told: None, "done")
    for record in report.records:
        record.begin({}, {})
    before = [path.read_bytes() for path in sorted(assignment.records.rglob("*.jsonl"))]
    for what, (bad, word) in REFUSED.items():
        with pytest.raises(ValueError) as refused:
            bad(assignment.cells["one"], report)
        assert word in str(refused.value) and len(str(refused.value).splitlines()) == 1, what
        assert report.refused
        report.refused = False
        assert [path.read_bytes() for path in sorted(assignment.records.rglob("*.jsonl"))] == before, what
        assert not [path for path in assignment.records.rglob("*") if path.suffix in (".npz", ".parquet")], what


@pytest.mark.parametrize(("value", "refused"), [(1.0, False), (None, True), (ArithmeticError("no result"), False)])
def test_a_driver_is_told_of_reports_that_cannot_be_recorded(assignment, value, refused):
    def trial(pack, report):
        for cell in pack.cells:
            with report.member(cell):
                if isinstance(value, Exception):
                    raise value
                report.metrics(cell, {"a": value})

    assert worked(trial, assignment)[-1]["refused"] == refused


def test_numbers_of_any_kind_are_recorded_as_they_are(assignment):
    given = {"np32": np.float32(0.1), "np": np.int64(3), "torch": torch.tensor(0.1), "true": np.True_, "large": 2**60}

    def trial(pack, report):
        for cell in pack.cells:
            report.metrics(dict(cell), given, np.int64(2))  # a copy is the same cell

    assert not worked(trial, assignment)[-1]["failed"]
    frame = runs("worked")
    for name, value in given.items():
        assert frame[name].tolist() == [float(value)] * 2
    assert history(assignment.store, frame["run_id"][0], "np") == [(2, 3.0)]


def test_equal_values_of_other_types_are_other_cells(assignment):
    """1, 1.0 and True are equal in Python; their cells have keys of their own, and so must what they report."""
    cells = {"whole": {"alpha": 1}, "real": {"alpha": 1.0}, "truth": {"alpha": True}, "list": {"alpha": [1]}}

    def trial(pack, report):
        for number, cell in enumerate(pack.cells):
            report.metrics(dict(cell), {"number": number})

    worked(trial, assigned(assignment.store, assignment.records, cells))
    assert runs("worked").set_index("key")["number"].to_dict() == {key: number for number, key in enumerate(cells)}


def test_a_search_receives_every_hundredth_of_the_progress_except_the_end(assignment):
    """At the end nothing may stop the trial any more: its last metrics go with the final result."""

    def trial(pack, report):
        for step in range(1, 1001):
            report.progress(step / 1000, done=1 / step, other=2.0)

    *told, end = worked(trial, assignment, "done")  # a name that Tune itself uses
    heard = [result["fraction"] for result in told]
    assert 90 <= len(heard) <= 100 and all(fraction < 1 for fraction in heard)
    assert all(later - earlier >= 0.01 for earlier, later in zip(heard, heard[1:]))
    assert (end["fraction"], end[JUDGED], end["failed"]) == (1.0, 1 / 1000, False)
    frame = runs("worked")
    assert frame["progress/done"].tolist() == [1 / 1000] * 2 and frame["progress/fraction"].tolist() == [1.0] * 2


@pytest.mark.parametrize("trial", [lambda pack, report: report.progress(0.5, level=1.0), lambda pack, report: None])
def test_a_trial_that_does_not_report_what_the_search_needs_fails(assignment, trial):
    end = worked(trial, assignment, "loss")[-1]
    assert end["failed"] and "'loss'" in end["errors"]["one"]


def test_a_run_has_its_curve_its_constants_as_a_tag_and_a_description(own_folder):
    """The UI sorts the sections of its charts by their names, those without one last."""
    note = {"mlflow.note.content": "A cell."}
    store = Store.open("worked", create=True)
    assignment = assigned(store, own_folder / "records", {"one": {"seed": 0}, "two": {"seed": 1}}, **note)

    def trial(pack, report):
        for step in (1, 2):
            for cell in pack.cells:
                report.curve(cell, {"loss": 1 / step}, step)
        for cell in pack.cells:
            report.metrics(cell, {"at 2 bits/mse": 0.5})
            report.constants(cell, {"at 2 bits/floor": 0.25, "at 2 bits/infinite": float("inf")})
            report.constants(cell, {"at 2 bits/batches": 9, "items": 800})
        with report.member(pack.cells[1]):
            raise RuntimeError("no")

    end = worked(trial, assignment)[-1]
    frame = runs("worked", finished=False).set_index("key")
    raw = store.run(frame.loc["one", "run_id"]).data
    assert set(raw.metrics) == {"Curves/loss", "at 2 bits/mse"}
    assert min(name.rpartition("/")[0] for name in raw.metrics) == "Curves"
    assert raw.tags["infoscope.device"].startswith("cpu (") and raw.tags["infoscope.host"] == platform.node()
    row = frame.loc["one"]
    assert (row["loss"], row["at 2 bits/floor"], row["at 2 bits/batches"], row["items"]) == (0.5, 0.25, 9, 800)
    assert end["final"]["one"] == {"loss": 0.5, "at 2 bits/mse": 0.5}
    begin, rest = raw.tags["mlflow.note.content"].split("A cell.")
    assert begin == ""
    assert "| mse | 0.5 |" in rest and "| items |" in rest and "loss" not in rest
    assert "**Failed**: `RuntimeError: no`" in frame.loc["two", "tags"]["mlflow.note.content"]
