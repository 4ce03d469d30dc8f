"""Starting and stopping: options, the token file, the socket file, signals."""

import fcntl
import os
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import program_side as side
import pytest
from claims_program import segment_of
from fake_service import FakeService
from patience import wait_until
from ran import ran
from running_agent import Agent, Start

NOBODY = 65534
OPTIONS = {
    "--help", "--version", "--service", "--token-file", "--munge", "--munge-socket",
    "--service-ca", "--socket", "--node",
    "--state-dir", "--answer-ms", "--asks-per-second", "--log-level",
    "--jobs-dir", "--lustre-form", "--include", "--exclude", "--exclude-program",
    "--tls-cert", "--tls-key", "--service-user", "--core", "--sleep",
}  # fmt: skip


def refused(binary: Path, *options: str) -> tuple[int, str]:
    """Run an agent that must not start; returns its status and what it says."""
    done = ran([binary, *options], code=None)
    assert done.returncode != 0
    return done.returncode, done.stderr


def test_help_lists_every_option_and_nothing_else(binary: Path) -> None:
    done = ran([binary, "--help"])
    rows = [line for line in done.stdout.splitlines() if re.match(r"  -", line)]
    listed = {name for row in rows for name in re.findall(r"--[a-z-]+", row.split()[0])}
    assert listed == OPTIONS


def test_version_is_the_projects(binary: Path) -> None:
    done = ran([binary, "--version"])
    cmake = (Path(__file__).resolve().parents[2] / "libses/CMakeLists.txt").read_text()
    assert done.stdout.split()[0] == "ses-agent"
    assert f"VERSION {done.stdout.split()[1]} " in cmake


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ((), "--service is required"),
        (("--servce", "unix:/run/s"), "not expected: unix:/run/s --servce"),
        (("--service", "127.0.0.1:8630"), "must start with https://, http:// or unix:/"),
        (("--service", "http://"), "names no host"),
        (("--service", "http://h:0"), "names no host, or holds more"),
        (("--service", "unix:run/s"), "names no socket by its whole path"),
        (("--service", "http://h", "--service-user", "no-such-user"), "no user no-such-user"),
        (("--service", "http://h", "--service-ca", "/nonexistent"), "/nonexistent"),
        (("--service", "http://h", "--tls-cert", "/x"), "--tls-key"),
        (("--service", "http://name:secret@host"), "names no host, or holds more"),
        (("--service", "http://h", "--log-level", "loud"), "loud not in {debug,info,warning,error}"),
        (("--service", "http://h", "--answer-ms", "0"), "not in range"),
        (("--service", "http://h", "--frobnicate"), "--frobnicate"),
    ],
    ids=[
        "no-url",
        "misspelled",
        "no-scheme",
        "no-host",
        "no-port",
        "no-path",
        "no-user",
        "no-ca",
        "no-key",
        "password",
        "level",
        "budget",
        "unknown",
    ],
)
def test_wrong_use_is_explained(binary: Path, options: tuple[str, ...], reason: str) -> None:
    status, said = refused(binary, *options)
    assert status == 2
    assert reason in said


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_token_file_that_others_can_read_is_refused(binary: Path, tmp_path: Path, mode: int) -> None:
    token = tmp_path / "token"
    token.write_text("secret-1")
    token.chmod(mode)
    status, said = refused(binary, "--service", "http://127.0.0.1:1", "--token-file", str(token))
    assert status == 2
    assert f"token file {token} can be read by others than its owner; run: chmod 600 {token}" in said
    assert "secret-1" not in said


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), ("", "must hold one token"), ("two words", "must hold one token")],
    ids=["missing", "empty", "two-words"],
)
def test_token_file_without_a_token_is_refused(
    binary: Path, tmp_path: Path, content: str | None, reason: str
) -> None:
    token = tmp_path / "token"
    if content is not None:
        token.touch(0o600)
        token.write_text(content)
    assert reason in refused(binary, "--service", "http://h", "--token-file", str(token))[1]


def test_token_file_that_is_no_file_is_refused(binary: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo, 0o600)
    said = refused(binary, "--service", "http://h", "--token-file", str(fifo))[1]
    assert "is not a regular file" in said


@pytest.mark.root
def test_token_file_of_somebody_else_is_refused(binary: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text("secret")
    os.chown(token, NOBODY, NOBODY)
    said = refused(binary, "--service", "http://h", "--token-file", str(token))[1]
    assert f"belongs to uid {NOBODY}" in said


def test_everybody_may_ask(agent: Agent) -> None:
    assert stat.S_IMODE(agent.socket.stat().st_mode) == 0o666


def test_second_agent_on_the_same_socket_is_refused_and_the_first_goes_on(
    agent: Agent, binary: Path, service: FakeService
) -> None:
    status, said = refused(binary, "--service", service.url, "--socket", str(agent.socket))
    assert status == 1
    assert f"another process listens on {agent.socket}" in said
    assert agent.status() == side.PLACE


def test_socket_left_over_by_a_killed_agent_is_replaced(
    binary: Path, service: FakeService, tmp_path: Path
) -> None:
    killed = Agent(binary, tmp_path, service.url, device=tmp_path.stat().st_dev)
    killed.wait_for("answers on")
    killed.process.send_signal(signal.SIGKILL)
    killed.process.wait()
    assert killed.socket.exists()
    killed.log.unlink()
    agent = Agent(binary, tmp_path, service.url, device=tmp_path.stat().st_dev)
    try:
        agent.wait_for("service found")
        assert agent.status() == side.PLACE
    finally:
        agent.stop()


def test_lock_that_others_can_hold_keeps_no_agent_from_starting(start: Start, base: Path) -> None:
    """Whoever may enter the socket's directory can lock that, and for as long as they like."""
    directory = base / "run"
    directory.mkdir()
    held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        start("--socket", str(directory / "agent.sock"))
    finally:
        os.close(held)
    assert stat.S_IMODE((directory / "agent.sock.lock").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["file", "directory", "link", "fifo"])
def test_what_is_no_socket_is_never_replaced(binary: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "agent.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stale:
        stale.bind(str(tmp_path / "stale"))
    if kind == "file":
        path.touch()
    elif kind == "directory":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(tmp_path / "stale")
    else:
        os.mkfifo(path)
    status, said = refused(binary, "--service", "http://h", "--socket", str(path))
    assert status == 1
    assert f"{path} exists and is not a socket" in said
    assert os.path.lexists(path)


@pytest.mark.root
def test_socket_of_somebody_else_is_never_replaced(binary: Path, tmp_path: Path) -> None:
    path = tmp_path / "agent.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stale:
        stale.bind(str(path))
    os.chown(path, NOBODY, NOBODY)
    said = refused(binary, "--service", "http://h", "--socket", str(path))[1]
    assert f"{path} belongs to uid {NOBODY}; remove it or choose another --socket" in said
    assert path.exists()


@pytest.mark.root
def test_without_a_home_in_the_environment_the_state_lies_in_that_of_the_user(
    binary: Path, service: FakeService
) -> None:
    """Never in /tmp, where others could have made the directory."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(binary, folder)
        os.chown(folder, NOBODY, NOBODY)
        log = Path(folder, "log")
        with log.open("wb") as said:
            running = subprocess.Popen(
                [f"{folder}/{binary.name}", "--service", service.url, "--socket", f"{folder}/agent.sock"],
                stderr=said, user=NOBODY, group=NOBODY, extra_groups=[], env={"PATH": "/usr/bin"},
            )  # fmt: skip
        try:
            wait_until(lambda: pwd.getpwuid(NOBODY).pw_dir in log.read_text(), "it says where it cannot save")
        finally:
            running.terminate()
            running.wait()
        assert f"{pwd.getpwuid(NOBODY).pw_dir}/.local/state/ses" in log.read_text()


@pytest.mark.parametrize(
    ("name", "reason"),
    [("missing/agent.sock", "create it, owned by the agent's user"), ("x" * 120, "longer than 107 bytes")],
    ids=["no-directory", "too-long"],
)
def test_socket_that_cannot_be_made_is_explained(
    binary: Path, tmp_path: Path, name: str, reason: str
) -> None:
    assert reason in refused(binary, "--service", "http://h", "--socket", str(tmp_path / name))[1]


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_stopping_tells_nothing_of_places_not_used_and_removes_the_socket(
    agent: Agent, service: FakeService, stop: signal.Signals
) -> None:
    holding = agent.ask()
    agent.process.send_signal(stop)
    assert agent.stop() == 0
    assert service.open_now() == set()
    assert not agent.socket.exists()
    assert segment_of(agent.socket) is None
    holding.close()


def test_stopping_does_not_wait_for_a_dead_service(agent: Agent, service: FakeService) -> None:
    for _ in range(3):
        agent.ask().close()
    service.kill()
    assert agent.stop() == 0
    assert agent.says("stopped;")


def test_stopping_leaves_a_successors_socket_alone(start: Start) -> None:
    agent = start()
    agent.socket.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as successor:
        successor.bind(str(agent.socket))
        assert agent.stop() == 0
        assert agent.socket.exists()
