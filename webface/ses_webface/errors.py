"""Everything that can go wrong with the selection service, as one small tree.

Views catch what they can explain beside a form; the rest is turned into a page in one place
(:mod:`ses_webface.pages`).  Nothing here knows HTTP libraries or Flask.
"""

from __future__ import annotations


class WebfaceError(Exception):
    """Base of the portal's own errors; ``str(error)`` is a sentence a person can act on."""


class StartError(WebfaceError):
    """The portal cannot start as configured; the sentence names the setting and the way out."""


class SelectionError(WebfaceError):
    """The selection service did not do what was asked."""


class ServiceUnavailableError(SelectionError):
    """No usable answer: not reachable, too slow, overloaded, or something we cannot read."""


class TokenRefusedError(ServiceUnavailableError):
    """The service does not accept the portal's token, so the portal can do nothing for anybody."""


class NotFoundError(SelectionError):
    """The service does not know the thing asked for."""


class RevisionConflictError(SelectionError):
    """Somebody saved the set after it was read here (HTTP 412); nothing was written."""


class ChangedSinceError(SelectionError):
    """What was to be undone was changed again, or is being changed (HTTP 409); nothing was written."""


class RefusedError(SelectionError):
    """The service read the question and refuses it; ``problems`` are ``(location, message)``."""

    def __init__(self, detail: str, problems: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(detail)
        self.problems = problems
