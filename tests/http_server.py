"""Servers of tests: what is asked is handed to a function, which answers."""

import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Asked(BaseHTTPRequestHandler):
    """A request; ``sent`` is its body."""

    sent: bytes

    def say(self, status: int, body: object = b"", **headers: str) -> None:
        """Answer with bytes, or with anything else as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class HttpServer:
    """Listens at ``url`` until it is closed; keeps connections open where it is to."""

    def __init__(
        self, answer: Callable[[Asked], object], *, keeps: bool = False, tls: ssl.SSLContext | None = None
    ) -> None:
        class Handler(Asked):
            protocol_version = "HTTP/1.1" if keeps else "HTTP/1.0"

            def _serve(self) -> None:
                self.sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer(self)

            do_GET = do_POST = do_PUT = _serve

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
