"""``ses doctor`` asks each exporter the monitor reads, however many there are, whoever vouches for them."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Thread

import pytest
from fake_selection_service import element, observation
from ses.doctor import service as service_checks
from ses.doctor.finding import Finding, State
from ses_client.messages.elements import Element


class Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Nothing is printed of callers that hang up."""


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_checks, "_LIMIT_SECONDS", 60.0)


@pytest.fixture
def serve() -> Iterator[Callable[[type[BaseHTTPRequestHandler]], Server]]:
    servers: list[Server] = []

    def start(handler: type[BaseHTTPRequestHandler]) -> Server:
        servers.append(Server(("127.0.0.1", 0), handler))
        return servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def checked(*urls: str) -> list[Finding]:
    seen = [observation(f"union/b{number}", exporter=url) for number, url in enumerate(urls)]
    return service_checks.check_exporters(
        [Element.of(element(f"b{number}", "/", "/b", one)) for number, one in enumerate(seen)]
    )


def test_those_that_do_not_answer_are_waited_for_together(serve) -> None:
    """Each of three answers when all three were asked."""
    asked = Barrier(3)

    class Exporter(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.wait(60)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = serve(Exporter)
    Thread(target=server.serve_forever, daemon=True).start()
    found = checked(*(f"http://127.0.0.1:{server.server_port}/metrics?{number}" for number in range(3)))
    assert [finding.state for finding in found] == [State.OK] * 3


def test_one_whose_certificate_the_monitor_alone_can_verify_answers(serve, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    made += ["-subj", "/CN=n1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = serve(BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    (finding,) = checked(f"https://127.0.0.1:{server.server_port}/metrics")
    assert finding.state is State.OK
    assert "the monitor's to verify" in finding.detail
