"""Descriptions of a site in Turtle: read, checked, made ready to store."""

import hashlib
from collections.abc import Iterable, Mapping

from rdflib import RDF, Graph, URIRef
from ses_client.turtle import NOTHING, Lines, TurtleError

from ses_service.knowledge.checks.validation import check, refused
from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.statements.bounded import parse_files
from ses_service.knowledge.terms import ontology_directory
from ses_service.knowledge.vocabulary import vocabulary

_NO_SYSTEM = "the description has no storage system (qsm:MergerfsUnion, qsm:LustreFileSystem, ...)"


def parse(texts: Mapping[str, str], source: str) -> tuple[Graph, Lines]:
    """Return the triples of a description in files by name, and where they stand.

    Raises ``InvalidDescriptionError`` that names the line where a text is malformed.
    """
    try:
        return parse_files(texts)
    except TurtleError as error:
        raise InvalidDescriptionError(source, [str(error)]) from None


def violations(description: Graph, lines: Lines | None = None) -> list[str]:
    """Return what is wrong with a description, one sentence for each fault; empty when all is well.

    Says, too, when there is no storage system at all: loading that would empty the site.
    """
    if not len(description):
        return [NOTHING]
    findings = check(description, lines or Lines())
    faults = [finding.in_words() for finding in findings if refused([finding])]
    systems = (URIRef(class_) for class_ in vocabulary().backends)
    if not any((None, RDF.type, class_) in description for class_ in systems):
        faults.append(_NO_SYSTEM)
    return faults


def digest(texts: Iterable[str]) -> str:
    """Return a hash of a description together with the shapes and the vocabulary it is checked against."""
    hashed = hashlib.sha256("\n".join(texts).encode())
    for path in (ontology_directory() / "shapes.ttl", *vocabulary().sources):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()
