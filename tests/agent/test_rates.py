"""At which rates placed files were written and read, and who reads files that exist."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from agent_sources import link
from claims_program import Claims
from fake_service import FakeService
from patience import wait_until
from ran import ran
from running_agent import Agent

MEGA = 1 << 20


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the probe says of each case."""
    program = link(tmp_path_factory.mktemp("rates") / "rates", Path(__file__).parent / "probes/rates.cpp")
    lines = ran([program]).stdout.splitlines()
    return dict(line.split(": ", 1) for line in lines)


@pytest.mark.timeout(1000)  # the compiler takes its time on a busy machine
@pytest.mark.parametrize(
    ("case", "megabytes"),
    [
        ("front to back", "50/0"),
        ("two files", "20/0 30/0"),
        ("holes", "50/0"),
        ("the rest went elsewhere", "50/0"),
        ("overwritten", "50/0"),
        ("overwritten, first look", "0/0"),
        ("two overwritten", "25/0 shared 25/0 shared"),
        ("one grows, one is overwritten", "20/0 30/0"),
        ("a child writes", "50/0"),
        ("made room for a mapping", "0/0 silent"),
        ("a call goes on", "50/0"),
        ("pages of a mapping", "40/0"),
        ("read by position", "0/30"),
        ("read by pread()", "0/30"),
        ("copied", "0/30 30/0"),
    ],
)
def test_bytes_of_a_process_are_given_to_its_files(said: dict[str, str], case: str, megabytes: str) -> None:
    """Written/read."""
    assert said[case] == megabytes


@pytest.mark.timeout(1000)
@pytest.mark.parametrize(
    ("case", "achieved"),
    [
        ("steady", "1004 in 50.2 s, 0 in 0.0 s, open 50.2 s, 27 samples cached"),
        ("pauses", "20 in 2.0 s, 0 in 0.0 s, open 61.1 s, 4 samples cached"),
        ("fsync", "10 in 1.6 s, 0 in 0.0 s, open 1.6 s, 4 samples"),
        ("at random places", "20 in 1.0 s, 0 in 0.0 s, open 1.5 s, 3 samples cached"),
        ("read to the end", "0 in 0.0 s, 25 in 1.2 s, open 1.5 s, 3 samples"),
        ("mapping", "40 in 1.0 s, 0 in 0.0 s, open 1.5 s, 3 samples mapped cached"),
        ("late", "10 in 2.0 s, 0 in 0.0 s, open 2.0 s, 2 samples gaps cached"),
        ("gap", "10 in 10.0 s, 0 in 0.0 s, open 10.0 s, 3 samples gaps cached"),
        ("little", "0 in 0.1 s, 0 in 0.0 s, open 0.1 s, 2 samples small short cached"),
    ],
)
def test_seconds_count_in_which_data_moved(said: dict[str, str], case: str, achieved: str) -> None:
    assert said[case] == achieved


@pytest.mark.timeout(1000)
@pytest.mark.parametrize(
    ("case", "read"),
    [
        ("io", "7 8 9 10, 0"),
        ("fdinfo", "123 55 1 0 1, 0"),
        ("syscall", "1 0 1"),
        ("device", "7:3 7:3 8:1 |"),
        ("kilobytes", "4096 0"),
    ],
)
def test_files_of_the_kernel_are_read(said: dict[str, str], case: str, read: str) -> None:
    assert said[case] == read


@pytest.mark.timeout(1000)
def test_processes_are_asked_in_turn_also_where_many_say_nothing(said: dict[str, str]) -> None:
    assert said["turns"] == "100-37 36-73 72-9 100000-99937"


def achieved(service: FakeService, placement: str) -> dict[str, Any]:
    service.wait_for_end(placement)
    reported: dict[str, Any] = service.ended_as[placement][-1]["achieved"]
    assert reported["open_seconds"] >= max(reported["writing_seconds"], reported["reading_seconds"]) >= 0
    assert len(reported["samples"]) <= 32
    return reported


def test_program_that_grows_one_file_and_overwrites_another(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    """Steps go on until the agent must have looked several times, however slow the machine is."""
    made = [claims.choose(row=row) for row in (0, 1, 0)]
    paths = [tmp_path / name for name in ("grows", "overwritten", "short")]
    grows, overwritten, short = (claims.create(claim, path) for claim, path in zip(made, paths, strict=True))
    os.write(short, b"x" * 7)
    os.close(short)
    steps = 0
    begun = time.monotonic()
    while steps < 25 or time.monotonic() - begun < 3:
        os.write(grows, bytes(MEGA // 2))
        os.pwrite(overwritten, bytes(MEGA), 0)
        steps += 1
        time.sleep(0.1)
    os.fsync(grows)
    os.close(grows)
    os.close(overwritten)
    first, second, third = (achieved(service, claims.id_of(claim)) for claim in made)
    size = steps * MEGA // 2
    assert 0.75 * size <= first["bytes_written"] <= 1.25 * size
    assert not {"too-small", "too-short", "mapped"} & set(first["doubts"])
    assert 0 < first["writing_seconds"] <= first["open_seconds"]
    assert [sample[0] for sample in first["samples"]] == sorted(sample[0] for sample in first["samples"])
    assert [sample[1] for sample in first["samples"]] == sorted(sample[1] for sample in first["samples"])
    # What was overwritten before the first look cannot be told.
    assert MEGA <= second["bytes_written"] <= 1.25 * steps * MEGA
    assert third["bytes_written"] == 7
    assert {"too-small", "too-short"} <= set(third["doubts"])


READ_AGAIN = """
import sys, time
with open(sys.argv[1], "rb", buffering=0) as file:
    sys.stdin.readline()
    while True:
        file.seek(0)
        while file.read(65536):
            time.sleep(0.05)
"""


def readings(service: FakeService) -> list[list[dict[str, Any]]]:
    """What was said of files that are read, each time."""
    return [
        announcement.body["reading"]
        for announcement in service.announcements()
        if "reading" in announcement.body
    ]


def test_what_is_written_at_random_places_is_counted(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    """As if by fio: the file grows now and then, by more than was written or by less."""
    claim, created = claims.choose(row=0), time.monotonic()
    fd = claims.create(claim, tmp_path / "random")
    moments = []
    for place in random.Random(7).sample(range(60), 60):
        os.pwrite(fd, bytes(MEGA // 2), place * MEGA // 2)
        moments.append(time.monotonic() - created)
        time.sleep(0.1)
    os.close(fd)
    reported = achieved(service, claims.id_of(claim))
    # Looks come late on a busy machine, and what was written up to the first is not all told.
    before_it = sum(moment <= reported["samples"][0][0] for moment in moments)
    assert 0.65 * (60 - before_it) <= reported["bytes_written"] / (MEGA // 2) <= 1.35 * 60


def test_what_a_program_reads_back_is_told_apart_from_what_it_wrote(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    """By a descriptor that is opened late, and none of the file could read before."""
    claim, steps = claims.choose(row=0), 40
    path = tmp_path / "read-back"
    created = claims.create(claim, path)
    written = os.open(path, os.O_WRONLY)
    os.close(created)
    for _ in range(steps):
        os.write(written, bytes(MEGA // 2))
        time.sleep(0.1)
    read = os.open(path, os.O_RDONLY)
    for _ in range(steps):
        os.read(read, MEGA // 2)
        time.sleep(0.1)
    os.close(read)
    os.close(written)
    reported = achieved(service, claims.id_of(claim))
    size = steps * MEGA // 2
    assert reported["bytes_written"] == pytest.approx(size, rel=0.2)
    assert reported["bytes_read"] == pytest.approx(size, rel=0.5)


@pytest.mark.root
def test_file_that_exists_is_reported_by_its_element_while_a_program_reads_it(
    agent: Agent, service: FakeService, branches: dict[str, Path], union: Path
) -> None:
    agent.ask().close()
    (branches["union/b2"] / "input").write_bytes(bytes(4 * MEGA))
    command = [sys.executable, "-c", READ_AGAIN, str(union / "input")]
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    waiting = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        wait_until(lambda: any(readings(service)), "the service hears who reads")
        time.sleep(2)  # the other one is passed over meanwhile: it has read nothing
        for (row,) in filter(None, readings(service)):
            assert row.pop("bytes_per_second") > 0
            assert row == {"system": "union", "element": "union/b2", "user": "root", "files": 1}
        assert waiting.stdin
        waiting.stdin.close()
        wait_until(lambda: [row["files"] for row in readings(service)[-1]] == [2], "it begins to read")
    finally:
        for process in (program, waiting):
            process.kill()
            process.wait()
    wait_until(lambda: readings(service)[-1] == [], "the service hears that nobody does")
