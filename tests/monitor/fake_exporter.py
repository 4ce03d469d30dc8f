"""An exporter that answers as a test wants."""

import contextlib
import socket
import threading
from collections.abc import Callable

Answer = Callable[[socket.socket], None]


class FakeExporter:
    """A TCP server on a free port that answers each request as ``answer`` does.

    A connection stays open for further requests until ``answer`` closes it.
    """

    def __init__(self) -> None:
        self.answer: Answer = whole(b"")
        self.requests = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.connections: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/metrics"
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Stop listening and break every connection."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        for each in (self._listener, *self.connections):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while connection.recv(65536):
                self.requests += 1
                self.answer(connection)


def whole(body: bytes, status: str = "200 OK", headers: str = "") -> Answer:
    """A complete answer with its length."""
    head = f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode()
    return lambda connection: connection.sendall(head + body)
