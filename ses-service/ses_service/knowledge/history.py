"""The history of site and requirements: who changed what, when, and what it was before (PROV-O).

A change is a ``prov:Activity``, its number the revision of the history; what a subject was before and is
after are entities whose ``prov:value`` is Turtle. All of it is written in the same request as the change
itself. The last 1,000 changes are kept; who made the ones before, and what they changed, is forgotten.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from rdflib import PROV, RDF, XSD, Literal, URIRef

from ses_service.knowledge.queries import Statement, bind
from ses_service.knowledge.statements.bounded import parse_turtle
from ses_service.knowledge.statements.edits import Adding, Edit, adding
from ses_service.knowledge.statements.fast_turtle import read_quickly
from ses_service.knowledge.statements.statements import Description, Facts, describe
from ses_service.knowledge.statements.turtle_writer import document
from ses_service.knowledge.store.store import SparqlStore
from ses_service.knowledge.terms import HISTORY_GRAPH, REQUIREMENTS_GRAPH

KEPT = 1000
"""How many changes are kept."""

PAGE = 50
"""How many changes a list has at most (``ontology/queries/changes.rq``)."""

_ROWS = 400  # of change.rq

_NAMES = "https://w3id.org/qstorman/"
_END = 2**53


@dataclass(frozen=True, slots=True)
class Signature:
    """Who makes a change, when (seconds since the epoch) and why; ``undoes`` is the IRI of an earlier one."""

    author: str
    now: float
    reason: str
    undoes: URIRef | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One change, as a list shows it. ``subject`` is the first of ``subjects`` by name."""

    number: int
    at: str
    author: str
    reason: str
    subjects: int
    subject: URIRef
    undone: int | None


@dataclass(frozen=True, slots=True)
class Part:
    """What a change did to one subject; the texts are Turtle, ``None`` where there was nothing."""

    subject: URIRef
    before: str | None
    after: str | None


def fresh() -> URIRef:
    """Return the identity of a change to be made."""
    return URIRef(f"{_NAMES}change/{uuid.uuid4()}")


def signed(change: URIRef, signature: Signature) -> dict[str, URIRef | Literal]:
    """Return the inputs that say who, when and why."""
    at = datetime.fromtimestamp(signature.now, UTC).isoformat(timespec="milliseconds")
    return {
        "history": HISTORY_GRAPH,
        "change": change,
        "at": Literal(at.replace("+00:00", "Z"), datatype=XSD.dateTime, normalize=False),
        "agent": URIRef(f"{_NAMES}agent/{quote(signature.author, safe='')}"),
        "author": Literal(signature.author),
        "reason": Literal(signature.reason),
    }


def recording(change: URIRef, edits: Iterable[Edit], signature: Signature) -> list[str | Adding]:
    """Return the requests that write what was before and is after, and forget what is too long ago."""
    statements: list[Statement] = []
    if signature.undoes is not None:
        statements.append((change, PROV.wasInformedBy, signature.undoes))
    for place, edit in enumerate(edits, 1):
        old, new = (URIRef(f"{change}/{place}/{side}") for side in ("before", "after"))
        statements += _state(old, edit.subject, edit.before, PROV.wasInvalidatedBy, change)
        statements += _state(new, edit.subject, edit.after, PROV.wasGeneratedBy, change)
        if edit.before and edit.after:
            statements.append((new, PROV.wasRevisionOf, old))
    forget = bind("forget-changes.ru", history=HISTORY_GRAPH, kept=Literal(KEPT))
    return [Adding(HISTORY_GRAPH, statements), forget] if statements else [forget]


def recording_set(target: URIRef, identity: str, edit: Edit, signature: Signature) -> list[str]:
    """Return the requests that record the change of one requirement set, made in the same request."""
    change = fresh()
    begin = bind(
        "record-change.ru",
        requirements=REQUIREMENTS_GRAPH,
        set=target,
        identity=Literal(identity),
        **signed(change, signature),
    )
    parts = recording(change, [edit], signature)
    return [begin, *(part if isinstance(part, str) else adding(part, change) for part in parts)]


def changes(store: SparqlStore, *, before: int | None, subject: URIRef | None) -> list[Change]:
    """Return the last changes below a number, of one subject or of all, newest first; 50 at most."""
    limit = Literal(_END if before is None else before)
    if subject is None:
        query = bind("changes.rq", history=HISTORY_GRAPH, before=limit)
    else:
        query = bind("changes-of-subject.rq", history=HISTORY_GRAPH, before=limit, about=subject)
    return [
        Change(
            int(row["number"]), row["at"], row["author"], row["reason"], int(row["subjects"]),
            URIRef(row["subject"]), int(row["undone"]) if "undone" in row else None,
        )
        for row in store.select(query)
    ]  # fmt: skip


def parts(store: SparqlStore, number: int, after: str = "") -> tuple[list[Part], bool]:
    """Return what a change did to the next subjects, and whether there are more."""
    rows = store.select(
        bind("change.rq", history=HISTORY_GRAPH, number=Literal(number), after=Literal(after))
    )
    texts: dict[str, dict[str, str]] = {}
    for row in rows:
        texts.setdefault(row["about"], {})[row["how"]] = row["text"]
    more = len(rows) == _ROWS
    if more and len(texts[rows[-1]["about"]]) == 1:
        del texts[rows[-1]["about"]]
    listed = [
        Part(URIRef(about), states.get(str(PROV.wasInvalidatedBy)), states.get(str(PROV.wasGeneratedBy)))
        for about, states in texts.items()
    ]
    return listed, more


def all_parts(store: SparqlStore, number: int) -> list[Part]:
    """Return all that a change did."""
    listed, more = parts(store, number)
    while more:
        page, more = parts(store, number, str(listed[-1].subject))
        listed += page
    return listed


def identity(store: SparqlStore, number: int) -> URIRef | None:
    """Return the IRI of a change, if it is known."""
    rows = store.select(bind("change-identity.rq", history=HISTORY_GRAPH, number=Literal(number)))
    return URIRef(rows[0]["change"]) if rows else None


def number(store: SparqlStore, change: URIRef) -> int | None:
    """Return the number of a change, if it was made."""
    rows = store.select(bind("change-number.rq", history=HISTORY_GRAPH, change=change))
    return int(rows[0]["number"]) if rows else None


def read_state(text: str | None) -> Description:
    """Return what a recorded text says."""
    return {} if text is None else describe(parse_turtle(text)[0])


def read_states(parts: Iterable[Part]) -> tuple[Description, Description]:
    """Return what the recorded texts of a change say, before and after."""
    known = list(parts)
    return _read([edit.before for edit in known]), _read([edit.after for edit in known])


def _read(texts: Iterable[str | None]) -> Description:
    # Each text declares all the names it uses and is about one subject: together they are one text again.
    text = "\n".join(part for part in texts if part is not None)
    graph = read_quickly(text)
    return describe(parse_turtle(text)[0] if graph is None else graph)


def _state(entity: URIRef, subject: URIRef, facts: Facts, how: URIRef, change: URIRef) -> list[Statement]:
    if not facts:
        return []
    return [
        (entity, RDF.type, PROV.Entity),
        (entity, PROV.specializationOf, subject),
        (entity, PROV.value, Literal(document({subject: facts}))),
        (entity, how, change),
    ]
