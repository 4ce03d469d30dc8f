"""Files that were closed count while a cache writes them out, and while their node reads them again."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_sources import link
from claims_program import Claims, attached
from fake_service import FakeService
from patience import wait_until
from ran import ran
from running_agent import Start

SLOW = 2e6  # bytes a second


@pytest.fixture
def slow() -> str:
    """What is slow on all elements."""
    return "write_rate"


@pytest.fixture
def claims(start: Start, service: FakeService, slow: str) -> Iterator[Claims]:
    service.facts = {element: {slow: SLOW} for element in service.targets}
    agent = start(until="union has")
    with attached(agent) as segment:
        yield segment


def close(claims: Claims, path: Path, content: bytes) -> str:
    """Create a file, write CONTENT and close it at once; return its placement."""
    claim = claims.choose()
    fd = claims.create(claim, path)
    os.write(fd, content)
    os.close(fd)
    return claims.id_of(claim)


def test_file_that_caches_still_write_counts_for_longer(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    claim = claims.choose()
    fd = claims.create(claim, tmp_path / "large")
    large = claims.id_of(claim)
    wait_until(lambda: service.opened(large), "it is reported")
    begun = time.monotonic()
    os.write(fd, bytes(int(3 * SLOW)))
    os.close(fd)
    empty = close(claims, tmp_path / "empty", b"")
    wait_until(lambda: empty in service.ended_as, "an empty one ends at its close")
    counts = large not in service.ended_as and sum(claims.table.own().values()) == 1
    assert counts or time.monotonic() - begun > 2.5, "it counts while it is written"
    wait_until(lambda: large in service.ended_as, "it is written out")
    assert time.monotonic() - begun > 2.5
    assert [end["bytes_written"] for end in service.ended(large)] == [3 * SLOW]
    wait_until(lambda: not any(claims.table.own().values()), "nothing is counted any more")


@pytest.mark.parametrize("slow", ["read_rate"])
def test_file_that_is_read_again_is_a_stream_meanwhile(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    def streams() -> float:
        return sum(claims.table.own().values())

    large = close(claims, tmp_path / "large", bytes(int(3 * SLOW)))  # before the agent can look, as a rule
    wait_until(lambda: service.opened(large), "it is reported")
    wait_until(lambda: streams() == 0, "it is written, and nobody reads it")
    wait_until(lambda: service.is_closed(large), "its size is reported as that of a closed file")
    assert service.bytes_of(large) == 3 * SLOW
    for _ in range(3):
        with (tmp_path / "large").open("rb") as file:
            wait_until(lambda: streams() == 1, "its opening makes it one")
            file.read()
        wait_until(lambda: streams() == 0, "it is none")
    assert large not in service.ended_as


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What is reported of files by what happened to them since they were closed."""
    place = tmp_path_factory.mktemp("closed")
    program = link(place / "closed_files", "closed_files.cpp")
    said = ran([program, place])
    return said.stdout.splitlines()


@pytest.mark.timeout(1000)  # the compiler takes its time on a busy machine
@pytest.mark.parametrize(
    ("case", "looks"),
    [
        ("opened and closed", [" moves idle"]),
        ("closed and opened", [" moves", " idle moves", " idle"]),
        ("read by who had it open before", [" moves", " idle"]),
        ("read and closed by who had it open before", [""]),
        ("removed", [" ended"]),
    ],
)
def test_closed_file_is_a_stream_while_somebody_has_it_open(
    reported: list[str], case: str, looks: list[str]
) -> None:
    assert [line for line in reported if line.startswith(f"{case}:")] == [f"{case}:{look}" for look in looks]
