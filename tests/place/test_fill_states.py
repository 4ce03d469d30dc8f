"""In fill states drawn at random, what is placed never meets a full disk while there is room somewhere.

File systems, fill and what is written are real (tmpfs, ``fallocate``).  The same jobs go to directories drawn
by their size, as where a site has fixed weights.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest
import ses.api

MEBIBYTE = 1 << 20
SIZES = (12, 16, 24, 24, 32, 32, 48, 64)  # MiB
LEAST = 4 * MEBIBYTE  # a directory with less free counts as full
SLACK = 1.2


@contextmanager
def taken(directory: Path, size: int) -> Iterator[None]:
    """Take up so many bytes for a while.  Raises OSError where there are fewer."""
    path = directory / f"file-{os.urandom(8).hex()}"
    try:
        with path.open("wb") as file:
            if size:
                os.posix_fallocate(file.fileno(), 0, size)
        yield
    finally:
        path.unlink()


def free(directory: Path) -> int:
    status = os.statvfs(directory)
    return status.f_bavail * status.f_frsize


def sizes_drawn(chance: Random, room: list[int]) -> Iterator[int]:
    """Draw sizes of jobs, each with ``SLACK`` times its size free somewhere; the caller keeps ``room``."""
    for _ in range(chance.randint(1, 4)):
        largest = max(room) / SLACK
        if largest < LEAST:
            return
        yield chance.randint(MEBIBYTE // 4, int(largest))


def written(jobs: list[tuple[Path, int]]) -> int:
    """Return how many of the jobs meet a full disk as all write at once."""
    with ExitStack() as stack:
        failed = 0
        for directory, size in jobs:
            try:
                stack.enter_context(taken(directory, size))
            except OSError:
                failed += 1
        return failed


def run(chance: Random, disks: list[Path], ledger: Path) -> tuple[int, int, int]:
    """Draw a fill state and jobs; return how many jobs, and how many failed: placed, and by weights."""
    among, placed = [str(disk) for disk in disks], []
    with ExitStack() as state:
        for disk in disks:
            state.enter_context(taken(disk, int(chance.random() * free(disk))))
        room = [free(disk) for disk in disks]
        with ExitStack() as claims:
            for size in sizes_drawn(chance, room):
                chosen = claims.enter_context(ses.api.place(among, size=size, ledger=ledger))
                placed.append((Path(chosen.directory), size))
                room[among.index(chosen.directory)] -= size
            failed = written(placed)
        drawn = [(chance.choices(disks, SIZES)[0], size) for _, size in placed]
        return len(placed), failed, written(drawn)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("states", [40, pytest.param(1000, marks=pytest.mark.long)])
def test_nothing_meets_a_full_disk_where_fixed_weights_do(
    disks: Callable[..., list[Path]], tmp_path: Path, states: int
) -> None:
    made = disks(*SIZES)
    outcomes = [run(Random(seed), made, tmp_path / "ledger") for seed in range(states)]
    jobs, failed, by_weights = map(sum, zip(*outcomes, strict=True))
    print(f"{states} states, {jobs} jobs: {failed} met a full disk, {by_weights} by fixed weights")
    assert jobs > states
    assert failed == 0
    assert by_weights > 0.3 * jobs
