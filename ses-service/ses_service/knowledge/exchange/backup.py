"""All that a store holds, as one file of N-Quads: what one store wrote, another can take.

Taken in one read transaction while the service runs.  Restoring replaces everything, or, when the file is no
backup or is cut off, nothing.
"""

from pathlib import Path

from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.store.store import HttpStore
from ses_service.security.whole_file import write_whole

_END = b"# end of the backup\n"


def back_up(store: HttpStore, path: Path) -> int:
    """Write everything to a file of mode 0600 and return how many statements there are.

    The file is there whole or not at all.  Raises ``OSError`` when it cannot be written.
    """
    quads = store.dump()
    write_whole(path, quads + _END)
    return sum(1 for line in quads.splitlines() if line.strip())


def restore(store: HttpStore, path: Path) -> int:
    """Replace everything by what a file holds and return how many statements there are.

    Raises ``InvalidDescriptionError`` when it is not a whole backup, and ``StoreRefusedError`` when the
    store finds a fault in it; nothing is changed then.
    """
    text = path.read_bytes()
    if not text.endswith(_END):
        raise InvalidDescriptionError(str(path), ["not a backup, or not a whole one"])
    quads = text.removesuffix(_END)
    store.replace_all(quads)
    return sum(1 for line in quads.splitlines() if line.strip())
