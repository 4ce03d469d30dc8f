"""The nodes as they are now: those the site describes, and what their agents reported.

Not safe for use from several threads; its owner holds a lock.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ses_service.decision.node_tables import NodeTables
from ses_service.decision.nodes import Fleet, NodesQuestion, fleet
from ses_service.decision.question import Question
from ses_service.ledger.exclusions import ExcludedOn, Exclusion
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.nodes import Node
from ses_service.model.columns import ElementTable
from ses_service.model.entities import Environment
from ses_service.model.nodes import ByHost, NodeClass


@dataclass(frozen=True, slots=True)
class JobShape:
    """How many nodes a job wants, and of which; see ``NodesQuestion``."""

    count: int = 1
    among: frozenset[str] | None = None
    exclude: frozenset[str] = frozenset()

    def asked(self, question: Question) -> NodesQuestion:
        """Return the question about nodes."""
        return NodesQuestion(question, self.count, self.among, self.exclude)


@dataclass(frozen=True, slots=True)
class ClassNow:
    """A class of nodes, how many of them report, and how many files are open on them.

    ``stalled`` are those whose agent has threads that do not go on, ``excluding`` those that exclude
    elements.
    """

    described: NodeClass
    heard: int
    open_files: int
    stalled: tuple[Node, ...] = ()
    excluding: tuple[Node, ...] = ()


class NodeAccess:
    """Knows which nodes there are; made anew only when the site or the nodes that report change.

    ``excluding`` are the names of those that may exclude elements.
    """

    def __init__(self, ledger: Ledger, tables: NodeTables) -> None:
        self._ledger = ledger
        self._tables = tables
        self.excluding: set[str] = set()
        self._known: tuple[Environment, Mapping[str, frozenset[str]], Fleet] | None = None
        self._described: tuple[Environment, ByHost[None]] | None = None

    def now(self, environment: Environment) -> Fleet:
        """Return the nodes: those described, and those that report, with the systems of their tables."""
        of_site = self._of_site(environment)
        reporting: Mapping[str, frozenset[str]] = {}
        others = [name for name in set(self._ledger.nodes.names).difference(of_site) if name not in of_site]
        if others:
            systems = self._tables.systems_of_nodes()
            reporting = {name: systems.get(name, frozenset()) for name in others}
        known = self._known
        if known is None or known[0] is not environment or known[1] != reporting:
            known = self._known = environment, reporting, fleet(environment, reporting)
        return known[2]

    def _of_site(self, environment: Environment) -> ByHost[None]:
        """Return the nodes that the site describes."""
        if self._described is None or self._described[0] is not environment:
            described = [node for node_class in environment.node_classes for node in node_class.nodes]
            self._described = (
                environment,
                ByHost((name, None) for name in (*described, *environment.node_access)),
            )
        return self._described[1]

    def exclusions(self) -> defaultdict[str, list[tuple[str, Exclusion]]]:
        """Return what nodes exclude, by element, each with the node."""
        by_element: defaultdict[str, list[tuple[str, Exclusion]]] = defaultdict(list)
        for name in sorted(self.excluding):
            for exclusion in node.exclusions if (node := self._ledger.nodes.get(name)) else ():
                by_element[exclusion.element].append((name, exclusion))
        return by_element

    def excluded(self, table: ElementTable, user: str | None) -> dict[str, ExcludedOn]:
        """Return the elements of the site that some nodes exclude for a user; quick where none do."""
        by_element: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for name in sorted(self.excluding):
            node = self._ledger.nodes.get(name)
            if node is None or not any(node.excluded.values()):
                self.excluding.discard(name)
                continue
            for element, why in node.excluded_for(user).items():
                if element in table.index:
                    by_element[element][name] = why
        if not by_element:
            return {}
        having = Counter(
            system
            for name, systems in self._tables.systems_of_nodes().items()
            if self._ledger.nodes.get(name) is not None
            for system in systems
        )
        system_of = {element: table.elements[table.index[element]].storage_system for element in by_element}
        return {
            element: ExcludedOn(nodes, len(nodes) >= having[system_of[element]])
            for element, nodes in by_element.items()
        }

    def streams(self) -> dict[str, int]:
        """Return how many files are open on each node that has any."""
        streams = self._ledger.streams()
        for name, count in self._ledger.of_peers.open_on.items():
            streams[name] = streams.get(name, 0) + count
        return streams

    def classes(self, environment: Environment) -> list[ClassNow]:
        """Return every class of nodes, in the order of the site; nodes not described come last."""
        named = self._of_site(environment).named
        reporting = {named(node.name) for node in self._ledger.nodes if node.incarnation}
        stalled = {named(node.name): replace(node) for node in self._ledger.nodes if node.stalled}
        excluding = {named(node.name): replace(node) for node in self._ledger.nodes if node.exclusions}
        streams: Counter[str] = Counter()
        for name, count in self.streams().items():
            streams[named(name)] += count
        return [
            ClassNow(
                node_class,
                sum(name in reporting for name in node_class.nodes),
                sum(streams.get(name, 0) for name in node_class.nodes),
                tuple(stalled[name] for name in node_class.nodes if name in stalled),
                tuple(excluding[name] for name in node_class.nodes if name in excluding),
            )
            for node_class in self.now(environment).classes
        ]
