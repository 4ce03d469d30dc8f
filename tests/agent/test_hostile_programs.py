"""What a program that lies, floods or plants traps can do to others: nothing."""

import os
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import program_side as side
import pytest
from claims_program import counted
from fake_service import FakeService
from mounts import let_others_in, unmount
from patience import moves, wait_until
from program_side import HEADER, Requirement
from running_agent import Agent, Start

NOBODY = 65534


def header(message: bytes, **changed: int) -> bytes:
    """`message` with fields of its header changed."""
    names = ("magic", "version", "type", "size", "reserved")
    fields = dict(zip(names, HEADER.unpack(message[: HEADER.size]), strict=True)) | changed
    return HEADER.pack(*fields.values()) + message[HEADER.size :]


def requirement_count(message: bytes, count: int) -> bytes:
    at = HEADER.size + 28
    return message[:at] + struct.pack("=I", count) + message[at + 4 :]


def bad_messages(device: int) -> dict[str, bytes]:
    good = side.ask_message(device, "app")
    assert struct.unpack_from("=I", requirement_count(good, 7), HEADER.size + 28) == (7,)
    return {
        "one byte": b"x",
        "half a message": good[: len(good) // 2],
        "one byte too long": good + b"x",
        "far too long": good * 50,
        "wrong magic": header(good, magic=0x12345678),
        "another version": header(good, version=side.VERSION - 1),
        "an answer": header(good, type=side.ANSWER),
        "a report instead of an ask": header(good, type=side.REPORT),
        "a wrong size": header(good, size=len(good) - 1),
        "too many requirements": requirement_count(good, 9),
        "a name without an end": side.ask_message(device, "x" * 64),
        "a pool without an end": side.ask_message(device, "app", pool="x" * 16),
        "a negative size": side.ask_message(device, "app", expected_bytes=-2),
        "an unknown kind": side.ask_message(device, "app", requirements=(Requirement(6, 1.0),)),
        "kind zero": side.ask_message(device, "app", requirements=(Requirement(0, 1.0),)),
        "a negative minimum": side.ask_message(device, "app", requirements=(Requirement(1, -1.0),)),
        "a minimum that is no number": side.ask_message(
            device, "app", requirements=(Requirement(1, float("nan")),)
        ),
        "an endless minimum": side.ask_message(device, "app", requirements=(Requirement(1, float("inf")),)),
        "no weight": side.ask_message(device, "app", requirements=(Requirement(1, 1.0, weight=0.0),)),
    }


@pytest.mark.parametrize("what", bad_messages(0))
def test_message_that_is_not_exactly_one_is_dropped_with_its_connection(
    agent: Agent, service: FakeService, what: str
) -> None:
    connection = side.connect(agent.socket)
    connection.send(bad_messages(agent.device)[what])
    assert dropped(connection)
    assert service.open_now() == set()
    assert agent.status() == side.PLACE


def dropped(connection: socket.socket) -> bool:
    """Whether the agent closed the connection without an answer."""
    with connection:
        try:
            return connection.recv(4096) == b""
        except ConnectionResetError:
            return True


def test_second_question_on_one_connection_is_dropped(agent: Agent, service: FakeService) -> None:
    message = side.ask_message(agent.device, "app")
    connection = side.connect(agent.socket)
    connection.send(message)
    placement = side.parse_answer(connection.recv(4096)).placement
    wait_until(lambda: counted(agent.socket) == 1, "it counts")
    connection.send(message)
    assert dropped(connection)
    wait_until(lambda: counted(agent.socket) == 0, "what came to nothing does not count")
    assert service.opened(placement) == []


def test_report_about_somebody_elses_placement_changes_nothing(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    victim = agent.ask()
    fd = victim.create(tmp_path / "file")
    wait_until(lambda: service.opened(victim.answer.placement), "it is reported")
    for outcome in (side.NOT_CREATED, side.CREATED):
        with agent.ask("thief") as thief:
            thief.report(outcome, status=os.fstat(fd), fd=fd, placement=victim.answer.placement)
            stolen_with = thief.answer.placement
        wait_until(lambda: moves(fd) and counted(agent.socket) == 1, "only the file of the other one counts")
        assert service.opened(stolen_with) == []
    assert service.ended(victim.answer.placement) == []
    assert len(service.opened(victim.answer.placement)) == 1
    os.close(fd)


@pytest.mark.root
def test_report_about_somebody_elses_open_file_ends_nothing_of_theirs(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    """Who may read a file may have it open, and say that it was created just now."""
    victim = agent.ask()
    fd = victim.create(tmp_path / "file")
    wait_until(lambda: service.opened(victim.answer.placement), "it is reported")
    script = (
        "import os, pathlib, sys\n"
        f"sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}\n"
        "import program_side as side\n"
        "fd = os.open(sys.argv[1], os.O_RDONLY)\n"
        "connection = pathlib.Path(sys.argv[2])\n"
        "os.setgroups([]); os.setresgid(65534, 65534, 65534)\n"
        "os.setresuid(65534, 65534, 65534)\n"
        f"conversation = side.Conversation(connection, side.ask_message({agent.device}, 'thief'))\n"
        "conversation.report(side.CREATED, status=os.fstat(fd), fd=fd)\n"
        "conversation.close()\n"
        "print(conversation.answer.placement, flush=True)\n"
        "sys.stdin.read()\n"
    )
    let_others_in(agent.socket.parent)
    command = [sys.executable, "-c", script, str(tmp_path / "file"), str(agent.socket)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        claimed = other.stdout.readline().strip()
        wait_until(lambda: service.opened(claimed), "the other report is taken")
    service.wait_for_end(claimed)
    assert service.ended(victim.answer.placement) == []
    os.close(fd)
    service.wait_for_end(victim.answer.placement)


def test_claim_to_have_created_what_the_process_has_not_open_is_not_believed(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    private = tmp_path / "private"
    private.write_text("x" * 1000)
    with agent.ask() as conversation:
        conversation.report(side.CREATED, status=private.stat(), fd=0)
        placement = conversation.answer.placement
    wait_until(lambda: service.ended(placement), "the placement is ended")
    assert service.ended(placement)[0]["bytes_written"] is None
    assert [body["path"] for body in service.opened(placement)] in ([], [None])


def test_two_hundred_silent_connections_keep_nobody_waiting(agent: Agent) -> None:
    silent = [side.connect(agent.socket) for _ in range(200)]
    assert agent.status() == side.PLACE
    for connection in silent:
        assert dropped(connection), "a silent connection is closed by the agent"


def test_flood_of_connections_is_turned_away_and_passes(agent: Agent) -> None:
    flood: list[socket.socket] = []
    while len(flood) % 100 or not agent.says("too many connections"):  # faster than silent ones are closed
        assert len(flood) < 10_000, "nothing limits the connections"
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        try:
            connection.connect(str(agent.socket))
        except BlockingIOError:
            connection.close()
            time.sleep(0.001)
        else:
            flood.append(connection)
    for connection in flood:
        connection.close()

    wait_until(agent.places, "programs are served again")


@pytest.fixture
def trap(branches: dict[str, Path], service: FakeService) -> Iterator[Path]:
    """The only branch, and a directory outside of it that must stay as it is."""
    del service.targets["union/b2"]
    outside = branches["union/b1"].parent / "outside"
    outside.mkdir(mode=0o755)
    yield branches["union/b1"]
    assert list(outside.iterdir()) == [], "the agent wrote outside the branch"
    status = outside.stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (os.getuid(), 0o755)


def refused(agent: Agent) -> bool:
    return agent.status() == side.UNAVAILABLE


def test_link_in_place_of_the_staging_directory_is_refused(start: Start, trap: Path) -> None:
    (trap / ".ses").symlink_to(trap.parent / "outside")
    agent = start()
    assert refused(agent)
    assert agent.says("/b1/.ses: is not a directory of the agent's")


def test_link_in_place_of_a_users_staging_directory_is_refused(start: Start, trap: Path) -> None:
    (trap / ".ses").mkdir(mode=0o711)
    (trap / ".ses" / str(os.getuid())).symlink_to(trap.parent / "outside")
    assert refused(start())


def test_file_in_place_of_the_staging_directory_is_refused(start: Start, trap: Path) -> None:
    (trap / ".ses").write_text("mine")
    assert refused(start())
    assert (trap / ".ses").read_text() == "mine"


@pytest.mark.root
def test_staging_directory_of_somebody_else_is_refused(start: Start, trap: Path) -> None:
    (trap / ".ses").mkdir(mode=0o777)
    os.chown(trap / ".ses", NOBODY, NOBODY)
    agent = start()
    assert refused(agent)
    assert agent.says(f"belongs to uid {NOBODY} instead of 0; remove it")
    assert (trap / ".ses").stat().st_uid == NOBODY


@pytest.mark.root
def test_users_staging_directory_of_another_user_is_refused(start: Start, trap: Path) -> None:
    (trap / ".ses").mkdir(mode=0o711)
    (trap / ".ses" / "0").mkdir(mode=0o700)
    os.chown(trap / ".ses" / "0", NOBODY, NOBODY)
    assert refused(start())


@pytest.mark.root
def test_mount_in_place_of_the_staging_directory_is_refused(start: Start, trap: Path) -> None:
    (trap / ".ses").mkdir(mode=0o711)
    subprocess.run(["mount", "-t", "tmpfs", "none", trap / ".ses"], check=True)
    try:
        assert refused(start())
    finally:
        unmount(trap / ".ses")


def test_wrong_modes_of_staging_directories_are_put_right(start: Start, trap: Path) -> None:
    (trap / ".ses").mkdir()
    (trap / ".ses" / str(os.getuid())).mkdir()
    (trap / ".ses").chmod(0o2777)
    (trap / ".ses" / str(os.getuid())).chmod(0o2777)
    agent = start()
    assert agent.status() == side.PLACE
    assert stat.S_IMODE((trap / ".ses").stat().st_mode) == 0o755
    assert stat.S_IMODE((trap / ".ses" / str(os.getuid())).stat().st_mode) == 0o744


def test_a_directory_that_was_renamed_to_the_staging_directory_is_left_alone(
    start: Start, trap: Path
) -> None:
    """Who owns a branch may rename root's directories there."""
    (trap / ".ses/#4711").mkdir(parents=True)
    (trap / ".ses").chmod(0o700)
    agent = start()
    assert refused(agent)
    assert agent.says("/b1/.ses: holds what the agent did not make")
    assert stat.S_IMODE((trap / ".ses").stat().st_mode) == 0o700
    assert [path.name for path in (trap / ".ses").iterdir()] == ["#4711"]


def test_group_and_access_list_of_the_branch_are_not_inherited(start: Start, trap: Path) -> None:
    """Files created in the staging directory would carry them to where the original call has none."""
    default_acl = struct.pack(
        "<I HHI HHI HHI HHI HHI",
        *(2, 1, 7, 0xFFFFFFFF, 2, 7, NOBODY, 4, 7, 0xFFFFFFFF, 0x10, 7, 0xFFFFFFFF, 0x20, 0, 0xFFFFFFFF),
    )
    try:
        os.setxattr(trap, "system.posix_acl_default", default_acl)
    except OSError as error:
        pytest.skip(f"no access lists on this file system: {error}")
    trap.chmod(0o3775)
    agent = start()
    with agent.ask() as conversation:
        assert conversation.answer.status == side.PLACE
        stage = conversation.answer.stage
    for path in (stage.parent, stage):
        assert "system.posix_acl_default" not in os.listxattr(path)
        assert not path.stat().st_mode & stat.S_ISGID
        assert not path.stat().st_mode & 0o022


def test_leftovers_are_removed_and_nothing_else(
    start: Start, trap: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stage = trap / ".ses" / str(os.getuid())
    stage.mkdir(parents=True)
    (trap / ".ses").chmod(0o755)
    (trap / ".ses" / "not-a-uid").mkdir()
    (stage / "directory").mkdir()
    kept = [stage / "directory" / "file", trap / ".ses" / "not-a-uid" / "file", trap / "precious"]
    (trap / ".ses" / str(os.getuid() + 1)).mkdir()  # of a name that is not its owner's number
    kept.append(trap / ".ses" / str(os.getuid() + 1) / "file")
    for path in kept:
        path.touch()
    kept.append(stage / "link")
    kept[-1].symlink_to(trap / "precious")
    (stage / "left-over").touch()
    monkeypatch.setenv("LD_PRELOAD", str(later_by(120, tmp_path)))
    agent = start()
    agent.ask().close()
    agent.wait_for("removed 1 files left over")
    assert not (stage / "left-over").exists()
    assert all(os.path.lexists(path) for path in kept)


def test_create_under_way_is_not_taken_for_a_leftover(start: Start, trap: Path) -> None:
    stage = trap / ".ses" / str(os.getuid())
    stage.mkdir(parents=True)
    (trap / ".ses").chmod(0o755)
    (stage / "under-way").touch()
    agent = start()
    agent.ask().close()
    assert agent.stop() == 0  # the sweep that the question began is over
    assert (stage / "under-way").exists()


def later_by(seconds: int, directory: Path) -> Path:
    """A library that lets a program live in the future: nobody can make a file's last change older."""
    source = directory / "later.c"
    source.write_text(
        "#include <time.h>\n"
        "time_t time(time_t *out) {\n"
        "  struct timespec now;\n"
        "  clock_gettime(CLOCK_REALTIME, &now);\n"
        f"  now.tv_sec += {seconds};\n"
        "  if (out) *out = now.tv_sec;\n"
        "  return now.tv_sec;\n"
        "}\n"
    )
    library = directory / "later.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=60)
    return library
