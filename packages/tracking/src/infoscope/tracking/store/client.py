"""The client of a tracking store, with limits for servers that answer late, wrongly or never.

A request has a time limit and is sent once; idempotent ones are repeated twice after an immediate failure. After a
timeout, requests fail at once for a while; what was to be recorded stays in the local records.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import requests
import urllib3
from google.protobuf.json_format import ParseError
from mlflow.entities import Run
from mlflow.exceptions import MlflowException, RestException, get_error_code
from mlflow.store.entities import PagedList
from mlflow.tracking import MlflowClient

from infoscope.tracking.tags import add_hidden

_SECONDS, CONTACT_SECONDS = 30, 15  # to answer a request; the first one of a command
_REST_SECONDS = 30.0  # for which a silent server is left alone
_PAUSES = (0.3, 2.0)  # seconds before a request is sent again
_REPEATABLE = ("get_", "search_", "list_", "download_", "log_", "set_", "update_")  # twice is as good as once, but:
_ONCE = ("log_outputs", "log_inputs")
_PASSING = ("INTERNAL_ERROR", "TEMPORARILY_UNAVAILABLE")  # what MLflow calls it when a request has got no answer
_BUSY = "too many 429"  # in urllib3's words: the server says that there are too many requests
TIMEOUT = "MLFLOW_HTTP_REQUEST_TIMEOUT"
REQUESTS = {
    TIMEOUT: str(_SECONDS),
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
}

Result = TypeVar("Result")


class NoAnswer(MlflowException):
    """The tracking server is silent, asks to be left alone, or what it has said is no answer."""


@functools.cache
def connect(uri: str) -> Client:
    """The client of a store, one a process: to make one for an SQLite store takes longer than a request."""
    for name, value in REQUESTS.items():
        os.environ.setdefault(name, value)
    return Client(uri)


def without_password(text: str) -> str:
    """A text with addresses in it, each without user and password."""
    return re.sub(r"//[^/?#\s]*@", "//", text)


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables, set for a while and put back as they were."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class Client:
    """An `MlflowClient` that raises MlflowException for store errors (NoAnswer: silent), OSError for local files."""

    def __init__(self, uri: str, rest: float = _REST_SECONDS, pauses: tuple[float, ...] = _PAUSES):
        here = not uri.startswith(("http://", "https://"))
        self._client, self._circuit = MlflowClient(uri), _Circuit(uri, rest, () if here else pauses)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name.startswith("_") or not callable(found):
            return found
        repeatable = name.startswith(_REPEATABLE) and name not in _ONCE
        return functools.partial(self._circuit.ask, found, repeatable)

    def get_run(self, run_id: str) -> Run:
        """As of MLflow, whenever its tags were written."""
        found = self.ask(self._client.get_run, run_id)
        add_hidden(found.data.tags)
        return found

    def search_runs(self, *arguments: Any, **named: Any) -> PagedList[Run]:
        """As of MLflow, whenever their tags were written."""
        found = self._circuit.ask(self._client.search_runs, True, *arguments, **named)
        for run in found:
            add_hidden(run.data.tags)
        return found

    def ask(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """The result of a function that asks the same server by other ways; it may be called again."""
        return self._circuit.ask(function, True, *arguments)


class _Circuit:
    """Lets requests through, but none for `rest` seconds after a timeout; then one first. pauses: s before repeats."""

    def __init__(self, uri: str, rest: float, pauses: tuple[float, ...]):
        self._server, self._rest, self._pauses = f"the tracking server {without_password(uri)}", rest, pauses
        self._lock, self._silent_until, self._well = threading.Lock(), 0.0, True

    def ask(self, function: Callable[..., Result], repeatable: bool, *arguments: Any, **named: Any) -> Result:
        self._enter()
        # a server that is down is not asked three times whenever it is asked something
        pauses = iter(self._pauses if repeatable and self._well else ())
        well, rest = self._well, 0.0
        try:
            while True:
                began = time.monotonic()
                try:
                    answer = function(*arguments, **named)
                except (MlflowException, requests.RequestException, json.JSONDecodeError, ParseError) as error:
                    if well := _is_answer(error):
                        raise _as_mlflow(error, self._server) from error
                    if silent := _silence(error):
                        rest = self._rest
                        raise NoAnswer(f"{self._server} {silent}; it is asked again in {rest:g} s") from error
                    pause = next(pauses, None)
                    if pause is None or time.monotonic() - began > CONTACT_SECONDS:
                        raise _as_mlflow(error, self._server) from error
                else:
                    well = True
                    return answer
                time.sleep(pause)
        finally:
            with self._lock:
                self._well, self._silent_until = well, time.monotonic() + rest if rest else 0.0

    def _enter(self) -> None:
        with self._lock:
            left = self._silent_until - time.monotonic()
            if left > 0:
                raise NoAnswer(f"{self._server} has not answered lately; it is asked again in {left:.0f} s")
            if self._silent_until:
                self._silent_until = time.monotonic() + self._rest  # this one goes ahead


def _is_answer(error: Exception) -> bool:
    if isinstance(error, RestException):
        return True
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return error.response.status_code < 500
    return isinstance(error, MlflowException) and error.error_code not in _PASSING


def _silence(error: Exception) -> str | None:
    for one in _causes(error):
        if isinstance(one, urllib3.exceptions.NewConnectionError):  # a refusal, which urllib3 counts among time-outs
            return None
        if isinstance(one, requests.Timeout | urllib3.exceptions.TimeoutError | TimeoutError):
            return f"has not answered within {os.environ.get(TIMEOUT, _SECONDS)} s"
        if isinstance(one, urllib3.exceptions.ResponseError) and _BUSY in str(one):
            return "asks to be left alone (429, too many requests)"
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: list[Any] = [error]
    known: set[int] = set()
    while found:
        one = found.pop()
        if id(one) in known:
            continue
        known.add(id(one))
        yield one
        inner = (one.__cause__ or one.__context__, getattr(one, "reason", None), *one.args)
        found += [other for other in inner if isinstance(other, BaseException)]


def _as_mlflow(error: Exception, server: str) -> MlflowException:
    if isinstance(error, MlflowException):
        return error
    if isinstance(error, requests.HTTPError) and error.response is not None:  # of an artifact
        return MlflowException(str(error), get_error_code(error.response.status_code))
    return NoAnswer(f"{server} has sent what is no answer ({error})")
