"""Files that commands write: there whole or not at all, and where nobody led them elsewhere."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, text: str, mode: int | None = None) -> None:
    """Put a text in the place of what is there, in one step; a link is replaced, never followed.

    By default a file that was there keeps its mode, and its owner if the caller may; a new one gets what
    the umask leaves.  A byte of a name that is no UTF-8 is written as an escape.  Raises OSError.
    """
    data = text.encode("utf-8", "backslashreplace")
    if path.is_relative_to("/dev"):  # /dev/stdout
        path.write_bytes(data)
        return
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(draft, flags, 0o666 if mode is None else 0o600), "wb") as file:
            with suppress(FileNotFoundError):
                status = path.lstat()
                if mode is None and stat.S_ISREG(status.st_mode):
                    mode = stat.S_IMODE(status.st_mode)
                    with suppress(PermissionError):
                        os.fchown(file.fileno(), status.st_uid, status.st_gid)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
