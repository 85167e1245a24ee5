"""What MLflow's pages do not show, and runs of before, which they did."""

import pytest

from infoscope.tracking import runs, tags
from infoscope.tracking.sending.publish import header_tags
from infoscope.tracking.store.store import Store

CELL = {"seed": 3, "sizes": [1, 2]}


@pytest.fixture
def store(own_folder):
    return Store.open("demo", create=True)


def shown_before(written):
    return {name.removeprefix("mlflow.") if "infoscope" in name else name: value for name, value in written.items()}


@pytest.mark.parametrize("as_written", [dict, shown_before])
def test_runs_of_before_and_of_today_are_read_alike(store, as_written):
    constants = {f"{tags.CONSTANTS} at 2 bits": '{"truth": 2.0}'}
    written = as_written(header_tags("a", CELL, {tags.PROFILE: "laptop"}) | {tags.OUTCOME: "complete"} | constants)
    run_id = store.client.create_run(store.experiment_id, tags=written).info.run_id
    store.client.set_terminated(run_id)
    (row,) = runs("demo", "laptop").to_dict("records")
    assert (row["seed"], row["sizes"], row["at 2 bits/truth"]) == (3, [1, 2], 2.0)
    for run in (store.run(run_id), *store.search("")):
        assert run.data.tags[tags.CELL]


def test_names_that_only_begin_alike_are_no_names_of_before():
    given = {"infoscope.cells": "2", "infoscope.alive_since": "", "infoscope.cell": "{}"}
    known = dict(given)
    tags.add_hidden(known)
    assert known == given | {tags.CELL: "{}"}
