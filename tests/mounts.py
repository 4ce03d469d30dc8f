"""Mounting small file systems, and unmounting what somebody may be looking at."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SECONDS = 60.0


def unmount(path: Path) -> None:
    """Unmount as soon as it is not busy: an agent or a monitor may be looking at it at any moment."""
    end = time.monotonic() + SECONDS
    while (done := subprocess.run(["umount", path], check=False, capture_output=True, text=True)).returncode:
        assert time.monotonic() < end, done.stderr
        time.sleep(0.02)


@contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[Path]:
    """Make a folder on a file system of its own that holds so much; skip the test where nobody may mount."""
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "none", folder]
    if subprocess.run(command, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
