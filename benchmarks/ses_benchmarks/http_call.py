"""HTTP/1.1 over one kept connection, with as little of our own time in it as can be had.

Sends prepared bytes in one piece and reads one answer with a Content-Length.  Does NOT speak chunked
encoding, redirects or anything else; it is a stop-watch, not a client.
"""

from __future__ import annotations

import json
import socket
import time
from typing import Any, Self

from ses_benchmarks.probe import BenchmarkError

TIMEOUT_SECONDS = 30


def request_bytes(method: str, path: str, body: dict[str, Any] | None = None, token: str = "") -> bytes:
    """The bytes of one request with an optional JSON body and token."""
    payload = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    if token:
        head += f"Authorization: Bearer {token}\r\n"
    return f"{head}Content-Length: {len(payload)}\r\n\r\n".encode() + payload


def whole_answer(received: bytes) -> tuple[int, bytes] | None:
    """The status and the body of an answer with a Content-Length; None until all of it was received."""
    head, separator, body = received.partition(b"\r\n\r\n")
    if not separator or len(body) < int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
        return None
    return int(head[9:12]), body


class Connection:
    """One connection to a server on the loopback interface; used as a context manager."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def call(self, request: bytes) -> tuple[float, bytes]:
        """Microseconds from the first byte sent to the last received, and the answer's body.

        Raises BenchmarkError when the answer is not a 200 or 201 of a known length.
        """
        start = time.perf_counter_ns()
        self._socket.sendall(request)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._more(received)
        head, _, body = received.partition(b"\r\n\r\n")
        length = self._length(head, body)
        pieces, have = [body], len(body)
        while have < length:
            pieces.append(self._more(head))
            have += len(pieces[-1])
        microseconds = (time.perf_counter_ns() - start) / 1000
        return microseconds, b"".join(pieces)

    def beside_health(self, request: bytes, rounds: int, calls: int) -> list[tuple[list[float], list[float]]]:
        """Microseconds of ``rounds`` times ``calls`` requests, and of the GET /healthz after each."""
        healthz = request_bytes("GET", "/healthz")
        pairs = []
        for _ in range(rounds):
            both = [(self.call(request)[0], self.call(healthz)[0]) for _ in range(calls)]
            pairs.append(([asked for asked, _ in both], [idle for _, idle in both]))
        return pairs

    def _more(self, so_far: bytes) -> bytes:
        piece = self._socket.recv(1 << 16)
        if not piece:
            raise BenchmarkError(f"the server hung up after {so_far[:200]!r}")
        return piece

    @staticmethod
    def _length(head: bytes, body: bytes) -> int:
        lines = head.split(b"\r\n")
        if lines[0].split()[1:2] not in ([b"200"], [b"201"]):
            raise BenchmarkError(f"{lines[0].decode(errors='replace')}: {body[:500]!r}")
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                return int(value)
        raise BenchmarkError("the answer does not say how long it is")
