"""Sessions: who is signed in with which browser, kept in the database so that the server can end them.

The cookie holds a random key and the database a digest of it: a copy of either does not sign anybody in
after the session has ended.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, delete, select

from ses_webface.accounts.models import Account, BrowserSession, digest
from ses_webface.accounts.people import Person, person_of
from ses_webface.accounts.services import account_of
from ses_webface.database import Database

IDLE_SECONDS = 12 * 3600.0  # without a request
MAX_SECONDS = 7 * 86400.0
_PRECISION_SECONDS = 60.0  # how often a request in use is written down


@dataclass(frozen=True, slots=True)
class SignedIn:
    """One session; times are seconds since the epoch, ``seen_at`` is good to a minute."""

    name: str
    started_at: float
    seen_at: float
    address: str


class SessionService:
    """All sessions of one database.  ``clock`` gives seconds since the epoch."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def begin(self, person: Person, address: str) -> str:
        """Begin a session; returns the key for its cookie."""
        key, now = secrets.token_urlsafe(32), self._clock()
        with self._database.session() as session:
            session.execute(delete(BrowserSession).where(~_goes_on(now)))
            session.add(
                BrowserSession(
                    key_digest=digest(key),
                    account_id=person.id,
                    started_at=now,
                    seen_at=now,
                    address=address[:64],
                )
            )
        return key

    def person(self, key: str) -> Person | None:
        """Return who is signed in with this key, and keep their session from running out."""
        now = self._clock()
        with self._database.session() as session:
            row = session.execute(
                select(BrowserSession, Account)
                .join(Account, Account.id == BrowserSession.account_id)
                .where(BrowserSession.key_digest == digest(key), _goes_on(now))
            ).one_or_none()
            if row is None:
                return None
            current, account = row
            if now - current.seen_at > _PRECISION_SECONDS:
                current.seen_at = now
            return person_of(account)

    def end(self, key: str) -> None:
        """End one session."""
        with self._database.session() as session:
            session.execute(delete(BrowserSession).where(BrowserSession.key_digest == digest(key)))

    def end_all(self, name: str) -> int:
        """End every session of an account; returns how many there were, or raises AccountError."""
        with self._database.session() as session:
            mine = account_of(session, name).id
            ids = session.scalars(select(BrowserSession.id).where(BrowserSession.account_id == mine)).all()
            session.execute(delete(BrowserSession).where(BrowserSession.id.in_(ids)))
            return len(ids)

    def everybody(self) -> tuple[SignedIn, ...]:
        """Return all sessions that have not run out, by name and begin."""
        with self._database.session() as session:
            rows = session.execute(
                select(Account.name, BrowserSession)
                .join(Account, Account.id == BrowserSession.account_id)
                .where(_goes_on(self._clock()))
                .order_by(Account.name, BrowserSession.started_at, BrowserSession.id)
            )
            return tuple(
                SignedIn(name, session.started_at, session.seen_at, session.address) for name, session in rows
            )


def _goes_on(now: float) -> ColumnElement[bool]:
    """Return the condition that a session has not run out."""
    return and_(BrowserSession.seen_at >= now - IDLE_SECONDS, BrowserSession.started_at >= now - MAX_SECONDS)
