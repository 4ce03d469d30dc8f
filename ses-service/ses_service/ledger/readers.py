"""Files that exist and are being read: streams that no placement stands for, as nodes report them.

The last report of a node counts, until its next one or its silence.  Not safe for use from several threads.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ses_state import _state

MAX_STREAMS = 64  # of one node on one element; more of them make no difference to a decision


@dataclass(slots=True)
class Reading:
    """What one user reads from one element on a node: how many files, bytes per second together."""

    element: str
    user: str
    files: int
    rate: float


class Readers:
    """The readers of all nodes; counted as streams by ``counter``."""

    def __init__(self, counter: _state.Counter) -> None:
        self._counter = counter
        self._began: dict[str, dict[str, list[float]]] = {}

    def __len__(self) -> int:
        return sum(len(began) for elements in self._began.values() for began in elements.values())

    def elements(self) -> Iterator[str]:
        """Yield the element of each stream."""
        for elements in self._began.values():
            for element, began in elements.items():
                yield from [element] * len(began)

    def take(self, node: str, reading: Iterable[Reading], now: float) -> None:
        """Take all that a node reads; files of which nothing moves are no streams."""
        wanted: dict[str, int] = {}
        for row in reading:
            if row.rate > 0:
                wanted[row.element] = min(MAX_STREAMS, wanted.get(row.element, 0) + row.files)
        known = self._began.setdefault(node, {})
        for element in [*known, *(element for element in wanted if element not in known)]:
            self._set(node, known, element, wanted.get(element, 0), now)
        if not known:
            del self._began[node]

    def forget(self, node: str, now: float) -> None:
        """Note that a node reads nothing, or is silent."""
        if node in self._began:
            self.take(node, (), now)

    def _set(self, node: str, known: dict[str, list[float]], element: str, count: int, now: float) -> None:
        began = known.setdefault(element, [])
        while len(began) > count:
            since = began.pop()
            self._counter.end(_name(node, element, len(began)), (element,), since, None, now)
        while len(began) < count:
            self._counter.begin(_name(node, element, len(began)), (element,), now, None)
            began.append(now)
        if not began:
            del known[element]


def _name(node: str, element: str, number: int) -> str:
    return f"reading {number} {element} {node}"
