"""Layouts of Lustre, as the extended attribute ``lustre.lov`` holds them.

Reads V1, V3, SPECIFIC and COMP_V1, and puts a pool or a first OST into the default of a directory.
Byte positions: ``lustre_user.h`` of Lustre 2.7 to 2.17.  Layouts of the other byte order, and what
is no layout, are refused with LayoutError; nothing is guessed.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

ATTRIBUTE = "lustre.lov"
EOF = 2**64 - 1
ANY_OST = ALL_OSTS = 0xFFFF
MDT, OVERSTRIPING, RAID0 = 0x100, 0x200, 0x1
INIT, EXTENSION = 0x10, 0x40

_V1, _V3, _SPECIFIC, _COMP, _FOREIGN = 0x0BD10BD0, 0x0BD30BD0, 0x0BD50BD0, 0x0BD60BD0, 0x0BD70BD0
_PLAIN = struct.Struct("=II16sIHH")
_OBJECT = struct.Struct("=16sII")
_HEAD = struct.Struct("=IIIHHHB13s")
_ENTRY = struct.Struct("=IIQQII16s")
_POOL_BYTES = 16

# On a directory this means: no default of its own.
NOTHING_SAID = _PLAIN.pack(_V1, 0, bytes(16), 0, 0, ANY_OST)


class LayoutError(ValueError):
    """The bytes are not a layout this module knows."""


@dataclass(frozen=True, slots=True)
class Component:
    """One component of a layout; a plain layout is its only one.  Bytes of the file: [start, end)."""

    start: int
    end: int
    id: int
    flags: int
    pattern: int
    stripe_size: int  # bytes; 0: the file system's own
    stripe_count: int  # 0: the file system's own; ALL_OSTS: all
    stripe_offset: int  # index of the first OST; ANY_OST
    pool: str
    osts: tuple[int, ...]  # of the objects it has, or that are requested
    foreign: bool
    at: int
    length: int

    @property
    def kind(self) -> str:
        """What holds the data: ``raid0``, ``mdt``, ``foreign``, or their like."""
        if self.foreign:
            return "foreign"
        if self.pattern & MDT:
            return "mdt"
        name = "raid0,overstriped" if self.pattern & OVERSTRIPING else "raid0"
        return f"{name},extension" if self.flags & EXTENSION else name


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout that has been read."""

    composite: bool
    mirrors: int
    components: tuple[Component, ...]
    raw: bytes

    @property
    def osts(self) -> tuple[int, ...]:
        """Every OST that holds objects, each once, in the order of the file."""
        listed = (ost for component in self.components if component.kind != "mdt" for ost in component.osts)
        return tuple(dict.fromkeys(listed))


def read(raw: bytes) -> Layout:
    """Return the layout in the bytes; raises LayoutError."""
    if len(raw) < 4:
        raise LayoutError(f"{len(raw)} bytes are no layout")
    if struct.unpack_from("=I", raw)[0] != _COMP:
        return Layout(False, 1, (_plain(raw, (0, 0, 0, EOF), 0, len(raw)),), raw)
    if len(raw) < _HEAD.size:
        raise LayoutError("a composite layout is cut short")
    _, size, _, _, count, mirrors, _, _ = _HEAD.unpack_from(raw)
    if size > len(raw) or count == 0 or _HEAD.size + count * _ENTRY.size > size:
        raise LayoutError("a composite layout is cut short")
    raw = raw[:size]
    components = []
    for number in range(count):
        name, flags, start, end, offset, length, _ = _ENTRY.unpack_from(
            raw, _HEAD.size + number * _ENTRY.size
        )
        if offset < _HEAD.size + count * _ENTRY.size or offset + length > size:
            raise LayoutError(f"component {number + 1} lies outside the layout")
        components.append(_plain(raw, (name, flags, start, end), offset, length))
    return Layout(True, mirrors + 1, tuple(components), raw)


def _plain(raw: bytes, entry: tuple[int, int, int, int], at: int, length: int) -> Component:
    name, flags, start, end = entry
    part = raw[at : at + length]
    magic = struct.unpack_from("=I", part)[0] if length >= 4 else 0
    if magic == _FOREIGN and at > 0:
        return Component(start, end, name, flags, 0, 0, 0, ANY_OST, "", (), True, at, length)
    head = _PLAIN.size if magic == _V1 else _PLAIN.size + _POOL_BYTES
    if magic not in (_V1, _V3, _SPECIFIC) or length < head:
        raise LayoutError(f"magic {magic:#x} with {length} bytes is no layout known here")
    _, pattern, _, size, count, offset = _PLAIN.unpack_from(part)
    pool = b"" if magic == _V1 else part[_PLAIN.size : head].split(b"\0", 1)[0]
    listed = min((length - head) // _OBJECT.size, count) if count <= 2000 else 0
    osts = tuple(_OBJECT.unpack_from(part, head + n * _OBJECT.size)[2] for n in range(listed))
    text = pool.decode("utf-8", "replace")
    return Component(start, end, name, flags, pattern, size, count, offset, text, osts, False, at, length)


def only_on(target: int | str) -> bytes:
    """Return a plain layout for a file: one object on exactly this OST, or one on each OST of this pool."""
    if isinstance(target, int):
        head = _PLAIN.pack(_SPECIFIC, RAID0, bytes(16), 0, 1, target) + bytes(_POOL_BYTES)
        return head + _OBJECT.pack(bytes(16), 0, target)
    if not target or len(target.encode()) >= _POOL_BYTES:
        raise LayoutError(f"a pool's name has 1 to 15 bytes, unlike {target!r}")
    head = _PLAIN.pack(_V3, RAID0, bytes(16), 0, ALL_OSTS, ANY_OST)
    return head + target.encode().ljust(_POOL_BYTES, b"\0")


def with_place(raw: bytes, *, pool: str = "", first_ost: int | None = None) -> bytes:
    """Return a directory's default (``b""``: none) with a pool, or else a first OST, put into it.

    Changes what ``ses_lov_edit`` of the library changes, and nothing else: the first component of
    the first mirror that holds data on OSTs, and those after it that name no pool.  Raises
    LayoutError when there is none, or the pool's name is too long.
    """
    if (first_ost is None) == (not pool) or len(pool.encode()) >= _POOL_BYTES:
        raise LayoutError(f"a place is one OST or one pool of at most 15 bytes, not {pool!r}")
    layout = read(raw) if raw else Layout(False, 1, (read(NOTHING_SAID).components[0],), b"")
    changed = False
    out = layout.raw
    for number in range(len(layout.components)):
        component = layout.components[number]
        if number > 0 and component.start == 0:
            break  # the second mirror
        fixed = (
            component.foreign
            or component.pattern & ~(RAID0 | OVERSTRIPING)
            or component.flags & (EXTENSION | INIT)
        )
        narrow = bool(pool) or component.stripe_count <= 1
        if fixed or (changed and (component.pool or not narrow)):
            continue
        part = _part(component, pool, first_ost)
        out = _replaced(out, number, component, part) if layout.composite else part
        if layout.composite:
            layout = read(out)
        changed = True
    if not changed:
        raise LayoutError("no component of this default holds data on OSTs of its own choice")
    return out


def _part(was: Component, pool: str, first_ost: int | None) -> bytes:
    offset = ANY_OST if first_ost is None else first_ost
    count = was.stripe_count if pool else 1
    head = _PLAIN.pack(_V3 if pool else _V1, was.pattern, bytes(16), was.stripe_size, count, offset)
    return head + pool.encode().ljust(_POOL_BYTES, b"\0") if pool else head


def _replaced(raw: bytes, number: int, was: Component, part: bytes) -> bytes:
    """The composite layout with one part exchanged, and the offsets behind it moved."""
    grown = len(part) - was.length
    end = was.at + was.length
    out = bytearray(raw[: was.at] + part + raw[end:])
    struct.pack_into("=I", out, 4, len(out))
    (count,) = struct.unpack_from("=H", out, 14)
    for other in range(count):
        at = _HEAD.size + other * _ENTRY.size
        (offset,) = struct.unpack_from("=I", out, at + 24)
        if other == number:
            struct.pack_into("=I", out, at + 28, len(part))
        elif offset >= end:
            struct.pack_into("=I", out, at + 24, offset + grown)
    return bytes(out)


def of_path(path: Path) -> bytes | None:
    """Return the layout of a file, or the effective default of a directory; None: it has none.

    Raises OSError: EOPNOTSUPP where there is no Lustre.
    """
    try:
        return os.getxattr(path, ATTRIBUTE)
    except OSError as error:
        if error.errno == 61:  # ENODATA
            return None
        raise
