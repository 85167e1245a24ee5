"""An HTTP proxy that for a while fails, loses, delays or damages the answers of a server."""

from __future__ import annotations

import logging
import random
import socket
import threading
from collections import Counter
from collections.abc import Mapping

import requests
from werkzeug import Request, Response
from werkzeug.serving import make_server

FAILURES: Mapping[str, str] = {
    "error": "status 500 after the server has done the request",
    "lost": "the connection is closed after the server has done the request",
    "busy": "429 with Retry-After: 3600",
    "garbled": "half of the answer's JSON",
    "silent": "no answer at all",
}
PER_CONNECTION = ("connection", "content-encoding", "content-length", "host", "keep-alive", "transfer-encoding")


class FaultyProxy:
    """A proxy on a free loopback port, faultless at first. failures: number of failures by kind."""

    def __init__(self, server: int):
        self._server, self.failures = f"http://127.0.0.1:{server}", Counter[str]()
        self._failure, self._share = "", 1.0
        self._draw, self._lock, self._restored = random.Random(0), threading.Lock(), threading.Event()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it would log every request
        self._listener = make_server("127.0.0.1", 0, Request.application(self._answer), threaded=True)
        self.uri = f"http://127.0.0.1:{self._listener.server_port}"
        threading.Thread(target=self._listener.serve_forever, daemon=True).start()

    def fail(self, failure: str, share: float = 1.0) -> None:
        """Fails this share of the requests from now on, in one of the ways of FAILURES."""
        self._restored.clear()
        self._failure, self._share = failure, share

    def restore(self) -> None:
        """Forwards every request from now on; closes the connections that wait for an answer."""
        self._failure = ""
        self._restored.set()

    def close(self) -> None:
        self.restore()
        self._listener.shutdown()
        self._listener.server_close()

    def next_failure(self) -> str:
        """The failure of the next request; empty for none."""
        with self._lock:
            failure = self._failure if self._failure and self._draw.random() < self._share else ""
            self.failures.update([failure] if failure else [])
            return failure

    def _answer(self, request: Request) -> Response:
        failure, body = self.next_failure(), request.get_data()  # unread, it would be taken for the next request
        if failure == "silent":
            self._restored.wait()
            _close_connection(request)
        if failure == "busy":
            return Response("too many requests", 429, {"Retry-After": "3600"})
        headers = {name: text for name, text in request.headers.items() if name.lower() not in PER_CONNECTION}
        url = self._server + request.environ["RAW_URI"]
        try:
            answer = requests.request(
                request.method, url, data=body, headers=headers, timeout=600, allow_redirects=False
            )
        except requests.RequestException:
            _close_connection(request)
        if failure == "lost":
            _close_connection(request)
        if failure == "error":
            return Response("internal error", 500)
        kept = {name: text for name, text in answer.headers.items() if name.lower() not in PER_CONNECTION}
        garbled = failure == "garbled" and answer.headers.get("Content-Type", "").startswith("application/json")
        return Response(answer.content[: len(answer.content) // 2 if garbled else None], answer.status_code, kept)


def _close_connection(request: Request) -> None:
    request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    raise ConnectionError
