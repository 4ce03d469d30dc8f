"""Requests and answers about the knowledge base as a whole: export, import, history."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from ses_service.api.schemas.requests import Body, Query, Text
from ses_service.knowledge.queries import is_text


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
