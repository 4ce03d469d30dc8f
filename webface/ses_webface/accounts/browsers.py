"""Browsers that signed in before, known by a signed cookie: others' guesses do not slow them down.

The cookie signs nobody in.  It holds a random name of the browser and digests of the names that signed in
with it, and stays when they sign out.
"""

import secrets

from flask import current_app, request, url_for
from itsdangerous import BadSignature, URLSafeTimedSerializer
from werkzeug.wrappers import Response

from ses_webface.accounts.models import digest

_COOKIE = "ses_webface_browser"
_KEPT_SECONDS = 365 * 86400
_MAX_NAMES = 8
_DIGITS = 32  # of a name's digest: enough to distinguish names, and the cookie stays small


def known_browser(name: str) -> str | None:
    """Return the random name of this browser when somebody signed in with it under ``name``."""
    browser, names = _read()
    return browser if digest(name)[:_DIGITS] in names else None


def remember_browser(response: Response, name: str) -> None:
    """Put into ``response`` that this browser is known under ``name``."""
    browser, names = _read()
    mine = digest(name)[:_DIGITS]
    kept = [mine, *(name for name in names if name != mine)][:_MAX_NAMES]
    response.set_cookie(
        _COOKIE,
        _serializer().dumps([browser or secrets.token_hex(16), kept]),
        max_age=_KEPT_SECONDS,
        path=url_for("home"),
        secure=request.is_secure,
        httponly=True,
        samesite="Lax",
    )


def _read() -> tuple[str | None, list[str]]:
    try:
        browser, names = _serializer().loads(request.cookies.get(_COOKIE, ""), max_age=_KEPT_SECONDS)
    except BadSignature:
        return None, []
    return str(browser), [str(name) for name in names]


def _serializer() -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(current_app.secret_key or b"", salt="known browser")
