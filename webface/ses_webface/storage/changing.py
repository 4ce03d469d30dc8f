"""Changes of elements by administrators: each is shown before it is made."""

from collections.abc import Mapping

import structlog
from flask import Blueprint, flash, redirect, render_template, request, url_for
from ses_client.errors import NotFoundError, RefusedError, SesError
from ses_client.messages.elements import Element
from ses_client.messages.message import JSON

from ses_webface.history.wording import edited_properties, subject_words
from ses_webface.portal import Page, administrators_only, person, service, vocabulary, zone
from ses_webface.storage import forms
from ses_webface.storage.views import find
from ses_webface.web_security import take_draft

blueprint = Blueprint("element_changes", __name__, url_prefix="/storage")
blueprint.before_request(administrators_only)
log = structlog.get_logger(__name__)

_QUESTION_AND_ANSWER = {
    "drain": ("Drain {}?", "{} takes no further files."),
    "undrain": ("Let {} take files again?", "{} takes files again."),
    "set": ("Change {}?", "{} is changed."),
    "remove": ("Remove {}?", "{} is removed."),
    "add": ("Add {}?", "{} is added."),
}
_EMPTY = dict.fromkeys(
    ("label", "server", "tier", "pool", "target", "read_rate", "write_rate", "capacity_bytes"), ""
)


@blueprint.get("/<system>/<name>/change")
def edit(system: str, name: str) -> Page:
    """Show what can be changed of an element."""
    _storage, element = find(f"{system}/{name}")
    return _edit_page(element, forms.stated(element))


@blueprint.post("/<system>/<name>/<any(drain, undrain, set, remove):what>")
def change(system: str, name: str, what: str) -> Page:
    """Show what a change would do, make it when that was seen, or show the form again as it was typed."""
    _storage, element = find(f"{system}/{name}")
    fields = _fields()
    if request.form.get("again"):
        return _edit_page(element, {**forms.stated(element), **fields})
    try:
        how = _asked(what, fields, element)
    except forms.FaultsError as error:
        return _edit_page(element, {**forms.stated(element), **fields}, error.faults), 422
    if what == "set" and not how:
        return _edit_page(element, fields, {"": "Nothing is different yet."}), 422
    if what == "set":
        fields = {name: fields[name] for name in how}  # what others change until it is made stays theirs
    return _shown_or_made(what, element.id, how, fields)


@blueprint.get("/add")
def add() -> Page:
    """Show the form for a further element, with what was typed before one had to sign in again."""
    kept = take_draft(request.path)
    if kept is not None:
        flash("You signed in again meanwhile: nothing was added yet. What you typed is below.", "error")
    return _add_page(dict(kept or ()))


@blueprint.post("/add")
def add_submit() -> Page:
    """Show what adding an element would do, add it when that was seen, or show the form as it was typed."""
    fields = _fields()
    if request.form.get("again"):
        return _add_page(fields)
    where = {name: fields.get(name, "").strip() for name in ("system", "name")}
    faults = {name: "Enter this." for name in ("system", "name", "server", "target") if not fields.get(name)}
    try:
        how = forms.changed(fields, _EMPTY, vocabulary())
    except forms.FaultsError as error:
        faults |= error.faults
        how = {}
    if faults:
        return _add_page(fields, faults), 422
    return _shown_or_made("add", "/".join(where.values()), {**how, **where}, fields)


def _fields() -> dict[str, str]:
    return {
        name: value[:256]
        for name, value in request.form.items()
        if name not in ("csrf_token", "confirmed", "again") and isinstance(value, str)
    }


def _asked(what: str, fields: Mapping[str, str], element: Element) -> JSON:
    if what == "drain":
        return forms.drained(fields, zone())
    if what == "set":
        return forms.changed(fields, forms.seen(fields, element), vocabulary())
    return {}


def _shown_or_made(what: str, name: str, how: JSON, fields: Mapping[str, str]) -> Page:
    confirmed = bool(request.form.get("confirmed"))
    calls = {
        "drain": service().drain,
        "undrain": service().undrain,
        "set": service().set_element,
        "remove": service().remove_element,
    }
    sent = {**how, "dry_run": not confirmed}
    try:
        changed = service().add_element(sent) if what == "add" else calls[what](name, sent)
    except (RefusedError, NotFoundError) as error:
        return _refused(what, name, fields, getattr(error, "full_message", str(error))), 422
    except SesError as error:
        log.warning("element not changed", element=name, what=what, problem=str(error))
        return _preview(what, name, fields, problem=str(error)), 503
    if not confirmed:
        return _preview(what, name, fields, changed)
    log.info("element changed", account=person().name, element=name, what=what, change=changed.get("change"))
    number = changed.get("change")
    flash(_QUESTION_AND_ANSWER[what][1].format(name) + (f" This is change {number}." if number else ""))
    if number:
        return redirect(url_for("history.change", number=number), 303)
    return redirect(url_for("storage.overview"), 303)


def _refused(what: str, name: str, fields: Mapping[str, str], detail: str) -> str:
    """Return the form as it was typed with what the service says of it; a page where nothing was typed."""
    problem = {"": f"Nothing was changed. {detail}"}
    if what == "add":
        return _add_page(fields, problem)
    if what in ("drain", "set"):
        try:
            _storage, element = find(name)
        except NotFoundError:
            return _preview(what, name, fields, problem=detail)
        return _edit_page(element, {**forms.stated(element), **fields}, problem)
    return _preview(what, name, fields, problem=detail)


def _preview(
    what: str, name: str, fields: Mapping[str, str], made: JSON | None = None, problem: str = ""
) -> str:
    subjects = [] if made is None else made["subjects"]
    return render_template(
        "storage/preview.html",
        what=what,
        name=name,
        title=_QUESTION_AND_ANSWER[what][0].format(name),
        fields=fields,
        made=made,
        problem=problem,
        diffs=[(subject_words(subject["subject"]), edited_properties(subject)) for subject in subjects],
        back=url_for("storage.overview") if what == "add" else _address("storage.element", name),
        action=url_for("element_changes.add_submit")
        if what == "add"
        else f"{_address('storage.element', name)}/{what}",
    )


def _address(endpoint: str, name: str) -> str:
    system, _, local = name.partition("/")
    return url_for(endpoint, system=system, name=local)


def _edit_page(element: Element, fields: Mapping[str, str], faults: Mapping[str, str] | None = None) -> str:
    return render_template(
        "storage/change.html", element=element, fields=fields, faults=faults or {}, states=forms.STATES,
        seen=forms.seen(fields, element),
    )  # fmt: skip


def _add_page(fields: Mapping[str, str], faults: Mapping[str, str] | None = None) -> str:
    systems = service().storage_systems()
    return render_template("storage/add.html", fields=fields, faults=faults or {}, systems=systems)
