"""Which announcements of each node are stored.

An agent numbers its announcements and keeps what it reported until an answer has a number up to which all is
stored. No answer waits for that: the number comes with a later one.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

_MAX_NODES = 100_000
_MAX_WAITING = 1000  # announcements of a node; beyond, the number grows in larger steps


@dataclass(slots=True)
class _NodeAnnouncements:
    incarnation: str
    stored: int = 0
    waiting: deque[tuple[int, int]] = field(default_factory=deque)  # number, and the mark that stores it


class StoredAnnouncements:
    """May be used from any thread.

    ``mark`` returns a number for all that changed until now, and ``stored`` the highest mark whose changes
    are stored; without them nothing is ever more lasting than it is at once.
    """

    def __init__(self, mark: Callable[[], int] = lambda: 0, stored: Callable[[], int] = lambda: 0) -> None:
        self._mark, self._stored = mark, stored
        self._lock = threading.Lock()
        self._nodes: OrderedDict[str, _NodeAnnouncements] = OrderedDict()

    def taken(self, node: str, incarnation: str, number: int) -> int:
        """Note that the ledger has what an announcement reports; return up to which all are stored.

        ``number`` is 0 of an agent that does not count them.
        """
        with self._lock:
            announcements = self._nodes.get(node)
            if announcements is None or announcements.incarnation != incarnation:
                announcements = self._nodes[node] = _NodeAnnouncements(incarnation)
            self._nodes.move_to_end(node)
            if len(self._nodes) > _MAX_NODES:
                self._nodes.popitem(last=False)
            if number:
                announcements.waiting.append((number, self._mark()))
            stored = self._stored()
            while announcements.waiting and announcements.waiting[0][1] <= stored:
                announcements.stored = max(announcements.stored, announcements.waiting.popleft()[0])
            if len(announcements.waiting) > _MAX_WAITING:
                del announcements.waiting[-2]
            return announcements.stored
