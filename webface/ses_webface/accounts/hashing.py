"""Only a few passwords are hashed at once: each takes 64 MiB and one of the portal's threads.

Who comes beyond them is refused at once, so that neither memory nor threads of others go to sign-ins.  One
place is kept for who is signed in, and for browsers that signed in under the name before.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from flask import g, request
from werkzeug.exceptions import TooManyRequests

from ses_webface.accounts.browsers import known_browser
from ses_webface.portal import portal

MAX_AT_ONCE = 4  # of the 8 threads there are by default

_P = ParamSpec("_P")
_R = TypeVar("_R")


def hashes_password(view: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a view run at most ``MAX_AT_ONCE`` times at once, counted with all others; else 429."""

    @wraps(view)
    def answer(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        known = g.person is not None or known_browser(request.form.get("name", "")) is not None
        places = portal().hashing
        if not places.take(of=MAX_AT_ONCE if known else MAX_AT_ONCE - 1):
            portal().metrics.sign_ins.labels("limited").inc()
            raise TooManyRequests("Many people sign in at this moment. Go back and try again.", retry_after=1)
        try:
            return view(*args, **kwargs)
        finally:
            places.give_back()

    return answer
