"""A connection when there is too much to do: refused without a task, and of use again afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from ses_service.connection import Connection
from ses_service.edge import Edge
from ses_service.operations import OPERATIONS
from uvicorn import Config
from uvicorn.server import ServerState

BODY = b'{"subject": {"user": "alice"}}'
ASK = b"POST /v1/selections HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
WHOLE = ASK + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


class Wire(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 40000), "sockname": ("127.0.0.1", 8630)})
        self.sent = b""
        self.closed = False

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def resume_reading(self) -> None:
        """Nothing is ever held back."""


@pytest.fixture
def busy(service: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edge]:
    """The service with no room at all in its line."""
    full = tuple(replace(one, waiting=0) for one in OPERATIONS)
    monkeypatch.setattr("ses_service.edge.OPERATIONS", full)
    edge = Edge(service.app)
    yield edge
    edge.close()


def exchange(edge: Edge, *pieces: bytes) -> Wire:
    """Send the pieces over one connection; return what came back."""

    async def talk() -> Wire:
        options = {"lifespan": "off", "ws": "none", "log_config": None, "interface": "asgi3"}
        config = Config(edge, proxy_headers=False, **options)
        config.load()
        connection, wire = Connection(config, ServerState(), {}), Wire()
        connection.connection_made(wire)
        for piece in pieces:
            connection.data_received(piece)
            tasks = list(connection.tasks)
            if tasks:
                await asyncio.gather(*tasks)
            await asyncio.sleep(0)
        found = Wire()
        found.sent, found.closed = wire.sent, wire.closed
        connection.connection_lost(None)
        return found

    with ThreadPoolExecutor(1) as thread:  # this one may run a loop of its own (a browser's)
        return thread.submit(lambda: asyncio.run(talk())).result()


@pytest.mark.parametrize("pieces", [[WHOLE], [WHOLE[:100], WHOLE[100:]], [bytes([one]) for one in WHOLE]])
def test_a_refusal_is_a_whole_answer_that_keeps_the_connection(busy: Edge, pieces: list[bytes]) -> None:
    wire = exchange(busy, *pieces, *pieces)
    assert wire.sent.count(b"HTTP/1.1 503 ") == 2
    assert wire.sent.count(b"retry-after: 1\r\n") == 2
    assert wire.sent.count(b"urn:qstorman:problem:overloaded") == 2
    assert not wire.closed


def test_a_connection_that_is_to_close_is_closed_after_the_refusal(busy: Edge) -> None:
    wire = exchange(busy, ASK + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}")
    assert wire.sent.startswith(b"HTTP/1.1 503 ")
    assert b"connection: close\r\n" in wire.sent
    assert wire.closed


def test_what_is_no_decision_is_answered_all_the_same(busy: Edge) -> None:
    wire = exchange(busy, WHOLE, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", WHOLE)
    answers = [part[:3] for part in wire.sent.split(b"HTTP/1.1 ")[1:]]
    assert answers == [b"503", b"200", b"503"]


def test_refusals_are_counted(busy: Edge, service: Any) -> None:
    exchange(busy, WHOLE, WHOLE, WHOLE)
    metrics = service.get("/metrics").get_data(as_text=True)
    assert 'ses_requests_total{method="POST",route="/v1/selections",status="503"} 3.0' in metrics


def test_a_large_body_may_come_together_with_its_head(busy: Edge) -> None:
    body = BODY + b" " * 300_000
    whole = ASK + b"Content-Length: %d\r\n\r\n" % len(body) + body
    assert b" 503 " in exchange(busy, whole).sent.split(b"\r\n")[0], "read, and then refused"


def test_a_head_that_is_too_large_is_refused_however_it_comes(busy: Edge) -> None:
    head = ASK + b"X: " + b"x" * 70_000 + b"\r\n"
    for pieces in ([head], [head[:60_000], head[60_000:]]):
        wire = exchange(busy, *pieces)
        assert b" 400 " in wire.sent.split(b"\r\n")[0]
        assert wire.closed
