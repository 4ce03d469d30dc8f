"""The questions of ``ontology/queries``, with their inputs filled in.

Inputs are written ``$name`` in the files (results ``?name``) and replaced by serialised RDF terms
only, so that whatever a name holds stays a term and never becomes SPARQL.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import TypeAlias

import pyoxigraph
from rdflib import BNode, Literal, URIRef

from ses_service.knowledge.terms import ontology_directory

Term: TypeAlias = URIRef | BNode | Literal
Statement: TypeAlias = tuple[URIRef | BNode, URIRef, Term]
Input: TypeAlias = URIRef | Literal | Sequence[URIRef] | Sequence[Statement]

_INPUT = re.compile(r"\$([A-Za-z]+)\b")
_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
)
_LABEL = re.compile(r"[A-Za-z0-9]{1,64}")
_NOT_TEXT = re.compile(r"[\x00\ud800-\udfff\ufffe\uffff]")
NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\]")


@cache
def _text(name: str) -> str:
    text = (ontology_directory() / "queries" / name).read_text("utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


def is_text(text: str) -> bool:
    """Return whether a store can keep this text; see ``serialise``."""
    return not _NOT_TEXT.search(text)


def is_iri(text: str) -> bool:
    """Return whether every store takes a text for a whole IRI."""
    try:
        serialise(URIRef(text))
        pyoxigraph.NamedNode(text)
    except ValueError:
        return False
    return True


def serialise(term: Term) -> str:
    """Return a term as SPARQL writes it, on one line.

    Raises ``ValueError`` for what is not an IRI, and for text with characters no store keeps (NUL, halves of
    surrogate pairs, U+FFFE, U+FFFF).
    """
    if isinstance(term, URIRef):
        return _iri(term)
    if not is_text(term):
        raise ValueError(f"not text a store can keep: {str(term)!r}")
    if isinstance(term, BNode):
        if not _LABEL.fullmatch(term):
            raise ValueError(f"not the label of a blank node: {str(term)!r}")
        return f"_:{term}"
    text = f'"{str(term).translate(_ESCAPES)}"'
    if term.language:
        return f"{text}@{term.language}"
    return f"{text}^^{serialise(URIRef(term.datatype))}" if term.datatype else text


@lru_cache(maxsize=2**14)
def _iri(term: str) -> str:
    if not is_text(term):
        raise ValueError(f"not text a store can keep: {str(term)!r}")
    if NOT_IN_IRI.search(term):
        raise ValueError(f"not an IRI: {str(term)!r}")
    return f"<{term}>"


def bind(name: str, **inputs: Input) -> str:
    """Return the text of a query file with every input replaced.

    An input may be a list of IRIs, for ``VALUES``, or a list of statements, for a block of triples.
    Raises ``KeyError`` for an input without a value and ``ValueError`` for a value without an input.
    """
    text = _text(name)
    needed = set(_INPUT.findall(text))
    if needed < set(inputs):
        raise ValueError(f"{name} has no input {', '.join(sorted(set(inputs) - needed))}")
    terms = {key: _written(given) for key, given in inputs.items()}
    return _INPUT.sub(lambda match: terms[match[1]], text)


def _written(given: Input) -> str:
    if isinstance(given, URIRef | Literal):
        return serialise(given)
    return lines(given)


def lines(given: Iterable[URIRef | Statement]) -> str:
    """Return IRIs or statements, one a line; statements are N-Triples."""
    written: dict[Term, str] = {}  # a large site says the same few names and numbers over and over

    def write(term: Term) -> str:
        text = written.get(term)
        if text is None:
            text = written[term] = serialise(term)
        return text

    return "\n".join(
        write(term) if isinstance(term, URIRef) else f"{write(term[0])} {write(term[1])} {write(term[2])} ."
        for term in given
    )


def sequence(parts: list[str]) -> str:
    """Return one update request of several, with every prefix declared once, in front.

    The grammar allows a prologue after each ``;`` but not every store does.
    """
    lines = [line for part in parts for line in part.split("\n")]
    prefixes = dict.fromkeys(line for line in lines if line.startswith("PREFIX "))
    bodies = ["\n".join(line for line in part.split("\n") if line not in prefixes) for part in parts]
    return "\n".join([*prefixes, ";\n".join(bodies)])
