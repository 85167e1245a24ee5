"""What the store refuses for what it is: it is set aside, said, and keeps nothing else from being sent."""

import json
from pathlib import Path

import pytest
from mlflow.exceptions import MlflowException
from mlflow.protos import databricks_pb2 as codes
from mlflow.tracking import MlflowClient

from infoscope.tracking import runs
from infoscope.tracking.cli import describe
from infoscope.tracking.record import ASIDE, Record
from infoscope.tracking.scheduling.watch import Summary
from infoscope.tracking.sending.flush import close, close_all, header_tags, send
from infoscope.tracking.sending.sync import sync
from infoscope.tracking.store.store import SET_ASIDE, Store


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path, monkeypatch, empty_store):
    monkeypatch.chdir(tmp_path)
    if request.param == "sqlite":
        empty_store(tmp_path)
        monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    else:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", request.getfixturevalue("server").uri)
    return Store.open(f"aside-{tmp_path.name}", create=True)


def begun(folder, key="one", cell=None, **tags):
    record = Record(folder / key)
    cell = {"seed": 0} if cell is None else cell
    record.begin(cell, header_tags(key, cell, {"infoscope.profile": "smoke"}) | tags, None)
    return record


def aside(store, run_id, folder):
    """What lies in the artifact of a run."""
    path = Path(store.client.download_artifacts(run_id, ASIDE, str(folder)))
    return [json.loads(line) for line in path.read_text().splitlines()]


BAD = {
    "a step of 71 bits": {"metrics": {"level": 7.0}, "step": 2**70},
    "a step of text": {"metrics": {"level": 7.0}, "step": "3"},
    "no step": {"metrics": {"level": 7.0}},
    "a value of text": {"metrics": {"level": "seven"}, "step": 3},
    "a name of no text": {"metrics": {"\ud800": 7.0}, "step": 3},
    "a name with brackets": {"metrics": {"a(b)": 7.0}, "step": 3},
    "a model that is lost": {"model": "critic", "owner": "one"},
    "a model elsewhere": {"model": "../../secret", "owner": "one"},
}


def test_a_bad_entry_does_not_block_its_cell(tmp_path, store):
    """Records as an earlier version wrote them, which asked nothing; all the bad entries in one."""
    record = begun(tmp_path, cell={"seed": 0, "a(b)": 1, "c//d": 2}, **{"x(y)": "tag", "half": "\udcff"})
    with open(record.folder / "record.jsonl", "a") as file:
        file.write('5\n"text"\nnull\n[1]\n{"unknown": 1}\n')
    record.metrics({"level": 0.5}, 0)
    for entry in BAD.values():
        record.append(entry)
    record.metrics({"level": 1.5}, 1)
    run_id = send(record, store)
    send(record, store)
    (record.folder / "sent.json").unlink()  # what is set aside again is the same
    send(record, store)
    record.end("complete")
    told = set()
    assert close_all([record], store, "KILLED", told) == [] and told == {"one"}
    (row,) = runs(store.experiment).to_dict("records")
    assert (row["run_id"], row["status"], row["level"]) == (run_id, "FINISHED", 1.5)
    assert [(p.step, p.value) for p in store.client.get_metric_history(run_id, "level")] == [(0, 0.5), (1, 1.5)]
    assert store.run(run_id).data.params == {"seed": "0"}
    lines = aside(store, run_id, tmp_path)
    assert len(lines) == len(BAD) + 4 and all(line["why"] for line in lines)
    assert {"metric": "level", "value": 7.0, "step": 2**70} in [line["refused"] for line in lines]
    assert row["tags"][SET_ASIDE].startswith("12 of what was reported, such as {") and ASIDE in row["tags"][SET_ASIDE]


def refusing(monkeypatch, code, refuses=lambda items: any(item.key == "odd" for item in items)):
    """A store that refuses batches, after all checks; returns what it is asked."""
    asked, log_batch = [], MlflowClient.log_batch

    def ask(client, run_id, metrics=(), params=(), tags=()):
        asked.append(len([*metrics, *params, *tags]))
        if refuses([*metrics, *params, *tags]):
            raise MlflowException("no such thing", error_code=code)
        log_batch(client, run_id, metrics, params, tags)

    monkeypatch.setattr(MlflowClient, "log_batch", ask)
    return asked


@pytest.mark.parametrize("code", [codes.INVALID_PARAMETER_VALUE, codes.BAD_REQUEST])
def test_what_the_store_refuses_after_all_is_set_aside(tmp_path, store, monkeypatch, code):
    asked = refusing(monkeypatch, code)
    record = begun(tmp_path)
    for step in range(200):
        record.metrics({"level": step / 2, "other": 1.0} | ({"odd": 3.0} if step == 77 else {}), step)
    record.end("complete")
    assert close(record, store, otherwise="KILLED") == 1
    (row,) = runs(store.experiment).to_dict("records")
    assert (row["status"], row["level"]) == ("FINISHED", 99.5) and "odd" not in row
    assert len(store.client.get_metric_history(row["run_id"], "level")) == 200 and len(asked) < 30
    (line,) = aside(store, row["run_id"], tmp_path)
    assert (line["refused"]["key"], line["refused"]["step"], line["why"]) == ("odd", 77, "no such thing")


@pytest.mark.parametrize(
    "code", ["INTERNAL_ERROR", "TEMPORARILY_UNAVAILABLE", "REQUEST_LIMIT_EXCEEDED", "PERMISSION_DENIED", "NOT_FOUND"]
)
def test_what_is_refused_for_a_while_is_kept(tmp_path, store, monkeypatch, code):
    record = begun(tmp_path)
    record.metrics({"odd": 3.0}, 0)
    with monkeypatch.context() as patch:
        refusing(patch, codes.ErrorCode.Value(code))
        with pytest.raises(MlflowException, match="no such thing"):
            send(record, store)
    assert record.aside() == 0
    record.end("complete")
    assert close(record, store, otherwise="KILLED") == 0 and runs(store.experiment)["odd"].tolist() == [3.0]


def test_a_store_that_refuses_everything_loses_nothing(tmp_path, store, monkeypatch):
    """Such as a proxy in front of it that answers 400: that is not the entries' fault."""
    record = begun(tmp_path)
    run_id = send(record, store)
    record.metrics({"level": 3.0}, 0)

    def refuse(*given, **named):
        raise MlflowException("bad gateway", error_code=codes.BAD_REQUEST)

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_batch", refuse)
        patch.setattr(MlflowClient, "set_tag", refuse)
        with pytest.raises(MlflowException, match="bad gateway"):
            send(record, store)
    assert record.aside() == 0 and send(record, store) == run_id
    assert store.run(run_id).data.metrics == {"level": 3.0}


def test_a_run_that_is_deleted_meanwhile_is_not_the_entries_fault(tmp_path, store):
    """MLflow calls that an invalid parameter, too."""
    record = begun(tmp_path)
    run_id = send(record, store)
    record.metrics({"level": 3.0}, 0)
    from infoscope.tracking.sending.flush import _Carrier

    carrier = _Carrier(record, store)
    store.client.delete_run(run_id)
    with pytest.raises(MlflowException):
        carrier.carry()
    again = send(record, store)
    assert again != run_id and store.run(again).data.metrics == {"level": 3.0} and record.aside() == 0


def test_a_header_that_the_store_refuses_gets_a_run_all_the_same(tmp_path, store, monkeypatch):
    create = MlflowClient.create_run

    def ask(client, experiment, start_time=None, tags=None):
        if "mlflow.runName" in tags:
            raise MlflowException("the name is too long", error_code=codes.BAD_REQUEST)
        return create(client, experiment, start_time=start_time, tags=tags)

    monkeypatch.setattr(MlflowClient, "create_run", ask)
    record = begun(tmp_path, **{"mlflow.runName": "n" * 300})
    record.end("complete")
    close(record, store, otherwise="KILLED")
    (row,) = runs(store.experiment).to_dict("records")
    assert row["status"] == "FINISHED" and row["profile"] == "smoke" and row["seed"] == 0


def test_it_is_said_at_the_end(tmp_path, store):
    summary = Summary("demo", "smoke", cells=4, skipped=0, completed=4, aside={"d", "a", "c", "b"})
    words = "MLflow refused some of what 4 cells reported (a, b, c, ...): see set-aside.jsonl among"
    assert words in describe(summary)
    record = begun(tmp_path / "runs" / "records" / store.experiment)
    record.append({"metrics": {"level": 7.0}, "step": 2**70})
    (one,) = sync([store.experiment])
    assert one.records == 1 and "  MLflow refused some of what 1 cells reported (one): see" in str(one)
