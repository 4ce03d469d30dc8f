"""Measuring what a storage element gives to one stream: bounded writing, then reading of the same bytes.

The file has no name while data are written: it is unlinked as soon as it is known to lie on the element,
so that nothing stays behind however the program ends.  Past the page cache (O_DIRECT) where the file
system allows that; else the data are synced before the clock stops and dropped from the cache before
they are read.

Does not: measure several streams, metadata or small requests; move or read anybody's files.
"""

from __future__ import annotations

import errno
import mmap
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ses_client.errors import SesError

from ses.lustre import blob

BLOCK_BYTES = 4 * 2**20
MAX_PART = 0.10
"""Part of the free space that is written at most."""
_DELAYED = os.O_NOCTTY | 0o20000
"""Lustre: make no objects yet (0o20000 is O_ASYNC, which os does not name)."""


class NotMeasuredError(SesError):
    """An element was left alone, or given up; the message says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an element's file is made: ``directory`` on this node; for Lustre the OST or pool, too."""

    element: str
    iri: str
    directory: Path
    lustre: int | str | None = None
    free_bytes: float | None = None
    """What the monitor says is free on the element itself, where that is known."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Rates in bytes per second; ``direct``: without the page cache."""

    write_rate: float
    read_rate: float
    written_bytes: int
    direct: bool


def refuse_when_full(place: Place, size: int) -> None:
    """Raise NotMeasuredError when ``size`` bytes are more than a tenth of what is free."""
    try:
        space = os.statvfs(place.directory)
    except OSError as error:
        raise NotMeasuredError(f"{place.directory} cannot be used on this node: {error.strerror}") from None
    free = float(space.f_bavail * space.f_frsize)
    if place.lustre is not None and place.free_bytes is not None:  # statvfs is about all OSTs together
        free = min(free, place.free_bytes)
    if size > MAX_PART * free:
        raise NotMeasuredError(
            f"{size / 1e9:.2f} GB are more than a tenth of the {free / 1e9:.2f} GB that are free: "
            "give a smaller --size-mib, or make room"
        )


def measure(
    place: Place, size: int, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> Measured:
    """Write up to ``size`` bytes for at most ``seconds``, then read them for at most ``seconds``.

    Raises NotMeasuredError; nothing is left on the element, whatever happens.
    """
    refuse_when_full(place, size)
    path = place.directory / f".ses-calibrate-{secrets.token_hex(8)}"
    try:
        descriptor, direct = _nameless(path, place.lustre)
    except (OSError, blob.LayoutError) as error:
        cause = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise NotMeasuredError(f"no file can be made in {place.directory}: {cause}") from None
    try:
        with mmap.mmap(-1, BLOCK_BYTES) as block:  # aligned, as O_DIRECT wants it
            block[:] = os.urandom(BLOCK_BYTES)
            written, write_rate = _written(descriptor, block, size, seconds, clock)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            read_rate = _read(descriptor, block, written, seconds, clock)
    except OSError as error:
        raise NotMeasuredError(f"{place.directory}: {error.strerror}") from None
    finally:
        os.close(descriptor)
    return Measured(write_rate, read_rate, written, direct)


def _nameless(path: Path, lustre: int | str | None) -> tuple[int, bool]:
    """Make a file, on exactly that OST or pool if one is given, and take its name away."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags | (0 if lustre is None else _DELAYED), 0o600)
    try:
        if lustre is not None:
            os.setxattr(descriptor, blob.ATTRIBUTE, blob.only_on(lustre))
            _prove(descriptor, lustre)
        direct = _direct(path)
        if direct is not None:
            os.close(descriptor)
            descriptor = direct
        return descriptor, direct is not None
    except BaseException:
        os.close(descriptor)
        raise
    finally:
        with suppress(FileNotFoundError):
            path.unlink()


def _prove(descriptor: int, lustre: int | str) -> None:
    """Read the layout back: a success of setting it proves nothing."""
    layout = blob.read(os.getxattr(descriptor, blob.ATTRIBUTE))
    placed = layout.osts == (lustre,) if isinstance(lustre, int) else layout.components[0].pool == lustre
    if not placed:
        raise blob.LayoutError(f"Lustre put it on {layout.osts}, not on {lustre}")


def _direct(path: Path) -> int | None:
    """The file opened past the page cache, if its file system does that."""
    try:
        return os.open(path, os.O_RDWR | os.O_DIRECT | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):
            return None
        raise


def _written(
    descriptor: int, block: mmap.mmap, size: int, seconds: float, clock: Callable[[], float]
) -> tuple[int, float]:
    """Bytes written and their rate, the sync included."""
    began, written = clock(), 0
    while written < size and clock() - began < seconds:
        with memoryview(block) as whole, whole[: size - written] as part:
            written += os.pwrite(descriptor, part, written)
    os.fdatasync(descriptor)
    return written, written / max(clock() - began, 1e-9)


def _read(descriptor: int, block: mmap.mmap, size: int, seconds: float, clock: Callable[[], float]) -> float:
    began, done = clock(), 0
    while done < size and clock() - began < seconds:
        count = os.preadv(descriptor, [block], done)
        if count == 0:
            break
        done += count
    return done / max(clock() - began, 1e-9)
