"""A text that comes in: taken apart into site and requirements, and put together with what there is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from urllib.parse import quote

from rdflib import SH, Graph, URIRef
from ses_client.turtle import NOTHING, Lines, TurtleError, is_trig

from ses_service.knowledge.checks.validation import check as findings
from ses_service.knowledge.checks.validation import shapes, unstorable
from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.exchange.merge import Merged, aligned, merge, storage_systems
from ses_service.knowledge.requirements import read_requirement_sets
from ses_service.knowledge.statements.bounded import parse_turtle
from ses_service.knowledge.statements.edits import Edit, differences
from ses_service.knowledge.statements.fast_turtle import read_quickly
from ses_service.knowledge.statements.statements import Description, as_graph, describe, types
from ses_service.knowledge.store.in_memory import GraphInMemory
from ses_service.knowledge.terms import QSM, REQUIREMENTS_GRAPH, SITE_GRAPH
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model.entities import RequirementSet

_MAX_FAULTS = 200  # named of one text
_DISCOVERED = "https://w3id.org/qstorman/graph/discovered/"


class Mode(StrEnum):
    """What an import does with what is there.

    ``merge``: of the subjects the text has, the properties it states are replaced. ``replace``: what it
    describes (the site, the requirements or both) is replaced as a whole. ``discovered``: a three-way merge
    of a site.
    """

    MERGE = "merge"
    REPLACE = "replace"
    DISCOVERED = "discovered"


@dataclass(frozen=True, slots=True)
class Incoming:
    """A text taken apart. ``sets`` is what it says about requirements; both may be empty."""

    name: str
    graph: Graph
    lines: Lines
    site: Description
    sets: Description

    @classmethod
    def read(cls, text: str, name: str, *, trig: bool | None = None, quick: bool = False) -> Incoming:
        """Take a text apart. Raises ``InvalidDescriptionError`` with the line where it is malformed.

        ``trig``: the text is TriG, else Turtle; its name says it where this is ``None``. ``quick``:
        what else is wrong with a large text may lack its line.
        """
        try:
            trig = is_trig(name) if trig is None else trig
            read = read_quickly(text) if quick and not trig else None
            graph, lines = parse_turtle(text, trig=trig) if read is None else (read, Lines())
        except TurtleError as error:
            raise InvalidDescriptionError(name, [str(error)]) from None
        faulty = unstorable(graph, lines)
        if faulty:
            raise InvalidDescriptionError(name, [finding.in_words() for finding in faulty])
        description = describe(graph)
        sets = {
            subject: facts for subject, facts in description.items() if QSM.RequirementSet in types(facts)
        }
        site = {subject: facts for subject, facts in description.items() if subject not in sets}
        if not description:
            raise InvalidDescriptionError(name, [NOTHING])
        return cls(name, graph, lines, site, sets)

    def taking_up(self, stored: Description) -> Incoming:
        """Return it with the stored profiles that its sets take up and it does not describe itself."""
        named = {profile for facts in self.sets.values() for profile in facts.get(QSM.profile, ())}
        more = {
            subject: facts
            for subject, facts in stored.items()
            if subject in named and subject not in self.sets
        }
        if not more:
            return self
        return replace(self, graph=self.graph + as_graph(more), sets={**self.sets, **more})

    def requirement_sets(self) -> tuple[RequirementSet, ...]:
        """Return the requirement sets. The text must have been checked."""
        return sets_of(self.sets)


def sets_of(description: Description) -> tuple[RequirementSet, ...]:
    """Return the requirement sets a description has, with everything in base units."""
    if not description:
        return ()
    return read_requirement_sets(GraphInMemory(REQUIREMENTS_GRAPH, as_graph(description)))


def site_after(
    incoming: Incoming,
    present: Description,
    mode: Mode,
    *,
    discovered_before: Description | None = None,
    prefer_discovered: bool = False,
) -> Merged:
    """Return the site after an import."""
    if mode is Mode.DISCOVERED:
        before = discovered_before or {}
        discovered = aligned(incoming.site, {**before, **present})
        return merge(before, present, discovered, single=_single(), prefer_discovered=prefer_discovered)
    if not incoming.site:
        return Merged(present, ())
    if mode is Mode.REPLACE:
        return Merged(incoming.site, ())
    merged = dict(present)
    for subject, facts in incoming.site.items():
        merged[subject] = {**present.get(subject, {}), **facts}
    return Merged(merged, ())


def differences_of(first: tuple[str, str], second: tuple[str, str]) -> list[Edit]:
    """Return how two texts, each with its name, differ. Raises ``InvalidDescriptionError``."""
    before, after = (Incoming.read(text, name, quick=True) for text, name in (first, second))
    site = differences(SITE_GRAPH, before.site, after.site)
    return [*site, *differences(REQUIREMENTS_GRAPH, before.sets, after.sets)]


def discovered_graph(incoming: Incoming) -> URIRef:
    """Return the graph that keeps the discovery of the one storage system a text describes.

    Raises ``InvalidDescriptionError`` when there is not exactly one, or the text states requirements, too.
    """
    if incoming.sets:
        raise InvalidDescriptionError(incoming.name, ["a discovery has no requirements; this text has"])
    systems = storage_systems(incoming.site, vocabulary().backends)
    if len(systems) != 1:
        raise InvalidDescriptionError(
            incoming.name, [f"a discovery is of one storage system; this text has {len(systems)}"]
        )
    names = sorted(str(name) for name in incoming.site[systems[0]].get(QSM.name, ()))
    return URIRef(_DISCOVERED + quote(" ".join(names), safe=""))


def check(site: Description, incoming: Incoming | None, name: str, *, as_given: bool = False) -> None:
    """Raise ``InvalidDescriptionError`` unless a site may be described like this.

    What ``incoming`` says about requirements is checked, too. ``as_given``: the text describes all of the
    site, so that every fault has its line.
    """
    lines = Lines() if incoming is None else incoming.lines
    if as_given and incoming is not None:
        graph = incoming.graph
    else:
        graph = as_graph(site)
        if incoming is not None:
            for statement in as_graph(incoming.sets):
                graph.add(statement)
    faults = [finding.in_words() for finding in findings(graph, lines) if finding.severity == "error"]
    if faults:
        more = len(faults) - _MAX_FAULTS
        raise InvalidDescriptionError(
            name, [*faults[:_MAX_FAULTS], *([f"and {more} more faults"] if more > 0 else [])]
        )


def has_system(site: Description) -> bool:
    """Return whether a site has a storage system."""
    return bool(storage_systems(site, vocabulary().backends))


@cache
def _single() -> Collection[URIRef]:
    """Return the properties a subject has at most one value of, as the shapes say."""
    return frozenset(
        path
        for shape in shapes().subjects(SH.maxCount, None)
        if str(shapes().value(shape, SH.maxCount)) == "1"
        for path in shapes().objects(shape, SH.path)
        if isinstance(path, URIRef)
    )
