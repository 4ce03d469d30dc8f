"""A measured profile as a qsm:Profile, for the vocabulary of a site.  Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ses_client.errors import UsageError

from ses.literal import literal
from ses.profiling.needs import Implied
from ses.profiling.result import ProgramProfile

_UNITS = {"MB/s": "unit:MegaBYTE-PER-SEC", "GB": "unit:GigaBYTE"}
_NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")


def check_name(name: str) -> None:
    """Raise UsageError for a name no profile can have."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a profile: small letters, digits and '-'.")


def turtle_of(name: str, needs: Sequence[Implied], measured: ProgramProfile) -> str:
    """Return the Turtle; raises UsageError as ``check_name``, and for nothing to require."""
    check_name(name)
    if not needs:
        raise UsageError("The program moved too little to require anything.")
    program = measured.command[0] if measured.command else "a program"
    requires = ",\n        ".join(_requirement(need) for need in needs)
    return f"""@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix unit: <http://qudt.org/vocab/unit/> .

<https://w3id.org/qstorman/site/profile/{name}> a qsm:Profile ;
    rdfs:label "{name}"@en ;
    skos:definition {literal(f"What {program} needed when it was measured."[:500])}@en ;
    qsm:name "{name}" ;
    qsm:requires {requires} ."""


def _requirement(need: Implied) -> str:
    kind = "".join(part.capitalize() for part in need.requirement.kind.split("-"))
    return (
        f"[ a qsm:Requirement ; odrl:leftOperand qsm:{kind} ; odrl:operator odrl:gteq ; "
        f"odrl:rightOperand {need.requirement.bound:e} ; odrl:unit {_UNITS[need.requirement.unit]} ; "
        "qsm:weight 1.0e0 ; qsm:strictness qsm:Soft ]"
    )
