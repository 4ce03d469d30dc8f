"""How many connections there are; who has most of them makes room when there are too many."""

from __future__ import annotations

from typing import Protocol

MAX_PLACES = 16384


class Placed(Protocol):
    """What has a place."""

    @property
    def idle(self) -> bool:
        """Whether no request of it is answered now."""

    def evict(self) -> None:
        """End, at once."""


class Places:
    """``most`` connections.  Belongs to one event loop.

    Nobody is refused: beyond ``most`` the address with most connections loses one, the oldest that is idle,
    or the newest when none is.  So an address that many share (a proxy, NAT) has what others do not need.
    """

    def __init__(self, most: int = MAX_PLACES) -> None:
        self.most = most
        self.count = 0
        self._of: dict[str, dict[Placed, None]] = {}

    def take(self, who: str, connection: Placed) -> None:
        """Count a connection."""
        self._of.setdefault(who, {})[connection] = None
        self.count += 1
        if self.count > self.most:
            whose = max(self._of, key=lambda caller: len(self._of[caller]))
            those = self._of[whose]
            gone = next((connection for connection in those if connection.idle), next(reversed(those)))
            self.leave(whose, gone)
            gone.evict()

    def leave(self, who: str, connection: Placed) -> None:
        """Count it no more; does nothing for one that gave way."""
        those = self._of.get(who, {})
        if connection in those:
            del those[connection]
            self.count -= 1
            if not those:
                del self._of[who]
