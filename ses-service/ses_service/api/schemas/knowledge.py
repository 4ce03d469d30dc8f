"""Requests and answers about the knowledge base as a whole: export, import, history."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from ses_service.api.schemas.answers import Answer, LevelName, RequirementOut
from ses_service.api.schemas.requests import Body, Query, Text
from ses_service.knowledge.queries import is_text

PartName = Literal["site", "requirements"]


def _storable(text: str) -> str:
    if not is_text(text):
        raise ValueError("has characters that no name has, such as NUL")
    return text


Iri = Annotated[str, Field(max_length=2048), AfterValidator(_storable)]
_TEXT = 2**25


class PageQuery(Query):
    """Where a page begins: after this subject."""

    after: Iri = ""


class ChangesQuery(Query):
    """Which changes: below a number, of one subject.

    A subject is `LEVEL/NAME` of a requirement set (`user/alice`), or an IRI, in full or within the site.
    """

    before: Annotated[int, Field(ge=1, lt=2**53)] | None = None
    subject: (
        Annotated[str, Field(min_length=1, max_length=2048, pattern=r"^[^\x00-\x20<>\"{}|^`\\\x7f]+$")] | None
    ) = None


class ImportIn(Body):
    """A text to import: `text`, or `packed` (gzip, then base64; 32 MiB when unpacked).

    With `revision`, only when site and requirements are still in that state.  With `dry_run`, nothing is
    changed.  Without `format`, the ending of `name` says it: `.trig`, else Turtle.
    """

    text: Annotated[str, Field(max_length=_TEXT)] | None = None
    packed: Annotated[str, Field(max_length=_TEXT, pattern=r"^[A-Za-z0-9+/=]*$")] | None = None
    name: Text = "the text"
    format: Literal["turtle", "trig"] | None = None
    mode: Literal["merge", "replace", "discovered"] = "merge"
    prefer: Literal["described", "discovered"] = "described"
    dry_run: bool = False
    revision: Annotated[str, Field(max_length=128)] | None = None

    @model_validator(mode="after")
    def _one_text(self) -> ImportIn:
        if (self.text is None) == (self.packed is None):
            raise ValueError("either text or packed must be given")
        return self


class UndoIn(Body):
    """How to undo: `force` even when what the change left was changed again."""

    force: bool = False
    dry_run: bool = False


class SubjectText(Answer):
    """What is said about one subject, as a block of Turtle."""

    subject: str
    turtle: str


class KnowledgePage(Answer):
    """Subjects by name, and the one to ask for more after.

    The blocks of all pages of one `revision`, after `head`, are one Turtle text.
    """

    part: PartName
    revision: str
    head: str
    subjects: list[SubjectText]
    next: str | None


class PropertyChange(Answer):
    """Values of one property, in Turtle: those that go and those that come."""

    property: str
    before: list[str]
    after: list[str]


class SubjectChange(Answer):
    """What changes about one subject."""

    part: PartName
    subject: str
    status: Literal["added", "changed", "removed"]
    properties: list[PropertyChange]


class ConflictOut(Answer):
    """What people and a discovery both changed; `property` null: the subject is not discovered any more."""

    subject: str
    property: str | None
    described: list[str]
    discovered: list[str]
    kept: Literal["described", "discovered"]


class ChangeMade(Answer):
    """What was, or with `dry_run` would be, changed.  `change` is null when nothing was.

    `revision` is the state this was worked out from.  Of `total` subjects the first 200 are listed.
    """

    change: int | None
    dry_run: bool
    revision: str
    total: int
    subjects: list[SubjectChange]
    conflicts: list[ConflictOut]


class ChangeSummary(Answer):
    """One change: who, when (ISO 8601) and why; `subject` is the first of `subjects`."""

    number: int
    at: str
    author: str
    reason: str
    subjects: int
    subject: str
    undone: int | None


class ChangeList(Answer):
    """Changes, newest first, and the number to ask for more before."""

    changes: list[ChangeSummary]
    next: int | None


class StatedSet(Answer):
    """What a requirement set states; kinds nobody describes any more are left out."""

    level: LevelName
    name: str
    requirements: list[RequirementOut]
    profile: str | None


class StateOut(Answer):
    """One subject before and after, as Turtle; null where there was nothing.

    Of a requirement set, `set_before` and `set_after` say the same in the words of requirements.
    """

    subject: str
    before: str | None
    after: str | None
    set_before: StatedSet | None
    set_after: StatedSet | None


class ChangeOut(Answer):
    """What one change did, subject by subject, and the one to ask for more after."""

    number: int
    states: list[StateOut]
    next: str | None
