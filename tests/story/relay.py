"""Stands between an agent and a service, and notes what is said of files and waits for an answer."""

import http.client
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from patience import PATIENCE
from ports import free_port


@dataclass
class Waits:
    """Files that were said to be open, to whichever service, and wait; when the others were answered."""

    sent: set[str] = field(default_factory=set)
    answered: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, files: list[str]) -> None:
        with self.lock:
            self.sent.update(files)

    def answer(self, files: list[str]) -> None:
        with self.lock:
            self.answered += [time.monotonic()] * len(self.sent.intersection(files))
            self.sent.difference_update(files)

    def count(self, since: float) -> int:
        with self.lock:
            return sum(moment >= since for moment in self.answered)


class Relay:
    """Passes on to the service at a URL what is asked at ``url``; refuses connections when it is gone."""

    def __init__(self, service: str, waits: Waits) -> None:
        self.waits, self._asking = waits, 0
        self.answered_at = 0.0  # when the service last said that it knows of files
        self._service = urlsplit(service).netloc
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    def start(self) -> None:
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                relay.pass_on(self)

            do_GET = do_POST

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Listen no more."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.socket.close()
            server.shutdown()

    def is_asked(self) -> bool:
        """Whether something that is said of files waits for the service's answer."""
        return self._asking > 0

    def pass_on(self, asked: BaseHTTPRequestHandler) -> None:
        body = asked.rfile.read(int(asked.headers.get("Content-Length") or 0))
        files = [file["placement_id"] for file in json.loads(body or b"{}").get("opened", [])]
        self.waits.send(files)
        with self._lock:
            self._asking += bool(files)
        connection = http.client.HTTPConnection(self._service, timeout=PATIENCE)
        try:
            connection.request(asked.command, asked.path, body, dict(asked.headers))
            answer = connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException):
            asked.close_connection = True
            self.stop()
            return
        finally:
            connection.close()
            with self._lock:
                self._asking -= bool(files)
        if answer.status == http.HTTPStatus.OK:
            self.waits.answer(files)
            self.answered_at = time.monotonic() if files else self.answered_at
        asked.send_response(answer.status)
        for name in ("Content-Type", "Retry-After"):
            if value := answer.headers.get(name):
                asked.send_header(name, value)
        asked.send_header("Content-Length", str(len(said)))
        asked.end_headers()
        asked.wfile.write(said)
