"""Time and records with a tracking server that fails, is silent or overloaded."""

import time

import numpy as np
import pytest
from filelock import FileLock
from mlflow.exceptions import MlflowException

from infoscope.errors import StoreUnreachable
from infoscope.estimators import make_critic
from infoscope.tracking import models
from infoscope.tracking.models import is_ready, models_of_run, newest_model, write_model
from infoscope.tracking.record import home, milliseconds, records
from infoscope.tracking.sending.publish import open_run, publish, publish_all
from infoscope.tracking.sending.sync import sync
from infoscope.tracking.status import status
from infoscope.tracking.store.client import Client, NoAnswer, connect
from infoscope.tracking.store.store import Store
from infoscope.tracking.tags import ALIVE, CELLS, DRIVER
from tests.tracking.cells import begun
from tests.tracking.store.proxy import FaultyProxy

DOWN = "http://127.0.0.1:9"
failures = pytest.mark.parametrize("failure", ["error", "lost", "garbled"])


@pytest.fixture
def proxy(server):
    """A proxy before the server, which can fail."""
    proxy = FaultyProxy(server.port)
    yield proxy
    proxy.close()


@pytest.fixture
def store(proxy, tmp_path, monkeypatch):
    """An experiment behind the proxy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", proxy.uri)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")
    return Store.open(f"behind-{tmp_path.name}", create=True)


@pytest.fixture
def impatient(store, monkeypatch):
    """That experiment, asked with short time-outs."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    return store


def seconds(function, *arguments):
    """How long something takes that fails, and how."""
    began = time.monotonic()
    with pytest.raises((MlflowException, StoreUnreachable)) as raised:
        function(*arguments)
    return time.monotonic() - began, str(raised.value)


def written(folder, dim=2):
    """A model, as a worker writes it down."""
    write_model(make_critic("inner", dim, dim), {name: np.ones((2, dim), np.float32) for name in "xy"}, folder)
    return folder


def recorded(store, key="one", model=False):
    record = begun(home() / "records" / store.experiment, key, {"a": key})
    record.metrics({"level": 0.5}, 0)
    if model:
        written(record.model_folder("critic"))
        record.append({"model": "critic", "owner": key})
    return record


def shown(store, key="one"):
    """The run of a cell that is running."""
    run_id, start = open_run(recorded(store, key), store)
    store.client.log_metric(run_id, "level", 0.5, start, 0)
    return run_id


@pytest.mark.system
def test_a_retry_after_of_an_hour_is_not_obeyed(store, proxy):
    proxy.fail("busy")
    took, told = seconds(store.client.get_experiment, store.experiment_id)
    assert took < 1 and proxy.failures["busy"] == 1 and "(429," in told
    proxy.restore()
    took, told = seconds(store.client.get_experiment, store.experiment_id)
    assert took < 0.1 and "recently" in told


@pytest.mark.system
def test_a_silent_server_costs_one_timeout_for_all_requests(impatient, proxy):
    store = impatient
    records = [recorded(store, f"cell{number}") for number in range(6)]
    proxy.fail("silent")
    took, told = seconds(store.client.get_experiment, store.experiment_id)
    assert 1 <= took < 2.5 and proxy.uri in told and "within 1 s" in told
    began = time.monotonic()
    sent, left = publish_all(records, store)
    assert sent == {} and len(left) == 6 and not store.answers()
    assert time.monotonic() - began < 0.5 and proxy.failures["silent"] == 1
    assert all(record.exists() for record in records)  # and nothing is lost


@pytest.mark.system
def test_after_a_rest_one_request_goes_ahead(proxy, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    client = Client(proxy.uri, rest=0.5)
    proxy.fail("silent")
    seconds(client.search_experiments)
    time.sleep(0.6)
    took, _ = seconds(client.search_experiments)
    assert took >= 1 and proxy.failures["silent"] == 2
    time.sleep(0.6)
    proxy.restore()
    assert client.search_experiments() and client.search_experiments()


@pytest.mark.system
def test_the_commands_report_a_silent_server_within_one_timeout(impatient, proxy):
    recorded(impatient)
    connect.cache_clear()  # as another process has it
    proxy.fail("silent")
    for command in (status, sync):
        took, told = seconds(command)
        assert took < 2.5 and "not answer" in told
    assert proxy.failures["silent"] == 1


@pytest.mark.system
@failures
def test_repeatable_requests_are_repeated(store, proxy, failure):
    draws = iter([failure, None])
    proxy.next_failure = lambda: next(draws, None)
    assert store.client.get_experiment(store.experiment_id).name == store.experiment


@pytest.mark.system
@failures
def test_one_of_two_equal_runs_is_kept(store, proxy, failure):
    """The server has made it and its answer is lost: the next attempt makes another, and deletes the first."""
    record, sent = recorded(store), []
    record.end("complete")

    def once():
        sent.append(failure)
        return failure if len(sent) == 2 else None  # after the search by key

    proxy.next_failure = once
    with pytest.raises(MlflowException):
        publish(record, store)
    proxy.next_failure = lambda: None
    run_id = publish(record, store)
    (run,) = store.cells()
    assert run.info.run_id == run_id and run.data.params == {"a": "one"}


@pytest.mark.system
@failures
def test_a_model_is_logged_once_when_an_answer_is_lost(store, proxy, failure, monkeypatch):
    """Whichever of the requests it is: the next attempt finishes what there is."""
    monkeypatch.setattr(store.client, "_pauses", ())
    record = recorded(store, model=True)
    run_id, asked = shown(store, "other"), 0

    def counting():
        nonlocal asked
        asked += 1

    proxy.next_failure = counting
    models.log_model(record.model_folder("critic"), "critic", run_id, store)
    for at in range(0 if failure == "lost" else 1, asked, 1 if failure == "lost" else 3):
        run_id, asked = shown(store, f"cell{at}"), 0

        def failing(at=at):
            nonlocal asked
            asked += 1
            return failure if asked > at else None

        proxy.next_failure = failing
        with pytest.raises(MlflowException):
            models.log_model(record.model_folder("critic"), "critic", run_id, store)
        proxy.next_failure = lambda: None
        models.log_model(record.model_folder("critic"), "critic", run_id, store)
        models.log_model(record.model_folder("critic"), "critic", run_id, store)  # and once more changes nothing
        (model,) = models_of_run(run_id, store)
        assert is_ready(model), at
        outputs = store.client.get_run(run_id).outputs.model_outputs
        assert [output.model_id for output in outputs] == [model.model_id], at
        assert {metric.key: metric.value for metric in model.metrics or ()} == {"level": 0.5}, at
    assert at >= 8  # the requests that it takes


@pytest.mark.system
def test_another_model_of_the_same_name_is_logged_beside_it(store, tmp_path):
    run_id = shown(store)
    for dim in (2, 3):
        models.log_model(written(tmp_path / str(dim), dim), "critic", run_id, store)
    first, second = models_of_run(run_id, store)[::-1]
    assert newest_model(store.run(run_id), store.client, "critic").model_id == second.model_id != first.model_id


@pytest.mark.system
def test_a_partly_sent_model_is_deleted_with_its_run_or_by_a_sync(store):
    """Of an attempt that another takes the place of, of a cell that was killed, that runs, and of somebody else."""
    ids = {key: shown(store, key) for key in ("replaced", "killed", "running", "foreign")}
    for key, run_id in ids.items():
        kind = "sklearn" if key == "foreign" else models.FLAVOR
        store.client.create_logged_model(store.experiment_id, name=key, model_type=kind, source_run_id=run_id)
    for key in ("replaced", "killed", "foreign"):
        store.client.set_terminated(ids[key], "KILLED")

    def left():
        return {model.name for model in models.search("model_type != ''", store)}

    for record in records(home() / "records" / store.experiment):
        record.remove()
    again = recorded(store, "replaced")
    again.end("complete")
    publish(again, store)
    assert left() == {"killed", "running", "foreign"}
    again = recorded(store, "sent", model=True)
    again.end("complete")
    publish(again, store)
    with FileLock(home() / "records" / f"{store.experiment}.lock"):
        assert sync([store.experiment])[0].busy
    store.client.set_tag(ids["running"], "mlflow.parentRunId", living(store))
    (done,) = sync([store.experiment])
    assert done.models == 1 and left() == {"running", "foreign", "critic"}


def living(store):
    """The id of an invocation that runs elsewhere."""
    tags = {CELLS: "1", DRIVER: "elsewhere:/runs", ALIVE: str(milliseconds())}
    return store.client.create_run(store.experiment_id, tags=tags).info.run_id


@pytest.mark.system
def test_a_refused_request_is_not_repeated(store, proxy):
    asked = []
    proxy.next_failure = lambda: asked.append(1)
    with pytest.raises(MlflowException, match="RESOURCE_DOES_NOT_EXIST|not found"):
        store.client.get_run("0" * 32)
    assert len(asked) == 1 and store.run("0" * 32) is None


def test_a_server_that_is_down_receives_three_requests_in_total(monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    client = Client(DOWN)
    first, _ = seconds(client.search_experiments)
    later, told = seconds(client.search_experiments)
    assert 2 < first < 10 and later < 1 and "failed" in told
    assert not isinstance(pytest.raises(MlflowException, client.search_experiments).value, NoAnswer)
