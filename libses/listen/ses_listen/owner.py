"""Whose the files are that root makes in a folder of a service."""

from __future__ import annotations

import os
from pathlib import Path


def become_owner_of(folder: Path) -> None:
    """Let root make no file that the service could not write afterwards.  Raises OSError."""
    found = folder.stat()
    if os.geteuid() == 0 and found.st_uid != 0:
        os.setgroups([])
        os.setgid(found.st_gid)
        os.setuid(found.st_uid)


def give_to_owner_of(folder: Path, made: Path) -> None:
    """Let what root made below a folder belong to who the folder belongs to.  Raises OSError."""
    found = folder.stat()
    if os.geteuid() == 0 and found.st_uid != 0:
        for path in (made, *made.rglob("*")):
            os.chown(path, found.st_uid, found.st_gid, follow_symlinks=False)
