"""The storage pages: a map and a table of every element, and one element over time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from flask import Blueprint, redirect, render_template, request, url_for
from ses_client.errors import NotFoundError, RefusedError, SesError, UsageError
from ses_client.messages.element_groups import ElementGroups
from ses_client.messages.elements import Element, History, Inventory
from ses_client.messages.knowledge import Change
from ses_client.messages.quotas import QuotaPage
from werkzeug.wrappers import Response

from ses_webface.portal import person, service
from ses_webface.quotas.views import SOON_DAYS
from ses_webface.storage.forms import MEASURES, SPANS, StorageForm
from ses_webface.storage.pictures import Load, load_of
from ses_webface.storage.services import (
    BY,
    MAX_TILES,
    Question,
    map_of_elements,
    map_of_groups,
    page_of,
    state_words,
    tile,
    wants_bundles,
)

blueprint = Blueprint("storage", __name__, url_prefix="/storage")
_CHANGES = 5
_QUOTAS = 8
_FEW = 40
"""Elements that are found by looking."""


@blueprint.get("")
def overview() -> str | Response:
    """Show all elements, or the one named; only the part that changes when the page asks for it."""
    form = StorageForm(request.args)
    asked = form.question()
    groups = _groups(asked)
    sought = (form.find.data or "").strip()
    if (there := _named(sought, groups.systems)) is not None:
        return redirect(there, 303)
    page, _pages = page_of(groups, asked)
    if page != asked.page:
        asked = replace(asked, page=page)
        groups = _groups(asked)
    if wants_bundles(groups):
        shown = map_of_groups(groups, asked)
    else:
        first = (page - 1) * MAX_TILES
        listed = service().elements(asked.chosen(), offset=first, limit=MAX_TILES)
        shown = map_of_elements(groups, listed.elements, asked)
    form.show.data = asked.show
    in_part = bool(request.headers.get("HX-Request"))
    template = "storage/elements.html" if in_part else "storage/overview.html"

    def address(**changes: object) -> str:
        return _address(asked, changes)

    return render_template(
        template, form=form, map=shown, element_groups=groups, asked=asked, measures=MEASURES,
        address=address, dimensions=tuple(BY), quotas=None if in_part else _quotas(), sought=sought, few=_FEW,
    )  # fmt: skip


def _named(sought: str, systems: Sequence[str]) -> str | None:
    """Return the address of the element of this name, of any storage system where none is named."""
    for system in systems if sought else ():
        name = sought.removeprefix(f"{system}/")
        try:
            service().element(f"{system}/{name}")
        except (NotFoundError, RefusedError, UsageError):
            continue
        return url_for("storage.element", system=system, name=name)
    return None


def _quotas() -> QuotaPage | None:
    """Return the quotas that are used up soon: one's own, or of an administrator all."""
    user = None if person().is_admin else person().name
    try:
        return service().quotas(user=user, full_within_days=SOON_DAYS, limit=_QUOTAS)
    except SesError:
        return None


def _groups(asked: Question) -> ElementGroups:
    return service().element_groups(
        asked.chosen(),
        by=asked.by or None,
        measure=asked.show,
        offset=(asked.page - 1) * MAX_TILES,
        limit=MAX_TILES,
    )


@blueprint.get("/<system>/<name>")
def element(system: str, name: str) -> str:
    """Show one element: what is known of it, and how it was read and written."""
    storage, shown = find(f"{system}/{name}")
    span = request.args.get("span", "hour")
    past = _past(shown, span if span in SPANS else "hour")
    return render_template(
        "storage/element.html",
        storage=storage,
        element=shown,
        words=state_words(shown),
        tiles=[(label, tile(shown, show)) for show, label in MEASURES],
        past=past,
        spans=SPANS,
        changes=_changes(shown),
    )


def find(name: str) -> tuple[Inventory, Element]:
    """Return one element, and what the service reads; raises NotFoundError where there is none."""
    storage = service().element(name)
    (only,) = storage.elements
    return storage, only


@dataclass(frozen=True, slots=True)
class Past:
    """How an element was read and written over a span; ``problem`` says why that is not known."""

    span: str
    history: History | None = None
    load: Load | None = None
    problem: str = ""


def _past(element: Element, span: str) -> Past:
    seconds, points = SPANS[span]
    try:
        history = service().element_history(element.id, seconds, points)
    except SesError as error:
        return Past(span, problem=str(error))
    return Past(span, history, load_of(history))


def _changes(element: Element) -> Sequence[Change]:
    if not element.iri:
        return ()
    try:
        return service().changes(subject=element.iri).changes[:_CHANGES]
    except SesError:
        return ()


def _address(asked: Question, changes: dict[str, object]) -> str:
    """Return the address of the map with some of what is asked for changed; the first page by default."""
    fields: dict[str, object] = {"show": asked.show, "by": asked.by, "system": asked.system}
    fields |= {**(asked.only or {}), "page": 1} | changes
    given = {name: value for name, value in fields.items() if value not in ("", 1, "write")}
    return url_for("storage.overview") + (f"?{urlencode(given)}" if given else "")
