"""The stop-watch of the selection benchmarks, against a real HTTP server."""

import json
from http.server import BaseHTTPRequestHandler

import pytest
from ses_benchmarks.http_call import Connection, request_bytes
from ses_benchmarks.probe import BenchmarkError


class Echo(BaseHTTPRequestHandler):
    """Answers with what was sent; /missing is not there."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])) * (1000 if self.path == "/large" else 1)
        self.send_response(404 if self.path == "/missing" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def handler() -> type[BaseHTTPRequestHandler]:
    return Echo


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
