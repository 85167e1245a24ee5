"""What an analysis adds to the run of a sweep; and how runs of before and after hold
curves and constants.
"""

import math

import pytest

from infoscope.tracking import curve, publish, runs
from infoscope.tracking.store import Store
from infoscope.tracking.tags import CELLS, CONSTANTS, CURVES, OUTCOME, PARENT, PROFILE
from tests.refusals import refused
from tests.tracking.cells import tags_of

NOTE = "mlflow.note.content"


@pytest.fixture
def store(own_folder):
    return Store.open("demo", create=True)


def invocation(store, label, start, status, note="What is asked."):
    tags = {CELLS: "1", PROFILE: label, NOTE: note}
    run_id = store.client.create_run(
        store.experiment_id, start_time=start, tags=tags
    ).info.run_id
    store.client.set_terminated(run_id, status)
    return run_id


def cell(store, key, label, parent):
    tags = tags_of(
        key, {"seed": 0}, **{PROFILE: label, PARENT: parent, OUTCOME: "complete"}
    )
    run_id = store.client.create_run(store.experiment_id, tags=tags).info.run_id
    store.client.set_terminated(run_id)
    return run_id


def test_tables_and_figures_go_to_the_newest_that_has_ended(store, tmp_path):
    """Twice is like once; a run that failed in part is better than none; what a person
    wrote about it stays.
    """
    old = invocation(store, "laptop", 1000, "FINISHED")
    failed = invocation(store, "laptop", 2000, "FAILED")
    killed = invocation(store, "laptop", 3000, "KILLED")
    cell(store, "a", "laptop; laptop steps=3", old)
    (tmp_path / "mse.csv").write_text("x\n1\n")
    frame = runs("demo", "laptop")
    table = [("mse", ["x"], [["1"]], "One row.")]
    page = publish("demo", "laptop", frame, table, [tmp_path / "mse.csv"])
    assert (
        page
        == f"#/experiments/{store.experiment_id}/runs/{old}?workflowType=machine_learning"
    )
    first = store.run(old).data.tags[NOTE]
    assert first.endswith("What is asked.")
    assert "| 1 |" in first
    assert "One row." in first
    assert publish("demo", "laptop", frame, table, [tmp_path / "mse.csv"]) == page
    assert store.run(old).data.tags[NOTE] == first
    assert [file.path for file in store.client.list_artifacts(old, "analysis")] == [
        "analysis/mse.csv"
    ]
    # a label that made none of its cells
    assert publish("demo", "laptop steps=3", frame, table, []) == page
    for run_id in (failed, killed):
        assert store.run(run_id).data.tags[NOTE] == "What is asked."
    store.client.delete_run(old)
    assert f"/{failed}?" in publish("demo", "laptop", frame, table, [])
    with refused(code="invalid"):
        publish("demo", "laptop", frame, table, [tmp_path / "absent.csv"])


def test_curves_and_constants_are_columns_by_their_plain_names_in_old_runs_and_new(
    store,
):
    parent = invocation(store, "laptop", 1000, "FINISHED")
    old = cell(store, "old", "laptop", parent)
    new = cell(store, "new", "laptop", parent)
    both = cell(store, "both", "laptop", parent)
    for step, value in ((1, 0.5), (2, 1.5)):
        store.client.log_metric(old, "train/loss", value, step=step)
        store.client.log_metric(both, "train/loss", -value, step=step)
        for run_id in (new, both):
            store.client.log_metric(run_id, f"{CURVES}train/loss", value, step=step)
    store.client.log_metric(old, "at 2 bits/floor", 0.25)
    store.client.set_tag(new, f"{CONSTANTS} at 2 bits", '{"floor": 0.25}')
    store.client.set_tag(both, CONSTANTS, '{"n": 3, "infinite": NaN}')
    frame = runs("demo", "laptop").set_index("key")
    assert frame["train/loss"].to_dict() == {"old": 1.5, "new": 1.5, "both": 1.5}
    for name in frame:
        assert not name.startswith(CURVES)
    assert frame.loc[["old", "new"], "floor at 2 bits"].tolist() == [0.25, 0.25]
    assert frame.loc["both", "n"] == 3
    assert math.isnan(frame.loc["both", "infinite"])
    for run_id in (old, new, both):
        assert curve(run_id, "train/loss").to_dict() == {1: 0.5, 2: 1.5}
