"""A proxy before an HTTP server, which for a while lies about what the server has said."""

from __future__ import annotations

import contextlib
import http.client
import random
import threading
from collections import Counter
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LIES: Mapping[str, str] = {
    "error": "500 after the server has done what it was asked",
    "lost": "the connection is cut after the server has done what it was asked",
    "busy": "429 with Retry-After: 3600",
    "garbled": "the answer's JSON is cut in half",
    "silent": "no answer at all",
}
HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "date", "server")


class Liar:
    """A proxy on a free loopback port, honest at first. told: number of lies by kind."""

    def __init__(self, server: int):
        self.server, self.told = server, Counter[str]()
        self._lie, self._share = "", 1.0
        self._draw, self._lock = random.Random(0), threading.Lock()
        self._honest = threading.Event()
        self._honest.set()
        self._listener = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._listener.daemon_threads = True
        self.port = self._listener.server_port
        self.uri = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._listener.serve_forever, daemon=True, name="liar").start()

    def lie(self, lie: str, share: float = 1.0) -> None:
        """From now on, to this share of the requests, in one of the ways of LIES."""
        self._lie, self._share = lie, share
        self._honest.clear()

    def be_honest(self) -> None:
        """From now on; whoever waits for an answer is cut off."""
        self._lie = ""
        self._honest.set()

    def close(self) -> None:
        self.be_honest()
        self._listener.shutdown()
        self._listener.server_close()

    def next_lie(self) -> str | None:
        with self._lock:
            if not self._lie or self._draw.random() >= self._share:
                return None
            self.told[self._lie] += 1
            return self._lie

    def wait_until_honest(self) -> None:
        self._honest.wait()


def _handler(liar: Liar) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            pass

        def _answer(self) -> None:
            body, lie = self._body(), liar.next_lie()
            if lie == "silent":
                liar.wait_until_honest()
                self.close_connection = True
                return
            if lie == "busy":
                self._send(429, {"Retry-After": "3600", "Content-Type": "text/plain"}, b"too many requests")
                return
            try:
                status, headers, content = self._ask(body)
            except OSError:
                self.close_connection = True
                return
            if lie == "lost":
                self.close_connection = True
            elif lie == "error":
                self._send(500, {"Content-Type": "text/plain"}, b"internal error")
            elif lie == "garbled" and headers.get("content-type", "").startswith("application/json"):
                self._send(status, headers, content[: len(content) // 2])
            else:
                self._send(status, headers, content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                parts = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def _ask(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
            connection = http.client.HTTPConnection("127.0.0.1", liar.server, timeout=600)
            with contextlib.closing(connection):
                headers = {name: text for name, text in self.headers.items() if name.lower() not in HOP}
                connection.request(self.command, self.path, body, headers | {"Content-Length": str(len(body))})
                answer = connection.getresponse()
                kept = {name.lower(): text for name, text in answer.getheaders() if name.lower() not in HOP}
                return answer.status, kept, answer.read()

        def _send(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
            with contextlib.suppress(OSError):  # the other side has given up
                self.send_response(status)
                for name, text in headers.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

    return Handler
