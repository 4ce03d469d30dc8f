"""The nodes whose agents announce their files: which report, which are waited for, which fell silent.

Not safe for use from several threads; the ledger that owns it is not either.
"""

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ses_service.ledger.exclusions import Exclusion

_SILENT_KEPT = 10_000


@dataclass(slots=True)
class Node:
    """A node whose agent announces its files.  Times are seconds since the epoch.

    ``incarnation`` is empty while the node is only expected to announce (see ``Nodes.expect``); ``version``
    is its agent's, ``number`` that of its last announcement; ``stalled`` are threads of the agent that do not
    go on, and since when.  ``excluded`` are, by storage system, the elements to which no file of the node, or
    of a user there, can go.
    """

    name: str
    incarnation: str
    since: float
    heard_at: float
    until: float
    in_use: bool = False  # programs choose from its table
    version: str = ""
    number: int = 0
    stalled: Mapping[str, float] = field(default_factory=dict)
    excluded: Mapping[str, Sequence[Exclusion]] = field(default_factory=dict)

    @property
    def exclusions(self) -> list[Exclusion]:
        """What is excluded of all systems."""
        return [exclusion for system in self.excluded.values() for exclusion in system]

    def excluded_for(self, user: str | None) -> dict[str, str]:
        """Return the elements to which no file of a user can go, each with the reason."""
        own = {exclusion.element: exclusion.why for exclusion in self.exclusions if exclusion.user == user}
        return own | {
            exclusion.element: exclusion.why for exclusion in self.exclusions if exclusion.user is None
        }


class Nodes:
    """Those that announced or are expected to; silent ones included until they are forgotten.

    ``in_use`` is how many have a table that programs choose from, ``silenced_total`` how many fell silent.
    ``silent`` are those that did, by name, the last one at the end.  ``arrived`` collects, if set, the names
    of those whose agent reports for the first time; the reader empties it.  ``doubted`` are the ids of
    placements that a node is to be asked about.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._silences: list[tuple[float, str]] = []
        self.in_use = 0
        self.silenced_total = 0
        self.silent: dict[str, Node] = {}
        self.arrived: set[str] | None = None
        self.doubted: defaultdict[str, set[str]] = defaultdict(set)

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    @property
    def names(self) -> Collection[str]:
        """The names of all of them."""
        return self._nodes.keys()

    def get(self, name: str) -> Node | None:
        """Return a node that reports or is waited for."""
        return self._nodes.get(name)

    def has_announced(self, name: str) -> bool:
        """Whether the agent of a node has announced, and is not only expected."""
        node = self._nodes.get(name)
        return node is not None and bool(node.incarnation)

    def renew(
        self, name: str, incarnation: str, now: float, until: float, in_use: bool, version: str, number: int
    ) -> bool:
        """Note a sign of life; see ``Ledger.renew_node``."""
        node = self._nodes.get(name)
        first = node is None or node.incarnation != incarnation
        if node is None:
            node = self._nodes[name] = Node(name, incarnation, now, now, until)
            heapq.heappush(self._silences, (until, name))  # looked at again when it is due
        if first:
            node.incarnation, node.since = incarnation, now
            self.silent.pop(name, None)
            if self.arrived is not None:
                self.arrived.add(name)
        node.heard_at, node.until = now, until
        node.version, node.number = version, number
        self.in_use += in_use - node.in_use
        node.in_use = in_use
        return first

    def expect(self, name: str, now: float, until: float) -> None:
        """Wait for a node that has files open and did not report yet, such as after a restart."""
        if name not in self._nodes:
            self._nodes[name] = Node(name, "", now, now, until)
            heapq.heappush(self._silences, (until, name))

    def next_silent(self, now: float) -> str | None:
        """Return a node that is silent for too long by now and was not given up yet."""
        while self._silences and self._silences[0][0] <= now:
            name = self._silences[0][1]
            node = self._nodes.get(name)
            if node is None:
                heapq.heappop(self._silences)
            elif node.until > now:
                heapq.heapreplace(self._silences, (node.until, name))
            else:
                return name
        return None

    def give_up(self, name: str) -> None:
        """Take the node that :meth:`next_silent` returned for silent: nothing is open there any more."""
        heapq.heappop(self._silences)
        node = self._nodes[name]
        if node.incarnation:
            self.silent[name] = node
        if len(self.silent) > _SILENT_KEPT:
            del self.silent[next(iter(self.silent))]
        self.doubted.pop(name, None)
        self._remove(name)
        self.silenced_total += 1

    def settle(self, name: str, placement_id: str) -> None:
        """Ask a node about a placement no more."""
        doubted = self.doubted.get(name, set())
        doubted.discard(placement_id)
        if not doubted:
            self.doubted.pop(name, None)

    def forget(self, name: str, *, whole: bool) -> bool:
        """Forget what a node is asked about and that it was silent; ``whole``: all of it.

        Returns whether it was known and is forgotten.
        """
        self.silent.pop(name, None)
        self.doubted.pop(name, None)
        if not whole or name not in self._nodes:
            return False
        self._remove(name)
        return True

    def _remove(self, name: str) -> None:
        self.in_use -= self._nodes.pop(name).in_use
