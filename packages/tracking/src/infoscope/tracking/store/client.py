"""The client of a tracking store, with limits for servers that answer late, wrongly or never.

A request has a time limit and is sent once; idempotent requests are repeated twice if they fail at once. After a
timeout, requests fail immediately for a while; the local records keep what was to be sent.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import requests
from google.protobuf.json_format import ParseError
from mlflow.exceptions import MlflowException, RestException, get_error_code
from mlflow.tracking import MlflowClient

_SECONDS, CONTACT_SECONDS = 30, 15  # time limits of a request, and of the first one of a command
_REST_SECONDS = 30.0  # without requests to a silent server
_PAUSES = (0.3, 2.0)  # seconds before a request is sent again
_REPEATABLE = (
    "get_",
    "search_",
    "list_",
    "download_",
    "log_",
    "set_",
    "update_",
)  # prefixes of methods that can be repeated
_NOT_REPEATABLE = ("log_outputs", "log_inputs")  # exceptions
_TEMPORARY = ("INTERNAL_ERROR", "TEMPORARILY_UNAVAILABLE")  # MLflow's error codes without an answer of the server
_FULL = "database or disk is full"  # in SQLite's message, behind a line of SQLAlchemy
_LATE, _BUSY = "timed out", "too many 429"  # in urllib3's messages about a silent or overloaded server
TIMEOUT = "MLFLOW_HTTP_REQUEST_TIMEOUT"

Result = TypeVar("Result")


class NoAnswer(MlflowException):
    """The tracking server is silent or overloaded, or its answer cannot be read."""


@functools.cache
def connect(uri: str) -> Client:
    """The client of a store, one per process: creating one for an SQLite store takes longer than a request."""
    os.environ.setdefault(TIMEOUT, str(_SECONDS))
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    os.environ.setdefault("MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER", "false")
    # it raises every error of a database, such as a full disk, and would also print its traceback
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
    return Client(uri)


def without_password(text: str) -> str:
    """A text whose addresses are without users and passwords."""
    return re.sub(r"//[^/?#\s]*@", "//", text)


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """While inside, sets environment variables."""
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
    """An `MlflowClient` that raises MlflowException for errors of the store, OSError for those of local files.

    rest: seconds without requests after a timeout, followed by a single one. pauses: seconds before repeats.
    """

    def __init__(self, uri: str, rest: float = _REST_SECONDS, pauses: tuple[float, ...] = _PAUSES):
        self._client, self._server = MlflowClient(uri), f"the tracking server {without_password(uri)}"
        self._rest, self._pauses = rest, pauses if uri.startswith(("http://", "https://")) else ()
        self._lock, self._silent_until, self._healthy = threading.Lock(), 0.0, True

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name.startswith("_") or not callable(found):
            return found
        return functools.partial(self._request, found, name.startswith(_REPEATABLE) and name not in _NOT_REPEATABLE)

    def ask(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """The result of another function that sends requests to the same server; it may be called again."""
        return self._request(function, True, *arguments)

    def _request(self, function: Callable[..., Result], repeatable: bool, *arguments: Any, **named: Any) -> Result:
        self._enter()
        # requests are not repeated while the server is known to be down
        pauses, rest = iter(self._pauses if repeatable and self._healthy else ()), 0.0
        try:
            while True:
                try:
                    answer = function(*arguments, **named)
                except (MlflowException, requests.RequestException, json.JSONDecodeError, ParseError) as error:
                    failure = self._as_mlflow(error)
                    self._healthy = isinstance(failure, RestException) or failure.error_code not in _TEMPORARY
                    if self._healthy:
                        raise failure from error
                    if _LATE in str(error) or _BUSY in str(error):
                        rest = self._rest
                        raise self._silence(error) from error
                    pause = next(pauses, None)
                    if pause is None:
                        raise failure from error
                else:
                    self._healthy = True
                    return answer
                time.sleep(pause)
        finally:
            with self._lock:
                self._silent_until = time.monotonic() + rest if rest else 0.0

    def _enter(self) -> None:
        with self._lock:
            left = self._silent_until - time.monotonic()
            if left > 0:
                raise NoAnswer(f"{self._server} has not answered recently; next attempt in {left:.0f} s")
            if self._silent_until:
                self._silent_until = time.monotonic() + self._rest  # only this request is sent

    def _silence(self, error: Exception) -> NoAnswer:
        busy, seconds = "is overloaded (429, too many requests)", os.environ.get(TIMEOUT, _SECONDS)
        what = busy if _BUSY in str(error) else f"has not answered within {seconds} s"
        return NoAnswer(f"{self._server} {what}; next attempt in {self._rest:g} s")

    def _as_mlflow(self, error: Exception) -> MlflowException:
        if _FULL in str(error):
            return MlflowException(
                "the disk of the tracking store is full; free some space, then run the command again"
            )
        if isinstance(error, MlflowException):
            return error
        if isinstance(error, requests.HTTPError) and error.response is not None:  # for an artifact
            return MlflowException(str(error), get_error_code(error.response.status_code))
        return NoAnswer(f"the answer of {self._server} cannot be read ({error})")
