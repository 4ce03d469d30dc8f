"""Texts as Turtle and TOML write them, which have the same strings, and elements in Turtle."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ses_client.errors import SesError
from ses_client.visible import is_hidden, visible

PREFIXES = """\
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix unit: <http://qudt.org/vocab/unit/> ."""
_ESCAPED = re.compile(r'[\\"]')


def literal(text: str) -> str:
    """Return a text in quotation marks; raises SesError for bytes that are no UTF-8: a literal has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SesError(f"{visible(text)} is no UTF-8, and so cannot be described; rename it.") from None
    escaped = _ESCAPED.sub(lambda match: "\\" + match[0], text)
    return (
        '"' + "".join(_code(character) if is_hidden(character) else character for character in escaped) + '"'
    )


def quantity(value: float, unit: str) -> str:
    """Return a number with its unit, one of QUDT."""
    return f"[ a qudt:QuantityValue ; qudt:numericValue {value:.6e} ; qudt:hasUnit unit:{unit} ]"


def element(subject: str, kind: str, facts: Mapping[str, str], capacity_bytes: int | None) -> str:
    """Return an element of a storage system; ``facts`` are objects by property, empty where not known."""
    if capacity_bytes:
        facts = {**facts, "capacity": quantity(capacity_bytes / 2**20, "MebiBYTE")}
    stated = (f"qsm:{name} {value}" for name, value in facts.items() if value)
    return f"{subject} a qsm:{kind} ;\n    " + " ;\n    ".join(stated) + " .\n"


def _code(character: str) -> str:
    return f"\\u{ord(character):04X}" if ord(character) <= 0xFFFF else f"\\U{ord(character):08X}"
