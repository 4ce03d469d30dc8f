"""Answers about the knowledge base: descriptions, changes and conflicts, with every value as Turtle."""

from collections.abc import Iterable, Sequence

from rdflib import RDF, URIRef
from ses_client.messages import knowledge

from ses_service.api.render import requirement_set
from ses_service.knowledge.exchange.incoming import sets_of
from ses_service.knowledge.exchange.merge import Conflict
from ses_service.knowledge.exchange.plans import Plan
from ses_service.knowledge.history import Change, Part, read_state
from ses_service.knowledge.statements.edits import Edit
from ses_service.knowledge.statements.statements import Facts, Value
from ses_service.knowledge.statements.turtle_writer import block, head, iri, value_text
from ses_service.knowledge.terms import SITE_GRAPH, requirement_set_of

_SUBJECTS = 200  # listed of a change


def page(
    part: str, revision: str, described: Sequence[tuple[URIRef, Facts]], more: str | None
) -> knowledge.KnowledgePage:
    """Return a page of an export."""
    blocks = [
        knowledge.SubjectText(subject=str(subject), turtle=block(subject, facts))
        for subject, facts in described
        if facts
    ]
    return knowledge.KnowledgePage(part=part, revision=revision, head=head(), subjects=blocks, next=more)


def made(plan: Plan, number: int | None, dry_run: bool) -> knowledge.ChangeMade:
    """Return a change that was made, or would be, with the first of its subjects."""
    return knowledge.ChangeMade(
        change=number,
        dry_run=dry_run,
        revision=str(plan.stamps),
        total=len(plan.edits),
        subjects=edits(plan.edits[:_SUBJECTS]),
        conflicts=[_conflict(conflict) for conflict in plan.conflicts[:_SUBJECTS]],
    )


def summary(change: Change) -> knowledge.Change:
    """Return one change of a list."""
    return knowledge.Change.like(change)


def states(number: int, parts: Sequence[Part], more: str | None) -> knowledge.ChangeStates:
    """Return what one change did."""
    return knowledge.ChangeStates(number=number, states=[_state(part) for part in parts], next=more)


def edits(listed: Iterable[Edit]) -> list[knowledge.SubjectChange]:
    """Return what changes about each subject."""
    return [_edit(edit) for edit in listed]


def _state(part: Part) -> knowledge.State:
    is_set = requirement_set_of(part.subject) is not None
    return knowledge.State.like(
        part,
        set_before=_stated(part.before) if is_set else None,
        set_after=_stated(part.after) if is_set else None,
    )


def _stated(text: str | None) -> knowledge.StatedSet | None:
    for shown in map(requirement_set, sets_of(read_state(text))):
        return knowledge.StatedSet.like(shown)
    return None


def _edit(edit: Edit) -> knowledge.SubjectChange:
    return knowledge.SubjectChange(
        part="site" if edit.graph == SITE_GRAPH else "requirements",
        subject=str(edit.subject),
        status=edit.status,
        properties=[
            knowledge.PropertyChange(property=_name(property_), before=_texts(gone), after=_texts(come))
            for property_, gone, come in edit.properties()
        ],
    )


def _conflict(conflict: Conflict) -> knowledge.Conflict:
    return knowledge.Conflict(
        subject=str(conflict.subject),
        property=None if conflict.property is None else _name(conflict.property),
        described=_texts(conflict.described),
        discovered=_texts(conflict.discovered),
        kept=conflict.kept,
    )


def _name(property_: URIRef) -> str:
    return "a" if property_ == RDF.type else iri(property_)


def _texts(values: Iterable[Value]) -> list[str]:
    return sorted(value_text(value) for value in values)
