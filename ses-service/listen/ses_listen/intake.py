"""How much of requests that are not answered yet is held in memory, for all connections together.

Any client that connects can begin requests, with or without a token; beyond this they are refused.
"""

from __future__ import annotations

from ses_listen.places import Places

MAX_BYTES = 64 * 2**20


class Intake:
    """Bytes that are held.  Belongs to one event loop."""

    def __init__(self, most: int = MAX_BYTES) -> None:
        self._most = most
        self.held = 0
        self.places = Places()

    def take(self, size: int) -> bool:
        """Count these bytes, or return that they are too many."""
        if self.held + size > self._most:
            return False
        self.held += size
        return True

    def give_back(self, size: int) -> None:
        """Count them no more."""
        self.held -= size
