"""A placed create costs the metadata server what the same two calls by hand do, as a client would count."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import lov_blobs as lov
import pytest
from lustre_mount import DELAY, LOV, LustreMount, osts_of
from placed_programs import LIST, Site

CREATES = 100
EXCLUSIVE = os.O_CREAT | os.O_EXCL | os.O_WRONLY
LOOP = """
import os, sys
where, way, count = sys.argv[1:]
base = os.open(where, os.O_RDONLY)
os.chdir(where)
for number in range(int(count)):
    name = (f"{where}/" if way == "absolute" else "") + f"directory/f{number}"
    below = base if way == "below" else None
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=below))
"""


def cost(lustre: LustreMount, work: Callable[[], object]) -> tuple[int, int]:
    before = lustre.requests()
    work()
    after = lustre.requests()
    return after[0] - before[0], after[1] - before[1]


@pytest.fixture
def directory(lustre: LustreMount) -> Path:
    made = lustre.path / "directory"
    made.mkdir()
    return made


def test_standin_counts_what_was_counted_on_lustre(lustre: LustreMount, directory: Path) -> None:
    def plain(name: str) -> None:
        os.close(os.open(directory / name, EXCLUSIVE))

    def by_hand(name: str, *, look: bool = False, read: bool = False, again: bool = False) -> None:
        if look:
            directory.stat()
        fd = os.open(directory / name, EXCLUSIVE | DELAY)
        os.fstat(fd)
        os.setxattr(fd, LOV, lov.plain(count=1))
        if read:
            os.getxattr(fd, LOV)
        if again:
            os.close(os.open(directory / name, os.O_PATH))
        os.close(fd)

    names = range(CREATES)
    assert cost(lustre, lambda: [plain(f"a{n}") for n in names]) == (100, 100)
    assert cost(lustre, lambda: [by_hand(f"b{n}") for n in names]) == (200, 200)
    assert cost(lustre, lambda: [by_hand(f"c{n}", read=True) for n in names]) == (200, 200)
    assert cost(lustre, lambda: [by_hand(f"d{n}", look=True) for n in names]) == (300, 200)
    assert cost(lustre, lambda: [by_hand(f"e{n}", again=True) for n in names]) == (300, 200)
    assert cost(lustre, lambda: [directory.stat() for _ in names]) == (1, 0)


@pytest.mark.parametrize("way", ["absolute", "relative", "below"])
def test_placed_creates_send_what_the_two_calls_by_hand_do(site: Site, directory: Path, way: str) -> None:
    site.put(LIST, [4])

    def placed(count: int) -> tuple[int, int]:
        for old in directory.iterdir():
            old.unlink()
        command = ("/usr/bin/python3", "-c", LOOP, site.lustre.path, way, str(count))
        return cost(site.lustre, lambda: site.run(*command))

    first = placed(1)
    begun = time.monotonic()
    many = placed(CREATES + 1)
    seconds = time.monotonic() - begun
    assert {osts_of(file) for file in directory.iterdir()} == {(4,)}
    assert many[1] - first[1] == 2 * CREATES
    # The directory is looked at once a second, and three times more when its default is read, once in ten.
    looks = 1 + seconds + 3 * (1 + seconds / 10)
    assert 2 * CREATES <= many[0] - first[0] <= 2 * CREATES + looks
