"""A change of the knowledge base before it is made: what it would do, and the one request that does it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

from rdflib import Literal, URIRef

from ses_service.knowledge import history
from ses_service.knowledge.edits import Edit, adding, request_parts
from ses_service.knowledge.history import Signature
from ses_service.knowledge.merge import Conflict
from ses_service.knowledge.queries import Statement, bind, sequence
from ses_service.knowledge.statements import Description, is_generated, statements
from ses_service.knowledge.store import SparqlStore
from ses_service.knowledge.terms import HISTORY_GRAPH, REQUIREMENTS_GRAPH, SITE_GRAPH


@dataclass(frozen=True, slots=True)
class Stamps:
    """What tells one state of site and requirements from another."""

    digest: str
    site: int
    requirements: int

    def __str__(self) -> str:
        return f"{self.digest[:16]}.{self.site}.{self.requirements}"


@dataclass(frozen=True, slots=True)
class Plan:
    """A change that could be made to the state ``stamps`` stand for.

    ``snapshot`` is what a discovery found, to be kept; ``digest`` that of the text the whole site is loaded
    from; ``rewrite`` the whole site, where it cannot be changed subject by subject.
    """

    stamps: Stamps
    signature: Signature
    edits: tuple[Edit, ...]
    conflicts: tuple[Conflict, ...] = ()
    snapshot: tuple[URIRef, Description] | None = None
    digest: str | None = None
    rewrite: Description | None = None

    @property
    def changes_anything(self) -> bool:
        """Whether making it would leave anything else than there is."""
        return bool(self.edits or self.snapshot or self.digest or self.rewrite)


def read_stamps(store: SparqlStore) -> Stamps:
    """Return the state the store is in."""
    rows = store.select(bind("revisions.rq", site=SITE_GRAPH, requirements=REQUIREMENTS_GRAPH))
    row = rows[-1] if rows else {}
    return Stamps(row.get("digest", ""), int(row.get("siteRevision", 0)), int(row.get("revision", 0)))


def rewritten(plan: Plan, present: Description, after: Description) -> Plan:
    """Return the plan such that it also reaches subjects the store holds as blank nodes, if there are any."""
    if present != after and any(is_generated(one) for one in present):
        return replace(plan, rewrite=after)
    return plan


def request(plan: Plan, change: URIRef) -> str:
    """Return the update request that makes a change, if the store is still in the state of the plan."""
    begin = bind(
        "begin-change.ru",
        site=SITE_GRAPH,
        requirements=REQUIREMENTS_GRAPH,
        digest=Literal(plan.stamps.digest),
        nextDigest=Literal(plan.stamps.digest if plan.digest is None else plan.digest),
        siteRevision=Literal(plan.stamps.site),
        revision=Literal(plan.stamps.requirements),
        **history.signed(change, plan.signature),
    )
    direct = [one for one in plan.edits if plan.rewrite is None or one.graph != SITE_GRAPH]
    parts = [begin, *request_parts(direct, change)]
    if plan.rewrite is not None:
        parts += _replacing(SITE_GRAPH, plan.rewrite, change)
    if plan.snapshot is not None:
        parts += _replacing(*plan.snapshot, change)
    return sequence([*parts, *history.recording(change, plan.edits, plan.signature)])


def _replacing(graph: URIRef, description: Description, change: URIRef) -> list[str]:
    labels = count(1)
    said: list[Statement] = []
    for subject in sorted(description):
        said += statements(subject, description[subject], labels)
    empty = bind("empty-graph.ru", graph=graph, history=HISTORY_GRAPH, change=change)
    return [empty, adding(graph, said, change)]
