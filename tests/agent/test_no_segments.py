"""Where all segments of shared memory are taken, programs ask the agent until there is one."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import program_side as side
import pytest
from fake_service import FakeService
from patience import wait_until
from running_agent import Agent

pytestmark = pytest.mark.root

CREATE = "import os, sys; os.open(sys.argv[1], os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600); sys.stdin.read()"


@pytest.fixture
def crowded(
    binary: Path, base: Path, service: FakeService, device: int, request: pytest.FixtureRequest
) -> Iterator[Agent]:
    """An agent in a namespace that has no segment to give."""
    wrapped = base / "crowded-agent"
    wrapped.write_text(
        "#!/bin/sh\n"
        'exec unshare --ipc sh -c \'echo 0 >/proc/sys/kernel/shmmni; exec "$0" "$@"\' '
        f'{binary} "$@"\n'
    )
    wrapped.chmod(0o755)
    directory = base / "crowded"
    directory.mkdir(mode=0o755)
    agent = Agent(wrapped, directory, service.url, *getattr(request, "param", ()), device=device)
    agent.wait_for("answers on")
    yield agent
    agent.stop()


def inside(agent: Agent, *command: str, **more: str) -> subprocess.Popen[bytes]:
    """Start a command where the agent's segments are seen."""
    return subprocess.Popen(
        ["nsenter", "--ipc", "-t", str(agent.process.pid), *command],
        env={**os.environ, **more}, stdin=subprocess.PIPE,
    )  # fmt: skip


def test_an_agent_without_a_segment_serves_and_shows_the_table_once_there_is_one(
    crowded: Agent, service: FakeService, union: Path, public_wrapper: Path
) -> None:
    crowded.wait_for("raise kernel.shmmni")
    assert crowded.status() == side.PLACE
    assert inside(crowded, "sh", "-c", "echo 100 >/proc/sys/kernel/shmmni").wait(60) == 0
    crowded.wait_for("programs see the candidates from now on")
    assert crowded.status() == side.PLACE

    def claims() -> bool:
        """A program creates a file; the first one of a user asks, and has the agent make its segment."""
        name = f"file-{len(list(union.iterdir()))}"
        program = inside(
            crowded, "/usr/bin/python3", "-I", "-c", CREATE, str(union / name),
            LD_PRELOAD=str(public_wrapper), SES_AGENT_SOCKET=str(crowded.socket), SES_SYNC_MS="20000",
        )  # fmt: skip
        wait_until(lambda: service.open_now() != set(), "the file is known")
        program.communicate(timeout=60)
        wait_until(lambda: service.open_now() == set(), "its end is known")
        return crowded.says("uid 0 has claims")

    wait_until(claims, "a program claims from the table")
    assert claims()


@pytest.mark.parametrize("crowded", [("--exclude", "*.tmp")], indirect=True)
def test_rules_hold_without_a_segment_and_go_with_the_agent(
    crowded: Agent, service: FakeService, union: Path, public_wrapper: Path
) -> None:
    crowded.wait_for("raise kernel.shmmni")
    names = ["left.tmp", "placed", "later.tmp", "last"]
    script = "import sys; [open(name, 'x').close() or input() for name in sys.argv[1:]]"
    program = inside(
        crowded, "/usr/bin/python3", "-I", "-c", script, *(str(union / name) for name in names),
        LD_PRELOAD=str(public_wrapper), SES_AGENT_SOCKET=str(crowded.socket), SES_SYNC_MS="20000",
    )  # fmt: skip
    assert program.stdin

    def reported() -> list[str]:
        files = (file for request in service.announcements() for file in request.body["opened"])
        return sorted({Path(file["path"]).name for file in files if file["path"]})

    def goes_on(lines: int, name: str) -> None:
        program.stdin.write(b"\n" * lines)
        program.stdin.flush()
        wait_until(lambda: (union / name).exists(), f"{name} is created")

    goes_on(1, "placed")
    wait_until(reported, "the service heard of a file")
    rules = Path(f"{crowded.socket}.rules")
    assert rules.stat().st_mode & 0o777 == 0o644
    goes_on(2, "last")
    wait_until(lambda: len(reported()) >= 2, "the service heard of the last one")
    assert reported() == ["last", "placed"]
    assert crowded.stop() == 0
    assert not rules.exists()
    program.communicate(b"\n", timeout=60)
