"""What every answer carries and every request must pass: headers, cookie, sign-in, CSRF.

Views are closed unless marked with :func:`open_to_all`: a forgotten mark locks a page, never
opens one.
"""

import json
import zlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from flask import Flask, Response, current_app, g, redirect, render_template, request, session, url_for
from flask.sessions import SecureCookieSessionInterface, SessionMixin
from flask_wtf.csrf import CSRFProtect  # type: ignore[import-untyped]
from werkzeug.wrappers import Response as BaseResponse

from ses_webface.accounts.people import Person
from ses_webface.accounts.sessions import IDLE_SECONDS
from ses_webface.portal import portal

_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_MAX_DRAFT = 2000  # bytes as the cookie packs them, of the 4 KiB browsers keep
_TAKE_DRAFTS = ("requirements.submit", "element_changes.add_submit", "runs.start")
View = TypeVar("View", bound=Callable[..., Any])


def open_to_all(view: View) -> View:
    """Mark a view that people who are not signed in may see."""
    view.is_open_to_all = True  # type: ignore[attr-defined]
    return view


class _SessionCookie(SecureCookieSessionInterface):
    """Session cookie that is Secure exactly when the request came by https.

    A preview does not refresh it: its answer may come after that of a form saved meanwhile, and would take
    back what that put into the session (the line that says it is saved).
    """

    def should_set_cookie(self, app: Flask, session: SessionMixin) -> bool:
        if request.endpoint == "requirements.preview" and not session.modified:
            return False
        return super().should_set_cookie(app, session)

    def get_cookie_path(self, app: Flask) -> str:  # noqa: ARG002
        return f"{request.script_root}/"

    def get_cookie_secure(self, app: Flask) -> bool:  # noqa: ARG002
        return request.is_secure


def protect(app: Flask, secret_key: bytes) -> None:
    """Set up cookies, sign-in, CSRF and headers for an application."""
    app.config.update(
        SECRET_KEY=secret_key,
        SESSION_COOKIE_NAME="ses_webface",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        PERMANENT_SESSION_LIFETIME=timedelta(seconds=IDLE_SECONDS),
        WTF_CSRF_TIME_LIMIT=None,  # as long as the session: nobody loses a form they left open
        WTF_CSRF_SSL_STRICT=True,
        MAX_CONTENT_LENGTH=256 * 1024,
    )
    app.session_interface = _SessionCookie()
    app.before_request(_know_person)
    CSRFProtect(app)
    app.after_request(_add_headers)


def start_session(person: Person) -> None:
    """Begin a session of its own for somebody who just proved who they are."""
    draft, before = session.get("draft"), session.get("name", person.name)
    end_session()
    session.permanent = True
    session["key"] = portal().sessions.begin(person, request.remote_addr or "")
    session["name"] = person.name
    if draft and before == person.name:  # what somebody else typed here is not shown to this one
        session["draft"] = draft


def end_session() -> None:
    """End the session on the server, so that a copy of its cookie is worth nothing, and clear the cookie."""
    key = session.get("key")
    if isinstance(key, str):
        portal().sessions.end(key)
    session.clear()


def local_path(wanted: str | None) -> str | None:
    """Return ``wanted`` when it is a path on this portal, otherwise None."""
    if not wanted or not wanted.startswith("/") or wanted.startswith("//") or "\\" in wanted:
        return None
    if any(ord(character) < 32 for character in wanted):
        return None
    parts = urlsplit(wanted)
    return wanted if not parts.scheme and not parts.netloc else None


def take_draft(path: str) -> list[tuple[str, str]] | None:
    """Return, once, what was being saved at ``path`` when the session had ended."""
    draft = session.get("draft")
    if not isinstance(draft, dict) or draft.get("path") != path:
        return None
    session.pop("draft")
    return [(str(name), str(value)) for name, value in draft.get("fields", [])]


def _know_person() -> BaseResponse | tuple[str, int] | None:
    g.person = None
    if request.endpoint == "static":
        return None
    key = session.get("key")
    if isinstance(key, str):
        g.person = portal().sessions.person(key)
    view = current_app.view_functions.get(request.endpoint or "")
    if g.person is not None or view is None or getattr(view, "is_open_to_all", False):
        return None
    if request.headers.get("HX-Request"):
        return render_template("signed_out_fragment.html"), 401
    if request.method == "POST":
        keep_draft()
    return redirect(url_for("accounts.sign_in", next=page_wanted()), 303)


def keep_draft() -> bool:
    """Carry what was typed over a sign-in; returns whether it is kept.

    Kept is what came from a page of this portal, where the page at its address takes it again.
    """
    if request.endpoint not in _TAKE_DRAFTS or request.headers.get("Origin") != request.host_url.rstrip("/"):
        return False
    fields = [
        (name, value) for name, value in request.form.items(multi=True) if value and name != "csrf_token"
    ]
    if len(zlib.compress(json.dumps(fields).encode())) > _MAX_DRAFT:
        return False
    session["draft"] = {"path": request.path, "fields": fields}
    return True


def address() -> str:
    """Return the path of this request as a link writes it: names in it may have any character."""
    return quote(f"{request.script_root}/{request.path.lstrip('/')}")


def page_wanted() -> str:
    """Return the page that was asked for; for a form without a page at its address, the one it was on."""
    if request.method == "GET":
        query = request.query_string.decode("latin-1")
        return address() + (f"?{query}" if query else "")
    here = current_app.create_url_adapter(request)
    if here is not None and "GET" in here.allowed_methods():
        return address()
    on = urlsplit(request.referrer or "")
    return on.path if on.netloc == request.host else url_for("home")


def _add_headers(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    if request.is_secure:
        response.headers.setdefault("Strict-Transport-Security", "max-age=31536000")
    if request.endpoint != "static":
        response.headers.setdefault("Cache-Control", "no-store")
    return response
