"""A connection when there is too much to do: refused without a task, and of use again afterwards."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from ses_listen.connection import Connection, Served
from ses_listen.intake import Intake
from ses_listen.threads import Threads
from ses_service.api.operations import OPERATIONS
from ses_service.http.edge import Edge

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

    def pause_reading(self) -> None:
        """All there is has been sent."""

    def resume_reading(self) -> None:
        """Nothing is ever held back."""


@pytest.fixture
def idle(service: Any) -> Iterator[Edge]:
    """The service with nothing to do."""
    edge = Edge(service.app)
    yield edge
    edge.close()


@pytest.fixture
def busy(service: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edge]:
    """The service with no room at all in its line."""
    full = tuple(replace(operation, waiting=0) for operation in OPERATIONS)
    monkeypatch.setattr("ses_service.http.edge.OPERATIONS", full)
    edge = Edge(service.app)
    yield edge
    edge.close()


def exchange(edge: Edge, *pieces: bytes) -> Wire:
    """Send the pieces over one connection; return what came back."""

    async def talk() -> Wire:
        connection, wire = Connection(Served(edge)), Wire()
        connection.connection_made(wire)
        for piece in pieces:
            connection.data_received(piece)
            await asyncio.sleep(0)
            while not connection.idle:
                await asyncio.sleep(0)
            await asyncio.sleep(0)
        snapshot = Wire()
        snapshot.sent, snapshot.closed = wire.sent, wire.closed
        connection.connection_lost(None)
        return snapshot

    with ThreadPoolExecutor(1) as thread:  # this one may run a loop of its own (a browser's)
        return thread.submit(lambda: asyncio.run(talk())).result()


@pytest.mark.parametrize("pieces", [[WHOLE], [WHOLE[:100], WHOLE[100:]], [bytes([byte]) for byte in WHOLE]])
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
    metrics = service.get("/metrics").text
    assert 'ses_requests_total{method="POST",route="/v1/selections",status="503"} 3.0' in metrics


def test_a_large_body_may_come_together_with_its_head(busy: Edge) -> None:
    body = BODY + b" " * 300_000
    whole = ASK + b"Content-Length: %d\r\n\r\n" % len(body) + body
    assert b" 503 " in exchange(busy, whole).sent.split(b"\r\n")[0], "read, and then refused"


def test_a_head_that_is_too_large_is_refused_however_it_comes(busy: Edge) -> None:
    head = ASK + b"X: " + b"x" * 70_000 + b"\r\n"
    for pieces in ([head], [head[:60_000], head[60_000:]]):
        wire = exchange(busy, *pieces)
        assert b" 431 " in wire.sent.split(b"\r\n")[0]
        assert b"connection: close\r\n" in wire.sent
        assert b"head-too-large" in wire.sent


def answers(wire: Wire) -> list[tuple[int, bytes]]:
    """Status and body of each answer, all of which say how long they are."""
    replies, rest = [], wire.sent
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        replies.append((int(head[9:12]), rest[:length]))
        rest = rest[length:]
    return replies


def decided_for(body: bytes) -> list[str]:
    return [candidate["element"] for candidate in json.loads(body)["candidates"]]


@pytest.mark.parametrize("pieces", [[WHOLE], [WHOLE[:100], WHOLE[100:]], [bytes([byte]) for byte in WHOLE]])
def test_a_decision_is_answered_however_its_request_comes(
    idle: Edge, pieces: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Threads, "begin", None)  # it needs no Flask
    first, second = answers(exchange(idle, *pieces, *pieces))
    assert (first[0], second[0]) == (200, 200)
    assert decided_for(first[1]) == decided_for(second[1]) != []


def test_requests_sent_together_are_answered_in_their_order(idle: Edge) -> None:
    health = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    wire = exchange(idle, WHOLE + WHOLE + health + WHOLE + WHOLE)
    assert [status for status, _ in answers(wire)] == [200] * 5
    assert [b"candidates" in body for _, body in answers(wire)] == [True, True, False, True, True]


def test_what_is_wrong_with_a_request_is_said_by_flask(idle: Edge) -> None:
    ask = ASK.replace(b"application/json", b"%b") + b"Content-Length: %d\r\n\r\n%b"
    for kind, body, status in (
        (b"application/json", b"{}", 422),
        (b"application/json", b"{", 400),
        (b"text/plain", BODY, 415),
        (b"application/json", BODY + b" " * 2**20, 413),
    ):
        wire = exchange(idle, WHOLE, ask % (kind, len(body), body))
        assert [code for code, _ in answers(wire)] == [200, status]


def test_a_client_that_asks_first_whether_to_send_is_told_to_go_on(idle: Edge) -> None:
    head = ASK + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY)
    assert exchange(idle, head + BODY).sent.startswith(b"HTTP/1.1 200 ")
    assert exchange(idle, head).sent == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert exchange(idle, head, BODY).sent.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ")


def test_who_asks_for_a_head_gets_no_body(idle: Edge) -> None:
    health = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head, body = exchange(idle, health).sent.split(b"\r\n\r\n")
    assert b"content-length: %d\r\n" % len(body) in head + b"\r\n"
    assert exchange(idle, health.replace(b"GET", b"HEAD")).sent == head + b"\r\n\r\n"


def test_a_body_that_is_too_large_is_refused_before_its_end_and_the_rest_is_dropped(idle: Edge) -> None:
    head = ASK + b"Content-Length: %d\r\n\r\n" % (2**21)
    wire = exchange(idle, head, *[b" " * 2**17] * 9)
    assert wire.sent.startswith(b"HTTP/1.1 413 ")
    wire = exchange(idle, head, *[b" " * 2**17] * 16, WHOLE)
    assert [status for status, _ in answers(wire)] == [413, 200]
    assert idle.intake.held == 0


def test_what_is_no_request_is_refused_after_the_answers_before_it(idle: Edge) -> None:
    health = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    wire = exchange(idle, health + b"HELO mail.example.org\r\n\r\n")
    assert [status for status, _ in answers(wire)] == [200, 400]


def test_nothing_more_is_answered_while_the_client_does_not_read(idle: Edge) -> None:
    async def talk() -> list[int]:
        connection, wire, seen = Connection(Served(idle)), Wire(), []
        connection.connection_made(wire)
        connection.pause_writing()
        for then in (lambda: connection.data_received(WHOLE + WHOLE), connection.resume_writing):
            then()
            for _ in range(4):
                await asyncio.sleep(0)
            seen.append(wire.sent.count(b"HTTP/1.1 200 "))
        connection.connection_lost(None)
        return seen

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(lambda: asyncio.run(talk())).result() == [0, 2]
    assert idle.intake.held == 0


def test_a_connection_that_is_to_close_is_closed_after_the_answer(idle: Edge) -> None:
    wire = exchange(idle, WHOLE.replace(b"Host:", b"Connection: close\r\nHost:"))
    assert wire.sent.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close\r\n" in wire.sent
    assert wire.closed


def idle_for(edge: Edge, *story: tuple[float, bytes]) -> list[tuple[float, int, bool]]:
    """Send at these times; return after each how many answers there are, and whether it is closed."""
    clock = [0.0]

    async def talk() -> list[tuple[float, int, bool]]:
        asyncio.get_running_loop().time = lambda: clock[0]  # type: ignore[method-assign]
        connection, wire, seen = Connection(Served(edge, kept_open=60)), Wire(), []
        connection.connection_made(wire)
        for clock[0], sent in story:
            if sent:
                connection.data_received(sent)
            while not connection.idle:
                await asyncio.sleep(0)
            for _ in range(3):
                await asyncio.sleep(0)
            seen.append((clock[0], wire.sent.count(b"HTTP/1.1 "), wire.closed))
        connection.connection_lost(None)
        return seen

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(talk())).result()


def test_a_connection_is_closed_when_it_was_idle_for_as_long_as_it_is_kept(idle: Edge) -> None:
    no_request = b"\r\n"
    seen = idle_for(idle, (0, WHOLE), (59, WHOLE), (61, b""), (118, no_request), (120, b""))
    assert seen == [(0, 1, False), (59, 2, False), (61, 2, False), (118, 2, False), (120, 2, True)]


def test_a_connection_is_idle_after_the_rest_of_a_body_that_was_too_large(idle: Edge) -> None:
    size = 2**20 + 2**17
    large = ASK + b"Content-Length: %d\r\n\r\n" % size + b" " * size
    assert idle_for(idle, (0, large), (59, b""), (61, b"")) == [(0, 1, False), (59, 1, False), (61, 1, True)]


def test_what_comes_after_a_body_is_no_header_of_its_request(idle: Edge) -> None:
    head = ASK.replace(b"Host: localhost", b"Host: localhost\r\nTransfer-Encoding: chunked")
    body = b"%x\r\n%b\r\n0\r\n" % (len(BODY), BODY)
    forwarded = b"X-Forwarded-For: 10.0.0.1\r\n"
    assert exchange(idle, head + b"\r\n" + body + forwarded + b"\r\n").sent.startswith(b"HTTP/1.1 200 ")
    assert exchange(idle, head + forwarded + b"\r\n" + body + b"\r\n").sent.startswith(b"HTTP/1.1 401 ")


def test_who_hung_up_while_waiting_holds_nobody_up(idle: Edge) -> None:
    async def talk() -> bytes:
        connections = [Connection(Served(idle)) for _ in range(3)]
        wires = [Wire() for _ in connections]
        for connection, wire in zip(connections, wires, strict=True):
            connection.connection_made(wire)
            connection.data_received(WHOLE)
        assert [bool(wire.sent) for wire in wires] == [True, False, False], "one decision each pass"
        connections[1].connection_lost(None)
        while not wires[2].sent:
            await asyncio.sleep(0)
        return wires[1].sent

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(lambda: asyncio.run(talk())).result() == b""


@pytest.mark.parametrize("path", [b"/v1/selections", b"/v1/knowledge/imports"])
def test_bodies_beyond_what_all_connections_may_hold_are_refused_and_then_forgotten(
    idle: Edge, path: bytes
) -> None:
    """On either way of answering, and nothing stays counted when they are gone."""
    idle._flask.intake = Intake(1000)
    large = ASK.replace(b"/v1/selections", path) + b"Content-Length: 2000\r\n\r\n" + b"x" * 2000
    assert exchange(idle, large).sent.startswith(b"HTTP/1.1 503 ")
    if path == b"/v1/selections":  # the other way would wait for the rest
        assert exchange(idle, large[:800]).sent == b""
    assert exchange(idle, WHOLE).sent.startswith(b"HTTP/1.1 200 ")
    assert idle.intake.held == 0


def test_requests_that_come_at_once_are_all_answered_in_their_order(idle: Edge) -> None:
    health = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    unknown = b"GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
    sent = exchange(idle, (health * 200 + unknown) * 3).sent
    statuses = [part[:3] for part in sent.split(b"HTTP/1.1 ")[1:]]
    assert statuses == ([b"200"] * 200 + [b"404"]) * 3 or statuses == ([b"200"] * 200 + [b"401"]) * 3
    assert idle.intake.held == 0


def test_a_node_that_looks_at_the_storage_systems_is_answered_without_a_task(
    idle: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Threads, "begin", None)
    look = b"GET /v1/storage-systems HTTP/1.1\r\nHost: localhost\r\n\r\n"
    wire = exchange(idle, look, look)
    assert wire.sent.count(b"HTTP/1.1 200 ") == 2
    assert wire.sent.count(b'{"storage_systems":[') == 2
    assert not wire.closed
