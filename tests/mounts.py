"""Unmounting what somebody may be looking at."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

SECONDS = 60.0


def unmount(path: Path) -> None:
    """Unmount as soon as it is not busy: an agent or a monitor may be looking at it at any moment."""
    end = time.monotonic() + SECONDS
    while (done := subprocess.run(["umount", path], check=False, capture_output=True, text=True)).returncode:
        assert time.monotonic() < end, done.stderr
        time.sleep(0.02)
