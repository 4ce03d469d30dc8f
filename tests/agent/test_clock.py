"""The node's clock is set while files are open: no age and no end follows it, only reported times."""

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from claims_program import Claims, attached
from fake_service import FakeService
from patience import wait_until
from running_agent import Start

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
HOURS = 3
FAR = HOURS * 3600 / 2  # seconds: nothing here lasts half as long


@pytest.fixture
def clock(base: Path) -> Path:
    """By how much the agent's clock differs from the machine's; read each time it is looked at."""
    path = base / "clock"
    path.write_text("+0")
    return path


@pytest.fixture
def claims(start: Start, clock: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Claims]:
    assert FAKETIME, "install the Debian package libfaketime"
    with monkeypatch.context() as environment:
        for name, value in {
            "LD_PRELOAD": str(FAKETIME),
            "FAKETIME_TIMESTAMP_FILE": str(clock),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DISABLE_SHM": "1",
            "NO_FAKE_STAT": "1",
        }.items():
            environment.setenv(name, value)
        agent = start(until="union has")
    with attached(agent) as segment:
        yield segment


def close_at_once(claims: Claims, path: Path) -> str:
    claim = claims.choose()
    os.close(claims.create(claim, path))
    return claims.id_of(claim)


@pytest.mark.parametrize("ahead", [HOURS, -HOURS])
def test_a_clock_that_is_set_makes_no_age_and_no_end(
    claims: Claims, service: FakeService, tmp_path: Path, clock: Path, ahead: int
) -> None:
    kept, closed = claims.choose(), claims.choose()
    kept_fd = claims.create(kept, tmp_path / "kept")
    closed_fd = claims.create(closed, tmp_path / "closed")
    wait_until(lambda: service.opened(claims.id_of(closed)), "it is reported")
    clock.write_text(f"{ahead:+}h")
    after = claims.choose()
    after_fd = claims.create(after, tmp_path / "after")
    wait_until(lambda: claims.id_of(after) in service.decided, "it is reported")
    _, decision = service.decided[claims.id_of(after)]
    assert abs(decision["decided_at"] - time.time() - ahead * 3600) < FAR, "the clock was set"
    assert 0 <= decision["age_seconds"] < FAR
    assert all(
        0 <= candidate["age"] < FAR for candidate in decision["candidates"] if candidate["age"] is not None
    )
    os.close(closed_fd)
    for number in range(2):  # what is closed later ends later
        later = close_at_once(claims, tmp_path / f"later{number}")
        wait_until(partial(service.ended_as.__contains__, later), "an empty file ends at its close")
    assert claims.id_of(closed) in service.ended_as
    end = service.ended_as[claims.id_of(closed)][0]
    assert 0 <= end["achieved"]["open_seconds"] < FAR
    assert service.open_now() >= {claims.id_of(kept), claims.id_of(after)}
    os.close(after_fd)
    os.close(kept_fd)
