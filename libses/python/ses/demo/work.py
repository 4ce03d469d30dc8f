"""The work directory: everything that is made lies below it, and goes with it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from ses.demo.faults import DemoError

_MAX_PATH_LENGTH = 70  # a socket's path has 108 bytes
SHARED_MEMORY = Path("/dev/shm")
_ROOM_MB = 200  # inputs of programs, databases and logs
_PATIENCE_SECONDS = 5.0


def need_root(what: str, command: str) -> None:
    """Raise DemoError when the caller is not root; ``what`` is the subject of the sentence."""
    if os.geteuid() != 0:
        raise DemoError(
            f"{what} needs root: it mounts file systems, limits loop devices and runs programs "
            f"as several users. Run it as root, for example: sudo {command}"
        )


def work_directory(undo: ExitStack, prefix: str) -> Path:
    """Make a directory every user can reach.

    Raises DemoError when its path is too long for a socket, or its file system too full.
    """
    work = Path(tempfile.mkdtemp(prefix=prefix))
    undo.callback(_remove, work)
    work.chmod(0o755)
    need_room(work, _ROOM_MB)
    if len(str(work)) > _MAX_PATH_LENGTH:
        raise DemoError(f"The path {work} is too long for a socket in it. Set TMPDIR to a shorter one.")
    return work


def need_room(directory: Path, megabytes: int) -> None:
    """Raise DemoError where less is free than a directory below TMPDIR is to hold."""
    if fault := _missing(directory, directory.parent, megabytes):
        raise DemoError(f"{fault} Set TMPDIR to a directory with more room.")


def need_memory(megabytes: int) -> None:
    """Raise DemoError where less is free of the memory in which disks are made."""
    if fault := _missing(SHARED_MEMORY, SHARED_MEMORY, megabytes):
        raise DemoError(fault)


def _missing(directory: Path, named: Path, megabytes: int) -> str:
    free = shutil.disk_usage(directory).free // 1_000_000
    return f"{named} has {free} MB free, and {megabytes} MB are needed." if free < megabytes else ""


def _remove(work: Path) -> None:
    """Remove the work directory; what is still mounted in it is left alone, and reported."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            shutil.rmtree(work)
            return
        except OSError as error:
            if time.monotonic() >= deadline:
                raise DemoError(
                    f"{work} could not be removed: {error.strerror}. Remove it by hand."
                ) from error
            time.sleep(0.2)
