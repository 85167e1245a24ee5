"""A trial on a worker, without Ray: outcomes cell by cell, and what the driver hears."""

import platform
from pathlib import Path

import pytest
from mlflow.exceptions import MlflowException

from infoscope.tracking import runs
from infoscope.tracking.cell_folder import CellFolder, Superseded, cell_folders
from infoscope.tracking.datasets import DataSet
from infoscope.tracking.report import JUDGED
from infoscope.tracking.store import Store
from infoscope.tracking.tags import PARENT
from infoscope.tracking.trial import MAX_ATTEMPTS
from tests.tracking.cells import computed, job

CELLS = {"one": {"seed": 0}, "two": {"seed": 1}}


@pytest.fixture
def store(own_folder):
    return Store.open("worked", create=True)


@pytest.fixture
def worked(store, own_folder):
    """(trial) -> all that the driver hears of its two cells."""
    return lambda trial, **settings: computed(
        job(store, own_folder / "cells", trial, **settings), CELLS
    )


def outcomes():
    """By key, the outcome and the error of every cell in the store."""
    frame = runs("worked", finished=False).set_index("key")
    return {
        key: (row["outcome"], row["tags"].get("infoscope.error"))
        for key, row in frame.iterrows()
    }


def traces(store, tmp_path):
    """The tracebacks of all cells that have one, by key."""
    client = store.client
    texts = {}
    for run in store.cells():
        if "traceback.txt" in {
            file.path for file in client.list_artifacts(run.info.run_id)
        }:
            path = client.download_artifacts(
                run.info.run_id, "traceback.txt", str(tmp_path)
            )
            texts[run.data.tags["infoscope.key"]] = Path(path).read_text()
    return texts


def test_a_cell_that_fails_on_its_own_leaves_the_others(store, worked, tmp_path):
    def trial(pack, report):
        for cell in pack.cells:
            with report.member(cell):
                if cell["seed"] == 1:
                    raise ArithmeticError("no result")
                report.metrics(cell, {"level": 1.0})

    end = worked(trial)[-1]
    error = "ArithmeticError: no result"
    assert outcomes() == {"one": ("complete", None), "two": ("failed", error)}
    assert end == {
        "fraction": 1.0,
        "ended": (("one", "complete", ""), ("two", "failed", error)),
        "unsent": (),
    }
    ((key, trace),) = traces(store, tmp_path).items()
    assert key == "two"
    assert "ArithmeticError" in trace
    assert cell_folders(tmp_path / "cells") == []


def test_an_error_outside_of_any_cell_fails_those_without_one(worked):
    def trial(pack, report):
        with report.member(pack.cells[1]):
            raise ArithmeticError("no result")
        raise RuntimeError("no memory")

    worked(trial)
    assert outcomes() == {
        "one": ("failed", "RuntimeError: no memory"),
        "two": ("failed", "ArithmeticError: no result"),
    }


def test_an_error_tells_no_password_and_any_text_can_be_stored(store, worked, tmp_path):
    """MLflow's own errors hold the address that they asked."""

    def trial(pack, report):
        raise ConnectionError("http://ann:hush@tracking/api \udcff\0.npz")

    worked(trial)
    texts = [error for _, error in outcomes().values()] + [
        *traces(store, tmp_path).values()
    ]
    assert len(texts) == 4
    for text in texts:
        assert "http://tracking/api \\udcff\\x00.npz" in text
        assert "hush" not in text


def test_a_run_has_its_curve_its_constants_and_its_machine(store, worked):
    """The UI sorts the sections of its charts by their names, those without one last."""

    def trial(pack, report):
        for cell in pack.cells:
            for step in (1, 2):
                report.curve(cell, {"loss": 1 / step}, step)
            report.metrics(cell, {"mse at 2 bits": 0.5})
            report.constants(
                cell, {"floor at 2 bits": 0.25, "infinite at 2 bits": float("inf")}
            )
            report.constants(cell, {"batches at 2 bits": 9, "items": 800})

    data = DataSet("digits", "made here", lambda: {"x": [1.0, 2.0]})
    worked(trial, data=lambda cell: [data], tags=lambda cell: {"colour": "blue"})
    row = runs("worked").set_index("key").loc["one"]
    run = store.run(row["run_id"])
    assert set(run.data.metrics) == {"Curves/loss", "mse at 2 bits"}
    assert run.data.params == {"seed": "0"}
    assert row["loss"] == 0.5
    assert row["floor at 2 bits"] == 0.25
    assert row["batches at 2 bits"] == 9
    assert row["items"] == 800
    tags = run.data.tags
    assert tags["infoscope.device"].startswith("cpu (")
    assert tags["infoscope.host"] == platform.node()
    assert tags["colour"] == "blue"
    assert tags["infoscope.data"] == "digits"
    assert run.info.run_name == "one"
    assert [made.dataset.digest for made in run.inputs.dataset_inputs] == [
        data.entry["digest"]
    ]


def test_data_that_cannot_be_read_fail_their_cells(worked):
    def absent():
        raise FileNotFoundError("no digits.npz")

    worked(
        lambda pack, report: None, data=lambda cell: [DataSet("digits", "lost", absent)]
    )
    assert set(outcomes().values()) == {("failed", "FileNotFoundError: no digits.npz")}


def all_failed(word):
    """Whether all cells have failed with this word."""
    return all(
        outcome == "failed" and word in error for outcome, error in outcomes().values()
    )


@pytest.mark.parametrize(
    "trial",
    [lambda pack, report: report.progress(0.5, level=1.0), lambda pack, report: None],
)
def test_a_trial_that_does_not_report_what_the_search_needs_fails(worked, trial):
    worked(trial, metric="loss")
    assert all_failed("'loss'")


def test_the_end_of_a_search_has_the_last_metric(worked):
    end = worked(lambda pack, report: report.progress(1.0, loss=0.25), metric="loss")[
        -1
    ]
    assert end["fraction"] == 1.0
    assert end[JUDGED] == 0.25
    frame = runs("worked")
    assert frame["progress/loss"].tolist() == [0.25] * 2
    assert frame["progress/fraction"].tolist() == [1.0] * 2


def test_a_stopped_trial_leaves_its_cells_to_the_driver(store, own_folder):
    """Tune ends a trial at its report by SystemExit, whether its scheduler or the user
    wants it.
    """

    def trial(pack, report):
        report.metrics(pack.cells[0], {"level": 1.0})
        raise SystemExit

    folder = own_folder / "cells"
    with pytest.raises(SystemExit):
        computed(job(store, folder, trial), CELLS)
    assert [cell.is_left() for cell in cell_folders(folder)] == [True, True]
    assert {run.info.status for run in store.cells()} == {"RUNNING"}
    assert store.run_of("one").data.metrics == {"level": 1.0}


def test_a_repeated_trial_computes_only_what_has_not_ended(store, own_folder):
    """Its worker died before it could say so."""
    calls = []

    def trial(pack, report):
        calls.append(len(calls))
        report.metrics(pack.cells[0], {"level": float(len(calls))})

    told = job(store, own_folder / "cells", trial)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CellFolder, "remove", lambda folder: None)
        first = computed(told, CELLS)
    again = computed(told, CELLS)
    assert calls == [0]
    assert again == first
    assert runs("worked").set_index("key")["level"].dropna().to_dict() == {"one": 1.0}


def superseded_by(act):
    """A trial in which a new attempt begins, before `act` is called."""

    def trial(pack, report):
        folder = report._folder(pack.cells[0])
        CellFolder(folder.path).begin({"seed": 0}, {PARENT: "another driver's"})
        act(report, pack.cells[0])

    return trial


def swallowed(report, cell):
    with report.member(cell):
        raise ArithmeticError("no result")


def stopped(report, cell):
    raise SystemExit


@pytest.mark.parametrize(
    "act",
    [
        lambda report, cell: report.metrics(cell, {"level": 1.0}),
        lambda report, cell: report.progress(0.5),
        lambda report, cell: report.table(cell, "rows", {"x": [1.0]}),
        lambda report, cell: report.arrays(cell, "rows", {"x": [1.0]}),
        lambda report, cell: report.model([cell], "critic", None, {}),
        lambda report, cell: report.save(dict),
        swallowed,
        stopped,
    ],
)
def test_a_process_that_was_superseded_writes_nothing(
    store, own_folder, monkeypatch, act
):
    monkeypatch.setattr("infoscope.tracking.trial.PUBLISH_SECONDS", 0.0)
    monkeypatch.setattr("infoscope.tracking.report.CHECKPOINT_SECONDS", 0.0)
    work = job(store, own_folder / "cells", superseded_by(act))
    with pytest.raises(Superseded):
        computed(work, {"one": {"seed": 0}})
    (folder,) = cell_folders(own_folder / "cells")
    assert {path.name for path in folder.path.rglob("*")} == {"cell.json", "files"}
    assert not list((own_folder / "cells").rglob("*.checkpoint"))


def test_a_cell_that_ends_its_worker_again_and_again_fails(store, own_folder):
    class Dead(BaseException):
        pass

    def trial(pack, report):
        raise Dead

    told = job(store, own_folder / "cells", trial)
    for _ in range(MAX_ATTEMPTS):
        with pytest.raises(Dead):
            computed(told, CELLS)
    computed(told, CELLS)
    assert all_failed("worker process ended")
    assert len(list(store.cells())) == 2  # the runs of the attempts before are gone


def test_a_running_cell_is_seen_and_updated(store, worked, monkeypatch):
    monkeypatch.setattr("infoscope.tracking.trial.PUBLISH_SECONDS", 0.0)
    seen = []

    def trial(pack, report):
        for step in range(3):
            report.metrics(pack.cells[0], {"level": float(step)}, step)
            run = store.run_of("one")
            seen.append((run.info.status, run.data.metrics["level"]))

    worked(trial)
    assert seen == [("RUNNING", 0.0), ("RUNNING", 1.0), ("RUNNING", 2.0)]


def test_a_store_that_is_away_stops_no_trial(store, own_folder, monkeypatch, caplog):
    """The cells stay in their folders."""

    def away(*given, **named):
        raise MlflowException("away")

    for name in ("create_run", "get_experiment"):
        monkeypatch.setattr(type(store.client), name, away)
    monkeypatch.setattr("infoscope.tracking.trial.PUBLISH_SECONDS", 0.0)
    folder = own_folder / "cells"

    def trial(pack, report):
        report.metrics(pack.cells[0], {"level": 1.0})

    end = computed(job(store, folder, trial), CELLS)[-1]
    assert [outcome for _, outcome, _ in end["ended"]] == ["complete", "complete"]
    assert [cell.ending()["outcome"] for cell in cell_folders(folder)] == [
        "complete"
    ] * 2
    assert "not in MLflow yet: cell one" in caplog.text
