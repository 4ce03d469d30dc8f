"""What can go wrong with the knowledge base."""

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


class TooManyStatementsError(InvalidDescriptionError):
    """A description is larger than anybody's; it was not read to its end."""


class RevisionConflictError(KnowledgeBaseError):
    """A requirement set has another revision than the caller read; somebody else changed it."""

    def __init__(self, level: str, name: str, expected: int, actual: int) -> None:
        super().__init__(f"{level} {name} has revision {actual}, not {expected}: it was changed meanwhile")


class StaleReadingError(KnowledgeBaseError):
    """Site or requirements were changed after a change of them was planned. Nothing was changed."""

    def __init__(self) -> None:
        super().__init__("site or requirements were changed meanwhile; nothing was changed now")


class UnknownChangeError(KnowledgeBaseError):
    """The history has no change of this number (any more)."""

    def __init__(self, number: int, kept: int) -> None:
        super().__init__(f"there is no change {number}; the last {kept} are kept")


class ChangedSinceError(KnowledgeBaseError):
    """What a change left was changed again, by the changes ``later``: undoing it would undo more."""

    def __init__(self, number: int, subjects: Sequence[str], later: Sequence[int]) -> None:
        self.subjects = tuple(subjects)
        self.later = tuple(later)
        by = f" by change {', '.join(map(str, later))}" if later else ""
        more = f" and {len(subjects) - 1} more" if len(subjects) > 1 else ""
        super().__init__(
            f"{subjects[0]}{more} was changed again after change {number}{by}: undoing it would lose that"
        )


class NoSuchElementError(KnowledgeBaseError):
    """The site describes no such element, or no such storage system."""


class ElementExistsError(KnowledgeBaseError):
    """The site describes an element of this name already."""


class NotDrainedError(KnowledgeBaseError):
    """The element is not being drained."""
