"""What the service needs of the knowledge base, so that tests can bring another one."""

from __future__ import annotations

from typing import Protocol

from ses_service.knowledge import Recalled
from ses_service.knowledge.exchange.exchange import Exchange
from ses_service.model.entities import Environment, RequirementSet


class Knowledge(Protocol):
    """The part of :class:`ses_service.knowledge.KnowledgeBase` that is used while serving.

    Every method may raise ``KnowledgeBaseError``, ``StoreUnavailableError`` in particular.
    """

    @property
    def exchange(self) -> Exchange:
        """What exports, imports and undoes."""
        ...

    def revision(self) -> str:
        """Return a text that changes whenever anything below does."""
        ...

    def environment(self) -> Environment:
        """Return the site."""
        ...

    def requirement_sets(self) -> tuple[RequirementSet, ...]:
        """Return all requirement sets."""
        ...

    def keep(self, revision: str, now: float) -> None:
        """Keep what was read last for a start while the store is away; never fails."""
        ...

    def recall(self) -> Recalled | None:
        """Return what was kept; ``None`` when there is nothing."""
        ...

    def replace_requirements(
        self, wanted: RequirementSet, *, author: str, now: float, expected_revision: int | None = None
    ) -> RequirementSet:
        """Store a requirement set; raises ``RevisionConflictError`` unless it has that revision."""
        ...
