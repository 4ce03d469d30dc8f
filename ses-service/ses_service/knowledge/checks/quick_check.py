"""Whether a description keeps to the shapes, yes or perhaps not: seconds where the full check takes a minute.

The shapes are made into functions once, and those run over triples in dictionaries. A yes is final; after
anything else the full check (``validation.py``) says what is wrong, and may find nothing. Says neither which
node is to blame nor why. Knows the parts of SHACL that ``ontology/shapes.ttl`` uses; screens no other shapes.
"""

import math
import re
from collections import abc
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

from rdflib import RDF, SH, XSD, BNode, Graph, Literal, URIRef
from rdflib.collection import Collection
from rdflib.term import Node
from ses_listen import deadline

from ses_service.knowledge.statements.triples import Triples

Check = Callable[[Triples, Node], bool]
"""Whether a node conforms."""

Reached = abc.Collection[Node]

Values = Callable[[Triples, Node], Reached]
"""What a path leads to from a node, each once."""

_SAYS_NOTHING = frozenset({RDF.type, SH.message, SH.severity, SH.name, SH.description, SH.path})
_TARGETS = frozenset({SH.targetClass, SH.targetSubjectsOf})
_BOUNDS: dict[Node, Callable[[float, float], bool]] = {
    SH.minInclusive: lambda number, bound: number >= bound,
    SH.minExclusive: lambda number, bound: number > bound,
    SH.maxInclusive: lambda number, bound: number <= bound,
    SH.maxExclusive: lambda number, bound: number < bound,
}


class UnknownConstraintError(ValueError):
    """The shapes have a part this check does not know."""


class Screen:
    """Shapes made into functions. Raises ``UnknownConstraintError`` when they cannot be."""

    def __init__(self, shapes: Graph) -> None:
        self._shapes = shapes
        self._made: dict[Node, Check | None] = {}
        self._targeted: list[tuple[Node, Node, Check]] = []
        for kind in _TARGETS:
            for shape, target in shapes.subject_objects(kind):
                self._targeted.append((kind, target, self._shape(shape)))
        unknown = {SH.targetNode, SH.targetObjectsOf, SH.target, SH.deactivated} & set(shapes.predicates())
        if unknown or not self._targeted:
            raise UnknownConstraintError(f"shapes without a known target, or with {sorted(unknown)}")

    def passes(self, facts: Triples) -> bool:
        """Return whether everything the shapes are about conforms for certain."""
        for kind, target, check in self._targeted:
            deadline.check()
            nodes = facts.instances(target) if kind == SH.targetClass else facts.subjects(target)
            if not all(check(facts, node) for node in nodes):
                return False
        return True

    def _shape(self, shape: Node) -> Check:
        """Return whether a focus node conforms to a shape, with a path or without."""
        if shape in self._made:
            built = self._made[shape]
            if built is None:
                raise UnknownConstraintError(f"{shape} refers to itself")
            return built
        self._made[shape] = None
        path = self._shapes.value(shape, SH.path)
        values: Values = _itself if path is None else self._path(path)
        checks = [
            self._constraint(parameter, argument)
            for parameter, argument in self._shapes.predicate_objects(shape)
            if parameter not in _SAYS_NOTHING | _TARGETS
        ]

        def conforms(facts: Triples, node: Node) -> bool:
            reached = values(facts, node)
            for check in checks:  # noqa: SIM110  # `all` takes twice as long, for each of a million
                if not check(facts, node, reached):
                    return False
            return True

        self._made[shape] = conforms
        return conforms

    def _path(self, path: Node) -> Values:
        if isinstance(path, URIRef):
            return lambda facts, node: facts.objects(node, path)
        inverse = self._shapes.value(path, SH.inversePath)
        if isinstance(inverse, URIRef) and len(list(self._shapes.predicates(path))) == 1:
            return lambda facts, node: facts.subjects_of(inverse, node)
        steps = list(Collection(self._shapes, path))
        if not steps or not all(isinstance(step, URIRef) for step in steps):
            raise UnknownConstraintError(f"a path of another form at {path}")

        def walk(facts: Triples, node: Node) -> Reached:
            reached: set[Node] = {node}
            for step in steps:
                reached = {value for node in reached for value in facts.objects(node, step)}
            return reached

        return walk

    def _constraint(self, parameter: Node, argument: Node) -> Callable[[Triples, Node, Reached], bool]:
        """Return whether the values of a focus node keep one constraint."""
        if parameter == SH.minCount:
            least = int(str(argument))
            return lambda _facts, _node, reached: len(reached) >= least
        if parameter == SH.maxCount:
            limit = int(str(argument))
            return lambda _facts, _node, reached: len(reached) <= limit
        if parameter == SH.hasValue:
            return lambda _facts, _node, reached: argument in reached
        if parameter == SH.lessThan:
            return lambda facts, node, reached: all(
                _earlier(value, other) for value in reached for other in facts.objects(node, argument)
            )
        each = self._of_value(parameter, argument)

        def all_conform(facts: Triples, _node: Node, reached: Reached) -> bool:
            for value in reached:  # noqa: SIM110  # as in `conforms`
                if not each(facts, value):
                    return False
            return True

        return all_conform

    def _of_value(self, parameter: Node, argument: Node) -> Check:
        """Return whether one value keeps a constraint on each."""
        if parameter in (SH.property, SH.node):
            return self._shape(argument)
        if parameter == SH["or"]:
            choices = [self._shape(shape) for shape in Collection(self._shapes, argument)]
            return lambda facts, value: any(choice(facts, value) for choice in choices)
        if parameter == SH["class"]:
            return lambda facts, value: value in facts.instances(argument)
        if parameter == SH["in"]:
            allowed = frozenset(Collection(self._shapes, argument))
            return lambda _facts, value: value in allowed
        if parameter == SH.nodeKind and argument == SH.IRI:
            return lambda _facts, value: isinstance(value, URIRef)
        if parameter == SH.datatype:
            return lambda _facts, value: _is_of(value, argument)
        if parameter == SH.pattern:
            pattern = re.compile(str(argument))
            return lambda _facts, value: not isinstance(value, BNode) and bool(pattern.search(str(value)))
        if parameter == SH.minLength:
            shortest = int(str(argument))
            return lambda _facts, value: not isinstance(value, BNode) and len(str(value)) >= shortest
        if parameter == SH.maxLength:
            longest = int(str(argument))
            return lambda _facts, value: not isinstance(value, BNode) and len(str(value)) <= longest
        if parameter in _BOUNDS and (bound := _number(argument)) is not None:
            holds = _BOUNDS[parameter]
            return lambda _facts, value: (number := _number(value)) is not None and holds(number, bound)
        raise UnknownConstraintError(f"{parameter} {argument}")


def _itself(_facts: Triples, node: Node) -> Reached:
    return (node,)


def _is_of(value: Node, datatype: Node) -> bool:
    if not isinstance(value, Literal) or value.ill_typed:
        return False
    if datatype == XSD.string:
        return value.datatype in (None, XSD.string) and not value.language
    return value.datatype == datatype and value.value is not None


def _number(value: Node) -> float | None:
    held = value.value if isinstance(value, Literal) and not value.ill_typed else None
    if isinstance(held, bool) or not isinstance(held, int | float | Decimal) or not math.isfinite(held):
        return None
    return float(held)


def _earlier(value: Node, other: Node) -> bool:
    held = [
        literal.value for literal in (value, other) if isinstance(literal, Literal) and not literal.ill_typed
    ]
    times = [time for time in held if isinstance(time, datetime) and time.tzinfo is not None]
    return len(times) == 2 and times[0] < times[1]
