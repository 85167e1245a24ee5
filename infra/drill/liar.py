"""A proxy before an HTTP server, which for a while lies about what the server has said."""

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

LIES: Mapping[str, str] = {
    "error": "500 after the server has done what it was asked",
    "lost": "the connection is cut after the server has done what it was asked",
    "busy": "429 with Retry-After: 3600",
    "garbled": "the answer's JSON is cut in half",
    "silent": "no answer at all",
}
HOP = ("connection", "content-encoding", "content-length", "host", "keep-alive", "transfer-encoding")


class Liar:
    """A proxy on a free loopback port, honest at first. told: number of lies by kind."""

    def __init__(self, server: int):
        self._server, self.told = f"http://127.0.0.1:{server}", Counter[str]()
        self._lie, self._share = "", 1.0
        self._draw, self._lock, self._honest = random.Random(0), threading.Lock(), threading.Event()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it would log every request
        self._listener = make_server("127.0.0.1", 0, Request.application(self._answer), threaded=True)
        self.uri = f"http://127.0.0.1:{self._listener.server_port}"
        threading.Thread(target=self._listener.serve_forever, daemon=True).start()

    def lie(self, lie: str, share: float = 1.0) -> None:
        """From now on, to this share of the requests, in one of the ways of LIES."""
        self._honest.clear()
        self._lie, self._share = lie, share

    def be_honest(self) -> None:
        """From now on; whoever waits for an answer is cut off."""
        self._lie = ""
        self._honest.set()

    def close(self) -> None:
        self.be_honest()
        self._listener.shutdown()
        self._listener.server_close()

    def next_lie(self) -> str:
        """The lie for the next request; empty for the truth."""
        with self._lock:
            lie = self._lie if self._lie and self._draw.random() < self._share else ""
            self.told.update([lie] if lie else [])
            return lie

    def _answer(self, request: Request) -> Response:
        lie, body = self.next_lie(), request.get_data()  # read, or it would be taken for the next request
        if lie == "silent":
            self._honest.wait()
            _cut(request)
        if lie == "busy":
            return Response("too many requests", 429, {"Retry-After": "3600"})
        asked = {name: text for name, text in request.headers.items() if name.lower() not in HOP}
        url = self._server + request.environ["RAW_URI"]
        try:
            answer = requests.request(request.method, url, data=body, headers=asked, timeout=600, allow_redirects=False)
        except requests.RequestException:
            _cut(request)
        if lie == "lost":
            _cut(request)
        if lie == "error":
            return Response("internal error", 500)
        kept = {name: text for name, text in answer.headers.items() if name.lower() not in HOP}
        garbled = lie == "garbled" and answer.headers.get("Content-Type", "").startswith("application/json")
        return Response(answer.content[: len(answer.content) // 2 if garbled else None], answer.status_code, kept)


def _cut(request: Request) -> None:
    """Ends the connection without an answer."""
    request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    raise ConnectionError
