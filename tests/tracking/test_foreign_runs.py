"""Foreign and incomplete runs in an experiment are skipped; names that would hide a
column are refused.
"""

import dataclasses
import functools
import json
import logging

import pytest
from optuna.distributions import IntDistribution

from infoscope.tracking import Search, Sweep, log_results, parents, runs
from infoscope.tracking.search import CellSearch
from infoscope.tracking.status import status
from infoscope.tracking.store import Store, by_key
from infoscope.tracking.sync import sync
from infoscope.tracking.tags import CELL, CELLS, DRIVER, KEY, OUTCOME, PARENT, PROFILE
from tests.refusals import refused
from tests.tracking import toy_sweep
from tests.tracking.cells import Seeds, nothing, searched, tags_of
from tests.tracking.processes import counts, finish, start


@pytest.fixture
def warnings_about(caplog):
    """(run id) -> the number of warnings that name it."""
    caplog.set_level(logging.WARNING)
    return lambda run_id: sum(run_id in line for line in caplog.messages)


def finished(store, key, cell, metrics, label="smoke", outcome="complete", **tags):
    """The id of a run as a sweep leaves it."""
    tags = tags_of(key, cell, **{PROFILE: label, OUTCOME: outcome, **tags})
    run_id = store.client.create_run(store.experiment_id, tags=tags).info.run_id
    for name, value in metrics.items():
        store.client.log_metric(run_id, name, value)
    store.client.set_terminated(run_id, "FINISHED")
    return run_id


NO_CELLS = {
    "empty": "",
    "not JSON": "{seed: 0",
    "a list": '["seed", 0]',
    "nested": '{"seed": {"of": [0]}}',
    "deep": "[" * 3000,
}


def with_foreign_runs(experiment, plan):
    """A store in which other programs and killed processes have left runs that are no
    cells; their ids by kind.
    """
    store = Store.open(experiment, create=True)
    made = {}
    key, cell = next(iter(plan.items()))

    def make(kind, status, **tags):
        made[kind] = store.client.create_run(store.experiment_id, tags=tags).info.run_id
        store.client.log_metric(made[kind], "level", 1e6)
        if status:
            store.client.set_terminated(made[kind], status)

    make("another program's", "FINISHED")
    make("another program's, running", None, **{"mlflow.user": "somebody"})
    for kind, text in NO_CELLS.items():
        tags = {KEY: key, PROFILE: "smoke", OUTCOME: "complete", CELL: text}
        make(f"cell: {kind}", "FINISHED", **tags)
        make(f"cell: {kind}, running", None, **tags)
    make("cell: none", "FINISHED", **{KEY: key, PROFILE: "smoke", OUTCOME: "complete"})
    whole = {KEY: key, CELL: json.dumps(cell, sort_keys=True), PROFILE: "smoke"}
    make("finished by hand", "FINISHED", **whole)

    make("finished by hand, without a result", "FINISHED", **whole, **{OUTCOME: ""})
    make("an unknown outcome", "FINISHED", **whole, **{OUTCOME: "perhaps"})
    make("scheduled", "SCHEDULED", **whole)
    elsewhere = {DRIVER: "elsewhere:/runs"}
    orphan = whole | {PARENT: "0" * 32}
    make("a parent that is gone", "KILLED", **orphan)
    make("a parent that is gone, running", None, **orphan, **elsewhere)
    quoted = whole | {KEY: "a' or '1' = `1", CELL: "{", OUTCOME: "complete"}
    make("a key with quotes", "FINISHED", **quoted)
    make("cells: words", None, **elsewhere, **{CELLS: "many", PROFILE: "smoke"})
    return store, made


@pytest.mark.system
def test_a_sweep_makes_its_cells_and_nothing_else(own_folder):
    _, made = with_foreign_runs("toy", toy_sweep.SWEEP.plan(toy_sweep.PROFILE))
    command = functools.partial(
        start, own_folder, "--set", "kinds=plain seeds=0,1,2", module="inline_sweep"
    )
    code, output = finish(command())
    assert (
        code == 0
        and counts(output) == {"completed": 3, "cells": 3}
        and "Traceback" not in output
    ), output
    frame = runs("toy", "smoke").set_index("seed")
    assert frame["level"].to_dict() == {0: 0.2, 1: 1.2, 2: 2.2}
    assert set(frame["status"]) == {"FINISHED"}
    assert output.count(made["cell: not JSON"]) == 1
    code, output = finish(command())
    assert code == 0 and counts(output) == {"cells": 3}, output


def test_sync_status_and_tables_skip_foreign_runs_with_a_warning(
    own_folder, warnings_about
):
    plan = toy_sweep.SWEEP.plan(toy_sweep.PROFILE)
    store, made = with_foreign_runs("toy", plan)
    for key, cell in plan.items():
        finished(store, key, cell, {"level": cell["seed"]})
    frame = runs("toy", "smoke")
    assert sorted(frame["level"]) == [0, 1]
    assert set(frame["key"]) == set(plan)
    assert len(runs("toy", finished=False)) == 2
    (counted,) = status(["toy"], "smoke")
    assert counted.counts == {"done": 2}  # whose module lies in tests
    assert counted.others == 0
    assert "toy" in counted.note
    (synced,) = sync(["toy"])
    assert synced.unsent == {}
    # not ours to close
    for kind in (
        "another program's, running",
        "cell: not JSON, running",
        "cells: words",
    ):
        assert store.client.get_run(made[kind]).info.status == "RUNNING"
    assert len(parents("toy")) == 1  # as MLflow has them
    for kind, run_id in made.items():
        if kind.startswith("cell: "):
            assert warnings_about(run_id) == 1
    for kind in ("another program's", "finished by hand"):
        assert warnings_about(made[kind]) == 0


PROFILES = {"smoke": Seeds()}
SEARCHED = searched(PROFILES)


def test_a_search_recalls_its_own_cells(own_folder):
    cells = [{"kind": "searched", "width": width} for width in (3, 5)]
    plan = {SEARCHED.key(cell): cell for cell in cells}
    store, _ = with_foreign_runs("searched", plan)
    foreign = {"kind": "searched", "width": "wide"}
    finished(store, SEARCHED.key(foreign), foreign, {"progress/loss": 0.0})
    finished(store, *list(plan.items())[1], {"progress/loss": 0.5})
    search = CellSearch(SEARCHED, PROFILES["smoke"])
    recalled = search.recall(by_key(store.cells()).values(), "smoke")
    # the finished one first, the other to be run again
    assert recalled == {key: plan[key] for key in reversed(plan)}
    # the other one waits
    assert [trial.params for trial in search._ot_study.trials] == [{"width": 5}, {}]


FIELD = "the name of a cell's field"
RESERVED = (
    "run_id", "key", "profile", "version", "outcome", "status", "start", "seconds", "tags"
)  # fmt: skip


def test_fields_and_tags_must_not_have_reserved_names():
    smoke = PROFILES["smoke"]
    for name in RESERVED:
        cells = [{name: 1}]
        space = {name: IntDistribution(1, 100)}
        named = Sweep("named", lambda profile, cells=cells: cells, nothing, PROFILES)
        with refused(FIELD, "conflict"):
            named.plan(smoke)
        search = Search("loss", "min", lambda: None, lambda _, space=space: space)
        with pytest.raises(ValueError, match=f"'{name}'"):
            CellSearch(dataclasses.replace(SEARCHED, search=search), smoke)
    tagged = dataclasses.replace(SEARCHED, tags=lambda cell: {"infoscope.key": "mine"})
    with pytest.raises(ValueError, match="'infoscope.key'"):
        tagged.plan(smoke)


def test_a_later_result_may_not_hide_a_column(own_folder):
    run_id = finished(
        Store.open("named", create=True), "one", {"width": 3}, {"level": 1.0}
    )
    for name in (*RESERVED, "width"):
        with pytest.raises(ValueError, match=f"name of a metric must .* got '{name}'"):
            log_results(run_id, {name: 1.0}, [], "later")
    assert runs("named")["run_id"].tolist() == [run_id]
