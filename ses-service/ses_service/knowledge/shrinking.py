"""Whether a reading of the knowledge base is so much smaller than the last that something may be wrong.

An emptied store, a backup of long ago put back, a description cut off by a full disk: all are valid, and
would take the site away from every program.  So a reading with fewer than half of what was known is not used
until an administrator says that it is right.  A site may shrink, but not to nothing, by changes that were
made through the service, which the store counts.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from ses_service.knowledge.errors import KnowledgeBaseError

ACCEPTED = "smaller-site-accepted"
"""The file in the state directory with which an administrator says that a smaller reading is right."""

_COUNTS_FOR = 600.0
"""Seconds since it was made in which that file counts."""


class ShrunkReadingError(KnowledgeBaseError):
    """The knowledge base holds much less than was known; the last reading stays in use."""

    def __init__(self, where: str, what: str, count: int, known: int) -> None:
        super().__init__(
            f"{where} has {count} {what} where {known} were known: that is not used before somebody says that"
            " it is right (ses-service accept-smaller-site)"
        )


@dataclass(frozen=True, slots=True)
class Size:
    """How much was read; ``changes`` counts the changes of the site that were made through the service."""

    elements: int = 0
    sets: int = 0
    changes: int = 0


def much_smaller(count: int, known: int) -> bool:
    """Return whether so few can be no everyday change."""
    return 2 * count < known


class Acceptance:
    """The consent of an administrator, left in a folder that only the service's user can write."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / ACCEPTED

    def give(self) -> None:
        """Say that a smaller reading is right.  Raises ``OSError``."""
        self._path.write_text("")

    def given(self) -> bool:
        """Return whether somebody confirmed it recently."""
        try:
            return time.time() - self._path.stat().st_mtime < _COUNTS_FOR
        except OSError:
            return False

    def used(self) -> None:
        """Let it count no more."""
        self._path.unlink(missing_ok=True)
