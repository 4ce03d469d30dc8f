"""Files that are there whole or not at all."""

import os
import secrets
from pathlib import Path


def write_whole(path: Path, content: bytes, mode: int = 0o600, owner: tuple[int, int] = (-1, -1)) -> None:
    """Put a file of this mode in place of what is there, which stays until the new one is on the disk.

    A link there is replaced, never followed.  ``owner``: uid and gid, -1: the caller's.  Raises OSError, and
    leaves what is there.
    """
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(draft, flags, mode), "wb") as file:
            os.fchown(file.fileno(), *owner)
            os.fchmod(file.fileno(), mode)  # whatever the umask is
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
