"""A large Turtle text read several times faster than by rdflib, without the lines its statements stand on.

The ``oxigraph`` program turns it into one statement a line, which is read here. A text it does not take, or
that the two readers may take differently, is left to :func:`ses_service.knowledge.turtle.parse_turtle`, which
says what is wrong with it and where.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import structlog
from rdflib import BNode, Graph, Literal, URIRef

from ses_service.knowledge.queries import Term
from ses_service.knowledge.turtle import BASE

SHORT = 20_000
"""Characters of a text that rdflib reads before another program is started."""

_LIMIT_SECONDS = 60.0
_STATEMENT = re.compile(
    r"(?:<([^<>\\]*)>|_:(\w+)) <([^<>\\]*)> "
    r'(?:<([^<>\\]*)>|_:(\w+)|"((?:[^"\\]|\\.)*)"(?:@([A-Za-z0-9-]+)|\^\^<([^<>\\]*)>)?) \.'
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_STEPS = re.compile(r"\.\.?[/>?#]")  # relative names with steps, which the readers resolve differently
_log = structlog.get_logger(__name__)


def read_quickly(text: str) -> Graph | None:
    """Return the triples of a Turtle text; ``None`` for one that is short, malformed or unusual."""
    if len(text) < SHORT or _STEPS.search(text):
        return None
    try:
        lines = _statements(text)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        _log.info("a description is read the slow way", detail=str(error))
        return None
    return None if lines is None else _graph(lines)


def _statements(text: str) -> list[str] | None:
    program = Path(sys.executable).with_name("oxigraph")
    done = subprocess.run(
        [program, "convert", "--from-format", "ttl", "--from-base", BASE, "--to-format", "nt"],
        input=text.encode(),
        capture_output=True,
        timeout=_LIMIT_SECONDS,
        check=False,
    )
    return done.stdout.decode().split("\n")[:-1] if done.returncode == 0 else None


def _graph(lines: list[str]) -> Graph | None:
    graph = Graph(bind_namespaces="none")
    iris: dict[str, URIRef] = {}
    blank: dict[str, BNode] = {}
    literals: dict[tuple[str, str | None, str | None], Literal] = {}

    def named(iri: str) -> URIRef:
        found = iris.get(iri)
        if found is None:
            found = iris[iri] = URIRef(iri)
        return found

    def unnamed(label: str) -> BNode:
        found = blank.get(label)
        if found is None:
            found = blank[label] = BNode()
        return found

    for line in lines:
        read = _STATEMENT.fullmatch(line)
        if read is None:
            return None
        subject, node, predicate, iri, label, words, language, datatype = read.groups()
        value: Term
        if iri is not None:
            value = named(iri)
        elif label is not None:
            value = unnamed(label)
        else:
            key = words, language, datatype
            known = literals.get(key)
            if known is None:
                type_ = None if datatype is None else named(datatype)
                known = literals[key] = Literal(_ESCAPE.sub(_plain, words), lang=language, datatype=type_)
            value = known
        graph.add((named(subject) if subject is not None else unnamed(node), named(predicate), value))
    return graph


def _plain(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2]
    return chr(int(digits, 16)) if digits else _ESCAPED.get(escape[3], escape[3])
