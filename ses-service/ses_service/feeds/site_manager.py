"""Reads the site and the requirement sets into the state, as the knowledge base has them, and changes them.

Asks the knowledge base for its revision every second and reads again what changed: all, or the requirements.
While the knowledge base is away, the last that was read stays in use and its age is shown; a service that
starts meanwhile uses what an earlier one kept.
"""

import threading
from collections.abc import Callable
from dataclasses import replace

import structlog
from ses_listen.deadline import of_this_thread

from ses_service.knowledge.errors import KnowledgeBaseError
from ses_service.knowledge.exchange.exchange import Exchange
from ses_service.knowledge.exchange.plans import Plan
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.model.entities import Environment, Level, RequirementSet
from ses_service.state.state import ServiceState
from ses_service.threads.source_status import SourceStatus

_log = structlog.get_logger("ses_service")


class NoKnowledgeBaseError(KnowledgeBaseError):
    """The service was started without a knowledge base."""


class SiteManager:
    """Reads the knowledge base for the state; also the way requirement sets are changed.

    ``prepare`` is run before the first reading (it loads vocabulary and site) and again until it
    succeeds.
    """

    def __init__(
        self,
        knowledge: KnowledgeBase | None,
        state: ServiceState,
        clock: Callable[[], float],
        *,
        url: str | None = None,
        prepare: Callable[[], None] | None = None,
        interval: float = 1.0,
    ) -> None:
        self._knowledge = knowledge
        self._state = state
        self._clock = clock
        self._prepare = prepare
        self._interval = interval
        self._turn = threading.Lock()
        self._recalled = False
        self.revision: str | None = None
        self._site: Environment | None = None
        self.status = SourceStatus(
            url, detail="not asked yet" if knowledge else "no knowledge base is configured"
        )

    def step(self) -> float:
        """Look once, noting a failure; return the seconds to wait before the next time."""
        try:
            self.refresh()
        except KnowledgeBaseError as error:
            self._failed(str(error))
        return self._interval

    @of_this_thread(None)
    def refresh(self) -> None:
        """Read what changed.  Raises KnowledgeBaseError."""
        knowledge = self._required()
        with self._turn:
            if self._prepare is not None:
                self._prepare()
                self._prepare = None
            revision = knowledge.revision()
            if revision != self.revision:
                environment, sets = knowledge.environment(), knowledge.requirement_sets()
                if environment is self._site:
                    self._state.take_sets(sets)
                else:
                    self._state.take_environment(environment, sets)
                self._site, self.revision = environment, revision
                knowledge.keep(revision, self._clock())
                _log.info("site read", revision=revision, elements=len(environment.elements), sets=len(sets))
            self._succeeded()

    @of_this_thread(None)
    def replace_requirements(
        self, wanted: RequirementSet, *, author: str, expected_revision: int | None
    ) -> RequirementSet:
        """Store a set; decisions use it from now on.  Raises KnowledgeBaseError."""
        knowledge = self._required()
        with self._turn:
            changed = knowledge.replace_requirements(
                wanted, author=author, now=self._clock(), expected_revision=expected_revision
            )
            if changed.level is Level.PROFILE:  # sets that take it up change with it
                self._state.take_sets(knowledge.requirement_sets())
            else:
                self._state.take_set(changed)
        return changed

    def exchange(self) -> Exchange:
        """Return what exports, imports and plans changes.  Raises KnowledgeBaseError."""
        return self._required().exchange

    @of_this_thread(None)
    def apply(self, plan: Plan) -> int | None:
        """Make a planned change; return its number, ``None`` for one of nothing.  Raises KnowledgeBaseError.

        Decisions use it from now on, unless it cannot be read back at once.
        """
        number = self.exchange().apply(plan)
        self.step()
        return number

    def notes(self, now: float) -> list[str]:
        """Return what a person reading a decision should know about the knowledge base."""
        if self.status.reachable:
            return []
        age = self.status.age(now)
        if age is None:
            return [f"The knowledge base was never read: {self.status.detail}."]
        return [f"Site and requirements are {age:.0f} s old: {self.status.detail}."]

    def _required(self) -> KnowledgeBase:
        if self._knowledge is None:
            raise NoKnowledgeBaseError("no knowledge base is configured")
        return self._knowledge

    def _failed(self, detail: str) -> None:
        if self.status.detail != detail:
            _log.warning("knowledge base failed", detail=detail)
        self.status = replace(self.status, reachable=False, detail=detail)
        if self.revision is None and not self._recalled and self._knowledge is not None:
            self._recalled = True
            self._recall(self._knowledge)

    def _recall(self, knowledge: KnowledgeBase) -> None:
        recalled = knowledge.recall()
        if recalled is None:
            return
        with self._turn:
            if self.revision is None:
                self._state.take_environment(recalled.environment, recalled.sets)
                self.status = replace(self.status, answered_at=recalled.read_at)
                _log.warning("site taken from the copy of an earlier reading", read_at=recalled.read_at)

    def _succeeded(self) -> None:
        if not self.status.reachable:
            _log.info("knowledge base answers", url=self.status.url)
        self.status = SourceStatus(self.status.url, True, self._clock(), "")
