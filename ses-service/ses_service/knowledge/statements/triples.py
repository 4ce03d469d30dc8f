"""Triples in dictionaries, to be looked up many times: by subject and property, and the other way round."""

from collections.abc import Collection, Iterable

from rdflib import RDF, RDFS
from rdflib.term import Node

Triple = tuple[Node, Node, Node]
_NONE: frozenset[Node] = frozenset()


class Triples:
    """A set of triples that does not change. Classes are looked up with the classes below them."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._forward: dict[Node, dict[Node, set[Node]]] = {}
        self._backward: dict[Node, dict[Node, set[Node]]] = {}
        self._instances: dict[Node, frozenset[Node]] = {}
        for subject, property_, value in triples:
            self._forward.setdefault(property_, {}).setdefault(subject, set()).add(value)

    def objects(self, subject: Node, property_: Node) -> Collection[Node]:
        """Return the values a subject has of a property, each once."""
        held = self._forward.get(property_)
        return _NONE if held is None else held.get(subject, _NONE)

    def subjects(self, property_: Node) -> Collection[Node]:
        """Return what has a property, each once."""
        return self._forward.get(property_, {})

    def subjects_of(self, property_: Node, value: Node) -> Collection[Node]:
        """Return what has a property with this value, each once."""
        if property_ not in self._backward:
            turned: dict[Node, set[Node]] = {}
            for subject, values in self._forward.get(property_, {}).items():
                for stated in values:
                    turned.setdefault(stated, set()).add(subject)
            self._backward[property_] = turned
        return self._backward[property_].get(value, _NONE)

    def instances(self, class_: Node) -> frozenset[Node]:
        """Return what is of a class or one below it (``rdfs:subClassOf``, any number of steps)."""
        if class_ not in self._instances:
            classes, ahead = {class_}, [class_]
            while ahead:
                for below in self.subjects_of(RDFS.subClassOf, ahead.pop()):
                    if below not in classes:
                        classes.add(below)
                        ahead.append(below)
            self._instances[class_] = frozenset(
                subject for name in classes for subject in self.subjects_of(RDF.type, name)
            )
        return self._instances[class_]
