"""Descriptions as Turtle that is the same whenever what it says is the same: sorted, one property a line."""

import re
from functools import cache

from rdflib import RDF, XSD, Graph, Literal, URIRef
from ses_client.turtle import BASE

from ses_service.knowledge.queries import NOT_IN_IRI
from ses_service.knowledge.statements.statements import Description, Facts, Nested, Value
from ses_service.knowledge.terms import ontology_directory

_LOCAL = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_RELATIVE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.%-]*(/[A-Za-z0-9_.%-]+)*")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
# Control characters, marks of direction and what else cannot be seen.
_HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


@cache
def prefixes() -> dict[str, str]:
    """Return the one prefix table of the project (``ontology/prefixes.ttl``)."""
    graph = Graph(bind_namespaces="none").parse(ontology_directory() / "prefixes.ttl")
    return {name: str(namespace) for name, namespace in sorted(graph.namespaces())}


def document(description: Description) -> str:
    """Return a whole Turtle text: the names that are used, then one block for each subject."""
    blocks = [block(subject, description[subject]) for subject in sorted(description)]
    return "\n".join([head("\n".join(blocks)), *blocks])


def head(text: str | None = None) -> str:
    """Return the declarations a text of blocks needs; all there are, when it is not known."""
    used = [
        f"@prefix {name}: <{iri}> ."
        for name, iri in prefixes().items()
        if text is None or re.search(rf"\b{name}:", text)
    ]
    return "\n".join([f"@base <{BASE}> .", *used]) + "\n"


def block(subject: URIRef, facts: Facts) -> str:
    """Return what is stated about one subject."""
    lines = _pairs([(property_, value) for property_ in facts for value in facts[property_]])
    return f"{iri(subject)} " + " ;\n    ".join(lines) + " .\n"


def value_text(value: Value) -> str:
    """Return one value as Turtle writes it."""
    if isinstance(value, Nested):
        return "[ " + " ; ".join(_pairs(list(value.facts))) + " ]"
    return _literal(value) if isinstance(value, Literal) else iri(value)


def iri(term: URIRef) -> str:
    """Return an IRI, in short where the prefix table or the base has its beginning."""
    for name, namespace in prefixes().items():
        if term.startswith(namespace) and _LOCAL.fullmatch(term[len(namespace) :]):
            return f"{name}:{term[len(namespace) :]}"
    rest = term[len(BASE) :]
    if term.startswith(BASE) and _RELATIVE.fullmatch(rest):
        return f"<{rest}>"
    escaped = NOT_IN_IRI.sub(lambda match: f"\\u{ord(match[0]):04X}", term)
    return f"<{escaped}>"


def _pairs(facts: list[tuple[URIRef, Value]]) -> list[str]:
    """Return ``property value, value`` texts, the type first, then by name."""
    grouped: dict[URIRef, list[str]] = {}
    for property_, value in facts:
        grouped.setdefault(property_, []).append(value_text(value))
    named = {
        "a" if property_ == RDF.type else iri(property_): sorted(texts)
        for property_, texts in grouped.items()
    }
    return [f"{name} {_list(named[name])}" for name in sorted(named, key=lambda name: (name != "a", name))]


def _list(texts: list[str]) -> str:
    return (",\n        " if any(text.startswith("[") for text in texts) else ", ").join(texts)


def _literal(literal: Literal) -> str:
    text = str(literal)
    if literal.datatype == XSD.double and re.fullmatch(r"-?[0-9.]+e[+-]?[0-9]+", text):
        return text
    if literal.datatype == XSD.integer and re.fullmatch(r"-?[0-9]+", text):
        return text
    if literal.datatype == XSD.boolean and text in ("true", "false"):
        return text
    escaped = _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04X}", text.translate(_ESCAPES))
    if literal.language:
        return f'"{escaped}"@{literal.language}'
    return f'"{escaped}"' + (f"^^{iri(URIRef(literal.datatype))}" if literal.datatype else "")
