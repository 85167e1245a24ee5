"""Sweeps through a local Ray and an SQLite store, with faults: each system test is one
or more whole processes.

What Ray does not touch any more, a later run that finds most cells recorded, has a
driver that makes its trials itself (`inline_sweep`). A search through Ray is in
`tests/infra/test_two_nodes.py`.
"""

import contextlib
import dataclasses
import os
import signal

import pytest
from filelock import FileLock

from infoscope.tracking import main, parents, runs
from infoscope.tracking.cell_folder import cell_folders
from infoscope.tracking.driver import SweepBusy, _Run, bundled, where
from infoscope.tracking.driver import run as run_sweep
from infoscope.tracking.home import outbox
from infoscope.tracking.store import Store, tracking_uri
from infoscope.tracking.tags import PROFILE
from infoscope.tracking.trial import Ended
from tests.tracking import toy_sweep
from tests.tracking.cells import begun, history
from tests.tracking.processes import counts, finish, start, wait_until


def everything():
    """All cells of the toy experiment, by kind and seed."""
    return runs("toy", finished=False).set_index(["kind", "seed"]).sort_index()


@pytest.fixture
def again(monkeypatch, capsys):
    """The command of the toy sweep in this process, where there is nothing to run: its
    status, output and errors.
    """
    # what would start a Ray
    monkeypatch.setattr("infoscope.tracking.driver._Run", None)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(toy_sweep.SWEEP, arguments)
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    "uri, place",
    [
        ("", "{here}/runs"),
        ("sqlite:////elsewhere/mine.db", "/elsewhere/mine.db"),
        ("https://ann:hush@tracking", "https://tracking/"),
    ],
)
def test_the_place_of_the_record_is_that_of_the_tracking_store(
    empty_folder, monkeypatch, uri, place
):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    said = where(Store(tracking_uri(), "toy", "1"))
    assert place.format(here=empty_folder) in said
    assert "hush" not in said
    assert (f"{empty_folder}/runs" in said) == (not uri)


@pytest.mark.parametrize(
    "costs, most, sizes",
    [
        ([1] * 3, 5, [1, 1, 1]),
        ([1] * 6, 3, [2, 2, 2]),
        ([8, 1, 1, 1, 1], 3, [1, 4]),
        ([1] * 7, 3, [3, 3, 1]),
    ],
)
def test_packs_share_trials_of_similar_cost(costs, most, sizes):
    packs = [{str(number): {"number": number}} for number in range(len(costs))]
    groups = bundled(packs, costs, most)
    assert [len(group) for group in groups] == sizes
    assert len(groups) <= most
    assert [pack for group in groups for pack in group] == packs


@pytest.mark.system
def test_failures_are_isolated_and_only_missing_cells_run_again(empty_folder, again):
    """One kind completes, one raises, one loses its worker once and is tried again.
    From an empty folder.
    """
    code, output = finish(start(empty_folder, "--set", "kinds=plain,fails,dies"))
    assert code == 1 and counts(output) == {"completed": 4, "failed": 2, "cells": 6}, (
        output
    )
    assert "failed: fails seed=0: RuntimeError: this kind" in output
    assert "traceback.txt" in output
    first = everything()
    assert first["status"].to_dict() == {
        (kind, seed): "FAILED" if kind == "fails" else "FINISHED"
        for kind in ("plain", "fails", "dies")
        for seed in (0, 1)
    }
    traces = list((empty_folder / "runs" / "artifacts").rglob("traceback.txt"))
    assert len(traces) == 2
    assert "RuntimeError: this kind" in traces[0].read_text()

    code, output = finish(
        start(empty_folder, "--set", "kinds=plain,dies,fails", module="inline_sweep")
    )
    assert code == 1 and counts(output) == {"failed": 2, "already": 4, "cells": 6}, (
        output
    )
    code, _, errors = again("--profile", "smoke")
    assert code == 0
    assert counts(errors) == {"cells": 2}
    second = everything()
    complete = first["status"] == "FINISHED"
    assert second["run_id"][complete].equals(first["run_id"][complete])
    assert len(second) == 6
    assert not cell_folders(outbox() / "toy")
    invocations = parents("toy", "smoke")
    # the third had nothing to do
    assert [run.info.status for run in invocations] == ["FAILED", "FAILED"]
    assert invocations[1].data.params == {
        "kinds": "plain,fails,dies",
        "seeds": "0,1",
        "steps": "3",
    }
    assert again("--profile", "smoke", "--set", "kinds=plain steps=3")[0] == 0
    assert set(everything().loc["plain", "profile"]) == {"smoke; smoke steps=3"}


@pytest.mark.system
def test_an_interrupted_sweep_goes_on_from_its_checkpoint(own_folder):
    """Ctrl-C leaves no run RUNNING; the curve has every step once. Kills are in
    `tests/infra/test_two_nodes.py`.
    """
    settings = ("--set", "kinds=slow seeds=0 steps=200")
    variables = {"INFOSCOPE_CHECKPOINT_SECONDS": "1"}
    process = start(own_folder, *settings, **variables)
    cells_folder = own_folder / "runs" / "cells" / "toy"
    wait_until(lambda: any(cells_folder.glob("*.checkpoint")), process, "a checkpoint")
    # as a terminal does: to everything that runs in it, the workers included
    os.killpg(process.pid, signal.SIGINT)
    code, output = finish(process)
    assert code == 130 and "interrupted" in output, output
    assert everything()["status"].tolist() == ["KILLED"]

    code, output = finish(
        start(own_folder, *settings, module="inline_sweep", **variables)
    )
    assert code == 0, output
    begins = {
        int(path.name.removeprefix("started-")) for path in own_folder.glob("started-*")
    }
    assert len(begins) == 2
    assert min(begins) == 0
    done = everything()
    assert done["status"].tolist() == ["FINISHED"]
    store = Store.open("toy")
    assert sorted(step for step, _ in history(store, done["run_id"].iloc[0])) == list(
        range(200)
    )
    assert not list(store.search("attributes.status = 'RUNNING'"))


@pytest.mark.system
def test_short_cells_share_trials_and_each_keeps_its_own_run_and_failure(own_folder):
    """150 cells that take no time: some raise, one kills its worker every time, and
    none of the others is touched.
    """
    (own_folder / "trials").mkdir()
    process = start(
        own_folder,
        "--set",
        "count=150 fatal=40",
        module="many_cells",
        TRIALS=str(own_folder / "trials"),
    )
    code, output = finish(process)
    assert code == 1 and counts(output) == {
        "completed": 143,
        "failed": 7,
        "cells": 150,
    }, output
    frame = runs("many", finished=False).set_index("number").sort_index()
    assert len(frame) == 150
    assert frame.index.is_unique
    failed = frame[frame["status"] == "FAILED"]
    assert failed.index.tolist() == [13, 38, 40, 63, 88, 113, 138]
    assert set(frame["status"]) == {"FAILED", "FINISHED"}
    assert failed.loc[63, "tags"]["infoscope.error"].startswith("ArithmeticError: 63")
    assert "worker" in failed.loc[40, "tags"]["infoscope.error"].lower()
    whole = frame.drop(failed.index)
    assert (whole["mean"] == whole.index).all()
    assert (whole["level"] == whole.index + 0.9).all()
    store = Store.open("many")
    for number in (0, 39, 41, 99):  # beside a cell that died, too
        assert sorted(
            step for step, _ in history(store, whole.loc[number, "run_id"])
        ) == list(range(10))
    assert len(list((own_folder / "trials").iterdir())) <= 100
    assert not cell_folders(outbox() / "many")


@pytest.mark.parametrize(
    "arguments, word",
    [
        (("--set", "steps=0"), "steps"),
        (("--set", "speed=1"), "'speed'"),
        (("--gpus-per-pack", "1.5"), "gpus_per_pack"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    empty_folder, again, arguments, word
):
    code, _, error = again(*arguments)
    assert code == 2
    assert word in error
    assert len(error.splitlines()) == 1
    assert not list(empty_folder.iterdir())


def test_a_sweep_that_is_already_running_is_refused(empty_folder):
    lock = empty_folder / "runs" / "cells" / "toy.lock"
    lock.parent.mkdir(parents=True)
    with FileLock(lock), pytest.raises(SweepBusy, match="already running"):
        run_sweep(toy_sweep.SWEEP, "smoke")


def test_a_cell_that_ended_is_not_run_again_if_the_store_refuses_it(
    empty_folder, again, monkeypatch
):
    """It is counted, said, and sent by a later command."""
    sweep = toy_sweep.SWEEP
    store = Store.open(sweep.name, create=True)
    label, settings = sweep.profile("smoke", {"kinds": "plain", "seeds": "0"})
    ((key, cell),) = sweep.plan(settings).items()
    folder = begun(outbox() / sweep.name, key, cell, **{PROFILE: label})
    folder.metrics({"level": 1.0}, 0)
    folder.end("complete")
    with monkeypatch.context() as patch:
        patch.setattr(
            "infoscope.tracking.publishing.parameters", lambda cell: [].missing
        )
        code, _, said = again("--set", "kinds=plain", "--set", "seeds=0")
        assert code == 1
        assert folder.header()
        assert str(folder.path.parent) in said
    code, *_ = again("--set", "kinds=plain", "--set", "seeds=0")
    assert code == 0
    assert not folder.path.exists()
    assert runs(sweep.name)["level"].tolist() == [1.0]
    assert store.run_of(key).info.status == "FINISHED"


def test_a_sweep_that_declares_no_gpu_runs_on_the_cpu(own_folder, monkeypatch):
    """Also on a machine that has GPUs."""
    devices = []

    class Tuner:
        def __init__(self, *_, **__):
            pass

        def fit(self):
            """Nothing to run."""

    def job(driver, device):
        devices.append(device)

    monkeypatch.setattr("ray.tune.Tuner", Tuner)
    monkeypatch.setattr("infoscope.tracking.cluster.running", contextlib.nullcontext)
    monkeypatch.setattr("infoscope.tracking.cluster.resources", lambda *_: (4, 2))
    monkeypatch.setattr("infoscope.tracking.cluster.nodes", lambda: 1)
    monkeypatch.setattr(_Run, "_job", job)
    resources = {"cpu": 1, "gpu": 0}
    run_sweep(dataclasses.replace(toy_sweep.SWEEP, resources=resources), "smoke")
    assert devices == ["cpu"]


def test_an_outcome_that_a_worker_has_written_stays(own_folder):
    """The worker died after that, before the driver heard of it."""
    store = Store.open("toy", create=True)
    driver = object.__new__(_Run)
    driver.store = store
    driver.folder = outbox() / "toy"
    driver.parent = ""
    for key, outcome in (("whole", "complete"), ("half", "")):
        folder = begun(driver.folder, key)
        if outcome:
            folder.end(outcome)
        assert not driver._settle(Ended(key, "failed", "the worker process died"))
        assert driver._settle(
            Ended(key, "failed", "the worker process died"), is_final=True
        )
    frame = runs("toy", finished=False).set_index("key")["outcome"].to_dict()
    assert frame == {"whole": "complete", "half": "failed"}
