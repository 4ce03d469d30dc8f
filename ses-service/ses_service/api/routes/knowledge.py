"""The knowledge base as a whole: export, import, history, undo.

Administrators only, but for the history, which every person may read, and for undoing, which who may change a
requirement set may do with changes of it.
"""

from __future__ import annotations

import base64
import binascii
import zlib

from apiflask import APIBlueprint
from flask import Response
from rdflib import URIRef
from ses_client.errors import SesError
from ses_client.messages.knowledge import ChangeMade, ChangePage, ChangeStates, KnowledgePage
from ses_client.text_files import decoded
from ses_client.turtle import BASE
from ses_listen import deadline

from ses_service.api import render, render_changes
from ses_service.api.authentication import allow, caller
from ses_service.api.callers import may_read
from ses_service.api.contract import answers
from ses_service.api.problems import (
    ForbiddenProblem,
    InvalidProblem,
    NotFoundProblem,
    RevisionProblem,
    invalid_description,
)
from ses_service.api.routes.requirements import check_right
from ses_service.api.schemas.knowledge import ChangesQuery, ImportIn, PageQuery, UndoIn
from ses_service.api.schemas.requests import LEVELS
from ses_service.knowledge import InvalidDescriptionError
from ses_service.knowledge.exchange.incoming import Mode
from ses_service.knowledge.exchange.plans import Plan
from ses_service.knowledge.history import PAGE, Part
from ses_service.knowledge.queries import is_iri
from ses_service.knowledge.terms import (
    REQUIREMENTS_GRAPH,
    SITE_GRAPH,
    requirement_set_iri,
    requirement_set_of,
)
from ses_service.process.runtime import runtime
from ses_service.security.tokens import Principal, Role

blueprint = APIBlueprint("knowledge", __name__, tag="knowledge")

_PARTS = {"site": SITE_GRAPH, "requirements": REQUIREMENTS_GRAPH}
_SUBJECTS = 200
_UNPACKED = 2**25
_SECONDS = 600.0  # an import may take; as long as callers wait


@blueprint.get("/v1/knowledge/<any(requirements, site):part>")
@allow(Role.ADMIN)
@blueprint.input(PageQuery, location="query")
@blueprint.doc(responses=answers(KnowledgePage, 404, 422, 503))
def export(part: str, query_data: PageQuery) -> Response:
    """Export a page of the site or of the requirements

    200 subjects at most, by name.  Pages with the same `revision` belong together.
    """
    graph = _PARTS[part]
    exchange = runtime().site_manager.exchange()
    stamps = exchange.stamps()
    page = exchange.page(graph, query_data.after)
    more = str(page[-1][0]) if len(page) == _SUBJECTS else None
    return render.answer(render_changes.page(part, str(stamps), page, more))


@blueprint.post("/v1/knowledge/imports")
@allow(Role.ADMIN)
@blueprint.input(ImportIn)
@blueprint.doc(responses=answers(ChangeMade, 409, 412, 503, body=True))
def import_text(json_data: ImportIn) -> Response:
    """Import a description of the site, of requirements or of both

    It is checked against the shapes and made as a whole or not at all.  `merge` replaces, of the subjects
    the text has, the properties it states; `replace` replaces what the text describes (site, requirements
    or both) as a whole; `discovered` merges what a machine found with what people changed since.
    """
    deadline.extend(_SECONDS)
    who, running = caller(), runtime()
    exchange = running.site_manager.exchange()
    try:
        plan = exchange.plan_import(
            _text(json_data),
            json_data.name,
            Mode(json_data.mode),
            author=who.author,
            now=running.state.now(),
            trig=None if json_data.format is None else json_data.format == "trig",
            prefer_discovered=json_data.prefer == "discovered",
        )
    except InvalidDescriptionError as error:
        raise invalid_description(error) from None
    if json_data.revision is not None and json_data.revision != str(plan.stamps):
        raise RevisionProblem("Site or requirements were changed since; look at what would change now.")
    return _made(plan, json_data.dry_run)


@blueprint.get("/v1/changes")
@allow(Role.USER, Role.PORTAL, Role.ADMIN)
@blueprint.input(ChangesQuery, location="query")
@blueprint.doc(responses=answers(ChangePage, 422, 503))
def changes(query_data: ChangesQuery) -> Response:
    """List changes of site and requirements, the latest first

    50 at most; the service keeps the last 1,000.  With the token of a user: of the site, and of requirements
    that can apply to them.
    """
    subject = None if query_data.subject is None else _subject(query_data.subject)
    if subject is not None and not _may_read(subject):
        raise ForbiddenProblem("These requirements cannot apply to you.")
    page = runtime().site_manager.exchange().changes(before=query_data.before, subject=subject)
    more = page[-1].number if len(page) == PAGE else None
    listed = [render_changes.summary(change) for change in page if _may_read(change.subject)]
    return render.answer(ChangePage(changes=listed, next=more))


@blueprint.get("/v1/changes/<int:number>")
@allow(Role.USER, Role.PORTAL, Role.ADMIN)
@blueprint.input(PageQuery, location="query")
@blueprint.doc(responses=answers(ChangeStates, 404, 422, 503))
def change(number: int, query_data: PageQuery) -> Response:
    """Say what a change did, subject by subject

    400 subjects at most, by name.  With the token of a user: without requirements that cannot apply to them.
    """
    exchange = runtime().site_manager.exchange()
    parts, more = exchange.parts(number, query_data.after) if _known(number) else ([], False)
    if not parts and not query_data.after:
        raise NotFoundProblem(f"There is no change {number} (any more).")
    next_ = str(parts[-1].subject) if more else None
    shown = [part for part in parts if _may_read(part.subject)]
    if parts and not shown and next_ is None:
        raise ForbiddenProblem("This change is of requirements that cannot apply to you.")
    return render.answer(render_changes.states(number, shown, next_))


@blueprint.post("/v1/changes/<int:number>/undo")
@allow(Role.USER, Role.PORTAL, Role.ADMIN)
@blueprint.input(UndoIn)
@blueprint.doc(responses=answers(ChangeMade, 404, 409, 503, body=True))
def undo(number: int, json_data: UndoIn) -> Response:
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
        plan = exchange.plan_undo(number, author=who.author, now=running.state.now(), force=json_data.force)
    except InvalidDescriptionError as error:
        raise invalid_description(error) from None
    return _made(plan, json_data.dry_run)


def _made(plan: Plan, dry_run: bool) -> Response:
    number = None if dry_run else runtime().site_manager.apply(plan)
    return render.answer(render_changes.made(plan, number, dry_run, _SUBJECTS))


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
        raise InvalidProblem([{"location": "json.packed", "message": f"cannot be read: {error}"}]) from None
    if not unpacking.eof:
        message = f"ends early, or is larger than {_UNPACKED} bytes"
        raise InvalidProblem([{"location": "json.packed", "message": message}])
    return text


def _subject(text: str) -> URIRef:
    level, slash, name = text.partition("/")
    if slash and level in LEVELS:
        return requirement_set_iri(LEVELS[level], name)
    iri = text if ":" in text.partition("/")[0] else BASE + text
    if not is_iri(iri):
        raise InvalidProblem([{"location": "query.subject", "message": "is no IRI and no LEVEL/NAME"}])
    return URIRef(iri)


def _known(number: int) -> bool:
    return number < 2**53
