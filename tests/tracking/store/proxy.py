"""An HTTP proxy that for a while fails, loses, delays or damages the answers of a server."""

import logging
import socket
import threading
from collections import Counter

import requests
from werkzeug import Request, Response
from werkzeug.serving import make_server

PER_CONNECTION = ("connection", "content-encoding", "content-length", "host", "keep-alive", "transfer-encoding")


class FaultyProxy:
    """A proxy on a free loopback port, faultless at first. failures: number of failures by kind, which are

    error: status 500 after the server has done the request. lost: the connection is closed after the server has done
    the request. busy: 429 with Retry-After: 3600. garbled: half of the answer's JSON. silent: no answer at all.
    """

    def __init__(self, server):
        self._server = f"http://127.0.0.1:{server}"
        self._failure = ""
        self._lock = threading.Lock()
        self._restored = threading.Event()
        self.failures = Counter()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it would log every request
        self._listener = make_server("127.0.0.1", 0, Request.application(self._answer), threaded=True)
        self.uri = f"http://127.0.0.1:{self._listener.server_port}"
        threading.Thread(target=self._listener.serve_forever, daemon=True).start()

    def fail(self, failure):
        """Fails all requests from now on."""
        self._restored.clear()
        self._failure = failure

    def restore(self):
        """Forwards every request from now on; closes the connections that wait for an answer."""
        self._failure = ""
        self._restored.set()

    def close(self):
        self.restore()
        self._listener.shutdown()
        self._listener.server_close()

    def next_failure(self):
        """The failure of the next request; empty for none."""
        with self._lock:
            if self._failure:
                self.failures[self._failure] += 1
            return self._failure

    def _answer(self, request):
        failure = self.next_failure()
        body = request.get_data()  # unread, it would be taken for the next request
        if failure == "silent":
            self._restored.wait()
            close_connection(request)
        if failure == "busy":
            return Response("too many requests", 429, {"Retry-After": "3600"})
        url = self._server + request.environ["RAW_URI"]
        headers = passed_on(request.headers)
        try:
            answer = requests.request(
                request.method, url, data=body, headers=headers, timeout=600, allow_redirects=False
            )
        except requests.RequestException:
            close_connection(request)
        if failure == "lost":
            close_connection(request)
        if failure == "error":
            return Response("internal error", 500)
        content = answer.content
        if failure == "garbled" and answer.headers.get("Content-Type", "").startswith("application/json"):
            content = content[: len(content) // 2]
        return Response(content, answer.status_code, passed_on(answer.headers))


def passed_on(headers):
    """Those that do not belong to one connection."""
    return {name: text for name, text in headers.items() if name.lower() not in PER_CONNECTION}


def close_connection(request):
    request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    raise ConnectionError
