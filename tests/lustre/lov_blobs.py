"""Layouts of Lustre as bytes: those that a real one was seen to take, and the making and reading of others.

Independent of libses, so that the two can disagree.  Byte positions: lustre_user.h of Lustre 2.17.0.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

V1, V3, SPECIFIC, COMP, FOREIGN = 0x0BD10BD0, 0x0BD30BD0, 0x0BD50BD0, 0x0BD60BD0, 0x0BD70BD0
RAID0, MDT, OVERSTRIPING = 0x1, 0x100, 0x200
ANY, ALL, EOF = 0xFFFF, 0xFFFF, 2**64 - 1
INIT, EXTENSION = 0x10, 0x40

_PLAIN = struct.Struct("=II16sIHH")
_OBJECT = struct.Struct("=16sII")
_COMP = struct.Struct("=IIIHHHB13s")
_ENTRY = struct.Struct("=IIQQIIIQI")
_COMP_SIZE, _ENTRY_SIZE = 32, 48

# What strace showed liblustreapi 2.17.0 give to fsetxattr(fd, "lustre.lov", ...) when a file was created
# with one OST index, and with a pool.  The bytes of the object id are what the library left there.
CAPTURED_INDEX = b"\xd0\x0b\xd1\x0b\x01" + bytes(23) + b"\x01\x00\x01\x00"
CAPTURED_POOL = (
    b"\xd0\x0b\xd3\x0b\x01" + bytes(11) + b"lov/lust" + bytes(4) + b"\x01\x00\xff\xff" + b"fast\0tlov/pools"
    b"\x00"
)


def plain(
    *,
    pool: str | None = None,
    osts: Sequence[int] | None = None,
    specific: bool = False,
    count: int | None = None,
    size: int = 0,
    offset: int = ANY,
    pattern: int = RAID0,
) -> bytes:
    """A plain layout; with `osts` it lists objects on them (a file's), or requests them (`specific`)."""
    magic = SPECIFIC if specific else V1 if pool is None else V3
    stripes = count if count is not None else len(osts or ())
    head = _PLAIN.pack(magic, pattern, bytes(16), size, stripes, offset)
    if magic != V1:
        head += (pool or "").encode().ljust(16, b"\0")
    return head + b"".join(_OBJECT.pack(bytes(16), 0, ost) for ost in osts or ())


@dataclass(frozen=True)
class Part:
    """One component of a composite layout."""

    blob: bytes
    start: int
    end: int
    flags: int = 0
    id: int = 0
    gen: int = 0
    stamp: int = 0


def composite(parts: Sequence[Part], *, mirrors: int = 1, flags: int = 0, gen: int = 0) -> bytes:
    """A layout of components, their parts one after the other."""
    offset = _COMP_SIZE + _ENTRY_SIZE * len(parts)
    entries, blobs = b"", b""
    for part in parts:
        entries += _ENTRY.pack(
            part.id, part.flags, part.start, part.end, offset + len(blobs), len(part.blob),
            part.gen, part.stamp, 0,
        )  # fmt: skip
        blobs += part.blob
    head = _COMP.pack(COMP, offset + len(blobs), gen, flags, len(parts), mirrors - 1, 0, bytes(13))
    return head + entries + blobs


@dataclass(frozen=True)
class Plain:
    """A plain layout, read."""

    magic: int
    pattern: int
    size: int
    count: int
    offset: int
    pool: str
    osts: tuple[int, ...]


def read_plain(blob: bytes) -> Plain:
    magic, pattern, _, size, count, offset = _PLAIN.unpack_from(blob)
    head = 32 if magic == V1 else 48
    assert magic in (V1, V3, SPECIFIC), hex(magic)
    pool = "" if magic == V1 else blob[32:48].split(b"\0")[0].decode()
    osts = tuple(_OBJECT.unpack_from(blob, at)[2] for at in range(head, len(blob) - 23, 24))
    return Plain(magic, pattern, size, count, offset, pool, osts)


def read_parts(blob: bytes) -> list[Part]:
    """The components of a composite layout; a plain one is its own only component."""
    if struct.unpack_from("=I", blob)[0] != COMP:
        return [Part(blob, 0, EOF)]
    _, total, _, _, count, _, _, _ = _COMP.unpack_from(blob)
    assert total == len(blob)
    parts = []
    for number in range(count):
        name, flags, start, end, offset, length, gen, stamp, _ = _ENTRY.unpack_from(
            blob, _COMP_SIZE + number * _ENTRY_SIZE
        )
        parts.append(Part(blob[offset : offset + length], start, end, flags, name, gen, stamp))
    return parts


def osts_of(blob: bytes) -> tuple[int, ...]:
    """The OSTs of every object the layout lists."""
    osts: list[int] = []
    for part in read_parts(blob):
        if struct.unpack_from("=I", part.blob)[0] != FOREIGN:
            osts += read_plain(part.blob).osts
    return tuple(osts)
