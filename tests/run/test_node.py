"""`ses-run --check` and `--verbose` say when this node lacks an agent, or managed storage."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_table import HEARTBEAT_AT, FakeTable
from ran import ran


def checked(ses_run: Path, agent: Path) -> tuple[int, dict[str, Any]]:
    """The exit status and the report on a program that can be placed, with the agent at a socket."""
    done = ran([ses_run, "--check", "--json", "--socket", agent, "/bin/sh"], code=None)
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Path]:
    """A socket on which an agent could be."""
    path = tmp_path / "agent.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        line.bind(str(path))
        line.listen()
        yield path


@pytest.fixture
def table(listening: Path) -> Iterator[FakeTable]:
    """The table of that agent; nothing is mounted yet."""
    if os.geteuid() != 0:
        pytest.skip("a table that root made needs root")
    made = FakeTable(listening)
    try:
        yield made
    finally:
        made.close()


def test_a_node_without_an_agent_is_reported_as_that(ses_run: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone.sock"
    status, report = checked(ses_run, gone)
    assert (status, report["reach"], report["agent"], report["managed"]) == (0, "library", False, None)
    assert f"but no agent listens at {gone} (No such file or directory)" in report["message"]
    loud = ran(
        [ses_run, "--verbose", "/bin/sh", "-c", "exit 3"],
        code=3,
        env={**os.environ, "SES_AGENT_SOCKET": str(gone)},
    )
    assert f"no agent listens at {gone}" in loud.stderr


def test_a_socket_that_was_left_is_no_agent(ses_run: Path, tmp_path: Path) -> None:
    left = tmp_path / "left.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        line.bind(str(left))
    assert "(Connection refused)" in checked(ses_run, left)[1]["message"]


def test_an_agent_that_published_nothing_yet_is_no_lack(ses_run: Path, listening: Path) -> None:
    _, report = checked(ses_run, listening)
    assert (report["agent"], report["managed"]) == (True, None)
    assert "but" not in report["message"]


def test_a_node_without_managed_storage_is_reported_as_that(
    ses_run: Path, listening: Path, table: FakeTable
) -> None:
    _, report = checked(ses_run, listening)
    assert (report["agent"], report["managed"]) == (True, [])
    assert "but no managed storage is mounted here" in report["message"]
    table.mount(os.makedev(0, 99), "/scratch")
    _, report = checked(ses_run, listening)
    assert report["managed"] == ["/scratch"]
    assert "but" not in report["message"]


def test_a_table_of_an_agent_that_died_says_nothing(ses_run: Path, listening: Path, table: FakeTable) -> None:
    table.stop_beating()
    table.put64(HEARTBEAT_AT, 1)
    assert checked(ses_run, listening)[1]["managed"] is None
