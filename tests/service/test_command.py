"""The command as people start it: a real process, a real store, a clean end."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from patience import PATIENCE
from service_process import SITE, Running, wait_until_gone
from ses_service.commands.main import main
from ses_service.store.database import Database, sqlite_url
from ses_service.store.revisions import upgrade


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path, "--trust-loopback", f"--site={SITE}")
    try:
        yield made.wait_ready()
    finally:
        made.end(signal.SIGKILL)


def stopped(running: Running, how: int) -> bool:
    children = running.children()
    assert children, "the embedded store runs as a child"
    assert running.end(how) == 0
    wait_until_gone(children)
    return '"event": "stopped"' in running.log.read_text("utf-8")


def test_requests_on_one_connection_are_answered_in_order_and_an_interrupt_stops_everything(
    running: Running,
) -> None:
    ask = b'{"subject": {"user": "alice"}}'
    head = b"POST /v1/selections HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    counted = head + b"Content-Length: %d\r\n\r\n" % len(ask) + ask
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(ask), ask)
    ends = b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as connection:
        connection.sendall(counted + chunked)
        for byte in counted:
            connection.sendall(bytes([byte]))
        connection.sendall(ends)
        received = b""
        while piece := connection.recv(1 << 16):
            received += piece
    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"200", b"200", b"200", b"404"]
    assert stopped(running, signal.SIGINT)


def test_requirements_survive_a_restart_and_a_killed_service_leaves_no_store_behind(
    running: Running, tmp_path: Path
) -> None:
    status, body = running.call("GET", "/v1/elements")
    assert (status, len(body["elements"])) == (200, 8)
    need = {
        "requirements": [{"kind": "current-write-rate", "minimum": 85, "unit": "MB/s", "strictness": "hard"}]
    }
    assert running.call("PUT", "/v1/requirements/application/alice:dd", need)[0] == 200
    status, body = running.call("POST", "/v1/selections", {"subject": {"user": "alice", "application": "dd"}})
    assert status == 200
    assert {candidate["element"] for candidate in body["candidates"]} == {"union/b1", "union/b2"}
    assert stopped(running, signal.SIGTERM)
    again = Running(tmp_path, "--trust-loopback", f"--site={SITE}")
    try:
        again.wait_ready()
        status, body = again.call("GET", "/v1/requirements/application/alice:dd")
        assert (status, body["requirements"][0]["minimum"], body["revision"]) == (200, 85, 1)
        children = again.children()
        assert again.end(signal.SIGKILL) == -signal.SIGKILL
        wait_until_gone(children)
    finally:
        again.end(signal.SIGKILL)


def test_tokens_made_by_the_command_open_the_service(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    options = ["token", "new", f"--tokens={tokens}", "--role=node", "--node=n1"]
    token = CliRunner().invoke(main, options).output.strip()
    made = Running(tmp_path, f"--tokens={tokens}", f"--site={SITE}")
    try:
        made.wait_ready()
        assert made.call("GET", "/v1/elements")[0] == 401
        assert made.call("GET", "/v1/elements", token=token)[0] == 200
        assert token not in made.log.read_text("utf-8")
    finally:
        made.end()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "--trust-loopback"),
        (["--trust-loopback", "--listen=8630"], "HOST:PORT"),
        (["--trust-loopback", "--listen=localhost:99999"], "HOST:PORT"),
        (["--trust-loopback", "--site=/nonexistent.ttl"], "nonexistent"),
        (["--trust-loopback", "--kb-flavour=excel"], "excel"),
        (["--trust-loopback", "--keep-files=inf"], "'inf' is no number"),
        (["--trust-loopback", "--monitor-url=127.0.0.1:8631"], "begins with http:// or https://"),
        (["--trust-loopback", "--kb-url=htp://127.0.0.1:3030/kb"], "begins with http:// or https://"),
    ],
)
def test_a_wrong_command_line_is_refused_with_the_reason(
    tmp_path: Path, options: list[str], says: str
) -> None:
    result = CliRunner().invoke(main, ["serve", f"--state-dir={tmp_path}", *options])
    assert result.exit_code == 2
    assert says in result.output


def test_a_token_file_others_may_read_stops_the_start(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text("", "utf-8")
    tokens.chmod(0o644)
    result = CliRunner().invoke(main, ["serve", f"--state-dir={tmp_path}", f"--tokens={tokens}"])
    assert result.exit_code == 1
    assert "chmod 600" in result.output


def test_a_site_that_is_not_turtle_stops_the_start_and_leaves_nothing_running(tmp_path: Path) -> None:
    site = tmp_path / "more.ttl"
    site.write_text("\ufeff@prefix : <urn:x#> .\r\n:a :b", "utf-8")
    made = Running(tmp_path, "--trust-loopback", f"--site={SITE}", f"--site={site}")
    try:
        assert made.process.wait(PATIENCE) == 1
    finally:
        made.end(signal.SIGKILL)
    assert f"more.ttl does not describe a site:\n  {site}, line 2: not Turtle" in made.log.read_text("utf-8")
    assert "Traceback" not in made.log.read_text("utf-8")


def test_a_ledger_of_a_later_service_stops_the_start_before_the_knowledge_base_is_changed(
    tmp_path: Path,
) -> None:
    (tmp_path / "state").mkdir()
    database = Database(sqlite_url(tmp_path / "state" / "ledger.db"))
    upgrade(database)
    with database.transaction() as connection:
        connection.exec_driver_sql("update ses_alembic_version set version_num = '9999'")
    database.close()
    started = Running(tmp_path, "--trust-loopback", f"--site={SITE}")
    assert started.process.wait(PATIENCE) == 1
    said = started.log.read_text("utf-8")
    assert "it was used by a later service" in said
    assert "site read" not in said


def test_an_address_in_use_stops_the_start(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"--listen=127.0.0.1:{taken.getsockname()[1]}"
        made = Running(tmp_path, "--trust-loopback", f"--site={SITE}", listen)
        try:
            assert made.process.wait(PATIENCE) == 1
        finally:
            made.end(signal.SIGKILL)
    assert "cannot listen on 127.0.0.1" in made.log.read_text("utf-8")


def test_openapi_prints_the_contract() -> None:
    result = CliRunner().invoke(main, ["openapi"])
    assert result.exit_code == 0
    assert "/v1/selections:" in result.output


@pytest.mark.parametrize("name", ["ses-service", "smed-monitor", "ses-webface"])
def test_a_full_standard_output_is_said_in_a_sentence(name: str) -> None:
    program = Path(sys.executable).parent / name
    done = subprocess.run(
        f"{program} --help > /dev/full", shell=True, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "Error: The output cannot be written: No space left on device.\n"


@pytest.mark.parametrize(
    "options",
    [
        ["--role=user", "--name=x"],
        ["--role=node", "--node=n", "--user=alice"],
        ["--role=king"],
        ["--role=node"],
        ["--role=admin", "--name=x", "--node=n"],
        ["--role=admin"],
    ],
)
def test_a_token_is_made_for_a_person_with_role_user_and_for_a_node_with_role_node(
    tmp_path: Path, options: list[str]
) -> None:
    result = CliRunner().invoke(main, ["token", "new", f"--tokens={tmp_path / 't'}", *options])
    assert result.exit_code == 2
    assert not (tmp_path / "t").exists()
