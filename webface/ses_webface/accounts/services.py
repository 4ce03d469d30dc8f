"""Accounts: adding and removing them, and checking passwords."""

from collections.abc import Callable

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from ses_client.limits import MAX_NAME
from ses_client.names import USER, USER_FORM
from sqlalchemy import select
from sqlalchemy.orm import Session

from ses_webface.accounts import guessing
from ses_webface.accounts.models import NO_PASSWORD, Account
from ses_webface.accounts.people import Person, person_of
from ses_webface.accounts.revocations import end_credentials, withdraw_links
from ses_webface.database import Database
from ses_webface.errors import WebfaceError

MIN_PASSWORD = 10
MAX_PASSWORD = 1000


class AccountError(WebfaceError):
    """An account cannot be made or changed; the sentence says why."""


class AccountService:
    """All accounts of one database.  ``clock`` gives seconds since the epoch."""

    def __init__(
        self, database: Database, clock: Callable[[], float], hasher: PasswordHasher | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._hasher = hasher or PasswordHasher()
        self._decoy = self._hasher.hash("no account has this password")

    def add(
        self,
        name: str,
        password: str | None,
        *,
        vo: str | None = None,
        is_admin: bool = False,
        is_manager: bool = False,
    ) -> Person:
        """Make an account; without a password nobody signs in with one until it is set.

        Raises AccountError for what is not acceptable.
        """
        check_name(name)
        if password is not None:
            check_password(name, password)
        _check_role(vo, is_manager=is_manager)
        password_hash = NO_PASSWORD if password is None else self._hasher.hash(password)
        with self._database.session() as session:
            if _find(session, name):
                raise AccountError(f"The account {name} exists already.")
            account = Account(
                name=name,
                vo=vo or None,
                is_admin=is_admin,
                is_manager=is_manager,
                password_hash=password_hash,
                created_at=self._clock(),
            )
            session.add(account)
            session.flush()
            return person_of(account)

    def everybody(self) -> tuple[Person, ...]:
        """Return all accounts by name."""
        with self._database.session() as session:
            return tuple(
                person_of(account) for account in session.scalars(select(Account).order_by(Account.name))
            )

    def named(self, name: str) -> Person | None:
        """Return the account of this name, if there is one."""
        with self._database.session() as session:
            account = _find(session, name)
            return None if account is None else person_of(account)

    def change(self, name: str, *, vo: str | None, is_admin: bool, is_manager: bool) -> Person:
        """Change the VO and the role of an account; raises AccountError.

        Tokens and links of another role end, and all links that a former administrator may have made.
        """
        _check_role(vo, is_manager=is_manager)
        with self._database.session() as session:
            account = account_of(session, name)
            if account.is_admin and not is_admin:
                _check_others_administer(session, account)
            before = person_of(account)
            account.vo, account.is_admin, account.is_manager = vo or None, is_admin, is_manager
            after = person_of(account)
            if after.role != before.role:
                end_credentials(session, account, sessions=False)
            if before.is_admin and not is_admin:
                withdraw_links(session)
            return after

    def set_password(self, name: str, password: str) -> Person:
        """Change a password; sessions, links and tokens of the account end.  Raises AccountError.

        The first password of an account changes none, and ends no token that its owner made before.
        """
        check_password(name, password)
        password_hash = self._hasher.hash(password)
        with self._database.session() as session:
            account = account_of(session, name)
            end_credentials(session, account, tokens=account.password_hash != NO_PASSWORD)
            account.password_hash = password_hash
            return person_of(account)

    def remove(self, name: str) -> None:
        """Remove an account with all that its owner acts by; raises AccountError.

        Its requirements stay in the knowledge base.
        """
        with self._database.session() as session:
            account = account_of(session, name)
            end_credentials(session, account)
            if account.is_admin:
                withdraw_links(session)
            session.delete(account)

    def sign_in(self, name: str, password: str, address: str, browser: str | None = None) -> Person | None:
        """Return who this is, or None; takes as long for a name that does not exist.

        ``browser`` is given when it signed in under this name before.  Raises TooManyAttemptsError,
        without looking at the password, after too many failures (see guessing.py).
        """
        attempt = guessing.Attempt(name, address[:64], browser, self._clock())
        with self._database.session() as session:
            guessing.begin(session, attempt)
            account = _find(session, name) if len(name) <= MAX_NAME else None
            person = person_of(account) if account else None
            stored = account.password_hash if account else self._decoy
        if not self._verify(stored, password) or person is None:
            return None
        with self._database.session() as session:
            guessing.succeed(session, attempt)
            if self._hasher.check_needs_rehash(stored):
                changed = session.get(Account, person.id)
                if changed is not None:
                    changed.password_hash = self._hasher.hash(password)
        return person

    def _verify(self, stored: str, password: str) -> bool:
        if len(password) > MAX_PASSWORD:
            return False
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False


def check_name(name: str) -> None:
    """Raise AccountError for what is no name of a user on the nodes."""
    if not USER.fullmatch(name):
        raise AccountError(
            f"“{name}” cannot be an account's name: use the user's name on the nodes ({USER_FORM})."
        )


def check_password(name: str, password: str) -> None:
    """Raise AccountError for a password that is too short, too long, or the name itself."""
    if len(password) < MIN_PASSWORD:
        raise AccountError(f"The password must have at least {MIN_PASSWORD} characters.")
    if len(password) > MAX_PASSWORD:
        raise AccountError(f"The password may have at most {MAX_PASSWORD} characters.")
    if name.lower() in password.lower() and len(password) < len(name) + MIN_PASSWORD // 2:
        raise AccountError("The password must not be the name with a few characters added.")


def _check_role(vo: str | None, *, is_manager: bool) -> None:
    if is_manager and not vo:
        raise AccountError("A manager needs a VO: name it, too.")


def _check_others_administer(session: Session, account: Account) -> None:
    others = select(Account.id).where(Account.is_admin, Account.id != account.id).limit(1)
    if session.scalar(others) is None:
        raise AccountError(f"{account.name} is the last administrator: make somebody else one first.")


def account_of(session: Session, name: str) -> Account:
    """Return the row of an account; raises AccountError."""
    account = _find(session, name)
    if account is None:
        raise AccountError(f"There is no account {name}.")
    return account


def _find(session: Session, name: str) -> Account | None:
    return session.scalars(select(Account).where(Account.name == name)).one_or_none()
