"""Whatever the agent does, the program's create succeeds, and the process does not wait again and again."""

import errno
import math
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_agent import ANSWER, ASK, MERGERFS, UNAVAILABLE, VERSION, Ask, FakeAgent, Handle, Report, answer
from mergerfs_union import NOBODY, Union
from patience import wait_until

FIRST_PAUSE = 0.2  # seconds; see libses/src/agent/breaker.h
WRITE = str(os.O_CREAT | os.O_WRONLY)


def most_questions(seconds: float) -> int:
    """How often a process may ask an agent that never answers well: at the start and after each pause."""
    return 1 + math.floor(math.log2(seconds / FIRST_PAUSE + 1))


def create_many(union: Union, probes: Path, count: int = 60, **extra: str) -> float:
    """Create files one by one, all of which must succeed; the seconds it took."""
    directory = union.path / "many"
    directory.mkdir(exist_ok=True)
    begun = time.monotonic()
    union.run(probes / "process", "many", str(count), directory, **extra)
    seconds = time.monotonic() - begun
    assert len(list(directory.iterdir())) == count
    assert union.agent.leftovers() == []
    return seconds


def replies(union: Union) -> dict[str, Callable[[Ask, int], bytes | None]]:
    agent = union.agent
    stage, through = (str(path) for path in agent.stages(0, 0))

    def wrong(**fields: object) -> Callable[[Ask, int], bytes | None]:
        return lambda ask, number: agent.place(ask, number, **fields)

    return {
        "unavailable": lambda _, number: answer(placement_id=number, status=UNAVAILABLE),
        "hang-up": lambda *_: b"",
        "garbage": lambda *_: b"\xa5" * 792,
        "one-byte": lambda *_: b"\0",
        "truncated": lambda ask, number: agent.place(ask, number)[:-1],
        "too-long": lambda ask, number: agent.place(ask, number) + b"\0",
        "wrong-version": wrong(version=VERSION - 1),
        "wrong-magic": wrong(magic=1),
        "wrong-type": wrong(kind=ASK),
        "wrong-size": wrong(size=100),
        "unknown-status": wrong(status=9),
        "no-status": wrong(status=0),
        "no-placement": wrong(placement_id=0),
        "distance-not-a-number": wrong(distance=math.nan),
        "distance-infinite": wrong(distance=math.inf),
        "distance-negative": wrong(distance=-1.0),
        "element-empty": wrong(element=""),
        "element-unended": wrong(element="x" * 96),
        "element-unprintable": wrong(element="union/\x1b[2J"),
        "back-end-unknown": wrong(backend=MERGERFS + 90),
        "stage-relative": wrong(stage=stage[1:]),
        "stage-empty": wrong(stage=""),
        "stage-unended": wrong(stage=stage + "x" * (320 - len(stage))),
        "stage-without-room": wrong(stage=stage + "/" + "x" * (310 - len(stage))),
        "stage-climbing": wrong(stage=stage + "/../../../.ses/0"),
        "stage-not-a-stage": wrong(stage=str(union.branches[0])),
        "stage-in-union-relative": wrong(stage_in_union=through[1:]),
    }


REPLIES = [
    *(
        "unavailable",
        "hang-up",
        "garbage",
        "one-byte",
        "truncated",
        "too-long",
        "wrong-version",
        "wrong-magic",
    ),
    *("wrong-type", "wrong-size", "unknown-status", "no-status", "no-placement", "distance-not-a-number"),
    *("distance-infinite", "distance-negative", "element-empty", "element-unended", "element-unprintable"),
    *("back-end-unknown", "stage-relative", "stage-empty", "stage-unended", "stage-without-room"),
    *("stage-climbing", "stage-not-a-stage", "stage-in-union-relative"),
]


def test_every_wrong_reply_is_tried(union: Union) -> None:
    assert sorted(replies(union)) == sorted(REPLIES)
    assert ANSWER != ASK


@pytest.mark.parametrize("name", REPLIES)
def test_wrong_reply_leads_to_the_plain_call_and_a_pause(union: Union, probes: Path, name: str) -> None:
    union.agent.reply = replies(union)[name]
    seconds = create_many(union, probes)
    assert 1 <= len(union.agent.asks) <= most_questions(seconds)
    assert union.agent.reports == []


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"stage": "/nowhere/.ses/0"}, errno.ENOENT),
        ({"stage_in_union": "/nowhere/.ses/0"}, errno.ENOENT),
        ({"least_free_mib": 1 << 31}, errno.EFBIG),
    ],
)
def test_stage_or_room_that_is_not_there_leads_to_the_plain_call(
    union: Union, probes: Path, fields: dict[str, object], error: int
) -> None:
    union.agent.reply = lambda ask, number: union.agent.place(ask, number, **fields)
    seconds = create_many(union, probes, 5)
    assert {(report.outcome, report.error, report.fd) for report in union.agent.reports} == {(2, error, -1)}
    most = 5 + (1 + int(seconds) if "stage" in fields else 0)  # a second question, once in a second
    assert 5 + ("stage" in fields) <= len(union.agent.reports) <= most


def test_agent_that_learns_that_a_staging_directory_is_gone_is_asked_once_more(
    union: Union, probes: Path
) -> None:
    reported_before: list[int] = []

    def reply(ask: Ask, number: int) -> bytes:
        reported_before.append(len(union.agent.reports))
        return union.agent.place(ask, number, **({"stage": "/nowhere/.ses/0"} if number == 1 else {}))

    union.agent.reply = reply
    create_many(union, probes, 1)
    assert [(report.outcome, report.error) for report in union.agent.reports] == [(2, errno.ENOENT), (1, 0)]
    assert reported_before == [0, 1]


def test_hanging_agent_is_waited_for_no_longer_than_allowed(union: Union, probes: Path) -> None:
    union.agent.reply = lambda *_: None
    seconds = create_many(union, probes, SES_SYNC_MS="20")
    assert 1 <= union.agent.connections <= most_questions(seconds)


def test_late_answer_is_not_used(union: Union, probes: Path) -> None:
    late = threading.Event()

    def answer_late(ask: Ask, number: int) -> bytes:
        late.wait(60)
        return union.agent.place(ask, number)

    union.agent.reply = answer_late
    settle, union.agent.settle = union.agent.settle, lambda: None  # type: ignore[method-assign]
    create_many(union, probes, 1, SES_SYNC_MS="5")
    late.set()
    settle()
    assert union.agent.reports == []
    assert union.agent.leftovers() == []


def test_agent_that_does_not_accept_is_not_waited_for(union: Union, probes: Path, tmp_path: Path) -> None:
    path = tmp_path / "deaf.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as deaf:
        deaf.bind(str(path))
        deaf.listen(0)
        waiting = []
        for _ in range(4):  # fill the queue
            client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            client.setblocking(False)
            client.connect_ex(str(path))
            waiting.append(client)
        create_many(union, probes, SES_AGENT_SOCKET=str(path))
        for client in waiting:
            client.close()


@pytest.mark.parametrize("kind", ["nothing", "file", "dead", "stream", "forbidden", "too-long", "directory"])
def test_socket_that_is_no_agent_leads_to_the_plain_call(
    union: Union, probes: Path, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "other.sock"
    other = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if kind == "stream" else socket.SOCK_SEQPACKET)
    if kind == "file":
        path.write_text("")
    elif kind == "directory":
        path.mkdir()
    elif kind in ("dead", "stream", "forbidden"):
        other.bind(str(path))
        if kind != "dead":
            other.listen(1)
    elif kind == "too-long":
        path = tmp_path / ("x" * 120)
    create_many(union, probes, SES_AGENT_SOCKET=str(path), SES_SYNC_MS="200")
    other.close()
    assert union.agent.connections == 0


@pytest.mark.parametrize(("user", "asks"), [("1234", 0), (str(NOBODY), 1)])
def test_agent_of_another_user_is_not_believed(union: Union, probes: Path, user: str, asks: int) -> None:
    """Only root's agent, or one's own, may say where files go."""
    directory = union.path / "open-to-all"
    directory.mkdir()
    directory.chmod(0o777)
    path = union.path.parent / "stranger.sock"
    union.path.parent.chmod(0o777)
    os.seteuid(NOBODY)  # the credentials of a socket are those of the process when it begins to listen
    try:
        stranger = FakeAgent(path, union.path, union.branches)
    finally:
        os.seteuid(0)
    union.run(
        *("setpriv", "--reuid", user, "--clear-groups", "--", probes / "create", "open"),
        *(WRITE, "0644", "022", directory / "file"),
        SES_AGENT_SOCKET=str(path),
    )
    stranger.close()
    assert (directory / "file").exists()
    assert stranger.connections == 1
    assert len(stranger.asks) == asks


def test_setting_disables_the_library(union: Union, probes: Path) -> None:
    create_many(union, probes, 3, SES_DISABLE="1")
    assert union.agent.connections == 0


def test_zero_disables_nothing(union: Union, probes: Path) -> None:
    create_many(union, probes, 3, SES_DISABLE="0")
    assert len(union.agent.reports) == 3


def test_no_time_to_wait_means_no_question(union: Union, probes: Path) -> None:
    create_many(union, probes, 3, SES_SYNC_MS="0")
    assert union.agent.connections == 0


def test_question_names_the_program_and_the_device(union: Union, probes: Path) -> None:
    create_many(union, probes, 1)
    create_many_again = union.path / "again"
    union.run(probes / "create", "creat", "0", "0644", "022", create_many_again, SES_APPLICATION="simulation")
    assert [ask.application for ask in union.agent.asks] == ["process", "simulation"]
    assert {ask.device for ask in union.agent.asks} == {union.path.stat().st_dev}
    assert {(ask.expected_bytes, ask.requirements, ask.pool) for ask in union.agent.asks} == {(-1, (), "")}


def test_report_names_the_file_as_the_program_sees_it(union: Union, probes: Path) -> None:
    done = union.run(probes / "create", "open", WRITE, "0644", "022", union.path / "file")
    (report,) = union.agent.reports
    stat = (union.path / "file").stat()
    assert (report.device, report.inode, report.outcome, report.error) == (stat.st_dev, stat.st_ino, 1, 0)
    assert f"fd={report.fd} " in done.stdout
    assert report.handle == Handle(stat.st_dev, stat.st_ino, str(union.path / "file"), True)


def test_report_of_a_failure_comes_without_a_handle(union: Union, probes: Path) -> None:
    union.agent.reply = lambda ask, number: union.agent.place(ask, number, stage="/nowhere/.ses/0")
    create_many(union, probes, 1)
    assert {(report.outcome, report.handle) for report in union.agent.reports} == {(2, None)}


def test_device_the_agent_does_not_manage_is_asked_for_once(union: Union, probes: Path) -> None:
    union.agent.reply = lambda *_: answer(placement_id=0, status=2)
    begun = time.monotonic()
    create_many(union, probes, 100)
    assert 1 <= len(union.agent.asks) <= 2 + (time.monotonic() - begun) / 4


def test_file_systems_no_back_end_handles_are_never_asked_for(
    union: Union, probes: Path, tmp_path: Path
) -> None:
    directories = [tmp_path / "elsewhere", Path(tempfile.mkdtemp(dir="/dev/shm")) / "elsewhere"]
    try:
        for directory in directories:
            directory.mkdir()
            union.run(probes / "process", "many", "3", directory)
            assert len(list(directory.iterdir())) == 3
    finally:
        shutil.rmtree(directories[1].parent, ignore_errors=True)
    assert union.agent.connections == 0


def test_process_is_served_again_when_the_agent_has_come_back(union: Union, probes: Path) -> None:
    union.agent.reply = lambda ask, number: b"" if number == 1 else union.agent.place(ask, number)
    directories: list[Path] = []

    def lives_longer_than_the_first_pause() -> list[Report]:
        count = 1000 + 4000 * len(directories)
        directories.append(union.path / str(count))
        directories[-1].mkdir()
        union.agent.asks.clear()
        union.run(probes / "process", "many", str(count), directories[-1])
        return union.agent.reports

    wait_until(lives_longer_than_the_first_pause, "it is served again")
    directory = directories[-1]
    # Once it has been, it stays so: all later files are placed.
    placed = {report.inode for report in union.agent.reports}
    names = [directory / f"many-{i}" for i in range(len(list(directory.iterdir())))]
    assert [name.stat().st_ino in placed for name in names[-len(placed) :]] == [True] * len(placed)
