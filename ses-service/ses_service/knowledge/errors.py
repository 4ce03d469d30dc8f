"""What can go wrong with the knowledge base."""

from __future__ import annotations

from collections.abc import Sequence


class KnowledgeBaseError(Exception):
    """Any fault of the knowledge base."""


class StoreUnavailableError(KnowledgeBaseError):
    """The store does not answer, or not in time. Nothing was changed, unless it is an ``AnswerLostError``."""


class AnswerLostError(StoreUnavailableError):
    """The request was sent and no good answer came: what it asked for may or may not have been done."""

    def __str__(self) -> str:
        return f"{super().__str__()} (whether the change was stored is not known; send the same again)"


class StoreRefusedError(KnowledgeBaseError):
    """The store answered that it will not do this (wrong credentials, malformed request, no space)."""


class InvalidDescriptionError(KnowledgeBaseError):
    """A description of a site breaks the rules; ``messages`` says each way it does. Nothing was loaded."""

    def __init__(self, source: str, messages: Sequence[str]) -> None:
        self.source = source
        self.messages = tuple(messages)
        super().__init__(f"{source}: " + "; ".join(self.messages))


class RevisionConflictError(KnowledgeBaseError):
    """A requirement set has another revision than the caller read; somebody else changed it."""

    def __init__(self, level: str, name: str, expected: int, found: int) -> None:
        self.expected = expected
        self.found = found
        super().__init__(f"{level} {name} has revision {found}, not {expected}: it was changed meanwhile")
