"""The stop-watch of the selection benchmarks, against a real HTTP server."""

import json
from collections.abc import Callable

import pytest
from http_server import Asked
from ses_benchmarks.http_call import Connection, request_bytes
from ses_benchmarks.probe import BenchmarkError


@pytest.fixture
def answer() -> Callable[[Asked], object]:
    """With what was sent; /missing is not there."""
    return lambda asked: asked.say(
        404 if asked.path == "/missing" else 200, asked.sent * (1000 if asked.path == "/large" else 1)
    )


def test_many_calls_on_one_connection_bring_back_whole_bodies(port: int) -> None:
    with Connection(port) as connection:
        for number in range(3):
            spent, body = connection.call(request_bytes("POST", "/", {"number": number}))
            assert json.loads(body) == {"number": number}
            assert spent > 0
        _, body = connection.call(request_bytes("POST", "/large", {"text": "x" * 1000}))
        assert len(body) == 1000 * len(json.dumps({"text": "x" * 1000}))
        assert connection.call(request_bytes("GET", "/"))[1] == b""


def test_an_answer_that_is_not_200_ends_the_benchmark(port: int) -> None:
    with Connection(port) as connection, pytest.raises(BenchmarkError, match="404"):
        connection.call(request_bytes("GET", "/missing"))
