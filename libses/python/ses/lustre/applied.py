"""What ``ses apply`` changed, so that it can be undone: one small file for each directory.

Kept in ``$XDG_STATE_HOME/qstorman/applied`` (default ``~/.local/state``), named after the device
and inode of the directory.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from ses.lustre import blob
from ses.settings import own_state
from ses.whole_file import write_whole


@dataclass(frozen=True, slots=True)
class Applied:
    """``before``: the default the directory had of its own; None: none.  ``now``: the one it got."""

    path: str
    before: bytes | None
    now: bytes


def _file(directory: Path) -> Path:
    status = directory.stat()
    return own_state() / "applied" / f"{status.st_dev:x}-{status.st_ino:x}.json"


def recall(directory: Path) -> Applied | None:
    """Return what was applied to a directory and not undone; None: nothing."""
    try:
        data = json.loads(_file(directory).read_text("utf-8"))
        before = data["before"]
        return Applied(
            data["path"], None if before is None else bytes.fromhex(before), bytes.fromhex(data["now"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(directory: Path, applied: Applied) -> None:
    """Keep what was applied; raises OSError."""
    file = _file(directory)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    before = None if applied.before is None else applied.before.hex()
    write_whole(file, json.dumps({"path": applied.path, "before": before, "now": applied.now.hex()}))


def forget(directory: Path) -> None:
    """Forget what was applied."""
    _file(directory).unlink(missing_ok=True)


def own_default(directory: Path, root: Path) -> bytes | None:
    """Return the default a directory has of its own; None: it inherits.

    Lustre shows the root's default for a directory without one; equal to the root's counts as inherited.
    """
    mine = blob.of_path(directory)
    if directory.samefile(root):
        return mine
    return None if mine is None or mine == blob.of_path(root) else mine


def pool_of_root(directory: Path, root: Path) -> str:
    """Return the pool that a default without one would get from the root's; "": none."""
    raw = None if directory.samefile(root) else blob.of_path(root)
    layout = blob.read(raw) if raw else None
    return layout.components[0].pool if layout and not layout.composite else ""


def set_default(directory: Path, layout: bytes | None) -> None:
    """Give a directory a default of its own, or (None) take it away; raises OSError."""
    os.setxattr(directory, blob.ATTRIBUTE, blob.NOTHING_SAID if layout is None else layout)
