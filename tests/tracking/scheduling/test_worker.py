"""One pack on a worker, without Ray: outcomes cell by cell, and what a scheduler is told."""

import dataclasses
import time

import numpy as np
import pytest
import torch

from infoscope.tracking import runs
from infoscope.tracking.scheduling.worker import Assignment, RecordedReport, work
from infoscope.tracking.store.store import Store


@pytest.fixture
def assignment(tmp_path, monkeypatch, empty_store):
    """Two cells in one trial, their records in the folder `records`, on the driver's own machine."""
    import platform

    empty_store(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    cells = {"one": {"seed": 0}, "two": {"seed": 1}}
    (tmp_path / "records").mkdir()
    return Assignment(
        cells=cells,
        run_ids={},
        tags={key: {"infoscope.profile": "smoke", "mlflow.runName": key} for key in cells},
        store=Store.open("worked", create=True),
        records=tmp_path / "records",
        device="cpu",
        host=platform.node(),
        cost=1.0,
    )


def outcomes():
    """By key, the outcome and the error of every cell in the store."""
    frame = runs("worked", finished=False).set_index("key")
    return {key: (row["outcome"], row["tags"].get("infoscope.error")) for key, row in frame.iterrows()}


def test_a_cell_that_fails_on_its_own_leaves_the_others(assignment):
    def trial(pack, report):
        for cell in pack.cells:
            with report.member(cell):
                if cell["seed"] == 1:
                    raise ArithmeticError("this seed has no result")
                report.metrics(cell, {"level": 1.0})

    told = []
    work(trial, assignment, told.append)
    assert outcomes() == {"one": ("complete", None), "two": ("failed", "ArithmeticError: this seed has no result")}
    assert told[-1]["failed"] and told[-1]["errors"] == {"two": "ArithmeticError: this seed has no result"}
    assert "level" not in told[-1]["final"].get("two", {}) and told[-1]["final"]["one"] == {"level": 1.0}
    traces = list(assignment.records.rglob("traceback.txt"))
    assert [path.parts[-3] for path in traces] == ["two"] and "ArithmeticError" in traces[0].read_text()


def test_an_error_outside_of_any_cell_fails_all_and_says_so(assignment):
    def trial(pack, report):
        with report.member(pack.cells[1]):
            raise ArithmeticError("this seed has no result")
        raise RuntimeError("out of memory")

    work(trial, assignment, lambda result: None)
    assert outcomes() == {
        "one": ("failed", "RuntimeError: out of memory (in a trial that 2 cells share)"),
        "two": ("failed", "ArithmeticError: this seed has no result"),
    }


def test_an_error_tells_no_password(assignment):
    """MLflow's own errors hold the address that they asked."""

    def trial(pack, report):
        with report.member(pack.cells[1]):
            raise ConnectionError("API request to http://ann:hush@tracking/api failed")
        raise ConnectionError("API request to http://ann:hush@tracking/api failed")

    work(trial, assignment, lambda result: None)
    told = [error for _, error in outcomes().values()]
    told += [path.read_text() for path in assignment.records.rglob("traceback.txt")]
    assert len(told) == 4 and all("http://tracking/api failed" in text and "hush" not in text for text in told)


@pytest.mark.parametrize(
    "name", ["a b/c: d.é-f", ".a", "", "loss%", "/a", "a//b", "a/", "../a", "a/./b", ".", "..", "a\n", "x" * 251]
)
def test_metrics_that_mlflow_would_refuse_fail_at_once(assignment, name):
    """Not when everything is done, and can never be sent."""
    told = []
    work(lambda pack, report: report.metrics(pack.cells[0], {name: 1.0}), assignment, told.append)
    refused = "the name of a metric must" in told[-1]["errors"].get("one", "")
    assert refused == (name not in ("a b/c: d.é-f", ".a"))
    if not refused:
        assert runs("worked").set_index("key").loc["one", name] == 1.0


REFUSED = {
    "a step of 71 bits": (lambda cell, to: to.metrics(cell, {"a": 1.0}, 2**70), "got 11805"),
    "a step of text": (lambda cell, to: to.metrics(cell, {"a": 1.0}, "3"), "2**53, got '3'"),
    "a step of half": (lambda cell, to: to.metrics(cell, {"a": 1.0}, 0.5), "must be a whole number from"),
    "a step of truth": (lambda cell, to: to.metrics(cell, {"a": 1.0}, True), "2**53, got True"),
    "a value of text": (lambda cell, to: to.metrics(cell, {"a": "1"}), "metric 'a' must be a single"),
    "no value": (lambda cell, to: to.metrics(cell, {"a": None}), "holds, got None"),
    "a complex value": (lambda cell, to: to.metrics(cell, {"a": 1j}), "holds, got 1j"),
    "several values": (lambda cell, to: to.metrics(cell, {"a": np.ones(2)}), "holds, got array"),
    "a large integer": (lambda cell, to: to.metrics(cell, {"a": 2**53 + 1}), "holds, got 9007199254740993"),
    "no cell": (lambda cell, to: to.metrics({"seed": 7}, {"a": 1.0}), "{'seed': 7} is no cell of this pack"),
    "an array called file": (lambda cell, to: to.arrays(cell, "x", {"file": [1]}), "'file', for which NumPy has"),
    "two arrays, one name": (lambda cell, to: to.arrays(cell, "x", {"a.npy": [1]}), "is 'a.npy', for which NumPy"),
    "an array of no text": (lambda cell, to: to.arrays(cell, "x", {"\ud800": [1]}), "text without surrogates"),
    "a column of no text": (lambda cell, to: to.table(cell, "x", {"\ud800": [1]}), "table x cannot be stored"),
    "a fraction of nothing": (
        lambda cell, to: to.progress(float("nan")),
        "the fraction that is done must be a number from 0 to 1",
    ),
    "a fraction above 1": (lambda cell, to: to.progress(1.5), "the fraction that is done must be a number from 0 to 1"),
    "a progress called final": (lambda cell, to: to.progress(0.5, final=1.0), "given ['final'], names that have"),
    "a progress called done": (lambda cell, to: to.progress(0.5, done=1.0), "given ['done'], names that have"),
    "a progress of text": (lambda cell, to: to.progress(0.5, loss="low"), "holds, got 'low'"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_could_not_be_stored_is_refused_at_once(assignment, what):
    """With a sentence, and nothing of it is in the record."""
    bad, words = REFUSED[what]
    report = RecordedReport(assignment, lambda told: None)
    for record in report.records:
        record.begin({}, {}, None)
    before = [path.read_bytes() for path in sorted(assignment.records.rglob("*.jsonl"))]
    with pytest.raises(ValueError) as refused:
        bad(assignment.cells["one"], report)
    assert words in str(refused.value) and len(str(refused.value).splitlines()) == 1
    assert [path.read_bytes() for path in sorted(assignment.records.rglob("*.jsonl"))] == before
    assert not [path for path in assignment.records.rglob("*") if path.suffix in (".npz", ".parquet")]


def test_numbers_of_any_kind_are_recorded_as_they_are(assignment):
    given = {"np32": np.float32(0.1), "np": np.int64(3), "torch": torch.tensor(0.1), "true": np.True_, "large": 2**60}

    def trial(pack, report):
        for cell in pack.cells:
            report.metrics(dict(cell), given, np.int64(2))  # a copy is the same cell

    told = []
    work(trial, assignment, told.append)
    assert not told[-1]["failed"]
    frame = runs("worked")
    for name, value in given.items():
        assert frame[name].tolist() == [float(value)] * 2
    history = assignment.store.client.get_metric_history(frame["run_id"][0], "np")
    assert [(point.step, point.value) for point in history] == [(2, 3.0)]


def test_equal_values_of_other_types_are_other_cells(assignment):
    """1, 1.0 and True are equal in Python; their cells have keys of their own, and so must what they report."""
    cells = {"whole": {"alpha": 1}, "real": {"alpha": 1.0}, "truth": {"alpha": True}, "list": {"alpha": [1]}}
    tags = {key: {"infoscope.profile": "smoke"} for key in cells}
    assignment = dataclasses.replace(assignment, cells=cells, tags=tags)

    def trial(pack, report):
        for number, cell in enumerate(pack.cells):
            report.metrics(dict(cell), {"number": number})

    work(trial, assignment, lambda told: None)
    assert runs("worked").set_index("key")["number"].to_dict() == {key: number for number, key in enumerate(cells)}


def test_an_error_of_no_text_does_not_keep_the_cell_from_being_sent(assignment):
    def trial(pack, report):
        raise OSError("no such file: \udcff\0.npz")

    told = []
    work(trial, assignment, told.append)
    words = "OSError: no such file: \\udcff\\x00.npz (in a trial that 2 cells share)"
    assert outcomes() == {key: ("failed", words) for key in assignment.cells}
    assert set(told[-1]["run_ids"]) == set(assignment.cells)
    assert all("\\udcff" in path.read_text() for path in assignment.records.rglob("traceback.txt"))


def test_a_search_hears_of_every_hundredth_but_not_of_the_end(assignment):
    """At the end nothing may stop the trial any more: its last metrics go with the final result."""

    def trial(pack, report):
        for step in range(1, 1001):
            report.progress(step / 1000, loss=1 / step, other=2.0)

    told = []
    work(trial, assignment, told.append, "loss")
    heard = [result["fraction"] for result in told[:-1]]
    assert 90 <= len(heard) <= 100 and all(fraction < 1 for fraction in heard)
    assert all(later - earlier >= 0.01 for earlier, later in zip(heard, heard[1:]))
    assert (told[-1]["fraction"], told[-1]["loss"], told[-1]["failed"]) == (1.0, 1 / 1000, False)
    frame = runs("worked")
    assert frame["progress/loss"].tolist() == [1 / 1000] * 2 and frame["progress/fraction"].tolist() == [1.0] * 2


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        (lambda pack, report: report.progress(0.5, level=1.0), r"given \['level'\]; the search decides by 'loss'"),
        (lambda pack, report: None, "never called report.progress, by whose 'loss' the search decides"),
    ],
)
def test_a_trial_that_does_not_report_what_the_search_needs_fails(assignment, trial, words):
    told = []
    work(trial, assignment, told.append, "loss")
    assert told[-1]["failed"]
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(told[-1]["errors"]["one"])


def test_what_recording_takes_is_counted_once(assignment):
    """The trial's waits for its reports, at its beginning and end, and the processor time of sending meanwhile; the
    rest is the trial's own.
    """
    waited = []

    def idle(pack, report):
        time.sleep(1)
        report.metrics(pack.cells[0], {"level": 1.0})

    def busy(pack, report):
        began = time.perf_counter()
        for step in range(300):
            report.metrics(pack.cells[0], {"level": 1.0}, step)
        waited.append(time.perf_counter() - began)

    told = []
    work(idle, assignment, told.append)
    again = dataclasses.replace(assignment, records=assignment.records.parent / "others")
    again.records.mkdir()
    before, began = time.process_time(), time.perf_counter()
    work(busy, again, told.append)
    processor, all_of_it = time.process_time() - before, time.perf_counter() - began
    first, second = (result for result in told if "recording_seconds" in result)
    assert first["own_seconds"] >= 1.0
    assert all_of_it <= second["recording_seconds"] + second["own_seconds"] + 0.1  # nothing is left out
    assert waited[0] * 0.5 < second["recording_seconds"] <= all_of_it + processor
    assert second["own_seconds"] < second["recording_seconds"]


def test_a_report_of_a_plain_sweep_needs_no_metrics(assignment):
    told = []
    report = RecordedReport(assignment, told.append)
    report._told -= 2.0
    report.progress(0.5)
    report.progress(0.6)
    assert told == [{"fraction": 0.5}]  # one a second


def test_a_run_has_its_curve_first_no_constant_among_its_metrics_and_says_what_it_is(assignment):
    """The UI sorts the sections of its charts by their names, those without one last."""
    tags = {key: of | {"mlflow.note.content": f"Cell {key}."} for key, of in assignment.tags.items()}

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

    told = []
    work(trial, dataclasses.replace(assignment, tags=tags), told.append)
    frame = runs("worked", finished=False).set_index("key")
    raw = assignment.store.run(frame.loc["one", "run_id"]).data
    assert set(raw.metrics) == {"Curves/loss", "at 2 bits/mse"}
    sections = sorted(name.rpartition("/")[0] for name in raw.metrics)
    assert sections[0] == "Curves"
    row = frame.loc["one"]
    assert (row["loss"], row["at 2 bits/floor"], row["at 2 bits/batches"], row["items"]) == (0.5, 0.25, 9, 800)
    assert told[-1]["final"]["one"] == {"loss": 0.5, "at 2 bits/mse": 0.5}
    note = raw.tags["mlflow.note.content"]
    begin, rest = note.split("Cell one.")
    assert begin == "**Curves**: loss 1 █▁ 0.5 (steps 1 to 2)\n\n"
    assert "| mse | 0.5 |" in rest and "| items |" in rest and "loss" not in rest
    assert "**Failed**: `RuntimeError: no`" in frame.loc["two", "tags"]["mlflow.note.content"]


@pytest.mark.parametrize("report", ["curve", "constants"])
def test_what_mlflow_would_not_take_is_refused_for_curves_and_constants_too(assignment, report):
    def trial(pack, to):
        given = [pack.cells[0], {"a(b)": 1.0}] + ([1] if report == "curve" else [])
        getattr(to, report)(*given)

    told = []
    work(trial, assignment, told.append)
    assert "the name of a metric must" in told[-1]["errors"]["one"]
