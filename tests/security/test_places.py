"""No address, and no user, has all connections of a listener: who has most makes room."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest
from ses_listen.places import Places

# Eight places; addresses are those of loopback, which are many.
PROGRAM = """
from ses_listen.intake import Intake
from ses_listen.problems import problem
from ses_listen.server import Listener, serve

class App:
    intake, max_body = Intake(), 0
    def reads(self, request):
        return True
    def answer(self, request, send):
        send(problem(200, "fine", "fine"))

listener = Listener("127.0.0.1:0")
serve(App(), listener, ready=lambda: print(listener.socket.getsockname()[1], flush=True), most=8)
"""


class Client:
    def __init__(self, idle: bool = True) -> None:
        self.idle = idle
        self.gone = False

    def evict(self) -> None:
        self.gone = True


def test_who_has_most_connections_loses_the_oldest_that_is_idle() -> None:
    places = Places(4)
    busy, idle, last, other, more = Client(idle=False), Client(), Client(), Client(), Client()
    for client in (busy, idle, last):
        places.take("a", client)
    places.take("b", other)
    places.take("b", more)
    assert [client.gone for client in (busy, idle, last, other, more)] == [False, True, False, False, False]
    assert places.count == 4


def test_of_busy_connections_the_newest_goes_and_all_are_forgotten_in_the_end() -> None:
    places = Places(2)
    clients = [Client(idle=False) for _ in range(3)]
    for client in clients:
        places.take("a", client)
    assert [client.gone for client in clients] == [False, False, True]
    for client in clients:
        places.leave("a", client)
    assert (places.count, places._of) == (0, {})


@pytest.fixture
def port() -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def connect(port: int, address: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 60, (address, 0))


def asks(connection: socket.socket) -> bool:
    answer = b""
    with suppress(ConnectionError):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        while not answer.endswith(b"}") and (more := connection.recv(4096)):
            answer += more
    return answer.startswith(b"HTTP/1.1 200")


def test_one_address_with_idle_connections_keeps_no_other_out(port: int) -> None:
    neighbours = [connect(port, f"127.0.0.{number}") for number in (2, 3)]
    assert all(asks(neighbour) for neighbour in neighbours)
    crowd = [connect(port, "127.0.0.9") for _ in range(40)]
    assert asks(crowd[-1])  # one address alone may be a proxy: it is served by what others leave
    late = connect(port, "127.0.0.4")
    assert asks(late)
    assert all(asks(neighbour) for neighbour in neighbours)
    assert sum(asks(client) for client in crowd) == 5
    for neighbour in (*neighbours, *crowd, late):
        neighbour.close()
