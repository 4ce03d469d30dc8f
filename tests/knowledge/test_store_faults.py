"""Promises about SPARQL servers that misbehave: the service is told, in the end and in its own words."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from ses_service.knowledge import HttpStore, KnowledgeBase, KnowledgeBaseError, StoreUnavailableError

PATIENCE = 120.0


def hang(client: socket.socket) -> None:
    """Take the request and never answer."""
    while client.recv(65536):
        pass


def trickle(client: socket.socket) -> None:
    """Answer a byte now and then, for ever."""
    client.recv(65536)
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        client.sendall(b" ")
        time.sleep(0.05)


def rubbish(client: socket.socket) -> None:
    """Speak another protocol."""
    client.recv(65536)
    client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")


def truncated(client: socket.socket) -> None:
    """Break off in the middle."""
    client.recv(65536)
    client.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"results"')


def page(client: socket.socket) -> None:
    """Answer like a web site."""
    client.recv(65536)
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[socket.socket], None]], int]]:
    """Return a function that serves a behaviour on a free port."""
    listeners: list[socket.socket] = []

    def behave_at_each(listener: socket.socket, behave: Callable[[socket.socket], None]) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                try:
                    behave(client)
                except OSError:
                    continue

    def start(behave: Callable[[socket.socket], None]) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=behave_at_each, args=(listener, behave), daemon=True).start()
        return int(listener.getsockname()[1])

    yield start
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize("behave", [hang, trickle, rubbish, truncated, page])
def test_a_server_that_misbehaves_is_unavailable_in_the_end(
    serve: Callable[[Callable[[socket.socket], None]], int], behave: Callable[[socket.socket], None]
) -> None:
    knowledge = KnowledgeBase(HttpStore.for_oxigraph(f"http://127.0.0.1:{serve(behave)}", timeout=0.5))
    seen: list[Exception] = []

    def ask() -> None:
        try:
            knowledge.revision()
        except KnowledgeBaseError as error:
            seen.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(PATIENCE)
    assert [type(error) for error in seen] == [StoreUnavailableError]


def test_a_store_may_take_its_time_to_accept_a_large_graph(
    serve: Callable[[Callable[[socket.socket], None]], int],
) -> None:
    size = 20_000_000
    taken: list[int] = []

    def slow(client: socket.socket) -> None:
        time.sleep(2.5)  # longer than connecting may take, shorter than loading may take
        received = b""
        while b"\r\n\r\n" not in received:
            received += client.recv(65536)
        missing = size - len(received.split(b"\r\n\r\n", 1)[1])
        while missing > 0:
            missing -= len(client.recv(2**20))
        taken.append(size)
        client.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")

    store = HttpStore.for_oxigraph(f"http://127.0.0.1:{serve(slow)}")
    store.put_graph("https://example.org/g", "#" * size)
    assert taken == [size]
