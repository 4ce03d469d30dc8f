"""Heads and names that no region of this library has: refused, and in nobody's way."""

import errno
import resource
import struct

import pytest
from ses.share import Region, regions
from sharing import memory_of, refused

# libses/extras/share/layout.h
VERSION, HEAD_SIZE, SIZE, HEAP, ITEMS, READY, NAME = 4, 6, 8, 16, 24, 28, 48
FIRST_RECORD_NAME = 4096 + 48


@pytest.mark.parametrize(
    ("offset", "false", "error"),
    [
        (0, b"NONE", errno.ENOENT),
        (VERSION, struct.pack("=H", 2), errno.ENOTSUP),
        (HEAD_SIZE, struct.pack("=H", 64), errno.ENOTSUP),
        (SIZE, struct.pack("=Q", 1 << 40), errno.ENOTSUP),
        *((HEAP, struct.pack("=Q", heap), errno.ENOTSUP) for heap in (0, 4096, 1 << 40, (1 << 64) - 64)),
        (HEAP, struct.pack("=Q", 20000 + 1), errno.ENOTSUP),
        *((ITEMS, struct.pack("=I", items), errno.ENOTSUP) for items in (1 << 16, 1 << 31, (1 << 32) - 1)),
        (NAME, b"other\0", errno.ENOENT),
        (NAME, b"\xff\x1b[2J\0", errno.ENOENT),
        (NAME, b"x" * 64, errno.ENOENT),
    ],
)
def test_region_with_a_false_head_is_refused_and_not_listed(
    region: Region, offset: int, false: bytes, error: int
) -> None:
    memory = memory_of(region)
    true = memory[offset : offset + len(false)]
    assert region.name in {listed.name for listed in regions()}
    memory[offset : offset + len(false)] = false
    try:
        with refused(error):
            Region.open(region.name)
        assert region.name not in {listed.name for listed in regions()}
    finally:
        memory[offset : offset + len(false)] = true


def test_item_with_an_odd_name_is_not_listed(region: Region) -> None:
    region.alloc("first", 64)
    region.alloc("second", 64)
    memory_of(region)[FIRST_RECORD_NAME : FIRST_RECORD_NAME + 6] = b"\xff\x1b[2J\0"
    assert [item.name for item in region.items()] == ["second"]


def test_listing_waits_for_nobody_who_makes_a_region(name: str) -> None:
    """Whoever makes regions and never finishes them would hold up everybody's list."""
    made = [Region.create(f"{name}-{number}", size=1, items=1) for number in range(20)]
    for region in made:
        memory_of(region)[READY : READY + 4] = bytes(4)
    slept = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    assert not {listed.name for listed in regions()} & {region.name for region in made}
    slept = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - slept
    assert slept < 2000, "who opens one sleeps 5000 times until it is given up"
    for region in made:
        memory_of(region)[READY] = b"\1"
        Region.remove(region.name)
