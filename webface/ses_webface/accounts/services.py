"""Accounts: adding, checking passwords, and slowing down those who guess.

Guessing is limited per (name, address) and per address, counted in the database so that every
portal on it agrees.  An account is never locked: nobody can keep its owner out from elsewhere.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from ses_webface.accounts.models import Account, FailedSignIn
from ses_webface.database import Database
from ses_webface.errors import WebfaceError

MIN_PASSWORD = 10
MAX_PASSWORD = 1000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.@-]{0,63}")
_WINDOW_SECONDS = 300.0
_PER_NAME_AND_ADDRESS = 5
_PER_ADDRESS = 30


class AccountError(WebfaceError):
    """An account cannot be made or changed; the sentence says why."""


class TooManyAttemptsError(WebfaceError):
    """Too many failed attempts; ``wait_seconds`` until the next one is looked at."""

    def __init__(self, wait_seconds: float) -> None:
        super().__init__("Too many attempts. Wait a few minutes and try again.")
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True)
class Person:
    """Who is signed in, for views; ``password_version`` ties the session to the password."""

    id: int
    name: str
    vo: str | None
    is_admin: bool
    password_version: int


class AccountService:
    """All accounts of one database.  ``clock`` gives seconds since the epoch."""

    def __init__(
        self, database: Database, clock: Callable[[], float], hasher: PasswordHasher | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._hasher = hasher or PasswordHasher()
        self._decoy = self._hasher.hash("no account has this password")

    def add(self, name: str, password: str, *, vo: str | None = None, is_admin: bool = False) -> Person:
        """Make an account; raises AccountError for a name or password that is not acceptable."""
        if not _NAME.fullmatch(name):
            raise AccountError(
                f"“{name}” cannot be an account's name: use the user's name on the nodes "
                "(letters, digits, and . _ - @; at most 64)."
            )
        check_password(name, password)
        password_hash = self._hasher.hash(password)
        with self._database.session() as session:
            if _find(session, name):
                raise AccountError(f"The account {name} exists already.")
            account = Account(
                name=name,
                vo=vo or None,
                is_admin=is_admin,
                password_hash=password_hash,
                password_version=1,
                created_at=self._clock(),
            )
            session.add(account)
            session.flush()
            return _person(account)

    def everybody(self) -> tuple[Person, ...]:
        """Return all accounts by name."""
        with self._database.session() as session:
            return tuple(
                _person(account) for account in session.scalars(select(Account).order_by(Account.name))
            )

    def find(self, account_id: int) -> Person | None:
        """Return the account with this number."""
        with self._database.session() as session:
            account = session.get(Account, account_id)
            return _person(account) if account else None

    def set_password(self, name: str, password: str) -> Person:
        """Change a password and end the sessions made with the old one; raises AccountError."""
        check_password(name, password)
        password_hash = self._hasher.hash(password)
        with self._database.session() as session:
            account = _find(session, name)
            if account is None:
                raise AccountError(f"There is no account {name}.")
            account.password_hash = password_hash
            account.password_version += 1
            return _person(account)

    def remove(self, name: str) -> None:
        """Remove an account (its requirements stay in the knowledge base); raises AccountError."""
        with self._database.session() as session:
            account = _find(session, name)
            if account is None:
                raise AccountError(f"There is no account {name}.")
            session.delete(account)

    def sign_in(self, name: str, password: str, address: str) -> Person | None:
        """Return who this is, or None; takes as long for a name that does not exist.

        Raises TooManyAttemptsError, without looking at the password, after too many failures.
        """
        now = self._clock()
        key = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        with self._database.session() as session:
            _refuse_guessing(session, key, address, now)
            account = _find(session, name) if len(name) <= 64 else None
            person = _person(account) if account else None
            stored = account.password_hash if account else self._decoy
        fits = self._verify(stored, password)
        with self._database.session() as session:
            if person is None or not fits:
                session.add(FailedSignIn(name_key=key, address=address[:64], at=now))
                return None
            session.execute(
                delete(FailedSignIn).where(FailedSignIn.name_key == key, FailedSignIn.address == address[:64])
            )
            session.execute(delete(FailedSignIn).where(FailedSignIn.at < now - 2 * _WINDOW_SECONDS))
            if self._hasher.check_needs_rehash(stored):
                changed = session.get(Account, person.id)
                if changed is not None:
                    changed.password_hash = self._hasher.hash(password)
            return person

    def password_fits(self, person: Person, password: str) -> bool:
        """Tell whether this is the person's password (asked again before changing it)."""
        with self._database.session() as session:
            account = session.get(Account, person.id)
            stored = account.password_hash if account else self._decoy
        return self._verify(stored, password)

    def _verify(self, stored: str, password: str) -> bool:
        if len(password) > MAX_PASSWORD:
            return False
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False


def check_password(name: str, password: str) -> None:
    """Raise AccountError for a password that is too short, too long, or the name itself."""
    if len(password) < MIN_PASSWORD:
        raise AccountError(f"The password must have at least {MIN_PASSWORD} characters.")
    if len(password) > MAX_PASSWORD:
        raise AccountError(f"The password may have at most {MAX_PASSWORD} characters.")
    if name.lower() in password.lower() and len(password) < len(name) + MIN_PASSWORD // 2:
        raise AccountError("The password must not be the name with a few characters added.")


def _find(session: Session, name: str) -> Account | None:
    return session.scalars(select(Account).where(Account.name == name)).one_or_none()


def _person(account: Account) -> Person:
    return Person(account.id, account.name, account.vo, account.is_admin, account.password_version)


def _refuse_guessing(session: Session, key: str, address: str, now: float) -> None:
    recent = select(func.count(), func.min(FailedSignIn.at)).where(
        FailedSignIn.address == address[:64], FailedSignIn.at > now - _WINDOW_SECONDS
    )
    for question, limit in (
        (recent.where(FailedSignIn.name_key == key), _PER_NAME_AND_ADDRESS),
        (recent, _PER_ADDRESS),
    ):
        count, first = session.execute(question).one()
        if count >= limit:
            raise TooManyAttemptsError(max(1.0, first + _WINDOW_SECONDS - now))
