"""A file loaded into another store: the same numbers, cells that count as done, and
only complete runs after a kill.
"""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from filelock import FileLock
from mlflow import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE

from infoscope.tracking import curve, runs
from infoscope.tracking.archive.format import read_archive
from infoscope.tracking.archive.loading import load
from infoscope.tracking.archive.saving import save
from infoscope.tracking.driver import SweepBusy
from infoscope.tracking.recorded import constants
from infoscope.tracking.status import status
from infoscope.tracking.store import Store
from infoscope.tracking.sync import sync
from infoscope.tracking.tags import KEY, LOADED_FROM, LOADED_RUN
from tests.refusals import refused
from tests.tracking.archive.conftest import DATA, SWEEP, make
from tests.tracking.processes import counts, finish, start

OWN = ["run_id", "tags"]  # of a store


def same(one, other):
    """Whether two tables of runs tell the same of the same cells."""
    first = one.drop(columns=OWN).sort_values("key", ignore_index=True)
    second = other.drop(columns=OWN).sort_values("key", ignore_index=True)
    pd.testing.assert_frame_equal(first, second, check_like=True)


@pytest.fixture(scope="module")
def origin(tmp_path_factory, empty_store):
    """A folder with a store of five cells under two profiles, one of them stopped, and
    a file of them.
    """
    folder = tmp_path_factory.mktemp("origin")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        empty_store(folder)
        store = Store.open("made", create=True)
        for depth, seed in ((1, 0), (1, 1), (1, 2), (2, 0)):
            label = "laptop; paper" if seed else "laptop"
            make(store, depth, seed, label)
        make(store, 2, 1, "paper", outcome="stopped")
        save("made", folder / "made.jsonl.gz")
    return folder


@pytest.fixture
def file(origin, tmp_path, enter, monkeypatch):
    """A copy of that file; the test begins in the folder where it was saved."""
    monkeypatch.chdir(origin)
    return Path(shutil.copy(origin / "made.jsonl.gz", tmp_path))


def test_a_loaded_store_gives_the_same_table_and_the_same_file(file, enter, tmp_path):
    before = runs("made", finished=False)
    original = {run.data.tags[KEY]: run for run in Store.open("made").cells()}
    enter("second")
    loaded = load(read_archive(file))
    assert loaded.added == 5
    assert loaded.known == 0
    same(runs("made", finished=False), before)
    is_of_paper = before["profile"].str.contains("paper")
    is_complete = before["outcome"] == "complete"
    same(runs("made", "paper"), before[is_of_paper & is_complete])
    for run in Store.open("made").cells():
        was = original[run.data.tags[KEY]]
        assert run.info.start_time == was.info.start_time
        assert run.info.end_time == was.info.end_time
        assert run.info.run_name == was.info.run_name
        assert run.info.status == "FINISHED"
        assert run.data.params == was.data.params
        assert run.data.tags[LOADED_RUN] == was.info.run_id
        assert run.data.tags[LOADED_FROM].startswith("made.jsonl.gz ")
        assert constants(run) == constants(was) == {"truth": 1.5}
        (data_input,) = run.inputs.dataset_inputs
        assert data_input.dataset.digest == DATA.input.dataset.digest
        assert data_input.dataset.profile == DATA.input.dataset.profile
        assert curve(run.info.run_id, "loss").equals(curve_of(was, file))
        # one from a file could contain any link
        assert MLFLOW_RUN_NOTE not in run.data.tags
    again = save("made", tmp_path / "again.jsonl.gz")
    assert again.path.read_bytes() == file.read_bytes()


def curve_of(run, file):
    """As the file has it: the other store is elsewhere now."""
    saved_runs = {saved.run: saved for saved in read_archive(file).runs}
    points = saved_runs[run.info.run_id].metrics["Curves/loss"]
    values = {step: value for step, _, value in points}
    return pd.Series(values, name="loss").rename_axis("step")


def test_a_sweep_counts_the_cells_as_done(file, enter, declared):
    declared(SWEEP)
    enter("second")
    load(read_archive(file))
    (counted,) = status(["made"], "laptop")
    assert counted.counts == {"done": 5}
    assert counted.missing == 1
    assert counted.others == 0
    store = Store.open("made")
    assert MLFLOW_RUN_NOTE in store.client.get_experiment(store.experiment_id).tags
    (synced,) = sync(["made"])
    assert synced.published == 0
    assert synced.unsent == {}


def test_finished_runs_of_the_store_are_kept_and_count_before_others(file, made):
    store = made("second")
    existing = make(store, 1, 0, "smoke")
    failed = make(store, 1, 1, outcome="failed", status="FAILED")
    stopped = make(store, 1, 2, outcome="stopped")
    open_one = make(store, 2, 0, outcome="", status="RUNNING")
    loaded = load(read_archive(file))
    assert loaded.added == 4
    assert loaded.known == 1
    frame = runs("made", finished=False).set_index("key")
    assert len(frame) == 5
    assert set(frame["status"]) == {"FINISHED"}
    assert frame.loc[
        SWEEP.key({"depth": 1, "seed": 0}), ["run_id", "profile"]
    ].tolist() == [existing, "smoke; laptop"]
    assert not {failed, stopped, open_one} & set(frame["run_id"])


REQUESTS = [
    ("create_run", 2),
    ("log_batch", 5),
    ("log_inputs", 2),
    ("set_terminated", 4),
]


@pytest.mark.parametrize("method, number", REQUESTS)
def test_a_process_that_dies_anywhere_leaves_only_whole_cells_and_the_next_completes(
    file, enter, monkeypatch, method, number
):
    """At every kind of request, an early or a late time: what counts then is whole."""
    before = runs("made", finished=False)
    enter("second")
    ask = getattr(MlflowClient, method)
    calls = []

    def dies(self, *given, **named):
        calls.append(method)
        if len(calls) == number:
            raise KeyboardInterrupt
        return ask(self, *given, **named)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(MlflowClient, method, dies)
        load(read_archive(file))
    try:
        partly = runs("made", finished=False)
        partly = partly[partly["status"] == "FINISHED"]
    except LookupError:
        partly = before.iloc[:0]
    if len(partly):
        same(partly, before[before["key"].isin(partly["key"])])
    if number > 3:  # somebody tidies up in between
        sync(["made"])
    load(read_archive(file))
    same(runs("made", finished=False), before)


def test_a_damaged_file_or_a_running_sweep_leaves_the_store_unchanged(file, enter):
    folder = enter("second")
    whole = file.read_bytes()
    file.write_bytes(whole[:-9])
    with refused(code="file"):
        load(read_archive(file))
    file.write_bytes(whole)
    (folder / "runs" / "cells").mkdir(parents=True)
    with (
        FileLock(folder / "runs" / "cells" / "made.lock"),
        pytest.raises(SweepBusy, match="sweep made"),
    ):
        load(read_archive(file))
    assert "made" not in Store.names()


@pytest.mark.system
def test_a_server_with_postgres_gives_the_same_table(
    file, tmp_path, monkeypatch, server
):
    before = runs("made", finished=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    assert load(read_archive(file)).added == 5
    assert load(read_archive(file)).added == 0
    same(runs("made", finished=False), before)
    again = save("made", tmp_path / "again.jsonl.gz")
    assert again.path.read_bytes() == file.read_bytes()


def toy(seeds):
    """What the toy sweep says in this folder, whose driver makes its trials itself."""
    code, output = finish(
        start(Path.cwd(), "--set", f"seeds={seeds}", module="inline_sweep")
    )
    assert code == 0, output
    return counts(output)


@pytest.mark.system
def test_a_sweep_runs_only_cells_that_are_not_in_the_file(enter, tmp_path):
    enter("first")
    toy("0,1")
    before = runs("toy", "smoke")
    save("toy", tmp_path / "toy.jsonl.gz")
    enter("second")
    load(read_archive(tmp_path / "toy.jsonl.gz"))
    same(runs("toy", "smoke"), before)
    assert toy("0,1,2") == {"completed": 1, "already": 2, "cells": 3}
    assert sorted(runs("toy", "smoke")["seed"]) == [0, 1, 2]


def test_the_commands(file, enter, command, rejected, tmp_path):
    saved = tmp_path / "to" / "made.jsonl.gz"
    code, output, error = command("runs-save", "made", "--to", tmp_path / "to")
    assert code == 0
    assert error == ""
    assert output.startswith(f"{saved}: 5 ")
    assert f"{saved.stat().st_size:,}" in output
    assert saved.read_bytes() == file.read_bytes()
    assert (
        command("runs-save", "made", "--to", tmp_path / "to", "--profile", "paper")[0]
        == 2
    )
    assert "'../made'" in rejected("runs-save", "../made")
    enter("second")
    damaged = tmp_path / "damaged.gz"
    damaged.write_bytes(file.read_bytes()[:-1])
    assert str(damaged) in rejected("runs-load", file, damaged)
    assert "made" not in Store.names()
    code, output, error = command("runs-load", file)
    assert code == 0
    assert error == ""
    first, last = output.splitlines()
    assert first.startswith("made: 5 ")
    assert "laptop: 4, paper: 3" in first
    assert last.endswith("make ui")
    assert command("runs-load", file)[1].startswith("made: 0 ")
