"""What a tracking server costs that lies, is silent, or asks to be left alone; its lies leave nothing behind."""

import time

import numpy as np
import pytest
from mlflow.exceptions import MlflowException

from infoscope.estimators import make_critic
from infoscope.tracking import models
from infoscope.tracking.models import of_run, write_model
from infoscope.tracking.record import Record
from infoscope.tracking.sending.flush import Flusher, close, header_tags, send
from infoscope.tracking.sending.sync import sync
from infoscope.tracking.status import status
from infoscope.tracking.store.client import REQUESTS, Client, NoAnswer, _causes, connect
from infoscope.tracking.store.outputs import is_ready, newest_model
from infoscope.tracking.store.store import Store, StoreUnreachable
from infra.drill.liar import Liar
from tests.tracking.servers import Server


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """A real server, on SQLite."""
    folder = tmp_path_factory.mktemp("honest")
    server = Server(f"sqlite:///{folder / 'mlflow.db'}", folder)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def liar(honest):
    proxy = Liar(honest.port)
    yield proxy
    proxy.close()


@pytest.fixture
def store(liar, tmp_path, monkeypatch, request):
    """An experiment behind the proxy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", liar.uri)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")
    return Store.open(request.node.name.replace("[", "-").strip("]"), create=True)


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


def recorded(store, key="one", model=False):
    record = Record(store_folder(store) / key)
    record.begin({"a": key}, header_tags(key, {"a": key}, {}), None)
    record.metrics({"level": 0.5}, 0)
    if model:
        write_model(make_critic("inner", 2, 2), {name: np.ones((2, 2), np.float32) for name in "xy"}, model_at(record))
        record.append({"model": "critic", "owner": key})
    return record


def store_folder(store):
    from infoscope.tracking.store.store import home

    return home() / "records" / store.experiment


def model_at(record):
    return record.model_folder("critic")


def test_a_retry_after_of_an_hour_is_not_obeyed(store, liar):
    liar.lie("busy")
    took, told = seconds(store.client.get_experiment, store.experiment_id)
    assert took < 1 and liar.told["busy"] == 1 and "asks to be left alone (429, too many requests)" in told
    liar.be_honest()
    took, told = seconds(store.client.get_experiment, store.experiment_id)
    assert took < 0.1 and "has not answered lately; it is asked again in" in told


def test_a_silent_server_costs_one_timeout_for_all_that_is_asked(impatient, liar):
    store = impatient
    records = [recorded(store, f"cell{number}") for number in range(6)]
    liar.lie("silent")
    took, told = seconds(store.client.get_experiment, store.experiment_id)
    assert 1 <= took < 2.5 and told.startswith(f"the tracking server {liar.uri} has not answered within 1 s; it is as")
    flusher, began = Flusher(store, every=600), time.monotonic()
    flusher.follow(records)
    assert flusher.drain(patience=0.0) == {} and not store.answers()
    assert time.monotonic() - began < 0.5 and liar.told["silent"] == 1
    assert all(record.waiting() for record in records)  # and nothing is lost


def test_after_a_rest_one_request_goes_ahead(honest, liar, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    client = Client(liar.uri, rest=0.5)
    liar.lie("silent")
    seconds(client.search_experiments)
    time.sleep(0.6)
    took, _ = seconds(client.search_experiments)
    assert took >= 1 and liar.told["silent"] == 2
    time.sleep(0.6)
    liar.be_honest()
    assert client.search_experiments() and client.search_experiments()


def test_the_commands_are_told_within_one_timeout(impatient, liar):
    recorded(impatient)
    connect.cache_clear()  # as another process has it
    liar.lie("silent")
    for command in (status, sync):
        took, told = seconds(command)
        assert took < 2.5 and "does not answer" in told
    assert liar.told["silent"] == 1


def test_a_first_answer_is_not_awaited_as_long_as_later_ones(liar, monkeypatch, tmp_path):
    from infoscope.tracking.store import store

    monkeypatch.setattr(store, "CONTACT_SECONDS", 1)
    monkeypatch.delenv("MLFLOW_HTTP_REQUEST_TIMEOUT", raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", liar.uri)
    liar.lie("silent")
    took, _ = seconds(Store.open, "never made")
    assert took < 3


@pytest.mark.parametrize("lie", ["error", "lost", "garbled"])
def test_what_may_be_asked_twice_is(store, liar, lie):
    liar.lie(lie, share=0.0)
    draws = iter([lie, None])
    liar.next_lie = lambda: next(draws, None)
    assert store.client.get_experiment(store.experiment_id).name == store.experiment


@pytest.mark.parametrize("lie", ["error", "lost", "garbled"])
def test_a_run_is_not_made_twice(store, liar, lie):
    """The server has made it and its answer is lost: the run is found again, by its key, not made again."""
    record, lies = recorded(store), []

    def once():
        lies.append(lie)
        return lie if len(lies) == 2 else None  # after the search by key

    liar.next_lie = once
    with pytest.raises(MlflowException):
        send(record, store)
    liar.next_lie = lambda: None
    run_id = send(record, store)
    assert [run.info.run_id for run in store.cells()] == [run_id]


@pytest.mark.parametrize("lie", ["error", "lost", "garbled"])
def test_a_model_of_which_an_answer_is_lost_is_logged_once(store, liar, lie, monkeypatch):
    """Whichever of the requests it is: the next attempt finishes what there is."""
    monkeypatch.setattr(store.client._circuit, "_pauses", ())
    record = recorded(store, model=True)
    run_id, asked = send(recorded(store, "other"), store), 0

    def counting():
        nonlocal asked
        asked += 1

    liar.next_lie = counting
    models.log_model(model_at(record), "critic", run_id, store)
    for at in range(0 if lie == "lost" else 1, asked, 1 if lie == "lost" else 3):
        run_id, asked = send(recorded(store, f"cell{at}"), store), 0

        def lies(at=at):
            nonlocal asked
            asked += 1
            return lie if asked > at else None

        liar.next_lie = lies
        with pytest.raises(MlflowException):
            models.log_model(model_at(record), "critic", run_id, store)
        liar.next_lie = lambda: None
        models.log_model(model_at(record), "critic", run_id, store)
        models.log_model(model_at(record), "critic", run_id, store)  # and once more changes nothing
        (model,) = of_run(run_id, store)
        assert is_ready(model), at
        outputs = store.client.get_run(run_id).outputs.model_outputs
        assert [output.model_id for output in outputs] == [model.model_id], at
        assert {metric.key: metric.value for metric in model.metrics or ()} == {"level": 0.5}, at
    assert at >= 8  # the requests that it takes


def test_another_model_of_the_same_name_is_logged_beside_it(store, tmp_path):
    run_id = send(recorded(store), store)
    for dim in (2, 3):
        example = {name: np.ones((2, dim), np.float32) for name in "xy"}
        write_model(make_critic("inner", dim, dim), example, tmp_path / str(dim))
        models.log_model(tmp_path / str(dim), "critic", run_id, store)
    first, second = of_run(run_id, store)[::-1]
    assert newest_model(store.run(run_id), store.client, "critic").model_id == second.model_id != first.model_id


def test_a_model_sent_by_half_goes_with_the_end_of_its_run_or_with_a_sync(store, tmp_path):
    begun = [store.client.create_logged_model(store.experiment_id, name=name, model_type=kind, source_run_id=run_id)
             for name, kind, run_id in halves(store)]  # fmt: skip
    ended, lost, running, foreign = begun
    record = Record(store_folder(store) / "ended")
    model_at(record).mkdir(parents=True)
    record.end("failed", "its machine died")
    close(record, store, otherwise="KILLED")
    left = {model.name for model in models.search("model_type != ''", store)}
    assert left == {lost.name, running.name, foreign.name}
    (done,) = sync([store.experiment])
    assert done.models == 1 and "1 models that were sent by half deleted" in str(done)
    assert {model.name for model in models.search("model_type != ''", store)} == {running.name, foreign.name}
    assert ended.model_id != lost.model_id


def halves(store):
    """A name, a type and a run for four models: of a cell whose record is here, of one that was killed, of one that
    runs, and of somebody else.
    """
    here = send(recorded(store, "ended"), store)
    elsewhere = [recorded(store, key) for key in ("killed", "running", "other")]
    killed, running, other = (send(record, store) for record in elsewhere)
    for record in elsewhere:
        record.remove()
    for run_id in (killed, other):
        store.client.set_terminated(run_id, "KILLED")
    kinds = (models.FLAVOR, models.FLAVOR, models.FLAVOR, "sklearn")
    return zip(("ended", "lost", "running", "foreign"), kinds, (here, killed, running, other))


def test_nothing_of_mlflow_waits_or_asks_again_by_itself(monkeypatch):
    """Also where no sweep is run, such as in an analysis: set when the first client is made."""
    from mlflow import environment_variables as variables

    for name in REQUESTS:
        monkeypatch.delenv(name, raising=False)
    connect.cache_clear()
    connect("http://127.0.0.1:9")
    assert variables.MLFLOW_HTTP_REQUEST_MAX_RETRIES.get() == 0
    assert not variables.MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER.get()
    assert variables.MLFLOW_HTTP_REQUEST_TIMEOUT.get() == 30
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "90")  # of somebody who knows the server
    connect.cache_clear()
    connect("http://127.0.0.1:9")
    assert variables.MLFLOW_HTTP_REQUEST_TIMEOUT.get() == 90


def test_what_a_store_refuses_is_not_asked_again(store, liar):
    asked = []
    liar.next_lie = lambda: asked.append(1)
    with pytest.raises(MlflowException, match="RESOURCE_DOES_NOT_EXIST|not found"):
        store.client.get_run("0" * 32)
    assert len(asked) == 1 and store.run("0" * 32) is None


def test_a_server_that_is_down_is_asked_three_times_once(monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    client = Client("http://127.0.0.1:9")
    first, _ = seconds(client.search_experiments)
    later, told = seconds(client.search_experiments)
    assert 2 < first < 10 and later < 1 and "failed with exception" in told
    assert not isinstance(pytest.raises(MlflowException, client.search_experiments).value, NoAnswer)


def test_errors_that_refer_to_one_another_come_to_an_end():
    """A refused retry is the reason of the error that holds it, and was raised while that was handled."""
    inner, outer = ValueError("inner"), RuntimeError("outer")
    outer.args, inner.__context__, outer.__cause__ = (inner, inner), outer, inner
    assert list(_causes(outer)) == [outer, inner]
