"""Open files in which nothing moves: no streams, in the node's table and for the service, until they move."""

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from claims_program import Claims
from fake_service import FakeService
from patience import moves, wait_until

MIB = 1 << 20
KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE of <linux/falloc.h>
SECOND = 1000  # of `last_placed`; that of elements in use is reported in whole seconds


@pytest.fixture
def numbers() -> range:
    """One for each of the files, and one more."""
    return range(5)


@contextmanager
def going_on(*steps: Callable[[], object]) -> Iterator[Callable[[], bool]]:
    """Take the steps again and again meanwhile; gives whether they were ever long in coming."""
    done = threading.Event()
    last, longest = time.monotonic(), 0.0

    def go_on() -> None:
        nonlocal last, longest
        while not done.wait(0.02):
            for step in steps:
                step()
            longest = max(longest, time.monotonic() - last)
            last = time.monotonic()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield lambda: max(longest, time.monotonic() - last) > 1
    finally:
        done.set()
        thread.join()


def test_only_a_file_that_does_not_move_is_no_stream_until_it_moves(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    made = [claims.choose(row=row) for row in range(4)]
    ids = [claims.id_of(claim) for claim in made]
    paths = [tmp_path / name for name in ("silent", "grows", "overwritten", "read")]
    silent, grows, overwritten, read = files = [
        claims.create(claim, path) for claim, path in zip(made, paths, strict=True)
    ]
    os.write(read, b"x" * 4096)
    with going_on(
        lambda: os.write(grows, b"more"),
        lambda: os.pwrite(overwritten, b"the same place", 0),
        lambda: os.pread(read, 4096, 0),
    ) as machine_stood_still:
        wait_until(lambda: service.opened(ids[0]) and service.is_idle(ids[0]), "the service hears of it")
        wait_until(lambda: claims.table.own()["union/b0"] == 0, "it is no stream")
        streams = [claims.table.rows()[row].own for row in (1, 2, 3)]
        idle = [service.is_idle(id) for id in ids[1:]]
        assert (idle, streams) == ([False] * 3, [1.0] * 3) or machine_stood_still()
        moments = [row.last_placed // SECOND for row in claims.table.rows()]
        wait_until(lambda: moves(silent) and not service.is_idle(ids[0]), "the service hears that it goes on")
        wait_until(lambda: moves(silent) and claims.table.own()["union/b0"] == 1, "it is a stream again")
        assert [row.last_placed // SECOND for row in claims.table.rows()] == moments, "nobody placed anything"
    for fd in files:
        os.close(fd)
    service.wait_for_end(ids[0])
    assert service.ended(ids[0]) == [{"reason": "closed", "bytes_written": 1}]


def test_an_open_file_is_reported_to_be_as_large_as_it_was_given_room(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    made = [claims.choose(row=row) for row in range(2)]
    files = [claims.create(claim, tmp_path / f"file{number}") for number, claim in enumerate(made)]
    ids = [claims.id_of(claim) for claim in made]
    wait_until(lambda: all(map(service.opened, ids)), "both were looked at")
    os.ftruncate(files[0], 64 * MIB)
    assert ctypes.CDLL(None).fallocate(files[1], KEEP_SIZE, ctypes.c_long(0), ctypes.c_long(32 * MIB)) == 0
    wait_until(lambda: service.bytes_of(ids[0]) == 64 * MIB, "the service hears of the size")
    known = 32 * MIB * 4 / 5  # a look may come while room is made; a quarter more is reported again
    wait_until(lambda: service.bytes_of(ids[1]) >= known, "the service hears of the room")
    for fd in files:
        os.close(fd)
    service.wait_for_end(ids[1])
    assert service.ended(ids[1]) == [{"reason": "closed", "bytes_written": 0}]


def test_idle_file_is_reported_as_such_to_a_service_that_forgot_it(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    claim = claims.choose(row=1)
    fd = claims.create(claim, tmp_path / "file")
    placement = claims.id_of(claim)
    wait_until(lambda: service.opened(placement) and service.is_idle(placement), "it is idle")
    service.kill()
    service.forget()
    service.revive()
    wait_until(lambda: service.opened(placement), "it is reported again")
    assert service.is_idle(placement)
    os.close(fd)
    service.wait_for_end(placement)
    wait_until(lambda: claims.table.own()["union/b1"] == 0, "it does not count")
