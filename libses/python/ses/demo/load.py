"""Somebody else's work: a writer that keeps one branch busy, like dd with direct I/O in a loop.

Run as ``python -m ses.demo.load FILE MB PACE PARENT``: writes the first MB of FILE over and over
in blocks of 1 MiB, at most PACE MB/s (0: as fast as the device takes it), and ends by SIGTERM, or when
the process number PARENT, which started it, is gone.  Takes no more room than the file.
"""

from __future__ import annotations

import mmap
import os
import sys
import time

BLOCK = 1 << 20


def main(path: str, megabytes: int, pace: float, parent: int) -> None:
    """Write until one of the ends named above."""
    descriptor, direct = _open(path)
    block = mmap.mmap(-1, BLOCK)  # page-aligned, as direct I/O wants it
    block.write(os.urandom(BLOCK))
    blocks = max(1, megabytes * 1_000_000 // BLOCK)
    written = 0
    started = time.monotonic()
    while os.getppid() == parent:
        os.pwrite(descriptor, block, written % blocks * BLOCK)
        written += 1
        if not direct:
            os.fdatasync(descriptor)
        if pace:
            ahead = written * BLOCK / (pace * 1e6) - (time.monotonic() - started)
            time.sleep(max(0.0, ahead))


def _open(path: str) -> tuple[int, bool]:
    flags = os.O_WRONLY | os.O_CREAT
    try:
        return os.open(path, flags | os.O_DIRECT, 0o644), True
    except OSError:  # the file system has no direct I/O
        return os.open(path, flags, 0o644), False


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
