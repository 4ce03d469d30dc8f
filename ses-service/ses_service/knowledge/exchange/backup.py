"""All that a store holds, as one file of N-Quads: what one store wrote, another can take.

Taken in one read transaction while the service runs.  Restoring replaces everything, or, when the file is no
backup or is cut off, nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.statements.turtle import FORMER, PRESENT
from ses_service.knowledge.store.store import HttpStore

_END = b"# end of the backup\n"


def back_up(store: HttpStore, path: Path) -> int:
    """Write everything to a file of mode 0600 and return how many statements there are.

    The file is there whole or not at all.  Raises ``OSError`` when it cannot be written.
    """
    quads = store.dump()
    part = path.with_name(f"{path.name}.part")
    try:
        with open(part, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(quads + _END)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return sum(1 for line in quads.splitlines() if line.strip())


def restore(store: HttpStore, path: Path) -> int:
    """Replace everything by what a file holds and return how many statements there are.

    Raises ``InvalidDescriptionError`` when it is not a whole backup, and ``StoreRefusedError`` when the
    store finds a fault in it; nothing is changed then.
    """
    text = path.read_bytes()
    if not text.endswith(_END):
        raise InvalidDescriptionError(str(path), ["not a backup, or not a whole one"])
    quads = text.removesuffix(_END).replace(FORMER.encode(), PRESENT.encode())
    store.replace_all(quads)
    return sum(1 for line in quads.splitlines() if line.strip())
