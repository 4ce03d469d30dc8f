"""Promises about SPARQL servers that misbehave: the service is told, in the end and in its own words."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from ses_service.knowledge.errors import AnswerLostError, KnowledgeBaseError, StoreUnavailableError
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store.store import HttpStore

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


def hang_up(client: socket.socket) -> None:
    """End the connection without a word, each time."""
    client.recv(65536)


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


@pytest.mark.parametrize("behave", [hang, trickle, rubbish, truncated, hang_up, page])
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


def test_what_may_be_sent_twice_is_when_the_store_hangs_up_before_an_answer(
    serve: Callable[[Callable[[socket.socket], None]], int],
) -> None:
    """A store may end a kept connection as the next request comes, after a refusal or a long silence."""
    requests: list[bytes] = []

    def hang_up_every_other_time(client: socket.socket) -> None:
        requests.append(client.recv(65536))
        if len(requests) % 2 == 0:
            client.sendall(b"HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")

    store = HttpStore.for_oxigraph(f"http://127.0.0.1:{serve(hang_up_every_other_time)}", timeout=PATIENCE)
    store.put_graph("https://example.org/g", "")
    store.put_graph("https://example.org/g", "")
    assert len(requests) == 4
    with pytest.raises(AnswerLostError):
        store.update("INSERT DATA { <a:s> <a:p> 1 }")
    assert len(requests) == 5, "it may have been done"


def test_a_graph_that_may_have_been_stored_is_not_said_to_have_met_nobody() -> None:
    listening = socket.create_server(("127.0.0.1", 0))

    def die() -> None:
        client, _ = listening.accept()
        with client:
            client.recv(65536)
            listening.close()

    dying = threading.Thread(target=die)
    dying.start()
    store = HttpStore.for_oxigraph(f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=PATIENCE)
    with pytest.raises(AnswerLostError, match="not known"):
        store.put_graph("https://example.org/g", "")
    dying.join()


def test_a_store_that_hangs_is_reported_in_the_same_words_each_time(
    serve: Callable[[Callable[[socket.socket], None]], int],
) -> None:
    address = f"http://127.0.0.1:{serve(hang)}"
    store = HttpStore.for_oxigraph(address, timeout=0.2)
    for _ in range(3):
        with pytest.raises(StoreUnavailableError) as raised:
            store.select("SELECT * WHERE {}")
        assert str(raised.value) == f"the knowledge base at {address}/query does not answer in time"
