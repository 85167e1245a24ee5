"""Runs that are somebody else's, or only half there, stop nothing; and names that would hide a column are refused."""

import functools
import logging

import pytest
from optuna.distributions import IntDistribution

from infoscope.tracking import Profile, Search, Sweep, log_results, parents, runs
from infoscope.tracking.scheduling.search import SearchState
from infoscope.tracking.scheduling.worker import RecordedReport
from infoscope.tracking.sending.publish import header_tags
from infoscope.tracking.sending.sync import sync
from infoscope.tracking.status import status
from infoscope.tracking.store.store import OUTCOME, PROFILE, VERSION, Store, by_key
from infra.drill.poison import poison
from tests.refusals import refused
from tests.tracking import toy_sweep
from tests.tracking.cells import assigned
from tests.tracking.processes import counts, finish, start


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


def poisoned(experiment, plan):
    """A store in which another program, and processes that died, have left what is no cell; these runs by name."""
    store = Store.open(experiment, create=True)
    return store, poison(store.client, store.experiment_id, "smoke", plan)


@pytest.mark.system
def test_a_sweep_among_them_makes_its_cells_and_nothing_else(own_folder):
    _, made = poisoned("toy", toy_sweep.SWEEP.plan(toy_sweep.PROFILE))
    command = functools.partial(start, own_folder, "--set", "kinds=plain seeds=0,1,2", module="inline_sweep")
    code, output = finish(command())
    assert code == 0 and counts(output) == {"completed": 3, "cells": 3} and "Traceback" not in output, output
    frame = runs("toy", "smoke").set_index("seed")
    assert frame["level"].to_dict() == {0: 0.2, 1: 1.2, 2: 2.2} and set(frame["status"]) == {"FINISHED"}
    assert output.count(made["cell: not JSON"]) == 1
    code, output = finish(command())
    assert code == 0 and counts(output) == {"cells": 3}, output


def test_sync_status_and_tables_go_on_and_say_what_they_pass_over(own_folder, warned):
    plan = toy_sweep.SWEEP.plan(toy_sweep.PROFILE)
    store, made = poisoned("toy", plan)
    for key, cell in plan.items():
        finished(store, key, cell, {"level": cell["seed"]})
    frame = runs("toy", "smoke")
    assert sorted(frame["level"]) == [0, 1] and set(frame["key"]) == set(plan)
    assert len(runs("toy", finished=False)) == 2
    (told,) = status(["toy"], "smoke")
    assert told.counts == {"done": 2} and told.others == 0 and "toy" in told.note  # whose module lies in tests
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
    return {"width": IntDistribution(1, 100)}


def nothing(pack, report):
    pass


PROFILES = {"smoke": Profile(seeds=(0, 1))}
SEARCHED = Sweep("searched", fixed, nothing, PROFILES, search=Search("loss", "min", lambda: None, space, trials=4))


def test_a_search_recalls_what_is_its_own(own_folder):
    cells = [{"kind": "searched", "width": width} for width in (3, 5)]
    plan = {SEARCHED.key(cell): cell for cell in cells}
    store, _ = poisoned("searched", plan)
    foreign = {"kind": "searched", "width": "wide"}
    finished(store, SEARCHED.key(foreign), foreign, {"progress/loss": 0.0})
    finished(store, *list(plan.items())[1], {"progress/loss": 0.5})
    search = SearchState(SEARCHED, PROFILES["smoke"])
    recalled = search.recall(by_key(store.cells())[0].values(), "smoke")
    assert recalled == {key: plan[key] for key in reversed(plan)}  # the finished one first, the other to be run again
    assert [trial.params for trial in search._study.trials] == [{"width": 5}]


FIELD = "the name of a cell's field"
RESERVED = ("run_id", "key", "profile", "version", "outcome", "status", "start", "seconds", "tags")


def test_a_field_or_a_tag_may_not_hide_what_is_known_of_a_run():
    for name in RESERVED:
        with refused(FIELD, "conflict"):
            Sweep("named", lambda profile, name=name: [{name: 1}], nothing, PROFILES).plan(PROFILES["smoke"])
        taken = Search("loss", "min", lambda: None, lambda _, name=name: {name: IntDistribution(1, 100)})
        with pytest.raises(ValueError, match=f"'{name}'"):
            SearchState(Sweep("named", fixed, nothing, PROFILES, search=taken), PROFILES["smoke"])
    taken = Sweep("named", fixed, nothing, PROFILES, tags=lambda cell: {"infoscope.key": "mine"})
    with pytest.raises(ValueError, match="'infoscope.key'"):
        taken.plan(PROFILES["smoke"])
    described = Sweep("named", fixed, nothing, PROFILES, tags=lambda cell: {"infoscope.data": "digits"})
    assert len(described.plan(PROFILES["smoke"])) == 1


def test_a_metric_may_not_hide_a_column(own_folder):
    cell, store = {"width": 3}, Store.open("named", create=True)
    report = RecordedReport(assigned(store, own_folder / "records", {"one": cell}), lambda told: None)
    report.records[0].begin(cell, {})
    run_id = finished(store, "one", cell, {"level": 1.0})
    for name in (*RESERVED, "width"):
        with pytest.raises(ValueError, match=f"is '{name}', which"):
            report.metrics(cell, {name: 1.0})
        with pytest.raises(ValueError, match=f"is '{name}', which"):
            log_results(run_id, {name: 1.0}, [], "later")
    report.metrics(cell, {"level": 1.0})  # and the cell goes on
    assert runs("named")["run_id"].tolist() == [run_id]
