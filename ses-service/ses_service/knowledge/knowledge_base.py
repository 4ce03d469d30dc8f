"""The knowledge base: everything the service keeps in an RDF store, behind one class."""

import gc
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import structlog

from ses_service.knowledge import site
from ses_service.knowledge.environment import read_environment
from ses_service.knowledge.errors import InvalidDescriptionError, RevisionConflictError, StoreRefusedError
from ses_service.knowledge.exchange.exchange import Exchange
from ses_service.knowledge.last_known import LastKnown, Recalled, Recorder
from ses_service.knowledge.queries import is_text
from ses_service.knowledge.requirements import read_requirement_sets, replace_requirement_set
from ses_service.knowledge.shrinking import ShrunkReadingError, Size, much_smaller
from ses_service.knowledge.statements.fast_turtle import read_quickly
from ses_service.knowledge.store.retry import RetryingStore
from ses_service.knowledge.store.store import SparqlStore
from ses_service.knowledge.terms import ONTOLOGY_GRAPH, QSM
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model.entities import Environment, RequirementSet

_REFUSED_SECONDS = 10.0
_log = structlog.get_logger(__name__)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Keep the garbage collector from going through millions of objects that all live, again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _readable(what: str) -> Iterator[None]:
    """Raise ``StoreRefusedError`` for a value that cannot be read: the store may be written by others."""
    try:
        yield
    except ValueError as error:
        raise StoreRefusedError(f"the {what} of the knowledge base cannot be read: {error}") from None


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
        self._known: Size | None = None
        self._latest = Size()
        self._refused: tuple[str, float, ShrunkReadingError] | None = None
        self.exchange = Exchange(store, self._changing)

    def load_ontology(self) -> None:
        """Put the vocabulary into its graph, in place of what it held."""
        self._store.put_graph(ONTOLOGY_GRAPH, vocabulary().turtle())

    def load_site(self, turtle: str, *, source: str) -> None:
        """Put a description that is called ``source`` into the site's graph. Raises like ``load_files``."""
        self.load_files({source: turtle})

    def load_files(self, texts: Mapping[str, str]) -> None:
        """Put a description of the site, in files by name, into its graph, in place of the one before.

        Raises ``InvalidDescriptionError`` when it is not Turtle or breaks a shape; the description
        before is untouched then. Does nothing when these very texts
        were loaded last: checking a large site takes seconds, and what was imported since stays. Raises
        ``ShrunkReadingError`` when it has far fewer elements than were known.
        """
        digest = site.digest(texts.values())
        if self.revision().startswith(f"{digest[:16]}."):
            return
        self._still_refused(digest)
        with _without_collector():
            self._load_files(texts, digest)

    def _load_files(self, texts: Mapping[str, str], digest: str) -> None:
        source = ", ".join(texts)
        description = read_quickly(*texts.values())
        if description is None or site.violations(description):
            description, lines = site.parse(texts, source)
            faults = site.violations(description, lines)
            if faults:
                raise InvalidDescriptionError(source, faults)
        elements = len(set(description.subjects(QSM.elementOf, None)))
        self._check(source, "elements", elements, self._size().elements, digest)
        plan = self.exchange.plan_site(description, source, digest, author="ses-service", now=time.time())
        self.exchange.apply(plan)

    def revision(self) -> str:
        """Return a text that changes whenever the site or any requirement does."""
        return str(self.exchange.stamps())

    def environment(self) -> Environment:
        """Return the site as it is described now: the very object as before when only requirements changed.

        A site that was never loaded through the service has no stamp to be known by, and is read each time.
        Raises ``ShrunkReadingError`` when it is far smaller than the one before, and no change accounts for
        that.
        """
        stamps = self.exchange.stamps()
        stamp = stamps.of_site
        if stamp and self._site is not None and self._site[0] == stamp:
            return self._site[1]
        self._still_refused(str(stamps))
        recorder = Recorder(self._store)
        with _readable("site"):
            environment = read_environment(recorder, stamp)
        known, count = self._size(), len(environment.elements)
        if stamps.site <= known.changes or not count:
            self._check("the knowledge base", "elements", count, known.elements, str(stamps))
        self._latest = replace(self._latest, elements=count, changes=stamps.site)
        if self._last_known is not None:
            self._last_known.note("site", recorder)
        self._site = (stamp, environment)
        return environment

    def requirement_sets(self) -> tuple[RequirementSet, ...]:
        """Return every requirement set.

        Raises ``ShrunkReadingError`` when there are far fewer than before: a set that requires nothing any
        more is still there.
        """
        recorder = Recorder(self._store)
        with _readable("requirement sets"):
            sets = read_requirement_sets(recorder)
        self._check("the knowledge base", "requirement sets", len(sets), self._size().sets)
        self._latest = replace(self._latest, sets=len(sets))
        if self._last_known is not None:
            self._last_known.note("requirements", recorder)
        return sets

    def keep(self, revision: str, now: float) -> None:
        """Write what was read last to the file for starts without the store; seconds since the epoch."""
        self._known = self._latest
        if self._last_known is not None:
            self._last_known.write(revision, now, self._known)
            self._last_known.acceptance.used()

    def recall(self) -> Recalled | None:
        """Return what the file holds that ``keep`` wrote; ``None`` without one."""
        return None if self._last_known is None else self._last_known.recall()

    def _size(self) -> Size:
        """Return how much was read last and used, by this service or the one before it."""
        if self._known is None:
            self._known = Size() if self._last_known is None else self._last_known.size()
        return self._known

    def _check(self, where: str, what: str, count: int, known: int, state: str = "") -> None:
        """Raise ``ShrunkReadingError`` unless so few may be used."""
        if not much_smaller(count, known) or self._accepted():
            self._refused = None
            return
        error = ShrunkReadingError(where, what, count, known)
        if state:
            self._refused = state, time.monotonic(), error
        raise error

    def _still_refused(self, state: str) -> None:
        """Raise again, for a while, what was raised of this very state: reading it all takes seconds."""
        refused = self._refused
        if refused is None or self._accepted():
            return
        if refused[0] == state and time.monotonic() - refused[1] < _REFUSED_SECONDS:
            raise refused[2]

    def _accepted(self) -> bool:
        return self._last_known is not None and self._last_known.acceptance.given()

    def replace_requirements(
        self, wanted: RequirementSet, *, author: str, now: float, expected_revision: int | None = None
    ) -> RequirementSet:
        """Store what a requirement set says in place of the one before and return it with its revision.

        ``author`` is the account that changes it and ``now`` the time in seconds since the epoch.
        Raises ``RevisionConflictError`` when ``expected_revision`` is given and another is stored, unless
        what is stored is this very change: its answer was lost, and it is asked for again.  Raises
        ``AnswerLostError`` when it may have been stored, and ``InvalidDescriptionError`` for what no store
        should hold.
        """
        unfit = [text for text in (wanted.name, author, wanted.definition) if not is_text(text)]
        if unfit:
            raise InvalidDescriptionError(
                f"requirements of a {wanted.level.value}", [f"{unfit[0]!r} has characters no store keeps"]
            )
        with self._changing:
            try:
                return replace_requirement_set(
                    RetryingStore(self._store),
                    wanted,
                    author=author,
                    now=now,
                    expected_revision=expected_revision,
                )
            except RevisionConflictError:
                this_one = replace(wanted, revision=(expected_revision or 0) + 1, modified_by=author)
                for stored in self.requirement_sets():
                    if expected_revision is not None and _same(stored, this_one):
                        return stored
                raise


def _same(requirement_set: RequirementSet, other: RequirementSet) -> bool:
    """Return whether two sets are one but for the time they were stored."""
    return (
        replace(requirement_set, requirements=(), modified_at=None)
        == replace(other, requirements=(), modified_at=None)
        and len(requirement_set.requirements) == len(other.requirements)
        and all(requirement in other.requirements for requirement in requirement_set.requirements)
    )
