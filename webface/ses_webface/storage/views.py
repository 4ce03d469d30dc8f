"""The storage pages: a map and a table of every element, and one element over time."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from flask import Blueprint, render_template, request, url_for
from ses_client.answers.changes import Change
from ses_client.answers.elements import Element, History, Inventory
from ses_client.errors import SesError

from ses_webface.portal import service
from ses_webface.storage.forms import MEASURES, SPANS, StorageForm
from ses_webface.storage.pictures import Load, load_of
from ses_webface.storage.services import BY, Question, build_map, state_words, tile

blueprint = Blueprint("storage", __name__, url_prefix="/storage")
_CHANGES = 5


@blueprint.get("")
def overview() -> str:
    """Show all elements; only the part that changes when the page asks for that part."""
    form = StorageForm(request.args)
    asked = form.question()
    storage = service().elements()
    shown = build_map(storage, asked)
    form.show.data = asked.show
    template = "storage/elements.html" if request.headers.get("HX-Request") else "storage/overview.html"

    def address(**changes: object) -> str:
        return _address(asked, changes)

    return render_template(
        template, form=form, map=shown, storage=storage, asked=asked, measures=MEASURES, address=address,
        dimensions=tuple(BY),
    )  # fmt: skip


@blueprint.get("/<system>/<name>")
def element(system: str, name: str) -> str:
    """Show one element: what is known of it, and how it was read and written."""
    storage, found = find(f"{system}/{name}")
    span = request.args.get("span", "hour")
    past = _past(found, span if span in SPANS else "hour")
    return render_template(
        "storage/element.html",
        storage=storage,
        element=found,
        words=state_words(found),
        tiles=[(label, tile(found, show)) for show, label in MEASURES],
        past=past,
        spans=SPANS,
        changes=_changes(found),
    )


def find(name: str) -> tuple[Inventory, Element]:
    """Return one element, and what the service reads; raises NotFoundError where there is none."""
    storage = service().element(name)
    (found,) = storage.elements
    return storage, found


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


def _changes(element: Element) -> tuple[Change, ...]:
    if not element.iri:
        return ()
    try:
        return service().changes(subject=element.iri).changes[:_CHANGES]
    except SesError:
        return ()


def _address(asked: Question, changes: dict[str, object]) -> str:
    """Return the address of the map with some of what is asked for changed; the first page, if not said."""
    fields: dict[str, object] = {"show": asked.show, "by": asked.by, "system": asked.system}
    fields |= {**(asked.only or {}), "page": 1} | changes
    given = {name: value for name, value in fields.items() if value not in ("", 1, "write")}
    return url_for("storage.overview") + (f"?{urlencode(given)}" if given else "")
