"""A change of the knowledge base before it is made: what it would do, and the one request that does it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from rdflib import Literal, URIRef

from ses_service.knowledge import history
from ses_service.knowledge.exchange.merge import Conflict
from ses_service.knowledge.history import Signature
from ses_service.knowledge.queries import Statement, bind, lines, sequence
from ses_service.knowledge.statements.edits import Adding, Edit, adding, request_parts
from ses_service.knowledge.statements.statements import Description, is_generated, statements
from ses_service.knowledge.store.store import SparqlStore
from ses_service.knowledge.terms import HISTORY_GRAPH, REQUIREMENTS_GRAPH, SITE_GRAPH

_STAGED = "https://w3id.org/qstorman/graph/staged/"
ONE_BY_ONE = 200
"""Subjects of the site that are changed one by one; when more change, the site is written as a whole."""

_IN_REQUEST = 2000
"""Statements that are part of a request; more are put into a graph before and copied."""


@dataclass(frozen=True, slots=True)
class Stamps:
    """What distinguishes one state of site and requirements from another."""

    digest: str
    site: int
    requirements: int

    def __str__(self) -> str:
        return f"{self.digest[:16]}.{self.site}.{self.requirements}"

    @property
    def of_site(self) -> str:
        """The same for the site alone; empty for a site nobody counts the changes of."""
        return f"{self.digest[:16]}.{self.site}" if self.site else ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A change that could be made to the state ``stamps`` stand for.

    ``snapshot`` is what a discovery found, to be kept; ``digest`` that of the text the whole site is loaded
    from; ``rewrite`` the whole site, where it cannot be changed subject by subject; ``first`` the whole site,
    where there was none.  That is put into its graph before the request: a service that ends between the two
    finds a site without a stamp, and loads it again.
    """

    stamps: Stamps
    signature: Signature
    edits: tuple[Edit, ...]
    conflicts: tuple[Conflict, ...] = ()
    snapshot: tuple[URIRef, Description] | None = None
    digest: str | None = None
    rewrite: Description | None = None
    first: Description | None = None

    @property
    def changes_anything(self) -> bool:
        """Whether making it would leave anything else than there is."""
        return bool(self.edits or self.snapshot or self.digest or self.rewrite)

    @property
    def changes_site(self) -> bool:
        """Whether making it would leave another site than there is."""
        return bool(self.digest or self.rewrite) or any(edit.graph == SITE_GRAPH for edit in self.edits)


def read_stamps(store: SparqlStore) -> Stamps:
    """Return the state the store is in."""
    rows = store.select(bind("revisions.rq", site=SITE_GRAPH, requirements=REQUIREMENTS_GRAPH))
    row = rows[-1] if rows else {}
    return Stamps(row.get("digest", ""), int(row.get("siteRevision", 0)), int(row.get("revision", 0)))


def rewritten(plan: Plan, present: Description, after: Description) -> Plan:
    """Return the plan such that it writes the whole site, where that is better than subject by subject.

    So it also reaches subjects the store holds as blank nodes, and takes no longer the more subjects change.
    """
    many = sum(edit.graph == SITE_GRAPH for edit in plan.edits) > ONE_BY_ONE
    if present != after and (many or any(is_generated(subject) for subject in present)):
        return replace(plan, rewrite=after)
    return plan


def request(plan: Plan, change: URIRef) -> tuple[str, dict[URIRef, str]]:
    """Return the update request that makes a change, if the store is still in the state of the plan.

    With it come the graphs it copies from, as Turtle, which must be in the store before and may go after.
    """
    begin = bind(
        "begin-change.ru",
        site=SITE_GRAPH,
        requirements=REQUIREMENTS_GRAPH,
        digest=Literal(plan.stamps.digest),
        nextDigest=Literal(plan.stamps.digest if plan.digest is None else plan.digest),
        siteRevision=Literal(plan.stamps.site),
        siteStep=Literal(int(plan.changes_site)),
        revision=Literal(plan.stamps.requirements),
        **history.signed(change, plan.signature),
    )
    direct = [
        edit
        for edit in plan.edits
        if (plan.rewrite is None and plan.first is None) or edit.graph != SITE_GRAPH
    ]
    parts: list[str | Adding] = [begin, *request_parts(direct, change)]
    if plan.rewrite is not None:
        parts += _replacing(SITE_GRAPH, plan.rewrite, change)
    if plan.snapshot is not None:
        parts += _replacing(*plan.snapshot, change)
    parts += history.recording(change, plan.edits, plan.signature)
    texts: list[str] = []
    staged: dict[URIRef, str] = {}
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif len(part.statements) <= _IN_REQUEST:
            texts.append(adding(part, change))
        else:
            source = URIRef(f"{_STAGED}{len(staged)}")
            staged[source] = lines(part.statements)
            texts.append(
                bind(
                    "copy-statements.ru",
                    graph=part.graph,
                    history=HISTORY_GRAPH,
                    change=change,
                    **{"from": source},
                )
            )
    return sequence(texts), staged


def whole(description: Description) -> str:
    """Return all statements, as Turtle."""
    return lines(_stated(description))


def _stated(description: Description) -> Iterator[Statement]:
    labels = count(1)
    for subject in sorted(description):
        yield from statements(subject, description[subject], labels)


def _replacing(graph: URIRef, description: Description, change: URIRef) -> list[str | Adding]:
    empty = bind("empty-graph.ru", graph=graph, history=HISTORY_GRAPH, change=change)
    return [empty, Adding(graph, list(_stated(description)))]
