"""Runs that are somebody else's, or only half there, stop nothing; and names that would hide a column are refused."""

import json
import logging
from pathlib import Path

import pytest

from infoscope.tracking import Profile, Search, Sweep, log_results, parents, runs
from infoscope.tracking.scheduling.search import SearchState
from infoscope.tracking.scheduling.worker import Assignment, RecordedReport
from infoscope.tracking.sending.flush import header_tags
from infoscope.tracking.sending.sync import sync
from infoscope.tracking.status import status
from infoscope.tracking.store.store import OUTCOME, PROFILE, VERSION, Store
from infra.drill.poison import poison
from tests.refusals import refused
from tests.tracking.scheduling.test_driver import finish, start


@pytest.fixture
def folder(tmp_path, monkeypatch, empty_store):
    """Where sweeps run, with an empty store."""
    empty_store(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.syspath_prepend(Path(__file__).parents[1])
    return tmp_path


@pytest.fixture
def warned(caplog):
    """The ids of runs that warnings name, with how often."""
    caplog.set_level(logging.WARNING)

    def count(ids):
        return {run_id: sum(run_id in line for line in caplog.messages) for run_id in ids}

    return count


def finished(store, key, cell, metrics, label="smoke", outcome="complete", **tags):
    """The id of a run as a sweep leaves it."""
    tags = header_tags(key, cell, {PROFILE: label, VERSION: "1", **tags}) | {OUTCOME: outcome}
    run_id = store.client.create_run(store.experiment_id, tags=tags).info.run_id
    for name, value in metrics.items():
        store.client.log_metric(run_id, name, value)
    store.client.set_terminated(run_id, "FINISHED")
    return run_id


def test_a_sweep_among_them_makes_its_cells_and_nothing_else(folder):
    import toy_sweep

    plan = toy_sweep.SWEEP.plan(toy_sweep.PROFILE)
    store = Store.open("toy", create=True)
    made = poison(store.client, store.experiment_id, "smoke", plan)
    words, without_ray = ("--set", "kinds=plain seeds=0,1,2"), "inline_sweep"
    code, output = finish(start(folder, *words, module=without_ray))
    assert code == 0 and "3 completed of 3 cells" in output and "Traceback" not in output, output
    frame = runs("toy", "smoke").set_index("seed")
    assert frame["level"].to_dict() == {0: 0.2, 1: 1.2, 2: 2.2} and set(frame["status"]) == {"FINISHED"}
    assert output.count(made["cell: not JSON"]) == 1 and "which is no cell" in output
    code, output = finish(start(folder, *words, module=without_ray))
    assert code == 0 and "all 3 cells are already recorded" in output, output


def test_sync_status_and_tables_go_on_and_say_what_they_pass_over(folder, warned, monkeypatch):
    import toy_sweep

    plan = toy_sweep.SWEEP.plan(toy_sweep.PROFILE)
    store = Store.open("toy", create=True)
    made = poison(store.client, store.experiment_id, "smoke", plan)
    for key, cell in plan.items():
        finished(store, key, cell, {"level": cell["seed"]})
    frame = runs("toy", "smoke")
    assert sorted(frame["level"]) == [0, 1] and set(frame["key"]) == set(plan)
    assert len(runs("toy", finished=False)) == 2
    (told,) = status(["toy"], "smoke")
    assert told.counts == {"done": 2} and told.others == 0 and "no sweep toy" in told.note  # it lies in tests
    (synced,) = sync(["toy"])
    assert synced.left == {}
    left = {kind: store.client.get_run(run_id).info.status for kind, run_id in made.items()}
    assert left["another program's, running"] == left["cell: not JSON, running"] == "RUNNING"  # not ours to close
    assert left["alive: words"] == "RUNNING" and left["cells: words"] == "KILLED"
    assert len(parents("toy")) == 6  # as MLflow has them
    passed_over = {run_id for kind, run_id in made.items() if kind.startswith(("cell: ", "alive: "))}
    assert set(warned(passed_over).values()) == {1}
    assert set(warned({made["another program's"], made["finished by hand"]}).values()) == {0}


def fixed(profile):
    return [{"kind": "searched"}]


def space(profile):
    from optuna.distributions import IntDistribution

    return {"width": IntDistribution(1, 100)}


def nothing(pack, report):
    pass


PROFILES = {"smoke": Profile(seeds=(0, 1))}
SEARCHED = Sweep("searched", fixed, nothing, PROFILES, search=Search("loss", "min", lambda: None, space, trials=4))


def test_a_search_recalls_what_is_its_own(folder):
    store = Store.open("searched", create=True)
    cells = [{"kind": "searched", "width": width} for width in (3, 5)]
    plan = {SEARCHED.key(cell): cell for cell in cells}
    poison(store.client, store.experiment_id, "smoke", plan)
    foreign = {"kind": "searched", "width": "wide"}
    finished(store, SEARCHED.key(foreign), foreign, {"progress/loss": 0.0})
    finished(store, *list(plan.items())[1], {"progress/loss": 0.5})
    search = SearchState(SEARCHED, PROFILES["smoke"])
    from infoscope.tracking.store.store import by_key

    recalled = search.recall(by_key(store.cells())[0].values(), "smoke")
    assert recalled == {key: plan[key] for key in reversed(plan)}  # the finished one first, the other to be run again
    assert [trial.params for trial in search._study.trials] == [{"width": 5}]


RESERVED = ("run_id", "key", "profile", "version", "outcome", "status", "start", "seconds", "tags")


@pytest.mark.parametrize("name", RESERVED)
def test_a_field_may_not_hide_what_is_known_of_a_run(name):
    sweep = Sweep("named", lambda profile: [{name: 1}], nothing, PROFILES)
    with refused("the name of a cell's field", "conflict"):
        sweep.plan(PROFILES["smoke"])
    searched = Sweep("named", fixed, nothing, PROFILES,
                     search=Search("loss", "min", lambda: None, lambda _: {name: space(None)["width"]}))  # fmt: skip
    with pytest.raises(ValueError, match=f"field is '{name}'"):
        SearchState(searched, PROFILES["smoke"])


def test_a_sweep_may_not_give_the_tags_by_which_runs_are_found():
    sweep = Sweep("named", fixed, nothing, PROFILES, tags=lambda cell: {"infoscope.key": "mine"})
    with pytest.raises(ValueError, match="a tag of sweep named is 'infoscope.key'"):
        sweep.plan(PROFILES["smoke"])
    described = Sweep("named", fixed, nothing, PROFILES, tags=lambda cell: {"infoscope.data": "digits"})
    assert len(described.plan(PROFILES["smoke"])) == 1


@pytest.mark.parametrize("name", [*RESERVED, "width"])
def test_a_metric_may_not_hide_a_column(folder, name):
    cell = {"width": 3}
    store = Store.open("named", create=True)
    assignment = Assignment({"one": cell}, {}, {"one": {}}, store, folder / "records", "cpu", "here", 1.0)
    report = RecordedReport(assignment, lambda told: None)
    report.records[0].begin(cell, {}, None)
    with pytest.raises(ValueError, match=f"the name of a metric is '{name}', which"):
        report.metrics(cell, {name: 1.0})
    report.metrics(cell, {"level": 1.0})  # and the cell goes on
    run_id = finished(store, "one", cell, {"level": 1.0})
    with pytest.raises(ValueError, match=f"the name of a metric is '{name}', which"):
        log_results(run_id, {name: 1.0}, [], "later")
    assert runs("named")["run_id"].tolist() == [run_id]


def test_names_that_are_in_the_store_already_hide_nothing(folder):
    """Of versions before this was refused, or of other programs: every column keeps its meaning."""
    store = Store.open("named", create=True)
    cells = [{"seed": seed, "profile": "wide", "tags": "a", "cell.tags": "b"} for seed in (0, 1)]
    clash = {name: -1.0 for name in (*RESERVED, "seed", "cell.profile", "metric.seed")}
    ids = [finished(store, f"key{cell['seed']}", cell, clash | {"level": 0.5}) for cell in cells]
    frame = runs("named", "smoke").sort_values("seed")
    assert frame["run_id"].tolist() == ids and frame["seed"].tolist() == [0, 1] and set(frame["profile"]) == {"smoke"}
    assert set(frame["key"]) == {"key0", "key1"} and set(frame["outcome"]) == {"complete"}
    assert frame["tags"].iloc[0]["infoscope.key"] == "key0" and (frame["seconds"] >= 0).all()
    assert set(frame["cell.profile"]) == {"wide"}
    assert {frame[column].iloc[0] for column in ("cell.tags", "cell.cell.tags")} == {"a", "b"}
    assert (frame[[f"metric.{name}" for name in clash if name != "seed"]] == -1).all(axis=None)
    assert (frame["metric.metric.seed"] == -1).all() and set(frame["level"]) == {0.5}
    assert not frame.columns.duplicated().any()
    assert json.dumps(sorted(frame.columns)) == json.dumps(sorted(runs("named").columns))
