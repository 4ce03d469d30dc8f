"""The work directory: everything that is made lies below it, and goes with it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from ses.demo.faults import DemoError

_LONGEST = 70  # a socket's path has 108 bytes
_PATIENCE_SECONDS = 5.0


def need_root(what: str, command: str) -> None:
    """Raise DemoError when the caller is not root; ``what`` is the subject of the sentence."""
    if os.geteuid() != 0:
        raise DemoError(
            f"{what} needs root: it mounts file systems, limits loop devices and runs programs "
            f"as several users. Run it as root, for example: sudo {command}"
        )


def work_directory(undo: ExitStack, prefix: str) -> Path:
    """Make a directory every user can reach; raises DemoError when its path is too long for a socket."""
    work = Path(tempfile.mkdtemp(prefix=prefix))
    undo.callback(_remove, work)
    work.chmod(0o755)
    if len(str(work)) > _LONGEST:
        raise DemoError(f"The path {work} is too long for a socket in it. Set TMPDIR to a shorter one.")
    return work


def _remove(work: Path) -> None:
    """Remove the work directory; what is still mounted in it is left alone, and said."""
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
