"""Files that are closed before their bytes can have been written count on for a while."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from claims_program import Claims
from patience import wait_until
from running_agent import Agent
from service_double import ServiceDouble

SLOW = 2e6  # bytes a second


@pytest.fixture
def claims(start: Callable[..., Agent], service: ServiceDouble, device: int) -> Iterator[Claims]:
    service.facts = {element: {"write_rate": SLOW} for element in service.targets}
    agent = start(service.url)
    agent.wait_for("union has")
    agent.ask(device).close()
    attached = Claims(agent.socket, os.getuid())
    attached.wait_until_staged()
    wait_until(lambda: not any(attached.table.own().values()), "nothing is counted")
    yield attached
    attached.detach()
    attached.table.detach()


def close(claims: Claims, path: Path, content: bytes) -> str:
    """Create a file, write CONTENT and close it at once; return its placement."""
    claim = claims.choose()
    fd = claims.create(claim, path)
    os.write(fd, content)
    os.close(fd)
    return claims.id_of(claim)


def test_file_that_caches_still_write_counts_for_longer(
    claims: Claims, service: ServiceDouble, tmp_path: Path
) -> None:
    large = close(claims, tmp_path / "large", bytes(int(3 * SLOW)))
    wait_until(lambda: service.opened(large), "it is told")
    empty = close(claims, tmp_path / "empty", b"")
    wait_until(lambda: empty in service.ended_as, "an empty one ends at its close")
    assert large not in service.ended_as
    assert sum(claims.table.own().values()) == 1
    wait_until(lambda: large in service.ended_as, "it is written out")
    assert [end["bytes_written"] for end in service.ended_as[large]] == [3 * SLOW]
    wait_until(lambda: not any(claims.table.own().values()), "nothing is counted any more")
