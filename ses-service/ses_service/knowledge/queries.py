"""The questions of ``ontology/queries``, with their inputs filled in.

Inputs are written ``$name`` in the files (results ``?name``) and replaced by serialised RDF terms
only, so that whatever a name holds stays a term and never becomes SPARQL.
"""

from __future__ import annotations

import re
from functools import cache

from rdflib import Literal, URIRef

from ses_service.knowledge.terms import ontology_directory

_INPUT = re.compile(r"\$([A-Za-z]+)\b")
_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
)
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\]")


@cache
def _text(name: str) -> str:
    text = (ontology_directory() / "queries" / name).read_text("utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


def serialise(term: URIRef | Literal) -> str:
    """Return a term as SPARQL writes it, on one line. Raises ``ValueError`` for what is not an IRI."""
    if isinstance(term, URIRef):
        if _NOT_IN_IRI.search(term):
            raise ValueError(f"not an IRI: {str(term)!r}")
        return f"<{term}>"
    text = f'"{str(term).translate(_ESCAPES)}"'
    return f"{text}^^<{term.datatype}>" if term.datatype else text


def bind(name: str, **inputs: URIRef | Literal) -> str:
    """Return the text of a query file with every input replaced.

    Raises ``KeyError`` for an input without a value and ``ValueError`` for a value without an input.
    """
    text = _text(name)
    needed = set(_INPUT.findall(text))
    if needed < set(inputs):
        raise ValueError(f"{name} has no input {', '.join(sorted(set(inputs) - needed))}")
    terms = {key: serialise(term) for key, term in inputs.items()}
    return _INPUT.sub(lambda match: terms[match[1]], text)


def sequence(parts: list[str]) -> str:
    """Return one update request of several, with every prefix declared once, in front.

    The grammar allows a prologue after each ``;`` but not every store does.
    """
    lines = [line for part in parts for line in part.split("\n")]
    prefixes = dict.fromkeys(line for line in lines if line.startswith("PREFIX "))
    bodies = ["\n".join(line for line in part.split("\n") if line not in prefixes) for part in parts]
    return "\n".join([*prefixes, ";\n".join(bodies)])
