"""The knowledge base as a whole: export, import, history, undo.

Administrators only, but for the history, which every person may read, and for undoing, which who may change a
requirement set may do with changes of it.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator
from rdflib import URIRef
from ses_client.errors import SesError
from ses_client.messages.knowledge import ChangeMade, ChangePage, ChangeStates, KnowledgePage
from ses_client.text_files import decoded
from ses_client.turtle import BASE
from ses_listen import deadline

from ses_service.api import render_changes
from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.callers import may_read
from ses_service.api.problems import (
    ForbiddenProblem,
    NotFoundProblem,
    RevisionProblem,
    invalid,
    invalid_description,
)
from ses_service.api.routes.requirements import check_right
from ses_service.api.schemas.requests import LEVELS, Body, Query, Text
from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.exchange.incoming import Mode
from ses_service.knowledge.exchange.plans import Plan
from ses_service.knowledge.history import PAGE, Part
from ses_service.knowledge.queries import is_iri, is_text
from ses_service.knowledge.terms import (
    REQUIREMENTS_GRAPH,
    SITE_GRAPH,
    requirement_set_iri,
    requirement_set_of,
)
from ses_service.process.runtime import runtime
from ses_service.security.tokens import PEOPLE, Principal, Role

area = Area("knowledge")

_PARTS = {"site": SITE_GRAPH, "requirements": REQUIREMENTS_GRAPH}
_SUBJECTS = 200  # of subjects.rq
_UNPACKED = 2**25
_SECONDS = 600.0  # an import may take; as long as callers wait


def _storable(text: str) -> str:
    if not is_text(text):
        raise ValueError("has characters that no name has, such as NUL")
    return text


Iri = Annotated[str, Field(max_length=2048), AfterValidator(_storable)]


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

    text: Annotated[str, Field(max_length=_UNPACKED)] | None = None
    packed: Annotated[str, Field(max_length=_UNPACKED, pattern=r"^[A-Za-z0-9+/=]*$")] | None = None
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


@area.answers(
    "GET /v1/knowledge/<any(requirements, site):part>",
    KnowledgePage,
    404,
    roles=(Role.ADMIN,),
    query=PageQuery,
)
def export(part: str, asked: PageQuery) -> KnowledgePage:
    """Export a page of the site or of the requirements

    200 subjects at most, by name.  Pages with the same `revision` belong together.
    """
    exchange = runtime().site_manager.exchange()
    stamps = exchange.stamps()
    page = exchange.page(_PARTS[part], asked.after)
    more = str(page[-1][0]) if len(page) == _SUBJECTS else None
    return render_changes.page(part, str(stamps), page, more)


@area.answers("POST /v1/knowledge/imports", ChangeMade, 409, 412, roles=(Role.ADMIN,), body=ImportIn)
def import_text(asked: ImportIn) -> ChangeMade:
    """Import a description of the site, of requirements or of both

    It is checked against the shapes and made as a whole or not at all.  `merge` replaces, of the subjects
    the text has, the properties it states; `replace` replaces what the text describes (site, requirements
    or both) as a whole; `discovered` merges what a machine found with what people changed since.
    """
    deadline.extend(_SECONDS)
    running = runtime()
    try:
        plan = running.site_manager.exchange().plan_import(
            _text(asked),
            asked.name,
            Mode(asked.mode),
            author=caller().author,
            now=running.state.now(),
            trig=None if asked.format is None else asked.format == "trig",
            prefer_discovered=asked.prefer == "discovered",
        )
    except InvalidDescriptionError as error:
        raise invalid_description(error) from None
    if asked.revision is not None and asked.revision != str(plan.stamps):
        raise RevisionProblem("Site or requirements were changed since; look at what would change now.")
    return _made(plan, asked.dry_run)


@area.answers("GET /v1/changes", ChangePage, roles=PEOPLE, query=ChangesQuery)
def changes(asked: ChangesQuery) -> ChangePage:
    """List changes of site and requirements, the latest first

    50 at most; the service keeps the last 1,000.  With the token of a user: of the site, and of requirements
    that can apply to them.
    """
    subject = None if asked.subject is None else _subject(asked.subject)
    if subject is not None and not _may_read(subject):
        raise ForbiddenProblem("These requirements cannot apply to you.")
    page = runtime().site_manager.exchange().changes(before=asked.before, subject=subject)
    more = page[-1].number if len(page) == PAGE else None
    listed = [render_changes.summary(change) for change in page if _may_read(change.subject)]
    return ChangePage(changes=listed, next=more)


@area.answers("GET /v1/changes/<int:number>", ChangeStates, 404, roles=PEOPLE, query=PageQuery)
def change(number: int, asked: PageQuery) -> ChangeStates:
    """Say what a change did, subject by subject

    400 subjects at most, by name.  With the token of a user: without requirements that cannot apply to them.
    """
    exchange = runtime().site_manager.exchange()
    parts, more = exchange.parts(number, asked.after) if _known(number) else ([], False)
    if not parts and not asked.after:
        raise NotFoundProblem(f"There is no change {number} (any more).")
    next_ = str(parts[-1].subject) if more else None
    shown = [part for part in parts if _may_read(part.subject)]
    if parts and not shown and next_ is None:
        raise ForbiddenProblem("This change is of requirements that cannot apply to you.")
    return render_changes.states(number, shown, next_)


@area.answers("POST /v1/changes/<int:number>/undo", ChangeMade, 404, 409, roles=PEOPLE, body=UndoIn)
def undo(number: int, asked: UndoIn) -> ChangeMade:
    """Undo a change, by a further one

    409 when what it left was changed again, unless `force`.  Changes of the site: administrators only.
    """
    who, running = caller(), runtime()
    exchange = running.site_manager.exchange()
    if not _known(number):
        raise NotFoundProblem(f"There is no change {number} (any more).")
    for part in exchange.all_parts(number):
        _check_right(who, part)
    try:
        plan = exchange.plan_undo(number, author=who.author, now=running.state.now(), force=asked.force)
    except InvalidDescriptionError as error:
        raise invalid_description(error) from None
    return _made(plan, asked.dry_run)


def _made(plan: Plan, dry_run: bool) -> ChangeMade:
    number = None if dry_run else runtime().site_manager.apply(plan)
    return render_changes.made(plan, number, dry_run)


def _check_right(who: Principal, part: Part) -> None:
    about = requirement_set_of(part.subject)
    if about is not None:
        check_right(who, *about)
    elif who.role is Role.USER or not (who.user or who.role is Role.ADMIN):
        raise ForbiddenProblem("Only an administrator may undo a change of the site.")


def _may_read(subject: URIRef) -> bool:
    about = requirement_set_of(subject)
    return about is None or may_read(caller(), *about, runtime().state.environment.home_vo)


def _text(asked: ImportIn) -> str:
    if asked.packed is None:
        return asked.text or ""
    unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        data = unpacking.decompress(base64.b64decode(asked.packed, validate=True), _UNPACKED)
        text = decoded(data, asked.name)
    except (binascii.Error, zlib.error, SesError) as error:
        raise invalid("json.packed", f"cannot be read: {error}") from None
    if not unpacking.eof:
        raise invalid("json.packed", f"ends early, or is larger than {_UNPACKED} bytes")
    return text


def _subject(text: str) -> URIRef:
    level, slash, name = text.partition("/")
    if slash and level in LEVELS:
        return requirement_set_iri(LEVELS[level], name)
    iri = text if ":" in text.partition("/")[0] else BASE + text
    if not is_iri(iri):
        raise invalid("query.subject", "is no IRI and no LEVEL/NAME")
    return URIRef(iri)


def _known(number: int) -> bool:
    return number < 2**53
