"""What the monitor's tests stand on: captured pages, settings files, exporters that behave badly."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from smed_monitor.core.capability import Best
from smed_monitor.core.loads import Loads, unknown
from smed_monitor.core.model import Reading
from smed_monitor.core.rates import Windows
from smed_monitor.core.readings import stacked

sys.path.insert(0, str(Path(__file__).parent))

Answer = Callable[[socket.socket], None]
CAPTURED = "node_exporter-1.5.0-debian12"


@pytest.fixture
def page() -> Callable[[str], bytes]:
    """A page captured from Debian 12's node_exporter 1.5.0 by fixtures/capture.sh."""
    folder = Path(__file__).parent / "fixtures"
    return lambda name: (folder / f"{CAPTURED}-{name}.prom").read_bytes()


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


@pytest.fixture
def answer_whole() -> Callable[..., Answer]:
    return whole


@pytest.fixture
def exporter() -> Iterator[FakeExporter]:
    server = FakeExporter()
    yield server
    server.close()


@pytest.fixture
def another_exporter() -> Iterator[FakeExporter]:
    server = FakeExporter()
    yield server
    server.close()


class Alone:
    """The loads of one element, in plain numbers."""

    def __init__(self, loads: Loads | None = None) -> None:
        self.loads = loads or unknown((Best(),))

    def after(self, reading: Reading, at: float, windows: Windows, *, learn: bool = False) -> Alone:
        return Alone(self.loads.after(stacked([reading]), at, windows, learn=learn))

    def __getattr__(self, name: str) -> float | None:
        value = float(getattr(self.loads.figures(), name)[0])
        return None if value != value else value

    @property
    def best(self) -> Best:
        return self.loads.best[0]


@pytest.fixture
def alone() -> Alone:
    """An element of which nothing is known."""
    return Alone()
