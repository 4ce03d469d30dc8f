"""What all pages share: filters that put values into words, and pages for errors."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import structlog
from flask import Flask, g, redirect, render_template, request
from flask_wtf.csrf import CSRFError  # type: ignore[import-untyped]
from markupsafe import Markup
from ses_client.errors import NotFoundError, RefusedError, SesError, UnavailableError, UsageError
from ses_client.messages.files import cause_words
from ses_client.messages.knowledge import set_named_by
from ses_client.messages.requirements import Requirement
from ses_client.visible import visible
from sqlalchemy.exc import OperationalError
from werkzeug.exceptions import HTTPException, TooManyRequests

from ses_webface.database import reason_of
from ses_webface.files.explaining import state_words, verdict_words
from ses_webface.history.wording import changed_properties, changed_requirements, subject_words
from ses_webface.moments import in_words, phase, read_moment
from ses_webface.portal import portal, words, zone
from ses_webface.quantities import as_stated, show_bytes, show_number, show_quantity
from ses_webface.requirements.forms import bound_of, field_of
from ses_webface.shortfalls import missed_of, misses
from ses_webface.storage.services import full_in_words
from ses_webface.web_security import address, keep_draft, page_wanted

log = structlog.get_logger(__name__)

_LEVELS = {
    "explicit": "asked here",
    "application": "application",
    "user": "your default",
    "vo": "VO",
    "site": "site",
}
_SENTENCES = {
    400: ("This request cannot be read", "Go back and try again."),
    403: ("This is not yours to open", "It belongs to somebody else. Ask its owner or an administrator."),
    405: ("This cannot be done here", "Go back and try again."),
    413: ("This is too much at once", "The portal takes forms up to 256 KiB."),
}
_MAX_PATH = 200


def register(app: Flask) -> None:
    """Add filters, template globals and error pages to an application."""
    app.jinja_env.filters.update(
        number=show_number,
        size=show_bytes,
        full_in=full_in_words,
        quantity=show_quantity,
        kind=lambda name: words().label(name),
        amount=amount,
        moment=moment,
        phase=lambda requirement: phase(requirement, portal().clock()),
        breakable=breakable,
        in_order=in_order,
        when=when,
        iso=iso,
        ago=ago,
        age=age,
        misses=lambda choice: misses(choice, words()),
        missed=lambda predicted: missed_of(predicted, words()),
        field_of=field_of,
        bound_of=bound_of,
        set_named=set_named_by,
        subject_title=subject_title,
        state_words=state_words,
        verdict_words=verdict_words,
        cause_words=cause_words,
    )
    app.jinja_env.globals.update(
        level_words=level_words,
        set_title=set_title,
        required_by=lambda name: words().required_by(name),
        page_wanted=page_wanted,
        changed_requirements=changed_requirements,
        changed_properties=changed_properties,
    )
    app.jinja_env.finalize = _in_page
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    app.context_processor(
        lambda: {"person": getattr(g, "person", None), "now": portal().clock(), "zone": zone()}
    )
    app.register_error_handler(CSRFError, _form_too_old)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(SesError, _selection_error)
    app.register_error_handler(OperationalError, _database_error)
    app.register_error_handler(Exception, _unexpected)


def _in_page(value: object) -> object:
    """Return what a template writes for ``value``; markup has been through this already."""
    return visible(value, "\t\n\r") if type(value) is str else value


def when(at: float | None) -> str:
    """Return seconds since the epoch as a date and time where the reader is; says its zone."""
    return "–" if at is None else in_words(datetime.fromtimestamp(at, UTC), zone(), seconds=True)


def moment(text: str | None) -> str:
    """Return a time as the service writes it as people where the reader is write it; says its zone."""
    read = read_moment(text)
    return in_words(read, zone()) if read else text or ""


def iso(at: float | None) -> str:
    """Return seconds since the epoch as ISO 8601, for machines."""
    return "" if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def age(seconds: float | None) -> str:
    """Return how long, in the unit that reads best: ``0.4 s``, ``3 min``, ``2 h``, ``5 d``."""
    if seconds is None:
        return "unknown"
    if seconds < 10:
        return f"{max(seconds, 0.0):.1f}\u00a0s"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}\u00a0{unit}"
    return f"{seconds:.0f}\u00a0s"


def ago(at: float | None) -> str:
    """Return how long ago a moment was."""
    if at is None:
        return "–"
    seconds = portal().clock() - at
    if seconds < 2:
        return "just now"
    return f"{seconds:.0f}\u00a0s ago" if seconds < 10 else f"{age(seconds)} ago"


def amount(requirement: Requirement) -> str:
    """Return a requirement's bound with its unit, in the unit people wrote it in."""
    number, unit = as_stated(requirement, words().kind(requirement.kind))
    return f"{number}\u00a0{unit}"


def in_order(items: Iterable[Any]) -> list[Any]:
    """Return requirements or predictions in the order of the form."""
    return sorted(items, key=lambda of_kind: words().rank(of_kind.kind))


def breakable(path: str) -> Markup:
    """Return a path, escaped, that may be broken after each slash.

    Each part is read in its own direction: a name written from the right does not reorder those around it.
    """
    parts = visible(path).split("/")
    return Markup("/<wbr>").join(
        part if part.isascii() else Markup("<bdi>{}</bdi>").format(part) for part in parts
    )


def set_title(level: str, name: str) -> str:
    """Return what a page calls a requirement set; says whose it is when it is not the reader's own."""
    reader = _reader()
    if level == "application":
        user, _, application = name.partition(":")
        return f"Application {application}" + ("" if user == reader else f" of {user}")
    if level == "user" and name != reader:
        return f"Default of {name}"
    return {"user": "Your default", "vo": f"VO {name}", "site": "Site default"}.get(level, name)


def subject_title(subject: str) -> str:
    """Return what a page calls what was changed: a requirement set, or a thing of the site."""
    named = set_named_by(subject)
    return set_title(*named) if named else subject_words(subject)


def _reader() -> str | None:
    return getattr(g.get("person"), "name", None)


def level_words(level: str, name: str) -> str:
    """Return where a requirement came from, as people say it."""
    words = _LEVELS.get(level, level)
    if level == "application":
        return f"application {name.partition(':')[2] or name}"
    if level == "user" and name and name != _reader():
        return f"user {name}"
    return f"VO {name}" if level == "vo" and name else words


def _page(status: int, title: str, sentence: str) -> tuple[str, int]:
    template = "error_fragment.html" if request.headers.get("HX-Request") else "error.html"
    return render_template(template, title=title, sentence=sentence, status=status), status


def _form_too_old(_error: CSRFError) -> Any:
    if not request.headers.get("HX-Request") and keep_draft():
        return redirect(address(), 303)
    return _page(
        400,
        "This form is too old",
        "It was made before you signed in or out. Go back, reload the page and try again.",
    )


def _http_error(error: HTTPException) -> Any:
    status = error.code or 500
    if status < 400:
        return error
    if status == 404:
        path = request.path
        where = path if len(path) <= _MAX_PATH else f"{path[:_MAX_PATH]}…"
        return _nothing_here(f"This portal has no page {where}")
    title, sentence = _SENTENCES.get(status, ("This did not work", error.description or ""))
    page = _page(status, title, sentence)
    return (*page, {"Retry-After": str(error.retry_after)}) if isinstance(error, TooManyRequests) else page


def _nothing_here(what: str) -> tuple[str, int]:
    return _page(
        404, "There is nothing here", f"{what}. The address may be mistyped, or what was here is gone."
    )


def _selection_error(error: SesError) -> tuple[str, int]:
    log.warning("selection service", problem=str(error), kind=type(error).__name__, path=request.path)
    if isinstance(error, NotFoundError):
        return _nothing_here(str(error).rstrip("."))
    title = "This did not work"
    if isinstance(error, UnavailableError):
        # the service itself answered, of a part that it needs, where the error is of no more particular kind
        is_there = type(error) is UnavailableError
        title = "This cannot be done now" if is_there else "The selection service is not available"
    if isinstance(error, UsageError) or (isinstance(error, RefusedError) and error.status == 422):
        return _page(400, title, error.full_message)
    return _page(503 if isinstance(error, UnavailableError) else 502, title, str(error))


def _database_error(error: OperationalError) -> tuple[str, int]:
    log.error("database failed", detail=reason_of(error), path=request.path)
    return _page(
        503,
        "The portal cannot use its database",
        "It is full, or does not answer: the portal's log says which. Nothing you saved before is affected.",
    )


def _unexpected(error: Exception) -> tuple[str, int]:
    log.error("unexpected error", path=request.path, exc_info=error)
    return _page(
        500,
        "Something went wrong here",
        "It is written to the portal's log. Nothing you saved before is affected.",
    )
