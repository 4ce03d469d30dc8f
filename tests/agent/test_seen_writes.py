"""What a node sees of others by itself: bytes that go onto branches, by their free space."""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from claims_program import Claims, attached
from fake_service import FakeService
from mounts import small_disk
from patience import wait_until
from running_agent import Start

MB = 10**6


@pytest.fixture
def branches(base: Path) -> Iterator[dict[str, Path]]:
    """Two, each a file system of its own."""
    with small_disk(base / "b1", 400) as first, small_disk(base / "b2", 400) as second:
        yield {"union/b1": first, "union/b2": second}


@pytest.fixture
def claims(start: Start, service: FakeService) -> Iterator[Claims]:
    """Those of a user; each branch is said to write 20 MB/s, and the monitor sees others on the second."""
    service.facts = {element: {"write_rate": 20 * MB} for element in ("union/b1", "union/b2")}
    service.loads = {"union/b2": {"foreign": 0.25}}
    agent = start(until="union has 2 candidates")
    with attached(agent) as segment:
        yield segment


def others(claims: Claims) -> list[float]:
    return [round(row.foreign, 3) for row in claims.table.rows()]


def write_until(file: int, condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Write 10 MB a second; return whether the condition held within so many seconds."""
    end = time.monotonic() + seconds
    for number in itertools.count():
        if condition() or time.monotonic() > end:
            return condition()
        os.pwrite(file, bytes(MB), number % 200 * MB)
        time.sleep(0.1)
    raise AssertionError


def test_what_others_write_counts_at_once_where_the_monitor_says_less(
    claims: Claims, branches: dict[str, Path]
) -> None:
    assert others(claims) == [0, 0.25]
    stranger = os.open(branches["union/b1"] / "stranger", os.O_CREAT | os.O_RDWR)
    assert write_until(stranger, lambda: others(claims)[0] >= 0.3), others(claims)
    assert others(claims)[1] == 0.25
    os.ftruncate(stranger, 0)
    wait_until(lambda: others(claims) == [0, 0.25], "what is over counts no more")
    os.close(stranger)


def test_what_our_own_files_take_is_no_work_of_others(claims: Claims, tmp_path: Path) -> None:
    claim = claims.choose(row=0)
    file = claims.create(claim, tmp_path / "ours")
    wait_until(lambda: claims.table.rows()[0].own == 1, "it is counted")
    assert not write_until(file, lambda: others(claims) != [0, 0.25], seconds=3), others(claims)
    assert claims.table.rows()[0].own == 1
    os.close(file)
