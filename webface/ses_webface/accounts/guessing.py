"""Slows down who guesses passwords, and keeps nobody out of their own browser.

Failures of the last hour are counted in the database, so that every portal on it agrees.
After the first few each further one doubles the wait until a password is looked at again, up to a limit.
An attempt that is refused counts for nothing: asking again does not make the wait longer.

A browser that signed in under a name before is known (see browsers.py) and has a count of its own under
that name.  Whatever others try, from its address or under its name, its right password is taken at once.
"""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from ses_webface.accounts.models import FailedSignIn, digest
from ses_webface.errors import WebfaceError

_WINDOW_SECONDS = 3600.0  # as many of the longest waits as hold the longest wait
_CLOCKS_DIFFER = 60.0  # seconds, of two portals; a failure later than that was before a clock was set back


class TooManyAttemptsError(WebfaceError):
    """Too many failed attempts; ``wait_seconds`` until the next one is looked at."""

    def __init__(self, wait_seconds: float) -> None:
        super().__init__("Too many attempts. Wait a few minutes and try again.")
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True)
class _Limit:
    """``free`` failures, then waits of 1, 2, 4 ... seconds up to ``max_wait``."""

    free: int
    max_wait: float

    def wait(self, failures: int) -> float:
        """Return how long nothing is checked after the last of ``failures``."""
        if failures < self.free:
            return 0.0
        return float(min(self.max_wait, 2 ** min(failures - self.free, 30)))


_KNOWN_BROWSER = _Limit(free=5, max_wait=60.0)
_NAME_AT_ADDRESS = _Limit(free=5, max_wait=300.0)
_NAME = _Limit(free=20, max_wait=60.0)  # guesses at one name from everywhere: 1,440 a day
_ADDRESS = _Limit(free=30, max_wait=10.0)  # short: a tunnel's address is that of many people


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to sign in; ``browser`` when it is one known under this name."""

    name: str
    address: str
    browser: str | None
    at: float


def begin(session: Session, attempt: Attempt) -> None:
    """Count an attempt as failed before its password is looked at; :func:`succeed` takes that back.

    Counted first, attempts sent at the same moment do not all pass.  Raises TooManyAttemptsError.
    """
    waits = [_wait(session, attempt, where, limit) for where, limit in _counts(attempt)]
    if max(waits) > 0:
        raise TooManyAttemptsError(max(1.0, *waits))
    session.execute(delete(FailedSignIn).where(~_counted(attempt.at)))
    session.add(
        FailedSignIn(
            name_key=digest(attempt.name), address=attempt.address, browser=attempt.browser, at=attempt.at
        )
    )


def succeed(session: Session, attempt: Attempt) -> None:
    """Forget the failures that were this person's own."""
    where, _ = _counts(attempt)[0]
    session.execute(delete(FailedSignIn).where(where))


def _counts(attempt: Attempt) -> tuple[tuple[ColumnElement[bool], _Limit], ...]:
    name = FailedSignIn.name_key == digest(attempt.name)
    if attempt.browser is not None:
        return ((name & (FailedSignIn.browser == attempt.browser), _KNOWN_BROWSER),)
    unknown = FailedSignIn.browser.is_(None)
    address = FailedSignIn.address == attempt.address
    return (
        (unknown & name & address, _NAME_AT_ADDRESS),
        (unknown & name, _NAME),
        (unknown & address, _ADDRESS),
    )


def _counted(now: float) -> ColumnElement[bool]:
    return FailedSignIn.at.between(now - _WINDOW_SECONDS, now + _CLOCKS_DIFFER)


def _wait(session: Session, attempt: Attempt, where: ColumnElement[bool], limit: _Limit) -> float:
    failures, last = session.execute(
        select(func.count(), func.max(FailedSignIn.at)).where(where, _counted(attempt.at))
    ).one()
    return last + limit.wait(failures) - attempt.at if failures >= limit.free else 0.0
