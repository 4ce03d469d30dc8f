"""Descriptions in and out of the store, as a whole: export, import, undo.

Every change is planned first, from what the store holds, and checked against the shapes. It is then made in
one request, on condition that nothing changed since the plan was made, with its record in the history; or not
at all.
"""

import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from rdflib import RDF, Graph, Literal, URIRef

from ses_service.knowledge import history
from ses_service.knowledge.errors import (
    ChangedSinceError,
    InvalidDescriptionError,
    KnowledgeBaseError,
    StaleReadingError,
    TooManyStatementsError,
    UnknownChangeError,
)
from ses_service.knowledge.exchange.element_edits import SiteEdit
from ses_service.knowledge.exchange.incoming import (
    Incoming,
    Mode,
    check,
    discovered_graph,
    has_system,
    sets_of,
    site_after,
)
from ses_service.knowledge.exchange.merge import aligned, apart, storage_systems
from ses_service.knowledge.exchange.plans import (
    ONE_BY_ONE,
    Plan,
    Stamps,
    read_stamps,
    request,
    rewritten,
    whole,
)
from ses_service.knowledge.history import Change, Part, Signature
from ses_service.knowledge.profiles import owner_of
from ses_service.knowledge.queries import bind
from ses_service.knowledge.requirement_statements import set_edit
from ses_service.knowledge.statements.edits import Edit, differences
from ses_service.knowledge.statements.statements import Description, Facts, describe, graph_of, types
from ses_service.knowledge.store.retry import RetryingStore
from ses_service.knowledge.store.store import SparqlStore, TermRow
from ses_service.knowledge.terms import QSM, REQUIREMENTS_GRAPH, SITE_GRAPH, requirement_set_iri
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model.entities import Level, RequirementSet
from ses_service.model.limits import MAX_APPLICATIONS

PATIENCE = 10.0
"""How many times the usual limit a request over a whole graph may take."""

_REMEMBERED = 60.0
"""Seconds a plan is kept for being made."""

_PER_PATIENCE = 500_000
"""Bytes of an update that make it take as long as usual once more."""


class Exchange:
    """Plans and makes changes of one store; ``changing`` is held while one is made. Safe for threads."""

    def __init__(self, store: SparqlStore, changing: threading.Lock) -> None:
        self._store = store
        self._changing = changing
        self._planned: tuple[tuple[object, ...], float, Plan] | None = None

    def stamps(self) -> Stamps:
        """Return the state the store is in."""
        planned = self._planned
        if planned is not None and time.monotonic() - planned[1] > _REMEMBERED:
            self._planned = None
        return read_stamps(self._store)

    def page(self, graph: URIRef, after: str) -> list[tuple[URIRef, Facts]]:
        """Return the next subjects of a graph after one, by name; 200 at most."""
        rows = self._store.select_terms(
            bind("subjects.rq", graph=graph, after=Literal(after)), patience=PATIENCE
        )
        subjects = [subject for subject in (row["s"] for row in rows) if isinstance(subject, URIRef)]
        if not subjects:
            return []
        described = describe(graph_of(self._rows(graph, subjects)))
        return [(subject, described.get(subject, {})) for subject in subjects]

    def changes(self, *, before: int | None = None, subject: URIRef | None = None) -> list[Change]:
        """Return the last changes below a number, of one subject or of all, newest first; 50 at most."""
        return history.changes(self._store, before=before, subject=subject)

    def parts(self, number: int, after: str = "") -> tuple[list[Part], bool]:
        """Return what a change did to the next subjects after one, and whether there are more."""
        return history.parts(self._store, number, after)

    def all_parts(self, number: int) -> list[Part]:
        """Return all that a change did; nothing for a change that is not known."""
        return history.all_parts(self._store, number)

    def plan_import(
        self,
        text: str,
        name: str,
        mode: Mode,
        *,
        author: str,
        now: float,
        trig: bool | None = None,
        prefer_discovered: bool = False,
    ) -> Plan:
        """Return what importing a text would change.

        Raises ``InvalidDescriptionError`` when the text, or the site it leads to, breaks the rules. The plan
        made last is returned again for the same text: who imports has it shown first, and then made.
        """
        asked = (text, name, mode, author, trig, prefer_discovered)
        planned = self._planned
        if planned is not None and planned[0] == asked and planned[2].stamps == self.stamps():
            return planned[2]
        plan = self._plan_text(text, name, mode, Signature(author, now, ""), trig, prefer_discovered)
        self._planned = asked, time.monotonic(), plan
        return plan

    def _plan_text(
        self,
        text: str,
        name: str,
        mode: Mode,
        signature: Signature,
        trig: bool | None,
        prefer_discovered: bool,
    ) -> Plan:
        try:
            incoming = Incoming.read(text, name, trig=trig, quick=True)
            return self._plan_import(incoming, mode, signature, prefer_discovered)
        except TooManyStatementsError:
            raise
        except InvalidDescriptionError:
            incoming = Incoming.read(text, name, trig=trig)
            return self._plan_import(incoming, mode, signature, prefer_discovered)

    def _plan_import(
        self, incoming: Incoming, mode: Mode, signature: Signature, prefer_discovered: bool
    ) -> Plan:
        name = incoming.name
        stamps = self.stamps()
        present, snapshot, before = self._described(SITE_GRAPH), None, None
        if mode is Mode.DISCOVERED:
            incoming = replace(incoming, site=apart(incoming.site, present))
            snapshot = discovered_graph(incoming)
            before = self._described(snapshot)
        merged = site_after(
            incoming, present, mode, discovered_before=before, prefer_discovered=prefer_discovered
        )
        required = self._described(REQUIREMENTS_GRAPH)
        as_given = mode is Mode.REPLACE and bool(incoming.site)
        check(merged.description, incoming.taking_up(required), name, as_given=as_given)
        if incoming.site and not has_system(merged.description):
            raise InvalidDescriptionError(name, ["it would leave the site without a storage system"])
        signature = replace(signature, reason=f"import of {name.rpartition('/')[2]} ({mode.value})")
        stored = sets_of(required)
        sets = _wanted(incoming, stored, mode)
        _check_applications(stored, sets, name)
        edits = [*differences(SITE_GRAPH, present, merged.description), *self._set_edits(sets, signature)]
        plan = Plan(stamps, signature, tuple(edits), merged.conflicts)
        if snapshot is not None and before != (
            discovered := aligned(incoming.site, {**(before or {}), **present})
        ):
            plan = replace(plan, snapshot=(snapshot, discovered))
        return rewritten(plan, present, merged.description)

    def plan_site(self, description: Graph, name: str, digest: str, *, author: str, now: float) -> Plan:
        """Return what putting a description in place of the whole site changes; it must have been checked.

        Of the first description of a large site the history has the storage systems only: that their
        elements were not there before is all it could say of these.
        """
        stamps, present, after = self.stamps(), self._described(SITE_GRAPH), describe(description)
        signature = Signature(author, now, f"site loaded from {name}")
        if not present and not stamps.site and len(after) > ONE_BY_ONE:
            systems = storage_systems(after, vocabulary().backends)
            brought = differences(SITE_GRAPH, {}, {system: after[system] for system in systems})
            return Plan(stamps, signature, tuple(brought), digest=digest, first=after)
        edits = tuple(differences(SITE_GRAPH, present, after))
        plan = Plan(stamps, signature, edits)
        return replace(rewritten(plan, present, after), digest=digest)

    def plan_edit(self, edit: SiteEdit, reason: str, *, author: str, now: float) -> Plan:
        """Return what an edit of the site would change.

        Raises what the edit does, and ``InvalidDescriptionError`` when the site after it breaks the rules.
        """
        stamps, present = self.stamps(), self._described(SITE_GRAPH)
        after = edit(present)
        if after != present:
            check(after, None, "the site after this change")
        edits = tuple(differences(SITE_GRAPH, present, after))
        return rewritten(Plan(stamps, Signature(author, now, reason), edits), present, after)

    def plan_undo(self, number: int, *, author: str, now: float, force: bool = False) -> Plan:
        """Return what undoing a change would change.

        Raises ``UnknownChangeError``, ``ChangedSinceError`` when what the change left is not there any more
        (unless ``force``), and ``InvalidDescriptionError`` when the site before would break the rules now.
        """
        undone = history.identity(self._store, number)
        parts = history.all_parts(self._store, number)
        if undone is None or not parts:
            raise UnknownChangeError(number, history.KEPT)
        stamps = self.stamps()
        site, required = self._described(SITE_GRAPH), self._described(REQUIREMENTS_GRAPH)
        wanted, sets = dict(site), dict[URIRef, Facts]()
        touched: list[URIRef] = []
        befores, lefts = history.read_states(parts)
        for part in parts:
            before, left = befores.get(part.subject, {}), lefts.get(part.subject, {})
            of_sets = QSM.RequirementSet in types(before) | types(left)
            now_there = (required if of_sets else site).get(part.subject, {})
            if now_there != left:
                touched.append(part.subject)
            if of_sets:
                sets[part.subject] = before or _emptied(left)
            elif before:
                wanted[part.subject] = before
            else:
                wanted.pop(part.subject, None)
        if touched and not force:
            raise ChangedSinceError(number, touched, self._later(number, touched[0]))
        signature = Signature(author, now, f"undo of change {number}", undone)
        if wanted != site:
            check(wanted, None, f"the site before change {number}")
        edits = [*differences(SITE_GRAPH, site, wanted), *self._set_edits(sets_of(sets), signature)]
        return rewritten(Plan(stamps, signature, tuple(edits)), site, wanted)

    def apply(self, plan: Plan) -> int | None:
        """Make a change and return its number; ``None`` when there is nothing to change.

        Raises ``StaleReadingError`` when anything changed since it was planned; nothing was changed then.
        A lost answer is asked for again: the request names the state it follows, and does nothing twice.
        Raises ``AnswerLostError`` when it stays unknown whether the change was made.
        """
        if not plan.changes_anything:
            return None
        change, self._planned = history.fresh(), None
        with self._changing:
            store = RetryingStore(self._store)
            text, staged = request(plan, change)
            if plan.first is not None:
                if self.stamps() != plan.stamps:
                    raise StaleReadingError
                store.put_graph(SITE_GRAPH, whole(plan.first))
            for graph, statements in staged.items():
                store.put_graph(graph, statements)
            size = len(text) + sum(map(len, staged.values()))
            store.update(text, patience=PATIENCE + size / _PER_PATIENCE)
            number = history.number(store, change)
            self._tidy(staged)
        if number is None:
            raise StaleReadingError
        return number

    def _tidy(self, staged: Iterable[URIRef]) -> None:
        """Empty the graphs a change was copied from; one that stays full is replaced by the next change."""
        with suppress(KnowledgeBaseError):
            for graph in staged:
                self._store.put_graph(graph, "")

    def _set_edits(self, sets: Iterable[RequirementSet], signature: Signature) -> list[Edit]:
        """Return the edits that put requirement sets in place, as the service itself would write them."""
        edits = []
        for requirement_set in sets:
            target = requirement_set_iri(requirement_set.level, requirement_set.name)
            before = graph_of(self._rows(REQUIREMENTS_GRAPH, [target]))
            revision = int(str(before.value(target, QSM.revision) or 0))
            signed = replace(
                requirement_set,
                revision=revision + 1,
                modified_at=signature.now,
                modified_by=signature.author,
            )
            edit = set_edit(signed, str(uuid.uuid4()), before)
            if edit.before != edit.after:
                edits.append(edit)
        return edits

    def _later(self, number: int, subject: URIRef) -> list[int]:
        changes = history.changes(self._store, before=None, subject=subject)
        return sorted(change.number for change in changes if change.number > number)

    def _described(self, graph: URIRef) -> Description:
        rows = self._store.select_terms(bind("statements.rq", graph=graph), patience=PATIENCE)
        return describe(graph_of(rows))

    def _rows(self, graph: URIRef, subjects: list[URIRef]) -> list[TermRow]:
        query = bind("descriptions.rq", graph=graph, subjects=subjects)
        return self._store.select_terms(query, patience=PATIENCE)


def _wanted(incoming: Incoming, stored: Iterable[RequirementSet], mode: Mode) -> list[RequirementSet]:
    """Return the requirement sets to be put in place: those that differ from what is stored."""
    given, known = (
        {(requirement_set.level, requirement_set.name): requirement_set for requirement_set in sets}
        for sets in (incoming.requirement_sets(), stored)
    )
    wanted = [
        requirement_set
        for key, requirement_set in sorted(given.items())
        if key not in known or _content(requirement_set) != _content(known[key])
    ]
    if mode is Mode.REPLACE and given:
        wanted += [
            RequirementSet(*key)
            for key, requirement_set in sorted(known.items())
            if key not in given and requirement_set.says_anything
        ]
    return wanted


def _check_applications(stored: Iterable[RequirementSet], wanted: list[RequirementSet], name: str) -> None:
    """Raise ``InvalidDescriptionError`` where a user would have too many applications with requirements."""
    after: dict[str, bool] = {}
    for requirement_set in (*stored, *wanted):
        if requirement_set.level is Level.APPLICATION:
            after[requirement_set.name] = requirement_set.says_anything
    counts = Counter(owner_of(Level.APPLICATION, name) for name in after if after[name])
    changed = {
        owner_of(Level.APPLICATION, requirement_set.name)
        for requirement_set in wanted
        if requirement_set.level is Level.APPLICATION
    }
    faults = [
        f"{user} would have {counts[user]} applications with requirements; {MAX_APPLICATIONS} at most"
        for user in sorted(changed)
        if counts[user] > MAX_APPLICATIONS
    ]
    if faults:
        raise InvalidDescriptionError(name, faults)


def _content(requirement_set: RequirementSet) -> tuple[object, ...]:
    return (
        frozenset(requirement_set.requirements),
        requirement_set.profile and requirement_set.profile.iri,
        requirement_set.definition,
        requirement_set.measured,
    )


def _emptied(facts: Facts) -> Facts:
    """Return a requirement set that requires nothing: a set keeps its revision and is never gone."""
    return {
        property_: values
        for property_, values in facts.items()
        if property_ in (RDF.type, QSM.level, QSM.subject)
    }
