"""Which rows changed, for those who keep what they worked out of them.

A log: a row is appended at each change, and who has read up to some place reads on from there.  Knows
nothing of what changed.
"""

from __future__ import annotations

import numpy as np

from ses_service.columns import Codes

_REMEMBERED = 4096


class Changes:
    """Rows that changed, by the number of changes until then.  Not safe for use from several threads."""

    def __init__(self) -> None:
        self._forgotten = 0
        self._rows: list[int] = []

    @property
    def number(self) -> int:
        """Another number after every change."""
        return self._forgotten + len(self._rows)

    def note(self, row: int) -> None:
        """Note that a row changed."""
        if len(self._rows) >= _REMEMBERED:
            self._forget()
        self._rows.append(row)

    def note_all(self) -> None:
        """Note that every row may have changed."""
        self._forget()
        self._forgotten += 1

    def since(self, number: int) -> Codes | None:
        """Return the rows that changed after so many changes, once each, in order; ``None``: nobody knows."""
        read = number - self._forgotten
        return None if read < 0 else np.array(sorted(set(self._rows[read:])), dtype=np.int64)

    def _forget(self) -> None:
        self._forgotten += len(self._rows)
        self._rows.clear()
