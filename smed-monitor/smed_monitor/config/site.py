"""Which elements there are and where to look for them, as the description of the site says it (Turtle).

The settings say how to ask: targets, addresses, time-outs.  The description says what they show, by two
terms of ``ontology/qstorman.ttl``: ``qsm:observedAt``, the targets (a name or a shell pattern), of an
element, else of its server, else of its storage system, and where none says it those whose ``paths`` have the
mount point of its union or its own path; and ``qsm:observedAs``, what an element is called
there, of an element or, with {name} and {target}, of its system.  Without that a branch is called as its
directory and an OST as Lustre does, like lfs01-OST0003.  Elements that are observed nowhere are left out.

Checks only what it uses; whether the description is right as a whole, the knowledge base says.
"""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import ValidationError
from rdflib import Graph, Namespace, URIRef
from rdflib.namespace import RDF
from rdflib.term import Node
from ses_client.errors import SesError
from ses_client.text_files import read_text
from ses_client.turtle import NAMESPACE, NOTHING, Lines, TurtleError, is_trig, parse_into

from smed_monitor.config.settings import ElementSettings, Kind, Target
from smed_monitor.core.errors import SettingsError

QSM = Namespace(f"{NAMESPACE}ontology#")


def described(
    path: Path, targets: Sequence[Target], collectors: Mapping[str, Kind], own: Iterable[str] = ()
) -> tuple[ElementSettings, ...]:
    """The elements of the description at ``path`` that ``targets`` show, by name; not those in ``own``.

    Raises SettingsError with one line per fault, each naming the file and the element.
    """
    graph = Graph()
    try:
        parse_into(graph, read_text(path), Lines(), trig=is_trig(path.name))
    except SesError as error:
        raise SettingsError(str(error)) from None
    except TurtleError as error:
        raise SettingsError(f"{path}: {error}") from None
    if not len(graph):
        raise SettingsError(f"{path}: {NOTHING}")
    site = _Site(graph)
    left_out, elements, faults = frozenset(own), [], []
    for element in sorted(set(graph.subjects(QSM.elementOf)), key=str):
        name = site.name(element)
        if name in left_out:
            continue
        patterns = site.observed_at(element)
        paths = () if patterns else site.paths(element)
        shown = [
            target
            for target in targets
            if any(fnmatchcase(target.name, pattern) for pattern in patterns)
            or not set(target.paths).isdisjoint(paths)
        ]
        if not shown and not patterns:
            continue
        if not shown:
            known = ", ".join(target.name for target in targets)
            faults.append(f"{name}: no [[target]] is called {' or '.join(patterns)}; known: {known}")
            continue
        try:
            elements.append(_settings(site, element, shown, collectors))
        except ValidationError as error:
            faults.append(f"{name}: {error.errors()[0]['msg']}")
        except ValueError as error:
            faults.append(f"{name}: {error}")
    if faults:
        raise SettingsError("\n".join(f"{path}: {fault}" for fault in faults))
    return tuple(sorted(elements, key=lambda settings: settings.id))


class _Site:
    """The triples of a description, asked about elements."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def text(self, subject: Node | None, predicate: URIRef) -> str:
        """The value of a property, empty when there is none."""
        value = None if subject is None else self._graph.value(subject, predicate)
        return "" if value is None else str(value)

    def system(self, element: Node) -> Node | None:
        """The storage system of an element."""
        return self._graph.value(element, QSM.elementOf)

    def name(self, element: Node) -> str:
        """SYSTEM/ELEMENT, as everywhere."""
        return f"{self.text(self.system(element), QSM.name)}/{self.text(element, QSM.name)}"

    def observed_at(self, element: Node) -> list[str]:
        """The patterns of the first that states any: the element, its server, its system."""
        for subject in (element, self._graph.value(element, QSM.servedBy), self.system(element)):
            if subject is not None:
                stated = sorted(str(value) for value in self._graph.objects(subject, QSM.observedAt))
                if stated:
                    return stated
        return []

    def paths(self, element: Node) -> tuple[str, ...]:
        """The paths by which this node's own files show the element: of its union, and its own."""
        own = self.text(element, QSM.target)
        return (self.text(self.system(element), QSM.mountPoint), own) if own.startswith("/") else ()

    def observed_as(self, element: Node) -> str:
        """What the element is called at its targets.  Raises ValueError."""
        own = self.text(element, QSM.observedAs)
        if own:
            return own
        name, target = self.text(element, QSM.name), self.text(element, QSM.target)
        rule = self.text(self.system(element), QSM.observedAs)
        if rule:
            return rule.replace("{name}", name).replace("{target}", target)
        if (element, RDF.type, QSM.ObjectStorageTarget) not in self._graph:
            return target
        if not target.isdigit():
            raise ValueError(f"qsm:target {target!r} is not the index of an OST")
        return f"{self.text(self.system(element), QSM.name)}-OST{int(target):04x}"


def _settings(
    site: _Site, element: Node, shown: Sequence[Target], collectors: Mapping[str, Kind]
) -> ElementSettings:
    first, *others = shown
    kind: str = collectors[first.collector].finds_by
    called = site.observed_as(element)
    if kind == "mount_point" and not called.startswith("/"):
        kind = "device"
    return ElementSettings.model_validate(
        {
            "id": site.name(element),
            "target": first.name,
            kind: called,
            "file_system": site.text(element, QSM.fileSystem),
            "failover": tuple(other.name for other in others),
        }
    )
