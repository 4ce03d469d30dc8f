"""The knowledge base: everything the service keeps in an RDF store, behind one class."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from ses_service.knowledge import site
from ses_service.knowledge.environment import read_environment
from ses_service.knowledge.errors import InvalidDescriptionError, RevisionConflictError
from ses_service.knowledge.exchange import Exchange
from ses_service.knowledge.insistence import InsistentStore
from ses_service.knowledge.last_known import LastKnown, Recalled, Recorder
from ses_service.knowledge.queries import is_text
from ses_service.knowledge.quick import read_quickly
from ses_service.knowledge.requirements import read_requirement_sets, replace_requirement_set
from ses_service.knowledge.store import SparqlStore
from ses_service.knowledge.terms import ONTOLOGY_GRAPH
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model import Environment, Level, Profile, Requirement, RequirementSet


class KnowledgeBase:
    """Reads and writes one store. Safe to use from several threads.

    Every method raises ``StoreUnavailableError`` or ``StoreRefusedError`` when the store does.
    """

    def __init__(self, store: SparqlStore, last_known: LastKnown | None = None) -> None:
        self._store = store
        self._last_known = last_known
        # Fuseki puts updates in a row; the oxigraph server may apply one on what it read before another.
        self._changing = threading.Lock()
        self._site: tuple[str, Environment] | None = None
        self.exchange = Exchange(store, self._changing)

    def ping(self) -> None:
        """Return when the store answers."""
        self.revision()

    def load_ontology(self) -> None:
        """Put the vocabulary into its graph, in place of what it held."""
        self._store.put_graph(ONTOLOGY_GRAPH, vocabulary().turtle())

    def load_site(self, turtle: str, *, source: str) -> None:
        """Put a description of the site into its graph, in place of the one before.

        Raises ``InvalidDescriptionError`` when it is not Turtle or breaks a shape; the description
        before is untouched then. ``source`` names the text in messages. Does nothing when this very text
        was loaded last: checking a large site takes seconds, and what was imported since stays.
        """
        if self.revision().startswith(f"{site.digest(turtle)[:16]}."):
            return
        description = read_quickly(turtle)
        if description is None or site.violations(description):
            description, lines = site.parse_with_lines(turtle, source)
            faults = site.violations(description, lines)
            if faults:
                raise InvalidDescriptionError(source, faults)
        plan = self.exchange.plan_site(
            description, source, site.digest(turtle), author="ses-service", now=time.time()
        )
        self.exchange.apply(plan)

    def revision(self) -> str:
        """Return a text that changes whenever the site or any requirement does."""
        return str(self.exchange.stamps())

    def environment(self) -> Environment:
        """Return the site as it is described now: the very object as before when only requirements changed.

        A site that was never loaded through the service has no stamp to be known by, and is read each time.
        """
        stamp = self.exchange.stamps().of_site
        if stamp and self._site is not None and self._site[0] == stamp:
            return self._site[1]
        recorder = Recorder(self._store)
        environment = read_environment(recorder, stamp)
        if self._last_known is not None:
            self._last_known.note("site", recorder)
        self._site = (stamp, environment)
        return environment

    def requirement_sets(self) -> tuple[RequirementSet, ...]:
        """Return every requirement set."""
        recorder = Recorder(self._store)
        sets = read_requirement_sets(recorder)
        if self._last_known is not None:
            self._last_known.note("requirements", recorder)
        return sets

    def keep(self, revision: str, now: float) -> None:
        """Write what was read last to the file for starts without the store; seconds since the epoch."""
        if self._last_known is not None:
            self._last_known.write(revision, now)

    def recall(self) -> Recalled | None:
        """Return what the file holds that ``keep`` wrote; ``None`` without one."""
        return None if self._last_known is None else self._last_known.recall()

    def replace_requirements(
        self,
        level: Level,
        name: str,
        requirements: Sequence[Requirement],
        *,
        profile: Profile | None = None,
        author: str,
        now: float,
        expected_revision: int | None = None,
    ) -> RequirementSet:
        """Store a requirement set in place of the one before and return it with its revision.

        ``author`` is the account that changes it and ``now`` the time in seconds since the epoch.
        Raises ``RevisionConflictError`` when ``expected_revision`` is given and another is stored, unless
        what is stored is this very change: its answer was lost, and it is asked for again.  Raises
        ``AnswerLostError`` when it may have been stored, and ``InvalidDescriptionError`` for what no store
        should hold.
        """
        unfit = [text for text in (name, author) if not is_text(text)]
        if unfit:
            raise InvalidDescriptionError(
                f"requirements of a {level.value}", [f"{unfit[0]!r} has characters no store keeps"]
            )
        with self._changing:
            try:
                return replace_requirement_set(
                    InsistentStore(self._store),
                    level,
                    name,
                    requirements,
                    profile=profile,
                    author=author,
                    now=now,
                    expected_revision=expected_revision,
                )
            except RevisionConflictError:
                wanted = RequirementSet(
                    level, name, tuple(requirements), (expected_revision or 0) + 1, None, author, profile
                )
                for found in self.requirement_sets():
                    if expected_revision is not None and _same(found, wanted):
                        return found
                raise


def _same(one: RequirementSet, other: RequirementSet) -> bool:
    """Return whether two sets are one but for the time they were stored."""
    return (
        replace(one, requirements=(), modified_at=None) == replace(other, requirements=(), modified_at=None)
        and len(one.requirements) == len(other.requirements)
        and all(requirement in other.requirements for requirement in one.requirements)
    )
