"""Sweeps through a real local Ray and a real SQLite store, with faults: each test is one or more whole processes.

What Ray does not touch any more, a later invocation that finds most cells recorded, has a driver that makes its trials
itself (`inline_sweep`). That a search goes on through Ray is among the slow checks; in every run of the tests
`test_search` checks what a restart makes of the record.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infoscope.tracking import main, parents, runs
from infoscope.tracking.record import milliseconds, records
from infoscope.tracking.scheduling.driver import run as run_sweep
from infoscope.tracking.sending.flush import header_tags
from infoscope.tracking.sending.identity import driver
from infoscope.tracking.store.store import ALIVE, CELLS, DRIVER, OUTCOME, PARENT, PROFILE, Store

REPOSITORY = Path(__file__).parents[3]


def start(folder, *arguments, module="toy_sweep", **variables):
    path = os.pathsep.join([str(Path(__file__).parents[1]), str(REPOSITORY)])
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MLFLOW_TRACKING_URI", "RAY_ADDRESS")
    }
    command = [sys.executable, "-m", module, "--profile", "smoke", *arguments]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment | {"PYTHONPATH": path} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background are deaf to it
    )


def exit_status(process):
    """As a shell counts it. Python ends by SIGINT itself, which a shell counts as 130 too, instead of by the status
    130 that it was told when the signal came within an `exec`, of which imports are full.
    """
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def finish(process, timeout=900):  # of a machine that is busy with other things
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return exit_status(process), output


@pytest.fixture
def everything(monkeypatch):
    """(folder) -> all cells of the toy experiment there, by kind and seed."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)

    def read(folder):
        monkeypatch.chdir(folder)
        return runs("toy", finished=False).set_index(["kind", "seed"]).sort_index()

    return read


@pytest.fixture
def here(monkeypatch, capsys):
    """The command of the toy sweep in this process, where there is nothing to run: its status, output and errors."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1])
    monkeypatch.setattr("infoscope.tracking.scheduling.driver.Invocation", None)  # what would start a Ray
    import toy_sweep

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(toy_sweep.SWEEP, arguments)
        return ended.value.code, *capsys.readouterr()

    return run


def test_failures_are_isolated_and_only_missing_cells_run_again(tmp_path, everything, here):
    """One kind completes, one raises, one loses its worker once and is tried again. From an empty folder."""
    code, output = finish(start(tmp_path, "--set", "kinds=plain,fails,dies"))
    assert code == 1, output
    assert "4 completed, 2 failed of 6 cells" in output and "this kind cannot be measured" in output
    first = everything(tmp_path)
    assert first["status"].to_dict() == {
        (kind, seed): "FAILED" if kind == "fails" else "FINISHED"
        for kind in ("plain", "fails", "dies")
        for seed in (0, 1)
    }
    traces = list((tmp_path / "runs" / "artifacts").rglob("traceback.txt"))
    assert len(traces) == 2 and "RuntimeError: this kind cannot be measured" in traces[0].read_text()

    code, output = finish(start(tmp_path, "--set", "kinds=plain,dies,fails", module="inline_sweep"))
    assert code == 1 and "2 failed, 4 already recorded of 6 cells" in output
    second = everything(tmp_path)
    same = second["run_id"] == first["run_id"]  # no cell has two runs, and what failed is begun afresh in another one
    assert len(second) == 6 and same.to_dict() == {place: place[0] != "fails" for place in first.index}
    assert [second.loc["fails", "tags"][seed]["infoscope.supersedes"] for seed in (0, 1)] == list(
        first.loc["fails", "run_id"]
    )
    code, _, told = here("--profile", "smoke")
    assert code == 0 and "all 2 cells are already recorded" in told
    assert (everything(tmp_path)["start"] == second["start"]).all()
    assert records(tmp_path / "runs" / "records" / "toy") == []  # everything has been sent
    invocations = parents("toy", "smoke")
    assert [run.info.status for run in invocations] == ["FAILED", "FAILED"]  # the third had nothing to do
    assert "measures nothing" in invocations[0].data.tags["mlflow.note.content"]
    assert here("--profile", "smoke", "--set", "kinds=plain steps=3")[:2] == (0, "smoke steps=3\n")
    assert set(everything(tmp_path).loc["plain", "profile"]) == {"smoke; smoke steps=3"}


def wait_until(met, process, what, seconds=300):
    """Until it is so, while the process lives."""
    deadline = time.monotonic() + seconds
    while not met():
        if process.poll() is not None:
            pytest.fail(finish(process)[1])
        if time.monotonic() > deadline:
            os.killpg(process.pid, signal.SIGKILL)
            pytest.fail(f"{what}: not within {seconds} seconds")
        time.sleep(0.1)


def wait_for(path, process):
    wait_until(path.exists, process, f"{path.name} appears")


def newest_step(folder):
    """The furthest step from which a trial of kind "slow" has begun there."""
    return max((int(path.name.removeprefix("started-")) for path in folder.glob("started-*")), default=-1)


def test_interrupted_and_killed_sweeps_go_on_from_their_checkpoint(tmp_path, everything, empty_store):
    """Ctrl-C leaves no run RUNNING; after kill -9 the next invocation closes and resumes; the curve has every step
    once.
    """
    empty_store(tmp_path)
    settings, variables = ("--set", "kinds=slow seeds=0 steps=300"), {"INFOSCOPE_CHECKPOINT_SECONDS": "1"}
    process = start(tmp_path, *settings, **variables)
    kept = tmp_path / "runs" / "records" / "toy"
    wait_until(lambda: any(kept.glob("*.checkpoint")), process, "a checkpoint is saved")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to everything that runs in it, the workers included
    code, output = finish(process)
    assert code == 130, output
    assert "interrupted: the same command goes on from here" in output
    interrupted = everything(tmp_path)
    assert interrupted["status"].tolist() == ["KILLED"]

    process = start(tmp_path, *settings, **variables)
    wait_until(lambda: newest_step(tmp_path) > 0, process, "the second attempt goes on from a checkpoint")
    time.sleep(2)  # for more steps, and another checkpoint
    process.kill()
    process.wait()  # its workers live on for a little, and still write

    code, output = finish(start(tmp_path, *settings, module="inline_sweep", **variables))
    assert code == 0, output
    done = everything(tmp_path)
    assert done["status"].tolist() == ["FINISHED"] and done["run_id"].tolist() == interrupted["run_id"].tolist()
    store = Store.open("toy")
    steps = [metric.step for metric in store.client.get_metric_history(done["run_id"].iloc[0], "level")]
    assert sorted(steps) == list(range(300))
    assert not [run for run in store.client.search_runs([store.experiment_id], "attributes.status = 'RUNNING'")]


def test_cells_stopped_early_by_a_scheduler_are_closed(tmp_path, everything, empty_store):
    empty_store(tmp_path)
    code, output = finish(start(tmp_path, "--set", "kinds=slow steps=400", TOY_SEARCH="1"))
    assert code == 0, output
    assert "2 stopped early of 2 cells" in output
    stopped = everything(tmp_path)
    assert stopped["status"].tolist() == ["FINISHED"] * 2 and stopped["outcome"].tolist() == ["stopped"] * 2
    assert not list((tmp_path / "runs" / "records" / "toy").iterdir())  # no checkpoint either: nobody goes on from it


OUTCOMES = {"complete": "completed", "stopped": "stopped early", "failed": "failed"}


def searched(folder, monkeypatch):
    """All cells of the toy search there, by key."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(folder)
    return runs("toy-search", finished=False).set_index("key").sort_index()


@pytest.fixture(scope="module")
def begun_search(tmp_path_factory, empty_store):
    """A folder where a search of six trials was run, with its exit status and output."""
    folder = tmp_path_factory.mktemp("search")
    empty_store(folder)
    return folder, *finish(start(folder, "--set", "trials=6", module="toy_search"))


def test_a_search_stops_the_worse(begun_search, monkeypatch):
    """A third of the space fails. The first ten suggestions of a search are the same in every run, and these have some
    of each outcome, whichever of two workers is the faster.
    """
    folder, code, output = begun_search
    first = searched(folder, monkeypatch)
    counts = first["outcome"].value_counts()
    assert code == 1 and len(first) == 6 and set(counts.index) == {"stopped", "complete", "failed"}, output
    told = ", ".join(f"{counts[outcome]} {words}" for outcome, words in OUTCOMES.items())
    assert f"{told} of 6 cells" in output
    assert set(first["profile"]) == {"smoke"} and set(first.loc[first["outcome"] == "failed", "kind"]) == {"broken"}
    stopped, complete = (first[first["outcome"] == outcome] for outcome in ("stopped", "complete"))
    assert (stopped["progress/fraction"] < 1).all() and stopped["final_loss"].isna().all()
    assert (complete["progress/fraction"] == 1).all()  # none is stopped when it has everything
    assert (complete["progress/loss"] == complete["final_loss"] + 1 / 30).all()


@pytest.mark.slow  # another whole search
def test_a_search_goes_on_with_more_trials(begun_search, monkeypatch):
    folder = begun_search[0]
    first = searched(folder, monkeypatch)
    code, output = finish(start(folder, "--set", "trials=8", module="toy_search"))
    failed = (first["outcome"] == "failed").sum()
    assert f"{6 - failed} already recorded of 8 cells" in output, output  # the failed ones are run again
    second = searched(folder, monkeypatch)
    assert len(second) == 8 and second["run_id"].is_unique and not second[["rate", "width", "kind"]].duplicated().any()
    finished = first.index[first["outcome"] != "failed"]
    unchanged = ["run_id", "start", "seconds"]
    assert second.loc[finished, unchanged].equals(first.loc[finished, unchanged])


def test_short_cells_share_trials_and_each_keeps_its_own_run_and_failure(tmp_path, monkeypatch, empty_store):
    """100 cells that take no time: 4 raise, one kills its worker every time, and none of the others is touched."""
    empty_store(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trials").mkdir()
    code, output = finish(start(tmp_path, "--set", "fatal=40", module="many_cells", TRIALS=str(tmp_path / "trials")))
    assert code == 1 and "95 completed, 5 failed of 100 cells" in output, output
    frame = runs("many", finished=False).set_index("number").sort_index()
    assert len(frame) == 100 and frame.index.is_unique
    failed = frame[frame["status"] == "FAILED"]
    assert failed.index.tolist() == [13, 38, 40, 63, 88] and set(frame["status"]) == {"FAILED", "FINISHED"}
    assert failed.loc[63, "tags"]["infoscope.error"] == "ArithmeticError: 63 has no result"
    assert "worker" in failed.loc[40, "tags"]["infoscope.error"].lower()
    whole = frame.drop(failed.index)
    assert (whole["mean"] == whole.index).all() and (whole["level"] == whole.index + 0.9).all()
    client = Store.open("many").client
    for number in (0, 39, 41, 99):  # beside a cell that died, too
        history = client.get_metric_history(whole.loc[number, "run_id"], "level")
        assert sorted(point.step for point in history) == list(range(10))
    assert len(list((tmp_path / "trials").iterdir())) < 90  # 12 where nothing else runs, 42 on a busy machine
    assert records(tmp_path / "runs" / "records" / "many") == []


def test_what_nobody_works_on_any_more_is_closed_as_what_it_is(tmp_path, monkeypatch, empty_store):
    """A second run of a cell, of a store that died after it had made one; an invocation that was over when the store
    was away; invocations of machines that have, or have not, been silent for long.
    """
    empty_store(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).parents[1])
    import toy_sweep

    sweep = toy_sweep.SWEEP
    store = Store.open(sweep.name, create=True)
    whole, partial = (
        store.client.create_run(store.experiment_id, tags={CELLS: count, DRIVER: driver()}).info.run_id
        for count in "23"
    )
    plan = sweep.plan(sweep.profiles["smoke"])
    for key, cell in plan.items():
        for parent, status in ((whole, "FINISHED"), (whole, None)):
            tags = header_tags(key, cell, {PARENT: parent, PROFILE: "smoke", OUTCOME: "complete" if status else ""})
            run = store.client.create_run(store.experiment_id, tags=tags)
            store.client.set_terminated(run.info.run_id, status) if status else None
    begun = {run.info.run_id: run.info.status for run in store.cells()}
    now = milliseconds()
    dead, alive = (
        store.client.create_run(
            store.experiment_id, tags={CELLS: "2", DRIVER: "elsewhere:/runs", ALIVE: str(now - 60_000 * minutes)}
        ).info.run_id
        for minutes in (20, 10)
    )
    theirs = [store.client.create_run(store.experiment_id, tags={PARENT: run}).info.run_id for run in (dead, alive)]
    summary = run_sweep(sweep, "smoke")
    assert (summary.skipped, summary.unfinished) == (2, 0)
    assert {run.info.run_id for run in store.cells()} == {id for id, status in begun.items() if status == "FINISHED"}
    assert store.run(partial).info.status == "KILLED"
    assert [store.run(run).info.status for run in (dead, alive, *theirs)] == ["KILLED", "RUNNING"] * 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--profile", "nope"), "unknown profile 'nope'"),
        (("--set", "steps=0"), "steps is 0; it must be at least 1"),
        (("--set", "speed=1"), "unknown setting 'speed'"),
        (("--set", "steps"), "not of the form name=value"),
        (("--gpus-per-pack", "0"), "gpus_per_pack must be a fraction"),
        (("--gpus-per-pack", "1.5"), "gpus_per_pack must be a fraction"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(tmp_path, arguments, words, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).parents[1])
    import toy_sweep

    with pytest.raises(SystemExit) as ended:
        main(toy_sweep.SWEEP, arguments)
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert words in error and len(error.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_sweep_that_is_already_running_is_refused(tmp_path, monkeypatch):
    from filelock import FileLock

    from infoscope.tracking.scheduling.driver import SweepBusy, run

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).parents[1])
    import toy_sweep

    lock = tmp_path / "runs" / "records" / "toy.lock"
    lock.parent.mkdir(parents=True)
    with FileLock(lock), pytest.raises(SweepBusy, match="already running"):
        run(toy_sweep.SWEEP, "smoke")
