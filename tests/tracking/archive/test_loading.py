"""A file in another store: the same tables, cells that count as done, and nothing by half whenever it dies."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from filelock import FileLock
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE

from infoscope.tracking import arrays, attach, curve, publish, runs, table
from infoscope.tracking.archive.lines import opened
from infoscope.tracking.archive.loading import load
from infoscope.tracking.archive.saving import save
from infoscope.tracking.cli import _progress
from infoscope.tracking.sending.claims import SweepBusy
from infoscope.tracking.sending.sync import sync
from infoscope.tracking.status import status
from infoscope.tracking.store.client import Client
from infoscope.tracking.store.store import Store, constants
from infoscope.tracking.tags import CELLS, KEY, LOADED_FROM, LOADED_RUN, PARENT, PROFILE, SUMMARY, SUPERSEDED_BY
from tests.refusals import refused
from tests.tracking.archive.conftest import DATA, SWEEP, invocation, make

OWN = ["run_id", "tags"]  # of a store
REPOSITORY = Path(__file__).parents[3]


def same(one, other):
    """Whether two tables of runs tell the same of the same cells."""
    ordered = [frame.drop(columns=OWN).sort_values("key", ignore_index=True) for frame in (one, other)]
    pd.testing.assert_frame_equal(*ordered, check_like=True)


@pytest.fixture
def file(made, tmp_path):
    """Of five cells under two profiles, one of them stopped, with a table, arrays and curves."""
    store = made()
    for depth, seed in ((1, 0), (1, 1), (1, 2), (2, 0)):
        make(store, depth, seed, "laptop; paper" if seed else "laptop", table={"x": [seed, 1.5]}, arrays={"y": [seed]})
    make(store, 2, 1, "paper", outcome="stopped")
    save("made", tmp_path / "made.jsonl.gz", tables=True, curves=True)
    return tmp_path / "made.jsonl.gz"


def test_another_store_tells_the_same_and_makes_the_same_file(file, made, enter, tmp_path):
    before = runs("made", finished=False)
    original = {run.data.tags[KEY]: run for run in Store.open("made").cells()}
    enter("second")
    loaded = load(opened(file))
    assert (loaded.added, loaded.known) == (5, 0)
    same(runs("made", finished=False), before)
    same(runs("made", "paper"), before[before["profile"].str.contains("paper") & (before["outcome"] == "complete")])
    for run in Store.open("made").cells():
        was = original[run.data.tags[KEY]]
        assert (run.info.start_time, run.info.end_time, run.info.run_name, run.info.status, run.data.params) == (
            was.info.start_time, was.info.end_time, was.info.run_name, "FINISHED", was.data.params)  # fmt: skip
        assert run.data.tags[LOADED_RUN] == was.info.run_id and run.data.tags[LOADED_FROM].startswith("made.jsonl.gz ")
        assert constants(run) == constants(was) == {"truth": 1.5}
        (data,) = run.inputs.dataset_inputs
        assert (data.dataset.digest, data.dataset.profile) == (DATA.input.dataset.digest, DATA.input.dataset.profile)
        assert curve(run.info.run_id, "loss").equals(curve_of(was, file))
        note = run.data.tags[MLFLOW_RUN_NOTE]
        assert f"runs/{run.data.tags[PARENT]}" in note and "tracker.example" not in note and "**Curves**" in note
    chosen = runs("made", "paper").iloc[0]
    assert table(chosen["run_id"], "sets")["x"].tolist() == [chosen["seed"], 1.5]
    assert arrays(chosen["run_id"], "views")["y"] == [chosen["seed"]]
    again = save("made", tmp_path / "again.jsonl.gz", tables=True, curves=True)
    assert again.path.read_bytes() == file.read_bytes()


def curve_of(run, file):
    """As the file has it: the other store is elsewhere now."""
    (found,) = (one for one in opened(file).runs() if one.run == run.info.run_id)
    points = found.metrics["Curves/loss"]
    return pd.Series({step: value for step, _, value in points}, name="loss").rename_axis("step")


def test_loading_again_adds_nothing_and_labels_are_completed(file, enter, here):
    enter("second")
    load(opened(file))
    store = Store.open("made")
    ids = {run.info.run_id for run in store.search("")}
    paper = runs("made", "paper")["run_id"]
    store.client.set_tag(paper.iloc[0], PROFILE, "laptop")
    loaded = load(opened(file))
    assert (loaded.added, loaded.known) == (0, 5) and "0 cells added, 5 were there already" in str(loaded)
    assert {run.info.run_id for run in store.search("")} == ids
    assert set(runs("made", "paper")["run_id"]) == set(paper)


def test_a_sweep_counts_the_cells_as_done_and_its_means_are_there(file, enter, here):
    enter("second")
    loaded = load(opened(file))
    assert not loaded.note
    (told,) = status(["made"], "laptop")
    assert (told.counts, told.missing, told.others) == ({"done": 5}, 1, 0)
    store = Store.open("made")
    (mean,) = store.search(f"tags.`{SUMMARY}` != ''")
    assert mean.data.metrics["runs"] == 3 and mean.data.metrics["mean/error"] == pytest.approx(0.1)
    assert MLFLOW_RUN_NOTE in store.client.get_experiment(store.experiment_id).tags
    (synced,) = sync(["made"])
    assert str(synced) == "made: nothing to send"


def test_what_the_store_knows_better_stays_and_what_it_has_not_finished_gives_way(file, made):
    store = made("second")
    kept, failed, stopped, open_one = (
        make(store, 1, 0, "smoke"), make(store, 1, 1, outcome="failed", status="FAILED"),
        make(store, 1, 2, outcome="stopped"), make(store, 2, 0, outcome="", status="RUNNING"),
    )  # fmt: skip
    loaded = load(opened(file))
    assert (loaded.added, loaded.known) == (4, 1)
    found = runs("made", finished=False).set_index("key")
    assert len(found) == 5 and set(found["status"]) == {"FINISHED"}
    assert found.loc[SWEEP.key({"depth": 1, "seed": 0}), ["run_id", "profile"]].tolist() == [kept, "smoke; laptop"]
    for old in (failed, stopped):
        assert store.run(old).data.tags[SUPERSEDED_BY] in set(found["run_id"])
    assert open_one not in set(found["run_id"])


@pytest.mark.parametrize("method", ["create_run", "log_batch", "log_artifacts", "log_inputs", "set_terminated",
                                    "set_tag"])  # fmt: skip
def test_a_process_that_dies_anywhere_leaves_only_whole_runs_and_the_next_completes(file, enter, monkeypatch, method):
    """At every kind of request, the second and the fourth time: what counts then is whole, and the rest goes."""
    before = runs("made", finished=False)
    for number in (2, 4):
        enter(f"second-{number}")
        ask, calls = Client.__getattr__, []

        def dies(self, name, ask=ask, calls=calls, number=number):
            if name == method:
                calls.append(name)
                if len(calls) == number:
                    raise KeyboardInterrupt
            return ask(self, name)

        monkeypatch.setattr(Client, "__getattr__", dies)
        with pytest.raises(KeyboardInterrupt):
            load(opened(file))
        monkeypatch.setattr(Client, "__getattr__", ask)
        try:
            partly = runs("made", finished=False)
        except LookupError:
            partly = before.iloc[:0]
        same(partly, before[before["key"].isin(partly["key"])])
        if number == 4:  # somebody tidies up in between
            sync(["made"])
        loaded = load(opened(file))
        assert loaded.added == 5 - len(partly) and loaded.known == len(partly)
        same(runs("made", finished=False), before)
        store = Store.open("made")
        found = list(store.search(""))
        parents = [run for run in found if CELLS in run.data.tags]
        assert len(parents) == 2 and len(found) == 7 and {run.info.status for run in found} == {"FINISHED"}
        counts = {run.info.run_id: int(run.data.tags[CELLS]) for run in parents}
        children = [run.data.tags[PARENT] for run in found if KEY in run.data.tags]
        assert counts == {parent: children.count(parent) for parent in counts}


def test_tables_go_to_the_runs_of_a_label_as_if_one_sweep_had_made_them(file, enter, made, tmp_path):
    enter("second")
    load(opened(file))
    (tmp_path / "t.csv").write_text("x\n1\n")
    run_id = attach("made", "laptop", [tmp_path / "t.csv"])
    page = publish("made", "laptop", runs("made", "laptop"), [("t", ["x"], [["1"]], "")], [tmp_path / "t.csv"])
    assert f"/{run_id}?" in page
    store = Store.open("made")
    parent = store.run(run_id)
    assert parent.data.tags[CELLS] == "4" and "4 cells" in parent.data.tags[MLFLOW_RUN_NOTE]
    assert [one.dataset.name for one in parent.inputs.dataset_inputs] == ["digits"]
    newer = invocation(store, "laptop")
    assert attach("made", "laptop", [tmp_path / "t.csv"]) == newer  # it is as old as its cells


def test_a_damaged_file_and_a_running_sweep_leave_the_store_as_it_was(file, enter, monkeypatch):
    folder = enter("second")
    file.write_bytes(file.read_bytes()[:-9])
    with refused(code="invalid"):
        load(opened(file))
    assert "made" not in Store.names()
    enter("first")
    file.unlink()
    save("made", file)
    enter("second")
    (folder / "runs" / "records").mkdir(parents=True)
    with (
        FileLock(folder / "runs" / "records" / "made.lock"),
        pytest.raises(SweepBusy, match="sweep made is running in this working tree"),
    ):
        load(opened(file))
    assert "made" not in Store.names()


def test_a_server_that_is_asked_by_several_threads(file, tmp_path, monkeypatch, server):
    before = runs("made", finished=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    assert load(opened(file)).added == 5 and load(opened(file)).added == 0
    same(runs("made", finished=False), before)
    again = save("made", tmp_path / "again.jsonl.gz", tables=True, curves=True)
    assert again.path.read_bytes() == file.read_bytes()


def test_tables_that_were_not_saved_are_said_to_be_missing(file, enter):
    enter("first")
    file.unlink()
    save("made", file)
    enter("second")
    load(opened(file))
    run_id = runs("made", "laptop")["run_id"].iloc[0]
    for read in (table, arrays):
        with pytest.raises(LookupError, match=r"it was loaded from made.jsonl.gz, saved without it \(--tables\)"):
            read(run_id, "sets")


def toy(*seeds):
    """What the toy sweep says in this folder, whose driver makes its trials itself."""
    environment = {name: value for name, value in os.environ.items() if name not in ("RAY_ADDRESS",)}
    environment["PYTHONPATH"] = os.pathsep.join([str(REPOSITORY / "tests" / "tracking"), str(REPOSITORY)])
    command = [sys.executable, "-m", "inline_sweep", "--profile", "smoke", "--set", f"seeds={','.join(seeds)}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_sweep_runs_only_what_the_file_has_not(enter, tmp_path):
    enter("first")
    toy("0", "1")
    before = runs("toy", "smoke")
    save("toy", tmp_path / "toy.jsonl.gz")
    enter("second")
    load(opened(tmp_path / "toy.jsonl.gz"))
    same(runs("toy", "smoke"), before)
    assert "1 completed, 2 already recorded of 3 cells" in toy("0", "1", "2")
    assert runs("toy", "smoke")["seed"].tolist().count(2) == 1 and len(runs("toy", "smoke")) == 3


def test_a_long_load_says_how_far_it_is(capsys):
    tell = _progress("made", every=0.0)
    tell(16, 2000)
    tell(2000, 2000)
    assert capsys.readouterr().err == "made: 16 of 2,000 cells are in the store\n"


def test_the_commands(file, enter, command, tmp_path):
    folder = enter("first")
    assert command("runs-save", "made", "--to", folder / "to")[:2] == (
        0, f"{folder}/to/made.jsonl.gz: 5 finished cells of made (laptop: 4, paper: 3), "
        f"{(folder / 'to' / 'made.jsonl.gz').stat().st_size:,} bytes\n")  # fmt: skip
    assert (folder / "to" / "made.jsonl.gz").read_bytes() != file.read_bytes()  # which has tables and curves
    assert command("runs-save", "made", "--to", folder / "to", "--profile", "paper")[0] == 2
    code, told, error = command("runs-save", "../made")
    assert (code, told) == (2, "") and error.startswith("error: the name of an experiment must be")
    enter("second")
    damaged = tmp_path / "damaged.gz"
    damaged.write_bytes(file.read_bytes()[:-1])
    code, told, error = command("runs-load", file, damaged)
    assert (code, told) == (2, "") and error.startswith(f"error: {damaged} must be a file of runs")
    assert len(error.splitlines()) == 1 and "made" not in Store.names()
    code, told, error = command("runs-load", file)
    assert (code, error) == (0, "")
    assert told.splitlines() == [
        "made: 5 cells added (laptop: 4, paper: 3)", "  no means over seeds (there is no sweep made here)",
        "  to look: make ui",
    ]  # fmt: skip
    assert "0 cells added, 5 were there already" in command("runs-load", file)[1]
