"""Where the bytes of a file are: as the union file system itself reports it.

Reads ``user.mergerfs.basepath``, which mergerfs answers for every file of a union with the branch
it opened.  Says nothing of other file systems (``None``).
"""

from __future__ import annotations

import os
from pathlib import Path

_ATTRIBUTE = "user.mergerfs.basepath"


def basepath(path: Path) -> str | None:
    """Return the branch that holds a file, ``None`` when the file is not on a mergerfs union.

    Raises FileNotFoundError when there is no such file.
    """
    path.lstat()
    try:
        return os.getxattr(path, _ATTRIBUTE, follow_symlinks=False).decode()
    except OSError:
        return None


def same_directory(first: str, other: str) -> bool:
    """True when two paths name the same directory, whatever links lead there."""
    return os.path.realpath(first) == os.path.realpath(other)
