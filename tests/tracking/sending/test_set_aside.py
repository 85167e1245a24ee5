"""What the store refuses for what it is: it is set aside, said, and keeps nothing else from being sent."""

import json
from pathlib import Path

import pytest
from mlflow.exceptions import MlflowException
from mlflow.protos import databricks_pb2 as codes
from mlflow.tracking import MlflowClient

from infoscope.tracking import runs
from infoscope.tracking.cli import describe
from infoscope.tracking.record import ASIDE
from infoscope.tracking.scheduling.watch import Summary
from infoscope.tracking.sending.flush import close, close_all, send
from infoscope.tracking.sending.sync import sync
from infoscope.tracking.store.store import SET_ASIDE
from tests.tracking.cells import begun, history


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
    assert history(store, run_id) == [(0, 0.5), (1, 1.5)]
    assert store.run(run_id).data.params == {"seed": "0"}
    lines = aside(store, run_id, tmp_path)
    assert len(lines) == len(BAD) + 4 and all(line["why"] for line in lines)
    assert {"metric": "level", "value": 7.0, "step": 2**70} in [line["refused"] for line in lines]
    assert row["tags"][SET_ASIDE].startswith("12 of") and ASIDE in row["tags"][SET_ASIDE]


def refusing(monkeypatch, code, refuses=lambda items: any(item.key == "odd" for item in items)):
    """A store that refuses batches, after all checks; returns what it is asked."""
    asked, log_batch = [], MlflowClient.log_batch

    def ask(client, run_id, metrics=(), params=(), tags=()):
        asked.append(len([*metrics, *params, *tags]))
        if refuses([*metrics, *params, *tags]):
            raise MlflowException("no such", error_code=code)
        log_batch(client, run_id, metrics, params, tags)

    monkeypatch.setattr(MlflowClient, "log_batch", ask)
    return asked


def test_what_the_store_refuses_after_all_is_set_aside(tmp_path, store, monkeypatch):
    asked = refusing(monkeypatch, codes.BAD_REQUEST)
    record = begun(tmp_path)
    for step in range(200):
        record.metrics({"level": step / 2, "other": 1.0} | ({"odd": 3.0} if step == 77 else {}), step)
    record.end("complete")
    assert close(record, store, otherwise="KILLED") == 1
    (row,) = runs(store.experiment).to_dict("records")
    assert (row["status"], row["level"]) == ("FINISHED", 99.5) and "odd" not in row
    assert len(history(store, row["run_id"])) == 200 and len(asked) < 30
    (line,) = aside(store, row["run_id"], tmp_path)
    assert (line["refused"]["key"], line["refused"]["step"], line["why"]) == ("odd", 77, "no such")


def test_what_is_refused_for_a_while_is_kept(tmp_path, store, monkeypatch):
    record = begun(tmp_path)
    record.metrics({"odd": 3.0}, 0)
    for code in ("TEMPORARILY_UNAVAILABLE", "REQUEST_LIMIT_EXCEEDED", "PERMISSION_DENIED", "NOT_FOUND"):
        with monkeypatch.context() as patch:
            refusing(patch, codes.ErrorCode.Value(code))
            with pytest.raises(MlflowException, match="no such"):
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


def test_it_is_said_at_the_end(tmp_path, store):
    summary = Summary("demo", "smoke", cells=4, skipped=0, completed=4, aside={"d", "a", "c", "b"})
    assert "4 cells" in describe(summary) and ASIDE in describe(summary)
    record = begun(tmp_path / "runs" / "records" / store.experiment)
    record.append({"metrics": {"level": 7.0}, "step": 2**70})
    (one,) = sync([store.experiment])
    assert one.records == 1 and one.aside == {"one"} and ASIDE in str(one)
