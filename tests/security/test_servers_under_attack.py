"""Service, portal and monitor as processes: no client fills their memory or log, or holds them up."""

import contextlib
import http.client
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from patience import wait_for_answer, wait_until
from ports import free_port

SECONDS = 60.0
START_SECONDS = 300.0  # of a server, on a machine that does much else
PIPELINED_SECONDS = 2.0
GROWTH_MB = 32
MONITOR = '[[target]]\nname = "here"\ncollector = "statvfs"\n\n[[element]]\nid = "a/b"\ntarget = "here"\n'
# What a server runs: its own program, with a path behind which a thread never comes to an end.
PROGRAM = """
import sys, time
from ses_listen.threads import Threads

def endless(app):
    def answer(environ, start_response):
        if environ["PATH_INFO"] == "/endless":
            sys.stderr.write("a request without end\\n")
            time.sleep(1e6)
        return app(environ, start_response)
    return answer

made = Threads.__init__
Threads.__init__ = lambda self, app, *others, **named: made(self, endless(app), *others, **named)
from {module} import main
main()
"""


@dataclass
class Served:
    """A running server, and what it told systemd first."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    log: Path
    notified: str = ""

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def answers(self) -> bool:
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=SECONDS) as answer,
        ):
            return bool(answer.status == 200)
        return False

    def megabytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


@pytest.fixture(scope="module", params=["service", "portal", "monitor"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server that all attacks of this file meet, one after the other."""
    folder, port = tmp_path_factory.mktemp(request.param), free_port()
    listen = ["serve", "--listen", f"127.0.0.1:{port}", "--state-dir", str(folder / "made" / "state")]
    if request.param == "service":
        site = Path(__file__).parents[2] / "ontology" / "examples" / "union-site.ttl"
        module, arguments = "ses_service.commands.main", [*listen, "--trust-loopback", f"--site={site}"]
    elif request.param == "portal":
        module, arguments = "ses_webface.cli", [*listen, "--service-url", "http://127.0.0.1:9"]
    else:
        (folder / "smed.toml").write_text(MONITOR + f'mount_point = "{folder}"\n')
        module, arguments = "smed_monitor.cli", [*listen, "--config", str(folder / "smed.toml")]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices, (folder / "log").open("wb") as output:
        notices.bind(str(folder / "notify"))
        notices.settimeout(SECONDS)
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(module=module), *arguments],
            stdout=output, stderr=output, env={**os.environ, "NOTIFY_SOCKET": str(folder / "notify")},
        )  # fmt: skip
        server = Served(request.param, port, process, folder / "log")
        try:
            wait_for_answer(process, server.log, server.answers, START_SECONDS)
            while "READY=1" not in server.notified or "WATCHDOG=1" not in server.notified:
                server.notified += notices.recv(4096).decode() + "\n"
            notices.close()
            yield server
        finally:
            process.terminate()
            process.wait(60)


def test_a_connection_that_asks_and_asks_and_never_reads_fills_no_memory(served: Served) -> None:
    for _ in range(50):
        assert served.answers()
    before = served.megabytes()
    questions = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 1000
    sent, end = 0, time.monotonic() + PIPELINED_SECONDS
    with served.connect() as connection:
        connection.setblocking(False)
        while time.monotonic() < end:
            _, writable, _ = select.select([], [connection], [], 0.1)
            if writable:
                with contextlib.suppress(BlockingIOError):
                    sent += connection.send(questions)
        assert sent > 100 * len(questions) // 1000
        assert served.megabytes() - before < GROWTH_MB
        assert served.answers(), "others are answered meanwhile"


def test_a_header_without_end_fills_no_memory(served: Served) -> None:
    before = served.megabytes()
    with served.connect() as connection, contextlib.suppress(OSError):
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ")
        for _ in range(512):
            connection.sendall(b"x" * 65536)
    assert served.megabytes() - before < GROWTH_MB
    assert served.answers()


def test_a_head_that_is_too_large_is_answered_with_what_is_wrong(served: Served) -> None:
    cookie = b"GET /healthz HTTP/1.1\r\nHost: x\r\nCookie: " + b"x" * 200_000
    address = b"GET /healthz?" + b"x" * 200_000
    many = b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X-One: y\r\n" * 20_000
    for head in (cookie, address, many):
        with served.connect() as connection:
            connection.sendall(head)  # all of it, and more would come
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert answer.status == 431
            assert answer.getheader("Content-Type") == "application/problem+json"
            said = json.load(answer)
        assert (said["status"], said["type"]) == (431, "urn:qstorman:problem:head-too-large")
        assert "longer than 64 KiB" in said["detail"]


def test_a_body_that_is_too_large_is_not_kept(served: Served) -> None:
    """The monitor, whose questions have none, reads none."""
    path = {"service": "/v1/selections", "portal": "/sign-in", "monitor": "/healthz"}[served.name]
    form = "application/json" if served.name == "service" else "application/x-www-form-urlencoded"
    before, size = served.megabytes(), 48 * 2**20
    with served.connect() as connection:
        head = (
            "POST " + path + " HTTP/1.1",
            "Host: localhost",
            f"Content-Type: {form}",
            f"Content-Length: {size}",
        )
        connection.sendall("\r\n".join((*head, "", "")).encode())
        with contextlib.suppress(OSError):
            for _ in range(size // 65536):
                connection.sendall(b"x" * 65536)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == (405 if served.name == "monitor" else 413)
    assert served.megabytes() - before < GROWTH_MB
    assert served.answers()


def test_what_is_no_request_is_answered_with_a_problem(served: Served) -> None:
    with served.connect() as connection:
        connection.sendall(b"HELO mail.example.org\r\n\r\n")
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert (answer.status, answer.getheader("Content-Type")) == (400, "application/problem+json")
        assert json.load(answer)["type"] == "urn:qstorman:problem:malformed-request"


def _hang_up(connection: socket.socket, *, reset: bool = True) -> None:
    """At once; with a reset what was not read and not sent is thrown away."""
    if reset:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_clients_that_hang_up_leave_no_traceback(served: Served) -> None:
    big = "/static/vendor/pico.min.css" if served.name == "portal" else "/metrics"
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    questions = [
        f"GET {big} HTTP/1.1\r\nHost: x\r\n\r\n" * 40,
        "GET /v1/observations?wait=3 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHo",
        f"POST /sign-in HTTP/1.1\r\nHost: x\r\n{form}Content-Length: 900\r\n\r\nname=a",
        f"POST /sign-in HTTP/1.1\r\nHost: x\r\n{form}Transfer-Encoding: chunked\r\n\r\n5\r\nna",
    ]
    for pause in (0.0, 0.01, 0.1):
        for question in questions:
            for _ in range(4):
                connection = served.connect()
                connection.sendall(question.encode())
                time.sleep(pause)
                _hang_up(connection)
    whole = questions[3].encode() + b"&pass=b" * 129 + questions[0].encode()[:60]
    for length in range(len(whole)):
        connection = served.connect()
        connection.sendall(whole[:length])
        _hang_up(connection, reset=length % 2 == 0)
    wait_until(served.answers, "it answers no more")
    text = served.log.read_text()
    assert "Traceback" not in text
    assert "Error handling request" not in text


def test_systemd_is_told_that_it_listens_and_goes_on(served: Served) -> None:
    assert {"READY=1", "WATCHDOG=1"} <= set(served.notified.split())


def test_it_makes_its_state_directory_for_itself_alone(served: Served) -> None:
    state = served.log.parent / "made" / "state"
    assert state.stat().st_mode & 0o777 == 0o700


def test_it_ends_on_sigterm_while_requests_run_without_end(served: Served) -> None:
    """The last of this file: what is served ends here."""
    asking = [served.connect() for _ in range(8)]
    try:
        for connection in asking:
            connection.sendall(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: "a request without end" in served.log.read_text(), "no request began")
        served.process.terminate()
        assert served.process.wait(SECONDS) == 0
    finally:
        for connection in asking:
            connection.close()
    assert "Traceback" not in served.log.read_text()
